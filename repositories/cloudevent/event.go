// Package cloudevent is an event on its way to NATS JetStream, and how long it may be.
package cloudevent

import (
	"encoding/json"
	"time"

	"earshot/repositories/exactjson"
)

// Event is an event as the ledger keeps it: CloudEvents 1.0 in binary mode, where
// the attributes are headers and Data is the payload.
type Event struct {
	Subject string          `json:"subject"`
	ID      string          `json:"id"`     // ce-id
	Type    string          `json:"type"`   // ce-type
	Source  string          `json:"source"` // ce-source
	Time    time.Time       `json:"time"`   // ce-time
	Data    json.RawMessage `json:"data"`
	// TraceParent continues the trace of the request that led here (W3C Trace
	// Context); may be empty.
	TraceParent string `json:"traceparent,omitempty"`
}

// MaxPayload is the longest payload of an event, in bytes. NATS takes messages of 1 MiB
// by default, headers included.
const MaxPayload = 1<<20 - 16<<10

// EncodeWithin encodes the first of the forms of a payload that is no longer than
// MaxPayload, or else the last one. It reports whether that is another than the
// first.
func EncodeWithin(forms ...any) (data []byte, cut bool, err error) {
	for i, form := range forms {
		data, err = exactjson.Encode(form)
		if err != nil || len(data) <= MaxPayload || i == len(forms)-1 {
			return data, i > 0, err
		}
	}
	return nil, false, nil
}
