package house_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// findings are the places that break a rule, by package.
type findings map[string][]string

func (f findings) add(pkg, format string, values ...any) {
	f[pkg] = append(f[pkg], fmt.Sprintf(format, values...))
}

// report fails the test of a rule for all places that break it at once.
func (f findings) report(t *testing.T) {
	t.Helper()
	for _, pkg := range slices.Sorted(maps.Keys(f)) {
		for _, finding := range slices.Sorted(slices.Values(f[pkg])) {
			t.Errorf("%s: %s", pkg, finding)
		}
	}
}

// reasons are the exceptions of a rule. One that the rule does not need any more is at
// fault itself.
type reasons struct {
	list   string // the name of the variable
	of     map[string]string
	needed map[string]bool
}

func newReasons(list string, of map[string]string) reasons {
	return reasons{list, of, map[string]bool{}}
}

// has reports whether there is a reason for what the rule has found.
func (r reasons) has(name string) bool {
	r.needed[name] = true
	return r.of[name] != ""
}

func (r reasons) report(t *testing.T) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(r.of)) {
		if !r.needed[name] {
			t.Errorf("%s: remove %q, which keeps the rule", r.list, name)
		}
	}
}
