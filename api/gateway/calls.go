package gateway

import (
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
	"earshot/repositories/lists"
	"earshot/repositories/parameters"
	"earshot/repositories/store"
	"earshot/trigger"
	"earshot/trigger/conversation"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
)

// call is a tool call of the model, as written.
type call struct{ id, name, arguments string }

// result is the outcome of a call, for the model.
type result struct{ id, text string }

// offered is a tool offered to the model, under a name that no tool of the caller has.
type offered struct {
	matcher.Candidate
	name string
}

// turn holds the firings of a message's tools, in this request and in earlier ones of the same turn.
type turn struct {
	h      *Handler
	r      *chatRequest
	text   string
	now    time.Time // in the user's time zone
	claims parameters.Claims
	tools  map[string]offered   // by the model's names for them
	fired  map[string][]*firing // by tool name, oldest first; nil until read
	acted  bool                 // the same request was answered to its end before
	over   bool                 // the model was asked for the last time
	// decided reports that the message was a yes or a no, rejected that a call had wrong values, and recorded that the
	// end of the request is recorded.
	decided, rejected, recorded bool

	life  store.Generation // of app and session when the request began: nothing is done in another
	ended error            // why nothing more is done
}

// alive fails with trigger.ErrClosed once the session was closed, or its app was deleted and made anew.
func (t *turn) alive(ctx context.Context) error {
	life, err := t.h.Generations.CachedGeneration(ctx, t.r.app, t.r.session)
	if err == nil && life != t.life {
		err = trigger.ErrClosed
	}
	return err
}

// stored is the user's message of the turn.
func (t *turn) stored() ledger.Turn {
	return ledger.Turn{App: t.r.app, Session: t.r.session, Message: t.r.messageID}
}

type firing struct {
	id     string
	values map[string]any
	taken  bool // assigned to a call of this request
	record query.Record
}

func (t *turn) readEarlier(ctx context.Context) error {
	if t.fired != nil {
		return nil
	}
	answered, err := t.h.Engine.FiredLength(ctx, t.stored())
	if err != nil {
		return err
	}
	t.acted = answered > 0 && t.r.length() <= answered
	records, _, err := t.h.Engine.Triggers(ctx, query.Triggers{
		AppID: t.r.app, SessionID: t.r.session, MessageID: t.r.messageID, Source: query.SourceMessage, Oldest: true, Page: query.Page{Limit: 100},
	})
	if err != nil {
		return err
	}
	t.fired = map[string][]*firing{}
	for _, record := range records {
		t.fired[record.Name] = append(t.fired[record.Name], &firing{id: record.TriggerID, values: record.Values, record: record})
	}
	return nil
}

// end records how a request has ended, with the length of one that was answered to its end: if it has fired a tool, the
// same request fires nothing more then. A request that broke off goes on when it is made again, and so does a longer
// one with results of the caller's tools.
func (t *turn) end(ctx context.Context, length int) {
	if t.recorded || !matchable(t.text) {
		return
	}
	t.recorded = true
	end := trigger.ChatEnd{Length: length, Rejected: t.rejected, Decided: t.decided}
	if err := t.h.Engine.EndChat(context.WithoutCancel(ctx), t.stored(), end); err != nil {
		t.h.Logger.Warn("listen.unmarked", "app", t.r.app, "session", t.r.session, "message", t.r.messageID, "error", err.Error())
	}
}

// done returns the calls of earlier requests with their results, as messages: a client that continues the
// conversation does not know them. It marks their firings as taken.
func (t *turn) done(ctx context.Context) (messages [][]byte, err error) {
	if err := t.readEarlier(ctx); err != nil {
		return nil, err
	}
	var calls []call
	var results []result
	for _, tool := range t.tools {
		for _, earlier := range t.fired[tool.Tool.Name] {
			earlier.taken = true
			text, _ := json.Marshal(tool.Tool.Params().Visible(earlier.values))
			calls = append(calls, call{earlier.id, tool.name, string(text)})
			results = append(results, result{earlier.id, outcomeText(earlier.record.Match, false)})
		}
	}
	if len(calls) == 0 {
		return nil, nil
	}
	return t.r.form.called(calls, results), nil
}

