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
	"earshot/repositories/keyspace"
	"earshot/repositories/parameters"
	"earshot/trigger/ledger"
)

// Firings set tools off without a message.
type Firings struct {
	*core
	records    *Records
	scopes     *Scopes
	deliveries *Deliveries
	decisions  *decisions
	turns      *Turns
}

// Fire fires a tool without the matcher and returns the JSON of a Match. Firing again with
// the same TriggerID returns the first answer and fires nothing.
//
// Errors: repositories.ErrNotFound without the app, ErrNotInScope,
// *repositories.Unverified, *ValuesError, *ledger.RateError, ErrConflict,
// keyspace.ErrUnavailable.
func (f *Firings) Fire(ctx context.Context, d Direct) (json.RawMessage, error) {
	if d.FrontEnd && d.TriggerID != "" {
		d.TriggerID = OwnID(d.SessionID, d.TriggerID)
	}
	p, known := f.guess(d), standing{}
	for range replans {
		if p == nil {
			var err error
			if p, err = f.planDirect(ctx, d, known); err != nil {
				return f.firedMeanwhile(ctx, d, err)
			}
		}
		status, err := f.decisions.commitPersistently(ctx, p)
		switch {
		case err != nil:
			return nil, err
		case status == ledger.AlreadyFired && d.TriggerID != "":
			return f.firedMeanwhile(ctx, d, fmt.Errorf("trigger %q: %w", d.TriggerID, ErrNotFound))
		case status == ledger.AlreadyFired:
			return nil, fmt.Errorf("tool %q: %w", d.Name, ErrNotInScope)
		case status == ledger.Closed:
			return nil, fmt.Errorf("session %q: %w", d.SessionID, repositories.ErrErasing)
		case status == ledger.Differs:
			if err := f.decisions.learn(ctx, &known, p); err != nil {
				return nil, err
			}
		case status == ledger.Committed:
			f.records.count(p)
			f.wakeFor(p)
			return f.carryOut(p, d.Unawaited)
		}
		p = nil // it is planned anew, on what there is
	}
	return nil, fmt.Errorf("%w: its repository changes faster than it can be fired", ErrNotInScope)
}

// OwnID is the id of a trigger for which the holder of a session's token chose an id: that one,
// with an end that is the session's own. So a token learns of no id that another session has
// taken, and takes none in advance. The id of an id is the id itself.
func OwnID(sessionID, chosen string) string {
	const end = 11 // "-" and ten digits
	ofSession := func(id string) string { return "-" + hash("own", sessionID, id)[:end-1] }
	if begin := len(chosen) - end; begin > 0 && chosen[begin:] == ofSession(chosen[:begin]) {
		return chosen
	}
	if most := repositories.MaxID - end; len(chosen) > most {
		chosen = chosen[:most-end] + "-" + hash("long", chosen)[:end-1]
	}
	return chosen + ofSession(chosen)
}

// guess plans a firing of what this process knows of the app, for a session that has no
// tools of its own and of which nothing was put, without asking Redis: the deciding script
// finds out whether it is so.
// It is nil where nothing can be fired like that, whatever the reason.
func (f *Firings) guess(d Direct) *plan {
	known := f.scopes.apps.get(d.AppID)
	if known.version == "" {
		return nil
	}
	p, err := f.planIn(scope{appState: known, put: unput}, d, standing{})
	if err != nil {
		return nil
	}
	p.guessed = true
	return p
}

// planDirect plans the firing on what is in scope now.
func (f *Firings) planDirect(ctx context.Context, d Direct, known standing) (*plan, error) {
	s, err := f.scopes.loadScope(ctx, d.AppID, d.SessionID)
	if err != nil {
		return nil, err
	}
	return f.planIn(s, d, known)
}

// planIn finds the tool, checks the values and plans the firing.
func (f *Firings) planIn(s scope, d Direct, known standing) (*plan, error) {
	candidate, found := s.find(d.Name, d.RepositoryID)
	if !found {
		return nil, fmt.Errorf("tool %q: %w", d.Name, ErrNotInScope)
	}
	tool, err := candidate.Tool.For(d.Claims)
	if err != nil {
		return nil, err
	}
	candidate.Tool = tool
	if d.Vet != nil {
		if err := d.Vet(tool); err != nil {
			return nil, err
		}
	}
	read := d.read(candidate.Tool.Params())
	if len(read.Errors) > 0 {
		return nil, &ValuesError{Name: d.Name, Faults: read.Errors}
	}
	return f.planFire(d, s, known, candidate, read)
}

// read takes the values as those of whoever has sent them.
func (d Direct) read(params *parameters.Parameters) (read parameters.Reading) {
	if d.OfModel {
		return params.Read(d.Values)
	}
	read.Values, read.Errors = params.Check(d.Values)
	return read
}

