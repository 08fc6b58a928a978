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

// Limits of a schema.
const (
	maxAllOf       = 16   // nested by allOf, oneOf and anyOf
	maxNested      = 3    // lists of lists
	maxMembers     = 40   // of an object, in a description
	maxDescribed   = 2000 // bytes of a description
	maxEnumEntries = 500
)

type parameter struct {
	name     string
	schema   schema
	words    string // description; empty for the schema's
	required bool
	inBody   bool // required once another member of the body has a value
}

type schema struct {
	kind        string // of a parameter; empty for any
	description string
	format      string
	hints       []string // rules that no field of a parameter can express
	members     []field
	required    map[string]bool
	enum        []*node
	byDefault   *node
	least, most *node
	items       *node
	extra       *node // additionalProperties
	readOnly    bool
}

// schemaOf reads a schema with its references, and guesses a missing kind.
func (im *openapi) schemaOf(from *node) schema {
	s := schema{required: map[string]bool{}}
	im.merge(&s, from, 0)
	switch {
	case s.kind != "":
	case len(s.members) > 0 || s.extra != nil:
		s.kind = "object"
	case s.items != nil:
		s.kind = "array"
	case len(s.enum) > 0 && s.enum[0].kind == number:
		s.kind = "number"
	case len(s.enum) > 0 && s.enum[0].kind == boolean:
		s.kind = "boolean"
	}
	return s
}

// merge adds the rules of a schema; earlier ones take precedence. Of oneOf and anyOf the first counts, without
// null; fixed values of all become an enum.
func (im *openapi) merge(s *schema, from *node, depth int) {
	if from == nil || depth > maxAllOf {
		return
	}
	s.description = cmp.Or(s.description, from.textOf("description")) // beside a reference
	n := im.resolved(from)
	if n == nil || n.kind != object {
		return
	}
	s.description = cmp.Or(s.description, n.textOf("description"))
	s.kind = cmp.Or(s.kind, kindIn(n.get("type")))
	s.take(n)
	for _, part := range n.itemsOf("allOf") {
		im.merge(s, part, depth+1)
	}
	for _, name := range []string{"oneOf", "anyOf"} {
		var left, fixed []*node
		for _, one := range n.itemsOf(name) {
			if im.resolved(one).textOf("type") != "null" {
				left = append(left, one)
			}
		}
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
			if others := len(left) - 1; others == 1 {
				s.hints = append(s.hints, "or of 1 other form")
			} else if others > 1 {
				s.hints = append(s.hints, fmt.Sprintf("or of %d other forms", others))
			}
		}
	}
}

// hints are keywords that no field of a parameter can express, in words for the model.
var hints = []struct{ keyword, words string }{
	{"pattern", "matches %s"}, {"minLength", "at least %s characters"}, {"maxLength", "at most %s characters"},
	{"minItems", "at least %s"}, {"maxItems", "at most %s"}, {"multipleOf", "a multiple of %s"},
}

