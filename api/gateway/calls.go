package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/failpoint"
	"earshot/repositories/parameters"
	"earshot/trigger"
	"earshot/trigger/conversation"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
)

// call is a tool call of the model, as it has written it.
type call struct {
	index           int // among those of the answer
	id, name, given string
	raw             []byte // all of it, where it came whole
}

// written is the call as it stands in a conversation.
func (c call) written() []byte {
	if c.raw != nil {
		return c.raw
	}
	text, _ := json.Marshal(map[string]any{"id": c.id, "type": "function", "function": map[string]string{"name": c.name, "arguments": c.given}})
	return text
}

// offered is a tool that the model is offered, under a name that no tool of the caller has.
type offered struct {
	matcher.Candidate
	name string
}

// written is the tool as the model gets it.
func (o offered) written() []byte {
	text, _ := json.Marshal(map[string]any{"type": "function", "function": map[string]any{
		"name": o.name, "description": o.Tool.Shown(), "parameters": o.Tool.Params().ModelSchema(),
	}})
	return text
}

// turn is what a message has called for, in this request and in earlier ones of the same turn.
type turn struct {
	h      *Handler
	of     *hearing
	text   string
	now    time.Time // where the user is
	claims parameters.Claims
	tools  map[string]offered // by the names that the model knows them by

	read  bool                 // fired has what earlier requests have fired
	fired map[string][]*firing // by the names of the tools, oldest first
}

// firing is one firing of a tool in the turn.
type firing struct {
	id     string
	values map[string]any
	taken  bool // a call of this request has it
	record query.Record
}

// earlier reads what has fired in the turn before this request.
func (t *turn) earlier(ctx context.Context) error {
	if t.read {
		return nil
	}
	list, _, err := t.h.Engine.Triggers(ctx, query.Triggers{
		AppID: t.of.app, SessionID: t.of.session, MessageID: t.of.messageID, Source: query.SourceMessage, Oldest: true, Page: query.Page{Limit: 100},
	})
	if err != nil {
		return err
	}
	t.read, t.fired = true, map[string][]*firing{}
	for _, one := range list {
		t.fired[one.Name] = append(t.fired[one.Name], &firing{id: one.TriggerID, values: one.Values, record: one})
	}
	return nil
}

// done are the calls of earlier requests with their results, as messages: those who go on with
// the conversation do not know of them. They are taken then.
func (t *turn) done(ctx context.Context) (messages [][]byte, err error) {
	if err := t.earlier(ctx); err != nil {
		return nil, err
	}
	var calls, results [][]byte
	for _, tool := range t.tools {
		for _, one := range t.fired[tool.Tool.Name] {
			one.taken = true
			shown, _ := json.Marshal(shownValues(tool, one.values))
			calls = append(calls, call{id: one.id, name: tool.name, given: string(shown)}.written())
			results = append(results, resultMessage(one.id, told(one.record.Match, false)))
		}
	}
	if len(calls) == 0 {
		return nil, nil
	}
	return append([][]byte{assistant(nil, calls)}, results...), nil
}

// shownValues are the values that a model may see.
func shownValues(tool offered, values map[string]any) map[string]any {
	shown := map[string]any{}
	for name, value := range values {
		if !tool.Tool.Params().Hidden(name) {
			shown[name] = value
		}
	}
	return shown
}

// assistant is a message of the model with calls.
func assistant(content []byte, calls [][]byte) []byte {
	if content == nil {
		content = []byte("null")
	}
	return slices.Concat([]byte(`{"role":"assistant","content":`), content, []byte(`,"tool_calls":[`), bytes.Join(calls, []byte{','}), []byte(`]}`))
}

func resultMessage(callID, text string) []byte {
	return slices.Concat([]byte(`{"role":"tool","tool_call_id":`), quote(callID), []byte(`,"content":`), quote(text), []byte{'}'})
}

