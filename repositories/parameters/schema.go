package parameters

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/plaintext"
	"earshot/repositories/schema"
)

// rootSchema is the JSON Schema in which a tool's parameters were given.
type rootSchema struct {
	compiled *jsonschema.Schema
	cost     int // how many schemas apply to one place
	// open says that the schema takes properties that it does not name, in so many
	// words; a schema that is silent about them takes none.
	open bool
}

// compileRoot compiles parameters that are a JSON Schema: what the lists know as
// well (names, defaults, what is hidden) into parameters, all else into the schema.
func compileRoot(raw json.RawMessage, with *Budget, needed []string) (*Parameters, fault.List) {
	value, err := exactjson.Decode(raw)
	if err != nil {
		return nil, fault.List{{Pointer: fault.Point("parameters"), Detail: err.Error()}}
	}
	document, ok := value.(map[string]any)
	if !ok {
		return nil, fault.List{{Pointer: fault.Point("parameters"), Detail: "is neither a list nor a JSON Schema object"}}
	}
	if flaws := checkAnything(document, ""); len(flaws) > 0 {
		return nil, fault.List{{Pointer: fault.Point("parameters"), Detail: strings.TrimPrefix(flaws[0].at+": "+flaws[0].detail, ".")}}
	}
	if !with.takesSchema(schema.Weight(document, maxSchemaValues+1)) {
		return nil, fault.List{{Pointer: fault.Point("parameters"), Detail: fmt.Sprintf("is too large: a JSON Schema may be made of %d values, all of a repository's together of %d", maxSchemaValues, maxRepositoryValues)}}
	}
	compiled, faults := compileSchema(document, with)
	if len(faults) > 0 {
		return nil, faults
	}
	if named, given := document["type"]; given && named != "object" {
		faults.Add(fault.Point("parameters", "type"), "is %s, and the values of a tool are an \"object\"", fault.Show(named))
		return nil, faults
	}
	return newRoot(document, raw, compiled, needed)
}

func newRoot(document map[string]any, raw json.RawMessage, compiled *jsonschema.Schema, needed []string) (*Parameters, fault.List) {
	var faults fault.List
	properties, _ := document["properties"].(map[string]any)
	required := requiredNames(document)
	p := &Parameters{schema: &rootSchema{compiled: compiled, cost: schemaCost(compiled), open: isOpen(compiled)}}
	for _, name := range keysInOrder(raw, "properties", properties) {
		property := compiled.Properties[name]
		at := fault.Point("parameters", "properties", name)
		p.list = append(p.list, compileProperty(name, properties[name], property, required[name], newFaultCollector(&faults, at)))
	}
	p.need(needed)
	p.model = plaintext.JSON(schemaModel(document, p.list))
	p.dialect, _ = document["$schema"].(string)
	return p, faults
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

// isOpen reports whether the schema explicitly allows properties other than the named ones.
func isOpen(s *jsonschema.Schema) bool {
	if additional, ok := s.AdditionalProperties.(bool); ok && !additional {
		return len(s.PatternProperties) > 0
	}
	return s.AdditionalProperties != nil || len(s.PatternProperties) > 0 || composed(s)
}

// composed reports whether properties may be named outside of the root itself.
func composed(s *jsonschema.Schema) bool {
	return s.Ref != nil || s.DynamicRef != nil || s.If != nil || len(s.DependentSchemas) > 0 ||
		len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) > 0
}

// takes reports whether a value of that name is let through to the schema.
func (r *rootSchema) takes(name string) bool {
	if !r.open {
		return false
	}
	if r.compiled.AdditionalProperties != false {
		return true
	}
	for pattern := range r.compiled.PatternProperties {
		if pattern.MatchString(name) {
			return true
		}
	}
	return false
}

// validate validates the values as a whole against the schema.
func (r *rootSchema) validate(values map[string]any) []ValueFault {
	if most := maxChecks / r.cost; schema.Weight(values, most+1) > most {
		return []ValueFault{{Detail: fmt.Sprintf("the values are too many to check: with this schema at most %d, those in lists and objects counted", most)}}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if flaws := checkAnything(values[name], ""); len(flaws) > 0 {
			return (&compiledParameter{name: name}).faultsOf(flaws)
		}
	}
	err := r.compiled.Validate(values)
	if err == nil {
		return nil
	}
	var faults []ValueFault
	for _, one := range schema.Violations(err) {
		faults = append(faults, faultOf(one, values))
	}
	return faults
}

// path writes a place as stops[2].day: the value tells indices from names.
func path(value any, at []string) string {
	text := ""
	for i, token := range at {
		if _, ok := schema.ValueAt(value, at[:i]).([]any); ok {
			text += "[" + token + "]"
		} else {
			text += "." + fault.Clip(token)
		}
	}
	return strings.TrimPrefix(text, ".")
}

// faultOf says what is wrong with the parameter that the place is in.
func faultOf(l schema.Violation, values map[string]any) ValueFault {
	if len(l.At) == 0 {
		return ValueFault{Detail: "together the values are at fault: " + l.Detail}
	}
	found := ValueFault{Parameter: l.At[0], Detail: l.Text(values)}
	if len(l.At) > 1 {
		found.Detail = path(values, l.At) + ": " + found.Detail
	}
	return found
}

