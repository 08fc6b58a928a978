package trigger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/repositories/parameters"
	"earshot/trigger/ledger"
	"earshot/trigger/worker"
)

// matchOfDraft returns the match of a turn's draft if it is still valid. It waits for a match in progress.
func (d *decider) matchOfDraft(ctx context.Context, t *turn, request matcher.Request) (matcher.Result, bool) {
	if t.draft == nil {
		return matcher.Result{}, false
	}
	d.awaitDraft(ctx, t)
	if t.draft.Match == "" || t.draft.Explained == "" {
		d.drafts.cancel(t.Turn) // the draft has another text
		return matcher.Result{}, false
	}
	result, nearest, holds := loadMatch(t.draft.Match, t.basis(), request)
	if holds {
		t.matching = matching{draftExplanation: t.draft.Explained, over: t.scope, candidates: len(request.Candidates), nearest: nearest}
		failpoint.At(failpoint.DraftUsed)
	}
	return result, holds
}

// awaitDraft waits for a match in progress of a turn's draft.
func (d *decider) awaitDraft(ctx context.Context, t *turn) {
	for look := 0; t.draft.Matching && d.drafts.await(ctx, t.Turn, worker.Pause(look)); look++ {
		if found, err := d.Ledger.Draft(ctx, t.Turn, saysHash(&t.message)); err == nil {
			t.draft = &found
		}
	}
}

// questions returns the triggers whose question a yes of the turn answers, and others that wait for a yes. The yes
// of a draft answers no question that was asked after it.
func (d *decider) questions(ctx context.Context, t *turn) (last, others []string) {
	if t.draft == nil {
		return t.asked, t.unasked
	}
	d.awaitDraft(ctx, t)
	var drafted storedMatch
	if t.draft.Match == "" || exactjson.Unmarshal([]byte(t.draft.Match), &drafted) != nil || drafted.Asked == nil {
		return t.asked, t.unasked
	}
	others = t.unasked
	for _, triggerID := range t.asked {
		if slices.Contains(drafted.Asked, triggerID) {
			last = append(last, triggerID)
		} else {
			others = append(others, triggerID)
		}
	}
	return last, others
}

// draftMatches are the matches of drafts in progress in this process, the newest of each id.
type draftMatches struct {
	mu   sync.Mutex
	open map[ledger.Turn]*draftMatch
}

type draftMatch struct {
	since  int64
	cancel context.CancelCauseFunc
	ended  chan struct{}
}

// begin registers a match, and cancels the match of an older draft of the same id. The context ends with the
// match, or when a newer one begins.
func (d *draftMatches) begin(ctx context.Context, id ledger.Turn, since int64) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	own := &draftMatch{since, cancel, make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch other := d.open[id]; {
	case other != nil && other.since > since:
		cancel(ErrSuperseded)
	case other != nil:
		other.cancel(ErrSuperseded)
		fallthrough
	default:
		d.open[id] = own
	}
	return ctx, func() {
		cancel(nil)
		close(own.ended)
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.open[id] == own {
			delete(d.open, id)
		}
	}
}

func (d *draftMatches) of(id ledger.Turn) *draftMatch {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[id]
}

// cancel ends the match of a draft that no longer exists.
func (d *draftMatches) cancel(id ledger.Turn) {
	if open := d.of(id); open != nil {
		open.cancel(ErrSuperseded)
	}
}

// await waits until this process has finished the match of a draft, or for a pause if another process may have
// it. It returns false when ctx has ended.
func (d *draftMatches) await(ctx context.Context, id ledger.Turn, pause time.Duration) bool {
	own := d.of(id)
	if own == nil {
		return worker.Sleep(ctx, pause)
	}
	select {
	case <-own.ended:
		return true
	case <-ctx.Done():
		return false
	}
}

// basis is what a match depends on: hashes of the scope and of the user's verified claims, and the language and
// time zone, in which "tomorrow" was understood.
type basis struct {
	Scope, Claims string
	Locale        string `json:",omitempty"`
}

func (t *turn) basis() basis {
	parts := []string{t.scope.Version}
	for _, repository := range t.scope.Session {
		parts = append(parts, repository.ID, repository.Revision)
	}
	on := basis{Scope: ledger.Hash(parts...), Locale: strings.TrimSpace(t.language() + " " + t.zoneName())}
	if len(t.scope.Claims) > 0 {
		on.Claims = ledger.Hash(string(exactjson.EncodeOrNull(t.scope.Claims)))
	}
	return on
}

