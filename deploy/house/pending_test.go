package house_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// pending are the packages, with what is below them, that a rule does not hold for yet,
// by the name of its test, which lists with -v what is left there. None is added that a
// rule holds for.
var pending = map[string][]string{
	"TestNoLocalHidesANameOfItsPackage": {"trigger"},
	"TestFilesAreOneIdeaLong":           {"trigger"},
	"TestPackagesAreOneIdeaLarge":       {"trigger"},
}

// findings are the places that break a rule, by package.
type findings map[string][]string

func (f findings) add(pkg, format string, values ...any) {
	f[pkg] = append(f[pkg], fmt.Sprintf(format, values...))
}

// report fails the test of a rule for all places that break it at once.
func (f findings) report(t *testing.T) {
	t.Helper()
	for _, pkg := range slices.Sorted(maps.Keys(f)) {
		tell := t.Errorf
		if isPending(t.Name(), pkg) {
			tell = func(format string, values ...any) { t.Logf("pending: "+format, values...) }
		}
		for _, finding := range slices.Sorted(slices.Values(f[pkg])) {
			tell("%s: %s", pkg, finding)
		}
	}
}

func isPending(rule, pkg string) bool {
	return slices.ContainsFunc(pending[rule], func(folder string) bool { return strings.HasPrefix(pkg+"/", folder+"/") })
}
