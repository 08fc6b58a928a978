package trigger

import (
	"errors"
	"fmt"

	"earshot/repositories/parameters"
)

var (
	// ErrNotInScope means that no tool of that name can be fired there: there is
	// none, it is another session's, or its triggerOnce repository was just taken.
	ErrNotInScope = errors.New("no such tool is in scope")
	// ErrNotFound means that there is no trigger of that id in the app.
	ErrNotFound = errors.New("no such trigger")
	// ErrConflict means that the idempotency key belongs to another trigger.
	ErrConflict = errors.New("the triggerId belongs to another trigger")
	// ErrReused means that the idempotency key of a message belongs to another one.
	ErrReused = errors.New("belongs to another message of the session, with another text or actor: send this one under an id of its own")
	// ErrClosed means that the session was closed while the message was matched.
	ErrClosed = errors.New("the session was closed")
)

// ValuesError means that a program's values do not fit the tool.
type ValuesError struct {
	Name   string
	Faults []parameters.ValueFault
}

// Error names the tool and its first fault.
func (e *ValuesError) Error() string {
	return fmt.Sprintf("the values for tool %q are at fault: %s %s", e.Name, e.Faults[0].Parameter, e.Faults[0].Detail)
}
