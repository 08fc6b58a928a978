package trigger

import (
	"context"

	"earshot/repositories/store"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
)

// claimed is an effect that this process has the lease of.
type claimed struct {
	effect.Effect
	ledger.Claimed
}

// claim takes the lease of a call; nil where it is not to be had.
func (e *Engine) claim(ctx context.Context, appID, id, token string) (*claimed, error) {
	found, err := e.ledger.Claim(ctx, appID, id, token)
	if err != nil {
		e.giveUp(ledger.Holding{Turn: ledger.Turn{App: appID}, Token: token, Calls: []string{id}}, err)
		return nil, err
	}
	if found == nil {
		return nil, nil
	}
	c := &claimed{Effect: effectOf(appID, *found), Claimed: *found}
	return c, c.readBody(e.store)
}

// effectOf is the effect that stands in the ledger, without its event or call.
func effectOf(appID string, found ledger.Claimed) effect.Effect {
	return effect.Effect{
		ID: found.Entry.ID, Kind: effect.Kind(found.Entry.Kind), AppID: appID, SessionID: found.Entry.Session,
		TriggerID: found.Entry.Trigger, Attempt: found.Attempt,
	}
}

// readBody fills the call from what the ledger keeps of it.
func (c *claimed) readBody(definitions *store.Store) error {
	var body storedCall
	if err := decode(c.Body, &body); err != nil {
		return err
	}
	var payload fired
	if err := decode(string(body.Event), &payload); err != nil {
		return err
	}
	tool, err := definitions.OpenTool(c.AppID, body.Tool)
	if err != nil {
		return err
	}
	c.TraceParent = body.TraceParent
	c.Effect.Call = effect.CallOf(tool, payload.Values, body.Event)
	return nil
}
