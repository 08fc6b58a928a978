package trigger

import (
	"cmp"
	"encoding/json"
	"strings"

	"earshot/matcher"
	"earshot/repositories/exactjson"
	"earshot/trigger/conversation"
	"earshot/trigger/delivery"
	"earshot/trigger/query"
	"earshot/trigger/scope"
	"earshot/trigger/worker"
)

// sendAnswer takes the answer of a committed decision before the remaining effects are written.
type sendAnswer func(*delivery.Decision, json.RawMessage)

// runAhead runs work and returns the answer once work sends it. The remaining work of the decision then follows.
func (d *decider) runAhead(work func(sendAnswer) (json.RawMessage, error)) (json.RawMessage, error) {
	type result struct {
		answer json.RawMessage
		err    error
	}
	results, written := make(chan result, 2), func() {} // the first result is returned
	d.Go(func() {
		defer close(results)
		defer func() { written() }()
		answer, err := work(func(decision *delivery.Decision, answer json.RawMessage) {
			written = d.deliveries.RegisterPendingWrite(decision)
			results <- result{answer, nil}
		})
		results <- result{answer, err}
	})
	first, is := <-results
	if !is { // work has panicked
		return nil, worker.ErrPanicked
	}
	return first.answer, first.err
}

// mayReply reports whether a reply is allowed: no exclusive repository is in scope, and no fired tool and not
// the app suppresses replies.
func mayReply(s scope.Scope, answer query.Answer) bool {
	return !s.Exclusive() && !answer.SkipResponse
}

// directReply returns the reply that needs no further request: the result of a returnDirect tool, the question
// of a tool that asks first, or the model's text if nothing matched.
func directReply(s scope.Scope, answer query.Answer, text string, chat bool) json.RawMessage {
	if !mayReply(s, answer) {
		return nil
	}
	if direct := directResult(answer); direct != nil {
		return direct
	}
	if questionText := questions(answer); questionText != "" {
		text = questionText
	} else if len(answer.Matches) > 0 {
		return nil
	}
	if !chat {
		return nil
	}
	return quote(withQuestion(text, answer))
}

// directResult returns the result of the first tool whose result is the reply.
func directResult(answer query.Answer) json.RawMessage {
	for _, match := range answer.Matches {
		if match.ReturnDirect && match.Call != nil && match.Call.State == query.StateDelivered {
			return match.Call.Result
		}
	}
	return nil
}

// questions returns the questions of triggers that wait for confirmation, a line each.
func questions(answer query.Answer) string {
	var list []string
	for _, match := range answer.Matches {
		if match.State == query.StateConfirming {
			list = append(list, match.Question)
		}
	}
	return strings.Join(list, "\n")
}

// withQuestion adds to a reply the question for a missing value of a rejected call, in the words of its tool, since a
// model may forget it or ask for something else. The tool's question replaces the model's.
func withQuestion(text string, answer query.Answer) string {
	var question string
	for _, rejected := range answer.Rejected {
		question = cmp.Or(question, rejected.Ask)
	}
	switch {
	case question == "" || strings.Contains(text, question):
		return text
	case text == "" || len(answer.Matches) == 0 && strings.Contains(text, "?"):
		return question
	}
	return text + "\n" + question
}

// quote returns a text as JSON; an empty text is no reply.
func quote(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return exactjson.EncodeOrNull(text)
}

// firedCalls returns the matches of an answer as the model sees them for a reply.
func firedCalls(answer query.Answer) []matcher.PastCall {
	list := make([]matcher.PastCall, len(answer.Matches))
	for i, match := range answer.Matches {
		list[i] = matcher.PastCall{TriggerID: match.TriggerID, Name: match.Name, Values: match.Values}
		if match.Call != nil {
			list[i].Result, list[i].Error = match.Call.Result, match.Call.Error
		}
		if match.State == query.StateCancelled {
			list[i].Error = conversation.Cancelled
		}
	}
	return list
}
