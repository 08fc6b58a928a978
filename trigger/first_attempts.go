package trigger

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
)

// firstAttempts makes the first attempt at all effects of a decision, on the replica that
// decided. Events go out one after the other, calls at the same time. Outcomes are written
// together where that does not hold up the session's next events.
type firstAttempts struct {
	deliveries *Deliveries
	plan       *plan
	tries      chan attempt
	events     int // not tried yet
	calls      int // not tried yet
	unsaved    []attempt
	ended      []attempt // calls whose tool.result waits for the events to be out
	// results are events of ended calls that are not published yet, by the call.
	results map[string]keyspace.Entry
	// first says that all events were published and none is written: the session's
	// next event waits for us.
	first bool
	// batch says that the events are one effect in the ledger.
	batch bool
	// alone says that nobody asks what comes of it: answers are not waited for.
	alone bool
}

func (d *Deliveries) newFirstAttempts(p *plan) *firstAttempts {
	r := &firstAttempts{deliveries: d, plan: p, first: p.first(), batch: p.batch, events: len(p.ownEvents()), results: map[string]keyspace.Entry{}}
	for _, delivery := range p.effects {
		if delivery.Kind != effect.KindEvent {
			r.calls++
		}
	}
	r.tries = make(chan attempt, len(p.effects)) // nobody who sends is held up
	return r
}

// run tries all effects and writes all outcomes but the last ones, which it leaves to
// the caller to be written with the answer.
func (r *firstAttempts) run(ctx context.Context) error {
	failpoint.At(failpoint.EffectsBefore)
	if r.batch {
		return r.runBatch(ctx)
	}
	r.start(ctx)
	var linger <-chan time.Time
	for r.events+r.calls > 0 {
		select {
		case a := <-r.tries:
			r.take(ctx, a)
		case <-linger:
			if _, err := r.save(ctx, ledger.Report{}); err != nil {
				return err
			}
			linger = nil
		case <-ctx.Done():
			return r.breakOff(ctx)
		}
		if linger == nil && r.events == 0 && r.calls > 0 && len(r.unsaved) > 0 {
			linger = time.After(r.deliveries.linger)
		}
	}
	return nil
}

// runBatch publishes the events of a batch. Where one is to be tried again, each becomes an
// effect of its own.
func (r *firstAttempts) runBatch(ctx context.Context) error {
	r.wakeOthers()
	r.publish(ctx)
	for r.events > 0 {
		r.take(ctx, <-r.tries)
	}
	if r.first {
		return nil
	}
	if err := r.unpack(ctx); err != nil || ctx.Err() == nil {
		return err
	}
	return r.breakOff(ctx)
}

// unpack makes each event of the batch an effect of its own, of which the outcomes are
// written one by one.
func (r *firstAttempts) unpack(ctx context.Context) error {
	ctx, cancel := r.deliveries.lasting(ctx)
	defer cancel()
	r.batch = false
	return r.deliveries.retryUntilAvailable(ctx, func() error {
		return r.deliveries.ledger.Unpack(ctx, r.plan.App, r.plan.box, r.plan.token)
	})
}

// breakOff records the outcomes of the attempts in flight when the process is told to stop,
// so that other replicas can go on at once.
func (r *firstAttempts) breakOff(ctx context.Context) error {
	for r.events+r.calls > 0 {
		r.take(ctx, <-r.tries) // whoever delivers returns soon after ctx has ended
	}
	_, err := r.save(ctx, ledger.Report{})
	return errors.Join(context.Cause(ctx), err)
}

func (r *firstAttempts) start(ctx context.Context) {
	for _, delivery := range r.plan.effects {
		switch delivery.Kind {
		case effect.KindCall:
			r.deliveries.work(func() { r.tries <- r.firstCall(ctx, delivery) })
		case effect.KindAnswer:
			if r.alone {
				r.tries <- delivery.unanswered()
				continue
			}
			r.deliveries.work(func() { r.tries <- r.deliveries.awaitAnswer(ctx, delivery) })
		}
	}
	r.wakeOthers()
	if r.plan.first() {
		r.deliveries.work(func() { r.publish(ctx) })
	} else {
		r.deliveries.work(func() { r.await(ctx) })
	}
}

