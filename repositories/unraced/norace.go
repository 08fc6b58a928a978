//go:build !race

package unraced

import "testing"

// Raced says whether this is run with -race.
const Raced = false

// Only skips the test where it is run with -race.
func Only(testing.TB) {}
