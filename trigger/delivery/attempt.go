package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/repositories/fault"
	"earshot/repositories/keyspace"
	"earshot/repositories/panics"
	"earshot/repositories/tracing"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
	"earshot/trigger/payload"
	"earshot/trigger/query"
	"earshot/trigger/usage"
)

// attempt is one attempt at an effect, with its outcome once made.
type attempt struct {
	Planned
	claim ledger.Claimed // of a later attempt

	at      time.Time
	took    time.Duration
	made    bool // a Deliverer was called
	outcome effect.Outcome
	pause   time.Duration   // before the retry
	until   *time.Time      // a call's attempts begin no later
	result  *keyspace.Entry // the tool.result still to publish; nil for none
	// deferred reports that the holder of the outbox records the outcome.
	deferred bool
}

// Outcomes of attempts that are not made.
var (
	// unknown is the outcome of a call whose process died before recording one.
	unknown = effect.Outcome{
		Verdict: effect.Dead, Reason: effect.ReasonUnknown,
		Error: "the replica that made the call ended before it wrote down what came of it; the tool is not idempotent, so the call is not made again by itself",
	}
	// crashed is the outcome of an effect whose attempts repeatedly crashed their workers.
	crashed = effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Error: "crashed_worker: it was claimed five times and never came to an outcome"}
	// withoutRecord is the outcome of a call whose record is gone, as after the deletion of its app.
	withoutRecord = effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Error: "its trigger is gone"}
	// notSafe is the outcome of a call that must not be repeated, while a failover of Redis could lose its
	// record.
	notSafe = effect.Outcome{Verdict: effect.Retry, Deferred: true, Reason: effect.ReasonRequest, Error: "waits until enough replicas of Redis know that it is made"}
	// notTried is the outcome of an event that waits for an earlier one.
	notTried = effect.Outcome{Verdict: effect.Retry, Deferred: true, Error: "waits for an earlier event of the session"}
)

// recording has the crash points between an attempt and the recording of its outcome.
var recording = map[effect.Verdict]failpoint.Point{effect.Done: failpoint.AttemptDone, effect.Retry: failpoint.AttemptRetried, effect.Dead: failpoint.AttemptDead}

// try makes an attempt, and assesses its outcome.
func (d *Deliveries) try(ctx context.Context, a attempt) attempt {
	deliverer := d.Calls
	switch {
	case a.Kind == effect.KindEvent && a.Event.Subject == "":
		deliverer = orphaned{}
	case a.Kind == effect.KindEvent:
		deliverer = d.Events
	case a.Kind == effect.KindAnswer && a.Awaited.Given != nil:
		deliverer = given{}
	case a.Kind == effect.KindAnswer:
		deliverer = d.Answers
	case a.Call.RunsStatement():
		deliverer = d.Statements
	}
	a.at = d.Now().UTC()
	a.outcome = d.deliver(ctx, deliverer, a.Effect)
	a.took, a.made = d.Now().Sub(a.at), true
	d.assess(&a)
	failpoint.At(recording[a.outcome.Verdict])
	if a.Kind == effect.KindEvent && a.outcome.Verdict == effect.Done {
		d.Published(a.AppID)
	}
	d.countUsage(a)
	d.logAttempt(a)
	return a
}

// orphaned is the Deliverer of an event whose record is gone, as after an erasure.
type orphaned struct{}

// Deliver gives the event up.
func (orphaned) Deliver(context.Context, effect.Effect) effect.Outcome { return withoutRecord }

// deliver calls the deliverer. A panic counts as not delivered.
func (d *Deliveries) deliver(ctx context.Context, deliverer effect.Deliverer, delivery effect.Effect) (o effect.Outcome) {
	ctx, span := beginSpan(ctx, d.Tracer, &delivery)
	defer func() { endSpan(span, o) }()
	defer func() {
		if fault := recover(); fault != nil {
			panics.Caught(d.Log, "deliverer.panicked", "", fault)
			o = effect.Outcome{Verdict: effect.Retry, Reason: effect.ReasonRequest, Error: "the delivery failed inside Earshot"}
			if delivery.Kind == effect.KindCall && !delivery.Call.Repeatable() {
				o.Verdict, o.Reason = effect.Dead, effect.ReasonUnknown
			}
		}
	}()
	if failpoint.Planted(failpoint.ChangingID) {
		delivery.ID += "." + d.NewID()
	}
	return deliverer.Deliver(ctx, delivery)
}

