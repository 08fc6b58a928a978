//go:build !crashtest

package failpoint

// At does nothing in this build.
func At(Point) {}

// Planted returns false: this build has no flaws.
func Planted(Flaw) bool { return false }

// Script returns the script unchanged.
func Script(_ Flaw, lua string) string { return lua }

// Panic does nothing in this build.
func Panic(string) {}
