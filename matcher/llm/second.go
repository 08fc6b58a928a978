package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"earshot/matcher"
	"earshot/repositories/parameters"
)

// maxFound is how many tools a search adds at most. It has words of its own, and is no
// second guess of what a message is about.
const maxFound = 16

// find looks for the tools that the answer asks for and sends it back with them, once. What
// the second answer calls counts together with what is sound in the first. If the search finds
// nothing, that answer is needed by a chat, for its reply, and if the model has called nothing and
// looks for what it was offered.
func (l *LLM) find(ctx context.Context, t *llmTurn, first checkedAnswer) (checkedAnswer, error) {
	var found []matcher.Candidate
	offered, most := false, max(1, min(maxFound, t.limit/2))
	for _, call := range first.calls {
		if !call.finds {
			continue
		}
		for _, one := range l.retriever.Search(ctx, t.request, call.words, len(t.offered)+most) {
			switch {
			case slices.Contains(t.offered, one.Candidate):
				offered = true
			case !slices.Contains(found, one.Candidate) && len(found) < most:
				found = append(found, one.Candidate)
			}
		}
	}

	sound := first.has(checkedCall.sound)
	overlooked := offered && !sound
	if len(found) == 0 && !overlooked && !t.request.Chat && !first.has(checkedCall.correctable) {
		return checkedAnswer{}, nil
	}
	says := fmt.Sprintf("%d more tools are offered now. Call what the last message asks for; if none fits, call none. Do not search again.", len(found))
	switch {
	case len(found) > 0:
	case offered:
		says = "The tools for that are offered already. Call what the last message asks for; if none fits, call none. Do not search again."
	default:
		says = "There is no such tool."
	}
	ask := t.ask
	kept := max(1, t.limit-len(found))
	ask.tools = slices.Concat(ask.tools[:min(len(ask.tools), kept)], t.definitions(found))
	ask.messages = append(slices.Clone(ask.messages), first.sendBack(says)...)
	return l.askAgain(ctx, t, ask, sound, "the LLM gave no second answer; what it called before it looked for tools is kept")
}

// retry sends an answer with faults back once and returns the model's corrected answer, or the
// zero answer if there is nothing to correct. In a chat it also does so if the model has called
// nothing but tools that are not there: its user waits for a word. If this second request fails,
// the first answer stands: its sound calls are kept, since losing them would help nobody, and its
// faulty ones are rejected as they are.
func (l *LLM) retry(ctx context.Context, t *llmTurn, first checkedAnswer) (checkedAnswer, error) {
	if !first.has(checkedCall.correctable) && !(t.request.Chat && first.madeUp()) {
		return checkedAnswer{}, nil
	}
	ask := t.ask
	ask.messages = append(slices.Clone(ask.messages), first.sendBack("")...)
	ask.tools = first.relaxed(ask.tools)
	return l.askAgain(ctx, t, ask, true, "the LLM gave no second answer; faulty calls are rejected")
}

// askAgain asks for the second answer. If the first one can stand alone, a failure is only logged.
func (l *LLM) askAgain(ctx context.Context, t *llmTurn, ask chatRequest, stands bool, failed string) (checkedAnswer, error) {
	answer, err := l.ask(ctx, t, ask)
	var unavailable *matcher.Unavailable
	if stands && errors.As(err, &unavailable) {
		l.options.Logger.WarnContext(ctx, failed, "reason", unavailable.Reason)
		return checkedAnswer{}, nil
	}
	if err != nil {
		return checkedAnswer{}, err
	}
	return t.read(answer), nil
}

// relaxed returns the tools as they are offered for the second answer: required values that were
// to stand in the conversation, and do not, are not required any more. Servers that bind a model
// to the schema by a grammar (llama.cpp) cannot leave out what is required, whatever a
// message says, and would make it up again.
//
// The first request shows what is required as it is. That it may be null would be another way,
// but some servers fail at a type that is a list (ollama/ollama#10328), and with them every
// message; and nobody has measured what a model loses that sees no value required. If none was
// made up, nothing changes, and what providers have cached holds.
func (a checkedAnswer) relaxed(tools []*chatTool) []*chatTool {
	tools = slices.Clone(tools)
	for _, made := range a.calls {
		at := slices.IndexFunc(tools, func(tool *chatTool) bool { return tool.name == made.call.name })
		if at < 0 || !made.correctable() {
			continue
		}
		var unsaid []string
		for _, p := range made.candidate.Tool.Params().List() {
			faulty := slices.ContainsFunc(made.shown, func(fault parameters.ValueFault) bool { return fault.Parameter == p.Name })
			if p.Grounded && p.Required && faulty {
				unsaid = append(unsaid, p.Name)
			}
		}
		if len(unsaid) == 0 {
			continue
		}

		tool := tools[at]
		var object map[string]json.RawMessage
		var required []string
		_ = json.Unmarshal(tool.schema, &object) // our own
		_ = json.Unmarshal(object["required"], &required)
		required = slices.DeleteFunc(required, func(alias string) bool { return slices.Contains(unsaid, tool.parameter(alias)) })
		if delete(object, "required"); len(required) > 0 {
			object["required"], _ = json.Marshal(required)
		}
		schema, _ := json.Marshal(object)
		tools[at] = &chatTool{name: tool.name, description: tool.description, sessionScoped: tool.sessionScoped, schema: schema, names: tool.names}
	}
	return tools
}

