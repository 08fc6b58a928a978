package files

import (
	"cmp"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"earshot/repositories/fault"
	"earshot/repositories/parameters"
)

// Bounds of what is said of a schema.
const (
	maxAllOf       = 16   // schemas within each other by allOf, oneOf and anyOf
	maxNested      = 3    // lists of lists
	maxMembers     = 40   // that are told of an object
	maxDescribed   = 2000 // bytes of a description
	maxEnumEntries = 500
)

// schema is what a parameter can carry of a JSON Schema.
type schema struct {
	kind        string // of a parameter; empty for anything
	description string
	format      string
	hints       []string // what no field of a parameter says
	members     []field
	required    map[string]bool
	enum        []*node
	byDefault   *node
	least, most *node
	items       *node
	extra       *node // additionalProperties
	readOnly    bool
}

// schemaOf reads a schema with all that it refers to.
func (im *openapi) schemaOf(from *node) schema {
	s := schema{required: map[string]bool{}}
	im.merge(&s, from, 0)
	if s.kind == "" {
		s.kind = s.guessed()
	}
	return s
}

// guessed is the kind of a schema that does not say it.
func (s *schema) guessed() string {
	switch {
	case len(s.members) > 0 || s.extra != nil:
		return "object"
	case s.items != nil:
		return "array"
	case len(s.enum) > 0 && s.enum[0].kind == number:
		return "number"
	case len(s.enum) > 0 && s.enum[0].kind == boolean:
		return "boolean"
	}
	return ""
}

// merge adds what a schema says; what was said first holds.
func (im *openapi) merge(s *schema, from *node, depth int) {
	if from == nil || depth > maxAllOf {
		return
	}
	if said, is := from.get("description").scalarText(); is && s.description == "" { // beside a reference
		s.description = said
	}
	n := im.resolved(from)
	if n == nil || n.kind != object {
		return
	}
	if said, is := n.get("description").scalarText(); is {
		s.description = cmp.Or(s.description, said)
	}
	s.kind = cmp.Or(s.kind, kindIn(n.get("type")))
	s.take(n)
	if parts := n.get("allOf"); parts != nil {
		for _, part := range parts.items {
			im.merge(s, part, depth+1)
		}
	}
	im.choose(s, n, depth)
}

// take adds what the schema itself says.
func (s *schema) take(n *node) {
	if members := n.get("properties"); members != nil && members.kind == object {
		for _, member := range members.fields {
			if !slices.ContainsFunc(s.members, func(f field) bool { return f.name == member.name }) {
				s.members = append(s.members, member)
			}
		}
	}
	if required := n.get("required"); required != nil {
		for _, name := range required.items {
			s.required[name.text] = true
		}
	}
	if all := n.get("enum"); all != nil && s.enum == nil {
		s.enum = slices.DeleteFunc(slices.Clone(all.items), func(one *node) bool { return one.kind == null })
	}
	if one := n.get("const"); one != nil && s.enum == nil {
		s.enum = []*node{one}
	}
	if extra := n.get("additionalProperties"); extra != nil && extra.kind == object {
		s.extra = extra
	}
	s.items = cmp.Or(s.items, n.get("items"))
	s.byDefault = cmp.Or(s.byDefault, n.get("default"))
	s.readOnly = s.readOnly || isOn(n.get("readOnly"))
	if said, is := n.get("format").scalarText(); is {
		s.format = cmp.Or(s.format, said)
	}
	s.bounds(n)
	s.hint(n)
}

func isOn(n *node) bool { return n != nil && n.kind == boolean && n.text == "true" }

// kindIn reads type, of which version 3.1 may have several; null is none.
func kindIn(n *node) string {
	kinds := []*node{n}
	if n != nil && n.kind == list {
		kinds = n.items
	}
	for _, one := range kinds {
		if name, is := one.scalarText(); is && slices.Contains([]string{"string", "number", "integer", "boolean", "array", "object"}, name) {
			return name
		}
	}
	return ""
}

// bounds reads the bounds of a number. Those of parameters include the number itself.
func (s *schema) bounds(n *node) {
	s.least = cmp.Or(s.least, numberIn(n, "minimum", "exclusiveMinimum", s, "more than", 1))
	s.most = cmp.Or(s.most, numberIn(n, "maximum", "exclusiveMaximum", s, "less than", -1))
}

