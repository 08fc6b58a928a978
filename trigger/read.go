package trigger

import (
	"context"
	"encoding/json"
	"time"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/trigger/ledger"
)

// isReadOnly reports whether a direct trigger of a tool may be written behind its answer: it changes nothing,
// and only its call depends on its record.
func isReadOnly(app *repositories.App, c matcher.Candidate) bool {
	t := c.Tool
	asks := t.Confirm != "" && t.Confirm != repositories.ConfirmNever
	held := asks || t.Settle > 0 || t.Dedupe != nil || t.Answer != nil || c.Repository.Options.TriggerOnce
	return t.Calls() && !held && t.Request.Repeatable() && app.ReadOnly(t)
}

// readWait is how long a read-only call may take before its decision is committed.
const readWait = time.Second

// read fires a read-only tool: it makes the call, and the record is written behind the answer. A crash loses
// only a record without side effects. Every refusal of commit comes before the call.
//
// A slow or failed call is committed before the answer, so that all replicas know its id and the ledger
// completes it.
func (f *Firings) read(ctx context.Context, p *planner, direct *Direct) (answer json.RawMessage, status ledger.Status, err error) {
	doc := p.doc
	doc.Turn = p.Turn
	status, generations, err := ledger.Admit(ctx, f.Ledger, doc, p.firings[0].size)
	switch {
	case err != nil:
		return nil, "", err
	case status == ledger.NoApp:
		return nil, "", ledger.AppNotFound(p.App)
	case status != ledger.Committed:
		return nil, status, nil
	}
	direct.Counted, p.doc.Counted = true, true
	answer, err = f.Detached(func() (json.RawMessage, error) {
		f.deliveries.BeginCall(&p.Decision)
		if !f.deliveries.AwaitCall(&p.Decision, readWait) {
			// The call is made: only the end of its session or app prevents the record, and not that its client has gone or
			// its tool has changed meanwhile.
			p.admitted, p.doc.Optimistic, p.doc.Generations = true, false, &generations
			if status, err = f.commit(context.WithoutCancel(ctx), p); err != nil || status != ledger.Committed {
				return nil, err
			}
			return f.answerFirst(p, direct)
		}
		text, err := exactjson.Encode(p.Answer.Matches[0].WithState())
		if err != nil {
			return nil, err
		}
		p.firings[0].span.End()
		f.countFired(p.App, p.Answer.Matches[0].Name)
		f.deliveries.WriteBehind(&p.Decision, generations, func() (ledger.Commitment, error) { return p.commitment(f.NewID, 0) })
		return text, nil
	})
	return answer, status, err
}
