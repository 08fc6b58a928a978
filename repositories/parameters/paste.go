package parameters

import (
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

// escaped returns the value as it is handed on: itself, unless the parameter or its
// items ask for an escape.
func (p *compiledParameter) escaped(value any) any {
	switch value := value.(type) {
	case string:
		if p.escape != "" {
			return escaped(value, p.escape)
		}
	case []any:
		if p.items != nil && p.items.escapes() {
			list := make([]any, len(value))
			for i := range value {
				list[i] = p.items.escaped(value[i])
			}
			return list
		}
	}
	return value
}

func (p *compiledParameter) escapes() bool {
	return p.escape != "" || p.items != nil && p.items.escapes()
}
