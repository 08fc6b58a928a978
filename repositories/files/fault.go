package files

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"earshot/repositories/lists"
)

// Fault is an error in a file, or a note.
type Fault struct {
	File string // as the caller named it
	// Line and Column count from 1, in characters; both are 0 for the whole file.
	Line, Column int
	Detail       string
	// unset reports that the environment lacks a variable here.
	unset bool
}

// String returns file:line:column: detail, which editors can follow.
func (f Fault) String() string {
	if f.Line == 0 {
		return f.File + ": " + f.Detail
	}
	return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Detail)
}

// Faults are sorted by file and position. They are an error, and never returned empty.
type Faults []Fault

// Error lists the faults, one per line.
func (f Faults) Error() string {
	return strings.Join(lists.Map(f, Fault.String), "\n")
}

// maxFaults bounds the listed faults.
const maxFaults = 1000

func (f *Faults) add(at position, format string, args ...any) {
	if len(*f) < maxFaults {
		*f = append(*f, Fault{File: at.file, Line: at.line, Column: at.column, Detail: fmt.Sprintf(format, args...)})
	}
}

// addUnset reports a variable that the environment lacks.
func (f *Faults) addUnset(at position, variable string) {
	before := len(*f)
	f.add(at, "environment variable %q is not set; ${%s:default} gives it a default", variable, variable)
	for i := range (*f)[before:] {
		(*f)[before+i].unset = true
	}
}

// sorted orders the faults by the files in reading order and drops repetitions.
func (f Faults) sorted(order []string) Faults {
	rank := map[string]int{}
	for i, file := range order {
		rank[file] = i
	}
	slices.SortStableFunc(f, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(rank[a.File], rank[b.File]), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column), cmp.Compare(a.Detail, b.Detail))
	})
	return slices.Compact(f)
}

func (f Faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}
