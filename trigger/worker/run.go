package worker

import (
	"cmp"
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
	work  func(ctx context.Context, appID, member string) error
	limit int

	mu      sync.Mutex
	inUse   int
	byApp   map[string]int  // slots in use, by app
	waiting map[string]bool // apps that found no slot since the last release
}

// Handle makes Run call work for each due member of a kind of lane.
func (w *Worker) Handle(kind keyspace.Lane, work func(ctx context.Context, appID, member string) error) {
	w.queues[kind] = &queue{work: work, limit: w.Workers, byApp: map[string]int{}, waiting: map[string]bool{}}
}

// appLimit returns the greatest number of slots of an app.
func (q *queue) appLimit() int { return max(1, q.limit/4) }

// acquire takes a slot for an app, or records that the app waits for one.
func (q *queue) acquire(app string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byApp[app] >= min(q.appLimit(), q.limit-q.inUse) {
		q.waiting[app] = true
		return false
	}
	q.byApp[app]++
	q.inUse++
	return true
}

// release releases a slot of an app, and returns the apps that may now find one.
func (q *queue) release(app string) []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inUse--
	if q.byApp[app]--; q.byApp[app] == 0 {
		delete(q.byApp, app)
	}
	apps := slices.Collect(maps.Keys(q.waiting))
	clear(q.waiting)
	return apps
}

// slotsOf returns the number of slots that an app has.
func (q *queue) slotsOf(app string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.byApp[app]
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
	if len(q.waiting) > 0 {
		return ""
	}
	return w.Token()
}

var everyPartition = keyspace.AllPartitions()

// pollsPerSurvey is the number of polls for each survey of expired sessions and the backlog. No client waits for it.
const pollsPerSurvey = 4

