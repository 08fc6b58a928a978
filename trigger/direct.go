package trigger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/parameters"
	"earshot/trigger/conversation"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
	"earshot/trigger/scope"
	"earshot/trigger/worker"
)

// Direct is a request to fire a tool without the matcher.
type Direct struct {
	AppID        string
	SessionID    string // empty: app-scoped tools only
	Name         string
	RepositoryID string // empty: the repository in scope
	Values       map[string]any
	Source       string // SourceUI, SourceTask, SourceAgent, or SourceMessage with a MessageID
	// TriggerID is the client's idempotency key; Fire makes one if it is empty.
	TriggerID string
	// New reports that the caller generated the TriggerID for this request.
	New bool
	// FrontEnd marks a request with a session's token: it also counts as a message. Life is that of the token's session,
	// as in OwnID.
	FrontEnd bool
	Life     string
	// Counted reports that the request already counted against the limits, when its values were requested.
	Counted bool
	// Unawaited reports that the caller asks for the outcome later: Fire does not wait for the answer of a
	// subscriber.
	Unawaited   bool
	TraceParent string
	Metadata    repositories.Metadata
	// Claims are the claims of verified ID tokens; they are not stored.
	Claims parameters.Claims
	// FromModel marks values from a model: they are coerced if this loses nothing, and unknown names are dropped.
	FromModel bool
	// FromAgent marks values from an agent, who may be talked into anything, as a model: those of hidden parameters are
	// dropped. Otherwise they are a program's.
	FromAgent bool
	// MessageID and Text are those of the message that calls for the trigger; empty for none.
	MessageID, Text string
	// Generations, if not nil, are the generations in which it may fire: Fire returns ErrClosed in others.
	Generations *ledger.Generations
	// Check, if not nil, checks the tool before anything fires: Fire returns its error.
	Check func(*repositories.Tool) error
}

var (
	// ErrNotInScope means that no tool of that name can be fired: it does not exist, it belongs to another
	// session, or its triggerOnce repository has just fired.
	ErrNotInScope = errors.New("no tool of this name is in scope")
	// ErrConflict means that the idempotency key belongs to another trigger.
	ErrConflict = errors.New("the triggerId belongs to another trigger")
)

// UnknownToolError is the ErrNotInScope for a name that no tool in scope has.
type UnknownToolError struct {
	Name  string
	Meant fault.Meant // the nearest name in scope
}

// Error names the tool, and the one that was probably meant.
func (e *UnknownToolError) Error() string {
	return fmt.Sprintf("tool %q: %s%s", e.Name, ErrNotInScope, e.Meant)
}

// Unwrap returns ErrNotInScope.
func (e *UnknownToolError) Unwrap() error { return ErrNotInScope }

// ValuesError is the validation error for the values of a direct trigger.
type ValuesError struct {
	Name   string
	Faults []parameters.ValueFault
}

// Error names the tool and its first fault.
func (e *ValuesError) Error() string {
	return fmt.Sprintf("the values for tool %q are not valid: %s %s", e.Name, e.Faults[0].Parameter, e.Faults[0].Detail)
}

// OwnID returns the trigger id for an id chosen by the holder of a session's token: that id with a suffix specific to
// the life of the session, which is its id and, after a close, its generation. So a token can neither detect nor occupy
// ids of other sessions. OwnID of its own result returns it unchanged.
func OwnID(life, chosen string) string {
	const end = 11 // "-" and ten digits
	ofSession := func(id string) string { return "-" + ledger.Hash("own", life, id)[:end-1] }
	if begin := len(chosen) - end; begin > 0 && chosen[begin:] == ofSession(chosen[:begin]) {
		return chosen
	}
	if most := repositories.MaxID - end; len(chosen) > most {
		chosen = chosen[:most-end] + "-" + ledger.Hash("long", chosen)[:end-1]
	}
	return chosen + ofSession(chosen)
}

// Firings fires tools without the matcher.
type Firings struct{ *decider }

