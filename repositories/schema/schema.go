// Package schema converts the findings of a JSON Schema validator to readable faults with places.
package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	finding "github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"earshot/repositories/fault"
	"earshot/repositories/lists"
)

// Violation is one validation error with its place in the value.
type Violation struct {
	At     []string
	Detail string // begins with the verb, unless it names the value itself
	about  bool   // the detail follows the value in a sentence
	Cause  *jsonschema.ValidationError
}

// Text returns the detail, after the value if it belongs to the sentence.
func (v Violation) Text(document any) string {
	if !v.about {
		return v.Detail
	}
	return fault.Show(ValueAt(document, v.At)) + " " + v.Detail
}

// Meant classifies the violation for programs.
func (v Violation) Meant() (meant fault.Meant) {
	if v.Cause == nil {
		return meant
	}
	switch cause := v.Cause.ErrorKind.(type) {
	case *finding.Enum:
		got, _ := cause.Got.(string)
		return fault.DidYouMean(got, lists.Of[string](cause.Want))
	case *finding.AdditionalProperties:
		meant.Code = fault.UnknownField
	case *finding.Type:
		meant.Code = fault.WrongType
	case *finding.Required:
		meant.Code = fault.Missing
	}
	return meant
}

// OfFormat reports whether the value violates a format.
func (v Violation) OfFormat() bool {
	if v.Cause == nil {
		return false
	}
	_, is := v.Cause.ErrorKind.(*finding.Format)
	return is
}

// maxViolations bounds the findings that are sorted and described.
const maxViolations = 10_000

// Violations flattens the validator's tree to useful errors, ordered by place. If a value fits none of several
// forms, it reports the errors of the best form, or else the choice only.
func Violations(err error) []Violation {
	tree, ok := err.(*jsonschema.ValidationError)
	if !ok {
		return []Violation{{Detail: fault.Clip(err.Error())}}
	}
	var found []Violation
	collect(tree, &found)
	order := func(a, b Violation) int { return cmp.Or(ComparePlaces(a.At, b.At), cmp.Compare(a.Detail, b.Detail)) }
	slices.SortStableFunc(found, order)
	return slices.CompactFunc(found, func(a, b Violation) bool { return order(a, b) == 0 })
}

func collect(e *jsonschema.ValidationError, found *[]Violation) {
	if len(*found) > maxViolations {
		return
	}
	in := func(name string) []string { return append(slices.Clone(e.InstanceLocation), name) }
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
			*found = append(*found, Violation{in(name), "is required", false, e})
		}
	case *finding.AdditionalProperties:
		for _, name := range what.Properties {
			*found = append(*found, Violation{in(name), "is not a known field", false, e})
		}
	case *finding.PropertyNames:
		// The validator's place is invalid: it reuses the memory.
		*found = append(*found, Violation{nil, "the name " + fault.Show(what.Property) + " is not allowed", false, e})
	default:
		if len(e.Causes) == 0 {
			detail, about := words(e.ErrorKind)
			*found = append(*found, Violation{e.InstanceLocation, detail, about, e})
		}
		for _, cause := range e.Causes {
			collect(cause, found)
		}
	}
}

// collectChoice reports a value that fits none of several forms: the errors of the first form with its type, or
// else all expected types.
func collectChoice(e *jsonschema.ValidationError, found *[]Violation) {
	var types []string
	for _, cause := range e.Causes {
		var inner []Violation
		collect(cause, &inner)
		mistyped := slices.IndexFunc(inner, func(v Violation) bool {
			_, ok := v.Cause.ErrorKind.(*finding.Type)
			return ok && slices.Equal(v.At, e.InstanceLocation)
		})
		if mistyped < 0 {
			*found = append(*found, inner...)
			return
		}
		types = append(types, inner[mistyped].Cause.ErrorKind.(*finding.Type).Want...)
	}
	*found = append(*found, Violation{e.InstanceLocation, "is not " + Articles(types), true, e})
}

// english renders the validator's messages for findings without a better one here.
var english = message.NewPrinter(language.English)

