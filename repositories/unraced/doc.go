// Package unraced is for tests that the race detector makes five to ten times as long, and
// in which it has nothing to find.
package unraced
