package matcher

import (
	"slices"
	"strings"
	"sync"
)

// Shared are the tools of an app as long as none of them changes. Many messages have
// them in scope; what a matcher compiles of them is compiled once, and lives as long.
type Shared struct {
	// Tools are sorted by name, one of each. They are never changed.
	Tools []Candidate

	kept sync.Map // a nil *T → func() T
}

// Kept returns what compile made of the shared tools when it was first asked for a T:
// each user has a type of its own. It is safe for concurrent use.
func Kept[T any](s *Shared, compile func([]Candidate) T) T {
	key := (*T)(nil)
	made, known := s.kept.Load(key)
	if !known {
		made, _ = s.kept.LoadOrStore(key, sync.OnceValue(func() T { return compile(s.Tools) }))
	}
	return made.(func() T)()
}

// InScope returns the place among the request's candidates of a tool that is shared.
// It is false for one that this message's user may not use, or whose name another wins.
func (r Request) InScope(shared Candidate) (int, bool) {
	at, found := r.Place(shared.Tool.Name)
	return at, found && r.Candidates[at].Repository == shared.Repository
}

// Named returns the candidate of that name.
func (r Request) Named(name string) (Candidate, bool) {
	at, found := r.Place(name)
	if !found {
		return Candidate{}, false
	}
	return r.Candidates[at], true
}

// Place returns the place among the candidates of the tool of that name.
func (r Request) Place(name string) (int, bool) {
	return slices.BinarySearchFunc(r.Candidates, name, func(c Candidate, name string) int { return strings.Compare(c.Tool.Name, name) })
}
