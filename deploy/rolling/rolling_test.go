package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

// beforeVariable names the program, or the commit, that replicas are upgraded from in the tests.
const beforeVariable = "EARSHOT_BEFORE"

// short are the options of the short form.
func short(t *testing.T) options {
	if testing.Short() {
		t.Skip("restarts three replicas under load")
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		testbed.Missing(t, "no redis-server on the path: install it with apt-get install redis-server, or brew install redis")
	}
	o := defaults()
	o.dir, o.logf, o.settle, o.clients = t.TempDir(), t.Logf, 300*time.Millisecond, 4
	return o
}

func TestNobodyNoticesARestartOfAllReplicasOneByOne(t *testing.T) {
	var said strings.Builder
	o := short(t)
	require.NoError(t, run(t.Context(), o, &said))
	require.Regexp(t, `^[1-9]\d* requests, 0 sent twice, 0 failed\n`, said.String(), "the balancer has left each in time")
	t.Log(said.String())
}

// versionBefore is the earlier version that is named; without one the test is skipped.
func versionBefore(t *testing.T) string {
	named := os.Getenv(beforeVariable)
	if named == "" {
		t.Skip("an earlier version takes minutes to build: set " + beforeVariable + " to a program or a commit of one, or run: go run ./deploy/rolling -marks -before 005fb8e")
	}
	return named
}

func TestNobodyNoticesAnUpgradeFromTheVersionBefore(t *testing.T) {
	o := short(t)
	o.before, o.marks = versionBefore(t), true // it may not drain
	var said strings.Builder
	require.NoError(t, run(t.Context(), o, &said))
	t.Log(said.String())
}

// TestNobodyNoticesTheWayBackToTheVersionBefore is for a version of the same format: see upgrade.md.
func TestNobodyNoticesTheWayBackToTheVersionBefore(t *testing.T) {
	o := short(t)
	o.after, o.marks = versionBefore(t), true
	var said strings.Builder
	require.NoError(t, run(t.Context(), o, &said))
	t.Log(said.String())
}
