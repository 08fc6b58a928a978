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

	start     time.Time
	duration  time.Duration
	delivered bool // a Deliverer was called
	outcome   effect.Outcome
	pause     time.Duration   // before the retry
	lastStart *time.Time      // the latest start of a call's attempts
	result    *keyspace.Entry // the tool.result still to publish; nil for none
	// deferred reports that the holder of the outbox records the outcome.
	deferred bool
}

// Outcomes without a call of a Deliverer.
var (
	// unknownOutcome is the outcome of a call whose process died before recording one.
	unknownOutcome = effect.Outcome{
		Verdict: effect.Dead, Reason: effect.ReasonUnknown,
		Error: "the replica that made the call ended before it wrote down what came of it; the tool is not idempotent, so the call is not made again by itself",
	}
	// crashedOutcome is the outcome of an effect whose attempts repeatedly crashed their workers.
	crashedOutcome = effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Error: "crashed_worker: it was claimed five times and never came to an outcome"}
	// recordGoneOutcome is the outcome of an effect whose record is gone, as after the deletion of its app.
	recordGoneOutcome = effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Error: "its trigger is gone"}
	// unsafeOutcome is the outcome of a call that must not be repeated, while a failover of Redis could lose its
	// record.
	unsafeOutcome = effect.Outcome{Verdict: effect.Retry, Deferred: true, Reason: effect.ReasonRequest, Error: "waits until enough replicas of Redis know that it is made"}
	// notTriedOutcome is the outcome of an event that waits for an earlier one.
	notTriedOutcome = effect.Outcome{Verdict: effect.Retry, Deferred: true, Error: "waits for an earlier event of the session"}
)

// recordingPoints has the crash points between an attempt and the recording of its outcome.
var recordingPoints = map[effect.Verdict]failpoint.Point{effect.Done: failpoint.AttemptDone, effect.Retry: failpoint.AttemptRetried, effect.Dead: failpoint.AttemptDead}

// try makes an attempt, and assesses its outcome.
func (d *Deliveries) try(ctx context.Context, a attempt) attempt {
	deliverer := d.Calls
	switch {
	case a.Kind == effect.KindEvent && a.Event.Subject == "": // its record is gone, as after an erasure
		deliverer = knownOutcome(recordGoneOutcome)
	case a.Kind == effect.KindEvent:
		deliverer = d.Events
	case a.Kind == effect.KindAnswer && a.Awaited.Given != nil:
		deliverer = knownOutcome(a.Awaited.Given.Outcome())
	case a.Kind == effect.KindAnswer:
		deliverer = d.Answers
	case a.Call.RunsStatement():
		deliverer = d.Statements
	}
	a.start = d.Now().UTC()
	a.outcome = d.deliver(ctx, deliverer, a.Effect)
	a.duration, a.delivered = d.Now().Sub(a.start), true
	d.assess(&a)
	failpoint.At(recordingPoints[a.outcome.Verdict])
	if a.Kind == effect.KindEvent && a.outcome.Verdict == effect.Done {
		d.OnPublish(a.AppID)
	}
	d.countUsage(a)
	d.logAttempt(a)
	return a
}

// knownOutcome is the Deliverer of effects whose outcome is known without a delivery.
type knownOutcome effect.Outcome

