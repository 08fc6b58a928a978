package trigger

import (
	"context"
	"errors"
	"time"

	"earshot/repositories/crash"
	"earshot/repositories/exactjson"
)

// errLost is why the context of a turn ended: its lease is another's.
var errLost = errors.New("the lease of the turn was lost")

// hold keeps the lease of a turn until the returned function is called. The context
// ends when the lease is lost: a process that was frozen must not go on.
func (e *Engine) hold(ctx context.Context, t *turn) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ticks := time.NewTicker(e.lease / heartbeats)
	e.running.Go(func() {
		defer ticks.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
				e.renew(ctx, t, cancel)
			}
		}
	})
	return ctx, func() { cancel(nil) }
}

func (e *Engine) renew(ctx context.Context, t *turn, cancel context.CancelCauseFunc) {
	if held, err := e.ledger.Extend(ctx, t.Turn, t.token, e.lease); err == nil && !held {
		cancel(errLost)
	}
}

// failure is what a session keeps of a turn that was not decided.
type failure struct {
	Error string `json:"error"`
}

// giveBack writes the failure of a turn. A negative pause leaves the next try to the
// client.
func (e *Engine) giveBack(ctx context.Context, t *turn, cause error, pause time.Duration) error {
	text, err := exactjson.Encode(failure{Error: cause.Error()})
	if err != nil {
		return err
	}
	crash.At(crash.GiveBackBefore)
	return e.persist(ctx, func() error { return e.ledger.Undecided(ctx, t.Turn, t.token, string(text), pause) })
}
