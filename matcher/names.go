package matcher

import "strings"

// names knows the candidates by what a model calls them.
type names struct {
	wire   map[string]string    // a tool's name → what the model is shown
	byWire map[string]Candidate // the way back
	all    []Candidate
}

func newNames(candidates []Candidate) *names {
	n := &names{wire: map[string]string{}, byWire: map[string]Candidate{}, all: candidates}
	taken := map[string]bool{}
	for _, candidate := range candidates {
		if toolName.MatchString(candidate.Tool.Name) {
			taken[candidate.Tool.Name] = true
		}
	}
	for _, candidate := range candidates {
		name := candidate.Tool.Name
		alias := name
		if !toolName.MatchString(name) {
			alias = safeName(name, toolName, taken)
		}
		n.wire[name], n.byWire[alias] = alias, candidate
	}
	return n
}

// wireName returns what the model is shown for a tool. Tools of earlier messages
// need not be in scope any more.
func (n *names) wireName(name string) string {
	if wire, known := n.wire[name]; known {
		return wire
	}
	if toolName.MatchString(name) {
		return name
	}
	return safeName(name, toolName, map[string]bool{})
}

// find returns the candidate that a model means: the one of that name, else the only
// one whose name equals it without the prefix that some providers set before it
// (functions.book, default_api:book), then without case, then without the difference
// between hyphens and underscores. Where two would do, none is meant.
func (n *names) find(named string) (Candidate, bool) {
	if candidate, known := n.byWire[named]; known {
		return candidate, true
	}
	named = strings.TrimSpace(named)
	bare := named[strings.LastIndexAny(named, ".:/")+1:]
	for _, same := range []func(string) bool{
		func(name string) bool { return name == named || name == bare },
		func(name string) bool { return strings.EqualFold(name, bare) },
		func(name string) bool { return foldName(name) == foldName(bare) },
	} {
		var meant []Candidate
		for _, candidate := range n.all {
			if same(candidate.Tool.Name) {
				meant = append(meant, candidate)
			}
		}
		if len(meant) > 0 {
			return meant[0], len(meant) == 1
		}
	}
	return Candidate{}, false
}

// foldName makes names that differ in case, hyphens, underscores and spaces alone equal.
func foldName(name string) string { return nameFolder.Replace(strings.ToLower(name)) }

var nameFolder = strings.NewReplacer("-", "", "_", "", " ", "")
