package trigger

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/repositories/fault"
	"earshot/repositories/keyspace"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
	"earshot/trigger/payload"
	"earshot/trigger/spans"
)

// Deliveries make the attempts at the effects of decisions, the first ones and all later ones, and write
// down what came of them.
type Deliveries struct {
	*core
	records    *Records
	events     effect.Deliverer
	calls      effect.Deliverer
	statements effect.Deliverer // of SQL tools
	answers    effect.Deliverer
	linger     time.Duration
	// stalled says that the last event was not published: nobody needs to wait for those
	// behind it.
	stalled atomic.Bool
	waiting waiting
	heard   sync.Map // by the effect: a chan of the outcome, of who waits for an answer
}

// attempt is one attempt to deliver an effect, with its outcome.
type attempt struct {
	effect.Effect
	entry   keyspace.Entry
	fails   int           // before this attempt
	revived int           // how often it was retried by hand after it had died
	age     time.Duration // since it is owed
	at      time.Time
	took    time.Duration
	made    bool // it was left to a Deliverer
	outcome effect.Outcome
	pause   time.Duration // before the next one, of a Retry
	left    bool          // left to the holder of the outbox: not ours to write
	// unended are attempts before it that began and have no outcome.
	unended []ledger.Unended
}

// firstCall is the first attempt at a call, within the lease that the decision has given.
func (r *firstAttempts) firstCall(ctx context.Context, call plannedEffect) attempt {
	if r.plan.few && !call.Call.Repeatable() {
		return attempt{Effect: call.Effect, entry: call.entry, at: r.deliveries.now().UTC(), outcome: notSafe, pause: r.deliveries.jitter(time.Second)}
	}
	ctx, cancel := context.WithDeadline(ctx, r.endOf(call.entry))
	defer cancel()
	return r.deliveries.first(ctx, call.Effect, call.entry)
}

// notSafe is the outcome of a call that must not be made twice while a failover of Redis
// could lose that it was made.
var notSafe = effect.Outcome{Verdict: effect.Retry, Deferred: true, Reason: effect.ReasonRequest, Error: "waits until enough replicas of Redis know that it is made"}

// first is the first attempt at an effect.
func (d *Deliveries) first(ctx context.Context, effect effect.Effect, owed keyspace.Entry) attempt {
	return d.deliver(ctx, attempt{Effect: effect, entry: owed})
}

// deliver makes the attempt.
func (d *Deliveries) deliver(ctx context.Context, a attempt) attempt {
	a.at = d.now().UTC()
	a.outcome = d.outcome(ctx, d.delivererOf(a.Effect), a.Effect)
	a.took, a.made = d.now().Sub(a.at), true
	d.assess(&a)
	failpoint.At(ends[a.outcome.Verdict])
	d.logAttempt(a, a.took)
	return a
}

// ends are the crash points between an attempt and the recording of its outcome.
var ends = map[effect.Verdict]failpoint.Point{effect.Done: failpoint.AttemptDone, effect.Retry: failpoint.AttemptRetried, effect.Dead: failpoint.AttemptDead}

// delivererOf chooses who delivers an effect.
func (d *Deliveries) delivererOf(delivery effect.Effect) effect.Deliverer {
	switch {
	case delivery.Kind == effect.KindEvent:
		return d.events
	case delivery.Kind == effect.KindAnswer && delivery.Awaited.Given != nil:
		return given{}
	case delivery.Kind == effect.KindAnswer:
		return d.answers
	case delivery.Call.RunsStatement():
		return d.statements
	default:
		return d.calls
	}
}

// outcome asks the deliverer. One that panics has not delivered.
func (d *Deliveries) outcome(ctx context.Context, deliverer effect.Deliverer, delivery effect.Effect) (o effect.Outcome) {
	ctx, span := spans.Attempt(ctx, d.tracer, &delivery)
	defer func() { spans.EndAttempt(span, o) }()
	defer func() {
		if fault := recover(); fault != nil {
			d.logPanic("deliverer.panicked", fault)
			o = effect.Outcome{Verdict: effect.Retry, Reason: effect.ReasonRequest, Error: "the delivery failed inside Earshot"}
			if delivery.Kind == effect.KindCall && !delivery.Call.Repeatable() {
				o.Verdict, o.Reason = effect.Dead, effect.ReasonUnknown
			}
		}
	}()
	if failpoint.Planted(failpoint.ChangingID) {
		delivery.ID += "." + d.newID()
	}
	return deliverer.Deliver(ctx, delivery)
}

