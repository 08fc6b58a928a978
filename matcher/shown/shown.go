// Package shown lists the parameters of a tool as a model is shown them.
package shown

import (
	"encoding/json"

	"earshot/repositories/exactjson"
	"earshot/repositories/parameters"
	"earshot/repositories/plaintext"
	"earshot/repositories/quantity"
)

// Parameter is a parameter as a model is shown it; the offline matcher sees no
// more of a tool than a model does.
type Parameter struct {
	Name        string
	Type        string
	Description string
	Required    bool
	Allowed     []any // empty where anything goes, or where a pattern is among them
	Min, Max    json.Number
	// Aliases are other words for allowed values, and Unit is what a number counts: a model
	// sees them as a part of the description.
	Aliases []parameters.Alias
	Unit    *quantity.Unit
	// Format is the form of a string's values.
	Format parameters.Format
	Items  *Parameter
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

// Parameters lists the parameters that a matcher may fill, in the order of the definition.
func Parameters(params *parameters.Parameters) []Parameter {
	object, ok := readSchema(params.ModelSchema())
	if !ok {
		return nil
	}
	required := map[string]bool{}
	for _, name := range object.Required {
		required[name] = true
	}
	var list []Parameter
	views := params.List()
	for _, name := range params.Names() {
		property, ok := readSchema(object.Properties[plaintext.Text(name)])
		if !ok {
			continue
		}
		parameter := property.parameter(name)
		parameter.Required = required[plaintext.Text(name)]
		for _, one := range views {
			if one.Name == name {
				parameter.Aliases, parameter.Unit, parameter.Format = one.Aliases, one.Unit, one.Format
			}
		}
		list = append(list, parameter)
	}
	return list
}

func (s schema) parameter(name string) Parameter {
	p := Parameter{Name: name, Type: s.kind(), Description: s.Description, Allowed: s.Enum, Min: s.Minimum, Max: s.Maximum}
	if items, ok := readSchema(s.Items); ok {
		item := items.parameter(name)
		p.Items = &item
	}
	return p
}

// kind is the type; if there are several, as in ["string","null"], the first other than
// null.
func (s schema) kind() string {
	switch kind := s.Type.(type) {
	case string:
		return kind
	case []any:
		for _, one := range kind {
			if text, ok := one.(string); ok && text != "null" {
				return text
			}
		}
	}
	return ""
}

// readSchema reads an object; a JSON Schema may also be a boolean, or have a form
// whose values words cannot give.
func readSchema(raw json.RawMessage) (schema, bool) {
	var read schema
	return read, exactjson.Unmarshal(raw, &read) == nil
}
