package trigger

import (
	"context"
	"fmt"

	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
)

// Retry makes the failed effects of a trigger due again. Retrying one of which
// nothing has failed is no error.
func (e *Engine) Retry(ctx context.Context, appID, triggerID string) error {
	stored, err := e.readTrigger(ctx, appID, triggerID)
	if err != nil {
		return err
	}
	if stored == nil {
		return fmt.Errorf("trigger %q: %w", triggerID, ErrNotFound)
	}
	if err := e.revive(ctx, appID, triggerID, stored); err != nil {
		return err
	}
	e.Wake(appID)
	return nil
}

// revive makes the dead effects of a trigger due again, under the ids that they had.
func (e *Engine) revive(ctx context.Context, appID, triggerID string, stored *storedTrigger) error {
	states := map[string]string{}
	for _, part := range keyspace.Parts {
		state, err := stored.record.pendingAgain(part)
		if err != nil {
			return err
		}
		states[part] = state
	}
	return e.ledger.Revive(ctx, appID, stored.record.SessionID, triggerID, stored.firing, states)
}

// pendingAgain is the state of a part that is to be tried again; empty for a part
// that the trigger does not have.
func (r Record) pendingAgain(part string) (string, error) {
	state, has := r.parts()[part]
	if !has {
		return "", nil
	}
	switch s := state.(type) {
	case *EventState:
		s.State, s.Error = StatePending, ""
	case *CallState:
		s.State, s.Reason, s.Error = StatePending, "", ""
	}
	text, err := exactjson.Encode(state)
	return string(text), err
}
