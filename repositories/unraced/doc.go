// Package unraced is for tests that the race detector makes five to ten times as long, and
// in which it has nothing to find: they compute in one goroutine, or within a library.
// deploy/check runs all tests with it, and those that speak of this package once more
// without. It finds them by their text: Only is called, or Raced read, in the function of
// the test itself, not in one that it calls.
package unraced
