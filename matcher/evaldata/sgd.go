package evaldata

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// sgdCase is a line of the cases that are made of the Schema-Guided Dialogue dataset.
type sgdCase struct {
	ID      string    `json:"id"`
	Tools   []any     `json:"tools"`
	History []Message `json:"history"`
	Expect  struct {
		Tool     string          `json:"tool"`
		Values   map[string]any  `json:"values"`
		Grounded map[string]bool `json:"grounded"`
		Intent   string          `json:"intent"`
		// Partial lists the accepted forms of each value that was said, all as text.
		Partial map[string][]string `json:"partial"`
	} `json:"expect"`
}

// SGD reads dialogues with tools in the form of SERMAS. Today is Friday 2019-03-01 in
// all of them.
func SGD(t testing.TB) []Case {
	t.Helper()
	return cases[sgdCase](t, "sgd", "cases.jsonl")
}

func (c sgdCase) read() Case {
	read := Case{ID: c.ID, Tools: c.Tools, Messages: c.History}
	if c.Expect.Tool != "" {
		call := Call{Name: c.Expect.Tool, Values: c.Expect.Values}
		read.Calls = []Call{call}
		if len(read.Missing(call)) > 0 {
			read.Contradiction = "the expected call lacks a value that the tool requires"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Expect.Grounded)) {
		if c.Expect.Grounded[name] {
			read.Grounded = append(read.Grounded, name)
		}
	}
	if c.Expect.Intent != "" {
		read.Unfinished = &Call{Name: c.Expect.Intent, Values: map[string]any{}}
		for _, p := range read.parameters(c.Expect.Intent) {
			if forms := c.Expect.Partial[p.name]; len(forms) > 0 {
				read.Unfinished.Values[p.name] = p.typed(forms[0])
			}
		}
	}
	return read
}

// parameter is what the definitions of SGD say of one.
type parameter struct {
	name, kind string
	required   bool
	allowed    []any
}

// parameters lists those of a tool in the order of their definition.
func (c Case) parameters(tool string) []parameter {
	schema, _ := c.definition(tool)["schema"].([]any)
	var list []parameter
	for _, entry := range schema {
		field := entry.(map[string]any)
		p := parameter{}
		p.name, _ = field["parameter"].(string)
		p.kind, _ = field["type"].(string)
		p.required, _ = field["required"].(bool)
		p.allowed, _ = field["allowedValues"].([]any)
		list = append(list, p)
	}
	return list
}

// typed reads a value that stands as text in the file.
func (p parameter) typed(text string) any {
	switch p.kind {
	case "integer", "number", "float":
		return json.Number(text)
	case "boolean":
		return strings.EqualFold(text, "true")
	}
	return text
}

// anything is some value that the parameter takes.
func (p parameter) anything() any {
	switch {
	case len(p.allowed) > 0:
		return p.allowed[len(p.allowed)-1]
	case p.kind == "string":
		return "a value for " + p.name
	case p.kind == "boolean":
		return true
	}
	return json.Number("4")
}

// Missing names the required parameters that a call of a tool with a schema lacks, in
// the order of their definition.
func (c Case) Missing(call Call) []string {
	var names []string
	for _, p := range c.parameters(call.Name) {
		if _, given := call.Values[p.name]; p.required && !given {
			names = append(names, p.name)
		}
	}
	return names
}

// Rest is what is missing of a call, with values that its tool takes; nobody said them.
func (c Case) Rest(call Call) Call {
	rest := Call{Name: call.Name, Values: map[string]any{}}
	missing := c.Missing(call)
	for _, p := range c.parameters(call.Name) {
		if slices.Contains(missing, p.name) {
			rest.Values[p.name] = p.anything()
		}
	}
	return rest
}
