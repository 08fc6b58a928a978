package trigger

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"earshot/repositories/format"
	"earshot/repositories/keyspace"
	"earshot/repositories/panics"
	"earshot/repositories/store"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
	"earshot/trigger/payload"
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
		panics.Run(e.log, "look", "", func() {
			if err := e.look(ctx, partitions); err != nil {
				e.troubles.Trouble(ctx, "ledger", "", "ledger.unreadable", "error", err.Error())
				sleep(ctx, e.jitter(4*e.poll))
				return
			}
			e.troubles.Over(ctx, "ledger", "ledger.readable")
		})
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

// woken lists the partitions with work that is due, beginning with the first.
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

// takeOne works on a member of a lane. One that makes the worker panic is set aside: a turn or a
// call until its lease ends, and after five claims it is listed as failed; an outbox or a held
// trigger for a while.
func (e *Engine) takeOne(ctx context.Context, l ledger.Lane, member string) {
	if panics.Run(e.log, string(l.Kind), l.App+"/"+member, func() { e.takeMember(ctx, l, member) }) {
		return
	}
	if l.Kind != keyspace.LaneOutboxes && l.Kind != keyspace.LaneHeld {
		return
	}
	if err := e.ledger.SetAside(e.life, l.App, l.Kind, member, setAside); err != nil && ctx.Err() == nil {
		e.log.Warn("ledger.unfinished", "app", l.App, string(l.Kind), member, "error", err.Error())
	}
}

// setAside is how long an outbox or a held trigger waits whose worker has panicked.
const setAside = time.Minute

func (e *Engine) takeMember(ctx context.Context, l ledger.Lane, member string) {
	var err error
	switch l.Kind {
	case keyspace.LaneTurns:
		err = e.takeTurn(ctx, l.App, member)
	case keyspace.LaneCalls:
		err = e.takeCall(ctx, l.App, member)
	case keyspace.LaneOutboxes:
		e.drain(l.App, member, e.token())
	case keyspace.LaneHeld:
		err = e.takeHeld(l.App, member)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, keyspace.ErrMemory) {
		e.log.Warn("ledger.unfinished", "app", l.App, string(l.Kind), member, "error", err.Error())
	}
}

// unknown is the outcome of a call that began on a replica that died before it recorded an
// outcome.
var unknown = effect.Outcome{
	Verdict: effect.Dead, Reason: effect.ReasonUnknown,
	Error: "the replica that made the call ended before it wrote down what came of it; the tool is not idempotent, so the call is not made again by itself",
}

// crashed is the outcome of an effect whose attempts repeatedly crashed their workers.
var crashed = effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Error: "crashed_worker: it was claimed five times and never came to an outcome"}

// expire closes sessions whose time has passed.
func (e *Engine) expire(ctx context.Context, members []string) {
	for _, member := range members {
		if _, busy := e.busy.LoadOrStore("idle "+member, true); busy {
			continue
		}
		e.work(func() {
			defer e.busy.Delete("idle " + member)
			panics.Run(e.log, "expiry", member, func() {
				if err := e.store.ExpireSession(ctx, member); err != nil && ctx.Err() == nil {
					e.log.Warn("session.unexpired", "session", member, "error", err.Error())
				}
			})
		})
	}
}

// look takes up the work that is due in partitions. If a part of the cluster is away, it
// takes up what is on the other nodes.
func (e *Engine) look(ctx context.Context, partitions []int) error {
	// As much of a lane as its app may have slots, and one member more, so that it is seen
	// where they do not suffice.
	found, err := e.ledger.Look(ctx, partitions, func(kind keyspace.Lane) int { return e.slots[kind].share() + 1 })
	e.expire(ctx, found.Idle)
	e.dispatch(ctx, found.Lanes)
	e.leaveUnknown(ctx, found.Unknown)
	if err == nil && found.Backlog != nil {
		e.metrics.backlog(found)
	}
	return err
}

// leaveUnknown logs entries that this version does not know, once each, and leaves them alone.
// Those of the first versions, which an earlier program beside this one may still write, are brought
// into the form of today.
func (e *Engine) leaveUnknown(ctx context.Context, found map[int][]string) {
	for partition, members := range found {
		if slices.ContainsFunc(members, format.IsEntry) {
			if err := format.BringEntries(ctx, e.ledger.DB(), partition); err != nil && ctx.Err() == nil {
				e.log.Warn("ledger.unreadable", "error", err.Error())
			}
		}
		for _, member := range members {
			if format.IsEntry(member) {
				continue
			}
			if _, known := e.unknown.LoadOrStore(member, true); !known {
				e.metrics.unknown.Inc()
				e.log.Warn("ledger.unknown", "entry", member, "error", "the ledger holds an entry of no kind that this version knows; it is left alone: earshot verify lists it")
			}
		}
	}
}

