// Package delivery carries decisions out: it makes the attempts at their effects and records the outcomes.
// First attempts follow the decision at once, on the process that decided; later ones are claimed from the
// ledger by any process. Both use the same attempt (attempt.go) and are recorded alike (outbox.go).
package delivery

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
	"earshot/trigger/worker"
)

// eventWait is how long an answer whose calls are delivered waits for its events, which mostly are about to be
// published: an answer that shows them pending invites a second request.
const eventWait = 25 * time.Millisecond

// coalesceWindow is how long the outcomes of events wait for a call of the same decision, so that one
// round trip writes both.
const coalesceWindow = 20 * time.Millisecond

// Options are the dependencies of Deliveries. Statements and Answers are optional.
type Options struct {
	Worker  *worker.Worker
	Records *query.Records
	Events  effect.Deliverer // of KindEvent
	Calls   effect.Deliverer // of KindCall, over HTTP
	// Statements delivers the calls of SQL tools; if it is nil, these calls fail.
	Statements effect.Deliverer
	// Answers looks for published answers before a trigger without one is given up; nil for none.
	Answers effect.Deliverer
	// OnPublish is called for each published event, and must not block.
	OnPublish func(appID string)
}

// Deliveries makes and records attempts at effects. It is safe for concurrent use.
type Deliveries struct {
	*worker.Worker
	Options
	// eventsStalled reports that the last event was not published, so that waiting for later ones is useless.
	eventsStalled atomic.Bool
	waiters       eventWaiters
	// answerWaiters has, by effect id, the channel of the request that waits for its answer.
	answerWaiters sync.Map
	flusher       flusher
	writeBehind   *writeBehind
}

// New returns Deliveries, which handle the calls and outboxes of the worker. It makes Records wait for
// unwritten outcomes.
func New(o Options) *Deliveries {
	if o.Statements == nil { // a later attempt would meet the same engine
		o.Statements = knownOutcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Error: "this service runs no statements"}
	}
	if o.Answers == nil {
		o.Answers = knownOutcome(effect.Unanswered())
	}
	d := &Deliveries{
		Worker: o.Worker, Options: o, waiters: eventWaiters{events: map[outbox][]eventWaiter{}},
		flusher: flusher{queues: map[int]*flushQueue{}, latest: map[outbox]*queuedSettlement{}, hurried: map[int]int{}},
	}
	d.writeBehind = newWriteBehind(d)
	o.Records.AwaitFlush = func(ctx context.Context, appID string) {
		d.writeBehind.awaitApp(ctx, appID)
		d.awaitAppFlush(ctx, appID)
	}
	d.Handle(keyspace.LaneCalls, d.takeCall)
	d.Handle(keyspace.LaneOutboxes, func(_ context.Context, appID, box string) error {
		d.Drain(appID, box, d.Token())
		return nil
	})
	return d
}

// Decision is a decision with the effects that follow from it.
type Decision struct {
	ledger.Turn        // without a message for a direct trigger
	Token       string // of its commit
	Box         string // the outbox of its own events
	Effects     []Planned
	Answer      query.Answer // its matches show the outcomes of the effects
	// Unawaited reports that no request waits for answers to its triggers.
	Unawaited bool

	// SentAt is when it was sent to Redis: this process counts its leases from then. Committed is the ledger's reply. An
	// under-replicated decision is carried out nevertheless, and its client must ask again.
	SentAt    time.Time
	Committed ledger.Decision

	outcomes  chan attempt // of its own events, if another token holds the outbox
	earlyCall chan attempt // the attempt at its call, if made before the commit; else nil
}

// Planned is an effect of a decision. Effects are in the order in which they reach JetStream.
type Planned struct {
	effect.Effect
	Entry keyspace.Entry
	Match int // index into the matches of the answer; -1 for none
}

// HoldsOutbox reports whether the decision has the lease of its outbox: its events are the next of the session.
func (d *Decision) HoldsOutbox() bool { return d.Committed.Holder == d.Token }

// Owns reports whether an effect is an event of the decision's own outbox. The removal event of an app's
// triggerOnce repository is not.
func (d *Decision) Owns(e Planned) bool { return e.Kind == effect.KindEvent && e.Entry.Box == d.Box }

