package question

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/secret"
)

// maxDepth bounds how deep the parts of a value are shown.
const maxDepth = 4

// ofCredential finds names of what is not read out, word by word: an author is none.
var ofCredential = regexp.MustCompile(`(?i)\b(password|passwd|passwort|passphrase|pin|secret|token|credentials?|(api|access|private) ?key|cvv|cvc)\b`)

// member is a name and its value: "amount 30".
func (in phrasing) member(name string, value any, depth int) string {
	name = spelled(name)
	if ofCredential.MatchString(name) {
		return name + " " + secret.Masked
	}
	return fault.Clip(name) + " " + in.value(value, depth)
}

// value writes a value as people read it, and clips it.
func (in phrasing) value(value any, depth int) string {
	if depth > maxDepth {
		return "…"
	}
	switch value := value.(type) {
	case nil:
		return "–"
	case bool:
		if value {
			return in.yes
		}
		return in.no
	case string:
		return quoted(value)
	case json.Number:
		return number(value)
	case []any:
		parts := make([]string, len(value))
		for i := range value {
			parts[i] = in.value(value[i], depth+1)
		}
		return listed(parts)
	case map[string]any:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(value)) {
			parts = append(parts, in.member(name, value[name], depth+1))
		}
		return listed(parts)
	default:
		return quoted(fmt.Sprint(value))
	}
}

// number writes a number out: 30 for 3e1.
func number(value json.Number) string {
	if decimal, ok := exactjson.ParseDecimal(value.String()); ok {
		return fault.Clip(decimal.String())
	}
	return fault.Clip(value.String())
}

// quoted is a text; one that could be taken for something else in the question, as another
// value, stands in quotes.
func quoted(text string) string {
	text = fault.Clip(plain(text))
	if text != "" && !strings.ContainsAny(text, `,;:()“”"?!`) && !strings.Contains(text, ". ") {
		return text
	}
	return "“" + strings.NewReplacer("“", "'", "”", "'").Replace(text) + "”"
}

// listed are parts in parentheses, as far as they are few.
func listed(parts []string) string {
	const most = 10
	if len(parts) > most {
		parts = append(parts[:most:most], fmt.Sprintf("… +%d", len(parts)-most))
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