// callPauses are the pauses of a call after its first failure, its second, and so on; the last repeats:
//
//	attempt  1   2    3     4      5      6       7 …
//	at       0s  1s   6s    36s    2m36s  7m36s   12m36s
//
// Four quick attempts outlast a restart of the endpoint, the others an outage; few fit into the default time of
// 15 minutes, at whose end the last one begins.
var callPauses = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute}

// eventPauses are the pauses of events. Events are given up only if NATS denies them, and all wait for the same
// server, so they should follow soon after its return.
var eventPauses = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second}

// assess decides the consequence of an outcome: the pause before the next attempt, or giving up.
func (d *Deliveries) assess(a *attempt) {
	isEvent := a.Kind == effect.KindEvent
	if isEvent {
		d.stalled.Store(a.outcome.Verdict == effect.Retry && !a.outcome.Forbidden) // a denial concerns one subject
	}
	if a.outcome.Verdict != effect.Retry {
		return
	}
	if a.Kind == effect.KindCall {
		until := a.at.Add(a.Call.Request.GiveUpAfter() - a.claim.Age).Truncate(time.Millisecond)
		a.until = &until
	}
	ladder := callPauses
	if isEvent {
		ladder = eventPauses
	}
	if a.outcome.Deferred {
		a.pause = d.Jitter(max(a.outcome.After, time.Second))
	} else {
		a.pause = max(d.Jitter(ladder[min(a.claim.Fails, len(ladder)-1)]), a.outcome.After)
	}

	// The limit counts from the time when the effect was queued, also for a call that is held up. Events are retried
	// without limit, except those that the broker denies, which would block their session until an operator acts. An
	// answer is awaited until it is known whether there is one.
	limit := repositories.DefaultRetryFor
	switch {
	case a.Kind == effect.KindCall:
		limit = a.Call.Request.GiveUpAfter()
	case !a.outcome.Forbidden:
		return
	}
	left := limit - a.claim.Age - a.took
	if left <= 0 {
		a.outcome.Verdict, a.pause, a.until = effect.Dead, 0, nil
		if a.outcome.Deferred {
			a.outcome.Error += "; no attempt was possible until retryFor was over"
		}
	} else if a.pause+callPauses[0] > left { // the last one begins at the end of the time, none shortly before
		a.pause = left.Truncate(time.Millisecond) + time.Millisecond // the ledger counts milliseconds
	}
}

// ends reports whether a call has ended, successfully or not.
func (a attempt) ends() bool { return a.Kind != effect.KindEvent && a.outcome.Verdict != effect.Retry }

func (a attempt) eventState() query.EventState {
	return query.EventState{Subject: a.Event.Subject, State: stateOf(a.outcome.Verdict, query.StatePublished), Error: a.outcome.Error}
}

func (a attempt) callState() query.CallState {
	o, made := a.outcome, a.Attempt
	if o.Deferred {
		made = max(made-1, 0)
	}
	return query.CallState{
		State: stateOf(o.Verdict, query.StateDelivered), Status: o.Status, Attempts: made,
		Result: o.Result, Truncated: o.Truncated, Reason: o.Reason, Error: o.Error, Until: a.until,
	}
}

func stateOf(verdict effect.Verdict, done string) string {
	return map[effect.Verdict]string{effect.Done: done, effect.Retry: query.StatePending, effect.Dead: query.StateFailed}[verdict]
}

