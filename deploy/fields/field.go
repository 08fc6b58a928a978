package main

import (
	"encoding/json"
	"slices"
	"strings"

	"earshot/repositories/exactjson"
)

// field is the schema of a field, or of a whole definition, as far as the files depend on it.
type field struct {
	name     string
	required bool
	refused  bool // the schema is false
	types    []string
	fields   []*field // of an object, in their order

	Ref         string
	Format      string
	Description string
	Doc         string `json:"x-doc"`
	Absent      string `json:"x-default"`
	Default     any
	ReadOnly    bool
	Enum        []string
	Minimum     json.Number
	Maximum     json.Number
	MaxLength   json.Number
	MaxItems    json.Number
	Items       *field
	Values      *field `json:"additionalProperties"`
}

// UnmarshalJSON reads a schema: true, false or an object.
func (f *field) UnmarshalJSON(text []byte) error {
	if text[0] != '{' {
		f.refused = string(text) == "false"
		return nil
	}
	type plain field
	given := struct {
		*plain
		Ref        string `json:"$ref"`
		Type       any
		Required   []string
		Properties json.RawMessage
	}{plain: (*plain)(f)}
	if err := json.Unmarshal(text, &given); err != nil {
		return err
	}
	f.Ref = given.Ref[strings.LastIndexByte(given.Ref, '/')+1:]
	if f.Values != nil && (f.Values.refused || f.Values.empty()) {
		f.Values = nil
	}
	switch types := given.Type.(type) {
	case string:
		f.types = []string{types}
	case []any:
		for _, one := range types {
			f.types = append(f.types, one.(string))
		}
	}
	var err error
	f.fields, err = inOrder(given.Properties)
	for _, one := range f.fields {
		one.required = slices.Contains(given.Required, one.name)
	}
	return err
}

func (f *field) empty() bool { return f.types == nil && f.Ref == "" && f.Enum == nil }

// is reports whether the field takes values of one type alone, null aside.
func (f *field) is(name string) bool {
	return slices.Contains(f.types, name) && len(f.types) == 1+len(slices.DeleteFunc(slices.Clone(f.types), func(one string) bool { return one != "null" }))
}

// durations are the formats of texts such as 10s.
var durations = []string{"timeout", "refresh", "retry-for", "settle", "dedupe-within", "answer-within", "session-life", "key-life", "token-life"}

func (f *field) isDuration() bool {
	return slices.Contains(durations, strings.TrimPrefix(f.Format, "earshot-"))
}

func read(schema []byte) ([]*field, error) {
	var document struct {
		Definitions json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(schema, &document); err != nil {
		return nil, err
	}
	return inOrder(document.Definitions)
}

func inOrder(object json.RawMessage) ([]*field, error) {
	if object == nil {
		return nil, nil
	}
	names, err := exactjson.Keys(object)
	if err != nil {
		return nil, err
	}
	byName := map[string]*field{}
	if err := json.Unmarshal(object, &byName); err != nil {
		return nil, err
	}
	list := make([]*field, len(names))
	for i, name := range names {
		list[i] = byName[name]
		list[i].name = name
	}
	return list, nil
}

func find(list []*field, name string) *field {
	i := slices.IndexFunc(list, func(one *field) bool { return one.name == name })
	if i < 0 {
		return nil
	}
	return list[i]
}
