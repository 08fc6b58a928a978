package trigger

import (
	"time"

	"earshot/trigger/effect"
)

// callPauses is how long a call waits after its first failure, its second, and so on;
// the last holds for all further ones:
//
//	attempt  1   2    3     4      5      6       7 …
//	at       0s  1s   6s    36s    2m36s  7m36s   12m36s
//
// Four quick tries outlast a restart of the endpoint, the others an outage, and few
// fall into the default give-up time of 15 minutes.
var callPauses = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute}

// eventPauses is the same for events. They are given up only where NATS denies them to
// us, and it is one server that all of them wait for: what is owed should follow soon
// when it is back.
var eventPauses = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second}

// pauseAfter is the pause after a failure, fails having gone before. What the other
// side asked for is honoured between the pause and its double: neither an eager nor a
// careless endpoint sets our pace.
func (e *Engine) pauseAfter(kind effect.Kind, fails int, asked time.Duration) time.Duration {
	ladder := callPauses
	if kind == effect.KindEvent {
		ladder = eventPauses
	}
	step := ladder[min(fails, len(ladder)-1)]
	if asked > 0 {
		return max(step, min(asked, 2*step))
	}
	return e.jitter(step)
}