// result merges the two answers: sound calls of the first stand, in their order; a faulty
// one is replaced by the second answer's next call of the same tool. Other calls of the
// second answer count if the first one looked for tools, or called none that is there;
// else they were not asked for and are ignored.
func (t *llmTurn) result(first, second checkedAnswer) matcher.Result {
	result := matcher.Result{Stage: matcher.StageLLM}
	if len(t.request.Candidates) == 0 {
		result.Stage = matcher.StageNone
	}
	if t.request.Chat {
		result.Text = t.text(first, second)
	}
	if len(first.calls)+len(second.calls) == 0 {
		why := "the model called no tool"
		if first.text != "" {
			why += ", and answered with text"
		}
		t.trace.Silent(why)
	}

	// What merely repeats a sound call of the first answer is no call to choose from.
	var spare []checkedCall
	for _, again := range second.calls {
		repeats := func(made checkedCall) bool { return made.sound() && made.key() == again.key() }
		switch {
		case !again.known || again.duplicate:
		case first.has(repeats):
			t.drop(again, "It repeats a call of the first answer, which was accepted.")
		default:
			spare = append(spare, again)
		}
	}
	for _, made := range first.calls {
		at := slices.IndexFunc(spare, func(again checkedCall) bool { return again.candidate.Tool == made.candidate.Tool })
		if made.faulty() && at >= 0 {
			t.drop(made, "It went back to the model with its errors, and the call of the second answer replaces it.")
			made = spare[at]
			spare = slices.Delete(spare, at, at+1)
		}
		add(&result, made)
	}
	for _, again := range spare {
		if first.searches() || first.madeUp() {
			add(&result, again)
		} else {
			t.drop(again, "The second answer was to fix wrong calls of the first, and this fixes none.")
		}
	}
	return result
}

// nothing says in a language that nothing was done: by the codes of ISO 639-1, of those that are
// read.
var nothing = map[string]string{
	"en": "Sorry, I could not do that: nothing was done.",
	"de": "Das konnte ich leider nicht tun: Es ist nichts geschehen.",
	"fr": "Désolé, je n'ai pas pu le faire : rien n'a été fait.",
	"it": "Mi dispiace, non ho potuto farlo: non è stato fatto nulla.",
	"es": "Lo siento, no he podido hacerlo: no se ha hecho nada.",
}

// text is the text of the answers. What goes with a call of a tool that is not there may tell
// of what was never done, so that the user hears instead that nothing was done: in their
// language, else in English.
func (t *llmTurn) text(first, second checkedAnswer) string {
	last := first
	if len(second.calls) > 0 || second.text != "" {
		last = second
	}
	if last.madeUp() && !first.has(func(made checkedCall) bool { return made.known }) {
		language, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(t.request.Language), "_", "-"), "-")
		return cmp.Or(nothing[language], nothing[matcher.LanguageOf(t.request.Text)], nothing["en"])
	}
	return cmp.Or(second.text, first.text)
}

// add records a call as a match or as rejected, as its check came out.
func add(r *matcher.Result, found checkedCall) {
	switch {
	case found.sound():
		r.Matches = append(r.Matches, matcher.Match{
			Candidate: found.candidate,
			Values:    found.reading.Values,
			Repaired:  found.repaired,
			Coerced:   found.reading.Coerced,
			Call:      found.number,
		})
	case found.faulty():
		r.Rejected = append(r.Rejected, matcher.Rejected{
			Candidate: found.candidate,
			Values:    found.reading.Values,
			Missing:   found.reading.Missing,
			Errors:    found.reading.Errors,
			Call:      found.number,
		})
	}
}

// drop notes why a call of an answer came to nothing.
func (t *llmTurn) drop(call checkedCall, why string) {
	if t.trace != nil && call.number > 0 && t.trace.Calls[call.number-1].Dropped == "" {
		t.trace.Calls[call.number-1].Dropped = why
	}
}