// Fire fires a tool without the matcher and returns the JSON of a Match. Firing again with the same
// TriggerID returns the first answer and fires nothing.
//
// Errors: repositories.ErrNotFound without the app, ErrNotInScope, *repositories.Unverified,
// *ValuesError, *ledger.RateError, ErrConflict, ErrClosed, keyspace.ErrUnavailable.
func (f *Firings) Fire(ctx context.Context, direct Direct) (json.RawMessage, error) {
	if direct.FrontEnd && direct.TriggerID != "" {
		direct.TriggerID = OwnID(direct.Life, direct.TriggerID)
	}
	conflicts, p := knownConflicts{}, (*planner)(nil)
	// The first plan assumes a session without tools of its own and without a profile, and reads nothing from Redis: the
	// deciding script checks the assumption. If it is wrong, the tool is planned again on the current state.
	if cached, hit := f.scopes.CachedScope(direct.AppID); hit {
		if p, _ = f.planDirect(direct, cached, conflicts); p != nil {
			p.doc.Optimistic = true
		}
	}
	for range maxReplans {
		if p == nil {
			s, err := f.scopes.Read(ctx, direct.AppID, direct.SessionID)
			if err == nil {
				p, err = f.planDirect(direct, s, conflicts)
			}
			if err != nil {
				return f.earlierAnswer(ctx, direct, nil, err)
			}
		}
		answer, status, err := f.fire(ctx, p, &direct)
		switch {
		case err != nil:
			return nil, err
		case answer != nil:
			return answer, nil
		case status == ledger.AlreadyFired && direct.TriggerID != "":
			return f.earlierAnswer(ctx, direct, p.Answer.Matches[0].Values, fmt.Errorf("trigger %q: %w", direct.TriggerID, query.ErrNotFound))
		case status == ledger.AlreadyFired:
			return nil, fmt.Errorf("tool %q: %w", direct.Name, ErrNotInScope)
		case status == ledger.Closed && direct.Generations != nil:
			return nil, ErrClosed
		case status == ledger.Closed:
			return nil, fmt.Errorf("session %q: %w", direct.SessionID, repositories.ErrErasing)
		case status == ledger.Differs:
			if err := f.addConflict(ctx, &conflicts, &p.plan); err != nil {
				return nil, err
			}
		}
		p = nil
	}
	return nil, fmt.Errorf("%w: its repository changes faster than it can be fired", ErrNotInScope)
}

// fire commits a plan and delivers it. The answer is nil if the ledger refused the plan.
func (f *Firings) fire(ctx context.Context, p *planner, direct *Direct) (json.RawMessage, ledger.Status, error) {
	if p.readOnly && f.deliveries.CanWriteBehind() {
		return f.read(ctx, p, direct)
	}
	if p.readOnly {
		f.Metrics.Behind.WithLabelValues("before").Inc()
	}
	f.deliveries.AwaitOutbox(ctx, p.App, p.Box)
	status, err := f.commit(ctx, p)
	if err != nil || status != ledger.Committed {
		return nil, status, err
	}
	answer, err := f.Detached(func() (json.RawMessage, error) {
		return f.answerFirst(p, direct)
	})
	return answer, status, err
}

// answerFirst delivers a committed trigger's plan. If its call is repeatable and its client cannot request this answer
// again, it returns once the call is delivered; the events and the outcomes follow.
func (f *Firings) answerFirst(p *planner, direct *Direct) (json.RawMessage, error) {
	closing := ledger.Report{Trigger: p.Answer.Matches[0].TriggerID}
	if direct.TriggerID != "" && !direct.New || direct.MessageID != "" || p.Answer.Matches[0].Call == nil {
		return f.deliverPlan(&p.plan, closing, nil)
	}
	return f.runAhead(func(send sendAnswer) (json.RawMessage, error) {
		return f.deliverPlan(&p.plan, closing, send)
	})
}

