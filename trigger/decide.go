package trigger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/audit"
	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
	"earshot/repositories/locale"
	"earshot/repositories/store"
	"earshot/repositories/tracing"
	"earshot/trigger/conversation"
	"earshot/trigger/delivery"
	"earshot/trigger/effect"
	"earshot/trigger/explain"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
	"earshot/trigger/scope"
	"earshot/trigger/state"
	"earshot/trigger/worker"
)

// turn is a message to be decided, with all data read for it. Posted messages, dry runs, drafts and rehearsals
// are all matched and decided as turns. They differ in the turn's source and in the use of its plan.
type turn struct {
	ledger.Turn
	token   string        // of its lease
	age     time.Duration // since its acceptance, by the clock of Redis
	now     time.Duration // the present time, by the same clock
	message query.StoredMessage
	stored  string // the message as JSON
	scope   scope.Scope
	history []matcher.Utterance
	// unfinished are the calls begun by earlier messages that can still be completed.
	unfinished []conversation.IncompleteCall
	// lastQuestions are the triggers whose question the user was asked last, otherQuestions others that wait for a yes.
	lastQuestions, otherQuestions []string
	// toRetract are the triggers that the message takes back, retractions waits for that, and retracted is the answer's
	// list of them.
	toRetract   []string
	retractions sync.WaitGroup
	retracted   []query.Retracted
	generation  store.Generation
	conflicts   knownConflicts
	// draft is the match made before the message was accepted; nil if it is not accepted.
	draft      *ledger.DraftMatch
	sendAnswer sendAnswer // nil if the answer is not sent ahead
	// consents are the triggers that the message plainly confirms or denies. otherQuestion reports a plain yes
	// or no to a question that was not the last one.
	consents      []consent
	otherQuestion bool
	// unansweredTool is a tool whose question was the last one, and that the message answers by no plain yes or no.
	unansweredTool string
	matchOrigin
	committed bool // by this process
}

// matchOrigin is the origin of the result that decides a turn.
type matchOrigin struct {
	trace            *matcher.Trace
	draftExplanation string // in place of a trace: the explanation of the matched draft
	matchedScope     scope.Scope
	candidates       int                 // in that scope
	nearest          []matcher.Candidate // of the trace or the draft
	// changedCalls has the verdicts of calls, by number, whose tools have changed since the match.
	changedCalls map[int]explain.Verdict
}

func (t *turn) language() string { return cmp.Or(t.message.Language, t.scope.Language()) }

func (t *turn) zoneName() string { return cmp.Or(t.message.TimeZone, t.scope.ZoneName()) }

// metadata returns the metadata of the message, laid over the session's.
func (t *turn) metadata() repositories.Metadata {
	return t.message.Metadata.Over(t.scope.Profile.Metadata)
}

// contentHash identifies the content of a message: a repetition under the same id must have the same. It leaves
// out the time and the claims.
func contentHash(m *query.StoredMessage) string { return ledger.Hash(m.Actor, m.Text) }

// owner returns the generation of the app that explanations are kept for.
func (t *turn) owner() string { return t.App + " " + t.generation.App }

func (t *turn) request(now time.Time) matcher.Request {
	candidates := t.scope.Candidates()
	return matcher.Request{
		App: t.scope.App, ID: t.Turn.Message, History: t.history, Text: t.message.Text, Unfinished: conversation.ForMatcher(t.unfinished, t.message.Text),
		Candidates: candidates.All, Shared: t.scope.Shared, Own: candidates.Own,
		Now: now.In(locale.Zone(t.zoneName(), now.Location())), Language: t.language(), Chat: t.scope.MayReply() && !t.message.CallerFires,
	}
}

// decider matches messages, and commits the decisions.
type decider struct {
	*worker.Worker
	records       *query.Records
	conversations *query.ConversationCache
	scopes        *scope.Reader
	deliveries    *delivery.Deliveries
	matcher       matcher.Matcher
	packer        *explain.Packer
	audit         Audit
	history       int // number of earlier messages that a matcher sees
	logTexts      bool
	drafts        draftMatches
}

// Errors of a turn.
var (
	// ErrClosed means that the session was closed while the message was matched.
	ErrClosed = errors.New("the session was closed")
	// errLost means that another replica has the lease of a turn.
	errLost = errors.New("the lease of the turn was lost")
)

// clientRetries, as a pause, leaves the retry of a turn to its client.
const clientRetries time.Duration = -1