// words describes a finding. about means that the words follow the value in a sentence; others are a complete
// sentence.
func words(cause jsonschema.ErrorKind) (detail string, about bool) {
	switch cause := cause.(type) {
	case *finding.Type:
		return "is not " + Articles(cause.Want), true
	case *finding.Enum:
		return "is not one of " + fault.ShowAll(cause.Want), true
	case *finding.Const:
		return "is not " + fault.Show(cause.Want), true
	case *finding.Pattern:
		return "does not match " + fault.Clip(cause.Want), true
	case *finding.Minimum:
		return "is under the minimum of " + Decimal(cause.Want).String(), true
	case *finding.Maximum:
		return "is above the maximum of " + Decimal(cause.Want).String(), true
	case *finding.ExclusiveMinimum:
		return "is not above " + Decimal(cause.Want).String(), true
	case *finding.ExclusiveMaximum:
		return "is not under " + Decimal(cause.Want).String(), true
	case *finding.MultipleOf:
		return "is not a multiple of " + Decimal(cause.Want).String(), true
	case *finding.Format:
		return cause.Err.Error(), false
	case *finding.MinLength:
		return fmt.Sprintf("is too short: %d of at least %d characters", cause.Got, cause.Want), false
	case *finding.MaxLength:
		return fmt.Sprintf("is too long: %d of at most %d characters", cause.Got, cause.Want), false
	case *finding.MinItems:
		return fmt.Sprintf("is too short: %d of at least %d items", cause.Got, cause.Want), false
	case *finding.MaxItems:
		return fmt.Sprintf("is too long: %d of at most %d items", cause.Got, cause.Want), false
	case *finding.FalseSchema:
		return "is not allowed here", false
	}
	return fault.Clip(cause.LocalizedString(english)), false
}

// Articles lists types in a sentence: "an integer or null".
func Articles(types []string) string {
	types = slices.Compact(slices.Sorted(slices.Values(types)))
	return fault.OneOf(lists.Map(types, Article))
}

// Article returns the name of a type in a sentence: "an integer".
func Article(name string) string {
	switch name {
	case "null":
		return name
	case "array", "object", "integer":
		return "an " + name
	}
	return "a " + name
}

// Decimal returns a bound of a schema as a decimal. Every bound was read from a decimal, so its denominator divides
// a power of ten.
func Decimal(bound *big.Rat) json.Number {
	if bound == nil {
		return ""
	}
	decimals, _ := bound.FloatPrec()
	return json.Number(bound.FloatString(decimals))
}

// ComparePlaces orders places in document order: numbers by value.
func ComparePlaces(a, b []string) int {
	return slices.CompareFunc(a, b, func(x, y string) int {
		if isIndex(x) && isIndex(y) {
			return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
		}
		return cmp.Compare(x, y)
	})
}

// isIndex reports whether a token is an index of a list: a number without leading zeros.
func isIndex(token string) bool {
	return token == "0" || token != "" && token[0] != '0' && strings.Trim(token, "0123456789") == ""
}

// Tokens converts a place for fault.Point.
func Tokens(at []string) []any { return lists.Map(at, func(one string) any { return one }) }

// ValueAt returns the value at a place, or nil if there is none.
func ValueAt(value any, at []string) any {
	for _, token := range at {
		switch container := value.(type) {
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(container) {
				return nil
			}
			value = container[i]
		case map[string]any:
			value = container[token]
		default:
			return nil
		}
	}
	return value
}

// Weight counts the values within a value, up to a limit.
func Weight(value any, most int) int {
	total := 1
	switch container := value.(type) {
	case []any:
		for i := 0; i < len(container) && total < most; i++ {
			total += Weight(container[i], most-total)
		}
	case map[string]any:
		for _, member := range container {
			if total >= most {
				break
			}
			total += Weight(member, most-total)
		}
	}
	return total
}

// Item returns the schema of a list's i-th member; nil if unknown.
func Item(s *jsonschema.Schema, i int) *jsonschema.Schema {
	if i < len(s.PrefixItems) {
		return s.PrefixItems[i]
	}
	if s.Items2020 != nil {
		return s.Items2020
	}
	switch items := s.Items.(type) { // drafts before 2020-12
	case *jsonschema.Schema:
		return items
	case []*jsonschema.Schema:
		if i < len(items) {
			return items[i]
		}
	}
	return nil
}