// planDirect finds the tool, checks the values and plans the firing.
func (f *Firings) planDirect(direct Direct, tools scope.Scope, conflicts knownConflicts) (*planner, error) {
	candidate, found := tools.Find(direct.Name, direct.RepositoryID)
	if !found {
		var names []string
		for _, repository := range tools.Ranked() {
			for i := range repository.Tools {
				names = append(names, repository.Tools[i].Name)
			}
		}
		if slices.Contains(names, direct.Name) {
			return nil, fmt.Errorf("tool %q of repository %q: %w", direct.Name, direct.RepositoryID, ErrNotInScope)
		}
		return nil, &UnknownToolError{direct.Name, fault.DidYouMean(direct.Name, names)}
	}
	tool, err := candidate.Tool.For(direct.Claims)
	if err != nil {
		return nil, err
	}
	if direct.Check != nil {
		if err := direct.Check(tool); err != nil {
			return nil, err
		}
	}
	var reading parameters.Reading
	switch {
	case direct.FromModel:
		reading = tool.Params().Read(direct.Values)
	case direct.FromAgent:
		reading.Values, reading.Errors = tool.Params().Check(tool.Params().Visible(direct.Values))
	default:
		reading.Values, reading.Errors = tool.Params().Check(direct.Values)
	}
	if len(reading.Errors) > 0 {
		return nil, &ValuesError{Name: direct.Name, Faults: reading.Errors}
	}
	triggerID := direct.TriggerID
	if triggerID == "" && !candidate.Repository.Options.TriggerOnce {
		triggerID = ledger.Hash("direct", f.NewID())
	}
	p := f.planner(ledger.Turn{App: direct.AppID, Session: direct.SessionID}, f.Token(), tools.State, direct.Text, direct.TraceParent)
	p.messageID, p.conflicts, p.Unawaited = direct.MessageID, conflicts, direct.Unawaited
	p.doc.FrontEnd, p.doc.Counted, p.doc.Profile, p.doc.Generations = direct.FrontEnd, direct.Counted, tools.Profile.Text, direct.Generations
	p.metadata, p.language = direct.Metadata.Over(tools.Profile.Metadata), cmp.Or(tools.Profile.Language, tools.App.Settings.Language)
	candidate.Tool = tool
	p.readOnly = (direct.TriggerID == "" || direct.New) && direct.MessageID == "" && direct.Generations == nil && isReadOnly(tools.App, candidate)
	err = p.fire(matcher.Match{Candidate: candidate, Values: reading.Values, Coerced: reading.Coerced}, direct.Source, triggerID)
	if err != nil { // half a plan must not be committed
		return nil, err
	}
	return p, nil
}

// hasOtherValues reports whether the request names a value that differs from the record's. values are the request's, as
// they would be recorded. A model says the same in other words, so its values are not compared.
func (d Direct) hasOtherValues(values, recorded map[string]any) bool {
	if values == nil || d.FromModel || d.MessageID != "" {
		return false
	}
	requested, earlier := map[string]any{}, map[string]any{}
	for name := range d.Values {
		requested[name], earlier[name] = values[name], recorded[name]
	}
	return conversation.Digest(requested) != conversation.Digest(earlier)
}

// earlierAnswer returns the answer of an earlier request with the same id. Without one it returns the fault: the
// tool may be out of scope because that request has fired its triggerOnce repository. values are the request's; nil if
// the tool is not in scope.
func (f *Firings) earlierAnswer(ctx context.Context, direct Direct, values map[string]any, fault error) (json.RawMessage, error) {
	if direct.TriggerID == "" {
		return nil, fault
	}
	_, err := f.records.StoredTrigger(ctx, direct.AppID, direct.TriggerID)
	if errors.Is(err, query.ErrNotFound) {
		return nil, fault
	}
	if err == nil {
		err = f.Ledger.DB().Confirm(ctx, direct.AppID)
	}
	if err != nil {
		return nil, err
	}
	// It waits as long as that request may take; after that the answer is rebuilt from the current states, for
	// all requests.
	for polls := 0; ; polls++ {
		stored, err := f.records.StoredTrigger(ctx, direct.AppID, direct.TriggerID)
		switch {
		case err != nil:
			return nil, err
		case stored.Record.Name != direct.Name || stored.Record.SessionID != direct.SessionID:
			return nil, fmt.Errorf("trigger %q: %w", direct.TriggerID, ErrConflict) // the caller may not be allowed to see more
		case direct.hasOtherValues(values, stored.Record.Values):
			return nil, fmt.Errorf("trigger %q: %w: it has other values", direct.TriggerID, ErrConflict)
		case stored.Answer == ledger.AsDecided:
			return exactjson.Encode(stored.Decided.WithPublishedEvents())
		case stored.Answer != "":
			return json.RawMessage(stored.Answer), nil
		case !stored.Answering:
			match := stored.Record.Match
			if !stored.Decided.Due() { // the answer is the match as decided
				match = stored.Decided
			}
			answer, err := storeAnswer(match, func(text string) (string, error) {
				return f.Ledger.StoreTriggerAnswer(ctx, direct.AppID, direct.TriggerID, stored.Firing, text)
			})
			if !errors.Is(err, errLost) {
				return answer, err
			}
		}
		if !worker.Sleep(ctx, worker.Pause(polls)) {
			return nil, ctx.Err()
		}
	}
}
