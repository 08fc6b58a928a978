// Package docs holds the documents that a person reads in order, beginning with README.md, and the tests that keep
// them true: each command in them is run, and the pages of reference are what the program says. It has no code.
package docs
