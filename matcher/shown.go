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

// Shown lists the parameters that a matcher may fill, in the definition's order and as a model sees them: the
// offline matcher sees no more of a tool than a model.
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
		shown.Spelled, shown.Aliases, shown.Unit, shown.Format = one.Spelled, one.Aliases, one.Unit, one.Format
		if one.Format != "" {
			shown.Type = one.Type // the schema may have it behind a $ref
		}
		list = append(list, shown)
	}
	return list
}

// Limits of the examples in a tool's description.
const (
	maxExamples     = 3
	maxExampleBytes = 120
)

// Description returns a tool's description for models, with a few examples of users' words.
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

// Samples lists the texts that represent a tool: its name, its description and at most most of its examples.
func Samples(tool *repositories.Tool, most int) []string {
	samples := []string{text.Identifier(tool.Name)}
	if tool.Description != "" {
		samples = append(samples, tool.Description)
	}
	return append(samples, tool.Spoken()[:min(len(tool.Spoken()), most)]...)
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

// readSchema reads a schema; false for a boolean, or a form that words cannot fill.
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