// assess decides what follows from an outcome: how long to wait before the next attempt, or
// whether to give up.
func (d *Deliveries) assess(a *attempt) {
	if a.Kind == effect.KindEvent {
		d.stalled.Store(a.outcome.Verdict == effect.Retry && !a.outcome.Forbidden) // a denial is one subject's
	}
	if a.outcome.Verdict != effect.Retry {
		return
	}
	if a.outcome.Deferred {
		a.pause = d.jitter(max(a.outcome.After, time.Second))
		return
	}
	a.pause = d.pauseAfter(a.Kind, a.fails, a.outcome.After)
	if limit, limited := a.giveUpAfter(); limited {
		a.endWith(limit - a.age - a.took)
	}
}

// endWith ends the pause with the time that is left for attempts to begin in, so that the last
// one begins as it ends; without any left there is none. One that would be close to the last is
// the last.
func (a *attempt) endWith(left time.Duration) {
	if left <= 0 {
		a.outcome.Verdict, a.pause = effect.Dead, 0
		return
	}
	if a.pause+callPauses[0] > left {
		a.pause = left.Truncate(time.Millisecond) + time.Millisecond // as the ledger counts
	}
}

// giveUpAfter is how long attempts begin, from when the effect is owed. Events are retried for ever, except those
// that the broker denies to us: such an event would block its session until an operator
// steps in. An answer is looked for as long as it is not known whether there is one.
func (a *attempt) giveUpAfter() (limit time.Duration, limited bool) {
	if a.Kind == effect.KindCall {
		return a.Call.Request.GiveUpAfter(), true
	}
	return repositories.DefaultRetryFor, a.outcome.Forbidden
}

// notTried is the outcome of an event that waits for an earlier one.
var notTried = effect.Outcome{Verdict: effect.Retry, Deferred: true, Error: "waits for an earlier event of the session"}

// ends reports whether a call has ended, successfully or not.
func (a attempt) ends() bool { return a.Kind != effect.KindEvent && a.outcome.Verdict != effect.Retry }

// eventState is where the event stands after the attempt.
func (a attempt) eventState() EventState {
	return EventState{Subject: a.Event.Subject, State: stateOf(a.outcome.Verdict, StatePublished), Error: a.outcome.Error}
}

// callState is where the call stands after the attempt.
func (a attempt) callState() CallState {
	o := a.outcome
	made := a.Attempt
	if o.Deferred {
		made = max(made-1, 0)
	}
	return CallState{
		State: stateOf(o.Verdict, StateDelivered), Status: o.Status, Attempts: made,
		Result: o.Result, Truncated: o.Truncated, Reason: o.Reason, Error: o.Error,
	}
}

func stateOf(verdict effect.Verdict, done string) string {
	switch verdict {
	case effect.Done:
		return done
	case effect.Retry:
		return StatePending
	default:
		return StateFailed
	}
}

// apply shows the attempt in the match that it belongs to.
func (a attempt) apply(match *Match) {
	switch a.entry.Part {
	case partEvent:
		state := a.eventState()
		match.Event = &state
	case partEmitter:
		state := a.eventState()
		match.Emitter = &state
	case partCall:
		state := a.callState()
		match.Call = &state
	}
}

// report is the attempt as finish reads it.
func (a attempt) report() (ledger.Outcome, error) {
	r := ledger.Outcome{
		ID: a.ID, Event: a.Kind == effect.KindEvent, Verdict: a.outcome.Verdict.String(), Pause: a.pause.Milliseconds(),
		Trigger: a.entry.Trigger, Part: a.entry.Part,
	}
	if !a.outcome.Deferred {
		r.Counts = 1
	}
	var state any = a.callState()
	if a.Kind == effect.KindEvent {
		state = a.eventState()
	}
	encoded, err := exactjson.Encode(state)
	if err != nil {
		return r, err
	}
	r.State = string(encoded)
	if a.outcome.Deferred {
		r.Attempt, err = a.loggedBefore()
		return r, err
	}
	if a.Kind == effect.KindCall {
		r.Sent, r.Fence = !a.made || a.outcome.Reached || a.outcome.Reason == effect.ReasonTimeout || a.outcome.Reason == effect.ReasonUnknown, a.Call.Fence
	}
	r.Attempt, err = a.logged()
	return r, err
}

