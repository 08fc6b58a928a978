package trigger

import (
	"context"
)

// sweepUp removes what is over from time to time, until ctx ends, and looks whether Redis
// is full. All replicas do: what one has removed, another does not find.
func (e *Engine) sweepUp(ctx context.Context) {
	full := false
	for pause(ctx, e.jitter(e.sweep)) {
		full = e.watchMemory(ctx, full)
		if err := e.ledger.Forget(ctx); err != nil && ctx.Err() == nil {
			e.log.Warn("records.unforgotten", "error", err.Error())
		}
	}
}
