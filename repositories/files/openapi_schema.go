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
	name        string
	schema      schema
	description string // empty for the schema's
	required    bool
	inBody      bool // required once another member of the body has a value
}

type schema struct {
	kind             string // of a parameter; empty for any
	description      string
	format           string
	hints            []string // rules that no field of a parameter can express
	members          []field
	required         map[string]bool
	enum             []*node
	defaultValue     *node
	minimum, maximum *node
	items            *node
	additional       *node // additionalProperties
	readOnly         bool
}

// schemaOf reads a schema with its references, and guesses a missing kind. In large documents most schemas are members of
// many others, so each is read once.
func (im *openapi) schemaOf(source *node) schema {
	if s, ok := im.schemas[source]; ok && im.worked(1) {
		return s
	}
	s := schema{required: map[string]bool{}}
	im.merge(&s, source, 0)
	switch {
	case s.kind != "":
	case len(s.members) > 0 || s.additional != nil:
		s.kind = "object"
	case s.items != nil:
		s.kind = "array"
	case len(s.enum) > 0 && s.enum[0].kind == numberValue:
		s.kind = "number"
	case len(s.enum) > 0 && s.enum[0].kind == booleanValue:
		s.kind = "boolean"
	}
	s.hints = slices.Clip(s.hints) // callers add to them
	im.schemas[source] = s
	return s
}

// merge adds the rules of a schema; earlier ones take precedence. Of oneOf and anyOf the first counts, without
// null; fixed values of all become an enum.
func (im *openapi) merge(s *schema, source *node, depth int) {
	if source == nil || depth > maxAllOf {
		return
	}
	s.description = cmp.Or(s.description, source.textOf("description")) // beside a reference
	n := im.resolved(source)
	if n == nil || n.kind != objectValue {
		return
	}
	s.description = cmp.Or(s.description, n.textOf("description"))
	if s.kind == "" {
		kinds := kindsIn(n.get("type"))
		s.kind = cmp.Or(kinds...)
		s.hintForms(len(kinds) - 1)
	}
	s.addKeywords(n)
	for _, part := range n.itemsOf("allOf") {
		im.merge(s, part, depth+1)
	}
	for _, name := range []string{"oneOf", "anyOf"} {
		var variants, constants []*node
		for _, variant := range n.itemsOf(name) {
			if im.resolved(variant).textOf("type") != "null" {
				variants = append(variants, variant)
			}
		}
		for _, variant := range variants {
			if value := im.resolved(variant).get("const"); value != nil {
				constants = append(constants, value)
			}
		}
		switch {
		case len(variants) == 0:
		case len(constants) == len(variants) && s.enum == nil:
			s.enum = constants
		default:
			im.merge(s, variants[0], depth+1)
			s.hintForms(len(variants) - 1)
		}
	}
}

// hintForms says that the API takes other forms, which are not tried.
func (s *schema) hintForms(others int) {
	if others == 1 {
		s.hints = append(s.hints, "or of 1 other form")
	} else if others > 1 {
		s.hints = append(s.hints, fmt.Sprintf("or of %d other forms", others))
	}
}

// hints are keywords that no field of a parameter can express, in words for the model.
var hints = []struct{ keyword, words string }{
	{"pattern", "matches %s"}, {"minLength", "at least %s characters"}, {"maxLength", "at most %s characters"},
	{"minItems", "at least %s"}, {"maxItems", "at most %s"}, {"multipleOf", "a multiple of %s"},
}

func (s *schema) addKeywords(n *node) {
	for _, member := range n.fieldsOf("properties") {
		if !slices.ContainsFunc(s.members, func(f field) bool { return f.name == member.name }) {
			s.members = append(s.members, member)
		}
	}
	for _, name := range n.itemsOf("required") {
		s.required[name.text] = true
	}
	if all := n.get("enum"); all != nil && s.enum == nil {
		s.enum = slices.DeleteFunc(slices.Clone(all.items), func(one *node) bool { return one.kind == nullValue })
	}
	if one := n.get("const"); one != nil && s.enum == nil {
		s.enum = []*node{one}
	}
	if extra := n.get("additionalProperties"); extra != nil && extra.kind == objectValue {
		s.additional = extra
	}
	s.items = cmp.Or(s.items, n.get("items"))
	s.defaultValue = cmp.Or(s.defaultValue, n.get("default"))
	s.readOnly = s.readOnly || isTrue(n.get("readOnly"))
	s.format = cmp.Or(s.format, n.textOf("format"))
	s.minimum = cmp.Or(s.minimum, s.bound(n, "minimum", "exclusiveMinimum", "more than", 1))
	s.maximum = cmp.Or(s.maximum, s.bound(n, "maximum", "exclusiveMaximum", "less than", -1))
	for _, one := range hints {
		given := n.get(one.keyword)
		value, ok := given.scalarText()
		if !ok && given != nil && given.kind == numberValue {
			value, ok = given.text, true
		}
		if ok {
			s.hints = append(s.hints, fmt.Sprintf(one.words, fault.Clip(value)))
		}
	}
}

// bound returns an inclusive bound: an exclusive one is moved by one for integers, else it becomes a hint.
func (s *schema) bound(n *node, name, exclusive, hint string, step int64) *node {
	bound, exclusiveBound := n.get(name), n.get(exclusive)
	switch {
	case exclusiveBound != nil && exclusiveBound.kind == numberValue:
		bound = exclusiveBound
	case !isTrue(exclusiveBound) || bound == nil:
		if bound == nil || bound.kind != numberValue {
			return nil
		}
		return bound
	}
	integer, ok := new(big.Int).SetString(bound.text, 10)
	if cmp.Or(kindsIn(n.get("type"))...) == "integer" && ok {
		inclusive := *bound
		inclusive.text = integer.Add(integer, big.NewInt(step)).String()
		return &inclusive
	}
	s.hints = append(s.hints, hint+" "+bound.text)
	return nil
}