type planned struct {
	call
	tool      offered
	arguments map[string]any
	values    map[string]any
	refused   string // the error for the model, instead of a result
	firing    *firing
}

// carryOut carries out calls of the model. If the request has ended, it does nothing.
func (t *turn) carryOut(ctx context.Context, calls []call) (results []result) {
	if t.ended = t.alive(ctx); t.ended != nil {
		return nil
	}
	exclusive := slices.ContainsFunc(calls, func(c call) bool { return t.tools[c.name].Repository.Options.Exclusive })
	plans := lists.Map(calls, func(p call) *planned { return t.plan(ctx, p, exclusive) })
	err := t.readEarlier(ctx)
	if err == nil {
		t.assign(plans)
	}
	generations := ledger.Generations(t.life)
	for _, p := range plans {
		text := p.refused
		switch {
		case text != "":
		case err != nil:
			text = t.failure(err)
		default:
			fired, err := t.h.Engine.Fire(ctx, trigger.Direct{
				AppID: t.r.app, SessionID: t.r.session, Name: p.tool.Tool.Name, RepositoryID: p.tool.Repository.ID, Values: p.arguments, FromModel: true,
				Source: query.SourceMessage, TriggerID: p.firing.id, MessageID: t.r.messageID, Text: t.text, Claims: t.claims, TraceParent: t.r.trace,
				Generations: &generations,
			})
			var match query.Match
			if err == nil {
				err = json.Unmarshal(fired, &match)
			}
			if err != nil {
				text = t.failure(err)
			} else {
				text = outcomeText(match, !p.sameValues(p.firing))
			}
		}
		results = append(results, result{p.id, text})
	}
	return results
}

func (t *turn) plan(ctx context.Context, one call, exclusive bool) *planned {
	p := &planned{call: one, tool: t.tools[one.name]}
	if t.over {
		p.refused = refusal("not carried out: too many calls were made for one answer")
		return p
	}
	if exclusive && !p.tool.Repository.Options.Exclusive {
		p.refused = refusal("not carried out: another tool of this answer is to be the only one")
		return p
	}
	arguments, _, err := t.h.Model.Arguments(one.arguments)
	if err != nil {
		t.rejected = true
		p.refused = refusal("not carried out: " + err.Error() + ". Call it again with one whole JSON object.")
		return p
	}
	request, err := t.conversation(ctx, p.tool.Tool)
	if err != nil {
		p.refused = t.failure(err)
		return p
	}
	read, arguments := t.h.Model.Read(request, arguments, p.tool.Tool)
	p.arguments, p.values = arguments, read.Values
	if len(read.Errors) == 0 {
		return p
	}
	var faults []string
	for _, fault := range read.Errors {
		if !p.tool.Tool.Params().Hidden(fault.Parameter) { // the model must not know hidden parameters
			faults = append(faults, strings.TrimSpace(fault.Parameter+" "+fault.Detail))
		}
	}
	t.rejected = true
	p.refused = refusal("not carried out: " + strings.Join(faults, "; ") + ". Call it again with this put right from what was said; do not invent what nobody said, but ask.")
	return p
}

// maxHistory is how many messages of the session count as context, as in matching.
const maxHistory = 40

// conversation returns the session's conversation, for a tool with grounded values or amounts. The client's
// own copy is not trusted.
func (t *turn) conversation(ctx context.Context, definition *repositories.Tool) (matcher.Request, error) {
	request := matcher.Request{Text: t.text, Now: t.now}
	if !slices.ContainsFunc(definition.Params().List(), func(p parameters.Parameter) bool { return p.Grounded || p.Unit != nil }) {
		return request, nil
	}
	entries, _, err := t.h.Engine.History(ctx, query.History{AppID: t.r.app, SessionID: t.r.session, Newest: true, Page: query.Page{Limit: maxHistory}})
	for _, entry := range slices.Backward(entries) {
		if entry.MessageID != t.r.messageID {
			request.History = append(request.History, matcher.Utterance{ID: entry.MessageID, Actor: entry.Actor, Text: entry.Text})
		}
	}
	return request, err
}

