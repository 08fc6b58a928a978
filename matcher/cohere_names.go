package matcher

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// cohereName is what Cohere takes as the name of a tool: a hyphen is refused.
var cohereName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// cohereNames maps the names of a request's tools to ones that Cohere takes.
type cohereNames struct{ to, from map[string]string }

// newCohereNames maps the names of the tools that are offered or were called. A name
// that can stay stays, whatever its neighbours become.
func newCohereNames(request completionRequest) cohereNames {
	n := cohereNames{to: map[string]string{}, from: map[string]string{}}
	_, all := called(request.Messages)
	for _, tool := range request.Tools {
		all = append(all, tool.Name)
	}
	slices.Sort(all)
	for _, name := range all {
		if cohereName.MatchString(name) {
			n.to[name], n.from[name] = name, name
		}
	}
	for _, name := range slices.Compact(all) {
		if _, stays := n.to[name]; !stays {
			alias := n.free(strings.ReplaceAll(name, "-", "_"))
			n.to[name], n.from[alias] = alias, name
		}
	}
	return n
}

// free returns the first of base, base_2, base_3… that is not taken.
func (n cohereNames) free(base string) string {
	alias := base
	for i := 2; n.from[alias] != ""; i++ {
		alias = base[:min(len(base), 60)] + "_" + strconv.Itoa(i)
	}
	return alias
}

// neutral is the way back from what the model called. A name that was not given to it
// stays as it is.
func (n cohereNames) neutral(name string) string {
	if given, known := n.from[name]; known {
		return given
	}
	return name
}
