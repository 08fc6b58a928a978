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
	if t.draft.Match == "" || t.draft.Explanation == "" {
		d.drafts.cancel(t.Turn) // the draft has another text
		return matcher.Result{}, false
	}
	result, nearest, valid := loadMatch(t.draft.Match, t.basis(), request)
	if valid {
		t.matchOrigin = matchOrigin{draftExplanation: t.draft.Explanation, matchedScope: t.scope, candidates: len(request.Candidates), nearest: nearest}
		failpoint.At(failpoint.DraftUsed)
	}
	return result, valid
}

// awaitDraft waits for a match in progress of a turn's draft.
func (d *decider) awaitDraft(ctx context.Context, t *turn) {
	for polls := 0; t.draft.Matching && d.drafts.await(ctx, t.Turn, worker.Pause(polls)); polls++ {
		if draft, err := d.Ledger.Draft(ctx, t.Turn, contentHash(&t.message)); err == nil {
			t.draft = &draft
		}
	}
}

// questions returns the triggers whose question a yes of the turn answers, and others that wait for a yes. The yes
// of a draft answers no question that was asked after it.
func (d *decider) questions(ctx context.Context, t *turn) (last, others []string) {
	if t.draft == nil {
		return t.lastQuestions, t.otherQuestions
	}
	d.awaitDraft(ctx, t)
	var match storedMatch
	if t.draft.Match == "" || exactjson.Unmarshal([]byte(t.draft.Match), &match) != nil || match.Asked == nil {
		return t.lastQuestions, t.otherQuestions
	}
	others = t.otherQuestions
	for _, triggerID := range t.lastQuestions {
		if slices.Contains(match.Asked, triggerID) {
			last = append(last, triggerID)
		} else {
			others = append(others, triggerID)
		}
	}
	return last, others
}

// draftMatches are the matches of drafts in progress in this process, the newest of each id.
type draftMatches struct {
	mu      sync.Mutex
	running map[ledger.Turn]*draftMatch
}

type draftMatch struct {
	since  int64
	cancel context.CancelCauseFunc
	done   chan struct{}
}

// begin registers a match, and cancels the match of an older draft of the same id. The context ends with the
// match, or when a newer one begins.
func (d *draftMatches) begin(ctx context.Context, id ledger.Turn, since int64) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	match := &draftMatch{since, cancel, make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch running := d.running[id]; {
	case running != nil && running.since > since:
		cancel(ErrSuperseded)
	case running != nil:
		running.cancel(ErrSuperseded)
		fallthrough
	default:
		d.running[id] = match
	}
	return ctx, func() {
		cancel(nil)
		close(match.done)
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.running[id] == match {
			delete(d.running, id)
		}
	}
}

func (d *draftMatches) get(id ledger.Turn) *draftMatch {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.running[id]
}

// cancel ends the match of a draft that no longer exists.
func (d *draftMatches) cancel(id ledger.Turn) {
	if running := d.get(id); running != nil {
		running.cancel(ErrSuperseded)
	}
}

