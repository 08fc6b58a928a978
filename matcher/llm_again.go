package matcher

import (
	"context"
	"errors"
	"slices"
)

// again sends an answer with faults back, once, and returns what the model made of
// them; the zero answer where there is nothing to put right. Where this second request
// fails the first answer stands: its sound calls are known to be meant, and to lose
// them would help nobody, while its faulty ones are rejected as they are.
func (l *LLM) again(ctx context.Context, t *turn, first readAnswer) (readAnswer, error) {
	if !slices.ContainsFunc(first.findings, finding.curable) {
		return readAnswer{}, nil
	}
	ask := t.ask
	ask.Messages = append(slices.Clone(ask.Messages), back(first)...)
	answer, err := l.ask(ctx, t.model, ask)
	var unavailable *Unavailable
	if errors.As(err, &unavailable) {
		l.options.Logger.WarnContext(ctx, "the LLM gave no second answer; faulty calls are rejected", "reason", unavailable.Reason)
		return readAnswer{}, nil
	}
	if err != nil {
		return readAnswer{}, err
	}
	return t.read(answer), nil
}

// back renders an answer as the model gave it, followed by a verdict on each call.
func back(first readAnswer) []message {
	messages := []message{{Role: roleAssistant, Text: first.text}}
	for _, found := range first.findings {
		messages[0].Calls = append(messages[0].Calls, found.call)
		messages = append(messages, message{
			Role: roleTool, CallID: found.call.ID, Text: found.verdict(), Failed: !found.known || found.curable(),
		})
	}
	return messages
}

// curable reports whether the model can do anything about the call's faults.
func (f finding) curable() bool { return f.faulty() && len(f.shownFaults()) > 0 }

// result puts the two answers together: sound calls of the first stand, in their
// order; a faulty one is replaced by the second answer's next call of the same tool.
// Other calls of the second answer are not asked for and do not count.
func (t *turn) result(first, second readAnswer) Result {
	result := Result{Stage: StageLLM}
	if len(t.request.Candidates) == 0 {
		result.Stage = StageNone
	}
	if t.request.Chat {
		result.Text = first.text
		if second.text != "" {
			result.Text = second.text
		}
	}
	spare := spares(first, second)
	for _, found := range first.findings {
		if found.faulty() {
			found = replace(found, &spare)
		}
		add(&result, found)
	}
	return result
}

// spares returns the calls of the second answer that do not merely repeat a sound
// call of the first.
func spares(first, second readAnswer) []finding {
	return slices.DeleteFunc(slices.Clone(second.findings), func(again finding) bool {
		return !again.known || again.duplicate || slices.ContainsFunc(first.findings, func(found finding) bool {
			return found.sound() && found.key() == again.key()
		})
	})
}

// replace returns the next spare call of the same tool, and takes it out; the faulty
// call itself where there is none.
func replace(faulty finding, spare *[]finding) finding {
	at := slices.IndexFunc(*spare, func(again finding) bool {
		return again.candidate.Tool == faulty.candidate.Tool
	})
	if at < 0 {
		return faulty
	}
	chosen := (*spare)[at]
	*spare = slices.Delete(*spare, at, at+1)
	return chosen
}

// add files a call under what it came to.
func add(r *Result, found finding) {
	switch {
	case found.sound():
		r.Matches = append(r.Matches, Match{
			Candidate: found.candidate,
			Values:    found.reading.Values,
			Repaired:  found.repaired,
			Coerced:   found.reading.Coerced,
		})
	case found.faulty():
		r.Rejected = append(r.Rejected, Rejected{
			Candidate: found.candidate,
			Values:    found.reading.Values,
			Missing:   found.reading.Missing,
			Errors:    found.reading.Errors,
		})
	}
}