// errUnended is what a record says of an attempt whose replica died.
const errUnended = "the replica that made this attempt ended before it wrote down what came of it; whether it was sent is not known"

// loggedBefore are the attempts before this one that have no outcome, as the record of their
// trigger lists them, with a line end between them.
func (a attempt) loggedBefore() (string, error) {
	lines := make([]string, len(a.unended))
	for i, of := range a.unended {
		text, err := exactjson.Encode(Attempt{Effect: a.entry.Part, Number: of.Attempt, Time: of.Began, Unended: true, Error: errUnended})
		if err != nil {
			return "", err
		}
		lines[i] = string(text)
	}
	return strings.Join(lines, "\n"), nil
}

// logged is the attempt as the record of its trigger lists it, behind those that have no outcome.
func (a attempt) logged() (string, error) {
	before, err := a.loggedBefore()
	if err != nil {
		return "", err
	}
	made := Attempt{
		Effect: a.entry.Part, Number: a.Attempt, Time: a.at, Milliseconds: a.took.Milliseconds(),
		Status: a.outcome.Status, Reason: a.outcome.Reason, Error: a.outcome.Error,
	}
	if a.outcome.Verdict != effect.Retry || a.Attempt <= detailed {
		made.Request = a.outcome.Sent
	}
	if made.Request != nil && a.outcome.Verdict != effect.Done {
		made.Response = fault.ClipTo(string(a.outcome.Result), maxExcerpt)
	}
	text, err := exactjson.Encode(made)
	return strings.TrimPrefix(before+"\n"+string(text), "\n"), err
}

// So many attempts at a call are kept with what was sent, beside the last one, and so many
// bytes of each answer: a call that is tried for a day is no longer than others are.
const (
	detailed   = 5
	maxExcerpt = 512
)

// callPauses is how long a call waits after its first failure, its second, and so on;
// the last holds for all further ones:
//
//	attempt  1   2    3     4      5      6       7 …
//	at       0s  1s   6s    36s    2m36s  7m36s   12m36s
//
// Four quick tries outlast a restart of the endpoint, the others an outage, and few
// fall into the default time of 15 minutes, with which the last one begins.
var callPauses = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute}

// eventPauses is the same for events. They are given up only where NATS denies them to
// us, and it is one server that all of them wait for: what is owed should follow soon
// when it is back.
var eventPauses = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second}

// pauseAfter is the pause after a failure, fails having gone before. A pause that the other
// side asks for is honoured between our pause and its double, so that no endpoint sets our
// pace.
func (d *Deliveries) pauseAfter(kind effect.Kind, fails int, asked time.Duration) time.Duration {
	ladder := callPauses
	if kind == effect.KindEvent {
		ladder = eventPauses
	}
	step := ladder[min(fails, len(ladder)-1)]
	if asked > 0 {
		return max(step, min(asked, 2*step))
	}
	return d.jitter(step)
}

// finish writes a report, retrying until Redis has answered or ctx ends. It returns the
// answer that is valid, and goes on with the session's outbox if there is more in it.
func (d *Deliveries) finish(ctx context.Context, r ledger.Report) (answer string, err error) {
	holds, answer, err := d.record(ctx, r)
	if holds {
		d.work(func() { d.drain(r.App, r.Box, r.Next) })
	}
	return answer, err
}

// record writes a report, and reports whether r.Next has the outbox.
func (d *Deliveries) record(ctx context.Context, r ledger.Report) (holds bool, answer string, err error) {
	ctx, cancel := d.lasting(ctx)
	defer cancel()
	keep := d.store.Retention()
	failpoint.At(failpoint.FinishBefore)
	err = d.retryUntilAvailable(ctx, func() error {
		answer, holds, err = d.ledger.Finish(ctx, r, ledger.Retention{Done: keep.Done, Dead: keep.Dead})
		return err
	})
	return holds, answer, err
}

// A call that has ended, well or not, owes an event tool.result, and leaves its result
// with the session for later matching.

