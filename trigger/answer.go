package trigger

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"earshot/matcher"
	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
	"earshot/trigger/conversation"
	"earshot/trigger/ledger"
)

// deliverDecision makes the first attempt at what a decision owes, writes the reply, and
// stores the answer. The decision stands by now: whatever fails here is delivered
// later and takes nothing back.
func (ts *Turns) deliverDecision(ctx context.Context, t *turn, p *plan, request matcher.Request, result matcher.Result) (json.RawMessage, error) {
	r := ts.deliveries.newFirstAttempts(p)
	if err := r.run(ctx); err != nil {
		return nil, err
	}
	if wantsModelReply(request, t.scope, p.answer) {
		if _, err := r.save(ctx, ledger.Report{}); err != nil { // others wait for our events, and a model takes its time
			return nil, err
		}
		p.answer.Reply = quote(asking(ts.modelReply(ctx, request, p.answer), p.answer))
	} else {
		p.answer.replyWith(directReply(t.scope, p.answer, result.Text, request.Chat))
	}
	return ts.close(ctx, r)
}

// close stores the answer with the last outcomes, and returns the answer that is valid:
// another replica may have stored one before.
func (ts *Turns) close(ctx context.Context, r *firstAttempts) (json.RawMessage, error) {
	answer, err := exactjson.Encode(r.plan.answer.shown())
	if err != nil {
		return nil, err
	}
	says, err := r.plan.replied(ts.now())
	if err != nil {
		return nil, err
	}
	closing := ledger.Report{Message: r.plan.Message, Answer: string(answer), Reply: string(r.plan.answer.Reply), Says: says}
	held, err := r.save(ctx, closing)
	return json.RawMessage(held), err
}

// replyWith adds the reply to an answer.
func (a *Answer) replyWith(reply json.RawMessage) { a.Reply, a.ReplyType = reply, replyType(reply) }

// replyType is json for a reply that is a result which is no text, else empty.
func replyType(reply json.RawMessage) string {
	if trimmed := bytes.TrimSpace(reply); len(trimmed) == 0 || trimmed[0] == '"' || string(trimmed) == "null" {
		return ""
	}
	return "json"
}

// repliesTo reports whether there may be a reply: no exclusive repository is in scope, and
// neither a tool that fired nor the app suppresses replies.
func repliesTo(s scope, answer Answer) bool { return !s.exclusive() && !answer.SkipResponse }

// wantsModelReply reports whether the model should write a reply, given the results of the
// calls.
func wantsModelReply(request matcher.Request, s scope, answer Answer) bool {
	return request.Chat && len(answer.Matches) > 0 && repliesTo(s, answer) && returnedDirect(answer) == nil && questions(answer) == ""
}

// questions are what the user is to be asked before triggers take effect, a line each.
func questions(answer Answer) string {
	var asked []string
	for _, match := range answer.Matches {
		if match.State == StateConfirming {
			asked = append(asked, match.Question)
		}
	}
	return strings.Join(asked, "\n")
}

// directReply is the reply that needs no further request: the result of a tool that
// returns it directly, the question of one that asks first, or what the model said beside
// matching nothing.
func directReply(s scope, answer Answer, text string, chat bool) json.RawMessage {
	if !repliesTo(s, answer) {
		return nil
	}
	if direct := returnedDirect(answer); direct != nil {
		return direct
	}
	if asked := questions(answer); asked != "" {
		text = asked
	} else if len(answer.Matches) > 0 {
		return nil
	}
	if !chat {
		return nil
	}
	return quote(asking(text, answer))
}

// asking is a reply that asks for what a rejected call lacks, in the words of its tool: a
// model may forget to ask, or ask for something else. What the model asked itself gives way.
func asking(text string, answer Answer) string {
	var ask string
	for _, rejected := range answer.Rejected {
		ask = cmp.Or(ask, rejected.Ask)
	}
	switch {
	case ask == "" || strings.Contains(text, ask):
		return text
	case text == "" || len(answer.Matches) == 0 && strings.Contains(text, "?"):
		return ask
	}
	return text + "\n" + ask
}

