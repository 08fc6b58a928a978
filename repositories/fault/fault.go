// Package fault collects the faults of a body: all at once, each with its place as a JSON Pointer, in words that
// name the value and the solution.
package fault

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"earshot/repositories/lists"
)

// Fault is one validation error of a body, with its place.
type Fault struct {
	// Pointer is the place in the body as a JSON Pointer (RFC 6901); empty for the whole body.
	Pointer string `json:"pointer"`
	// Detail describes the fault and, if possible, the solution.
	Detail string `json:"detail"`
	Meant
	// more is how many unlisted faults this one stands for.
	more int
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
func (f *List) Miss(pointer, why string) { f.Add(pointer, missing, why, Meant{Code: Missing}) }

// missing is the detail of a missing field: why, and a Meant that is no text.
const missing = "is missing%s%s"

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
	tokens := strings.Split(pointer[1:], "/")
	for i := range tokens {
		tokens[i] = pointerUnescaper.Replace(tokens[i])
	}
	return tokens
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
