package llm

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"earshot/matcher"
	"earshot/matcher/llm/provider"
	"earshot/repositories/parameters"
)

// retry sends an answer with faults back once and returns the model's corrected answer, or
// the zero answer if there is nothing to correct. In a chat it does so as well where the model
// has called nothing but tools that are not there: its user waits for a word. If this second request fails, the first
// answer stands: its sound calls are kept, since losing them would help nobody, and its
// faulty ones are rejected as they are.
func (l *LLM) retry(ctx context.Context, t *llmTurn, first checkedAnswer) (checkedAnswer, error) {
	if !slices.ContainsFunc(first.calls, checkedCall.correctable) && !(t.request.Chat && first.madeUp()) {
		return checkedAnswer{}, nil
	}
	ask := t.ask
	ask.Messages = append(slices.Clone(ask.Messages), sentBack(first, "")...)
	ask.Tools = first.relaxed(ask.Tools)
	answer, err := l.ask(ctx, t.model, ask)
	var unavailable *matcher.Unavailable
	if errors.As(err, &unavailable) {
		l.options.Logger.WarnContext(ctx, "the LLM gave no second answer; faulty calls are rejected", "reason", unavailable.Reason)
		return checkedAnswer{}, nil
	}
	if err != nil {
		return checkedAnswer{}, err
	}
	return t.read(answer), nil
}

// relaxed returns the tools as they are offered for the second answer: what was made up is not
// required any more. Servers that bind a model to the schema by a grammar (llama.cpp) cannot
// leave out what is required, whatever they are told, and would make it up again.
//
// The first request shows what is required as it is. That it may be null would be another way,
// but some servers fail at a type that is a list (ollama/ollama#10328), and with them every
// message; and nobody has measured what a model loses that sees no value required. Where none
// was made up, nothing changes, and what providers have cached holds.
func (a checkedAnswer) relaxed(tools []*provider.Tool) []*provider.Tool {
	tools = slices.Clone(tools)
	for _, found := range a.calls {
		unsaid := found.unsaid()
		at := slices.IndexFunc(tools, func(tool *provider.Tool) bool { return tool.Name == found.call.Name })
		if len(unsaid) == 0 || at < 0 {
			continue
		}
		tool := tools[at]
		tools[at] = &provider.Tool{
			Name: tool.Name, Description: tool.Description, SessionScoped: tool.SessionScoped,
			Schema: notRequiring(tool.Schema, offerOf(found.candidate, tool.Name).wires(unsaid)),
		}
	}
	return tools
}

// unsaid are the required parameters whose values were to stand in the conversation, and do not.
func (f checkedCall) unsaid() (names []string) {
	if !f.correctable() {
		return nil
	}
	for _, p := range f.candidate.Tool.Params().List() {
		faulty := slices.ContainsFunc(f.shownFaults(), func(fault parameters.ValueFault) bool { return fault.Parameter == p.Name })
		if p.Grounded && p.Required && faulty {
			names = append(names, p.Name)
		}
	}
	return names
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

// nothingDone says so in the language of the user, else in English.
func nothingDone(to matcher.Request) string {
	told, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(to.Language), "_", "-"), "-")
	return cmp.Or(nothing[told], nothing[matcher.LanguageOf(to.Text)], nothing["en"])
}

// madeUp reports whether the answer calls tools, and none that is there.
func (a checkedAnswer) madeUp() bool {
	return len(a.calls) > 0 && !slices.ContainsFunc(a.calls, func(found checkedCall) bool { return found.known || found.finds })
}

// sentBack renders an answer as the model gave it, followed by a verdict on each call; that
// on a search is what was found.
func sentBack(first checkedAnswer, found string) []provider.Message {
	messages := []provider.Message{{Role: provider.Assistant, Text: first.text}}
	for _, made := range first.calls {
		messages[0].Calls = append(messages[0].Calls, made.call)
		messages = append(messages, provider.Message{
			Role: provider.ToolResult, CallID: made.call.ID, Text: made.verdict(found), Failed: !made.finds && !made.known || made.correctable(),
		})
	}
	return messages
}

// correctable reports whether the model can do anything about the call's faults.
func (f checkedCall) correctable() bool { return f.faulty() && len(f.shownFaults()) > 0 }

// result merges the two answers: sound calls of the first stand, in their order; a faulty
// one is replaced by the second answer's next call of the same tool. Other calls of the
// second answer count where the first one looked for tools, or called none that is there;
// else they were not asked for and are ignored.
func (t *llmTurn) result(first, second checkedAnswer) matcher.Result {
	result := matcher.Result{Stage: matcher.StageLLM}
	if len(t.request.Candidates) == 0 {
		result.Stage = matcher.StageNone
	}
	if t.request.Chat {
		result.Text = t.said(first, second)
	}
	t.silence(first, second)
	spare := t.spares(first, second)
	for _, found := range first.calls {
		if found.faulty() {
			found = t.replace(found, &spare)
		}
		add(&result, found)
	}
	for _, found := range spare {
		if first.asksForMore() || first.madeUp() {
			add(&result, found)
		} else {
			t.drop(found, "The second answer was to mend faulty calls of the first, and this mends none.")
		}
	}
	return result
}

// said is the text of the answers. What goes with a call of a tool that is not there may tell
// of what was never done, so that the user hears that instead.
func (t *llmTurn) said(first, second checkedAnswer) string {
	last := first
	if len(second.calls) > 0 || second.text != "" {
		last = second
	}
	switch {
	case last.madeUp() && !slices.ContainsFunc(first.calls, func(found checkedCall) bool { return found.known }):
		return nothingDone(t.request)
	case second.text != "":
		return second.text
	}
	return first.text
}

// spares returns the calls of the second answer that do not merely repeat a sound
// call of the first.
func (t *llmTurn) spares(first, second checkedAnswer) []checkedCall {
	return slices.DeleteFunc(slices.Clone(second.calls), func(again checkedCall) bool {
		if !again.known || again.duplicate {
			return true
		}
		repeats := slices.ContainsFunc(first.calls, func(found checkedCall) bool {
			return found.sound() && found.key() == again.key()
		})
		if repeats {
			t.drop(again, "It repeats a call of the first answer, which was accepted.")
		}
		return repeats
	})
}

// replace removes and returns the next spare call of the same tool, or returns the faulty
// call itself if there is none.
func (t *llmTurn) replace(faulty checkedCall, spare *[]checkedCall) checkedCall {
	at := slices.IndexFunc(*spare, func(again checkedCall) bool {
		return again.candidate.Tool == faulty.candidate.Tool
	})
	if at < 0 {
		return faulty
	}
	chosen := (*spare)[at]
	*spare = slices.Delete(*spare, at, at+1)
	t.drop(faulty, "It went back to the model with its faults, and the call of the second answer stands in its place.")
	return chosen
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