// HasOnlyEvents reports whether the decision has no call and awaits no answer.
func (d *Decision) HasOnlyEvents() bool {
	return !slices.ContainsFunc(d.Effects, func(e Planned) bool { return e.Kind != effect.KindEvent })
}

func (d *Decision) outbox() outbox { return outbox{d.App, d.Box} }

// ownEvents returns the events of the decision's own outbox, before they are tried.
func (d *Decision) ownEvents() (events []attempt) {
	for _, e := range d.Effects {
		if d.Owns(e) {
			events = append(events, attempt{Planned: e})
		}
	}
	return events
}

// EarlyPublish publishes the events of a decision before it is made, for the crash tests.
func (d *Deliveries) EarlyPublish(ctx context.Context, decision *Decision) {
	for _, e := range decision.Effects {
		d.deliver(ctx, d.Events, e.Effect) // refuses calls
	}
}

// First makes the first attempts at the effects of a decision: events one after the other, calls concurrently.
// Outcomes are written together unless that delays the session's next events.
type First struct {
	*Deliveries
	decision *Decision
	batch    bool // the events are one entry of the ledger
	// blocksOutbox reports that all events so far were published and no outcome is written: the session's next event
	// waits.
	blocksOutbox bool
	endedCalls   []attempt // calls whose tool.result waits until the events are out
	unsaved      []attempt
	onDelivered  func() bool      // see OnDelivered
	answered     bool             // onDelivered has answered: no request waits for the outcomes
	answerTimer  <-chan time.Time // when onDelivered is called at the latest; nil if it does not wait
}

// OnDelivered sets a function to call when all calls are delivered, before their outcomes are written. It is set only
// if the calls may be repeated, as they are if this process dies before the write.
func (f *First) OnDelivered(onDelivered func() (answered bool)) {
	repeatable := !slices.ContainsFunc(f.decision.Effects, func(e Planned) bool {
		return e.Kind == effect.KindAnswer || e.Kind == effect.KindCall && !e.Call.Repeatable()
	})
	if repeatable && !f.decision.Committed.UnderReplicated {
		f.onDelivered = onDelivered
	}
}

// callOnDelivered calls onDelivered, or delays that for pending events.
func (f *First) callOnDelivered(eventsPending bool) {
	if f.answerTimer = nil; eventsPending {
		f.answerTimer = time.After(eventWait)
		return
	}
	f.answered = f.onDelivered()
}

func (f *First) callsDelivered() bool {
	return !slices.ContainsFunc(f.decision.Answer.Matches, func(m query.Match) bool { return m.Call != nil && m.Call.State != query.StateDelivered })
}

// First prepares the first attempts at the effects of a committed decision.
func (d *Deliveries) First(decision *Decision) *First {
	return &First{Deliveries: d, decision: decision, batch: decision.Committed.Batch, blocksOutbox: decision.HoldsOutbox()}
}

// Run tries all effects and writes all outcomes but the last ones, which are left to Save.
func (f *First) Run(ctx context.Context) error {
	failpoint.At(failpoint.EffectsBefore)
	ownEvents := f.decision.ownEvents()
	if f.blocksOutbox && len(ownEvents) > 0 && f.decision.HasOnlyEvents() {
		return f.runEvents(ctx, ownEvents)
	}
	events, calls := make(chan []attempt, 1), make(chan attempt, len(f.decision.Effects)) // senders never block
	openCalls := f.start(ctx, calls)
	f.wakeOthers(len(ownEvents) + openCalls)
	stopped, interrupted, eventsPending := ctx.Done(), false, len(ownEvents) > 0
	switch {
	case eventsPending && f.blocksOutbox:
		f.Go(func() { events <- f.publish(ctx, ownEvents) })
	case eventsPending:
		f.Go(func() { events <- f.await(ctx, ownEvents) })
	default:
		f.waiters.unsubscribe(f.decision)
	}

	var coalesced <-chan time.Time
	for eventsPending || openCalls > 0 {
		select {
		case list := <-events:
			eventsPending = false
			unpacked, err := f.addEvents(ctx, list)
			if err != nil {
				return err
			}
			if f.answerTimer != nil {
				f.callOnDelivered(eventsPending)
			}
			interrupted = interrupted || unpacked && ctx.Err() != nil
		case a := <-calls:
			openCalls--
			f.addAttempt(a)
			if openCalls == 0 && f.onDelivered != nil && f.callsDelivered() {
				f.callOnDelivered(eventsPending)
			}
		case <-f.answerTimer:
			f.callOnDelivered(false)
		case <-coalesced:
			coalesced = nil
			if _, err := f.Save(ctx, ledger.Report{}); err != nil {
				return err
			}
		case <-stopped: // the process stops: attempts in progress return soon, and others can continue at once
			stopped, interrupted = nil, true
		}
		if !eventsPending {
			f.publishResults(ctx)
		}
		if coalesced == nil && !interrupted && !eventsPending && openCalls > 0 && len(f.unsaved) > 0 {
			coalesced = time.After(coalesceWindow)
		}
	}
	if !interrupted {
		return nil
	}
	return f.interrupted(ctx)
}

