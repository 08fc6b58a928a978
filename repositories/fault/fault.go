// Package fault collects the faults of a body: all at once, each with its place as a JSON Pointer, in words that
// name the value and the solution.
package fault

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agext/levenshtein"

	"earshot/repositories/lists"
)

// Fault is one validation error of a body, with its place.
type Fault struct {
	// Pointer is the place in the body as a JSON Pointer (RFC 6901); empty for the whole body.
	Pointer string `json:"pointer"`
	// Detail describes the fault and, if possible, the solution.
	Detail string `json:"detail"`
	Meant
	more int // how many unlisted faults this one stands for
}

// Most is how many faults of a body are listed (section 3 of the contract). Further ones are only counted: a
// megabyte can have half a million.
const Most = 100

// List is all validation errors of a body. It is an error for decoders to return, and never returned empty.
type List []Fault

// Error joins the faults.
func (f List) Error() string {
	lines := lists.Map(f, func(fault Fault) string { return strings.TrimPrefix(fault.Pointer+": "+fault.Detail, ": ") })
	return strings.Join(lines, "; ")
}

// Add appends a fault with a detail formatted as by fmt.Sprintf; beyond Most it only counts.
func (f *List) Add(pointer, format string, args ...any) {
	if f.Full() {
		f.Skip(1)
		return
	}
	*f = append(*f, New(pointer, format, args...))
}

// Put appends a fault; beyond Most it only counts.
func (f *List) Put(one Fault) {
	if f.Full() {
		f.Skip(1)
		return
	}
	*f = append(*f, one)
}

// Miss appends the fault of a missing field. Why follows "is missing", as ": http needs it".
func (f *List) Miss(pointer, why string) {
	f.Put(Fault{Pointer: pointer, Detail: "is missing" + why, Meant: Meant{Code: Missing}})
}

// New makes a fault with a detail formatted as by fmt.Sprintf. The last of args that is a Meant, or an error that is
// or wraps a Fault, gives its Meant: whoever checks a value knows what was meant.
func New(pointer, format string, args ...any) Fault {
	made := Fault{Pointer: pointer, Detail: fmt.Sprintf(format, args...)}
	for _, arg := range args {
		switch arg := arg.(type) {
		case Meant:
			made.Meant = arg
		case error:
			if inner := (Fault{}); errors.As(arg, &inner) {
				made.Meant = inner.Meant
			}
		}
	}
	return made
}

// Error returns the detail, so that a check of one value can return a fault as its error.
func (f Fault) Error() string { return f.Detail }

// Join adds the faults of a part.
func (f *List) Join(others List) {
	for _, fault := range others {
		if fault.more > 0 {
			f.Skip(fault.more)
			continue
		}
		f.Put(fault)
	}
}

// Full reports whether the maximum number of faults is listed.
func (f List) Full() bool { return len(f) >= Most }

// Skip counts faults that are not listed.
func (f *List) Skip(n int) {
	if n == 0 {
		return
	}
	if last := len(*f) - 1; last >= 0 && (*f)[last].more > 0 {
		(*f)[last].more += n
		return
	}
	*f = append(*f, Fault{more: n})
}

// Count returns how many faults were found, listed or not.
func (f List) Count() int {
	listed, more := f.Listed()
	return len(listed) + more
}

// Listed returns the listed faults, at most Most, and the number of the others.
func (f List) Listed() (listed List, more int) {
	if last := len(f) - 1; last >= 0 && f[last].more > 0 {
		f, more = f[:last], f[last].more
	}
	if len(f) > Most {
		f, more = f[:Most], more+len(f)-Most
	}
	return f, more
}

// Coded is Listed with a code on each fault.
func (f List) Coded() (listed List, more int) {
	listed, more = f.Listed()
	listed = slices.Clone(listed)
	for i := range listed {
		listed[i].Code = cmp.Or(listed[i].Code, InvalidValue)
	}
	return listed, more
}

// Err returns the faults as an error, or nil if there are none.
func (f List) Err() error {
	if len(f) == 0 {
		return nil
	}
	if last := len(f) - 1; f[last].more > 0 {
		f[last].Detail = fmt.Sprintf("and there are %d more errors", f[last].more)
	}
	return f
}

// Point joins unescaped tokens to a JSON Pointer.
func Point(tokens ...any) string {
	var b strings.Builder
	for _, token := range tokens {
		b.WriteByte('/')
		b.WriteString(pointerEscaper.Replace(fmt.Sprint(token)))
	}
	return b.String()
}

// Tokens splits a JSON Pointer (RFC 6901) into its unescaped tokens; none for the whole document.
func Tokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	return lists.Map(strings.Split(pointer[1:], "/"), pointerUnescaper.Replace)
}

var (
	pointerEscaper   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

// Clip truncates a value for an error.
func Clip(text string) string { return ClipTo(text, 80) }

// ClipTo truncates a text to at most limit bytes and marks the cut.
func ClipTo(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return Cut(text, limit) + "…"
}

// Cut truncates a text to at most limit bytes, at a character boundary.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// synonyms map words of other products, models and languages to Earshot's.
var synonyms = map[string]string{
	"role": "actor", "content": "text", "message": "text", "assistant": "agent", "bot": "agent",
	"tool": "name", "arguments": "values", "args": "values", "params": "values", "parameters": "values", "input": "values",
	"name": "parameter", "parameter": "name", "enum": "allowedValues", "choices": "allowedValues", "minimum": "minValue", "maximum": "maxValue",
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

func letters(word string) string { return string(slices.Sorted(slices.Values([]byte(word)))) }

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
	if last := len(texts) - 1; last > 0 {
		return strings.Join(texts[:last], ", ") + " or " + texts[last]
	}
	return strings.Join(texts, "")
}

// Show formats a value for an error: as JSON, to distinguish "5" and 5, and truncated.
func Show(value any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return Clip(fmt.Sprint(value))
	}
	return Clip(strings.TrimSpace(text.String()))
}

// ShowAll formats values for an error, separated by commas; only the first of many.
func ShowAll(values []any) string {
	const most = 12
	shown := lists.Map(values[:min(len(values), most)], Show)
	if len(values) > most {
		shown = append(shown, "…")
	}
	return strings.Join(shown, ", ")
}
