package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"earshot/matcher"
	"earshot/matcher/llm/arguments"
	"earshot/matcher/llm/provider"
	"earshot/matcher/retrieval"
	"earshot/repositories/parameters"
)

// finder is the function with which a model looks for tools that it is not offered.
const finder = "find_tools"

// finderTools has it by name.
var finderTools sync.Map // string → *provider.Tool

// finderTool returns it under a name. The words are the model's, which knows what a message
// in any language is about.
func finderTool(name string) *provider.Tool {
	if known, is := finderTools.Load(name); is {
		return known.(*provider.Tool)
	}
	known, _ := finderTools.LoadOrStore(name, &provider.Tool{
		Name:        name,
		Description: "Finds more tools, where none that is offered does what the last message asks for.",
		Schema: json.RawMessage(`{"type":"object","properties":{"words":{"type":"string",` +
			`"description":"What it does, translated into the tools' language"}},"required":["words"]}`),
	})
	return known.(*provider.Tool)
}

// finder returns the name of the function: one that no tool in scope has.
func (n *toolNames) finder() string {
	return safeName(finder, validToolName, func(name string) bool {
		_, is := n.candidate(name)
		return is
	})
}

// finds reports whether a call is of the function, and what it looks for. A name that is
// written in another way is that of a tool, if there is one.
func (t *llmTurn) finds(call provider.Call) (words string, is bool) {
	if t.finder == "" {
		return "", false
	}
	if call.Name != t.finder {
		bare := call.Name[strings.LastIndexAny(call.Name, ".:/")+1:]
		if _, known := t.names.find(call.Name); known || parameters.FoldName(strings.TrimSpace(bare)) != parameters.FoldName(t.finder) {
			return "", false
		}
	}
	given, _, err := arguments.Read(call.Arguments)
	if err != nil {
		return call.Arguments, true // its words are in there
	}
	var said []string
	for _, value := range given { // under whichever name; the order of words is no matter
		said = append(said, wordsOf(value)...)
	}
	slices.Sort(said)
	return strings.Join(said, " "), true
}

// wordsOf are the texts in a value.
func wordsOf(value any) []string {
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		var said []string
		for _, one := range value {
			said = append(said, wordsOf(one)...)
		}
		return said
	}
	return nil
}

// asksForMore reports whether the answer looks for tools.
func (a checkedAnswer) asksForMore() bool {
	return slices.ContainsFunc(a.calls, func(found checkedCall) bool { return found.finds })
}

// maxFound is how many tools a search adds at most. It has words of its own, and is no
// second guess of what a message is about.
const maxFound = 16

// find looks for the tools that the answer asks for and sends it back with them, once. What
// the second answer calls counts beside what is sound in the first. Where it finds nothing,
// that answer is needed by a chat, for its reply, and where the model has called nothing and
// looks for what it was offered.
func (l *LLM) find(ctx context.Context, t *llmTurn, first checkedAnswer) (checkedAnswer, error) {
	found, offered := t.found(ctx, l.retriever, first)
	sound := slices.ContainsFunc(first.calls, checkedCall.sound)
	overlooked := offered && !sound
	if len(found) == 0 && !overlooked && !t.request.Chat && !slices.ContainsFunc(first.calls, checkedCall.correctable) {
		return checkedAnswer{}, nil
	}
	ask := t.ask
	room := max(1, t.limit-len(found))
	ask.Tools = slices.Concat(ask.Tools[:min(len(ask.Tools), room)], t.definitions(found))
	ask.Messages = append(slices.Clone(ask.Messages), sentBack(first, foundText(len(found), offered))...)
	answer, err := l.ask(ctx, t.model, ask)
	var unavailable *matcher.Unavailable
	if sound && errors.As(err, &unavailable) {
		l.options.Logger.WarnContext(ctx, "the LLM gave no second answer; what it called before it looked for tools is kept", "reason", unavailable.Reason)
		return checkedAnswer{}, nil
	}
	if err != nil {
		return checkedAnswer{}, err
	}
	return t.read(answer), nil
}

// found lists the tools that the answer looks for and that were not offered, and reports
// whether some were.
func (t *llmTurn) found(ctx context.Context, retriever *retrieval.Retriever, first checkedAnswer) (found []matcher.Candidate, offered bool) {
	most := max(1, min(maxFound, t.limit/2))
	for _, call := range first.calls {
		if !call.finds {
			continue
		}
		for _, one := range retriever.Search(ctx, t.request, call.words, len(t.offered)+most) {
			switch {
			case slices.Contains(t.offered, one.Candidate):
				offered = true
			case !slices.Contains(found, one.Candidate) && len(found) < most:
				found = append(found, one.Candidate)
			}
		}
	}
	return found, offered
}

// foundText is what the function answers, with n tools that were not offered before, and
// others that were.
func foundText(n int, offered bool) string {
	switch {
	case n == 0 && offered:
		return "The tools for that are offered already. Call what the last message asks for; if none fits, call none. Do not search again."
	case n == 0:
		return "There is no such tool."
	}
	return fmt.Sprintf("%d more tools are offered now. Call what the last message asks for; if none fits, call none. Do not search again.", n)
}
