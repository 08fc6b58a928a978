package matcher

import (
	"encoding/json"
	"slices"
	"strings"

	"earshot/matcher/text"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/parameters"
	"earshot/repositories/plaintext"
)

// Shown lists the parameters that a matcher may fill, in the order of the definition, as a model is
// shown them: the offline matcher sees no more of a tool than a model does.
func Shown(params *parameters.Parameters) []parameters.Parameter {
	object, ok := readSchema(params.ModelSchema())
	if !ok {
		return nil
	}
	var list []parameters.Parameter
	for _, one := range params.List() {
		name := plaintext.Text(one.Name)
		property, ok := readSchema(object.Properties[name])
		if !ok {
			continue
		}
		shown := property.parameter(one.Name)
		shown.Required = slices.Contains(object.Required, name)
		shown.Aliases, shown.Unit, shown.Format = one.Aliases, one.Unit, one.Format
		list = append(list, shown)
	}
	return list
}

// Limits on the examples that are shown with a tool.
const (
	maxExamples     = 3
	maxExampleBytes = 120
)

// Description is what a model is told of a tool: what it does, and a few of its examples, since what
// a user would say tells a model more.
func Description(of *repositories.Tool) string {
	description, examples := of.Shown(), of.Spoken()
	var quoted []string
	for _, example := range examples[:min(len(examples), maxExamples)] {
		quoted = append(quoted, `"`+text.Clip(plaintext.Text(example), maxExampleBytes)+`"`)
	}
	if len(quoted) > 0 {
		description = strings.TrimSpace(description + "\nA user may say: " + strings.Join(quoted, ", "))
	}
	return description
}

// schema is the part of a model's JSON Schema that is read here.
type schema struct {
	Type        any                        `json:"type"`
	Description string                     `json:"description"`
	Enum        []any                      `json:"enum"`
	Minimum     json.Number                `json:"minimum"`
	Maximum     json.Number                `json:"maximum"`
	Items       json.RawMessage            `json:"items"`
	Properties  map[string]json.RawMessage `json:"properties"`
	Required    []string                   `json:"required"`
}

// readSchema reads an object; a JSON Schema may also be a boolean, or have a form
// whose values words cannot give.
func readSchema(raw json.RawMessage) (schema, bool) {
	var read schema
	return read, exactjson.Unmarshal(raw, &read) == nil
}

func (s schema) parameter(name string) parameters.Parameter {
	p := parameters.Parameter{Name: name, Description: s.Description, Allowed: s.Enum, Min: s.Minimum, Max: s.Maximum}
	switch kind := s.Type.(type) {
	case string:
		p.Type = kind
	case []any: // ["string","null"]
		at := slices.IndexFunc(kind, func(one any) bool {
			text, is := one.(string)
			return is && text != "null"
		})
		if at >= 0 {
			p.Type = kind[at].(string)
		}
	}
	if items, ok := readSchema(s.Items); ok {
		item := items.parameter(name)
		p.Items = &item
	}
	return p
}