// runEvents is Run for a decision without calls, as most are: it waits for nothing else.
func (f *First) runEvents(ctx context.Context, events []attempt) error {
	f.wakeOthers(len(events))
	unpacked, err := f.addEvents(ctx, f.publish(ctx, events))
	if err != nil || !unpacked || ctx.Err() == nil {
		return err
	}
	return f.interrupted(ctx)
}

// interrupted writes the outcomes so far, as the process stops, and returns the cause.
func (f *First) interrupted(ctx context.Context) error {
	_, err := f.Save(ctx, ledger.Report{})
	return errors.Join(context.Cause(ctx), err)
}

// wakeOthers wakes a worker for the effects that are not tried here: the removal event of an app's repository is in
// the app's outbox.
func (f *First) wakeOthers(tried int) {
	if tried < len(f.decision.Effects) {
		f.Wake(f.decision.App)
	}
}

// start begins the attempts at calls, and returns their number.
func (f *First) start(ctx context.Context, calls chan<- attempt) (started int) {
	for _, e := range f.decision.Effects {
		switch a := (attempt{Planned: e}); {
		case e.Kind == effect.KindEvent:
			continue
		case f.decision.earlyCall != nil:
			f.Go(func() { calls <- <-f.decision.earlyCall })
		case e.Kind == effect.KindCall:
			f.Go(func() { calls <- f.call(ctx, a) })
		case f.decision.Unawaited:
			calls <- a.unanswered()
		default:
			f.Go(func() { calls <- f.awaitAnswer(ctx, a) })
		}
		started++
	}
	return started
}

// call makes the first attempt at a call, within the lease from the decision.
func (f *First) call(ctx context.Context, a attempt) attempt {
	if f.decision.Committed.UnderReplicated && !a.Call.Repeatable() {
		a.start, a.outcome, a.pause = f.Now().UTC(), unsafeOutcome, f.Jitter(time.Second)
		return a
	}
	ctx, cancel := context.WithDeadline(ctx, f.leaseEnd(a))
	defer cancel()
	return f.try(ctx, a)
}

// leaseEnd returns the end of a call's lease from the decision, by the clock of this process.
func (f *First) leaseEnd(call attempt) time.Time {
	return f.decision.SentAt.Add(time.Duration(call.Entry.Lease) * time.Millisecond)
}

// isLate reports whether it is too late to publish: a process that was suspended may have lost the lease of the outbox,
// and an event must not restore an erased session.
func (f *First) isLate() bool { return time.Since(f.decision.SentAt) > keyspace.EventLease/2 }

// publish publishes the events in order up to the first failure; the rest stay in the ledger.
func (f *First) publish(ctx context.Context, events []attempt) []attempt {
	count := 0
	if !f.isLate() {
		count = len(f.publishInOrder(ctx, events, f.decision.SentAt.Add(keyspace.EventLease/2)))
	}
	for i := range events[count:] {
		events[count+i].outcome, events[count+i].deferred = notTriedOutcome, true
	}
	return events
}

