package parameters

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/schema"
)

// Limits of the values in JSON Schemas: the compiler's time is quadratic in them, a second for the largest.
const (
	maxSchemaValues     = 10_000 // one schema
	maxRepositoryValues = 20_000 // all of a repository
)

type rootSchema struct {
	compiled *jsonschema.Schema
	cost     int // number of schemas that apply to one place
	// open means that the schema explicitly allows properties that it does not name.
	open bool
}

// compileRoot compiles a JSON Schema: rules common with lists become parameters, all others stay in the schema.
func compileRoot(raw json.RawMessage, with *Budget, needed []string) (*Parameters, fault.List) {
	var faults fault.List
	at := fault.Point(Toolbox.Field)
	value, err := exactjson.Decode(raw)
	document, isObject := value.(map[string]any)
	values := schema.Weight(document, maxSchemaValues+1)
	switch flaws := checkAnything(document, nil); {
	case err != nil:
		faults.Add(at, "%s", err)
	case !isObject:
		faults.Add(at, "must be a list or a JSON Schema object")
	case len(flaws) > 0:
		faults.Add(at, "%s", strings.TrimPrefix(flaws[0].at.String()+": "+flaws[0].detail, "."))
	case values > maxSchemaValues || with.values.Add(int64(values)) > maxRepositoryValues:
		faults.Add(at, "is too large: a JSON Schema may be made of %d values, all of a repository's together of %d", maxSchemaValues, maxRepositoryValues)
	}
	if len(faults) > 0 {
		return nil, faults
	}
	compiled, faults := compileSchema(document, with)
	if named, given := document["type"]; len(faults) == 0 && given && named != "object" {
		faults.Add(at+"/type", "is %s; it must be \"object\", which holds the values of a tool", fault.Show(named))
	}
	if len(faults) > 0 {
		return nil, faults
	}

	p := &Parameters{schema: &rootSchema{compiled: compiled, cost: schemaCost(compiled), open: isOpen(compiled)}}
	properties, _ := document["properties"].(map[string]any)
	required := requiredNames(document)
	names := slices.Sorted(maps.Keys(properties))
	var outer struct{ Properties json.RawMessage }
	if json.Unmarshal(raw, &outer) == nil && len(properties) > 0 {
		if given, err := exactjson.Keys(outer.Properties); err == nil && len(given) == len(properties) {
			names = given // in order
		}
	}
	for _, name := range names {
		found := newFaultCollector(&faults, p, at+fault.Point("properties", name))
		one := compileProperty(name, properties[name], compiled.Properties[name], required[name], found)
		if one.refusal != "" {
			p.odd.Add(found.at+"/default", "is ignored: %s", one.refusal)
		}
		p.list = append(p.list, one)
	}
	contradictions(compiled, at, &p.odd)
	markInPath(p.list, needed)
	p.model = schemaModel(document, p.list)
	p.dialect, _ = document["$schema"].(string)
	return p, faults
}

// contradictions reports bounds and enumerations that leave no value, anywhere in a schema.
func contradictions(root *jsonschema.Schema, at string, odd *fault.List) {
	for _, s := range every(root) {
		_, fragment, _ := strings.Cut(s.Location, "#")
		pointer, _ := url.PathUnescape(fragment) // it was escaped by the compiler
		if s.Minimum != nil && s.Maximum != nil && s.Minimum.Cmp(s.Maximum) > 0 {
			odd.Add(at+pointer+"/minimum", "is %s, above the maximum of %s: no value is left", schema.Decimal(s.Minimum), schema.Decimal(s.Maximum))
		}
		if reason := noneOf(s); reason != "" {
			odd.Add(at+pointer+"/enum", "leaves no value: %s", reason)
		}
	}
}

// noneOf returns why a schema refuses all values that it lists; empty if it takes one, or lists none.
func noneOf(s *jsonschema.Schema) (reason string) {
	if s.Enum == nil {
		return ""
	}
	for _, value := range s.Enum.Values {
		err := s.Validate(value)
		if err == nil {
			return ""
		}
		reason = schema.Violations(err)[0].Text(value)
	}
	return reason
}

