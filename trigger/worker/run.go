package worker

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"earshot/repositories/format"
	"earshot/repositories/keyspace"
	"earshot/repositories/panics"
	"earshot/trigger/ledger"
)

// queue processes the members of one kind of lane. It bounds the concurrent work of the process, and of an app
// to a quarter of that: however many apps have a backlog, another finds a free slot at once, and a slow app
// does not delay others.
type queue struct {
	work func(ctx context.Context, appID, member string) error
	most int

	mu     sync.Mutex
	taken  int
	used   map[string]int  // by app
	wanted map[string]bool // apps that found no slot since the last release
}

// Handle makes Run call work for each due member of a kind of lane.
func (w *Worker) Handle(kind keyspace.Lane, work func(ctx context.Context, appID, member string) error) {
	w.queues[kind] = &queue{work: work, most: w.Workers, used: map[string]int{}, wanted: map[string]bool{}}
}

// share returns the most slots of an app.
func (q *queue) share() int { return max(1, q.most/4) }

// take takes a slot for an app, or records that it wants one.
func (q *queue) take(app string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.used[app] >= min(q.share(), q.most-q.taken) {
		q.wanted[app] = true
		return false
	}
	q.used[app]++
	q.taken++
	return true
}

// give releases a slot of an app, and returns the apps that may now find one.
func (q *queue) give(app string) []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken--
	if q.used[app]--; q.used[app] == 0 {
		delete(q.used, app)
	}
	apps := slices.Collect(maps.Keys(q.wanted))
	clear(q.wanted)
	return apps
}

// of returns the number of slots that an app has.
func (q *queue) of(app string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.used[app]
}

// NextHolder returns the token under which this process keeps an outbox after a write; empty if other apps wait
// for a slot, or the process ends.
func (w *Worker) NextHolder() string {
	if w.closing.Load() {
		return ""
	}
	q := w.queues[keyspace.LaneOutboxes]
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.wanted) > 0 {
		return ""
	}
	return w.Token()
}

var everyPartition = ledger.AllPartitions()

// surveyed is how many polls apart expired sessions and the backlog are looked for, which nobody waits for.
const surveyed = 4

// Run processes the due work of the ledger and closes expired sessions, until ctx ends. It polls all partitions
// periodically, and one partition as soon as work arrives there. It never ends for an error: it polls again.
func (w *Worker) Run(ctx context.Context) {
	w.running.Go(func() { w.sweep(ctx) })
	ticks := time.NewTicker(w.Poll)
	defer ticks.Stop()
	partitions := everyPartition
	for polls := 0; ctx.Err() == nil; {
		panics.Run(w.Log, "look", "", func() {
			err := w.look(ctx, partitions)
			if len(partitions) == keyspace.Partitions && polls%surveyed == 0 {
				err = errors.Join(err, w.survey(ctx))
			}
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				w.Outages.Trouble(ctx, "ledger", "", "ledger.unreadable", "error", err.Error())
				Sleep(ctx, w.Jitter(4*w.Poll))
				return
			}
			w.Outages.Over(ctx, "ledger", "ledger.readable")
		})
		select {
		case <-ctx.Done():
		case <-ticks.C:
			partitions = everyPartition
			polls++
		case first := <-w.wake:
			partitions = []int{first}
			for range len(w.wake) {
				if next := <-w.wake; !slices.Contains(partitions, next) {
					partitions = append(partitions, next)
				}
			}
		}
	}
}

// look starts the due work of partitions. If a part of the cluster is unavailable, it starts the work of the
// other nodes.
func (w *Worker) look(ctx context.Context, partitions []int) error {
	// One member more than the app's slots, so that a shortage of slots is noticed.
	found, err := w.Ledger.Look(ctx, partitions, func(kind keyspace.Lane) int { return w.queues[kind].share() + 1 })
	// Apps with fewer workers start first: one member of each lane in turn, while there are slots.
	lanes := found.Lanes
	slices.SortStableFunc(lanes, func(a, b ledger.Lane) int { return w.queues[a.Kind].of(a.App) - w.queues[b.Kind].of(b.App) })
	for i, open := 0, lanes; len(open) > 0 && ctx.Err() == nil; i++ {
		open = slices.DeleteFunc(open, func(l ledger.Lane) bool { return i >= len(l.Members) || !w.start(ctx, l, l.Members[i]) })
	}
	for partition, members := range found.Unknown {
		w.skip(ctx, partition, members)
	}
	if err == nil && len(partitions) == keyspace.Partitions {
		w.Metrics.oldestSeconds.Set(found.Oldest.Seconds())
	}
	return err
}

