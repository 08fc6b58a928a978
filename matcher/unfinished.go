package matcher

import (
	"maps"
	"slices"
)

// Unfinished is a call that an earlier message began and that lacks a value. It is not
// lost: what the next message says is laid over what is known, and the call is made
// when it is complete.
type Unfinished struct {
	Candidate
	// Values are those that earlier messages gave and that are in order.
	Values map[string]any
	// Missing names the parameters that still lack a value.
	Missing []string
}

// unfinished returns the unfinished call of a tool.
func (r Request) unfinished(c Candidate) (Unfinished, bool) {
	at := slices.IndexFunc(r.Unfinished, func(u Unfinished) bool { return u.Tool == c.Tool })
	if at < 0 {
		return Unfinished{}, false
	}
	return r.Unfinished[at], true
}

// completed lays the arguments of a call over the values of an unfinished one of the
// same tool. A value that is given again is a correction and replaces the old one.
func (r Request) completed(c Candidate, arguments map[string]any) map[string]any {
	begun, is := r.unfinished(c)
	if !is {
		return arguments
	}
	whole := maps.Clone(begun.Values)
	if whole == nil {
		whole = map[string]any{}
	}
	for name, value := range arguments {
		if value != nil {
			whole[name] = value
		}
	}
	return whole
}

// Abandons reports whether a text says that what was begun is not wanted any more.
func Abandons(text string) bool { return abandons(text) }