// process takes a turn from its lease to its answer: match, decide, deliver, reply. retry is the pause before
// the retry if nothing can be decided.
func (d *decider) process(t *turn, retry time.Duration) (json.RawMessage, error) {
	failpoint.At(failpoint.TurnClaimed)
	ctx, release := d.Every(d.Context, d.Heartbeat(), func(ctx context.Context, cancel context.CancelCauseFunc) {
		if extended, err := d.Ledger.Extend(ctx, t.Turn, t.token, d.Lease); err == nil && !extended {
			cancel(d.lossOf(ctx, t)) // a process that was frozen must stop
		}
	})
	defer release()
	defer func() {
		if fault := recover(); fault != nil {
			if !t.committed { // else the ledger continues it
				d.ReleaseLeases(ledger.HeldLeases{Turn: t.Turn, Token: t.token})
			}
			panic(fault)
		}
	}()
	// The span is a child of the request that posted the message, on any replica.
	ctx, span := d.Tracer.Below(ctx, t.message.TraceParent, "message", trace.SpanKindInternal)
	if span.IsRecording() {
		span.SetAttributes(tracing.App.String(t.App), tracing.Conversation.String(t.Session), tracing.Message.String(t.Turn.Message))
	}
	t.message.TraceParent = tracing.Parent(span, t.message.TraceParent)
	defer span.End()
	started := d.Now()
	request := t.request(started)
	result, p, err := d.matchAndCommit(ctx, t, request)
	if loss := context.Cause(ctx); err != nil && (errors.Is(loss, errLost) || errors.Is(loss, ErrClosed)) {
		err = loss // it interrupted what was under way
	}
	if err != nil {
		tracing.Fail(span, faultOf(err))
		return nil, d.releaseUndecided(t, err, retry)
	}
	t.committed = true
	d.observe(span, t, p, result.Stage, d.Now().Sub(started))
	// The decision is final from here on: failed effects are delivered later, and the context does not end with
	// the lease.
	answer, err := d.deliver(d.Context, t, p, request, result)
	if err == nil && p.Committed.UnderReplicated {
		return nil, keyspace.ErrReplicas
	}
	return answer, err
}

// lossOf returns why a turn has lost its lease: its session was closed, or another replica has taken it.
func (d *decider) lossOf(ctx context.Context, t *turn) error {
	if now, err := d.Store.Generation(ctx, t.App, t.Session); err == nil && now.Session != t.generation.Session {
		return ErrClosed
	}
	return errLost
}

// releaseUndecided releases an undecided turn, unless this process has lost it, and records the cause, which it
// returns.
func (d *decider) releaseUndecided(t *turn, cause error, retry time.Duration) error {
	recorded, outcome := cause, "undecided"
	unavailable := (*matcher.Unavailable)(nil)
	switch {
	case errors.As(cause, &unavailable):
	case errors.Is(cause, keyspace.ErrUnavailable):
		d.Metrics.Messages.WithLabelValues("error").Inc()
		d.ReleaseIfTaken(ledger.HeldLeases{Turn: t.Turn, Token: t.token}, cause)
		return cause
	case errors.Is(cause, errLost), errors.Is(cause, ErrClosed), errors.Is(cause, repositories.ErrNotFound):
		d.Metrics.Messages.WithLabelValues("error").Inc()
		return cause
	default:
		recorded, outcome = worker.ErrPanicked, "error" // its text is only logged
	}
	d.Metrics.Messages.WithLabelValues(outcome).Inc()
	ctx, cancel := context.WithTimeout(d.Context, d.Lease)
	defer cancel()
	text, err := exactjson.Text(query.Failure{Error: recorded.Error()})
	if err != nil {
		return err
	}
	var event *keyspace.Entry
	if retry < 0 && t.scope.App.Settings.ChatEvents { // only the client retries it
		var pause time.Duration
		if unavailable != nil {
			pause = unavailable.RetryAfter
		}
		if event, err = t.events().failed(d.Now(), t.token, recorded.Error(), pause); err != nil {
			return err
		}
	}
	failpoint.At(failpoint.GiveBackBefore)
	err = d.Write(ctx, func() error { return d.Ledger.ReleaseUndecided(ctx, t.Turn, t.token, text, retry, event) })
	if event != nil {
		d.Wake(t.App)
	}
	if err != nil {
		return err
	}
	return cause
}

