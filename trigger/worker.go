package trigger

import (
	"context"
	"slices"
	"strings"
	"time"

	"earshot/repositories"
	"earshot/repositories/crash"
)

// peeked is how many members of a partition are looked at at a time.
const peeked = 32

// Run delivers what is due in the ledger and closes sessions that have expired, until
// ctx ends. It looks at all partitions from time to time, and at one as soon as
// something is owed there. It never ends for an error: it looks again.
func (e *Engine) Run(ctx context.Context) {
	ticks := time.NewTicker(e.poll)
	defer ticks.Stop()
	partitions := everyPartition
	for ctx.Err() == nil {
		more, err := e.look(ctx, partitions)
		if err != nil {
			e.log.Warn("ledger.unreadable", "error", err.Error())
			pause(ctx, e.jitter(4*e.poll))
		}
		if more {
			continue
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

// everyPartition lists the partitions by their numbers.
var everyPartition = func() []int {
	all := make([]int, repositories.Partitions)
	for n := range all {
		all[n] = n
	}
	return all
}()

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

// look takes up what is due in partitions, in one round trip. It reports whether some
// partition had more than was looked at. Of a cluster that is away in part it takes up
// what is on the other nodes.
func (e *Engine) look(ctx context.Context, partitions []int) (more bool, err error) {
	pipe := e.db.Pipeline()
	clocks, heads := e.db.Clocks(ctx, pipe), make([]head, len(partitions))
	for i, n := range partitions {
		heads[i] = peek(ctx, pipe, clocks, n)
	}
	var held []stock
	if len(partitions) == len(everyPartition) {
		held = takeStock(ctx, pipe)
	}
	_, _ = pipe.Exec(ctx) // every command has its own error
	oldest := 0.0
	for _, head := range heads {
		now, away := head.now()
		if away != nil {
			err = away
			continue
		}
		due := dueOf(head.due.Val(), now)
		oldest = max(oldest, overdue(head.due.Val(), now))
		more = more || len(due) == peeked && e.anyIdle(due)
		e.takeUp(ctx, due)
		e.expire(ctx, dueOf(head.idle.Val(), now))
	}
	if err == nil && held != nil {
		e.metrics.oldest(oldest)
		e.metrics.stock(held)
	}
	return more, err
}

// anyIdle reports whether this process is not working on one of them already; else
// looking again at once would find the same.
func (e *Engine) anyIdle(members []string) bool {
	for _, member := range members {
		if _, busy := e.busy.Load(member); !busy {
			return true
		}
	}
	return false
}

// takeUp starts a worker for each member. While all workers are busy it waits for one:
// looking at the ledger again would find the same, and start nothing.
func (e *Engine) takeUp(ctx context.Context, members []string) {
	for _, member := range members {
		if _, busy := e.busy.LoadOrStore(member, true); busy {
			continue
		}
		select {
		case e.slots <- struct{}{}:
		case <-ctx.Done():
			e.busy.Delete(member)
			return
		}
		e.work(func() {
			defer func() {
				e.busy.Delete(member)
				<-e.slots
			}()
			e.takeOne(ctx, member)
		})
	}
}

func (e *Engine) takeOne(ctx context.Context, member string) {
	var err error
	if strings.HasPrefix(member, "t/") {
		err = e.takeTurn(ctx, member)
	} else {
		err = e.takeEffect(ctx, member)
	}
	if err != nil && ctx.Err() == nil {
		e.log.Warn("ledger.unfinished", "member", member, "error", err.Error())
	}
}

// takeTurn goes on with a turn whose process has died, or that could not be decided
// before.
func (e *Engine) takeTurn(ctx context.Context, member string) error {
	app, session, message := splitMember(member)
	found, err := e.accept(ctx, turnID{app, session, message}, e.newID(), nil, "")
	if err != nil || found.status != statusTaken {
		return err
	}
	e.finishLater(found.turn)
	return nil
}

// takeEffect makes the next attempt at an effect, and writes what came of it. Its
// lease bounds both; what is not written by then is done again, under the same id.
func (e *Engine) takeEffect(ctx context.Context, member string) error {
	token := e.newID()
	c, err := e.claim(ctx, member, token)
	if err != nil || c == nil {
		return err
	}
	crash.At(crash.EffectClaimed)
	ctx, cancel := context.WithTimeout(e.life, c.lease)
	defer cancel()
	a := attempt{Effect: c.Effect, owed: c.owed, fails: c.fails, revived: c.revived, age: c.age}
	if c.crashed && c.Kind == KindCall { // events are never given up
		a.at, a.outcome = e.now().UTC(), crashed
	} else {
		a = e.deliver(ctx, a)
	}
	return e.write(ctx, a, token)
}

// crashed is the outcome of an effect that took its workers down with it.
var crashed = Outcome{Verdict: Dead, Reason: ReasonRequest, Error: "crashed_worker: it was claimed five times and never came to an outcome"}

// write writes what came of an effect, with the tool.result that an ended call owes.
func (e *Engine) write(ctx context.Context, a attempt, token string) error {
	r := report{App: a.AppID, Session: a.owed.Session, Token: token}
	if a.ends() {
		_, owed, err := e.resultEvent(a)
		if err != nil {
			return err
		}
		r.Owes = []reportOwed{{Owed: owed, After: 1}}
	}
	outcome, err := a.reportWith(len(r.Owes) > 0)
	if err != nil {
		return err
	}
	r.Outcomes = []reportOutcome{outcome}
	_, err = e.finish(ctx, r)
	if a.outcome.Verdict != Retry {
		e.Wake(a.AppID) // the next event of the session, or the result
	}
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