// Run processes the due work of the ledger and closes expired sessions, until ctx ends. It polls all partitions
// periodically, and one partition as soon as work arrives there. It never ends for an error: it polls again.
func (w *Worker) Run(ctx context.Context) {
	w.running.Go(func() { w.sweep(ctx) })
	ticks := time.NewTicker(w.Poll)
	defer ticks.Stop()
	partitions := everyPartition
	for polls := 0; ctx.Err() == nil; {
		panics.Run(w.Log, "look", "", func() {
			err := w.startDue(ctx, partitions)
			if len(partitions) == keyspace.Partitions && polls%pollsPerSurvey == 0 {
				surveyErr := w.survey(ctx) // mostly the same error
				err = cmp.Or(err, surveyErr)
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

// startDue starts the due work of partitions. If a part of the cluster is unavailable, it starts the work of the
// other nodes.
func (w *Worker) startDue(ctx context.Context, partitions []int) error {
	// One member more than the app's slots, so that a shortage of slots is noticed.
	due, err := w.Ledger.ReadDue(ctx, partitions, func(kind keyspace.Lane) int { return w.queues[kind].appLimit() + 1 })
	// Apps with fewer workers start first: one member of each lane in turn, while there are slots.
	lanes := due.Lanes
	slices.SortStableFunc(lanes, func(a, b ledger.Lane) int { return w.queues[a.Kind].slotsOf(a.App) - w.queues[b.Kind].slotsOf(b.App) })
	for i, remaining := 0, lanes; len(remaining) > 0 && ctx.Err() == nil; i++ {
		remaining = slices.DeleteFunc(remaining, func(l ledger.Lane) bool { return i >= len(l.Members) || !w.start(ctx, l, l.Members[i]) })
	}
	for partition, members := range due.Unknown {
		w.logUnknown(ctx, partition, members)
	}
	if err == nil && len(partitions) == keyspace.Partitions {
		w.Metrics.oldestSeconds.Set(due.Oldest.Seconds())
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
	backlog, backlogErr := ledger.ReadBacklog(ctx, w.Ledger)
	if backlogErr == nil {
		w.Metrics.due.Set(backlog.Pending)
		w.Metrics.dead.Set(backlog.Dead)
	}
	return cmp.Or(err, backlogErr)
}

// LogFailure logs that work was not done. While Redis cannot serve, it is one line: it would be one for each message
// and effect, several times a second.
func (w *Worker) LogFailure(event string, err error, attributes ...any) {
	attributes = append(attributes, "error", err.Error())
	if errors.Is(err, keyspace.ErrUnavailable) {
		w.Outages.Trouble(w.Context, event, "", event, attributes...)
		return
	}
	w.Log.Warn(event, attributes...)
}

// panicDelay is how long an outbox or a held trigger waits after its worker panicked.
const panicDelay = time.Minute

// start begins the work on a member, unless it is in progress; false if there is no slot. A member whose worker
// panics is delayed: a turn or a call until its lease ends, and after five claims it is listed as failed; an
// outbox or a held trigger by panicDelay.
func (w *Worker) start(ctx context.Context, lane ledger.Lane, member string) bool {
	name, q := string(lane.Kind)+"/"+lane.App+"/"+member, w.queues[lane.Kind]
	if _, busy := w.busy.LoadOrStore(name, true); busy {
		return true
	}
	if !q.acquire(lane.App) {
		w.busy.Delete(name)
		return false
	}
	w.Go(func() {
		defer func() {
			w.busy.Delete(name)
			for _, app := range q.release(lane.App) {
				w.Wake(app)
			}
		}()
		var err error
		completed := panics.Run(w.Log, string(lane.Kind), lane.App+"/"+member, func() { err = q.work(ctx, lane.App, member) })
		if !completed && (lane.Kind == keyspace.LaneOutboxes || lane.Kind == keyspace.LaneHeld) {
			err = w.Ledger.Postpone(w.Context, lane.App, lane.Kind, member, panicDelay)
		}
		if err != nil && ctx.Err() == nil && !(completed && errors.Is(err, keyspace.ErrMemory)) {
			w.LogFailure("ledger.unfinished", err, "app", lane.App, string(lane.Kind), member)
		}
	})
	return true
}

// logUnknown logs entries of unknown kinds, once each, and leaves them unchanged. It converts entries of the first
// versions, which an earlier program may still write, to the current form.
func (w *Worker) logUnknown(ctx context.Context, partition int, members []string) {
	if slices.ContainsFunc(members, format.IsEntry) {
		if err := format.BringEntries(ctx, w.Ledger.DB(), partition); err != nil && ctx.Err() == nil {
			w.Log.Warn("ledger.unreadable", "error", err.Error())
		}
	}
	for _, member := range members {
		if format.IsEntry(member) {
			continue
		}
		if _, logged := w.unknown.LoadOrStore(member, true); !logged {
			w.Metrics.unknown.Inc()
			w.Log.Warn("ledger.unknown", "entry", member, "error", "the ledger holds an entry of no kind that this version knows; it is left alone: earshot verify lists it")
		}
	}
}

// sweep periodically removes expired records, until ctx ends, and checks whether Redis is full or partly
// unavailable. All replicas sweep: a record that one replica removed is not found by another.
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
			w.OnSweep(ctx)
		})
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	w.OnSweep(ctx)
}

// watchRedis records whether Redis is full, and how many of its shards are unavailable. It logs when Redis
// becomes full and when it has room again. While a shard that may be full does not answer, the state stays.
func (w *Worker) watchRedis(ctx context.Context, wasFull bool) (full bool) {
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
		return wasFull
	}
	w.Metrics.shardsAway.Set(float64(unavailable))
	if unavailable == 0 {
		w.Outages.Over(ctx, "ledger.unfinished", "ledger.finished")
		w.Outages.Over(ctx, "turn.failed", "turns.again")
	}
	full = fault != nil
	switch {
	case unavailable > 0 && !full:
		return wasFull
	case full && !wasFull:
		w.Log.Error("redis.full", "error", fault.Error())
	case wasFull && !full:
		w.Log.Info("redis.has_room")
	}
	w.Metrics.redisFull.Set(0)
	if full {
		w.Metrics.redisFull.Set(1)
	}
	return full
}
