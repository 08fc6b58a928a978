// Package schema puts what a JSON Schema validator finds into words and places that a
// person can act on.
package schema

import (
	"cmp"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
	finding "github.com/santhosh-tekuri/jsonschema/v6/kind"

	"earshot/repositories/fault"
)

// Violation is one validation error: a place in the value and what is wrong there.
type Violation struct {
	At     []string
	Detail string // begins with the verb, unless it names the value itself
	about  bool   // the detail reads better with the value before it
	Cause  *jsonschema.ValidationError
}

// maxViolations bounds how many findings are sorted and worded.
const maxViolations = 10_000

// Violations flattens the validator's tree to what a person can act on, in the order of
// the places. Where a value fits none of several forms it follows the form that fits
// best and otherwise names the choice alone.
func Violations(err error) []Violation {
	tree, ok := err.(*jsonschema.ValidationError)
	if !ok {
		return []Violation{{Detail: fault.Clip(err.Error())}}
	}
	var found []Violation
	collect(tree, &found)
	slices.SortStableFunc(found, func(a, b Violation) int {
		return cmp.Or(ComparePlaces(a.At, b.At), cmp.Compare(a.Detail, b.Detail))
	})
	return slices.CompactFunc(found, func(a, b Violation) bool {
		return a.Detail == b.Detail && slices.Equal(a.At, b.At)
	})
}

func collect(e *jsonschema.ValidationError, found *[]Violation) {
	if len(*found) > maxViolations {
		return
	}
	switch what := e.ErrorKind.(type) {
	case *finding.AnyOf:
		collectChoice(e, found)
	case *finding.OneOf:
		if len(what.Subschemas) > 0 {
			*found = append(*found, Violation{e.InstanceLocation, "fits several of the forms of which it may have one", true, e})
			return
		}
		collectChoice(e, found)
	case *finding.Required:
		for _, name := range what.Missing {
			*found = append(*found, Violation{append(slices.Clone(e.InstanceLocation), name), "is required", false, e})
		}
	case *finding.AdditionalProperties:
		for _, name := range what.Properties {
			*found = append(*found, Violation{append(slices.Clone(e.InstanceLocation), name), "is not a known field", false, e})
		}
	case *finding.PropertyNames:
		// The validator does not say where: it reuses the memory of that place.
		*found = append(*found, Violation{nil, "the name " + fault.Show(what.Property) + " is not allowed", false, e})
	default:
		if len(e.Causes) == 0 {
			*found = append(*found, newViolation(e))
		}
		for _, cause := range e.Causes {
			collect(cause, found)
		}
	}
}

// collectChoice reports a value that fits none of several forms.
func collectChoice(e *jsonschema.ValidationError, found *[]Violation) {
	var types []string
	for _, cause := range e.Causes {
		var inner []Violation
		collect(cause, &inner)
		if want := wantedTypes(inner, e.InstanceLocation); want != nil {
			types = append(types, want...)
			continue
		}
		*found = append(*found, inner...)
		return
	}
	*found = append(*found, Violation{e.InstanceLocation, "is not " + Articles(types), true, e})
}

// wantedTypes returns the types that a form wants at the place itself, or nil where
// the form is at odds with something else.
func wantedTypes(inner []Violation, at []string) []string {
	for _, l := range inner {
		if what, ok := l.Cause.ErrorKind.(*finding.Type); ok && slices.Equal(l.At, at) {
			return what.Want
		}
	}
	return nil
}

// ComparePlaces orders places as a reader meets them: numbers by value.
func ComparePlaces(a, b []string) int {
	return slices.CompareFunc(a, b, func(x, y string) int {
		if isIndex(x) && isIndex(y) {
			return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
		}
		return cmp.Compare(x, y)
	})
}

// isIndex reports whether a token is a number without leading zeros, as those of
// members of lists.
func isIndex(token string) bool {
	if token == "" || token[0] == '0' && len(token) > 1 {
		return false
	}
	for i := range len(token) {
		if token[i] < '0' || token[i] > '9' {
			return false
		}
	}
	return true
}
