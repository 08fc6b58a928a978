package docs

import (
	"maps"
	"slices"
	"strings"
)

// The service's own JSON Schemas say more than generators of clients can take: fields that
// are refused with a hint (a schema that is false), lists of types, formats of ours. What
// /openapi.json has is derived from them, so that there is one truth.

// formats are our formats in the words of JSON Schema. What these cannot say stands in
// the description of the field.
var formats = map[string]object{
	"id":            {"pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$"},
	"tool-name":     {"pattern": "^[A-Za-z0-9_-]{1,64}$"},
	"emitter":       {"pattern": `^[A-Za-z0-9][A-Za-z0-9_-]{0,127}\.[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`},
	"message-id":    {"minLength": 1, "maxLength": 128},
	"url":           {"format": "uri"},
	"method":        {"examples": []any{"POST"}},
	"timeout":       {"examples": []any{"10s"}},
	"retry-for":     {"examples": []any{"15m"}},
	"settle":        {"examples": []any{"800ms"}},
	"dedupe-within": {"examples": []any{"10m"}},
	"answer-within": {"examples": []any{"30s"}},
	"key-life":      {"examples": []any{"720h"}},
	"token-life":    {"examples": []any{"30m"}},
	"model":         {"examples": []any{"openai/gpt-4o-mini"}},
}

// addDefinitions makes components of the definitions of a JSON Schema.
func addDefinitions(components, schema object) {
	definitions, _ := schema["$defs"].(object)
	for name, definition := range definitions {
		components[name] = plain(definition)
	}
}

// plain copies a schema in a form that generators take, its references pointing to the
// components.
func plain(value any) any {
	switch value := value.(type) {
	case object:
		return plainObject(value)
	case []any:
		copied := make([]any, len(value))
		for i, part := range value {
			copied[i] = plain(part)
		}
		return copied
	default:
		return value
	}
}

func plainObject(schema object) object {
	copied := object{}
	for key, part := range schema {
		switch text, _ := part.(string); {
		case key == "$ref":
			copied[key] = strings.Replace(text, "#/$defs/", "#/components/schemas/", 1)
		case key == "format" && strings.HasPrefix(text, "earshot-"):
			maps.Copy(copied, formats[strings.TrimPrefix(text, "earshot-")])
		case key == "properties":
			copied[key] = plainProperties(part.(object))
		case key == "x-doc" || key == "x-default": // for the tables of the documents
		default:
			copied[key] = plain(part)
		}
	}
	if copied["enum"] != nil && copied["type"] == nil {
		copied["type"] = "string" // ours are; without a type, generators take them for anything
	}
	splitTypes(copied)
	sayDefault(copied)
	opened(copied)
	return copied
}

// opened says of an object without fields of its own that it may have any: some generators
// would take it for one that is empty.
func opened(schema object) {
	if schema["type"] == "object" && schema["properties"] == nil && schema["additionalProperties"] == nil {
		schema["additionalProperties"] = true
	}
}

// sayDefault puts a default into words: generators would make a field that has one required.
func sayDefault(schema object) {
	value, ok := schema["default"]
	if ok {
		delete(schema, "default")
		schema["description"] = word(schema, "description") + " Default: " + plainText(value) + "."
	}
}

// extend gives components that are said to be another with more fields required the fields
// of that.
func extend(components object) {
	for _, component := range components {
		schema := component.(object)
		name, ok := schema["x-extends"].(string)
		if !ok {
			continue
		}
		delete(schema, "x-extends")
		schema["type"], schema["properties"] = "object", components[name].(object)["properties"]
	}
}

// plainProperties leaves out the fields that are known only to be refused with a hint: no
// other field is taken either.
func plainProperties(properties object) object {
	kept := object{}
	for name, schema := range properties {
		if schema != false {
			kept[name] = plain(schema)
		}
	}
	return kept
}

// splitTypes makes a choice of schemas of several types, each with what belongs to it.
// Null beside one type may stay; beside several it goes, since it means the same as
// leaving the field out.
func splitTypes(schema object) {
	types, _ := schema["type"].([]any)
	kinds := slices.DeleteFunc(slices.Clone(types), func(kind any) bool { return kind == "null" })
	if len(kinds) < 2 {
		return
	}
	var choice []any
	for _, kind := range kinds {
		one := object{"type": kind}
		if kind == "array" {
			one["items"] = schema["items"]
		}
		opened(one)
		choice = append(choice, one)
	}
	delete(schema, "type")
	delete(schema, "items")
	schema["anyOf"] = choice
}
