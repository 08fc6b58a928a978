//go:build !crashtest

package main

import "time"

func clock() func() time.Time { return time.Now }