// headWait is how long a request waits for its events behind earlier ones of the session, which take a few
// milliseconds while NATS answers.
const headWait = time.Second

// await waits for events that the holder of the outbox publishes. A holder in this process notifies it;
// otherwise it polls the ledger. It does not wait while NATS is known to be unavailable.
func (f *First) await(ctx context.Context, events []attempt) []attempt {
	defer f.waiters.unsubscribe(f.decision)
	ctx, cancel := context.WithTimeout(ctx, headWait)
	defer cancel()
	openEvents := map[string]int{}
	for i := range events {
		events[i].outcome, events[i].deferred, openEvents[events[i].ID] = notTriedOutcome, true, i
	}
	finish := func(id string, outcome effect.Outcome) {
		if i, isOpen := openEvents[id]; isOpen {
			events[i].outcome = outcome
			delete(openEvents, id)
		}
	}
	for polls := 0; len(openEvents) > 0 && !f.eventsStalled.Load(); polls++ {
		var poll <-chan time.Time
		if !f.IsOwnToken(f.decision.Committed.Holder) {
			poll = time.After(worker.Pause(polls))
		}
		select {
		case a := <-f.decision.outcomes:
			finish(a.ID, a.outcome)
		case <-poll:
			states, _ := f.Ledger.EffectStates(ctx, f.decision.App, slices.Collect(maps.Keys(openEvents))) // after an error, the next poll reads the states
			for id, state := range states {
				switch state {
				case "": // no longer in the ledger
					finish(id, effect.Outcome{Verdict: effect.Done})
				case "dead":
					finish(id, effect.Outcome{Verdict: effect.Dead})
				}
			}
		case <-ctx.Done():
			return events
		}
	}
	return events
}

// addEvents adds the attempts at the decision's events. If one failed, it unpacks their batch.
func (f *First) addEvents(ctx context.Context, events []attempt) (unpacked bool, err error) {
	for _, a := range events {
		f.blocksOutbox = f.blocksOutbox && a.outcome.Verdict == effect.Done
		f.addAttempt(a)
	}
	if !f.batch || f.blocksOutbox {
		return false, nil
	}
	return true, f.unpack(ctx)
}

// addAttempt records an attempt in its match, and queues it for writing.
func (f *First) addAttempt(a attempt) {
	if a.Match >= 0 {
		match := &f.decision.Answer.Matches[a.Match]
		switch a.Entry.Part {
		case effect.PartEvent:
			match.Event = new(a.eventState())
		case effect.PartEmitter:
			match.Emitter = new(a.eventState())
		case effect.PartCall:
			match.Call = new(a.callState())
		}
	}
	switch {
	case a.deferred:
	case a.ended():
		f.endedCalls = append(f.endedCalls, a)
	default:
		f.unsaved = append(f.unsaved, a)
	}
}

// publishResults publishes the tool.result of ended calls at once if the session's next event waits anyway,
// which saves two round trips; else it leaves them to the ledger.
func (f *First) publishResults(ctx context.Context) {
	for _, call := range f.endedCalls {
		result, err := f.resultOf(call)
		if err != nil {
			f.Log.Error("result.lost", "trigger", call.TriggerID, "error", err)
		} else if !f.blocksOutbox || f.isLate() || !time.Now().Before(f.leaseEnd(call)) || // another replica may have taken over the call
			f.try(ctx, result).outcome.Verdict != effect.Done {
			call.result = &result.Entry
		}
		f.unsaved = append(f.unsaved, call)
	}
	f.endedCalls = nil
}

// unpack makes each event of the batch an effect, so that its outcome is written separately.
func (f *First) unpack(ctx context.Context) error {
	ctx, cancel := f.ShutdownContext(ctx)
	defer cancel()
	f.batch = false
	return f.Write(ctx, func() error { return f.Ledger.Unpack(ctx, f.decision.App, f.decision.Box, f.decision.Token) })
}

