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
	// Published is called for each published event, and must not block.
	Published func(appID string)
}

// Deliveries makes and records attempts at effects. It is safe for concurrent use.
type Deliveries struct {
	*worker.Worker
	Options
	// stalled reports that the last event was not published, so that waiting for later ones is useless.
	stalled atomic.Bool
	waiting waiting
	// answered has, by effect id, the channel of the request that waits for its answer.
	answered sync.Map
	flusher  flusher
	behind   *behind
}

// New returns Deliveries, which handle the calls and outboxes of the worker. It makes Records wait for
// unwritten outcomes.
func New(o Options) *Deliveries {
	if o.Statements == nil {
		o.Statements = noStatements{}
	}
	if o.Answers == nil {
		o.Answers = noAnswers{}
	}
	d := &Deliveries{
		Worker: o.Worker, Options: o, waiting: waiting{events: map[outbox]map[string]chan<- attempt{}},
		flusher: flusher{queues: map[int]*flushQueue{}, open: map[outbox]*settlement{}},
	}
	d.behind = newBehind(d)
	o.Records.AwaitFlush = func(ctx context.Context, appID string) {
		d.behind.awaitApp(ctx, appID)
		d.awaitApp(ctx, appID)
	}
	d.Handle(keyspace.LaneCalls, d.takeCall)
	d.Handle(keyspace.LaneOutboxes, func(_ context.Context, appID, box string) error {
		d.Drain(appID, box, d.Token())
		return nil
	})
	return d
}

// noStatements is the Deliverer of an engine without one for SQL tools.
type noStatements struct{}

// Deliver fails the call: a later attempt would meet the same engine.
func (noStatements) Deliver(context.Context, effect.Effect) effect.Outcome {
	return effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Error: "this service runs no statements"}
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

	// Begun is when it was sent to Redis, from which its leases count here. Holder is the token that has the
	// outbox after the commit. Batch reports that its own events are one entry of the ledger. UnderReplicated
	// reports that too few Redis replicas acknowledged it: it is carried out nevertheless, and its client must
	// ask again.
	Begun           time.Time
	Holder          string
	Batch           bool
	UnderReplicated bool

	outcomes chan attempt // of its own events, if another token holds the outbox
	begun    chan attempt // its call, if begun before the commit; else nil
}

// Planned is an effect of a decision. Effects are in the order in which they reach JetStream.
type Planned struct {
	effect.Effect
	Entry keyspace.Entry
	Match int // index into the matches of the answer; -1 for none
}

// Leads reports whether the decision's events are the next of its session.
func (d *Decision) Leads() bool { return d.Holder == d.Token }

// Owns reports whether an effect is an event of the decision's own outbox. The removal event of an app's
// triggerOnce repository is not.
func (d *Decision) Owns(e Planned) bool { return e.Kind == effect.KindEvent && e.Entry.Box == d.Box }

// OnlyEvents reports whether it has no call and awaits no answer.
func (d *Decision) OnlyEvents() bool {
	return !slices.ContainsFunc(d.Effects, func(e Planned) bool { return e.Kind != effect.KindEvent })
}

func (d *Decision) outbox() outbox { return outbox{d.App, d.Box} }

// own returns the events of the decision's own outbox, before they are tried.
func (d *Decision) own() (own []attempt) {
	for _, e := range d.Effects {
		if d.Owns(e) {
			own = append(own, attempt{Planned: e})
		}
	}
	return own
}

// EarlyPublish publishes the events of a decision before it is made, for the crash tests.
func (d *Deliveries) EarlyPublish(ctx context.Context, of *Decision) {
	for _, e := range of.Effects {
		d.deliver(ctx, d.Events, e.Effect) // refuses calls
	}
}

// First makes the first attempts at the effects of a decision: events one after the other, calls concurrently.
// Outcomes are written together unless that delays the session's next events.
type First struct {
	*Deliveries
	of    *Decision
	batch bool // the events are one entry of the ledger
	// leads reports that all events were published and none is written: the session's next event waits.
	leads   bool
	ended   []attempt // calls whose tool.result waits until the events are out
	unsaved []attempt
	called  func()           // see Called
	answers <-chan time.Time // when called is due, if not before; nil for no answer that waits
}

