package fault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
)

// nearest returns the known word that a misspelt one most likely stands for, or nothing if no word
// is within half of its length, which a transposition in a short word takes, case aside.
func nearest[S ~string](word string, known []S) S {
	const most = 64 // the cost of a comparison grows with the square of it
	if len(word) > most {
		return ""
	}
	best, distance := S(""), len(word)/2+1
	for _, candidate := range known {
		d := levenshtein.Distance(strings.ToLower(word), strings.ToLower(string(candidate)), nil)
		if d < distance || d == distance && best != "" && candidate < best {
			best, distance = candidate, d
		}
	}
	return best
}

// DidYouMean returns the hint that an error about an unknown word ends with, as in
// `; did you mean "tools"?`, or nothing if no known word is near.
func DidYouMean[S ~string](word string, known []S) string {
	if best := nearest(word, known); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
}

// OneOf writes a list for an error: "a, b or c".
func OneOf[S ~string](list []S) string {
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = string(list[i])
	}
	if len(texts) < 2 {
		return strings.Join(texts, "")
	}
	last := len(texts) - 1
	return fmt.Sprintf("%s or %s", strings.Join(texts[:last], ", "), texts[last])
}

// Show writes a value for an error: as JSON, so that "5" and 5 look different, and
// bounded.
func Show(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return Clip(fmt.Sprint(value))
	}
	return Clip(string(bytes.TrimSpace(text.Bytes())))
}

// ShowAll writes values for an error, separated by commas; of many it writes the first.
func ShowAll(values []any) string {
	const most = 12
	shown := make([]string, 0, most)
	for _, value := range values[:min(len(values), most)] {
		shown = append(shown, Show(value))
	}
	if len(values) > most {
		shown = append(shown, "…")
	}
	return strings.Join(shown, ", ")
}
