package trigger

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"earshot/trigger/effect"
)

// headWait is how long a request waits for its events where others stand before them.
// They take a few milliseconds where NATS answers.
const headWait = time.Second

// await waits for events that whoever has the outbox publishes: this process tells, of
// another one the ledger is asked. Nobody waits where NATS is known to be away.
func (r *round) await(ctx context.Context) {
	defer r.engine.waiting.leave(r.plan)
	ctx, cancel := context.WithTimeout(ctx, headWait)
	defer cancel()
	left := map[string]plannedEffect{}
	for _, effect := range r.plan.ownEvents() {
		left[effect.ID] = effect
	}
	for i := 0; len(left) > 0 && !r.engine.stalled.Load(); i++ {
		if !r.hear(ctx, left, i) {
			break
		}
	}
	for _, effect := range r.plan.ownEvents() {
		if _, waits := left[effect.ID]; waits {
			r.tries <- effect.leave(notTried)
		}
	}
}

// hear waits for news of an event, and reports whether more can come.
func (r *round) hear(ctx context.Context, left map[string]plannedEffect, turn int) bool {
	var ask <-chan time.Time
	if !strings.HasPrefix(r.plan.holder, r.engine.name) {
		ask = time.After(waits[min(turn, len(waits)-1)])
	}
	select {
	case a := <-r.plan.told:
		r.settle(left, a.ID, a.outcome)
	case <-ask:
		r.ask(ctx, left)
	case <-ctx.Done():
		return false
	}
	return true
}

func (r *round) settle(left map[string]plannedEffect, id string, outcome effect.Outcome) {
	if effect, waits := left[id]; waits {
		r.tries <- effect.leave(outcome)
		delete(left, id)
	}
}

// ask reads what became of events. One that the ledger has no more is published.
func (r *round) ask(ctx context.Context, left map[string]plannedEffect) {
	states, _ := r.engine.ledger.EffectStates(ctx, r.plan.App, slices.Collect(maps.Keys(left))) // what was not read is asked for again
	for id, state := range states {
		switch state {
		case "":
			r.settle(left, id, effect.Outcome{Verdict: effect.Done})
		case "dead":
			r.settle(left, id, effect.Outcome{Verdict: effect.Dead})
		}
	}
}