// report adds the attempts to a ledger report, with the effects that follow from them.
func report(r ledger.Report, attempts []attempt) (ledger.Report, error) {
	for _, a := range attempts {
		outcome, err := a.encode()
		if err != nil {
			return r, err
		}
		r.Outcomes = append(r.Outcomes, outcome)
		if a.result != nil {
			r.Owes = append(r.Owes, ledger.Owed{Entry: *a.result, After: len(r.Outcomes)})
		}
	}
	return r, nil
}

// encode returns the attempt as the ledger records it. An ended call leaves its result with the session for
// later matching.
func (a attempt) encode() (r ledger.Outcome, err error) {
	o := a.outcome
	r = ledger.Outcome{
		ID: a.ID, Event: a.Kind == effect.KindEvent, Verdict: o.Verdict.String(), Pause: a.pause.Milliseconds(),
		Trigger: a.Entry.Trigger, Part: a.Entry.Part,
	}
	switch {
	case !r.Event:
		r.State, err = exactjson.Text(a.callState())
	case r.Part == effect.PartResult: // its subject is in no record
		r.State, err = exactjson.Text(a.eventState())
	default:
		state := a.eventState()
		r.State, err = state.Encode()
	}
	if err != nil {
		return r, err
	}
	if r.Attempt, err = a.lines(); err != nil || o.Deferred && !a.ends() {
		return r, err
	}
	r.Counts = 1
	if a.Kind == effect.KindCall {
		r.Sent, r.Fence = !a.made || o.Reached || o.Reason == effect.ReasonTimeout || o.Reason == effect.ReasonUnknown, a.Call.Fence
	}
	if !a.ends() {
		return r, nil
	}
	if a.result != nil {
		r.Opens = 1
	}
	var of payload.Trigger
	err = exactjson.Unmarshal(a.Call.Event, &of)
	text, errText := exactjson.Encode(query.CallResult{TriggerID: a.TriggerID, Result: o.Result, Error: o.Error})
	r.Message, r.Result = of.MessageID, string(text)
	return r, errors.Join(err, errText)
}

// Bounds of the attempts at a call stored with their request, besides the last one, and of the bytes of each
// response, so that a call retried for a day stays small.
const (
	detailed   = 5
	maxExcerpt = 512
)

// lines returns the attempt as the record of its trigger lists it, after the earlier attempts without an
// outcome, separated by line breaks.
func (a attempt) lines() (string, error) {
	lines := ""
	for _, of := range a.claim.Unended {
		line, err := exactjson.Text(&query.Attempt{
			Effect: a.Entry.Part, Number: of.Attempt, Time: of.Began, Unended: true,
			Error: "the replica that made this attempt ended before it wrote down what came of it; whether it was sent is not known",
		})
		if err != nil {
			return "", err
		}
		lines += line + "\n"
	}
	o := a.outcome
	if o.Deferred {
		return strings.TrimSuffix(lines, "\n"), nil
	}
	made := query.Attempt{
		Effect: a.Entry.Part, Number: a.Attempt, Time: a.at, Milliseconds: a.took.Milliseconds(),
		Status: o.Status, Reason: o.Reason, Error: o.Error,
	}
	if o.Verdict != effect.Retry || a.Attempt <= detailed {
		made.Request = o.Sent
	}
	if made.Request != nil && o.Verdict != effect.Done {
		made.Response = fault.ClipTo(string(o.Result), maxExcerpt)
	}
	line, err := exactjson.Text(&made)
	return lines + line, err
}