// matchAndCommit decides a turn: by a plain answer to the last question, else by the matcher.
func (d *decider) matchAndCommit(ctx context.Context, t *turn, request matcher.Request) (result matcher.Result, p *plan, err error) {
	if t.retracted, err = d.awaitRetractions(ctx, t); err != nil {
		return result, nil, err
	}
	result, plain, err := d.findConsents(ctx, t, request)
	if err != nil {
		return result, nil, err
	}
	if plain {
		if p, err = d.decideConsent(ctx, t, result); !errors.Is(err, query.ErrEnded) {
			return result, p, err
		}
		t.consents = nil // another request was faster: match it like any other message
	}
	if result, err = d.match(ctx, t, request); err == nil {
		p, err = d.decideAndCommit(ctx, t, result)
	}
	return result, p, err
}

// awaitRetractions returns the triggers that a turn has taken back, once their records show it. It leaves out triggers
// without a record, as after a crash.
func (d *decider) awaitRetractions(ctx context.Context, t *turn) (retracted []query.Retracted, err error) {
	t.retractions.Wait()
	for _, triggerID := range t.toRetract {
		h, err := d.readHeld(ctx, t.App, triggerID)
		switch {
		case err == nil:
			retracted = append(retracted, query.Retracted{TriggerID: triggerID, Name: h.Record.Name})
		case !errors.Is(err, query.ErrNotFound):
			return nil, err
		}
	}
	return retracted, nil
}

// decideConsent decides a turn with a plain yes or no, and audits it first.
func (d *decider) decideConsent(ctx context.Context, t *turn, result matcher.Result) (p *plan, err error) {
	if d.audit == nil {
		return d.decideAndCommit(ctx, t, result)
	}
	entries := make([]audit.Entry, len(t.consents))
	for i, c := range t.consents {
		entries[i] = audit.Entry{Action: audit.Deny, By: audit.ByUser, Via: audit.ViaMessage, Subject: audit.Subject{TriggerID: c.Record.TriggerID}}
		if c.action == state.Confirm {
			entries[i].Action = audit.Confirm
		}
	}
	err = d.audit.During(ctx, t.App, func() (bool, error) {
		p, err = d.decideAndCommit(ctx, t, result)
		return err == nil || errors.Is(err, keyspace.ErrUnavailable), err
	}, entries...)
	return p, err
}

// matchOnly is matchAndCommit without the decision.
func (d *decider) matchOnly(ctx context.Context, t *turn, request matcher.Request) (matcher.Result, error) {
	result, plain, err := d.findConsents(ctx, t, request)
	if plain || err != nil {
		return result, err
	}
	return d.match(ctx, t, request)
}

// consent is a message's plain answer to a question asked last.
type consent struct {
	*heldTrigger
	action state.Action
}

// findConsents finds the questions that a turn answers with a plain yes or no; plain is false if there are none.
func (d *decider) findConsents(ctx context.Context, t *turn, request matcher.Request) (result matcher.Result, plain bool, err error) {
	if len(t.lastQuestions)+len(t.otherQuestions) == 0 || t.message.Actor != matcher.ActorUser {
		return result, false, nil
	}
	action, plain := consentAction(t.message.Text)
	if !plain {
		t.unansweredTool = d.unansweredTool(ctx, t)
		return result, false, nil
	}
	last, others := d.questions(ctx, t)
	for i, triggerID := range slices.Concat(last, others) {
		if i >= len(last) && len(t.consents) > 0 {
			break
		}
		h, err := d.readHeld(ctx, t.App, triggerID)
		switch {
		case errors.Is(err, query.ErrNotFound):
		case err != nil:
			return result, false, err
		case h.state != state.Confirming || h.Record.SessionID != t.Session:
		case i < len(last):
			t.consents = append(t.consents, consent{h, action})
		default:
			t.otherQuestion = true
		}
	}
	if action == state.Confirm {
		t.consents = newestPerQuestion(t.consents, func(c consent) string { return c.Record.Question })
	}
	t.matchOrigin = matchOrigin{trace: &matcher.Trace{}, matchedScope: t.scope, candidates: len(request.Candidates)}
	return matcher.Result{Stage: matcher.StageExact}, len(t.consents) > 0, nil
}

