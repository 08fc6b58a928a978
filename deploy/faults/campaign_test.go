//go:build nightly

package main

import (
	"testing"

	"earshot/repositories/failpoint"

	"github.com/stretchr/testify/require"
)

// TestNothingIsLostAndNothingHappensTwice is the short form of the rig: every crash point and every fault once.
func TestNothingIsLostAndNothingHappensTwice(t *testing.T) {
	o, err := short(t).withPhases("kills,recovery,faults,outage,full,restore,deletion") // the cluster has a test of its own
	require.NoError(t, err)
	o.seed = 20
	found := run(t, o)
	require.Empty(t, found.failures())
	require.GreaterOrEqual(t, len(found.kills), len(failpoint.Points())*3/4, "most points were reached in time")
	require.NotZero(t, found.lost, "replies were lost")
	require.NotZero(t, found.unknown, "calls that are not idempotent came to an unknown end")
	require.NotZero(t, found.tasks)
	require.NotZero(t, found.chats)
	require.NotZero(t, found.remote)
}

// TestNothingIsLostWhenARedisClusterLosesAMaster: answers are kept, and retries succeed soon after a replica is promoted.
func TestNothingIsLostWhenARedisClusterLosesAMaster(t *testing.T) {
	t.Parallel()
	o, err := short(t).withPhases("cluster")
	require.NoError(t, err)
	found := run(t, o)
	require.Empty(t, found.failures())
	require.Len(t, found.losses, 1)
}

// TestOfManyWaysOneIsTakenWhileReplicasDie has 64 clients ask for the same at once, and triggers confirmed, denied, cancelled
// and released at the same moment.
func TestOfManyWaysOneIsTakenWhileReplicasDie(t *testing.T) {
	t.Parallel()
	o := short(t)
	o.points = []failpoint.Point{failpoint.CommitBefore, failpoint.CommitReply, failpoint.MoveBefore, failpoint.MoveReply, failpoint.HeldClaimed, failpoint.NextBefore, failpoint.EffectsBefore}
	held := []action{{1, func(c *client) { c.same(64) }}, {4, quarrelsome}, {4, (*client).settle}, {2, (*client).interrupt}, {2, (*client).guard}}
	o.phases = []phase{contended(len(o.points), held...)}
	require.Empty(t, run(t, o).failures())
}

func TestEveryFlawIsFound(t *testing.T) {
	require.Len(t, flaws, len(failpoint.Flaws()))
	for flaw := range flaws {
		t.Run(string(flaw), func(t *testing.T) { isFound(t, flaw) })
	}
}
