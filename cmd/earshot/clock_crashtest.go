//go:build crashtest

package main

import (
	"os"
	"time"
)

// clock returns the time of the machine, wrong by what EARSHOT_CLOCK_SKEW says, as in
// -150s: replicas whose clocks disagree are one service.
func clock() func() time.Time {
	skew, err := time.ParseDuration(os.Getenv("EARSHOT_CLOCK_SKEW"))
	if err != nil {
		return time.Now
	}
	return func() time.Time { return time.Now().Add(skew) }
}