// storedMatch is a matcher.Result as a draft stores it: with references to tools, so that any replica can use
// it and notices a changed tool.
type storedMatch struct {
	basis
	Stage    string       `json:"stage"`
	Text     string       `json:"text,omitempty"`
	Matches  []storedCall `json:"matches,omitempty"`
	Rejected []storedCall `json:"rejected,omitempty"`
	Nearest  []string     `json:"nearest,omitempty"` // names, if nothing matched
	Asked    []string     `json:"asked"`             // triggers whose question was the last one; nil if not known
}

// storedCall is a matcher.Match or matcher.Rejected.
type storedCall struct {
	Tool     reference                        `json:"tool"`
	Values   map[string]any                   `json:"values"`
	Repaired bool                             `json:"repaired,omitempty"`
	Coerced  []string                         `json:"coerced,omitempty"`
	Evidence exactjson.Map[*matcher.Evidence] `json:"evidence,omitempty"`
	Missing  []string                         `json:"missing,omitempty"`
	Errors   []parameters.ValueFault          `json:"errors,omitempty"`
	Call     int                              `json:"call"`
}

// reference names a tool in its state at the match.
type reference struct {
	RepositoryID string `json:"repositoryId"`
	SessionID    string `json:"sessionId,omitempty"` // of the repository
	Generation   string `json:"generation"`
	Name         string `json:"name"`
	// Hash covers the tool's definition and its repository's options, without credentials.
	Hash string `json:"hash"`
}

func refer(c matcher.Candidate) (reference, error) {
	text, err := exactjson.Encode(struct {
		Options repositories.Options
		Tool    *repositories.Tool
	}{c.Repository.Options, c.Tool})
	sum := sha256.Sum256(text)
	return reference{c.Repository.ID, c.Repository.SessionID, c.Repository.Generation, c.Tool.Name, hex.EncodeToString(sum[:16])}, err
}

func storeMatch(on basis, result matcher.Result, nearest []matcher.Candidate, asked []string) (string, error) {
	s := storedMatch{basis: on, Stage: result.Stage, Text: result.Text, Asked: append([]string{}, asked...)}
	for _, c := range nearest {
		s.Nearest = append(s.Nearest, c.Tool.Name)
	}
	var faults []error
	for _, m := range result.Matches {
		of, err := refer(m.Candidate)
		faults = append(faults, err)
		s.Matches = append(s.Matches, storedCall{Tool: of, Values: m.Values, Repaired: m.Repaired, Coerced: m.Coerced, Evidence: m.Evidence, Call: m.Call})
	}
	for _, r := range result.Rejected {
		of, err := refer(r.Candidate)
		faults = append(faults, err)
		s.Rejected = append(s.Rejected, storedCall{Tool: of, Values: r.Values, Missing: r.Missing, Errors: r.Errors, Call: r.Call})
	}
	text, err := exactjson.Encode(s)
	return string(text), errors.Join(append(faults, err)...)
}

// loadMatch returns the result in the scope of a request. holds is false if the result is no longer valid: the
// user's claims or locale differ; a tool is gone, changed or hidden; or the scope changed and nothing had
// matched, as a new tool may match now.
func loadMatch(text string, on basis, request matcher.Request) (result matcher.Result, nearest []matcher.Candidate, holds bool) {
	var s storedMatch
	if exactjson.Unmarshal([]byte(text), &s) != nil {
		return result, nil, false
	}
	sameScope := s.Scope == on.Scope
	if s.Claims != on.Claims || s.Locale != on.Locale || !sameScope && len(s.Matches)+len(s.Rejected) == 0 {
		return result, nil, false
	}
	find := func(of reference) (matcher.Candidate, bool) {
		c, found := request.Named(of.Name)
		if !found || c.Repository.ID != of.RepositoryID || c.Repository.SessionID != of.SessionID || c.Repository.Generation != of.Generation {
			return c, false
		}
		if sameScope { // unchanged
			return c, true
		}
		now, err := refer(c)
		return c, err == nil && now == of
	}
	result = matcher.Result{Stage: s.Stage, Text: s.Text}
	for _, one := range s.Matches {
		c, found := find(one.Tool)
		if !found {
			return result, nil, false
		}
		result.Matches = append(result.Matches, matcher.Match{
			Candidate: c, Values: one.Values, Repaired: one.Repaired, Coerced: one.Coerced, Evidence: one.Evidence, Call: one.Call,
		})
	}
	for _, one := range s.Rejected {
		c, found := find(one.Tool)
		if !found {
			return result, nil, false
		}
		result.Rejected = append(result.Rejected, matcher.Rejected{Candidate: c, Values: one.Values, Missing: one.Missing, Errors: one.Errors, Call: one.Call})
	}
	for _, name := range s.Nearest {
		if c, found := request.Named(name); found {
			nearest = append(nearest, c)
		}
	}
	return result, nearest, true
}
