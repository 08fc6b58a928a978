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
