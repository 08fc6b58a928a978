package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/crash"
)

// TestNothingIsLostAndNothingHappensTwice is the short form of the rig: every crash
// point and every fault of the world once.
func TestNothingIsLostAndNothingHappensTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("runs for some two minutes")
	}
	if _, err := exec.LookPath("redis-server"); err != nil && os.Getenv("EARSHOT_REQUIRE_SERVERS") == "" {
		t.Skip("no redis-server on the path: install it with apt-get install redis-server, or brew install redis")
	}
	dir, err := os.MkdirTemp("", "earshot-faults-") // kept where the books do not balance
	require.NoError(t, err)
	found, err := campaign(t.Context(), options{seed: 20, dir: dir, logf: t.Logf})
	if found != nil {
		t.Log("\n" + found.table())
	}
	require.NoError(t, err)
	require.Empty(t, found.violations)
	require.GreaterOrEqual(t, len(found.kills), len(crash.Points())*3/4, "most points were reached in time")
	require.NotZero(t, found.lost, "replies were lost")
	require.NoError(t, os.RemoveAll(dir))
}
