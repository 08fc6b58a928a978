package llm

import (
	"bytes"
	"encoding/json"
	"fmt"

	"earshot/matcher"
	"earshot/matcher/llm/provider"
)

// record notes a request and its answer.
func (l *LLM) record(trace *matcher.Trace, request provider.Request, wire *provider.Wire, done Exchange) {
	if trace == nil {
		return
	}
	exchange := matcher.Exchange{
		Model: done.Model, Request: l.pieces(wire, request), LeftOut: wire.LeftOut, Answer: wire.Answer, Took: done.Took,
		PromptTokens: done.Usage.Prompt, CachedTokens: done.Usage.Cached, CompletionTokens: done.Usage.Completion,
	}
	if done.Err != nil {
		exchange.Error = done.Err.Error()
	}
	trace.Asked(exchange)
}

// pieces parts the body of a request into what many requests share, the tools and the rules,
// and the rest.
func (l *LLM) pieces(wire *provider.Wire, request provider.Request) []matcher.Piece {
	list := make([]matcher.Piece, 0, len(wire.Parts)+2)
	for i, part := range wire.Parts {
		if i == len(wire.Parts)-1 {
			list = append(list, l.withoutRules(part, request)...)
			continue
		}
		list = append(list, matcher.Piece{Text: part, Shared: wire.IsTool(i)})
	}
	return list
}

// withoutRules cuts the rules out of the part that has them.
func (l *LLM) withoutRules(part []byte, request provider.Request) []matcher.Piece {
	if len(request.Messages) == 0 || request.Messages[0].Role != provider.System {
		return []matcher.Piece{{Text: part}}
	}
	rules, known := l.rules.Get(request.Messages[0].Text)
	if !known {
		rules, _ = json.Marshal(request.Messages[0].Text) // a text always marshals
		l.rules.Add(request.Messages[0].Text, rules)
	}
	before, behind, found := bytes.Cut(part, rules)
	if !found {
		return []matcher.Piece{{Text: part}} // a provider that joins them with others
	}
	return []matcher.Piece{{Text: before}, {Text: rules, Shared: true}, {Text: behind}}
}

// note notes a call of an answer, and returns its number.
func (t *llmTurn) note(call checkedCall) int {
	if t.trace == nil {
		return 0
	}
	noted := matcher.Call{
		Candidate: call.candidate, Name: call.call.Name, Arguments: call.given, Repaired: call.repaired,
		Coerced: call.reading.Coerced, Ignored: call.reading.Dropped, Errors: call.reading.Errors, Round: t.round,
	}
	if call.unread || !call.known {
		noted.Unread = call.call.Arguments
	}
	switch {
	case call.finds:
		noted.Dropped = "The model looked for more tools, with the words " + fmt.Sprintf("%q.", call.words)
	case !call.known:
		noted.Dropped = "No tool in scope has this name: the model made it up."
	case call.duplicate:
		noted.Dropped = "It repeats an earlier call of the same answer."
	}
	return t.trace.Add(noted)
}

// drop notes why a call of an answer came to nothing.
func (t *llmTurn) drop(call checkedCall, why string) {
	if t.trace == nil || call.number == 0 || t.trace.Calls[call.number-1].Dropped != "" {
		return
	}
	t.trace.Calls[call.number-1].Dropped = why
}

// silence notes why an answer has no calls.
func (t *llmTurn) silence(first, second checkedAnswer) {
	switch {
	case len(first.calls)+len(second.calls) > 0:
	case first.text != "":
		t.trace.Silent("the model called no tool, and answered with text")
	default:
		t.trace.Silent("the model called no tool")
	}
}
