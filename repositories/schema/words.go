package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	finding "github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"earshot/repositories/fault"
)

// english renders the validator's own words for what is not put better here.
var english = message.NewPrinter(language.English)

// newViolation puts a finding into words: first those that speak of the value, then the
// others.
func newViolation(e *jsonschema.ValidationError) Violation {
	if detail := verdict(e.ErrorKind); detail != "" {
		return Violation{e.InstanceLocation, detail, true, e}
	}
	return Violation{e.InstanceLocation, remark(e.ErrorKind), false, e}
}

// verdict ends a sentence that begins with the value.
func verdict(what jsonschema.ErrorKind) string {
	switch what := what.(type) {
	case *finding.Type:
		return "is not " + Articles(what.Want)
	case *finding.Enum:
		return "is not one of " + fault.ShowAll(what.Want)
	case *finding.Const:
		return "is not " + fault.Show(what.Want)
	case *finding.Pattern:
		return "does not match " + fault.Clip(what.Want)
	case *finding.Minimum:
		return "is under the minimum of " + Decimal(what.Want).String()
	case *finding.Maximum:
		return "is above the maximum of " + Decimal(what.Want).String()
	default:
		return ""
	}
}

// remark is a sentence of its own.
func remark(what jsonschema.ErrorKind) string {
	switch what := what.(type) {
	case *finding.Format:
		return what.Err.Error()
	case *finding.MinLength:
		return fmt.Sprintf("is too short: %d of at least %d characters", what.Got, what.Want)
	case *finding.MaxLength:
		return fmt.Sprintf("is too long: %d of at most %d characters", what.Got, what.Want)
	case *finding.MinItems:
		return fmt.Sprintf("is too short: %d of at least %d items", what.Got, what.Want)
	case *finding.MaxItems:
		return fmt.Sprintf("is too long: %d of at most %d items", what.Got, what.Want)
	case *finding.FalseSchema:
		return "is not allowed here"
	default:
		return fault.Clip(what.LocalizedString(english))
	}
}

// Text is the detail, with the value where that helps.
func (l Violation) Text(document any) string {
	if !l.about {
		return l.Detail
	}
	return fault.Show(ValueAt(document, l.At)) + " " + l.Detail
}

// ValueAt returns the value in a place, or nil if there is none.
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

// Articles lists types in a sentence: "an integer or null".
func Articles(types []string) string {
	types = slices.Compact(slices.Sorted(slices.Values(types)))
	for i := range types {
		types[i] = Article(types[i])
	}
	return fault.OneOf(types)
}

// Article writes the name of a type in a sentence: "an integer".
func Article(name string) string {
	switch name {
	case "null":
		return name
	case "array", "object", "integer":
		return "an " + name
	default:
		return "a " + name
	}
}

// Decimal writes a bound of a schema as a decimal. Every bound was a decimal when it
// was read, so its denominator divides a power of ten.
func Decimal(bound *big.Rat) json.Number {
	if bound == nil {
		return ""
	}
	decimals, _ := bound.FloatPrec()
	return json.Number(bound.FloatString(decimals))
}
