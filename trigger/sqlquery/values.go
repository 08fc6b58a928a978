package sqlquery

import (
	"bytes"
	"encoding/json"
	"time"
)

// instant writes a time as RFC 3339 in UTC, a date as its full-date.
func instant(at time.Time, date bool) json.RawMessage {
	if date {
		return text(at.Format(time.DateOnly))
	}
	return text(at.UTC().Format(time.RFC3339Nano))
}

// compact writes a valid JSON text without the spaces between its parts.
func compact(valid string) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, []byte(valid)) != nil {
		return text(valid)
	}
	return b.Bytes()
}
