package repositories

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"earshot/repositories/fault"
)

// rootSchema is a tool's parameters that were given as a JSON Schema.
type rootSchema struct {
	compiled *jsonschema.Schema
	cost     int // how many schemas apply to one place
	// open says that the schema takes properties that it does not name, in so many
	// words; a schema that is silent about them takes none.
	open bool
}

// compileRoot compiles parameters that are a JSON Schema: what the lists know as
// well (names, defaults, what is hidden) into parameters, all else into the schema.
func compileRoot(t *Tool, with *patterns) (*Parameters, fault.List) {
	value, err := decodeAny(t.Parameters)
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
	if !with.takesSchema(weight(document, mostSchemaValues+1)) {
		return nil, fault.List{{Pointer: fault.Point("parameters"), Detail: fmt.Sprintf("is too large: a JSON Schema may be made of %d values, all of a repository's together of %d", mostSchemaValues, mostRepositoryValues)}}
	}
	compiled, faults := compileSchema(document, with)
	if len(faults) > 0 {
		return nil, faults
	}
	if kind, given := document["type"]; given && kind != "object" {
		faults.Add(fault.Point("parameters", "type"), "is %s, and the values of a tool are an \"object\"", fault.Show(kind))
		return nil, faults
	}
	return newRoot(document, t.Parameters, compiled)
}

func newRoot(document map[string]any, raw json.RawMessage, compiled *jsonschema.Schema) (*Parameters, fault.List) {
	var faults fault.List
	properties, _ := document["properties"].(map[string]any)
	required := requiredNames(document)
	p := &Parameters{schema: &rootSchema{compiled: compiled, cost: schemaCost(compiled), open: isOpen(compiled)}}
	for _, name := range keysInOrder(raw, "properties", properties) {
		property := compiled.Properties[name]
		at := fault.Point("parameters", "properties", name)
		p.list = append(p.list, compileProperty(name, properties[name], property, required[name], newFindings(&faults, at)))
	}
	p.model = schemaModel(document, p.list)
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

// isOpen reports whether the schema speaks of properties beyond the named ones.
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

// validate holds the values as a whole against the schema.
func (r *rootSchema) validate(values map[string]any) []ValueFault {
	if most := mostChecks / r.cost; weight(values, most+1) > most {
		return []ValueFault{{Detail: fmt.Sprintf("the values are too many to check: with this schema at most %d, those in lists and objects counted", most)}}
	}
	for _, name := range sortedKeys(values) {
		if flaws := checkAnything(values[name], ""); len(flaws) > 0 {
			return (&parameter{name: name}).faultsOf(flaws)
		}
	}
	err := r.compiled.Validate(values)
	if err == nil {
		return nil
	}
	var faults []ValueFault
	for _, leaf := range leaves(err) {
		faults = append(faults, leaf.fault(values))
	}
	return faults
}

// fault says what is wrong with the parameter that the place is in.
func (l leaf) fault(values map[string]any) ValueFault {
	if len(l.at) == 0 {
		return ValueFault{Detail: "together the values are at fault: " + l.detail}
	}
	fault := ValueFault{Parameter: l.at[0], Detail: l.text(values)}
	if len(l.at) > 1 {
		fault.Detail = path(values, l.at) + ": " + fault.Detail
	}
	return fault
}

// path writes a place as stops[2].day: the value tells indices from names.
func path(value any, at []string) string {
	text := ""
	for i, token := range at {
		if _, ok := valueAt(value, at[:i]).([]any); ok {
			text += "[" + token + "]"
		} else {
			text += "." + fault.Clip(token)
		}
	}
	return strings.TrimPrefix(text, ".")
}