// Called sets a function to call when all calls were delivered, before that is written. It is set only if the
// calls may be repeated, since they are if this process dies before the write.
func (f *First) Called(do func()) {
	repeatable := !slices.ContainsFunc(f.of.Effects, func(e Planned) bool {
		return e.Kind == effect.KindAnswer || e.Kind == effect.KindCall && !e.Call.Repeatable()
	})
	if repeatable && !f.of.UnderReplicated {
		f.called = do
	}
}

// answer calls called, or waits with it for pending events.
func (f *First) answer(pending bool) {
	if f.answers = nil; pending {
		f.answers = time.After(eventWait)
		return
	}
	f.called()
}

func (f *First) delivered() bool {
	return !slices.ContainsFunc(f.of.Answer.Matches, func(m query.Match) bool { return m.Call != nil && m.Call.State != query.StateDelivered })
}

// First prepares the first attempts at the effects of a committed decision.
func (d *Deliveries) First(of *Decision) *First {
	return &First{Deliveries: d, of: of, batch: of.Batch, leads: of.Leads()}
}

// Run tries all effects and writes all outcomes but the last ones, which are left to Save.
func (f *First) Run(ctx context.Context) error {
	failpoint.At(failpoint.EffectsBefore)
	own := f.of.own()
	if f.leads && len(own) > 0 && f.of.OnlyEvents() {
		return f.alone(ctx, own)
	}
	events, calls := make(chan []attempt, 1), make(chan attempt, len(f.of.Effects)) // senders never block
	open := f.start(ctx, calls)
	f.wakeOthers(len(own) + open)
	done, broken, pending := ctx.Done(), false, len(own) > 0
	switch {
	case pending && f.leads:
		f.Go(func() { events <- f.publish(ctx, own) })
	case pending:
		f.Go(func() { events <- f.await(ctx, own) })
	default:
		f.waiting.leave(f.of)
	}

	var coalesced <-chan time.Time
	for pending || open > 0 {
		select {
		case list := <-events:
			pending = false
			unpacked, err := f.published(ctx, list)
			if err != nil {
				return err
			}
			if f.answers != nil {
				f.answer(pending)
			}
			broken = broken || unpacked && ctx.Err() != nil
		case a := <-calls:
			open--
			f.note(a)
			if open == 0 && f.called != nil && f.delivered() {
				f.answer(pending)
			}
		case <-f.answers:
			f.answer(false)
		case <-coalesced:
			coalesced = nil
			if _, err := f.Save(ctx, ledger.Report{}); err != nil {
				return err
			}
		case <-done: // the process stops: attempts in progress return soon, and others can continue at once
			done, broken = nil, true
		}
		if !pending {
			f.publishResults(ctx)
		}
		if coalesced == nil && !broken && !pending && open > 0 && len(f.unsaved) > 0 {
			coalesced = time.After(coalesceWindow)
		}
	}
	if !broken {
		return nil
	}
	return f.interrupted(ctx)
}

// alone is Run for events without calls, as most decisions have them: nothing else is to be waited for.
func (f *First) alone(ctx context.Context, own []attempt) error {
	f.wakeOthers(len(own))
	unpacked, err := f.published(ctx, f.publish(ctx, own))
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
	if tried < len(f.of.Effects) {
		f.Wake(f.of.App)
	}
}

// start begins the attempts at calls, and returns their number.
func (f *First) start(ctx context.Context, calls chan<- attempt) (open int) {
	for _, e := range f.of.Effects {
		switch a := (attempt{Planned: e}); {
		case e.Kind == effect.KindEvent:
			continue
		case f.of.begun != nil:
			f.Go(func() { calls <- <-f.of.begun })
		case e.Kind == effect.KindCall:
			f.Go(func() { calls <- f.call(ctx, a) })
		case f.of.Unawaited:
			calls <- a.unanswered()
		default:
			f.Go(func() { calls <- f.awaitAnswer(ctx, a) })
		}
		open++
	}
	return open
}

