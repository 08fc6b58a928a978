// Package textsearch looks for a text in JSON values, whatever the case of its letters: exactly
// in values that are decoded, and roughly, as a script can, in the JSON that they are
// stored as.
package textsearch

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"earshot/repositories/exactjson"
)

// In reports whether a text stands in a value or in one inside of it, whatever the case of its
// letters. Numbers are texts as they are written, names of members are none.
func In(value any, text string) bool { return standsIn(value, folded(text)) }

func standsIn(value any, text string) bool {
	switch v := value.(type) {
	case nil:
		return false
	case map[string]any:
		for _, part := range v {
			if standsIn(part, text) {
				return true
			}
		}
		return false
	case []any:
		for _, part := range v {
			if standsIn(part, text) {
				return true
			}
		}
		return false
	case string:
		return strings.Contains(folded(v), text)
	case json.Number:
		return strings.Contains(folded(v.String()), text)
	default:
		return strings.Contains(fmt.Sprint(v), text)
	}
}

// folded writes letters in lower case. No letter becomes one of ASCII that was none, so that
// what is not ASCII can be left aside where texts are compared byte by byte.
func folded(text string) string {
	return strings.Map(func(r rune) rune {
		if lower := unicode.ToLower(r); r < utf8.RuneSelf || lower >= utf8.RuneSelf {
			return lower
		}
		return r
	}, text)
}

// AnyCase lists texts of which a JSON text has one, once its ASCII is in lower case, if the
// given text stands in it in any case: the longest part that is ASCII, or without any the
// first letters in all their cases.
func AnyCase(text string) []string {
	longest := ""
	for _, part := range strings.FieldsFunc(folded(text), func(r rune) bool { return r >= utf8.RuneSelf }) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	if longest != "" {
		return []string{encoded(longest)}
	}
	list := []string{""}
	for i, r := range []rune(text) {
		if i == 2 {
			break
		}
		var longer []string
		for _, begun := range list {
			for _, other := range casesOf(r) {
				longer = append(longer, begun+encoded(string(other)))
			}
		}
		list = longer
	}
	return list
}

// casesOf lists the letters that are one letter in another case.
func casesOf(r rune) []rune {
	list := []rune{r}
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		list = append(list, other)
	}
	return list
}

// encoded is how a text stands in a JSON string.
func encoded(text string) string {
	whole, _ := exactjson.Encode(text) // a text never fails
	return string(whole[1 : len(whole)-1])
}
