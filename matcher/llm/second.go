package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"earshot/matcher"
	"earshot/matcher/text"
	"earshot/repositories/parameters"
)

// maxFound bounds the tools that a search adds. Its query is specific, unlike the guess from the message.
const maxFound = 16

// find searches for the tools that the answer asks for and sends it back with them, once. The second answer's calls
// count together with the first one's sound calls. If the search finds nothing, a second answer is still requested
// in a chat, for its reply, and if the model called nothing and searched for tools that it was offered.
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
	verdict := fmt.Sprintf("%d more tools are offered now. Call what the last message asks for; if none fits, call none. Do not search again.", len(found))
	switch {
	case len(found) > 0:
	case offered:
		verdict = "The tools for that are offered already. Call what the last message asks for; if none fits, call none. Do not search again."
	default:
		verdict = "There is no such tool."
	}
	ask := t.ask
	kept := max(1, t.limit-len(found))
	ask.tools = slices.Concat(ask.tools[:min(len(ask.tools), kept)], t.definitions(found))
	ask.messages = append(slices.Clone(ask.messages), first.sendBack(verdict)...)
	return l.askAgain(ctx, t, ask, sound, "the LLM gave no second answer; what it called before it looked for tools is kept")
}

// retry sends an answer with faults back once. It returns the corrected answer, or the zero answer if there is
// nothing to correct. In a chat it also does so if the model only called unknown tools, because the user waits for
// a reply. If the second request fails, the first answer's sound calls are kept and its faulty ones rejected.
func (l *LLM) retry(ctx context.Context, t *llmTurn, first checkedAnswer) (checkedAnswer, error) {
	if !first.has(checkedCall.correctable) && !(t.request.Chat && first.onlyUnknown()) {
		return checkedAnswer{}, nil
	}
	ask := t.ask
	ask.messages = append(slices.Clone(ask.messages), first.sendBack("")...)
	ask.tools = first.relaxed(ask.tools)
	return l.askAgain(ctx, t, ask, true, "the LLM gave no second answer; faulty calls are rejected")
}

// askAgain asks for the second answer. If the first suffices (stands), an unavailable model is only logged.
func (l *LLM) askAgain(ctx context.Context, t *llmTurn, ask chatRequest, stands bool, failed string) (checkedAnswer, error) {
	answer, err := l.ask(ctx, t, ask)
	if unavailable, is := errors.AsType[*matcher.Unavailable](err); stands && is {
		l.options.Logger.WarnContext(ctx, failed, "reason", unavailable.Reason)
		return checkedAnswer{}, nil
	}
	if err != nil {
		return checkedAnswer{}, err
	}
	return t.read(answer), nil
}

// relaxed returns the tools for the second answer: required values that are missing from the conversation become
// optional. Servers that bind a model to the schema by a grammar (llama.cpp) cannot leave out a required value,
// whatever a message says, and would invent it again.
//
// The first request keeps them required. Nullable types would be an alternative, but some servers fail at a type
// that is a list (ollama/ollama#10328), and the effect on models is unmeasured. If no value was invented, nothing
// changes and the provider's cache remains useful.
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

// result merges the two answers. Sound calls of the first stay in order; a faulty one is replaced by the second
// answer's next call of the same tool. Other calls of the second answer count only if the first one searched for
// tools or only called unknown ones.
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

	// A repetition of a sound call of the first answer replaces nothing.
	var spare []checkedCall
	for _, correction := range second.calls {
		repeats := func(made checkedCall) bool { return made.sound() && made.key() == correction.key() }
		switch {
		case !correction.known || correction.duplicate:
		case first.has(repeats):
			t.drop(correction, "It repeats a call of the first answer, which was accepted.")
		default:
			spare = append(spare, correction)
		}
	}
	for _, made := range first.calls {
		at := slices.IndexFunc(spare, func(correction checkedCall) bool { return correction.candidate.Tool == made.candidate.Tool })
		if made.faulty() && at >= 0 {
			t.drop(made, "It went back to the model with its errors, and the call of the second answer replaces it.")
			made = spare[at]
			spare = slices.Delete(spare, at, at+1)
		}
		add(&result, made)
	}
	for _, correction := range spare {
		if first.searches() || first.onlyUnknown() {
			add(&result, correction)
		} else {
			t.drop(correction, "The second answer was to fix wrong calls of the first, and this fixes none.")
		}
	}
	return result
}

// nothingDone maps languages (ISO 639-1) to the message that nothing was done.
var nothingDone = map[string]string{
	"en": "Sorry, I could not do that: nothing was done.",
	"de": "Das konnte ich leider nicht tun: Es ist nichts geschehen.",
	"fr": "Désolé, je n'ai pas pu le faire : rien n'a été fait.",
	"it": "Mi dispiace, non ho potuto farlo: non è stato fatto nulla.",
	"es": "Lo siento, no he podido hacerlo: no se ha hecho nada.",
}

// text returns the text of the answers. Text beside a call of an unknown tool may claim that it was done, so the
// user is told, in their language or in English, that nothing was done.
func (t *llmTurn) text(first, second checkedAnswer) string {
	last := first
	if len(second.calls) > 0 || second.text != "" {
		last = second
	}
	if last.onlyUnknown() && !first.has(func(made checkedCall) bool { return made.known }) {
		return cmp.Or(nothingDone[text.Base(t.request.Language)], nothingDone[matcher.LanguageOf(t.request.Text)], nothingDone["en"])
	}
	return cmp.Or(second.text, first.text)
}

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

// drop records in the trace why a call was dropped.
func (t *llmTurn) drop(call checkedCall, why string) {
	if t.trace != nil && call.number > 0 && t.trace.Calls[call.number-1].Dropped == "" {
		t.trace.Calls[call.number-1].Dropped = why
	}
}
