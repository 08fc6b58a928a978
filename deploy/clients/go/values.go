package earshot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Values are those of a tool's parameters, by their names. Numbers are json.Number, with the digits that were sent.
type Values map[string]any

// Into reads the values into a struct, by its JSON tags.
func (v Values) Into(target any) error {
	text, err := json.Marshal(v)
	if err == nil {
		err = decode(text, target)
	}
	if err != nil {
		return fmt.Errorf("earshot: the values do not fit: %w", err)
	}
	return nil
}

// Duration is a time.Duration that is "800ms" or "10m" in JSON.
type Duration time.Duration

// MarshalText writes what time.ParseDuration reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// Ptr returns a pointer to a value, for fields in which false and nothing differ.
func Ptr[T any](value T) *T { return &value }

// FunctionTool is an entry of the tools in a request to a model: {"type":"function","function":{…}}.
type FunctionTool struct {
	Type     string   `json:"type"`
	Function Function `json:"function"`
}

// NewTool makes a tool of a function that was defined for a model.
func NewTool(function Function) Tool {
	return Tool{Name: function.Name, Description: function.Description, Parameters: function.Parameters}
}

// UnmarshalJSON keeps a JSON Schema in Parameters as json.RawMessage: the order of its properties matters to a model.
func (t *Tool) UnmarshalJSON(text []byte) error {
	type plain Tool
	given := struct {
		*plain
		Parameters json.RawMessage `json:"parameters"`
	}{plain: (*plain)(t)}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&given); err != nil {
		return err
	}
	if t.Parameters = nil; len(given.Parameters) > 0 {
		t.Parameters = given.Parameters
	}
	return nil
}

// ValueFault is what is wrong with one value.
type ValueFault struct {
	Parameter string `json:"parameter"` // empty for the values as a whole
	Detail    string `json:"detail"`
}

// Evidence is a place in the conversation.
type Evidence struct {
	MessageID string `json:"messageId,omitempty"` // empty for the message that led here
	Words     string `json:"words"`
}

func spoken(raw json.RawMessage) string {
	var said string
	if json.Unmarshal(raw, &said) == nil {
		return said // null is no text
	}
	return string(raw)
}

// Text is the reply for people: a text as it is, a result as JSON, empty if there is none.
func (a *Answer) Text() string { return spoken(a.Reply) }

// Text is the result for people: a text as it is, anything else as JSON, empty if there is none.
func (c *CallState) Text() string { return spoken(c.Result) }
