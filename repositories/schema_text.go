package repositories

import (
	"fmt"
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

// newLeaf puts a finding into words: first those that speak of the value, then the
// others.
func newLeaf(e *jsonschema.ValidationError) leaf {
	if detail := verdict(e.ErrorKind); detail != "" {
		return leaf{e.InstanceLocation, detail, true, e}
	}
	return leaf{e.InstanceLocation, remark(e.ErrorKind), false, e}
}

// verdict ends a sentence that begins with the value.
func verdict(what jsonschema.ErrorKind) string {
	switch what := what.(type) {
	case *finding.Type:
		return "is not " + articles(what.Want)
	case *finding.Enum:
		return "is not one of " + fault.ShowAll(what.Want)
	case *finding.Const:
		return "is not " + fault.Show(what.Want)
	case *finding.Pattern:
		return "does not match " + fault.Clip(what.Want)
	case *finding.Minimum:
		return "is under the minimum of " + written(what.Want).String()
	case *finding.Maximum:
		return "is above the maximum of " + written(what.Want).String()
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

// text is the detail, with the value where that helps.
func (l leaf) text(document any) string {
	if !l.about {
		return l.detail
	}
	return fault.Show(valueAt(document, l.at)) + " " + l.detail
}

// valueAt returns the value in a place, or nil where there is none.
func valueAt(value any, at []string) any {
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

// articles lists types in a sentence: "an integer or null".
func articles(types []string) string {
	types = slices.Compact(slices.Sorted(slices.Values(types)))
	for i := range types {
		types[i] = article(types[i])
	}
	return fault.OneOf(types)
}

func article(name string) string {
	switch name {
	case "null":
		return name
	case "array", "object", "integer":
		return "an " + name
	default:
		return "a " + name
	}
}
