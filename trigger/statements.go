package trigger

import "context"

// noStatements is the Deliverer of an engine that was given none for SQL tools.
type noStatements struct{}

// Deliver ends the call: a later attempt would meet the same engine.
func (noStatements) Deliver(context.Context, Effect) Outcome {
	return Outcome{Verdict: Dead, Reason: ReasonRequest, Error: "this service runs no statements"}
}
