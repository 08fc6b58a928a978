package trigger

import (
	"context"
	"encoding/json"
	"errors"
)

// errWorker means that the work on a request panicked. What it had leased is taken up
// again when the lease has ended.
var errWorker = errors.New("the work on the request failed inside Earshot")

// apart does the work of a request apart from it, and waits for the outcome: the work
// goes on when the client has left, since what it is about is accepted by then.
func (e *Engine) apart(ctx context.Context, work func() (json.RawMessage, error)) (json.RawMessage, error) {
	type outcome struct {
		answer json.RawMessage
		err    error
	}
	// The channel has room, so that one who left is not waited for. A panic closes
	// it unused.
	done := make(chan outcome, 1)
	e.work(func() {
		defer close(done)
		answer, err := work()
		done <- outcome{answer, err}
	})
	select {
	case o, ok := <-done:
		if !ok {
			return nil, errWorker
		}
		return o.answer, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