// dispatch starts workers, those of an app with fewer before those of one with more: one
// member of each lane in turn, as long as there are slots.
func (e *Engine) dispatch(ctx context.Context, lanes []ledger.Lane) {
	slices.SortStableFunc(lanes, func(a, b ledger.Lane) int { return e.slots[a.Kind].of(a.App) - e.slots[b.Kind].of(b.App) })
	for i, open := 0, lanes; len(open) > 0 && ctx.Err() == nil; i++ {
		open = slices.DeleteFunc(open, func(l ledger.Lane) bool {
			return i >= len(l.Members) || !e.start(ctx, l, l.Members[i])
		})
	}
}

// start starts a worker for a member, unless it has one; false if there is no slot.
func (e *Engine) start(ctx context.Context, l ledger.Lane, member string) bool {
	name := string(l.Kind) + "/" + l.App + "/" + member
	if _, busy := e.busy.LoadOrStore(name, true); busy {
		return true
	}
	workers := e.slots[l.Kind]
	if !workers.take(l.App) {
		e.busy.Delete(name)
		return false
	}
	e.work(func() {
		defer func() {
			e.busy.Delete(name)
			for _, app := range workers.give(l.App) {
				e.Wake(app)
			}
		}()
		e.takeOne(ctx, l, member)
	})
	return true
}

// claimed is an effect that this process holds the lease of.
type claimed struct {
	effect.Effect
	ledger.Claimed
}

// effectOf is the effect that stands in the ledger, without its event or call.
func effectOf(appID string, found ledger.Claimed) effect.Effect {
	return effect.Effect{
		ID: found.Entry.ID, Kind: effect.Kind(found.Entry.Kind), AppID: appID, SessionID: found.Entry.Session,
		TriggerID: found.Entry.Trigger, Attempt: found.Attempt,
	}
}

// attempt is the next attempt, not made yet.
func (c *claimed) attempt() attempt {
	return attempt{Effect: c.Effect, entry: c.Entry, fails: c.Fails, revived: c.Revived, age: c.Age, unended: c.Unended}
}

// readBody fills the event or the call from what the ledger keeps of it.
func (c *claimed) readBody(definitions *store.Store) error {
	if c.Effect.Kind == effect.KindEvent {
		c.Event = &effect.Event{}
		err := decode(c.Body, c.Event)
		c.TraceParent = c.Event.TraceParent
		return err
	}
	var body storedCall
	if err := decode(c.Body, &body); err != nil {
		return err
	}
	var says payload.Trigger
	if err := decode(string(body.Event), &says); err != nil {
		return err
	}
	tool, err := definitions.OpenTool(c.AppID, body.Tool)
	if err != nil {
		return err
	}
	c.TraceParent = body.TraceParent
	c.Effect.Call = effect.CallOf(tool, says.Values, body.Event)
	c.Effect.Call.Fence, c.Effect.Call.Quoted = body.Fence, !body.AsSaid
	if c.Effect.Kind == effect.KindAnswer {
		c.Awaited, err = c.awaited()
	}
	return err
}

// sweepUp periodically removes expired records, until ctx ends, and checks whether Redis is
// full, or a part of it away. All replicas do so: what one has removed, another does not find.
func (e *Engine) sweepUp(ctx context.Context) {
	full := false
	for sleep(ctx, e.jitter(e.sweep)) {
		panics.Run(e.log, "sweep", "", func() {
			full = e.watchRedis(ctx, full)
			if err := errors.Join(e.ledger.Forget(ctx), e.ledger.ForgetExplained(ctx)); err == nil {
				e.troubles.Over(ctx, "sweep", "records.forgotten")
			} else if ctx.Err() == nil {
				e.troubles.Trouble(ctx, "sweep", "", "records.unforgotten", "error", err.Error())
			}
			e.writeUses(ctx)
		})
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), parting)
	defer cancel()
	e.writeUses(ctx)
}

// slots are a semaphore that bounds how much a process works on at the same time in one
// kind of lane. An app may have a quarter of them at most: however many apps have a
// backlog, one that comes later finds a free slot at once, and a slow app does not delay
// another.
type slots struct {
	most int

	mu     sync.Mutex
	taken  int
	used   map[string]int  // by app
	wanted map[string]bool // apps that found no room since something was given back
}

func newSlots(most int) *slots {
	return &slots{most: most, used: map[string]int{}, wanted: map[string]bool{}}
}

// share is how many slots an app may have at most.
func (s *slots) share() int { return max(1, s.most/4) }

// take takes a slot for an app, or remembers that it wants one.
func (s *slots) take(app string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[app] >= min(s.share(), s.most-s.taken) {
		s.wanted[app] = true
		return false
	}
	s.used[app]++
	s.taken++
	return true
}

// give gives a slot of an app back, and returns the apps that may find room now.
func (s *slots) give(app string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	if s.used[app]--; s.used[app] == 0 {
		delete(s.used, app)
	}
	apps := make([]string, 0, len(s.wanted))
	for wanting := range s.wanted {
		apps = append(apps, wanting)
	}
	clear(s.wanted)
	return apps
}

// of is how many slots an app has.
func (s *slots) of(app string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used[app]
}

// scarce reports whether some app waits for a slot.
func (s *slots) scarce() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.wanted) > 0
}