func (f *Firings) planFire(d Direct, in scope, known standing, candidate matcher.Candidate, read parameters.Reading) (*plan, error) {
	triggerID := d.TriggerID
	if triggerID == "" && !candidate.Repository.Options.TriggerOnce {
		triggerID = hash("direct", f.newID())
	}
	p := newPlanner(f.core, ledger.Turn{App: d.AppID, Session: d.SessionID}, f.token(), in.appState, d.Text, d.TraceParent)
	p.messageID = d.MessageID
	p.frontEnd, p.counted, p.standing, p.put = d.FrontEnd, d.Counted, known, in.put.text
	p.metadata, p.language = d.Metadata.Over(in.put.Metadata), cmp.Or(in.put.Language, in.app.Settings.Language)
	if err := p.fire(matcher.Match{Candidate: candidate, Values: read.Values, Coerced: read.Coerced}, d.Source, triggerID); err != nil {
		return nil, err
	}
	return &p.plan, nil
}

// carryOut makes the first attempt.
func (f *Firings) carryOut(p *plan, unawaited bool) (json.RawMessage, error) {
	return f.toTheEnd(func() (json.RawMessage, error) {
		r := f.deliveries.newFirstAttempts(p)
		r.alone = unawaited
		if err := r.run(f.life); err != nil {
			return nil, err
		}
		answer, err := f.closeDirect(r)
		if err == nil && p.few {
			return nil, keyspace.ErrReplicas
		}
		return answer, err
	})
}

func (f *Firings) closeDirect(r *firstAttempts) (json.RawMessage, error) {
	answer, err := exactjson.Encode(r.plan.answer.Matches[0].shown())
	if err != nil {
		return nil, err
	}
	held, err := r.save(f.life, ledger.Report{Trigger: r.plan.firings[0].triggerID, Answer: string(answer)})
	return json.RawMessage(held), err
}

// fireBefore returns the answer of an earlier direct trigger with the same id, or nil if
// there was none.
func (f *Firings) fireBefore(ctx context.Context, d Direct) (json.RawMessage, error) {
	record, err := f.records.readTrigger(ctx, d.AppID, d.TriggerID)
	if err != nil || record == nil {
		return nil, err
	}
	if err := f.ledger.Confirm(ctx, d.AppID); err != nil {
		return nil, err
	}
	return f.waitForAnswer(ctx, d, d.TriggerID)
}

// firedMeanwhile returns the answer of an earlier request with the same id that fired while
// this one found the tool out of scope: it may be the one that took the triggerOnce
// repository away. Otherwise it returns the fault.
func (f *Firings) firedMeanwhile(ctx context.Context, d Direct, fault error) (json.RawMessage, error) {
	if d.TriggerID == "" {
		return nil, fault
	}
	if answer, err := f.fireBefore(ctx, d); answer != nil || err != nil {
		return answer, err
	}
	return nil, fault
}

// waitForAnswer waits for the answer of a trigger that another request fired, for as long
// as that request may take; after that the answer is made from the current states, for all.
func (f *Firings) waitForAnswer(ctx context.Context, d Direct, triggerID string) (json.RawMessage, error) {
	for i := 0; ; i++ {
		stored, err := f.records.readTrigger(ctx, d.AppID, triggerID)
		switch {
		case err != nil:
			return nil, err
		case stored == nil:
			return nil, fmt.Errorf("trigger %q: %w", triggerID, ErrNotFound)
		case !stored.fits(d):
			return nil, fmt.Errorf("trigger %q: %w", triggerID, ErrConflict) // the caller may not be entitled to see more
		case stored.answer == ledger.AsDecided:
			return exactjson.Encode(stored.decided.published())
		case stored.answer != "":
			return json.RawMessage(stored.answer), nil
		case !stored.answering:
			answer, err := f.turns.keep(stored.answered(), func(text string) (string, error) {
				return f.ledger.KeepTriggersAnswer(ctx, d.AppID, triggerID, stored.firing, text)
			})
			if !errors.Is(err, errLost) {
				return answer, err
			}
		}
		if !sleep(ctx, turnPauses[min(i, len(turnPauses)-1)]) {
			return nil, ctx.Err()
		}
	}
}

// fits reports whether the direct trigger is a repetition of the stored one.
func (s *storedTrigger) fits(d Direct) bool {
	return s.record.Name == d.Name && s.record.SessionID == d.SessionID
}

// Catalog is the tools in scope of a program at one instant: those of an app or, with a
// session, of the session.
type Catalog struct {
	scope   scope
	version string
}

// Version is one text for as long as the tools are the same; two scopes of an app share it
// where they have the same tools.
func (c *Catalog) Version() string { return c.version }

// Tools are those that win their names, whoever asks, sorted by name. A repository selects its
// own, whether they win or not.
func (c *Catalog) Tools(repositoryID string) []matcher.Candidate {
	if repositoryID == "" {
		all, _ := c.scope.winners()
		return all
	}
	var own []matcher.Candidate
	for _, repository := range c.scope.ranked() {
		if repository.ID != repositoryID {
			continue
		}
		for i := range repository.Tools {
			own = append(own, matcher.Candidate{Repository: repository, Tool: &repository.Tools[i]})
		}
		break // a session's repository hides the app's of the same name
	}
	slices.SortFunc(own, func(a, b matcher.Candidate) int { return cmp.Compare(a.Tool.Name, b.Tool.Name) })
	return own
}

// Find returns the tool that a program means by a name, in that repository where it is named.
func (c *Catalog) Find(name, repositoryID string) (matcher.Candidate, bool) {
	return c.scope.find(name, repositoryID)
}

// offeredUsually is how many tools a model is offered, where the app does not say.
const offeredUsually = 64
