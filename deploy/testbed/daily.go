//go:build !nightly

package testbed

// Nightly reports whether tests are built with the tag nightly, to do more than there is time for in each check.
const Nightly = false
