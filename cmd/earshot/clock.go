//go:build !crashtest

package main

import "time"

// clock returns the time of the machine.
func clock() func() time.Time { return time.Now }
