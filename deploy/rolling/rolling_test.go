package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func short(t *testing.T, o options) *report {
	if testing.Short() {
		t.Skip("restarts three replicas under load")
	}
	o.clients, o.settle, o.logf = 4, 300*time.Millisecond, t.Logf
	found := testbed.Got(roll(t, t.TempDir(), o))(t)
	t.Log(found)
	require.NoError(t, found.fault())
	return found
}

func TestNobodyNoticesARestartOfAllReplicasOneByOne(t *testing.T) {
	found := short(t, options{})
	require.NotZero(t, found.requests)
	require.Empty(t, found.retried, "the balancer has left each in time")
}

// versionBefore is the program, or the commit, that EARSHOT_BEFORE names: replicas are upgraded from it.
func versionBefore(t *testing.T) string {
	named := os.Getenv("EARSHOT_BEFORE")
	if named == "" {
		t.Skip("an earlier version takes minutes to build: set EARSHOT_BEFORE to a program or a commit of one, or run: go run ./deploy/rolling -marks -before 005fb8e")
	}
	return named
}

func TestNobodyNoticesAnUpgradeFromTheVersionBefore(t *testing.T) {
	short(t, options{before: versionBefore(t), marks: true}) // it may not drain
}

// TestNobodyNoticesTheWayBackToTheVersionBefore is for a version of the same format: see upgrade.md.
func TestNobodyNoticesTheWayBackToTheVersionBefore(t *testing.T) {
	short(t, options{after: versionBefore(t), marks: true})
}
