package repositories

import "strings"

// Escapes that a string may ask for. A value that is pasted into a statement is put
// between the delimiters, and a closing one inside it is doubled.
const (
	EscapeSingleQuotes   = "single-quotes"
	EscapeDoubleQuotes   = "double-quotes"
	EscapeBackticks      = "backticks"
	EscapeSquareBrackets = "square-brackets"
)

// delimiters returns the opening and the closing delimiter of an escape; both are
// empty where there is none of that name.
func delimiters(escape string) (opening, closing string) {
	switch escape {
	case EscapeSingleQuotes:
		return "'", "'"
	case EscapeDoubleQuotes:
		return `"`, `"`
	case EscapeBackticks:
		return "`", "`"
	case EscapeSquareBrackets:
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
func (p *parameter) escaped(value any) any {
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

func (p *parameter) escapes() bool {
	return p.escape != "" || p.items != nil && p.items.escapes()
}