// unansweredTool returns the tool of the first trigger whose question was the last one and that still waits; empty for
// none, or if that cannot be read.
func (d *decider) unansweredTool(ctx context.Context, t *turn) string {
	for _, triggerID := range t.lastQuestions {
		if h, err := d.readHeld(ctx, t.App, triggerID); err == nil && h.state == state.Confirming && h.Record.SessionID == t.Session {
			return h.Record.Name
		}
	}
	return ""
}

// newestPerQuestion returns the newest of the triggers that ask the same question, as after a double click: one yes to
// one question releases one trigger.
func newestPerQuestion[T any](list []T, question func(T) string) []T {
	last := map[string]int{}
	for i, asked := range list {
		last[question(asked)] = i
	}
	var newest []T
	for i, asked := range list {
		if last[question(asked)] == i {
			newest = append(newest, asked)
		}
	}
	return newest
}

// consentAction returns the action of a text on the questions that it answers; false if it is no plain yes or no.
func consentAction(text string) (state.Action, bool) {
	yes, no := matcher.Consents(text)
	if no {
		return state.Deny, true
	}
	return state.Confirm, yes
}

// match finds the calls of a turn. It asks no model if the turn's draft was matched.
func (d *decider) match(ctx context.Context, t *turn, request matcher.Request) (matcher.Result, error) {
	if t.message.CallerFires {
		t.matchOrigin = matchOrigin{trace: &matcher.Trace{}, matchedScope: t.scope}
		return matcher.Result{Stage: matcher.StageNone}, nil
	}
	if result, valid := d.matchOfDraft(ctx, t, request); valid {
		return result, nil
	}
	started := d.Now()
	failpoint.At(failpoint.MatchBefore)
	ctx, span := tracing.Start(ctx, "match", trace.SpanKindInternal)
	if span.IsRecording() {
		span.SetAttributes(tracing.Offered.Int(len(request.Candidates)))
	}
	result, err := t.match(ctx, d.matcher, request)
	tracing.End(span, faultOf(err), tracing.Stage.String(result.Stage))
	failpoint.At(failpoint.MatchAfter)
	d.Metrics.MatchSeconds.Observe(d.Now().Sub(started).Seconds())
	return result, err
}

// match runs a matcher on the turn. It ensures that each match and each rejected call has a call in the trace.
func (t *turn) match(ctx context.Context, m matcher.Matcher, request matcher.Request) (matcher.Result, error) {
	ctx, trace := matcher.Recorded(ctx)
	result, err := m.Match(ctx, request)
	for i, m := range result.Matches {
		if m.Call == 0 {
			result.Matches[i].Call = trace.Add(matcher.Call{
				Candidate: m.Candidate, Name: m.Tool.Name, Arguments: m.Values, Repaired: m.Repaired, Coerced: m.Coerced,
			})
		}
	}
	for i, r := range result.Rejected {
		if r.Call == 0 {
			result.Rejected[i].Call = trace.Add(matcher.Call{Candidate: r.Candidate, Name: r.Tool.Name, Arguments: r.Values, Errors: r.Errors})
		}
	}
	t.matchOrigin = matchOrigin{trace: trace, matchedScope: t.scope, candidates: len(request.Candidates), nearest: trace.Nearest}
	return result, err
}

// maxReplans bounds the decisions repeated because a repository changed during the match.
const maxReplans = 20

// decideAndCommit decides, and decides again on the current state if a repository changed in between.
func (d *decider) decideAndCommit(ctx context.Context, t *turn, result matcher.Result) (*plan, error) {
	for range maxReplans {
		p, err := t.decide(d.planner(t.Turn, t.token, t.scope.State, t.message.Text, t.message.TraceParent), result)
		if err != nil {
			return nil, err
		}
		if p.keepsExplanation(t, d.Store.Retention().Unexplained) {
			p.explain(d.packer, d.Log, t, t.owner())
		}
		status, err := d.commit(ctx, p)
		switch {
		case err != nil:
			return nil, err
		case status == ledger.Committed:
			d.conversations.Decided(t.Turn, t.stored, t.message, p.decision, p.Answer.Matches)
			return &p.plan, nil
		case status == ledger.Closed:
			closed, err := d.Store.Closed(ctx, t.App, t.Session)
			if err == nil && !closed { // a resend by the client restores it
				err = fmt.Errorf("%w: it lost the message, for instance in a failover", keyspace.ErrUnavailable)
			}
			return nil, cmp.Or(err, ErrClosed)
		case status == ledger.Lost:
			return nil, errLost
		case status == ledger.Moved, status == ledger.NoTrigger, status == ledger.Retracted:
			return nil, query.ErrEnded
		case status == ledger.Differs:
			if err := d.addConflict(ctx, &t.conflicts, &p.plan); err != nil {
				return nil, err
			}
			continue
		}
		failpoint.At(failpoint.CommitStale)
		claims := t.scope.Claims
		if t.scope, err = d.scopes.Read(ctx, t.App, t.Session); err != nil {
			return nil, err
		}
		t.scope.Claims = claims
		if t.draftExplanation == "" {
			result = t.keepValid(result)
		} else { // a draft's match: the scope changed since then
			t.draft = nil
			if result, err = d.match(ctx, t, t.request(d.Now())); err != nil {
				return nil, err
			}
		}
	}
	return nil, &matcher.Unavailable{Reason: "the repositories in scope change faster than a message can be decided"}
}