// schemaURL names the schema of a tool's parameters while it is compiled; its scheme
// is one that nothing can be loaded from.
const schemaURL = "earshot:///parameters"

// noLoader refuses every reference to another document: the meaning of a tool must not
// depend on who answers at a URL, nor make the service request it.
type noLoader struct{}

// Load implements jsonschema.URLLoader.
func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%w: %s", errRemote, fault.Clip(url))
}

var errRemote = errors.New("references to other documents are refused")

// compileSchema compiles a JSON Schema, draft 2020-12 unless it names another. The
// faults' pointers begin at the tool.
func compileSchema(document map[string]any, with *Budget) (*jsonschema.Schema, fault.List) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(noLoader{})
	compiler.UseRegexpEngine(with.engine)
	if err := compiler.AddResource(schemaURL, document); err != nil {
		return nil, schemaFaults(err, document)
	}
	compiled, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil, schemaFaults(err, document)
	}
	if cost := schemaCost(compiled); cost > maxSchemaCost {
		return nil, fault.List{{Pointer: fault.Point("parameters"), Detail: "is too costly to check: its $ref, allOf, anyOf and oneOf multiply"}}
	}
	return compiled, nil
}

// schemaFaults turns the compiler's errors into faults.
func schemaFaults(err error, document any) fault.List {
	var invalid *jsonschema.SchemaValidationError
	var regex *jsonschema.InvalidRegexError
	var remote *jsonschema.LoadURLError
	var faults fault.List
	switch {
	case errors.As(err, &invalid):
		for _, one := range schema.Violations(invalid.Err) {
			faults.Add(fault.Point("parameters")+fault.Point(schema.Tokens(one.At)...), "is not JSON Schema: %s", one.Text(document))
		}
		return faults
	case errors.As(err, &regex):
		faults.Add(fault.Point("parameters"), "the pattern %s does not compile as RE2: %s", fault.Show(regex.Regex), fault.Clip(regex.Err.Error()))
	case errors.As(err, &remote):
		faults.Add(fault.Point("parameters"), "the reference to %s is refused: a schema is complete in itself, with $defs", fault.Show(remote.URL))
	default:
		text := strings.ReplaceAll(err.Error(), schemaURL, "parameters")
		faults.Add(fault.Point("parameters"), "is not JSON Schema: %s", fault.Clip(text))
	}
	return faults
}

// maxSchemaCost bounds how many schemas one value is held against in one place. A schema of
// a hundred lines whose allOf and $ref double at each step would otherwise keep a processor
// busy for years.
const maxSchemaCost = 5000

// How many values JSON Schemas are made of, each object, list and scalar being one. The
// compiler takes time by the square of it: a second for the largest.
const (
	maxSchemaValues     = 10_000 // one schema
	maxRepositoryValues = 20_000 // all of a repository's together
)

// maxChecks bounds how often one check of values may hold a value against a schema: a
// finding takes a kilobyte, and values can be at fault everywhere.
const maxChecks = 100_000

// schemaCost is the largest number of schemas that apply to one place of a value.
func schemaCost(root *jsonschema.Schema) int {
	known := map[*jsonschema.Schema]int{}
	queue := []*jsonschema.Schema{root}
	seen := map[*jsonschema.Schema]bool{root: true}
	most := 0
	for len(queue) > 0 {
		schema := queue[0]
		queue = queue[1:]
		most = max(most, costHere(schema, known))
		for _, child := range append(inPlace(schema), inside(schema)...) {
			if child != nil && !seen[child] {
				seen[child] = true
				queue = append(queue, child)
			}
		}
	}
	return most
}

// costHere counts a schema and all that apply to the same place through it. A cycle
// costs nothing: the validator stops at it.
func costHere(schema *jsonschema.Schema, known map[*jsonschema.Schema]int) int {
	if cost, ok := known[schema]; ok {
		return cost
	}
	known[schema] = 0
	cost := 1
	for _, child := range inPlace(schema) {
		if child != nil {
			cost = min(cost+costHere(child, known), maxSchemaCost+1)
		}
	}
	known[schema] = cost
	return cost
}

// inPlace lists the schemas that a schema holds the same value against.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}
	if s.DynamicRef != nil {
		list = append(list, s.DynamicRef.Ref)
	}
	list = append(append(append(list, s.AllOf...), s.AnyOf...), s.OneOf...)
	for _, child := range s.DependentSchemas {
		list = append(list, child)
	}
	return list
}

// inside lists the schemas that a schema holds parts of the value against.
func inside(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{s.PropertyNames, s.Contains, s.Items2020, s.UnevaluatedItems, s.UnevaluatedProperties}
	for _, child := range s.Properties {
		list = append(list, child)
	}
	for _, child := range s.PatternProperties {
		list = append(list, child)
	}
	list = append(list, s.PrefixItems...)
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