// isOpen reports whether the schema allows unnamed properties, or has subschemas that may name some.
func isOpen(s *jsonschema.Schema) bool {
	if s.AdditionalProperties == false {
		return len(s.PatternProperties) > 0
	}
	return s.AdditionalProperties != nil || len(s.PatternProperties) > 0 ||
		s.Ref != nil || s.DynamicRef != nil || s.If != nil || len(s.DependentSchemas) > 0 ||
		len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) > 0
}

// takes reports whether a value with the name is passed to the schema.
func (r *rootSchema) takes(name string) bool { return r.open && !refuses(r.compiled, name) }

// refuses reports whether an object has no member with a name that is none of its properties.
func refuses(s *jsonschema.Schema, name string) bool {
	for pattern := range s.PatternProperties {
		if pattern.MatchString(name) {
			return false
		}
	}
	return s.AdditionalProperties == false
}

// maxChecks bounds the checks of values against a schema: a finding takes a kilobyte.
const maxChecks = 100_000

func (r *rootSchema) validate(values map[string]any) []ValueFault {
	if flaw := sizeFlaw(values, r.cost, maxChecks); flaw != "" {
		return []ValueFault{{Detail: flaw}}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if flaws := checkAnything(values[name], nil); len(flaws) > 0 {
			return (&compiledParameter{name: name}).faultsOf(flaws)
		}
	}
	err := r.compiled.Validate(values)
	if err == nil {
		return nil
	}
	var faults []ValueFault
	for _, one := range schema.Violations(err) {
		if len(one.At) == 0 {
			faults = append(faults, ValueFault{Detail: "together the values are not valid: " + one.Detail})
			continue
		}
		found := violation{at: placeOf(values, one.At)[1:], detail: one.Text(values), meant: one.Meant()}
		faults = append(faults, faultAt(one.At[0], fault.Clip(one.At[0]), found))
	}
	return faults
}

// placeOf reads a place: the value distinguishes indices from names.
func placeOf(value any, at []string) place {
	read := make(place, len(at))
	for i, token := range at {
		read[i] = token
		if _, ok := schema.ValueAt(value, at[:i]).([]any); ok {
			read[i], _ = strconv.Atoi(token) // the place exists
		}
	}
	return read
}

// schemaURL names the schema during compilation; its scheme cannot be loaded.
const schemaURL = "earshot:///parameters"

// noLoader refuses other documents: a tool must not depend on a URL, nor make the service request it.
type noLoader struct{}

// Load implements jsonschema.URLLoader.
func (noLoader) Load(location string) (any, error) {
	return nil, fmt.Errorf("references to other documents are refused: %s", fault.Clip(location))
}

// compileSchema compiles a JSON Schema, draft 2020-12 unless it names another.
func compileSchema(document map[string]any, with *Budget) (*jsonschema.Schema, fault.List) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(noLoader{})
	compiler.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) { return with.compile(text) })
	compiler.AssertFormat()
	for _, format := range formats {
		compiler.RegisterFormat(&jsonschema.Format{Name: string(format), Validate: format.validate})
	}
	err := compiler.AddResource(schemaURL, document)
	var compiled *jsonschema.Schema
	if err == nil {
		compiled, err = compiler.Compile(schemaURL)
	}

	var invalid *jsonschema.SchemaValidationError
	var regex *jsonschema.InvalidRegexError
	var remote *jsonschema.LoadURLError
	var faults fault.List
	at := fault.Point(Toolbox.Field)
	switch {
	case errors.As(err, &invalid):
		for _, one := range schema.Violations(invalid.Err) {
			faults.Add(at+fault.Point(schema.Tokens(one.At)...), "is not JSON Schema: %s", one.Text(document))
		}
	case errors.As(err, &regex):
		faults.Add(at, "the pattern %s does not compile as RE2: %s", fault.Show(regex.Regex), fault.Clip(regex.Err.Error()))
	case errors.As(err, &remote):
		faults.Add(at, "the reference to %s is refused: a schema is complete in itself, with $defs", fault.Show(remote.URL))
	case err != nil:
		faults.Add(at, "is not JSON Schema: %s", fault.Clip(strings.ReplaceAll(err.Error(), schemaURL, "parameters")))
	case schemaCost(compiled) > maxSchemaCost:
		faults.Add(at, "is too costly to check: its combinations of $ref, allOf, anyOf and oneOf are too many")
	}
	if len(faults) == 0 {
		annotate(compiled)
	}
	return compiled, faults
}