// keepValid keeps the matches that are valid in the changed scope: those of tools unchanged in the same
// repository.
func (t *turn) keepValid(result matcher.Result) matcher.Result {
	isValid := func(call int, c *matcher.Candidate) bool {
		current, found := t.scope.Same(*c)
		if found {
			*c = current
			return true
		}
		reason := "The tool was changed or removed while the message was matched."
		if c.Repository.Options.TriggerOnce {
			reason = fmt.Sprintf("Repository %s fires once, and was taken by something else, changed or removed while the message was matched.", c.Repository.ID)
		}
		if t.changedCalls == nil {
			t.changedCalls = map[int]explain.Verdict{}
		}
		t.changedCalls[call] = explain.Verdict{Verdict: explain.Dropped, Why: reason}
		return false
	}
	valid := matcher.Result{Stage: result.Stage, Text: result.Text}
	for _, match := range result.Matches {
		if isValid(match.Call, &match.Candidate) {
			valid.Matches = append(valid.Matches, match)
		}
	}
	for _, rejected := range result.Rejected {
		if isValid(rejected.Call, &rejected.Candidate) {
			valid.Rejected = append(valid.Rejected, rejected)
		}
	}
	return valid
}

// decide plans the actions of a turn: those of its plain yes or no on the triggers that asked, or those that
// were matched. The rules are those of section 4 of the contract: exclusive repositories win, a triggerOnce
// repository fires one tool, and the catch-all takes an unmatched message.
func (t *turn) decide(p *planner, result matcher.Result) (*planner, error) {
	p.metadata, p.language, p.stage, p.generation, p.conflicts = t.metadata(), t.language(), result.Stage, t.generation, t.conflicts
	p.doc.HasClaims, p.Answer.Auth, p.Answer.Retracted, p.result = len(t.scope.Claims) > 0, t.message.Auth, t.retracted, result
	if t.scope.App.Settings.ChatEvents {
		p.chat = new(t.events())
	}
	if err := p.planActions(t, result); err != nil {
		return nil, err
	}

	// A front-end stays silent if a fired tool requests it, the app requests it for all tools, or an exclusive
	// repository is in scope.
	matches := p.Answer.Matches
	p.Answer.SkipResponse = t.scope.Exclusive() || len(matches) > 0 && t.scope.App.Settings.SkipToolResponse ||
		slices.ContainsFunc(matches, func(m query.Match) bool { return m.SkipResponse })

	// The plan's questions are the last ones that the user is asked, unless its answer is not shown or the reply is
	// something else.
	replied := slices.ContainsFunc(matches, func(m query.Match) bool { return m.ReturnDirect && m.Due() && m.Call != nil })
	p.doc.QuestionChange = ledger.Unrelated
	switch {
	case len(p.doc.Questions) > 0 && !t.message.Relayed && !(replied && mayReply(t.scope, p.Answer)):
		p.doc.QuestionChange = ledger.Asking
	case len(t.consents)+len(p.fires)+len(result.Rejected) > 0:
		p.doc.QuestionChange = ledger.Related
	case directReply(t.scope, p.Answer, result.Text, t.scope.MayReply()) != nil:
		p.doc.QuestionChange, p.doc.ReplyWords = ledger.Related, conversation.Sentences(result.Text)
	case t.message.Actor == matcher.ActorUser && matcher.Objects(t.message.Text):
		p.doc.QuestionChange = ledger.Related // "please don't", then "ok": a yes to what?
	}
	p.callerFires = t.message.CallerFires && len(matches)+len(result.Rejected) == 0
	p.unfinished = conversation.After(t.unfinished, t.message.Text, result, t.now.Milliseconds())
	return p, nil
}

