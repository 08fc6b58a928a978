// Package conversations holds conversations of several days and people as tests of tools, in
// files that earshot eval runs, and the test that runs them without a model.
package conversations