// call makes the first attempt at a call, within the lease from the decision.
func (f *First) call(ctx context.Context, a attempt) attempt {
	if f.of.UnderReplicated && !a.Call.Repeatable() {
		a.at, a.outcome, a.pause = f.Now().UTC(), notSafe, f.Jitter(time.Second)
		return a
	}
	ctx, cancel := context.WithDeadline(ctx, f.leaseEnd(a))
	defer cancel()
	return f.try(ctx, a)
}

// leaseEnd returns the end of a call's lease from the decision, by the clock of this process.
func (f *First) leaseEnd(call attempt) time.Time {
	return f.of.Begun.Add(time.Duration(call.Entry.Lease) * time.Millisecond)
}

// late reports whether it is too late to publish: a process that was suspended may have lost the outbox, and an
// erased session must not come back.
func (f *First) late() bool { return time.Since(f.of.Begun) > keyspace.EventLease/2 }

// publish publishes the events in order up to the first failure; the rest stay in the ledger.
func (f *First) publish(ctx context.Context, own []attempt) []attempt {
	tried := 0
	if !f.late() {
		tried = len(f.publishInOrder(ctx, own, f.of.Begun.Add(keyspace.EventLease/2)))
	}
	for i := range own[tried:] {
		own[tried+i].outcome, own[tried+i].deferred = notTried, true
	}
	return own
}

// headWait is how long a request waits for its events behind earlier ones of the session, which take a few
// milliseconds while NATS answers.
const headWait = time.Second

// await waits for events that the holder of the outbox publishes. A holder in this process notifies it;
// otherwise it polls the ledger. It does not wait while NATS is known to be unavailable.
func (f *First) await(ctx context.Context, own []attempt) []attempt {
	defer f.waiting.leave(f.of)
	ctx, cancel := context.WithTimeout(ctx, headWait)
	defer cancel()
	open := map[string]int{}
	for i := range own {
		own[i].outcome, own[i].deferred, open[own[i].ID] = notTried, true, i
	}
	end := func(id string, outcome effect.Outcome) {
		if i, waits := open[id]; waits {
			own[i].outcome = outcome
			delete(open, id)
		}
	}
	for look := 0; len(open) > 0 && !f.stalled.Load(); look++ {
		var ask <-chan time.Time
		if !f.IsOwnToken(f.of.Holder) {
			ask = time.After(worker.Pause(look))
		}
		select {
		case a := <-f.of.outcomes:
			end(a.ID, a.outcome)
		case <-ask:
			states, _ := f.Ledger.EffectStates(ctx, f.of.App, slices.Collect(maps.Keys(open))) // unread states are asked for again
			for id, state := range states {
				switch state {
				case "": // no longer in the ledger
					end(id, effect.Outcome{Verdict: effect.Done})
				case "dead":
					end(id, effect.Outcome{Verdict: effect.Dead})
				}
			}
		case <-ctx.Done():
			return own
		}
	}
	return own
}

// published notes the attempts at the decision's events. If one failed, it unpacks their batch.
func (f *First) published(ctx context.Context, own []attempt) (unpacked bool, err error) {
	for _, a := range own {
		f.leads = f.leads && a.outcome.Verdict == effect.Done
		f.note(a)
	}
	if !f.batch || f.leads {
		return false, nil
	}
	return true, f.unpack(ctx)
}

// note records an attempt in its match, and keeps it for writing.
func (f *First) note(a attempt) {
	if a.Match >= 0 {
		match := &f.of.Answer.Matches[a.Match]
		switch a.Entry.Part {
		case effect.PartEvent:
			state := a.eventState()
			match.Event = &state
		case effect.PartEmitter:
			state := a.eventState()
			match.Emitter = &state
		case effect.PartCall:
			state := a.callState()
			match.Call = &state
		}
	}
	switch {
	case a.deferred:
	case a.ends():
		f.ended = append(f.ended, a)
	default:
		f.unsaved = append(f.unsaved, a)
	}
}

// publishResults publishes the tool.result of ended calls at once if the session's next event waits anyway,
// which saves two round trips; else it leaves them to the ledger.
func (f *First) publishResults(ctx context.Context) {
	for _, call := range f.ended {
		result, err := f.resultOf(call)
		if err != nil {
			f.Log.Error("result.lost", "trigger", call.TriggerID, "error", err)
		} else if !f.leads || f.late() || !time.Now().Before(f.leaseEnd(call)) || // another replica may have taken over the call
			f.try(ctx, result).outcome.Verdict != effect.Done {
			call.result = &result.Entry
		}
		f.unsaved = append(f.unsaved, call)
	}
	f.ended = nil
}