// Deliver returns the outcome.
func (k knownOutcome) Deliver(context.Context, effect.Effect) effect.Outcome {
	return effect.Outcome(k)
}

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
		d.eventsStalled.Store(a.outcome.Verdict == effect.Retry && !a.outcome.Forbidden) // a denial concerns one subject
	}
	if a.outcome.Verdict != effect.Retry {
		return
	}
	if a.Kind == effect.KindCall {
		a.lastStart = new(a.start.Add(a.Call.Request.GiveUpAfter() - a.claim.Age).Truncate(time.Millisecond))
	}
	pauses := callPauses
	if isEvent {
		pauses = eventPauses
	}
	if a.outcome.Deferred {
		a.pause = d.Jitter(max(a.outcome.After, time.Second))
	} else {
		a.pause = max(d.Jitter(pauses[min(a.claim.Fails, len(pauses)-1)]), a.outcome.After)
	}

	// The limit counts from the time when the effect was queued, also for a deferred call. Events are retried without
	// limit, except those that the broker denies, which would block their session until an operator acts. Retries of
	// an answer end when it is known whether there is one.
	limit := repositories.DefaultRetryFor
	switch {
	case a.Kind == effect.KindCall:
		limit = a.Call.Request.GiveUpAfter()
	case !a.outcome.Forbidden:
		return
	}
	remaining := limit - a.claim.Age - a.duration
	if remaining <= 0 {
		a.outcome.Verdict, a.pause, a.lastStart = effect.Dead, 0, nil
		if a.outcome.Deferred {
			a.outcome.Error += "; no attempt was possible until retryFor was over"
		}
	} else if a.pause+callPauses[0] > remaining { // the last attempt begins at the end of the time, and none shortly before it
		a.pause = remaining.Truncate(time.Millisecond) + time.Millisecond // the ledger counts milliseconds
	}
}

// ended reports whether a call has ended, successfully or not.
func (a attempt) ended() bool { return a.Kind != effect.KindEvent && a.outcome.Verdict != effect.Retry }

func (a attempt) eventState() query.EventState {
	return query.EventState{Subject: a.Event.Subject, State: stateOf(a.outcome.Verdict, query.StatePublished), Error: a.outcome.Error}
}

func (a attempt) callState() query.CallState {
	o, attempts := a.outcome, a.Attempt
	if o.Deferred {
		attempts = max(attempts-1, 0)
	}
	return query.CallState{
		State: stateOf(o.Verdict, query.StateDelivered), Status: o.Status, Attempts: attempts,
		Result: o.Result, Truncated: o.Truncated, Reason: o.Reason, Error: o.Error, Until: a.lastStart,
	}
}

func stateOf(verdict effect.Verdict, success string) string {
	switch verdict {
	case effect.Done:
		return success
	case effect.Retry:
		return query.StatePending
	}
	return query.StateFailed
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
			r.FollowUps = append(r.FollowUps, ledger.FollowUp{Entry: *a.result, After: len(r.Outcomes)})
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
	if r.Attempt, err = a.lines(); err != nil || o.Deferred && !a.ended() {
		return r, err
	}
	r.Counts = 1
	if a.Kind == effect.KindCall {
		r.Sent, r.Fence = !a.delivered || o.Reached || o.Reason == effect.ReasonTimeout || o.Reason == effect.ReasonUnknown, a.Call.Fence
	}
	if !a.ended() {
		return r, nil
	}
	if a.result != nil {
		r.Opens = 1
	}
	var event payload.Trigger
	err = exactjson.Unmarshal(a.Call.Event, &event)
	result, errResult := exactjson.Text(query.CallResult{TriggerID: a.TriggerID, Result: o.Result, Error: o.Error})
	r.Message, r.Result = event.MessageID, result
	return r, errors.Join(err, errResult)
}

// Bounds of the attempts at a call stored with their request, besides the last one, and of the bytes of each
// response, so that a call retried for a day stays small.
const (
	mostDetailed = 5
	maxExcerpt   = 512
)

