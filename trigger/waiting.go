package trigger

import (
	"sync"

	"earshot/trigger/effect"
)

// outbox names the unpublished events of a session, or of all that has none.
type outbox struct{ app, session string }

// waiting are the requests of this process whose events stand behind others: whoever has
// the outbox here publishes them as well, and tells.
type waiting struct {
	mu     sync.Mutex
	events map[outbox]map[string]chan<- attempt // by the event's id
}

// join lets a plan hear of its events. It is called before they are owed, so that
// nothing is missed.
func (w *waiting) join(p *plan) {
	own := p.ownEvents()
	p.told = make(chan attempt, len(own)) // nobody who tells is held up
	w.mu.Lock()
	defer w.mu.Unlock()
	here := w.events[p.outbox()]
	if here == nil {
		here = map[string]chan<- attempt{}
		w.events[p.outbox()] = here
	}
	for _, effect := range own {
		here[effect.ID] = p.told
	}
}

func (w *waiting) leave(p *plan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	here := w.events[p.outbox()]
	for _, effect := range p.ownEvents() {
		delete(here, effect.ID)
	}
	if len(here) == 0 {
		delete(w.events, p.outbox())
	}
}

// tell tells what came of events, after it was written. Behind one that is to be tried
// again, nobody needs to wait.
func (w *waiting) tell(of outbox, attempts []attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	here := w.events[of]
	for _, a := range attempts {
		if a.Kind != effect.KindEvent || a.left {
			continue
		}
		if told, waits := here[a.ID]; waits {
			told <- a
			delete(here, a.ID)
		}
		if a.outcome.Verdict == effect.Retry {
			putOff(here)
		}
	}
}

func putOff(waiting map[string]chan<- attempt) {
	for id, told := range waiting {
		told <- attempt{Effect: effect.Effect{ID: id, Kind: effect.KindEvent}, outcome: notTried}
		delete(waiting, id)
	}
}

// outbox is where the plan's own events stand.
func (p *plan) outbox() outbox { return outbox{p.App, p.Session} }

// ownEvents are the events that stand in the outbox of the plan's session. The end of
// an app's triggerOnce repository does not.
func (p *plan) ownEvents() []plannedEffect {
	var own []plannedEffect
	for _, delivery := range p.effects {
		if delivery.Kind == effect.KindEvent && delivery.owed.Session == p.Session {
			own = append(own, delivery)
		}
	}
	return own
}
