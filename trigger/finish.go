package trigger

import (
	"context"

	"earshot/repositories/crash"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
)

var verdicts = map[effect.Verdict]string{effect.Done: "done", effect.Retry: "retry", effect.Dead: "dead"}

// finish writes a report until Redis has answered or ctx ends. It returns the answer that
// holds, and goes on with the session's outbox where more is in it.
func (e *Engine) finish(ctx context.Context, r ledger.Report) (answer string, err error) {
	holds, answer, err := e.record(ctx, r)
	if holds {
		e.work(func() { e.drain(r.App, r.Session, r.Next) })
	}
	return answer, err
}

// record writes a report, and reports whether r.Next has the outbox.
func (e *Engine) record(ctx context.Context, r ledger.Report) (holds bool, answer string, err error) {
	if e.life.Err() != nil { // what was broken off is given back all the same
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), parting)
		defer cancel()
		ctx = last
	}
	keep := e.store.Retention()
	crash.At(crash.FinishBefore)
	err = e.persist(ctx, func() error {
		answer, holds, err = e.ledger.Finish(ctx, r, ledger.Retention{Done: keep.Done, Dead: keep.Dead})
		return err
	})
	return holds, answer, err
}
