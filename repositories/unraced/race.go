//go:build race

package unraced

import "testing"

// Only skips the test where it is run with -race.
func Only(t testing.TB) {
	t.Helper()
	t.Skip("runs without -race")
}