// assign finds the firing of each call. A call with the values of an earlier firing is that one. Otherwise
// it takes an earlier firing of its tool that is still free, since the model was asked the same before.
// Only then is it new, and it is not carried out if the same request was answered before.
func (t *turn) assign(plans []*planned) {
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
		if p.firing = t.known(p, true); p.firing == nil { // the same call twice in one answer
			if t.acted {
				p.refused = refusal("not carried out: this message was answered before, and nothing more is done for it; the user can ask for it anew")
				continue
			}
			name := p.tool.Tool.Name
			p.firing = &firing{id: t.triggerID(name, len(t.fired[name])), values: p.values, taken: true}
			t.fired[name] = append(t.fired[name], p.firing)
		}
	}
}

// triggerID returns the id of a tool's firing n of the turn, in this generation of the session.
func (t *turn) triggerID(name string, n int) string {
	if failpoint.Planted(failpoint.ChangingCall) {
		name += t.h.Now().String()
	}
	digest := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%s\n%s\n%d", t.life.App, t.life.Session, t.r.session, t.r.messageID, name, n))
	return "act-" + hex.EncodeToString(digest[:16])
}

func (t *turn) known(p *planned, exact bool) *firing {
	for _, candidate := range t.fired[p.tool.Tool.Name] {
		if exact && p.sameValues(candidate) || !exact && !candidate.taken {
			candidate.taken = true
			return candidate
		}
	}
	return nil
}

func (p *planned) sameValues(earlier *firing) bool {
	return conversation.Digest(earlier.values) == conversation.Digest(p.values)
}

// failure returns the outcome, for the model, of a call that did not run.
func (t *turn) failure(err error) string {
	limit, values := (*ledger.RateError)(nil), (*trigger.ValuesError)(nil)
	switch {
	case errors.Is(err, trigger.ErrNotInScope):
		return refusal("not carried out: this tool is not there any more")
	case errors.As(err, &limit):
		return refusal("not carried out: too much was done in this minute; it may be tried later")
	case errors.As(err, &values):
		return refusal("not carried out: its values do not fit")
	case errors.Is(err, trigger.ErrClosed), errors.Is(err, repositories.ErrNotFound):
		t.ended = err // since carryOut has begun
	}
	t.h.Logger.Warn("listen.call_failed", "app", t.r.app, "session", t.r.session, "message", t.r.messageID, "error", err.Error())
	return refusal("it is not known whether it was carried out; do not call it again now")
}

func refusal(text string) string {
	written, _ := json.Marshal(map[string]string{"error": text})
	return string(written)
}

func outcomeText(match query.Match, otherValues bool) string {
	outcome := map[string]any{"status": "done"}
	switch {
	case match.State == query.StateConfirming:
		outcome = map[string]any{"status": "waits for confirmation", "ask": match.Question, "note": "It is not done yet. Ask the user this; yes or no decides."}
	case match.State == query.StateDuplicate:
		outcome = map[string]any{"status": "duplicate", "note": "The same was done before. It is not done again."}
	case match.State == query.StateCancelled:
		outcome = map[string]any{"status": "cancelled"}
	case match.Call == nil:
	case match.Call.State == query.StateDelivered:
		outcome["result"] = match.Call.Result
	case match.Call.State == query.StateFailed:
		outcome = map[string]any{"status": "failed", "error": match.Call.Error}
		if len(match.Call.Result) > 0 { // often says what to do
			outcome["result"] = match.Call.Result
		}
	default:
		outcome = map[string]any{"status": "pending", "note": "It is under way, and its result is not known yet. Do not call it again."}
	}
	if otherValues {
		outcome["note"] = "This was done before, with other values, and is not done again."
	}
	text, err := json.Marshal(outcome)
	if err != nil {
		return refusal("its result cannot be read")
	}
	return string(text)
}
