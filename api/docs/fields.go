package docs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// row is one field of a body, or one parameter, as the page shows it.
type row struct {
	Name        string // with the objects around it: prompt.text
	In          string // of a parameter: path, query or header
	Type        string
	Schema      string // what the type refers to, where it has a section of its own
	Required    bool
	Limits      []string
	Description string
	Value       string // of a parameter: what the form begins with
}

// reader reads a description, and resolves the references in it.
type reader struct {
	document object
	order    order
}

// follow returns an object, behind its reference where it is one.
func (r reader) follow(value any) object {
	found, _ := value.(object)
	text, ok := found["$ref"].(string)
	if !ok {
		return found
	}
	target := any(r.document)
	for token := range strings.SplitSeq(strings.TrimPrefix(text, "#/"), "/") {
		target = target.(object)[token]
	}
	return r.follow(target)
}

// rows lists the fields of an object, those of objects that stand in it among them.
func (r reader) rows(schema any, within string) []row {
	of := r.follow(schema)
	properties, _ := of["properties"].(object)
	required, _ := of["required"].([]any)
	var found []row
	for _, name := range r.order.keys(properties, required) {
		property, _ := properties[name].(object)
		one := r.row(property)
		one.Name, one.Required = within+name, slices.Contains(required, any(name))
		found = append(found, one)
		if one.Schema == "" {
			found = append(found, r.rows(inner(property), within+name+suffix(property))...)
		}
	}
	return found
}

// row describes a property by its own words and by those of what it refers to.
func (r reader) row(property object) row {
	of := r.follow(property)
	label, name := r.typeOf(property)
	described := word(property, "description")
	if described == "" {
		described = word(of, "description")
	}
	return row{Type: label, Schema: name, Limits: limitsOf(of), Description: described}
}

// inner is what the fields of a property are looked for in: itself, the items of a list,
// the values of a map.
func inner(property object) any {
	for _, key := range []string{"items", "additionalProperties"} {
		if of, ok := property[key].(object); ok && of["$ref"] == nil {
			return of
		}
	}
	return property
}

func suffix(property object) string {
	switch {
	case property["items"] != nil:
		return "[]."
	case property["properties"] == nil:
		return ".*."
	}
	return "."
}

// typeOf names the type of a schema, and the schema that it refers to, if any.
func (r reader) typeOf(schema object) (label, name string) {
	if text, ok := schema["$ref"].(string); ok {
		name = text[strings.LastIndex(text, "/")+1:]
		if r.follow(schema)["properties"] == nil {
			label, _ = r.typeOf(r.follow(schema))
			return label, ""
		}
		return name, name
	}
	if choice, ok := schema["anyOf"].([]any); ok {
		return r.choice(choice)
	}
	kinds := kindsOf(schema)
	if items, ok := schema["items"].(object); ok && len(items) > 0 {
		label, name = r.typeOf(items)
		return strings.Replace(strings.Join(kinds, " or "), "array", "array of "+label, 1), name
	}
	if values, ok := schema["additionalProperties"].(object); ok && schema["properties"] == nil {
		label, name = r.typeOf(values)
		return strings.Replace(strings.Join(kinds, " or "), "object", "object of "+label, 1), name
	}
	return strings.Join(kinds, " or "), ""
}

func (r reader) choice(of []any) (label, name string) {
	var labels []string
	for _, one := range of {
		text, to := r.typeOf(one.(object))
		if labels = append(labels, text); name == "" {
			name = to
		}
	}
	return strings.Join(labels, " or "), name
}

func kindsOf(schema object) []string {
	switch kind := schema["type"].(type) {
	case string:
		return []string{kind}
	case []any:
		var kinds []string
		for _, one := range kind {
			kinds = append(kinds, fmt.Sprint(one))
		}
		return kinds
	}
	return []string{"any"}
}

// limitsOf says what bounds a value, and what it is where it is missing. Which characters it
// may have stands in the descriptions, in fewer words than a pattern needs.
func limitsOf(schema object) []string {
	var limits []string
	if values, ok := schema["enum"].([]any); ok {
		limits = append(limits, oneOf(values))
	}
	for _, limit := range []struct{ key, words string }{
		{"minimum", "at least %s"}, {"maximum", "at most %s"}, {"minLength", "at least %s characters"}, {"maxLength", "at most %s characters"},
		{"minItems", "at least %s"}, {"maxItems", "at most %s of them"}, {"format", "%s"}, {"default", "default %s"},
	} {
		if value, ok := schema[limit.key]; ok {
			limits = append(limits, fmt.Sprintf(limit.words, plainText(value)))
		}
	}
	return limits
}

func oneOf(values []any) string {
	var texts []string
	for _, value := range values {
		texts = append(texts, plainText(value))
	}
	return strings.Join(texts, ", ")
}

// plainText writes a value as people do: numbers without an exponent, texts unquoted.
func plainText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, _ := json.Marshal(value) // it came from JSON
	return string(text)
}

func word(from object, key string) string {
	text, _ := from[key].(string)
	return text
}