// await waits until this process has finished the match of a draft, or for a pause if another process may have
// it. It returns false when ctx has ended.
func (d *draftMatches) await(ctx context.Context, id ledger.Turn, pause time.Duration) bool {
	running := d.get(id)
	if running == nil {
		return worker.Sleep(ctx, pause)
	}
	select {
	case <-running.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// matchBasis is what a match depends on: hashes of the scope and of the user's verified claims, and the language and
// time zone, in which "tomorrow" was understood.
type matchBasis struct {
	Scope, Claims string
	Locale        string `json:",omitempty"`
}

func (t *turn) basis() matchBasis {
	parts := []string{t.scope.Version}
	for _, repository := range t.scope.Session {
		parts = append(parts, repository.ID, repository.Revision)
	}
	basis := matchBasis{Scope: ledger.Hash(parts...), Locale: strings.TrimSpace(t.language() + " " + t.zoneName())}
	if len(t.scope.Claims) > 0 {
		basis.Claims = ledger.Hash(string(exactjson.EncodeOrNull(t.scope.Claims)))
	}
	return basis
}

// storedMatch is a matcher.Result as a draft stores it: with references to tools, so that any replica can use
// it and notices a changed tool.
type storedMatch struct {
	matchBasis
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

func newReference(c matcher.Candidate) (reference, error) {
	text, err := exactjson.Encode(struct {
		Options repositories.Options
		Tool    *repositories.Tool
	}{c.Repository.Options, c.Tool})
	sum := sha256.Sum256(text)
	return reference{c.Repository.ID, c.Repository.SessionID, c.Repository.Generation, c.Tool.Name, hex.EncodeToString(sum[:16])}, err
}

func storeMatch(basis matchBasis, result matcher.Result, nearest []matcher.Candidate, lastQuestions []string) (string, error) {
	s := storedMatch{matchBasis: basis, Stage: result.Stage, Text: result.Text, Asked: append([]string{}, lastQuestions...)}
	for _, c := range nearest {
		s.Nearest = append(s.Nearest, c.Tool.Name)
	}
	var faults []error
	for _, m := range result.Matches {
		tool, err := newReference(m.Candidate)
		faults = append(faults, err)
		s.Matches = append(s.Matches, storedCall{Tool: tool, Values: m.Values, Repaired: m.Repaired, Coerced: m.Coerced, Evidence: m.Evidence, Call: m.Call})
	}
	for _, r := range result.Rejected {
		tool, err := newReference(r.Candidate)
		faults = append(faults, err)
		s.Rejected = append(s.Rejected, storedCall{Tool: tool, Values: r.Values, Missing: r.Missing, Errors: r.Errors, Call: r.Call})
	}
	text, err := exactjson.Text(s)
	return text, errors.Join(append(faults, err)...)
}

// loadMatch returns the result in the scope of a request. valid is false if the user's claims or locale differ; if a tool
// is removed, changed or hidden; or if the scope changed and nothing had matched, as a new tool may match now.
func loadMatch(text string, basis matchBasis, request matcher.Request) (result matcher.Result, nearest []matcher.Candidate, valid bool) {
	var s storedMatch
	if exactjson.Unmarshal([]byte(text), &s) != nil {
		return result, nil, false
	}
	sameScope := s.Scope == basis.Scope
	if s.Claims != basis.Claims || s.Locale != basis.Locale || !sameScope && len(s.Matches)+len(s.Rejected) == 0 {
		return result, nil, false
	}
	find := func(tool reference) (matcher.Candidate, bool) {
		c, found := request.Named(tool.Name)
		if !found || c.Repository.ID != tool.RepositoryID || c.Repository.SessionID != tool.SessionID || c.Repository.Generation != tool.Generation {
			return c, false
		}
		if sameScope { // unchanged
			return c, true
		}
		current, err := newReference(c)
		return c, err == nil && current == tool
	}
	result = matcher.Result{Stage: s.Stage, Text: s.Text}
	for _, call := range s.Matches {
		c, found := find(call.Tool)
		if !found {
			return result, nil, false
		}
		result.Matches = append(result.Matches, matcher.Match{
			Candidate: c, Values: call.Values, Repaired: call.Repaired, Coerced: call.Coerced, Evidence: call.Evidence, Call: call.Call,
		})
	}
	for _, call := range s.Rejected {
		c, found := find(call.Tool)
		if !found {
			return result, nil, false
		}
		result.Rejected = append(result.Rejected, matcher.Rejected{Candidate: c, Values: call.Values, Missing: call.Missing, Errors: call.Errors, Call: call.Call})
	}
	for _, name := range s.Nearest {
		if c, found := request.Named(name); found {
			nearest = append(nearest, c)
		}
	}
	return result, nearest, true
}