// planActions plans the moved, fired and rejected triggers of the turn.
func (p *planner) planActions(t *turn, result matcher.Result) error {
	p.fires = conversation.Fires(result.Matches)
	for _, c := range t.consents {
		if err := p.move(c.heldTrigger, c.action, "message "+t.Turn.Message); err != nil {
			return err
		}
	}
	for _, match := range p.fires {
		if err := p.fire(match, query.SourceMessage, ""); err != nil {
			return err
		}
	}
	for i, rejected := range result.Rejected {
		if err := p.addRejected(i, rejected); err != nil {
			return err
		}
	}
	if len(t.consents)+len(p.fires)+len(result.Rejected) > 0 || t.message.CallerFires {
		return nil
	}
	candidates := t.scope.Candidates()
	if candidates.CatchAll != nil {
		return p.fire(conversation.CatchAll(*candidates.CatchAll, p.text), query.SourceMessage, "")
	}
	if len(candidates.All) > 0 {
		return p.addNotMatching(candidates.All, t.nearest)
	}
	return nil
}

// commit has the ledger decide, within a part of the lease, and retries while Redis is briefly unavailable. Each retry
// returns the same answer.
func (d *decider) commit(ctx context.Context, p *planner) (status ledger.Status, err error) {
	d.deliveries.AwaitFlush(ctx, p.App, p.Box)
	p.SentAt = time.Now()
	ctx, cancel := context.WithTimeout(ctx, d.Heartbeat())
	defer cancel()
	d.deliveries.SubscribeOutcomes(&p.Decision)
	defer func() {
		if err != nil || status != ledger.Committed || p.HoldsOutbox() {
			d.deliveries.UnsubscribeOutcomes(&p.Decision)
		}
		if err != nil {
			d.ReleaseIfTaken(p.leases(), err)
		}
	}()
	if err := p.storeCall(); err != nil {
		return "", err
	}
	doc, err := p.commitment(d.NewID, d.Lease)
	if err != nil {
		return "", err
	}
	err = d.Write(ctx, func() (err error) {
		if failpoint.Planted(failpoint.EarlyPublish) {
			d.deliveries.EarlyPublish(ctx, &p.Decision)
		}
		p.Committed, err = d.Ledger.Commit(ctx, doc)
		return err
	})
	if err != nil {
		return "", err
	}
	switch p.Committed.Status {
	case ledger.NoApp:
		return "", ledger.AppNotFound(p.App)
	case ledger.Committed:
		d.packer.MarkWritten(p.packed)
		for i, f := range p.firings {
			if f.span != nil {
				f.span.End() // its effects are stored
			}
			if f.due() {
				d.countFired(p.App, p.Answer.Matches[i].Name)
				continue
			}
			d.Metrics.Triggers.WithLabelValues(f.move.State).Inc()
			if f.move.State == string(state.Settling) {
				d.WakeAfter(p.App, time.Duration(f.move.Wait)*time.Millisecond)
			}
		}
	}
	return p.Committed.Status, nil
}

// outcome returns the outcome of the message as a letter of keyspace.OutcomeTo.
func (p *plan) outcome() string {
	switch {
	case len(p.Answer.Matches) > 0:
		return keyspace.OutcomeFired
	case len(p.Answer.Rejected) > 0:
		return keyspace.OutcomeRejected
	}
	return keyspace.OutcomeUnmatched
}

