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

// Code says for programs what is wrong with a value. It is never renamed, and never used for another thing.
type Code string

// The codes of faults.
const (
	InvalidValue Code = "invalid_value" // what none of the others says
	UnknownField Code = "unknown_field"
	NotAllowed   Code = "not_allowed" // it is none of the words that are taken, or a name of nothing
	Missing      Code = "missing"
	WrongType    Code = "wrong_type"
	NotSupported Code = "not_supported"
	Malformed    Code = "malformed_json"
)

// Codes says when each of the codes comes.
var Codes = []struct {
	Code Code
	When string
}{
	{UnknownField, "There is no field, or no parameter, of this name; `allowed` are those that there are."},
	{NotAllowed, "The value is none of those that are taken, or names nothing that is there; `allowed` are those that are."},
	{Missing, "The field must be given."},
	{WrongType, "The value is of another type of JSON than is taken."},
	{NotSupported, "The field is known, and not supported by this version."},
	{Malformed, "The text is no JSON."},
	{InvalidValue, "The value breaks another rule, which `detail` names."},
}

// mostAllowed is how many words a Meant lists.
const mostAllowed = 100

// Meant says for programs what is wrong with a value, and which words were to be used. As a text it is the hint that
// an error about an unknown word ends with, as in `; did you mean "tools"?`, or nothing if no known word is near.
type Meant struct {
	Code       Code     `json:"code,omitempty"`
	Allowed    []string `json:"allowed,omitempty"`    // at most 100
	Suggestion string   `json:"suggestion,omitempty"` // the nearest of the allowed words
}

// String returns the hint.
func (m Meant) String() string {
	if m.Suggestion == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", m.Suggestion)
}

// DidYouMean says that a word is none of those that are known, and which is the nearest.
func DidYouMean[S ~string](word string, known []S) Meant {
	m := Meant{Code: NotAllowed, Suggestion: string(nearest(word, known))}
	for _, one := range known[:min(len(known), mostAllowed)] {
		m.Allowed = append(m.Allowed, string(one))
	}
	return m
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
