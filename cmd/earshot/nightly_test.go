//go:build nightly

package main

func init() { everyLine = true }
