// Package docs holds the documents that a person reads in order, beginning with README.md, and the tests that keep
// them true: every command in them is run, and every field that the service takes is described. It has no code.
package docs