// wakeOthers has others publish the end of an app's triggerOnce repository, which stands in
// the app's own outbox.
func (r *firstAttempts) wakeOthers() {
	if r.events+r.calls < len(r.plan.effects) {
		r.deliveries.Wake(r.plan.App)
	}
}

// publish delivers the events in order. After one that cannot be published it stops; the
// rest stay in the ledger.
func (r *firstAttempts) publish(ctx context.Context) {
	held := false
	for _, delivery := range r.plan.ownEvents() {
		if held || r.late() {
			held = true
			r.tries <- delivery.leave(notTried)
			continue
		}
		a := r.deliveries.first(ctx, delivery.Effect, delivery.entry)
		held = a.outcome.Verdict == effect.Retry
		r.tries <- a
	}
}

// late reports whether it is too late to publish: a process that was stopped for a while may not
// have the outbox any more, and a session that was erased since must not come back.
func (r *firstAttempts) late() bool { return time.Since(r.plan.begun) > keyspace.EventLease/2 }

// leave is the attempt at an event that is left to another replica.
func (p plannedEffect) leave(outcome effect.Outcome) attempt {
	return attempt{Effect: p.Effect, entry: p.entry, outcome: outcome, left: true}
}

// take records an attempt, and adds the tool.result of a call that has ended.
func (r *firstAttempts) take(ctx context.Context, a attempt) {
	if a.Kind == effect.KindEvent {
		r.events--
		r.first = r.first && a.outcome.Verdict == effect.Done
	} else {
		r.calls--
	}
	if match := r.plan.matchOf(a.ID); match != nil {
		a.apply(match)
	}
	if !a.left {
		r.unsaved = append(r.unsaved, a)
	}
	if a.ends() && !a.left {
		r.ended = append(r.ended, a)
	}
	if r.events > 0 {
		return
	}
	for _, call := range r.ended {
		r.announce(ctx, call)
	}
	r.ended = nil
}

// announce publishes the tool.result of a call at once where the session's next event
// waits for the first attempts anyway, which saves two round trips; else the ledger does.
func (r *firstAttempts) announce(ctx context.Context, a attempt) {
	delivery, owed, err := r.deliveries.resultEvent(a)
	if err != nil {
		r.deliveries.log.Error("result.lost", "trigger", a.TriggerID, "error", err)
		return
	}
	if r.first && !r.expired(a.entry) && !r.late() {
		if published := r.deliveries.first(ctx, delivery, owed); published.outcome.Verdict == effect.Done {
			return
		}
	}
	r.results[a.ID] = owed
}

// expired reports whether the lease of a call has ended: another replica may have taken it
// over by now.
func (r *firstAttempts) expired(call keyspace.Entry) bool { return !time.Now().Before(r.endOf(call)) }

// endOf is when the lease that the decision gave a call ends, by the clock of this process.
func (r *firstAttempts) endOf(call keyspace.Entry) time.Time {
	return r.plan.begun.Add(time.Duration(call.Lease) * time.Millisecond)
}

// save writes the outcomes that are not written yet, and the effects that follow from them.
// It returns the stored answer if the report has one.
func (r *firstAttempts) save(ctx context.Context, closing ledger.Report) (answer string, err error) {
	if r.batch && r.inTime() {
		return r.saveBatch(closing)
	}
	if r.batch {
		if err := r.unpack(ctx); err != nil {
			return "", err
		}
	}
	closing.App, closing.Session, closing.Box = r.plan.App, r.plan.Session, r.plan.box
	closing.Token, closing.Next = r.plan.token, r.deliveries.nextHolder()
	for i, a := range r.unsaved {
		outcome, err := a.reportWith(r.results[a.ID].ID != "")
		if err != nil {
			return "", err
		}
		closing.Outcomes = append(closing.Outcomes, outcome)
		if owed, owes := r.results[a.ID]; owes {
			closing.Owes = append(closing.Owes, ledger.Owed{Entry: owed, After: i + 1})
			delete(r.results, a.ID)
		}
	}
	r.first = r.first && len(r.unsaved) == 0
	saved := r.unsaved
	r.unsaved = nil
	answer, err = r.deliveries.finish(ctx, closing)
	if err == nil {
		r.deliveries.waiting.tell(r.plan.outbox(), saved)
	}
	if leavesWork(closing) {
		r.deliveries.Wake(r.plan.App)
	}
	return answer, err
}

