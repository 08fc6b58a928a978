package repositories

import (
	"bytes"
	"encoding/json"
)

// Encode writes a value as JSON for events, records and answers. Unlike json.Marshal it
// leaves & < > as they are: nothing of that is put into a page, and a text of them would
// be six times as long as what was said.
func Encode(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

// MostPayload is the longest payload of an event, in bytes. NATS takes messages of 1 MiB
// where it is not told otherwise, headers included.
const MostPayload = 1<<20 - 16<<10

// EncodeWithin encodes the first of the forms of a payload that is no longer than
// MostPayload, and the last one in any case. It reports whether that is another than the
// first.
func EncodeWithin(forms ...any) (data []byte, cut bool, err error) {
	for i, form := range forms {
		data, err = Encode(form)
		if err != nil || len(data) <= MostPayload || i == len(forms)-1 {
			return data, i > 0, err
		}
	}
	return nil, false, nil
}