// numberIn returns a bound. One that is exclusive is moved by one for integers; for others it
// is a hint. In version 3.0 exclusive is a flag.
func numberIn(n *node, name, exclusive string, s *schema, hint string, step int64) *node {
	bound, strict := n.get(name), n.get(exclusive)
	switch {
	case strict != nil && strict.kind == number:
		bound = strict
	case !isOn(strict) || bound == nil:
		if bound == nil || bound.kind != number {
			return nil
		}
		return bound
	}
	whole, is := new(big.Int).SetString(bound.text, 10)
	if kindIn(n.get("type")) == "integer" && is {
		moved := *bound
		moved.text = whole.Add(whole, big.NewInt(step)).String()
		return &moved
	}
	s.hints = append(s.hints, hint+" "+bound.text)
	return nil
}

// hint notes what no field of a parameter says, for the model.
func (s *schema) hint(n *node) {
	for _, one := range []struct{ name, words string }{
		{"pattern", "matches %s"}, {"minLength", "at least %s characters"}, {"maxLength", "at most %s characters"},
		{"minItems", "at least %s"}, {"maxItems", "at most %s"}, {"multipleOf", "a multiple of %s"},
	} {
		value, is := n.get(one.name).scalarText()
		if given := n.get(one.name); !is && given != nil && given.kind == number {
			value, is = given.text, true
		}
		if is {
			s.hints = append(s.hints, fmt.Sprintf(one.words, fault.Clip(value)))
		}
	}
}

// choose reads oneOf and anyOf. What is left beside null holds; of several the first does, and
// fixed values of all are an enum.
func (im *openapi) choose(s *schema, n *node, depth int) {
	for _, name := range []string{"oneOf", "anyOf"} {
		choices := n.get(name)
		if choices == nil || choices.kind != list {
			continue
		}
		var left []*node
		for _, one := range choices.items {
			if kind, _ := im.resolved(one).get("type").scalarText(); kind != "null" {
				left = append(left, one)
			}
		}
		fixed := []*node{}
		for _, one := range left {
			if value := im.resolved(one).get("const"); value != nil {
				fixed = append(fixed, value)
			}
		}
		switch {
		case len(left) == 0:
		case len(fixed) == len(left) && s.enum == nil:
			s.enum = fixed
		default:
			im.merge(s, left[0], depth+1)
			if len(left) > 1 {
				s.hints = append(s.hints, "or of "+plural(len(left)-1, "other form"))
			}
		}
	}
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}

// parameter is a parameter, as the lists of http tools have them.
type parameter struct {
	name     string
	schema   schema
	words    string // its description; that of the schema where it is empty
	required bool
	loose    bool // without rules: what the document says of them cannot be kept
}

// definition writes a parameter.
func (im *openapi) definition(p parameter) *node {
	made := newObject(im.root.at)
	im.set(made, "name", p.name)
	im.rules(made, p.schema, cmp.Or(p.words, p.schema.description, words(p.name)), p.loose, 0)
	if !p.required {
		made.add("required", im.root.at, &node{kind: boolean, text: "false", at: im.root.at})
	}
	return made
}