// inTime reports whether no other replica can have answered: the lease of the turn, or of
// the direct trigger, has not ended, nor will it until the answer is given.
func (r *firstAttempts) inTime() bool { return time.Since(r.plan.begun) < r.deliveries.lease/2 }

// saveBatch has a batch settled, of which all events are published. Nobody waits for it: what
// the answer says is decided and published.
func (r *firstAttempts) saveBatch(closing ledger.Report) (answer string, err error) {
	written, err := r.settlement(closing)
	if err != nil {
		return "", err
	}
	r.unsaved, r.batch, r.first = nil, false, false
	r.deliveries.settle(written)
	return closing.Answer, nil
}

// leavesWork reports whether something is due at once after the report.
func leavesWork(r ledger.Report) bool {
	return len(r.Owes) > 0 || r.Says != nil || slices.ContainsFunc(r.Outcomes, func(o ledger.Outcome) bool {
		return o.Verdict == effect.Retry.String() && o.Pause == 0
	})
}

// reportWith is the attempt as finish reads it, for a call that owes its result or not.
func (a attempt) reportWith(owesResult bool) (ledger.Outcome, error) {
	outcome, err := a.report()
	if err != nil || !a.ends() {
		return outcome, err
	}
	if owesResult {
		outcome.Opens = 1
	}
	return outcome, a.remember(&outcome)
}

// matchOf returns the match of the answer that an effect belongs to, or nil.
func (p *plan) matchOf(effectID string) *Match {
	if i := p.matchAt(effectID); i >= 0 {
		return &p.answer.Matches[i]
	}
	return nil
}

// matchAt is the index of that match, or -1.
func (p *plan) matchAt(effectID string) int {
	for _, effect := range p.effects {
		if effect.ID == effectID {
			return effect.match
		}
	}
	return -1
}

// headWait is how long a request waits for its events if earlier ones of the session are
// not published yet. They take a few milliseconds where NATS answers.
const headWait = time.Second

// await waits for events that the holder of the outbox publishes. If that is this process,
// it is told; otherwise it asks the ledger. Nobody waits while NATS is known to be away.
func (r *firstAttempts) await(ctx context.Context) {
	defer r.deliveries.waiting.leave(r.plan)
	ctx, cancel := context.WithTimeout(ctx, headWait)
	defer cancel()
	left := map[string]plannedEffect{}
	for _, effect := range r.plan.ownEvents() {
		left[effect.ID] = effect
	}
	for i := 0; len(left) > 0 && !r.deliveries.stalled.Load(); i++ {
		if !r.hear(ctx, left, i) {
			break
		}
	}
	for _, effect := range r.plan.ownEvents() {
		if _, waits := left[effect.ID]; waits {
			r.tries <- effect.leave(notTried)
		}
	}
}

// hear waits for news of an event, and reports whether more can come.
func (r *firstAttempts) hear(ctx context.Context, left map[string]plannedEffect, look int) bool {
	var ask <-chan time.Time
	if !strings.HasPrefix(r.plan.holder, r.deliveries.name) {
		ask = time.After(turnPauses[min(look, len(turnPauses)-1)])
	}
	select {
	case a := <-r.plan.told:
		r.settle(left, a.ID, a.outcome)
	case <-ask:
		r.ask(ctx, left)
	case <-ctx.Done():
		return false
	}
	return true
}

func (r *firstAttempts) settle(left map[string]plannedEffect, id string, outcome effect.Outcome) {
	if effect, waits := left[id]; waits {
		r.tries <- effect.leave(outcome)
		delete(left, id)
	}
}

// ask reads the states of events. An event that is no longer in the ledger has been
// published.
func (r *firstAttempts) ask(ctx context.Context, left map[string]plannedEffect) {
	states, _ := r.deliveries.ledger.EffectStates(ctx, r.plan.App, slices.Collect(maps.Keys(left))) // what was not read is asked for again
	for id, state := range states {
		switch state {
		case "":
			r.settle(left, id, effect.Outcome{Verdict: effect.Done})
		case "dead":
			r.settle(left, id, effect.Outcome{Verdict: effect.Dead})
		}
	}
}
