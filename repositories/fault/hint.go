package fault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// synonyms are the words of other products, of models and of languages, with ours for the same.
var synonyms = map[string]string{
	"role": "actor", "content": "text", "message": "text", "assistant": "agent", "bot": "agent",
	"tool": "name", "arguments": "values", "args": "values", "params": "values", "parameters": "values", "input": "values",
	"enum": "allowedValues", "choices": "allowedValues", "minimum": "minValue", "maximum": "maxValue",
	"endpoint": "url", "uri": "url", "model": "llm", "events": "types", "dead": "failed", "error": "failed", "errored": "failed",
}

// Unlike is the distance of two words neither of which is likely to be meant by the other.
const Unlike = 1000

// mostKnown is how many words a misspelt one is compared with: a scope may have 10,000 tools.
const mostKnown = 2000

// mostCompared is how long a word is at most: the cost of a comparison grows with the square of it.
const mostCompared = 64

// Distance counts the letters that were added, left out or changed from one word to another, case aside. A transposition in
// a word counts as one. It is Unlike if they are more than half of the given word.
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

// nearest returns the known word that another most likely stands for, case aside: its synonym; else the word that is
// within half of its length, or has the same letters; else the word that it is the beginning or the end of.
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

// letters returns the bytes of a word in their order.
func letters(word string) string {
	sorted := []byte(word)
	slices.Sort(sorted)
	return string(sorted)
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
