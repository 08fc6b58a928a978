//go:build !race

package unraced

import "testing"

// Only skips the test where it is run with -race.
func Only(testing.TB) {}
