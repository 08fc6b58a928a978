//go:build nightly

package main

import "testing"

func TestReportsHaveFigures(t *testing.T) {
	for name := range reports {
		t.Run(name, func(t *testing.T) { hasFigures(t, name) })
	}
}
