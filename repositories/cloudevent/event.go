// Package cloudevent is an event for NATS JetStream, with its size limit.
package cloudevent

import (
	"encoding/json"
	"time"

	"earshot/repositories/exactjson"
)

// Event is an event in the ledger: CloudEvents 1.0 in binary mode, with attributes as headers and Data as payload.
type Event struct {
	Subject string          `json:"subject"`
	ID      string          `json:"id"`     // ce-id
	Type    string          `json:"type"`   // ce-type
	Source  string          `json:"source"` // ce-source
	Time    time.Time       `json:"time"`   // ce-time
	Data    json.RawMessage `json:"data"`
	// TraceParent continues the trace of the causing request (W3C Trace Context); may be empty.
	TraceParent string `json:"traceparent,omitempty"`
}

// MaxPayload bounds the payload of an event, in bytes. NATS limits messages to 1 MiB by default, including headers.
const MaxPayload = 1<<20 - 16<<10

// EncodeWithin encodes the first of the forms of a payload within MaxPayload, or else the last one. cut reports
// whether it is not the first.
func EncodeWithin(forms ...any) (data []byte, cut bool, err error) {
	for i, form := range forms {
		data, err = exactjson.Encode(form)
		if err != nil || len(data) <= MaxPayload || i == len(forms)-1 {
			return data, i > 0, err
		}
	}
	return nil, false, nil
}