// resultEvent is the tool.result of an ended call.
func (d *Deliveries) resultEvent(a attempt) (effect.Effect, keyspace.Entry, error) {
	var of payload.Trigger
	if err := decode(string(a.Call.Event), &of); err != nil {
		return effect.Effect{}, keyspace.Entry{}, err
	}
	o := a.outcome
	about := of.Header
	about.ID, about.Time, about.Text = resultID(a.TriggerID, a), d.now().UTC(), ""
	event, _, err := payload.EventOf(payload.KindResult, about, of.Name, payload.Result{
		Header: about, TriggerID: a.TriggerID, RepositoryID: of.RepositoryID, Source: of.Source, Name: of.Name,
		OK: o.Verdict == effect.Done, Status: o.Status, Result: o.Result, Truncated: o.Truncated, Reason: o.Reason, Error: o.Error,
	})
	if err != nil {
		return effect.Effect{}, keyspace.Entry{}, err
	}
	event.TraceParent = a.TraceParent
	body, err := exactjson.Encode(event)
	owed := keyspace.EventEntry(resultID(strings.TrimSuffix(a.ID, "."+partCall), a), a.SessionID, a.TriggerID, string(body))
	owed.Part = partResult
	return effect.Effect{
		ID: owed.ID, Kind: effect.KindEvent, AppID: a.AppID, SessionID: a.SessionID, TriggerID: a.TriggerID,
		Attempt: 1, TraceParent: a.TraceParent, Event: &event,
	}, owed, err
}

// resultID names the result of a call after what it is of: in the event, the trigger; in the
// ledger and the stream, which know all apps, the firing. The one after the nth retry of what
// had failed is another than the one that said so.
func resultID(of string, call attempt) string {
	if call.revived > 0 {
		return keyspace.RetriedResult(of, call.revived)
	}
	return keyspace.EffectID(of, partResult)
}

// remember adds to the report what a session keeps of an ended call.
func (a attempt) remember(r *ledger.Outcome) error {
	var of payload.Trigger
	if err := decode(string(a.Call.Event), &of); err != nil {
		return err
	}
	text, err := exactjson.Encode(callResult{TriggerID: a.TriggerID, Result: a.outcome.Result, Error: a.outcome.Error})
	r.Message, r.Result = of.MessageID, string(text)
	return err
}

// claim takes the lease of a call, or returns nil if it is not available.
func (d *Deliveries) claim(ctx context.Context, appID, id, token string) (*claimed, error) {
	found, err := d.ledger.Claim(ctx, appID, id, token)
	if err != nil {
		d.giveUp(ledger.Holding{Turn: ledger.Turn{App: appID}, Token: token, Calls: []string{id}}, err)
		return nil, err
	}
	if found == nil {
		return nil, nil
	}
	c := &claimed{Effect: effectOf(appID, *found), Claimed: *found}
	return c, c.readBody(d.store)
}

// takeCall makes the next attempt at a call and records the outcome. Both must happen
// within its lease; otherwise the attempt is repeated under the same id.
func (d *Deliveries) takeCall(ctx context.Context, appID, id string) error {
	token, begun := d.token(), time.Now()
	c, err := d.claim(ctx, appID, id, token)
	if err != nil || c == nil {
		return err
	}
	failpoint.At(failpoint.EffectClaimed)
	ctx, cancel := context.WithDeadline(d.life, begun.Add(c.Holds))
	defer cancel()
	return d.write(ctx, d.attemptAt(ctx, c), token)
}

// attemptAt makes the next attempt at a call, unless none may be made.
func (d *Deliveries) attemptAt(ctx context.Context, c *claimed) attempt {
	a := c.attempt()
	a.at = d.now().UTC()
	switch {
	case c.Begun:
		a.outcome = unknown
	case c.Crashed:
		a.outcome = crashed
	case !c.Call.Repeatable() && d.ledger.Confirm(ctx, c.AppID) != nil:
		a.outcome, a.pause = notSafe, d.jitter(time.Second)
	default:
		return d.deliver(ctx, a)
	}
	d.logAttempt(a, 0)
	return a
}

// write records the outcome of an effect, with the tool.result of a call that has ended.
func (d *Deliveries) write(ctx context.Context, a attempt, token string) error {
	r := ledger.Report{
		App: a.AppID, Session: a.entry.Session, Box: keyspace.Box(a.entry.Session, a.TriggerID), Token: token, Next: d.nextHolder(),
	}
	if a.ends() {
		_, owed, err := d.resultEvent(a)
		if err != nil {
			return err
		}
		r.Owes = []ledger.Owed{{Entry: owed, After: 1}}
	}
	outcome, err := a.reportWith(len(r.Owes) > 0)
	if err != nil {
		return err
	}
	r.Outcomes = []ledger.Outcome{outcome}
	if _, err = d.finish(ctx, r); err == nil && a.ends() {
		d.tellAnswered(a)
	}
	return err
}
