package trigger

import (
	"context"

	"earshot/trigger/effect"
)

// noStatements is the Deliverer of an engine that was given none for SQL tools.
type noStatements struct{}

// Deliver ends the call: a later attempt would meet the same engine.
func (noStatements) Deliver(context.Context, effect.Effect) effect.Outcome {
	return effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Error: "this service runs no statements"}
}
