//go:build !nightly

package redistest

const nightly = false