// returnedDirect is the result of the first tool that is itself the reply.
func returnedDirect(answer Answer) json.RawMessage {
	for _, match := range answer.Matches {
		if match.ReturnDirect && match.Call != nil && match.Call.State == StateDelivered {
			return match.Call.Result
		}
	}
	return nil
}

// modelReply asks the model for a reply. Without one the message stays decided, and
// there is no reply.
func (ts *Turns) modelReply(ctx context.Context, request matcher.Request, answer Answer) string {
	text, err := ts.scopes.matcher.Reply(ctx, request, firedOf(answer))
	if err != nil {
		ts.log.Warn("reply.failed", "app", request.App.ID, "message", answer.MessageID, "error", err.Error())
		return ""
	}
	return text
}

func firedOf(answer Answer) []matcher.PastCall {
	list := make([]matcher.PastCall, len(answer.Matches))
	for i, match := range answer.Matches {
		list[i] = matcher.PastCall{TriggerID: match.TriggerID, Name: match.Name, Values: match.Values}
		if match.Call != nil {
			list[i].Result, list[i].Error = match.Call.Result, match.Call.Error
		}
		if match.State == StateCancelled {
			list[i].Error = conversation.Cancelled
		}
	}
	return list
}

// quote writes a text as JSON; no text is no reply.
func quote(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	quoted, _ := exactjson.Encode(text) // a string always marshals
	return quoted
}

// rebuild makes the answer of a turn whose process died after the decision: what was
// decided, with the current states.
func (ts *Turns) rebuild(ctx context.Context, id ledger.Turn, decision string) (json.RawMessage, error) {
	var answer Answer
	if err := decode(decision, &answer); err != nil {
		return nil, err
	}
	// What that process may have answered is so by then, where the broker takes it.
	ts.deliveries.drain(id.App, keyspace.Box(id.Session, ""), ts.token())
	decided := slices.Clone(answer.Matches)
	if err := ts.records.fillStates(ctx, id.App, answer.Matches); err != nil {
		return nil, err
	}
	for i, match := range decided {
		if !match.due() { // not due then: what came of it since was no part of the answer
			answer.Matches[i] = match
		}
	}
	return ts.keep(answer, func(text string) (string, error) { return ts.ledger.KeepAnswer(ctx, id, decision, text) })
}

// answered is the stored answer of a message.
func answered(found ledger.Accepted) (json.RawMessage, error) {
	if found.Answer != ledger.AsDecided {
		return json.RawMessage(found.Answer), nil
	}
	answer, err := asDecided(found.Decision)
	if err != nil {
		return nil, err
	}
	if found.Reply != "" {
		answer.replyWith(json.RawMessage(found.Reply))
	}
	return exactjson.Encode(answer)
}

// asDecided is the answer with what was decided, when all of it is published.
func asDecided(decision string) (answer Answer, err error) {
	err = decode(decision, &answer)
	for i, match := range answer.Matches {
		answer.Matches[i] = match.published()
	}
	return answer, err
}

// published is a match as it was decided, when all of its events that are due are published.
func (m Match) published() Match {
	if m.due() {
		m.setEvents(StatePublished)
	}
	return m.shown()
}

// keep stores an answer that was made anew, unless another was faster, and returns the one
// that holds.
func (ts *Turns) keep(answer any, store func(text string) (string, error)) (json.RawMessage, error) {
	text, err := exactjson.Encode(answer)
	if err != nil {
		return nil, err
	}
	failpoint.At(failpoint.RebuildBefore)
	kept, err := store(string(text))
	if kept == ledger.AsDecided {
		return nil, errLost // whoever was taken for dead is not, and has answered
	}
	return json.RawMessage(kept), err
}