// survey closes expired sessions, and measures the backlog.
func (w *Worker) survey(ctx context.Context) error {
	idle, err := ledger.IdleSessions(ctx, w.Ledger)
	for _, session := range idle {
		name := "idle " + session
		if _, busy := w.busy.LoadOrStore(name, true); busy {
			continue
		}
		w.Go(func() {
			defer w.busy.Delete(name)
			panics.Run(w.Log, "expiry", session, func() {
				if err := w.Store.ExpireSession(ctx, session); err != nil && ctx.Err() == nil {
					w.Log.Warn("session.unexpired", "session", session, "error", err.Error())
				}
			})
		})
	}
	backlog, failed := ledger.ReadBacklog(ctx, w.Ledger)
	if failed == nil {
		w.Metrics.due.Set(backlog.Owed)
		w.Metrics.dead.Set(backlog.Dead)
	}
	return errors.Join(err, failed)
}

// setAside is how long an outbox or a held trigger waits after its worker panicked.
const setAside = time.Minute

// start begins the work on a member, unless it is in progress; false if there is no slot. A member whose worker
// panics is delayed: a turn or a call until its lease ends, and after five claims it is listed as failed; an
// outbox or a held trigger for setAside.
func (w *Worker) start(ctx context.Context, l ledger.Lane, member string) bool {
	name, q := string(l.Kind)+"/"+l.App+"/"+member, w.queues[l.Kind]
	if _, busy := w.busy.LoadOrStore(name, true); busy {
		return true
	}
	if !q.take(l.App) {
		w.busy.Delete(name)
		return false
	}
	w.Go(func() {
		defer func() {
			w.busy.Delete(name)
			for _, app := range q.give(l.App) {
				w.Wake(app)
			}
		}()
		var err error
		ended := panics.Run(w.Log, string(l.Kind), l.App+"/"+member, func() { err = q.work(ctx, l.App, member) })
		if !ended && (l.Kind == keyspace.LaneOutboxes || l.Kind == keyspace.LaneHeld) {
			err = w.Ledger.SetAside(w.Context, l.App, l.Kind, member, setAside)
		}
		if err != nil && ctx.Err() == nil && !(ended && errors.Is(err, keyspace.ErrMemory)) {
			w.Log.Warn("ledger.unfinished", "app", l.App, string(l.Kind), member, "error", err.Error())
		}
	})
	return true
}

// skip logs entries of unknown kinds, once each, and leaves them unchanged. It converts entries of the first
// versions, which an earlier program may still write, to the current form.
func (w *Worker) skip(ctx context.Context, partition int, members []string) {
	if slices.ContainsFunc(members, format.IsEntry) {
		if err := format.BringEntries(ctx, w.Ledger.DB(), partition); err != nil && ctx.Err() == nil {
			w.Log.Warn("ledger.unreadable", "error", err.Error())
		}
	}
	for _, member := range members {
		if format.IsEntry(member) {
			continue
		}
		if _, known := w.unknown.LoadOrStore(member, true); !known {
			w.Metrics.unknown.Inc()
			w.Log.Warn("ledger.unknown", "entry", member, "error", "the ledger holds an entry of no kind that this version knows; it is left alone: earshot verify lists it")
		}
	}
}

// sweep periodically removes expired records, until ctx ends, and checks whether Redis is full or partly
// unavailable. All replicas sweep; what one has removed, another does not find.
func (w *Worker) sweep(ctx context.Context) {
	full := false
	for Sleep(ctx, w.Jitter(sweepInterval)) {
		panics.Run(w.Log, "sweep", "", func() {
			full = w.watchRedis(ctx, full)
			if err := w.Ledger.Sweep(ctx); err == nil {
				w.Outages.Over(ctx, "sweep", "records.forgotten")
			} else if ctx.Err() == nil {
				w.Outages.Trouble(ctx, "sweep", "", "records.unforgotten", "error", err.Error())
			}
			w.Swept(ctx)
		})
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	w.Swept(ctx)
}

// watchRedis records whether Redis is full, and how many of its shards are unavailable, and logs when the first
// changes. It keeps the last state while a shard that may be full does not answer.
func (w *Worker) watchRedis(ctx context.Context, was bool) (full bool) {
	unavailable, fault := 0, error(nil)
	for _, shard := range w.Ledger.DB().Shards(ctx) {
		switch {
		case errors.Is(shard.Err, keyspace.ErrMemory):
			fault = shard.Err
		case shard.Err != nil:
			unavailable++
		}
	}
	if ctx.Err() != nil {
		return was
	}
	w.Metrics.shardsAway.Set(float64(unavailable))
	full = fault != nil
	switch {
	case unavailable > 0 && !full:
		return was
	case full && !was:
		w.Log.Error("redis.full", "error", fault.Error())
	case was && !full:
		w.Log.Info("redis.has_room")
	}
	w.Metrics.redisFull.Set(0)
	if full {
		w.Metrics.redisFull.Set(1)
	}
	return full
}