// Save writes the unwritten outcomes, and closes the turn or the direct trigger if the report has its answer.
// It returns the valid answer: another process may have stored one before.
func (f *First) Save(ctx context.Context, closing ledger.Report) (answer string, err error) {
	if f.batch {
		if lost, err := f.flush(ctx, closing); !lost || err != nil {
			return closing.Answer, err
		}
		if err := f.unpack(ctx); err != nil {
			return "", err
		}
	}
	closing.App, closing.Session, closing.Box = f.decision.App, f.decision.Session, f.decision.Box
	closing.Token, closing.Next = f.decision.Token, f.NextHolder()
	attempts := f.unsaved
	f.blocksOutbox, f.unsaved = f.blocksOutbox && len(attempts) == 0, nil
	closing, err = report(closing, attempts)
	if err != nil {
		return "", err
	}
	if answer, err = f.finish(ctx, closing); err == nil {
		f.waiters.notify(f.decision.outbox(), attempts)
	}
	dueAtOnce := slices.ContainsFunc(closing.Outcomes, func(o ledger.Outcome) bool { return o.Verdict == effect.Retry.String() && o.Pause == 0 })
	if len(closing.FollowUps) > 0 || closing.ReplyEvent != nil || dueAtOnce {
		f.Wake(f.decision.App)
	}
	return answer, err
}

// flush settles a batch whose events are all published, with its delivered calls. It waits until the outcome of a
// call or a reply is stored, since neither can be repeated, but hurries only for a request that waits. lost reports that it
// wrote nothing: an attempt is not delivered, the result of a call is not published, or another process may have the batch
// or a call.
func (f *First) flush(ctx context.Context, closing ledger.Report) (lost bool, err error) {
	if time.Since(f.decision.SentAt) >= f.Lease/2 || slices.ContainsFunc(f.unsaved, func(a attempt) bool { return a.outcome.Verdict != effect.Done || a.result != nil }) {
		return true, nil
	}
	s, calls, err := f.settlement(closing)
	if err != nil {
		return false, err
	}
	if calls || s.Reply != "" {
		lost, err = f.awaitSettlement(ctx, s, !f.answered)
	} else {
		f.queueSettlement(s)
	}
	if !lost && err == nil {
		f.batch, f.blocksOutbox, f.unsaved = false, false, nil
	}
	return lost, err
}

// settlement returns the settlement of the batch, and whether the decision has calls.
func (f *First) settlement(closing ledger.Report) (s ledger.Settlement, calls bool, err error) {
	s = ledger.Settlement{
		Turn: f.decision.Turn, Box: f.decision.Box, Token: f.decision.Token, Next: f.NextHolder(),
		Keep: f.Store.Retention().Done, Answer: closing.Answer, Reply: closing.Reply, ReplyEvent: closing.ReplyEvent, Trigger: closing.Trigger,
	}
	for _, match := range f.decision.Answer.Matches {
		if !match.Due() {
			continue
		}
		states, err := match.States()
		if err != nil {
			return s, false, err
		}
		states.Call = "" // the settlement of the call sets it
		s.Firings = append(s.Firings, ledger.Settled{ID: match.TriggerID, States: states})
	}
	firingOf := func(match int) *ledger.Settled {
		id := f.decision.Answer.Matches[match].TriggerID
		return &s.Firings[slices.IndexFunc(s.Firings, func(one ledger.Settled) bool { return one.ID == id })]
	}
	for _, e := range f.decision.Effects {
		if e.Kind == effect.KindCall {
			firingOf(e.Match).Call, calls = e.ID, true
		}
	}
	if s.Answer != "" && !calls {
		s.Answer = ledger.AsDecided
	}
	for _, a := range f.unsaved {
		if a.Match < 0 {
			continue // it belongs to no trigger
		}
		firing := firingOf(a.Match)
		if a.Kind == effect.KindEvent {
			lines, err := a.lines()
			if err != nil {
				return s, calls, err
			}
			firing.Attempts += lines + "\n"
			continue
		}
		outcome, err := a.encode()
		if err != nil {
			return s, calls, err
		}
		firing.Attempts += outcome.Attempt + "\n"
		firing.States.Call = outcome.State
		if s.Trigger == "" { // a direct trigger is in no history
			s.Results = append(s.Results, ledger.Result{Message: outcome.Message, JSON: outcome.Result})
		}
	}
	return s, calls, nil
}
