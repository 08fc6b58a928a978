package repositories

import (
	"cmp"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
	finding "github.com/santhosh-tekuri/jsonschema/v6/kind"

	"earshot/repositories/fault"
)

// leaf is one finding of the validator: a place in the value and what is wrong there.
type leaf struct {
	at     []string
	detail string // begins with the verb, unless it names the value itself
	about  bool   // the detail reads better with the value before it
	cause  *jsonschema.ValidationError
}

// mostLeaves bounds how many findings are sorted and worded.
const mostLeaves = 10_000

// leaves flattens the validator's tree to what a person can act on, in the order of
// the places. Where a value fits none of several forms it follows the form that fits
// best and otherwise names the choice alone.
func leaves(err error) []leaf {
	tree, ok := err.(*jsonschema.ValidationError)
	if !ok {
		return []leaf{{detail: fault.Clip(err.Error())}}
	}
	var found []leaf
	collect(tree, &found)
	slices.SortStableFunc(found, func(a, b leaf) int {
		return cmp.Or(comparePlaces(a.at, b.at), cmp.Compare(a.detail, b.detail))
	})
	return slices.CompactFunc(found, func(a, b leaf) bool {
		return a.detail == b.detail && slices.Equal(a.at, b.at)
	})
}

func collect(e *jsonschema.ValidationError, found *[]leaf) {
	if len(*found) > mostLeaves {
		return
	}
	switch what := e.ErrorKind.(type) {
	case *finding.AnyOf:
		collectChoice(e, found)
	case *finding.OneOf:
		if len(what.Subschemas) > 0 {
			*found = append(*found, leaf{e.InstanceLocation, "fits several of the forms of which it may have one", true, e})
			return
		}
		collectChoice(e, found)
	case *finding.Required:
		for _, name := range what.Missing {
			*found = append(*found, leaf{append(slices.Clone(e.InstanceLocation), name), "is required", false, e})
		}
	case *finding.AdditionalProperties:
		for _, name := range what.Properties {
			*found = append(*found, leaf{append(slices.Clone(e.InstanceLocation), name), "is not a known field", false, e})
		}
	case *finding.PropertyNames:
		// The validator does not say where: it reuses the memory of that place.
		*found = append(*found, leaf{nil, "the name " + fault.Show(what.Property) + " is not allowed", false, e})
	default:
		if len(e.Causes) == 0 {
			*found = append(*found, newLeaf(e))
		}
		for _, cause := range e.Causes {
			collect(cause, found)
		}
	}
}

// collectChoice reports a value that fits none of several forms.
func collectChoice(e *jsonschema.ValidationError, found *[]leaf) {
	var types []string
	for _, cause := range e.Causes {
		var inner []leaf
		collect(cause, &inner)
		if want := wantedTypes(inner, e.InstanceLocation); want != nil {
			types = append(types, want...)
			continue
		}
		*found = append(*found, inner...)
		return
	}
	*found = append(*found, leaf{e.InstanceLocation, "is not " + articles(types), true, e})
}

// wantedTypes returns the types that a form wants at the place itself, or nil where
// the form is at odds with something else.
func wantedTypes(inner []leaf, at []string) []string {
	for _, l := range inner {
		if what, ok := l.cause.ErrorKind.(*finding.Type); ok && slices.Equal(l.at, at) {
			return what.Want
		}
	}
	return nil
}

// comparePlaces orders places as a reader meets them: numbers by value.
func comparePlaces(a, b []string) int {
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