// words makes a description of a name.
func words(name string) string {
	return strings.TrimSpace(strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' }), " "))
}

// rules writes what a value may be.
func (im *openapi) rules(made *node, s schema, description string, loose bool, depth int) {
	kind := cmp.Or(s.kind, "string")
	im.set(made, "type", kind)
	if kind == "object" {
		if inside := im.members(s, 0); inside != "" {
			description = strings.TrimSpace(description) + " (an object with " + inside + ")"
		}
	}
	kept := !loose && depth == 0 && s.keepsFormat(kind)
	if s.format != "" && !kept && !slices.Contains([]string{"int32", "int64", "float", "double"}, s.format) {
		s.hints = slices.Insert(slices.Clone(s.hints), 0, "format "+fault.Clip(s.format))
	}
	if len(s.hints) > 0 {
		description = strings.TrimSpace(description) + " (" + strings.Join(s.hints, ", ") + ")"
	}
	im.set(made, "description", cmp.Or(clipped(unfilled(description), maxDescribed), "-"))
	if kind == "array" {
		made.add("items", im.root.at, im.itemsOf(s, loose, depth))
	}
	if loose {
		return
	}
	if kept {
		im.set(made, "format", s.format)
	}
	im.values(made, s, kind)
}

// keepsFormat reports whether a parameter can have the format: it is one of those that are checked, and the
// schema's own values are of it.
func (s *schema) keepsFormat(kind string) bool {
	format := parameters.Format(s.format)
	if kind != "string" || len(s.enum) > 0 || !format.Known() {
		return false
	}
	given, is := s.byDefault.scalarText()
	return s.byDefault == nil || is && format.Flaw(given) == ""
}

// itemsOf writes what the members of a list are.
func (im *openapi) itemsOf(s schema, loose bool, depth int) *node {
	items := newObject(im.root.at)
	inner := im.schemaOf(s.items)
	if depth >= maxNested {
		inner = schema{kind: "object"}
	}
	inner.byDefault = nil
	im.rules(items, inner, cmp.Or(inner.description, "a member"), loose, depth+1)
	return items
}

// values writes which values are allowed, and which one is there without any.
func (im *openapi) values(made *node, s schema, kind string) {
	if allowed := allowedOf(s.enum, kind); len(allowed) > 0 {
		made.add("allowedValues", im.root.at, &node{kind: list, items: allowed})
	}
	if kind == "integer" || kind == "number" {
		if s.least != nil {
			made.add("minValue", im.root.at, s.least)
		}
		if s.most != nil {
			made.add("maxValue", im.root.at, s.most)
		}
	}
	if fits(s.byDefault, kind) {
		made.add("default", im.root.at, withoutVariables(s.byDefault))
	}
}

// fits reports whether a scalar is of a kind.
func fits(value *node, kind string) bool {
	if value == nil {
		return false
	}
	switch kind {
	case "string":
		return value.kind == text
	case "boolean":
		return value.kind == boolean
	case "number":
		return value.kind == number
	case "integer":
		_, err := strconv.ParseInt(value.text, 10, 64)
		return value.kind == number && err == nil
	}
	return false
}

// allowedOf are the values of an enum as an allow-list has them: a text that means something
// else as a regular expression is written so that it means itself.
func allowedOf(enum []*node, kind string) []*node {
	var allowed []*node
	for _, one := range enum[:min(len(enum), maxEnumEntries)] {
		if kind == "string" && one.kind != text && one.unquoted != "" { // a version, a year
			one = newText(one.unquoted, one.at)
		}
		if !fits(one, kind) {
			continue
		}
		if literal := regexp.QuoteMeta(one.text); one.kind == text && strings.ContainsAny(one.text, `[](){}^$|*+?\`) {
			one = newText(literal, one.at)
		}
		allowed = append(allowed, withoutVariables(one))
	}
	return allowed
}

// withoutVariables is a scalar in which nothing is a placeholder.
func withoutVariables(value *node) *node {
	if value.kind != text {
		return &node{kind: value.kind, text: value.text, at: value.at}
	}
	return newText(unfilled(value.text), value.at)
}

// members tells what is in an object, which a parameter of a list has no rules for.
func (im *openapi) members(s schema, depth int) string {
	var told []string
	for i, member := range s.members {
		inner := im.schemaOf(member.value)
		if i == maxMembers {
			told = append(told, "…")
			break
		}
		if inner.readOnly {
			continue
		}
		one := member.name + " " + cmp.Or(inner.kind, "string")
		if s.required[member.name] {
			one += ", required"
		}
		if inside := ""; inner.kind == "object" && depth == 0 {
			if inside = im.members(inner, depth+1); inside != "" {
				one += ": {" + inside + "}"
			}
		}
		told = append(told, one)
	}
	return clipped(strings.Join(told, "; "), maxDescribed/2)
}

// clipped is a text of at most so many bytes.
func clipped(value string, most int) string {
	value = strings.TrimSpace(value)
	if len(value) <= most {
		return value
	}
	return strings.ToValidUTF8(value[:most], "") + "…"
}
