package matcher

import (
	"slices"
	"strings"
	"sync"
)

// Shared are the tools of an app until one of them changes. Many messages have them in scope, so a matcher compiles
// them once.
type Shared struct {
	// Tools are sorted by name and unique. They are immutable.
	Tools []Candidate

	kept sync.Map // a nil *T → func() T
}

// Kept returns the result of compile for the shared tools, computed once per type T: each user has its own type. It
// is safe for concurrent use.
func Kept[T any](s *Shared, compile func([]Candidate) T) T {
	key := (*T)(nil)
	made, known := s.kept.Load(key)
	if !known {
		made, _ = s.kept.LoadOrStore(key, sync.OnceValue(func() T { return compile(s.Tools) }))
	}
	return made.(func() T)()
}

// InScope returns the place of a shared tool among the request's candidates. It is false for a tool that the user
// may not use, or whose name another tool overrides.
func (r Request) InScope(shared Candidate) (int, bool) {
	at, found := r.Place(shared.Tool.Name)
	return at, found && r.Candidates[at].Repository == shared.Repository
}

// Named returns the candidate with a name.
func (r Request) Named(name string) (Candidate, bool) {
	at, found := r.Place(name)
	if !found {
		return Candidate{}, false
	}
	return r.Candidates[at], true
}

// Place returns the place among the candidates of the tool with a name.
func (r Request) Place(name string) (int, bool) { return PlaceOf(name, r.Candidates) }

// PlaceOf returns the place of the tool with a name among tools that are sorted by name.
func PlaceOf(name string, tools []Candidate) (int, bool) {
	return slices.BinarySearchFunc(tools, name, func(c Candidate, name string) int { return strings.Compare(c.Tool.Name, name) })
}
