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
	// more is how many faults this one stands for that are not listed.
	more int
}

// MostFaults is how many faults of a body are listed (section 3 of the contract). What
// is found beyond them is counted and never put into words: a body of a megabyte has
// room for half a million, and nobody reads on.
const MostFaults = 100

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

// Add appends a fault whose detail is formatted as by fmt.Sprintf; beyond MostFaults it
// only counts.
func (f *Faults) Add(pointer, format string, args ...any) {
	if f.full() {
		f.skip(1)
		return
	}
	*f = append(*f, Fault{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
}

// join adds the faults of a part.
func (f *Faults) join(others Faults) {
	for _, fault := range others {
		if fault.more > 0 || f.full() {
			f.skip(max(fault.more, 1))
			continue
		}
		*f = append(*f, fault)
	}
}

// full reports whether as many are listed as may be.
func (f Faults) full() bool { return len(f) >= MostFaults }

// skip counts faults that are not listed.
func (f *Faults) skip(n int) {
	if n == 0 {
		return
	}
	if last := len(*f) - 1; last >= 0 && (*f)[last].more > 0 {
		(*f)[last].more += n
		return
	}
	*f = append(*f, Fault{more: n})
}

// count is how many were found.
func (f Faults) count() int {
	listed, more := f.Listed()
	return len(listed) + more
}

// Listed separates the faults with a place and words of their own, at most MostFaults,
// from the number of those that were found beside them.
func (f Faults) Listed() (listed Faults, more int) {
	if last := len(f) - 1; last >= 0 && f[last].more > 0 {
		f, more = f[:last], f[last].more
	}
	if len(f) > MostFaults {
		f, more = f[:MostFaults], more+len(f)-MostFaults
	}
	return f, more
}

// Err returns the faults as an error, or nil where there are none.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	if last := len(f) - 1; f[last].more > 0 {
		f[last].Detail = fmt.Sprintf("and there are %d more faults", f[last].more)
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
