//go:build !crashtest

package failpoint

// At does nothing in this build.
func At(Point) {}

// Planted is false: this build has no flaws.
func Planted(Flaw) bool { return false }

// Script returns the script as it is.
func Script(_ Flaw, lua string) string { return lua }

// Panic does nothing in this build.
func Panic(string) {}
