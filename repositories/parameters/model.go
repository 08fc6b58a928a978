package parameters

import (
	"encoding/json"
	"maps"
	"slices"

	"earshot/repositories/exactjson"
	"earshot/repositories/plaintext"
)

// modelObject is the JSON Schema for models.
type modelObject struct {
	Type       string          `json:"type"`
	Properties json.RawMessage `json:"properties"`
	Required   []string        `json:"required,omitempty"`
}

type modelProperty struct {
	Type                 string          `json:"type"`
	Description          string          `json:"description,omitempty"`
	Format               Format          `json:"format,omitempty"`
	Enum                 []any           `json:"enum,omitempty"`
	Minimum              json.RawMessage `json:"minimum,omitempty"`
	Maximum              json.RawMessage `json:"maximum,omitempty"`
	Items                *modelProperty  `json:"items,omitempty"`
	AdditionalProperties any             `json:"additionalProperties,omitempty"`
	Default              any             `json:"default,omitempty"`
}

func listModel(list []*compiledParameter) (json.RawMessage, error) {
	object := modelObject{Type: "object"}
	var properties exactjson.Object
	for _, p := range list {
		if p.hidden() {
			continue
		}
		if err := properties.Add(p.name, p.modelProperty()); err != nil {
			return nil, err
		}
		if p.required {
			object.Required = append(object.Required, p.name)
		}
	}
	object.Properties = properties.JSON()
	raw, err := exactjson.Encode(object)
	return plaintext.JSON(raw), err
}

func (p *compiledParameter) modelProperty() *modelProperty {
	shown := &modelProperty{
		Type:        p.kind.schemaType(),
		Description: p.shownDescription(),
		Format:      p.format,
		Enum:        p.literals(),
	}
	if p.least != nil {
		shown.Minimum = json.RawMessage(p.least.given)
	}
	if p.most != nil {
		shown.Maximum = json.RawMessage(p.most.given)
	}
	if p.items != nil {
		shown.Items = p.items.modelProperty()
	}
	switch {
	case p.values != nil:
		shown.AdditionalProperties = map[string]string{"type": p.values.kind.schemaType()}
	case p.kind.mapping():
		shown.AdditionalProperties = true
	}
	if p.fallback != nil {
		shown.Default = p.fallback.given
	}
	return shown
}

// schemaModel renders a JSON Schema without hidden parameters, $schema and $id, which providers refuse.
func schemaModel(document map[string]any, list []*compiledParameter) json.RawMessage {
	shown := maps.Clone(document)
	delete(shown, "$schema")
	delete(shown, "$id")
	shown["type"] = "object"
	properties, _ := document["properties"].(map[string]any)
	names := requiredNames(document)
	var ordered exactjson.Object
	var required []string // in order, without hidden ones
	for _, p := range list {
		if (names[p.name] || p.inPath && p.required) && !p.hidden() {
			required = append(required, p.name)
		}
		delete(names, p.name)
		if !p.hidden() && ordered.Add(p.name, p.withoutListFields(properties[p.name])) != nil {
			return nil
		}
	}
	shown["properties"] = ordered.JSON()
	delete(shown, "required")
	if required = append(required, slices.Sorted(maps.Keys(names))...); len(required) > 0 {
		shown["required"] = required
	}
	raw, err := exactjson.Encode(shown)
	if err != nil {
		return nil
	}
	return plaintext.JSON(raw)
}

// withoutListFields removes the fields of the lists, and adds the relevant ones to the description.
func (p *compiledParameter) withoutListFields(property any) any {
	given, ok := property.(map[string]any)
	if !ok {
		return property
	}
	shown := maps.Clone(given)
	for _, word := range []string{"ignore", "grounded", "ask"} {
		delete(shown, word)
	}
	if p.unit != nil || p.aliases != nil {
		shown["description"] = p.shownDescription()
	}
	if p.unit != nil {
		delete(shown, "unit")
	}
	if p.aliases != nil {
		delete(shown, "aliases")
	}
	if p.items != nil {
		shown["items"] = p.items.withoutListFields(shown["items"])
	}
	return shown
}

func requiredNames(document map[string]any) map[string]bool {
	names := map[string]bool{}
	list, _ := document["required"].([]any)
	for _, item := range list {
		if name, ok := item.(string); ok {
			names[name] = true
		}
	}
	return names
}
