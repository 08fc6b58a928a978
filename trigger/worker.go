package trigger

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories"
)

// peeked is how many members of a partition are looked at at a time.
const peeked = 32

// Run delivers what is due in the ledger and closes sessions that have expired, until
// ctx ends. It never ends for an error: it looks again.
func (e *Engine) Run(ctx context.Context) {
	for ctx.Err() == nil {
		wait := e.poll
		if more, err := e.look(ctx); err != nil {
			e.log.Warn("ledger.unreadable", "error", err.Error())
			wait = e.jitter(4 * e.poll)
		} else if more {
			wait = 0
		}
		select {
		case <-ctx.Done():
		case <-e.wake:
		case <-time.After(wait):
		}
	}
}

// look takes up what is due in all partitions, in one round trip. It reports whether
// some partition had more than was looked at.
func (e *Engine) look(ctx context.Context) (more bool, err error) {
	pipe := e.db.Pipeline()
	clock := pipe.Time(ctx)
	sets := append(repositories.AllDue(), repositories.AllIdle()...)
	heads := make([]*redis.ZSliceCmd, len(sets))
	for i, set := range sets {
		heads[i] = pipe.ZRangeWithScores(ctx, set, 0, peeked-1)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return false, repositories.Unavailable(err)
	}
	now := float64(clock.Val().UnixMilli())
	oldest := math.Inf(1)
	for i, head := range heads {
		due := dueOf(head.Val(), now)
		if i < repositories.Partitions {
			oldest = min(oldest, oldestOf(head.Val()))
			more = more || len(due) == peeked && e.anyIdle(due)
			e.takeUp(ctx, due)
			continue
		}
		e.expire(ctx, due)
	}
	e.metrics.oldest(now, oldest)
	return more, nil
}

// dueOf lists the members that are due.
func dueOf(head []redis.Z, now float64) []string {
	var due []string
	for _, z := range head {
		if z.Score <= now {
			due = append(due, z.Member.(string))
		}
	}
	return due
}

func oldestOf(head []redis.Z) float64 {
	if len(head) == 0 {
		return math.Inf(1)
	}
	return head[0].Score
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

// takeUp starts a worker for each member, as far as there are free ones.
func (e *Engine) takeUp(ctx context.Context, members []string) {
	for _, member := range members {
		if _, busy := e.busy.LoadOrStore(member, true); busy {
			continue
		}
		select {
		case e.slots <- struct{}{}:
		default:
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
	ctx, cancel := context.WithTimeout(e.life, c.lease)
	defer cancel()
	a := attempt{Effect: c.Effect, owed: c.owed, fails: c.fails, revived: c.revived, age: c.age}
	if c.crashed {
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
		e.Wake() // the next event of the session, or the result
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
