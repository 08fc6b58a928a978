package provider

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"earshot/matcher/llm/arguments"
)

// Subset is the part of JSON Schema that a provider accepts: keywords, and values of the
// keyword format.
type Subset struct {
	Keywords []string
	Formats  []string
}

// The keywords whose values are schemas, in each form.
var (
	schemaMaps  = []string{"properties", "$defs"}
	schemaLists = []string{"anyOf", "oneOf", "allOf", "prefixItems"}
	schemaOnes  = []string{"items", "additionalProperties", "not"}
	// toldInWords are rules that a model can follow when it reads them in a description.
	toldInWords = []string{
		"const", "default", "enum", "exclusiveMaximum", "exclusiveMinimum", "format", "maxItems", "maxLength",
		"maximum", "minItems", "minLength", "minimum", "multipleOf", "pattern", "uniqueItems",
	}
)

// Reduce reduces a schema to the subset. Rules that are left out are added to the
// description if words can express them; arguments are always checked against the whole
// schema. Numbers keep their digits.
func (s Subset) Reduce(schema json.RawMessage) json.RawMessage {
	value, err := arguments.Decode(string(schema))
	if err != nil {
		return schema // it is our own and was compiled from what it says
	}
	return json.RawMessage(arguments.Encode(s.reduced(value)))
}

func (s Subset) reduced(value any) any {
	object, is := value.(map[string]any)
	if !is {
		return value // true or false
	}
	kept, said := map[string]any{}, []string{}
	for _, keyword := range slices.Sorted(maps.Keys(object)) {
		_, refers := object["$ref"]
		switch inner := object[keyword]; {
		case refers && !strings.HasPrefix(keyword, "$"):
			// Providers that accept a reference want it without other keywords.
		case s.takes(keyword, inner):
			kept[keyword] = s.inner(keyword, inner)
		case slices.Contains(toldInWords, keyword):
			said = append(said, keyword+" "+inWords(inner))
		}
	}
	if len(said) > 0 {
		text, _ := kept["description"].(string)
		kept["description"] = strings.TrimSpace(text + " (" + strings.Join(said, ", ") + ")")
	}
	return kept
}

// inWords shows a value in a description.
func inWords(value any) string {
	if text, is := value.(string); is {
		return text
	}
	return arguments.Encode(value)
}

func (s Subset) takes(keyword string, value any) bool {
	switch keyword {
	case "format":
		name, _ := value.(string)
		return slices.Contains(s.Formats, name)
	case "enum":
		list, _ := value.([]any)
		return !slices.ContainsFunc(list, func(one any) bool {
			_, text := one.(string)
			_, number := one.(json.Number)
			return !text && !number
		})
	default:
		return slices.Contains(s.Keywords, keyword)
	}
}

// inner reduces the schemas within a keyword's value.
func (s Subset) inner(keyword string, value any) any {
	switch {
	case slices.Contains(schemaOnes, keyword):
		return s.reduced(value)
	case slices.Contains(schemaMaps, keyword):
		if named, is := value.(map[string]any); is {
			for name, one := range named {
				named[name] = s.reduced(one)
			}
		}
	case slices.Contains(schemaLists, keyword):
		if list, is := value.([]any); is {
			for i, one := range list {
				list[i] = s.reduced(one)
			}
		}
	}
	return value
}
