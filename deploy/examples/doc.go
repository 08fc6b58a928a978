// Package examples holds programs around Earshot that work and are read in a few minutes,
// and the tests that run them: see README.md. It has no code itself.
package examples