// kindsIn reads type, which is a list in version 3.1; null is skipped.
func kindsIn(n *node) (kinds []string) {
	entries := []*node{n}
	if n != nil && n.kind == listValue {
		entries = n.items
	}
	for _, entry := range entries {
		if name, ok := entry.scalarText(); ok && slices.Contains([]string{"string", "number", "integer", "boolean", "array", "object"}, name) {
			kinds = append(kinds, name)
		}
	}
	return kinds
}

func wordsOfName(name string) string {
	return strings.TrimSpace(strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' }), " "))
}

// rules writes the rules of a value; loose, its type and description only.
func (im *openapi) rules(target *node, s schema, description string, loose bool, depth int) {
	at, kind := im.root.at, cmp.Or(s.kind, "string")
	im.set(target, "type", kind)
	if kind == "object" {
		if members := im.members(s, 0); members != "" {
			description = strings.TrimSpace(description) + " (an object with " + members + ")"
		}
	}
	defaultText, ok := s.defaultValue.scalarText()
	format := parameters.Format(s.format)
	keepFormat := !loose && depth == 0 && kind == "string" && len(s.enum) == 0 && format.Known() && (s.defaultValue == nil || ok && format.Flaw(defaultText) == "")
	if s.format != "" && !keepFormat && !slices.Contains([]string{"int32", "int64", "float", "double"}, s.format) {
		s.hints = append([]string{"format " + fault.Clip(s.format)}, s.hints...)
	}
	allowed, others := allowedOf(s.enum, kind)
	if !loose {
		s.hintForms(others)
	}
	if len(s.hints) > 0 {
		description = strings.TrimSpace(description) + " (" + strings.Join(s.hints, ", ") + ")"
	}
	im.set(target, "description", cmp.Or(fault.ClipTo(strings.TrimSpace(withoutPlaceholders(description)), maxDescribed), "-"))

	if kind == "array" {
		inner := im.schemaOf(s.items)
		if depth >= maxNested {
			inner = schema{kind: "object"}
		}
		inner.defaultValue = nil
		items := newObject(at)
		im.rules(items, inner, cmp.Or(inner.description, "a member"), loose, depth+1)
		target.add("items", at, items)
	}
	if loose {
		return
	}
	if keepFormat {
		im.set(target, "format", s.format)
	}
	if len(allowed) > 0 {
		target.add("allowedValues", at, &node{kind: listValue, items: allowed})
	}
	if s.minimum != nil && (kind == "integer" || kind == "number") {
		target.add("minValue", at, s.minimum)
	}
	if s.maximum != nil && (kind == "integer" || kind == "number") {
		target.add("maxValue", at, s.maximum)
	}
	if fits(s.defaultValue, kind) {
		target.add("default", at, withoutVariables(s.defaultValue))
	}
}

func (im *openapi) members(s schema, depth int) string {
	var parts []string
	for i, member := range s.members {
		if i == maxMembers {
			parts = append(parts, "…")
			break
		}
		memberSchema := im.schemaOf(member.value)
		if memberSchema.readOnly {
			continue
		}
		part := member.name + " " + cmp.Or(memberSchema.kind, "string")
		if s.required[member.name] {
			part += ", required"
		}
		if memberSchema.kind == "object" && depth == 0 {
			nested, ok := im.inner[member.value]
			if !ok {
				nested = im.members(memberSchema, depth+1)
				im.inner[member.value] = nested
			}
			if nested != "" {
				part += ": {" + nested + "}"
			}
		}
		parts = append(parts, part)
	}
	return fault.ClipTo(strings.TrimSpace(strings.Join(parts, "; ")), maxDescribed/2)
}

func fits(value *node, kind string) bool {
	if value == nil {
		return false
	}
	switch kind {
	case "string":
		return value.kind == textValue
	case "boolean":
		return value.kind == booleanValue
	case "number":
		return value.kind == numberValue
	case "integer":
		_, err := strconv.ParseInt(value.text, 10, 64)
		return value.kind == numberValue && err == nil
	}
	return false
}

// allowedOf returns the values of an enum, and how many have another kind. A text that is a regular expression is escaped.
func allowedOf(enum []*node, kind string) (allowed []*node, others int) {
	for _, value := range enum[:min(len(enum), maxEnumEntries)] {
		if kind == "string" && value.kind != textValue && value.unquoted != "" { // a version, a year
			value = newText(value.unquoted, value.at)
		}
		if !fits(value, kind) {
			others++
			continue
		}
		if value.kind == textValue && strings.ContainsAny(value.text, `[](){}^$|*+?\`) {
			value = newText(regexp.QuoteMeta(value.text), value.at)
		}
		allowed = append(allowed, withoutVariables(value))
	}
	return allowed, others
}

// withoutVariables copies a value with variables escaped.
func withoutVariables(value *node) *node {
	result := &node{kind: value.kind, text: value.text, at: value.at}
	if result.kind == textValue {
		result.text = withoutPlaceholders(result.text)
	}
	for _, f := range value.fields {
		result.add(f.name, f.at, withoutVariables(f.value))
	}
	for _, item := range value.items {
		result.items = append(result.items, withoutVariables(item))
	}
	return result
}