// carryOut does what the model's calls say, and returns their results as messages.
func (t *turn) carryOut(ctx context.Context, calls []call) (results [][]byte) {
	exclusive := slices.ContainsFunc(calls, func(c call) bool { return t.tools[c.name].Repository.Options.Exclusive })
	plans := make([]*planned, len(calls))
	for i, one := range calls {
		plans[i] = t.plan(ctx, one, exclusive)
	}
	fault := t.earlier(ctx)
	if fault == nil {
		t.assign(ctx, plans)
	}
	for _, one := range plans {
		text := one.refused
		if text == "" {
			text = t.fire(ctx, one, fault)
		}
		results = append(results, resultMessage(one.id, text))
	}
	return results
}

// planned is a call that was looked at.
type planned struct {
	call
	tool      offered
	arguments map[string]any
	values    map[string]any
	refused   string // what the model is told in place of a result
	firing    *firing
}

// plan reads the arguments of a call. What is wrong with them is told to the model.
func (t *turn) plan(ctx context.Context, one call, exclusive bool) *planned {
	p := &planned{call: one, tool: t.tools[one.name]}
	if exclusive && !p.tool.Repository.Options.Exclusive {
		p.refused = refusal("not carried out: another tool of this answer is to be the only one")
		return p
	}
	arguments, _, err := t.h.Model.Arguments(one.given)
	if err != nil {
		p.refused = refusal(err.Error())
		return p
	}
	said, err := t.conversation(ctx, p.tool.Tool)
	if err != nil {
		p.refused = t.failure(err)
		return p
	}
	read, arguments := t.h.Model.Read(said, arguments, p.tool.Tool)
	p.arguments = arguments
	if p.values = read.Values; len(read.Errors) > 0 {
		p.refused = refusal("not carried out: " + faultsOf(p.tool, read.Errors) + ". Call it again with this put right from what was said; do not invent what nobody said, but ask.")
	}
	return p
}

// heardBefore is how many messages of the session count as said before, as with a message that is
// matched.
const heardBefore = 40

// conversation is what was said, for a tool that asks for values that were: grounded ones, and
// amounts. What the client's own copy of it says is no word of anybody.
func (t *turn) conversation(ctx context.Context, of *repositories.Tool) (matcher.Request, error) {
	said := matcher.Request{Text: t.text, Now: t.now}
	if !slices.ContainsFunc(of.Params().List(), func(p parameters.Parameter) bool { return p.Grounded || p.Unit != nil }) {
		return said, nil
	}
	list, _, err := t.h.Engine.History(ctx, query.History{AppID: t.of.app, SessionID: t.of.session, Newest: true, Page: query.Page{Limit: heardBefore}})
	for _, one := range slices.Backward(list) {
		if one.MessageID != t.of.messageID {
			said.History = append(said.History, matcher.Utterance{ID: one.MessageID, Actor: one.Actor, Text: one.Text})
		}
	}
	return said, err
}

// faultsOf says what is wrong with values, but for those that a model must not know of.
func faultsOf(tool offered, faults []parameters.ValueFault) string {
	var list []string
	for _, fault := range faults {
		if !tool.Tool.Params().Hidden(fault.Parameter) {
			list = append(list, strings.TrimSpace(fault.Parameter+" "+fault.Detail))
		}
	}
	return strings.Join(list, "; ")
}

// assign finds out which firing of the turn each call is. A call with the values of an earlier
// one is that one. Else it takes an earlier one of its tool that no call of this request has
// yet, since the model was asked the same before, and only then it is a new one.
func (t *turn) assign(ctx context.Context, plans []*planned) {
	for _, exact := range []bool{true, false} {
		for _, p := range plans {
			if p.refused == "" && p.firing == nil {
				p.firing = t.known(p, exact)
			}
		}
	}
	for _, p := range plans {
		if p.refused != "" || p.firing != nil {
			continue
		}
		if p.firing = t.known(p, true); p.firing == nil { // the same twice in one answer
			name := p.tool.Tool.Name
			p.firing = &firing{id: t.triggerID(ctx, name, len(t.fired[name])), values: p.values, taken: true}
			t.fired[name] = append(t.fired[name], p.firing)
		}
	}
}

