package trigger

import (
	"context"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
)

// look takes up what is due in partitions: one round trip reads which lanes may hold
// something, a second one the beginnings of these. Neither grows with the backlog of an
// app. Of a cluster that is away in part it takes up what is on the other nodes.
func (e *Engine) look(ctx context.Context, partitions []int) (err error) {
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
	var lanes []*lane
	for _, head := range heads {
		now, away := head.now()
		if away != nil {
			err = away
			continue
		}
		names, away := e.dueLanes(ctx, head, now)
		if away != nil {
			err = away
		}
		lanes = append(lanes, lanesOf(names, now)...)
		e.expire(ctx, dueOf(head.idle.Val(), now))
	}
	oldest, away := e.readLanes(ctx, lanes)
	if away != nil {
		err = away
	}
	e.takeUp(ctx, lanes)
	if err == nil && held != nil {
		e.metrics.oldest(oldest)
		e.metrics.stock(held)
	}
	return err
}

// dueLanes lists the lanes that may be due, all of them where they are more than were
// read: an app with nothing to spare must not hide another.
func (e *Engine) dueLanes(ctx context.Context, head head, now float64) ([]string, error) {
	due := dueOf(head.due.Val(), now)
	if len(due) < peeked {
		return due, nil
	}
	by := &redis.ZRangeBy{Min: "-inf", Max: strconv.FormatFloat(now, 'f', -1, 64)}
	all, err := e.db.ZRangeByScore(ctx, head.keys.Due(), by).Result()
	return all, keyspace.Unavailable(err)
}

// readLanes reads the beginning of every lane: as much as an app may have slots, and one
// member more, so that it is seen where they do not suffice. It returns for how long (ms)
// the oldest member has been due.
func (e *Engine) readLanes(ctx context.Context, lanes []*lane) (oldest float64, err error) {
	if len(lanes) == 0 {
		return 0, nil
	}
	pipe := e.db.Pipeline()
	for _, l := range lanes {
		l.head = pipe.ZRangeWithScores(ctx, l.keys().Lane(l.kind), 0, int64(e.slots[l.kind].share()))
	}
	_, _ = pipe.Exec(ctx) // every command has its own error
	for _, l := range lanes {
		if away := keyspace.Unavailable(l.head.Err()); away != nil {
			err = away
			continue
		}
		oldest = max(oldest, overdue(l.head.Val(), l.now))
		if l.empty() {
			if away := l.correct(ctx, e.db); away != nil {
				err = away
			}
		}
	}
	return oldest, err
}

// takeUp starts workers, those of an app with fewer before those of one with more: one
// member of each lane in turn, as long as there are slots.
func (e *Engine) takeUp(ctx context.Context, lanes []*lane) {
	slices.SortStableFunc(lanes, func(a, b *lane) int { return e.slots[a.kind].of(a.app) - e.slots[b.kind].of(b.app) })
	for i, open := 0, lanes; len(open) > 0 && ctx.Err() == nil; i++ {
		open = slices.DeleteFunc(open, func(l *lane) bool {
			due := l.due()
			return i >= len(due) || !e.start(ctx, l, due[i])
		})
	}
}

// start starts a worker for a member, unless it has one; false where there is no slot.
func (e *Engine) start(ctx context.Context, l *lane, member string) bool {
	name := string(l.kind) + "/" + l.app + "/" + member
	if _, busy := e.busy.LoadOrStore(name, true); busy {
		return true
	}
	slots := e.slots[l.kind]
	if !slots.take(l.app) {
		e.busy.Delete(name)
		return false
	}
	e.work(func() {
		defer func() {
			e.busy.Delete(name)
			for _, app := range slots.give(l.app) {
				e.Wake(app)
			}
		}()
		e.takeOne(ctx, l, member)
	})
	return true
}