func (s *schema) take(n *node) {
	for _, member := range n.fieldsOf("properties") {
		if !slices.ContainsFunc(s.members, func(f field) bool { return f.name == member.name }) {
			s.members = append(s.members, member)
		}
	}
	for _, name := range n.itemsOf("required") {
		s.required[name.text] = true
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
	s.format = cmp.Or(s.format, n.textOf("format"))
	s.least = cmp.Or(s.least, s.bound(n, "minimum", "exclusiveMinimum", "more than", 1))
	s.most = cmp.Or(s.most, s.bound(n, "maximum", "exclusiveMaximum", "less than", -1))
	for _, one := range hints {
		given := n.get(one.keyword)
		value, ok := given.scalarText()
		if !ok && given != nil && given.kind == number {
			value, ok = given.text, true
		}
		if ok {
			s.hints = append(s.hints, fmt.Sprintf(one.words, fault.Clip(value)))
		}
	}
}

// bound returns an inclusive bound: an exclusive one is moved by one for integers, else it becomes a hint.
func (s *schema) bound(n *node, name, exclusive, hint string, step int64) *node {
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
	whole, ok := new(big.Int).SetString(bound.text, 10)
	if kindIn(n.get("type")) == "integer" && ok {
		moved := *bound
		moved.text = whole.Add(whole, big.NewInt(step)).String()
		return &moved
	}
	s.hints = append(s.hints, hint+" "+bound.text)
	return nil
}

// kindIn reads type, which is a list in version 3.1; null is skipped.
func kindIn(n *node) string {
	kinds := []*node{n}
	if n != nil && n.kind == list {
		kinds = n.items
	}
	for _, one := range kinds {
		if name, ok := one.scalarText(); ok && slices.Contains([]string{"string", "number", "integer", "boolean", "array", "object"}, name) {
			return name
		}
	}
	return ""
}

func words(name string) string {
	return strings.TrimSpace(strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' }), " "))
}

// rules writes the rules of a value; loose, its type and description only.
func (im *openapi) rules(made *node, s schema, description string, loose bool, depth int) {
	at, kind := im.root.at, cmp.Or(s.kind, "string")
	im.set(made, "type", kind)
	if kind == "object" {
		if inside := im.members(s, 0); inside != "" {
			description = strings.TrimSpace(description) + " (an object with " + inside + ")"
		}
	}
	given, ok := s.byDefault.scalarText()
	format := parameters.Format(s.format)
	kept := !loose && depth == 0 && kind == "string" && len(s.enum) == 0 && format.Known() && (s.byDefault == nil || ok && format.Flaw(given) == "")
	if s.format != "" && !kept && !slices.Contains([]string{"int32", "int64", "float", "double"}, s.format) {
		s.hints = append([]string{"format " + fault.Clip(s.format)}, s.hints...)
	}
	if len(s.hints) > 0 {
		description = strings.TrimSpace(description) + " (" + strings.Join(s.hints, ", ") + ")"
	}
	im.set(made, "description", cmp.Or(fault.ClipTo(strings.TrimSpace(withoutPlaceholders(description)), maxDescribed), "-"))

	if kind == "array" {
		inner := im.schemaOf(s.items)
		if depth >= maxNested {
			inner = schema{kind: "object"}
		}
		inner.byDefault = nil
		items := newObject(at)
		im.rules(items, inner, cmp.Or(inner.description, "a member"), loose, depth+1)
		made.add("items", at, items)
	}
	if loose {
		return
	}
	if kept {
		im.set(made, "format", s.format)
	}
	if allowed := allowedOf(s.enum, kind); len(allowed) > 0 {
		made.add("allowedValues", at, &node{kind: list, items: allowed})
	}
	if s.least != nil && (kind == "integer" || kind == "number") {
		made.add("minValue", at, s.least)
	}
	if s.most != nil && (kind == "integer" || kind == "number") {
		made.add("maxValue", at, s.most)
	}
	if fits(s.byDefault, kind) {
		made.add("default", at, withoutVariables(s.byDefault))
	}
}

func (im *openapi) members(s schema, depth int) string {
	var listed []string
	for i, member := range s.members {
		inner := im.schemaOf(member.value)
		if i == maxMembers {
			listed = append(listed, "…")
			break
		}
		if inner.readOnly {
			continue
		}
		one := member.name + " " + cmp.Or(inner.kind, "string")
		if s.required[member.name] {
			one += ", required"
		}
		if inner.kind == "object" && depth == 0 {
			if inside := im.members(inner, depth+1); inside != "" {
				one += ": {" + inside + "}"
			}
		}
		listed = append(listed, one)
	}
	return fault.ClipTo(strings.TrimSpace(strings.Join(listed, "; ")), maxDescribed/2)
}

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

// allowedOf returns the values of an enum. A text that is a regular expression is escaped.
func allowedOf(enum []*node, kind string) []*node {
	var allowed []*node
	for _, one := range enum[:min(len(enum), maxEnumEntries)] {
		if kind == "string" && one.kind != text && one.unquoted != "" { // a version, a year
			one = newText(one.unquoted, one.at)
		}
		if !fits(one, kind) {
			continue
		}
		if one.kind == text && strings.ContainsAny(one.text, `[](){}^$|*+?\`) {
			one = newText(regexp.QuoteMeta(one.text), one.at)
		}
		allowed = append(allowed, withoutVariables(one))
	}
	return allowed
}

// withoutVariables copies a value with variables escaped.
func withoutVariables(value *node) *node {
	made := &node{kind: value.kind, text: value.text, at: value.at}
	if made.kind == text {
		made.text = withoutPlaceholders(made.text)
	}
	for _, f := range value.fields {
		made.add(f.name, f.at, withoutVariables(f.value))
	}
	for _, item := range value.items {
		made.items = append(made.items, withoutVariables(item))
	}
	return made
}
