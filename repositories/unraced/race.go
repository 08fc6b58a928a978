//go:build race

package unraced

import "testing"

// Raced says whether this is run with -race.
const Raced = true

// Only skips the test where it is run with -race.
func Only(t testing.TB) {
	t.Helper()
	t.Skip("runs without -race")
}
