package parameters

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"earshot/repositories/fault"
)

// ControlCharacter returns the first control character of a text. No control character may
// be pasted into a statement: for the database a zero byte ends the text, and with it
// everything in the statement after the value.
func ControlCharacter(text string) (found rune, has bool) {
	at := strings.IndexFunc(text, unicode.IsControl)
	if at < 0 {
		return 0, false
	}
	return []rune(text[at:])[0], true
}

// pasteFlaws names the control characters in a value that is pasted, in its members and
// their names, whatever the rules of the parameter would let through.
func (p *compiledParameter) pasteFlaws(value any, at string) []violation {
	if !p.pasted {
		return nil
	}
	return controlFlaws(value, at)
}

func controlFlaws(value any, at string) []violation {
	var flaws []violation
	switch value := value.(type) {
	case string:
		if found, has := ControlCharacter(value); has {
			return []violation{{at, fmt.Sprintf("%s has the control character U+%04X, which is never pasted into a statement", fault.Show(value), found)}}
		}
	case []any:
		for i := range value {
			flaws = append(flaws, controlFlaws(value[i], index(at, i))...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			flaws = append(flaws, controlFlaws(key, at)...)
			flaws = append(flaws, controlFlaws(value[key], member(at, key))...)
		}
	}
	return flaws
}

// Escapes that a string parameter may ask for. A value that is pasted into a statement is
// put between the delimiters, and a closing one inside it is doubled.
const (
	escapeSingleQuotes   = "single-quotes"
	escapeDoubleQuotes   = "double-quotes"
	escapeBackticks      = "backticks"
	escapeSquareBrackets = "square-brackets"
)

// delimiters returns the opening and the closing delimiter of an escape; both are empty if
// there is no escape of that name.
func delimiters(escape string) (opening, closing string) {
	switch escape {
	case escapeSingleQuotes:
		return "'", "'"
	case escapeDoubleQuotes:
		return `"`, `"`
	case escapeBackticks:
		return "`", "`"
	case escapeSquareBrackets:
		return "[", "]"
	default:
		return "", ""
	}
}

func escaped(text, escape string) string {
	opening, closing := delimiters(escape)
	return opening + strings.ReplaceAll(text, closing, closing+closing) + closing
}

// quoting is what a definition says of the escapes of a parameter, or of its items.
type quoting struct {
	Parameter, Name, Escape string
	Items                   *quoting
}

// Escaped returns the values as they are written into a statement or a request: between
// the delimiters of the escapes that the parameters of the list, or their items, ask for.
// Values are kept and shown without them. It needs no compiled parameters.
func (l List) Escaped(values map[string]any) map[string]any {
	var members []quoting
	if json.Unmarshal(l.Raw, &members) != nil {
		return values // a JSON Schema, which has no escapes, or no list at all
	}
	changed := false
	for i := range members {
		name := cmp.Or(members[i].Name, members[i].Parameter)
		value, given := values[name]
		if !given || !members[i].any() {
			continue
		}
		if !changed {
			values, changed = maps.Clone(values), true
		}
		values[name] = members[i].escaped(value)
	}
	return values
}

func (q *quoting) any() bool { return q.Escape != "" || q.Items != nil && q.Items.any() }

func (q *quoting) escaped(value any) any {
	switch value := value.(type) {
	case string:
		if q.Escape != "" {
			return escaped(value, q.Escape)
		}
	case []any:
		if q.Items != nil {
			list := make([]any, len(value))
			for i := range value {
				list[i] = q.Items.escaped(value[i])
			}
			return list
		}
	}
	return value
}
