package repositories

import (
	"bytes"
	"encoding/json"
)

// orderedObject writes a JSON object whose fields keep the order in which they were
// added; a Go map would sort them.
type orderedObject struct{ text bytes.Buffer }

func (o *orderedObject) add(name string, value any) error {
	key, err := Encode(name)
	if err != nil {
		return err
	}
	field, err := Encode(value)
	if err != nil {
		return err
	}
	if o.text.Len() > 0 {
		o.text.WriteByte(',')
	}
	o.text.Write(key)
	o.text.WriteByte(':')
	o.text.Write(field)
	return nil
}

func (o *orderedObject) json() json.RawMessage {
	return json.RawMessage("{" + o.text.String() + "}")
}

// objectKeys returns the keys of a JSON object in the order in which they stand.
func objectKeys(raw []byte) ([]string, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	var keys []string
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		keys = append(keys, name)
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
	}
	return keys, nil
}
