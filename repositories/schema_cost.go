package repositories

import "github.com/santhosh-tekuri/jsonschema/v6"

// mostSchemaCost bounds how many schemas one value is held against in one place. A
// schema of a hundred lines whose allOf and $ref double at each step would else keep
// a processor busy for years.
const mostSchemaCost = 5000

// How many values JSON Schemas are made of, each object, list and scalar being one. The
// compiler takes time by the square of it: a second for the largest.
const (
	mostSchemaValues     = 10_000 // one schema
	mostRepositoryValues = 20_000 // all of a repository's together
)

// mostChecks bounds how often one check of values may hold a value against a schema: a
// finding takes a kilobyte, and values can be at fault everywhere.
const mostChecks = 100_000

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
			cost = min(cost+costHere(child, known), mostSchemaCost+1)
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