// commitment completes the plan's document for the ledger. newID makes the app's next version if a repository of the
// app is removed.
func (p *planner) commitment(newID func() string, lease time.Duration) (ledger.Commitment, error) {
	var err error
	if p.decision, err = p.Answer.Encode(); err != nil {
		return p.doc, err
	}
	doc := p.doc
	if !p.callerFires {
		doc.Outcome = p.outcome()
	}
	if doc.Unfinished, err = conversation.Write(p.unfinished); err != nil {
		return doc, err
	}
	if p.Message == "" && p.messageID != "" {
		if doc.ChatMatch, err = exactjson.Text(&p.Answer.Matches[0]); err != nil {
			return doc, err
		}
		doc.ChatMessage = p.messageID
	}
	doc.Turn, doc.Box, doc.Token, doc.Decision, doc.TTL = p.Turn, p.Box, p.Token, p.decision, p.store.SessionTTL()
	doc.Explanation = ledger.Explanation{Body: p.packed.Body, Parts: p.packed.Parts, Keep: p.store.Retention().Explain}
	for _, e := range p.Effects {
		if p.Owns(e) {
			doc.Events = append(doc.Events, e.Entry)
			continue
		}
		doc.Others = append(doc.Others, e.Entry)
		if e.Kind != effect.KindEvent { // the replica may need that time for the answer
			lease = max(lease, time.Duration(e.Entry.Lease)*time.Millisecond)
		}
	}
	doc.Lease, doc.Firings = lease, make([]ledger.Firing, 0, len(p.firings))
	for i, f := range p.firings {
		states, err := p.Answer.Matches[i].States()
		if err != nil {
			return doc, err
		}
		entry := ledger.Firing{ID: p.Answer.Matches[i].TriggerID, Name: f.id, Open: f.open, States: states, Move: f.move}
		if f.repository != nil {
			entry.Record, entry.Size = f.record, f.size
			entry.Repository, entry.Session, entry.Revision = f.repository.ID, f.repository.SessionID, f.repository.Revision
			if p.admitted {
				entry.Revision = ""
			}
			entry.Once = f.repository.Options.TriggerOnce && (f.move == nil || state.State(f.move.State) != state.Duplicate)
		}
		if entry.Once && doc.Version == "" {
			doc.Version = newID()
		}
		doc.Firings = append(doc.Firings, entry)
	}
	return doc, nil
}

// modelReplies reports whether a model writes the reply to a message.
func (t *turn) modelReplies(p *plan, request matcher.Request) bool {
	a := p.Answer
	return request.Chat && len(a.Matches) > 0 && mayReply(t.scope, a) && directResult(a) == nil && questions(a) == ""
}

// answerOnDelivery sends the answer once all calls are delivered, before their outcomes are written. It returns the text
// that was sent then.
func (t *turn) answerOnDelivery(first *delivery.First, p *plan, request matcher.Request, result matcher.Result) *string {
	sent := ""
	first.OnDelivered(func() bool {
		if t.modelReplies(p, request) || directReply(t.scope, p.Answer, result.Text, request.Chat) != nil {
			return false // a crash would lose the reply in the history and the events
		}
		withStates := p.Answer.WithStates()
		text, err := exactjson.Text(&withStates)
		if err == nil {
			sent = text
			t.sendAnswer(&p.Decision, json.RawMessage(sent))
		}
		return err == nil
	})
	return &sent
}

// deliver makes the first attempts at a decision's effects, writes the reply, and stores the answer. It returns
// the valid answer: another replica may have stored one before.
func (d *decider) deliver(ctx context.Context, t *turn, p *plan, request matcher.Request, result matcher.Result) (json.RawMessage, error) {
	first, sent := d.deliveries.First(&p.Decision), (*string)(nil)
	if t.sendAnswer != nil && !p.HasOnlyEvents() {
		sent = t.answerOnDelivery(first, p, request, result)
	}
	if err := first.Run(ctx); err != nil {
		return nil, err
	}
	reply := directReply(t.scope, p.Answer, result.Text, request.Chat)
	if t.modelReplies(p, request) {
		if _, err := first.Save(ctx, ledger.Report{}); err != nil { // other requests wait for these events, and a model is slow
			return nil, err
		}
		text, err := d.matcher.Reply(ctx, request, firedCalls(p.Answer))
		if err != nil { // the message stays decided, without a reply
			d.Log.Warn("reply.failed", "app", t.App, "message", t.Turn.Message, "error", err.Error())
			text = ""
		}
		reply = quote(withQuestion(text, p.Answer))
	}
	p.Answer.Reply, p.Answer.ReplyType = reply, query.ReplyType(reply)
	withStates := p.Answer.WithStates()
	answer, err := exactjson.Text(&withStates)
	if err != nil {
		return nil, err
	}
	if sent != nil {
		answer = cmp.Or(*sent, answer)
	}
	closing := ledger.Report{Message: t.Turn.Message, Answer: answer, Reply: string(reply)}
	if p.chat != nil && query.ReplyText(reply) != "" {
		if closing.ReplyEvent, err = p.chat.message("reply", actorAssistant, query.ReplyText(reply), d.Now()); err != nil {
			return nil, err
		}
	}
	stored, err := first.Save(ctx, closing)
	return json.RawMessage(stored), err
}