// resultOf returns the event tool.result of an ended call.
func (d *Deliveries) resultOf(call attempt) (attempt, error) {
	var of payload.Trigger
	if err := exactjson.Unmarshal(call.Call.Event, &of); err != nil {
		return attempt{}, err
	}
	// Its id names the trigger in the event, and the firing in the ledger and the stream, which span all apps.
	// Each manual retry has an id of its own.
	id := func(of string) string {
		if call.claim.Revived > 0 {
			return keyspace.RetriedResult(of, call.claim.Revived)
		}
		return keyspace.EffectID(of, effect.PartResult)
	}
	o, header := call.outcome, of.Header
	header.ID, header.Time, header.Text = id(call.TriggerID), d.Now().UTC(), ""
	event, _, err := payload.EventOf(payload.KindResult, header, of.Name, payload.Result{
		Header: header, TriggerID: call.TriggerID, RepositoryID: of.RepositoryID, Source: of.Source, Name: of.Name,
		OK: o.Verdict == effect.Done, Status: o.Status, Result: o.Result, Truncated: o.Truncated, Reason: o.Reason, Error: o.Error,
	})
	if err != nil {
		return attempt{}, err
	}
	event.TraceParent = call.TraceParent
	body, err := exactjson.Encode(event)
	result := attempt{Planned: Planned{Match: -1, Effect: effect.Effect{
		ID: id(strings.TrimSuffix(call.ID, "."+effect.PartCall)), Kind: effect.KindEvent, AppID: call.AppID, SessionID: call.SessionID, TriggerID: call.TriggerID,
		Attempt: 1, TraceParent: call.TraceParent, Event: &event,
	}}}
	result.Entry = keyspace.EventEntry(result.ID, call.SessionID, call.TriggerID, string(body))
	result.Entry.Part = effect.PartResult
	return result, err
}

// countUsage counts an attempt for its app: calls made, and events published.
func (d *Deliveries) countUsage(a attempt) {
	done := a.outcome.Verdict == effect.Done
	switch {
	case a.Kind == effect.KindEvent && done:
		d.Usage.Add(a.AppID, usage.Events, 1)
	case a.Kind == effect.KindCall && a.outcome.Deferred:
		d.Usage.Called(a.AppID, a.outcome.Host, usage.Held, 0)
	case a.Kind == effect.KindCall:
		d.Usage.Add(a.AppID, usage.Calls, 1)
		came := usage.Succeeded
		if !done {
			d.Usage.Add(a.AppID, usage.CallFailures, 1)
			came = usage.Failed
		}
		d.Usage.Called(a.AppID, a.outcome.Host, came, a.took)
	}
}

// logAttempt logs an attempt, without values and results. While events cannot be published, or calls are not
// even tried, it suppresses all but the first line: there would be one per effect, every few seconds.
func (d *Deliveries) logAttempt(a attempt) {
	outcome := a.outcome.Verdict.String()
	d.Metrics.Effects.WithLabelValues(string(a.Kind), outcome).Inc()
	attributes := append(make([]slog.Attr, 0, 14),
		slog.String("app", a.AppID), slog.String("session", a.SessionID), slog.String("effect", a.ID), slog.String("kind", string(a.Kind)),
		slog.String("trigger", a.TriggerID), slog.Int("attempt", a.Attempt), slog.String("outcome", outcome),
		slog.Int64("ms", a.took.Milliseconds()), slog.String("trace", tracing.IDOf(a.TraceParent)))
	outageKey := string(a.Kind) // all events go to one NATS
	if a.Event != nil {
		attributes = append(attributes, slog.String("subject", a.Event.Subject))
	} else {
		outageKey += " " + a.AppID
	}
	if a.outcome.Verdict == effect.Done {
		d.Log.LogAttrs(d.Context, slog.LevelInfo, "effect.attempted", attributes...)
		d.Outages.Over(d.Context, outageKey, "effects.again", "kind", string(a.Kind))
		return
	}
	attributes = append(attributes, slog.Int("status", a.outcome.Status), slog.String("reason", string(a.outcome.Reason)),
		slog.String("error", a.outcome.Error), slog.String("next", a.pause.String()))
	heldUp := a.outcome.Deferred || a.Event != nil && !a.outcome.Forbidden // not tried, or failed like all other events
	if a.outcome.Verdict != effect.Retry || !heldUp {
		d.Log.LogAttrs(d.Context, slog.LevelWarn, "effect.attempted", attributes...)
		return
	}
	all := make([]any, len(attributes))
	for i, one := range attributes {
		all[i] = one
	}
	d.Outages.Trouble(d.Context, outageKey, fmt.Sprint(a.outcome.Deferred), "effect.attempted", all...)
}