// lines returns the attempt as the record of its trigger lists it, after the earlier attempts without an
// outcome, separated by line breaks.
func (a attempt) lines() (string, error) {
	lines := ""
	for _, earlier := range a.claim.Unended {
		line, err := exactjson.Text(&query.Attempt{
			Effect: a.Entry.Part, Number: earlier.Attempt, Time: earlier.Began, Unended: true,
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
	record := query.Attempt{
		Effect: a.Entry.Part, Number: a.Attempt, Time: a.start, Milliseconds: a.duration.Milliseconds(),
		Status: o.Status, Reason: o.Reason, Error: o.Error,
	}
	if o.Verdict != effect.Retry || a.Attempt <= mostDetailed {
		record.Request = o.Sent
	}
	if record.Request != nil && o.Verdict != effect.Done {
		record.Response = fault.ClipTo(string(o.Result), maxExcerpt)
	}
	line, err := exactjson.Text(&record)
	return lines + line, err
}

// resultOf returns the event tool.result of an ended call.
func (d *Deliveries) resultOf(call attempt) (attempt, error) {
	var trigger payload.Trigger
	if err := exactjson.Unmarshal(call.Call.Event, &trigger); err != nil {
		return attempt{}, err
	}
	// Its id names the trigger in the event, and the firing in the ledger and the stream, which span all apps.
	// Each manual retry has an id of its own.
	id := func(trigger string) string {
		if call.claim.Revived > 0 {
			return keyspace.RetriedResult(trigger, call.claim.Revived)
		}
		return keyspace.EffectID(trigger, effect.PartResult)
	}
	o, header := call.outcome, trigger.Header
	header.ID, header.Time, header.Text = id(call.TriggerID), d.Now().UTC(), ""
	event, _, err := payload.EventOf(payload.KindResult, trigger.Name, payload.Result{
		Header: header, TriggerID: call.TriggerID, RepositoryID: trigger.RepositoryID, Source: trigger.Source, Name: trigger.Name,
		OK: o.Verdict == effect.Done, Status: o.Status, Result: o.Result, Truncated: o.Truncated, Reason: o.Reason, Error: o.Error,
	})
	if err != nil {
		return attempt{}, err
	}
	event.TraceParent = call.TraceParent
	body, err := exactjson.Text(event)
	result := attempt{Planned: Planned{Match: -1, Effect: effect.Effect{
		ID: id(strings.TrimSuffix(call.ID, "."+effect.PartCall)), Kind: effect.KindEvent, AppID: call.AppID, SessionID: call.SessionID, TriggerID: call.TriggerID,
		Attempt: 1, TraceParent: call.TraceParent, Event: &event,
	}}}
	result.Entry = keyspace.EventEntry(result.ID, call.SessionID, call.TriggerID, body)
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
		d.Usage.CountCall(a.AppID, a.outcome.Host, usage.Held, 0)
	case a.Kind == effect.KindCall:
		d.Usage.Add(a.AppID, usage.Calls, 1)
		result := usage.Succeeded
		if !done {
			d.Usage.Add(a.AppID, usage.CallFailures, 1)
			result = usage.Failed
		}
		d.Usage.CountCall(a.AppID, a.outcome.Host, result, a.duration)
	}
}

// logAttempt logs an attempt, without values and results. While events cannot be published, or calls are
// deferred, it suppresses all but the first line: there would be one per effect, every few seconds.
func (d *Deliveries) logAttempt(a attempt) {
	outcome := a.outcome.Verdict.String()
	d.Metrics.Effects.WithLabelValues(string(a.Kind), outcome).Inc()
	attributes := append(make([]slog.Attr, 0, 14),
		slog.String("app", a.AppID), slog.String("session", a.SessionID), slog.String("effect", a.ID), slog.String("kind", string(a.Kind)),
		slog.String("trigger", a.TriggerID), slog.Int("attempt", a.Attempt), slog.String("outcome", outcome),
		slog.Int64("ms", a.duration.Milliseconds()), slog.String("trace", tracing.IDOf(a.TraceParent)))
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
	suppressed := a.outcome.Deferred || a.Event != nil && !a.outcome.Forbidden // deferred, or failed like all other events
	if a.outcome.Verdict != effect.Retry || !suppressed {
		d.Log.LogAttrs(d.Context, slog.LevelWarn, "effect.attempted", attributes...)
		return
	}
	args := make([]any, len(attributes))
	for i, attribute := range attributes {
		args[i] = attribute
	}
	d.Outages.Trouble(d.Context, outageKey, fmt.Sprint(a.outcome.Deferred), "effect.attempted", args...)
}