// annotate makes other formats annotations, as JSON Schema has it since draft 2019-09.
func annotate(root *jsonschema.Schema) {
	for _, s := range every(root) {
		if s.Format != nil && s.DraftVersion >= 2019 && !Format(s.Format.Name).Known() {
			s.Format = nil
		}
	}
}

// maxSchemaCost bounds the schemas that apply to one value: a schema of a hundred lines with doubling $ref would
// take years.
const maxSchemaCost = 5000

// schemaCost returns the largest number of schemas that apply to one place of a value.
func schemaCost(root *jsonschema.Schema) int {
	known, most := map[*jsonschema.Schema]int{}, 0
	for _, s := range every(root) {
		most = max(most, costHere(s, known))
	}
	return most
}

// every lists a schema and all that it applies to a value or its parts.
func every(root *jsonschema.Schema) []*jsonschema.Schema {
	list, seen := []*jsonschema.Schema{root}, map[*jsonschema.Schema]bool{root: true}
	for i := 0; i < len(list); i++ {
		for _, child := range append(inPlace(list[i]), inside(list[i])...) {
			if child != nil && !seen[child] {
				seen[child] = true
				list = append(list, child)
			}
		}
	}
	return list
}

// costHere counts a schema and all that apply to the same place through it. The validator stops at a cycle.
func costHere(schema *jsonschema.Schema, known map[*jsonschema.Schema]int) int {
	if cost, ok := known[schema]; ok {
		return cost
	}
	known[schema] = 0
	cost := 1 + ownCost(schema)
	for _, child := range slices.AppendSeq(inPlace(schema), maps.Values(schema.PatternProperties)) { // each pattern is tried with each name
		if child != nil {
			cost = min(cost+costHere(child, known), maxSchemaCost+1)
		}
	}
	known[schema] = cost
	return cost
}

// A check of a schema costs as much as a comparison with so many names or texts, or with so many other values: numbers
// are compared as fractions.
const (
	textsPerCheck  = 64
	othersPerCheck = 4
)

// ownCost counts what a schema itself compares with a place, in checks of a schema.
func ownCost(s *jsonschema.Schema) int {
	texts, others := len(s.Required)+len(s.Properties), 0
	for _, needed := range s.DependentRequired {
		texts += 1 + len(needed)
	}
	for _, needed := range s.Dependencies {
		if names, are := needed.([]string); are {
			texts += 1 + len(names)
		}
	}
	if s.Enum != nil {
		for _, value := range s.Enum.Values {
			if _, isText := value.(string); isText {
				texts++
			} else {
				others += schema.Weight(value, maxSchemaValues)
			}
		}
	}
	return texts/textsPerCheck + others/othersPerCheck
}

// inPlace lists the schemas that a schema applies to the same value.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	var dynamic *jsonschema.Schema
	if s.DynamicRef != nil {
		dynamic = s.DynamicRef.Ref
	}
	list := []*jsonschema.Schema{s.Ref, s.RecursiveRef, dynamic, s.Not, s.If, s.Then, s.Else}
	for _, needed := range s.Dependencies {
		if needed, is := needed.(*jsonschema.Schema); is {
			list = append(list, needed)
		}
	}
	return slices.AppendSeq(slices.Concat(list, s.AllOf, s.AnyOf, s.OneOf), maps.Values(s.DependentSchemas))
}

// inside lists the schemas that a schema applies to parts of the value.
func inside(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{s.PropertyNames, s.Contains, s.Items2020, s.UnevaluatedItems, s.UnevaluatedProperties}
	list = slices.Grow(append(list, s.PrefixItems...), len(s.Properties)+len(s.PatternProperties))
	list = slices.AppendSeq(list, maps.Values(s.Properties))
	list = slices.AppendSeq(list, maps.Values(s.PatternProperties))
	for _, other := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		switch other := other.(type) {
		case *jsonschema.Schema:
			list = append(list, other)
		case []*jsonschema.Schema:
			list = append(list, other...)
		}
	}
	return list
}
