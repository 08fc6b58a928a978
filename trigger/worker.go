package trigger

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"earshot/repositories/crash"
	"earshot/repositories/keyspace"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
)

// Run delivers what is due in the ledger and closes sessions that have expired, until
// ctx ends. It looks at all partitions from time to time, and at one as soon as
// something is owed there. It never ends for an error: it looks again.
func (e *Engine) Run(ctx context.Context) {
	e.running.Go(func() { e.sweepUp(ctx) })
	ticks := time.NewTicker(e.poll)
	defer ticks.Stop()
	partitions := everyPartition
	for ctx.Err() == nil {
		if err := e.look(ctx, partitions); err != nil {
			e.log.Warn("ledger.unreadable", "error", err.Error())
			pause(ctx, e.jitter(4*e.poll))
		}
		select {
		case <-ctx.Done():
		case <-ticks.C:
			partitions = everyPartition
		case n := <-e.wake:
			partitions = e.woken(n)
		}
	}
}

var everyPartition = ledger.AllPartitions()

// woken lists the partitions that something is owed in, from the first one on.
func (e *Engine) woken(first int) []int {
	partitions := []int{first}
	for {
		select {
		case n := <-e.wake:
			if !slices.Contains(partitions, n) {
				partitions = append(partitions, n)
			}
		default:
			return partitions
		}
	}
}

func (e *Engine) takeOne(ctx context.Context, l ledger.Lane, member string) {
	var err error
	switch l.Kind {
	case keyspace.LaneTurns:
		err = e.takeTurn(ctx, l.App, member)
	case keyspace.LaneCalls:
		err = e.takeCall(ctx, l.App, member)
	case keyspace.LaneOutboxes:
		if member == keyspace.NoSession {
			member = ""
		}
		e.drain(l.App, member, e.token())
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, keyspace.ErrMemory) {
		e.log.Warn("ledger.unfinished", "app", l.App, string(l.Kind), member, "error", err.Error())
	}
}

// takeTurn goes on with a turn whose process has died, or that could not be decided
// before.
func (e *Engine) takeTurn(ctx context.Context, app, member string) error {
	session, message, _ := strings.Cut(member, "/")
	id := ledger.Turn{App: app, Session: session, Message: message}
	found, err := e.accept(ctx, id, e.token(), nil, "")
	if errors.Is(err, keyspace.ErrMemory) {
		return errors.Join(err, e.ledger.Postpone(ctx, id, e.jitter(untilRoom)))
	}
	if err != nil || found.turn == nil {
		return err
	}
	e.finishLater(found.turn)
	return nil
}

// takeCall makes the next attempt at a call, and writes what came of it. Its lease bounds
// both; what is not written by then is done again, under the same id.
func (e *Engine) takeCall(ctx context.Context, appID, id string) error {
	token, begun := e.token(), time.Now()
	c, err := e.claim(ctx, appID, id, token)
	if err != nil || c == nil {
		return err
	}
	crash.At(crash.EffectClaimed)
	ctx, cancel := context.WithDeadline(e.life, begun.Add(c.Holds))
	defer cancel()
	return e.write(ctx, e.attemptAt(ctx, c), token)
}

// attemptAt makes the next attempt at a call, unless none may be made.
func (e *Engine) attemptAt(ctx context.Context, c *claimed) attempt {
	a := attempt{Effect: c.Effect, owed: c.Entry, fails: c.Fails, revived: c.Revived, age: c.Age, at: e.now().UTC()}
	switch {
	case c.Begun:
		a.outcome = unknown
	case c.Crashed:
		a.outcome = crashed
	case !c.Call.Repeatable() && e.ledger.Confirm(ctx, c.AppID) != nil:
		a.outcome, a.pause = notSafe, e.jitter(time.Second)
	default:
		return e.deliver(ctx, a)
	}
	e.logAttempt(a, 0)
	return a
}

// unknown is the outcome of a call that began on a replica which was not heard of again.
var unknown = effect.Outcome{
	Verdict: effect.Dead, Reason: effect.ReasonUnknown,
	Error: "the replica that made the call ended before it wrote down what came of it; the tool is not idempotent, so the call is not made again by itself",
}

// crashed is the outcome of an effect that took its workers down with it.
var crashed = effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Error: "crashed_worker: it was claimed five times and never came to an outcome"}

// write writes what came of an effect, with the tool.result that an ended call owes.
func (e *Engine) write(ctx context.Context, a attempt, token string) error {
	r := ledger.Report{App: a.AppID, Session: a.owed.Session, Token: token, Next: e.nextHolder()}
	if a.ends() {
		_, owed, err := e.resultEvent(a)
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
	_, err = e.finish(ctx, r)
	return err
}

// expire closes sessions whose time has passed.
func (e *Engine) expire(ctx context.Context, members []string) {
	for _, member := range members {
		if _, busy := e.busy.LoadOrStore("idle "+member, true); busy {
			continue
		}
		e.work(func() {
			defer e.busy.Delete("idle " + member)
			if err := e.store.ExpireSession(ctx, member); err != nil && ctx.Err() == nil {
				e.log.Warn("session.unexpired", "session", member, "error", err.Error())
			}
		})
	}
}
