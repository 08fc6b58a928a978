// Package matcher finds out which of the tools in scope a message calls for, and
// with which values.
//
// It has three stages, cheapest first: a text that equals a button-like tool, a
// request to an LLM with tool calling, and, where no LLM is configured, a decision
// from the words alone. None of them has a side effect: a message may be matched
// twice, and package trigger sees to it that it is decided once.
//
// Nothing that a model says is taken on trust. A tool that is not in scope is
// dropped; arguments are read leniently and checked against the parameters; a faulty
// call goes back once with its faults and is then rejected.
package matcher
