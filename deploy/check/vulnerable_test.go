package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKnownVulnerabilitiesFailTheCheckUnlessTheyCannotBeLookedUp(t *testing.T) {
	failed := errors.New("exit status 1")
	note, err := judged([]byte("No vulnerabilities found.\n"), nil)
	require.NoError(t, err)
	require.Empty(t, note)

	note, err = judged([]byte("go: downloading golang.org/x/vuln v1.9.0\ngovulncheck: fetching vulnerabilities: Get \"https://vuln.go.dev/index/modules.json.gz\": dial tcp: lookup vuln.go.dev: no such host\nexit status 1\n"), failed)
	require.NoError(t, err)
	require.Equal(t, `govulncheck has not looked for known vulnerabilities: Get "https://vuln.go.dev/index/modules.json.gz": dial tcp: lookup vuln.go.dev: no such host; set GOVULNDB to a copy that can be reached`, note)

	for _, said := range []string{"=== Symbol Results ===\n\nVulnerability #1: GO-2099-0001\n", "govulncheck: loading packages:\nThere are errors\n", ""} {
		note, err = judged([]byte(said), failed)
		require.ErrorIs(t, err, failed)
		require.ErrorContains(t, err, said)
		require.Empty(t, note)
	}
}
