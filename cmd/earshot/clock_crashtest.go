//go:build crashtest

package main

import (
	"os"
	"time"
)

// clock returns the machine's clock, shifted by EARSHOT_CLOCK_SKEW, such as -150s: it tests replicas with
// different clocks.
func clock() func() time.Time {
	skew, err := time.ParseDuration(os.Getenv("EARSHOT_CLOCK_SKEW"))
	if err != nil {
		return time.Now
	}
	return func() time.Time { return time.Now().Add(skew) }
}
