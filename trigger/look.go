package trigger

import (
	"context"
	"slices"

	"earshot/repositories/keyspace"
	"earshot/trigger/ledger"
)

// look takes up what is due in partitions. Of a cluster that is away in part it takes up
// what is on the other nodes.
func (e *Engine) look(ctx context.Context, partitions []int) error {
	// As much of a lane as its app may have slots, and one member more, so that it is seen
	// where they do not suffice.
	found, err := e.ledger.Look(ctx, partitions, func(kind keyspace.Lane) int { return e.slots[kind].share() + 1 })
	e.expire(ctx, found.Idle)
	e.takeUp(ctx, found.Lanes)
	if err == nil && found.Backlog != nil {
		e.metrics.backlog(found)
	}
	return err
}

// takeUp starts workers, those of an app with fewer before those of one with more: one
// member of each lane in turn, as long as there are slots.
func (e *Engine) takeUp(ctx context.Context, lanes []ledger.Lane) {
	slices.SortStableFunc(lanes, func(a, b ledger.Lane) int { return e.slots[a.Kind].of(a.App) - e.slots[b.Kind].of(b.App) })
	for i, open := 0, lanes; len(open) > 0 && ctx.Err() == nil; i++ {
		open = slices.DeleteFunc(open, func(l ledger.Lane) bool {
			return i >= len(l.Members) || !e.start(ctx, l, l.Members[i])
		})
	}
}

// start starts a worker for a member, unless it has one; false where there is no slot.
func (e *Engine) start(ctx context.Context, l ledger.Lane, member string) bool {
	name := string(l.Kind) + "/" + l.App + "/" + member
	if _, busy := e.busy.LoadOrStore(name, true); busy {
		return true
	}
	slots := e.slots[l.Kind]
	if !slots.take(l.App) {
		e.busy.Delete(name)
		return false
	}
	e.work(func() {
		defer func() {
			e.busy.Delete(name)
			for _, app := range slots.give(l.App) {
				e.Wake(app)
			}
		}()
		e.takeOne(ctx, l, member)
	})
	return true
}
