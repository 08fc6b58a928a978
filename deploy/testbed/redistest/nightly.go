//go:build nightly

package redistest

const nightly = true
