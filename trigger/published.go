package trigger

import "encoding/json"

// Published is an event as the stream holds it. It is the same for all who read it and
// must not be changed.
type Published struct {
	// Sequence is the event's place in the stream. It grows, with gaps.
	Sequence uint64
	Subject  string
	// SessionID is the session that it is of; empty without one.
	SessionID string
	Data      json.RawMessage
}