func (t *turn) known(p *planned, exact bool) *firing {
	for _, one := range t.fired[p.tool.Tool.Name] {
		if same := conversation.Digest(one.values) == conversation.Digest(p.values); exact && same || !exact && !one.taken {
			one.taken = true
			return one
		}
	}
	return nil
}

// triggerID names the n-th firing of a tool in the turn, in this life of its session.
func (t *turn) triggerID(ctx context.Context, name string, n int) string {
	if failpoint.Planted(failpoint.ChangingCall) {
		name += t.h.Now().String()
	}
	life, _ := t.h.Lives.LifeOf(ctx, t.of.app, t.of.session) // who has posted a message in it has one
	digest := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%s\n%s\n%d", life.App, life.Session, t.of.session, t.of.messageID, name, n))
	return "act-" + hex.EncodeToString(digest[:16])
}

// fire carries a call out and says what came of it.
func (t *turn) fire(ctx context.Context, p *planned, fault error) string {
	if fault != nil {
		return t.failure(fault)
	}
	fired, err := t.h.Engine.Fire(ctx, trigger.Direct{
		AppID: t.of.app, SessionID: t.of.session, Name: p.tool.Tool.Name, RepositoryID: p.tool.Repository.ID, Values: p.arguments, OfModel: true,
		Source: query.SourceMessage, TriggerID: p.firing.id, MessageID: t.of.messageID, Text: t.text, Claims: t.claims, TraceParent: t.of.trace,
	})
	if err != nil {
		return t.failure(err)
	}
	var match query.Match
	if err := json.Unmarshal(fired, &match); err != nil {
		return t.failure(err)
	}
	return told(match, conversation.Digest(p.firing.values) != conversation.Digest(p.values))
}

// failure is what the model is told of a call that was not carried out.
func (t *turn) failure(err error) string {
	limit, values := (*ledger.RateError)(nil), (*trigger.ValuesError)(nil)
	switch {
	case errors.Is(err, trigger.ErrNotInScope):
		return refusal("not carried out: this tool is not there any more")
	case errors.As(err, &limit):
		return refusal("not carried out: too much was done in this minute; it may be tried later")
	case errors.As(err, &values):
		return refusal("not carried out: its values do not fit")
	}
	t.h.Logger.Warn("listen.call_failed", "app", t.of.app, "session", t.of.session, "message", t.of.messageID, "error", err.Error())
	return refusal("it is not known whether it was carried out; do not call it again now")
}

func refusal(text string) string {
	said, _ := json.Marshal(map[string]string{"error": text})
	return string(said)
}

// told is what came of a firing, in words for a model.
func told(match query.Match, otherValues bool) string {
	said := map[string]any{"status": "done"}
	switch {
	case match.State == query.StateConfirming:
		said = map[string]any{"status": "waits for confirmation", "ask": match.Question, "note": "It is not done yet. Ask the user this; yes or no decides."}
	case match.State == query.StateDuplicate:
		said = map[string]any{"status": "duplicate", "note": "The same was done before. It is not done again."}
	case match.State == query.StateCancelled:
		said = map[string]any{"status": "cancelled"}
	case match.Call == nil:
	case match.Call.State == query.StateDelivered:
		said["result"] = match.Call.Result
	case match.Call.State == query.StateFailed:
		said = map[string]any{"status": "failed", "error": match.Call.Error}
	default:
		said = map[string]any{"status": "pending", "note": "It is under way, and its result is not known yet. Do not call it again."}
	}
	if otherValues {
		said["note"] = "This was done before, with other values, and is not done again."
	}
	text, err := json.Marshal(said)
	if err != nil {
		return refusal("its result cannot be read")
	}
	return string(text)
}