// unpack makes each event of the batch an effect, so that its outcome is written separately.
func (f *First) unpack(ctx context.Context) error {
	ctx, cancel := f.ShutdownContext(ctx)
	defer cancel()
	f.batch = false
	return f.Write(ctx, func() error { return f.Ledger.Unpack(ctx, f.of.App, f.of.Box, f.of.Token) })
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
	closing.App, closing.Session, closing.Box = f.of.App, f.of.Session, f.of.Box
	closing.Token, closing.Next = f.of.Token, f.NextHolder()
	saved := f.unsaved
	f.leads, f.unsaved = f.leads && len(saved) == 0, nil
	closing, err = report(closing, saved)
	if err != nil {
		return "", err
	}
	if answer, err = f.finish(ctx, closing); err == nil {
		f.waiting.notify(f.of.outbox(), saved)
	}
	dueAtOnce := slices.ContainsFunc(closing.Outcomes, func(o ledger.Outcome) bool { return o.Verdict == effect.Retry.String() && o.Pause == 0 })
	if len(closing.Owes) > 0 || closing.Says != nil || dueAtOnce {
		f.Wake(f.of.App)
	}
	return answer, err
}

// flush settles a batch whose events are all published, with its calls that were delivered. It waits until the
// outcome of a call or a reply is stored, which could not be made again. lost reports that it wrote nothing: an
// attempt is not delivered, the result of a call is not published, or another process may have the batch or a call.
func (f *First) flush(ctx context.Context, closing ledger.Report) (lost bool, err error) {
	if time.Since(f.of.Begun) >= f.Lease/2 || slices.ContainsFunc(f.unsaved, func(a attempt) bool { return a.outcome.Verdict != effect.Done || a.result != nil }) {
		return true, nil
	}
	s, calls, err := f.settlement(closing)
	if err != nil {
		return false, err
	}
	if calls || s.Reply != "" {
		lost, err = f.settled(ctx, s)
	} else {
		f.settle(s)
	}
	if !lost && err == nil {
		f.batch, f.leads, f.unsaved = false, false, nil
	}
	return lost, err
}

// settlement returns the settlement of the batch, and whether the decision has calls.
func (f *First) settlement(closing ledger.Report) (s ledger.Settlement, calls bool, err error) {
	s = ledger.Settlement{
		Turn: f.of.Turn, Box: f.of.Box, Token: f.of.Token, Next: f.NextHolder(),
		Keep: f.Store.Retention().Done, Answer: closing.Answer, Reply: closing.Reply, Says: closing.Says, Trigger: closing.Trigger,
	}
	at := make([]int, len(f.of.Answer.Matches)) // index of the match's firing in the settlement
	for i, match := range f.of.Answer.Matches {
		if !match.Due() {
			continue
		}
		states, err := match.States()
		if err != nil {
			return s, false, err
		}
		states.Call = "" // until it has ended
		at[i] = len(s.Firings)
		s.Firings = append(s.Firings, ledger.Settled{ID: match.TriggerID, States: states})
	}
	for _, e := range f.of.Effects {
		if e.Kind == effect.KindCall {
			s.Firings[at[e.Match]].Call, calls = e.ID, true
		}
	}
	if s.Answer != "" && !calls {
		s.Answer = ledger.AsDecided
	}
	for _, a := range f.unsaved {
		if a.Match < 0 {
			continue // it belongs to no trigger
		}
		of := &s.Firings[at[a.Match]]
		if a.Kind == effect.KindEvent {
			lines, err := a.lines()
			if err != nil {
				return s, calls, err
			}
			of.Attempts += lines + "\n"
			continue
		}
		outcome, err := a.encode()
		if err != nil {
			return s, calls, err
		}
		of.Attempts += outcome.Attempt + "\n"
		of.States.Call = outcome.State
		if s.Trigger == "" { // a direct trigger is in no history
			s.Results = append(s.Results, ledger.Result{Message: outcome.Message, JSON: outcome.Result})
		}
	}
	return s, calls, nil
}
