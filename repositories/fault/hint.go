package fault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"

	"earshot/repositories/lists"
)

// synonyms map words of other products, models and languages to Earshot's.
var synonyms = map[string]string{
	"role": "actor", "content": "text", "message": "text", "assistant": "agent", "bot": "agent",
	"tool": "name", "arguments": "values", "args": "values", "params": "values", "parameters": "values", "input": "values",
	"enum": "allowedValues", "choices": "allowedValues", "minimum": "minValue", "maximum": "maxValue",
	"endpoint": "url", "uri": "url", "model": "llm", "events": "types", "dead": "failed", "error": "failed", "errored": "failed",
}

// Unlike is the distance of two unrelated words.
const Unlike = 1000

// mostKnown bounds the words that a misspelling is compared with: a scope may have 10,000 tools.
const mostKnown = 2000

// mostCompared bounds the length of compared words: the cost of a comparison is quadratic in it.
const mostCompared = 64

// Distance counts the letters that were added, removed or changed between words, ignoring case. A transposition
// counts as one. It is Unlike if they are more than half of the given word.
func Distance(given, known string) int {
	if len(given) > mostCompared || len(known) > 2*mostCompared {
		return Unlike
	}
	given, known = strings.ToLower(given), strings.ToLower(known)
	d := levenshtein.Distance(given, known, nil)
	if d == 2 && len(given) > 2 && letters(given) == letters(known) {
		d = 1
	}
	if d > len(given)/2 {
		return Unlike
	}
	return d
}

// nearest returns the known word that another most likely means, ignoring case: its synonym; else one within half
// of its length or with the same letters; else one that it begins or ends.
func nearest[S ~string](word string, known []S) S {
	if len(word) > mostCompared {
		return ""
	}
	if same := S(synonyms[strings.ToLower(word)]); slices.Contains(known, same) {
		return same
	}
	known = known[:min(len(known), mostKnown)]
	best, distance := S(""), Unlike
	for _, candidate := range known {
		d := Distance(word, string(candidate))
		if d < distance || d == distance && best != "" && candidate < best {
			best, distance = candidate, d
		}
	}
	word = strings.ToLower(word)
	for _, candidate := range known {
		whole := strings.ToLower(string(candidate))
		if best == "" && len(word) > 1 && (strings.HasPrefix(whole, word) || strings.HasSuffix(whole, word)) {
			best = candidate
		}
	}
	return best
}

// letters returns the sorted bytes of a word.
func letters(word string) string {
	sorted := []byte(word)
	slices.Sort(sorted)
	return string(sorted)
}

// Code classifies a fault for programs. Codes are never renamed or reused.
type Code string

// The codes of faults.
const (
	InvalidValue Code = "invalid_value" // any other fault
	UnknownField Code = "unknown_field"
	NotAllowed   Code = "not_allowed" // not among the allowed words, or no known name
	Missing      Code = "missing"
	WrongType    Code = "wrong_type"
	NotSupported Code = "not_supported"
	Malformed    Code = "malformed_json"
)

// Codes describes each code.
var Codes = []struct {
	Code Code
	When string
}{
	{UnknownField, "No field or parameter has this name. `allowed` lists the known ones."},
	{NotAllowed, "The value is not one of the allowed ones, or names something that does not exist. `allowed` lists the valid ones."},
	{Missing, "The field is required."},
	{WrongType, "The value has the wrong JSON type."},
	{NotSupported, "The field is known, but this version does not support it."},
	{Malformed, "The text is not JSON."},
	{InvalidValue, "The value breaks another rule. `detail` says which."},
}

// mostAllowed is how many words a Meant lists.
const mostAllowed = 100

// Meant classifies a fault for programs, with the allowed words. As a text it is the hint at the end of an error
// about an unknown word, as in `; did you mean "tools"?`, or empty if no known word is near.
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

// DidYouMean returns the Meant for an unknown word, with the nearest known one.
func DidYouMean[S ~string](word string, known []S) Meant {
	m := Meant{Code: NotAllowed, Suggestion: string(nearest(word, known))}
	for _, one := range known[:min(len(known), mostAllowed)] {
		m.Allowed = append(m.Allowed, string(one))
	}
	return m
}

// OneOf formats a list for an error: "a, b or c".
func OneOf[S ~string](list []S) string {
	texts := lists.Map(list, func(one S) string { return string(one) })
	if len(texts) < 2 {
		return strings.Join(texts, "")
	}
	last := len(texts) - 1
	return fmt.Sprintf("%s or %s", strings.Join(texts[:last], ", "), texts[last])
}

// Show formats a value for an error: as JSON, to distinguish "5" and 5, and truncated.
func Show(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return Clip(fmt.Sprint(value))
	}
	return Clip(string(bytes.TrimSpace(text.Bytes())))
}

// ShowAll formats values for an error, separated by commas; only the first of many.
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
