package repositories

import (
	"fmt"
	"strings"
)

// Fault is one thing that is wrong with a body, and where.
type Fault struct {
	// Pointer is the place in the body as a JSON Pointer (RFC 6901); empty for the
	// body as a whole.
	Pointer string `json:"pointer"`
	// Detail says what is wrong and, where it can, what would be right.
	Detail string `json:"detail"`
}

// Faults is everything that is wrong with a body. It is an error so that a decoder
// can return it, and it is never returned empty.
type Faults []Fault

// Error lists the faults, one after the other.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = strings.TrimPrefix(fault.Pointer+": "+fault.Detail, ": ")
	}
	return strings.Join(lines, "; ")
}

// Add appends a fault whose detail is formatted as by fmt.Sprintf.
func (f *Faults) Add(pointer, format string, args ...any) {
	*f = append(*f, Fault{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
}

// Err returns the faults as an error, or nil where there are none.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// Point joins the unescaped tokens of a place to a JSON Pointer.
func Point(tokens ...any) string {
	var b strings.Builder
	for _, token := range tokens {
		b.WriteByte('/')
		b.WriteString(pointerEscaper.Replace(fmt.Sprint(token)))
	}
	return b.String()
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")
