package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/redistest"
	"earshot/repositories/failpoint"
)

// TestNothingIsLostAndNothingHappensTwice is the short form of the rig: every crash
// point and every fault of the world once.
func TestNothingIsLostAndNothingHappensTwice(t *testing.T) {
	o, err := short(t).withPhases("kills,recovery,faults,outage,full,restore,deletion") // the cluster has a test of its own
	require.NoError(t, err)
	o.seed = 20
	found, err := campaign(t.Context(), o)
	if found != nil {
		t.Log("\n" + found.table())
	}
	require.NoError(t, err)
	require.Empty(t, found.failures())
	require.GreaterOrEqual(t, len(found.kills), len(failpoint.Points())*3/4, "most points were reached in time")
	require.NotZero(t, found.lost, "replies were lost")
	require.NotZero(t, found.unknown, "calls that are not idempotent came to an unknown end")
	require.NotZero(t, found.tasks)
	require.NotZero(t, found.chats)
	require.NotZero(t, found.remote)
	require.NoError(t, os.RemoveAll(o.dir))
}

// TestNothingIsLostWhenARedisClusterLosesAMaster: what was answered is kept, and whoever goes on
// asking is answered soon after Redis has promoted a replica.
func TestNothingIsLostWhenARedisClusterLosesAMaster(t *testing.T) {
	t.Parallel()
	o, err := short(t).withPhases("cluster")
	require.NoError(t, err)
	found, err := campaign(t.Context(), o)
	require.NoError(t, err)
	t.Log("\n" + found.table())
	require.Empty(t, found.failures())
	require.Len(t, found.losses, 1)
	require.NoError(t, os.RemoveAll(o.dir))
}

func TestMain(m *testing.M) { testbed.Main(m) }

// short are the options of the short form, with a folder that is kept if the test fails.
func short(t *testing.T) options {
	if testing.Short() {
		t.Skip("runs for minutes")
	}
	redistest.Program(t)
	o := defaults()
	o.logf, o.program = t.Logf, testbed.Program(t, "crashtest")
	var err error
	o.dir, err = os.MkdirTemp("", "earshot-faults-")
	require.NoError(t, err)
	return o
}

// contended is a phase of clients that fire, and change, the same repositories.
func contended(kills int, shared ...action) phase {
	return phase{name: "contention", kills: kills, faults: []fault{calm(4 * time.Second)}, actions: shared}
}

// campaignsForAFlaw is how often it is tried to see a flaw: on a busy machine a campaign of
// seconds may do too little to meet it.
const campaignsForAFlaw = 10

// TestEveryFlawIsFound plants one flaw at a time into the replicas. The campaign has to
// end with violations of a rule that the flaw breaks.
func TestEveryFlawIsFound(t *testing.T) {
	contend, reform := action{8, (*client).contend}, action{2, (*client).reform}
	quarrel, same := action{1, (*client).quarrelsome}, action{1, func(c *client) { c.same(6) }}
	lookup, note := saying(1, "lookup"), saying(1, "note")
	for _, test := range []struct {
		flaw   failpoint.Flaw
		phase  phase
		points []failpoint.Point
		rule   string
	}{
		{failpoint.CommitWithoutCAS, contended(0, contend, reform), nil, "once is once: "},
		{failpoint.MoveWithoutState, contended(0, quarrel), nil, "every trigger ends in one way: "},
		{failpoint.UnfencedFirst, contended(0, same), nil, "of equal values one fires: "},
		{failpoint.EarlyPublish, contended(0, contend, reform), nil, "nothing happened that was not decided: "},
		{failpoint.ChangingID, contended(2, note), []failpoint.Point{failpoint.PublishAcked}, "nothing is stored twice: "},
		{failpoint.ChangeWithoutCAS, contended(0, action{1, (*client).fill}), nil, "a task fires once, with what was given: "},
		{failpoint.ChangingCall, contended(0, action{1, (*client).chat}), nil, "a chat fires once: "},
		{failpoint.ChangingKey, contended(0, lookup), nil, "an MCP server carries out every call: "},
		{failpoint.Unwaited, phase{name: "contention", cluster: &layout{wait: 1}, faults: []fault{lagging(true)}, actions: []action{note}}, nil, "what was answered is kept: "},
	} {
		t.Run(string(test.flaw), func(t *testing.T) {
			t.Parallel()
			broken := func(violation string) bool { return strings.HasPrefix(violation, "contention: "+test.rule) }
			for range campaignsForAFlaw {
				o := short(t)
				o.flaw, o.phases, o.points, o.rest = test.flaw, []phase{test.phase}, test.points, 15*time.Second
				found, err := campaign(t.Context(), o)
				require.NoError(t, err)
				t.Log("\n" + found.table())
				require.NoError(t, os.RemoveAll(o.dir))
				if slices.ContainsFunc(found.violations(), broken) {
					require.NotEmpty(t, found.failures())
					return
				}
			}
			t.Errorf("no violation of %q", test.rule)
		})
	}
}

// TestOfManyWaysOneIsTakenWhileReplicasDie has 64 clients ask for the same at once, and triggers confirmed, denied,
// cancelled and released at the same instant, while replicas die about that.
func TestOfManyWaysOneIsTakenWhileReplicasDie(t *testing.T) {
	t.Parallel()
	o := short(t)
	o.points = []failpoint.Point{failpoint.CommitBefore, failpoint.CommitReply, failpoint.MoveBefore, failpoint.MoveReply, failpoint.HeldClaimed, failpoint.NextBefore, failpoint.EffectsBefore}
	held := []action{{1, func(c *client) { c.same(64) }}, {4, (*client).quarrelsome}, {4, (*client).settle}, {2, (*client).interrupt}, {2, (*client).guard}}
	o.phases = []phase{contended(len(o.points), held...)}
	found, err := campaign(t.Context(), o)
	require.NoError(t, err)
	t.Log("\n" + found.table())
	require.Empty(t, found.failures())
	require.NoError(t, os.RemoveAll(o.dir))
}

// TestAPhaseThatDoesNotComeToRestIsAFailure leaves NATS away, so that what is owed stays owed.
func TestAPhaseThatDoesNotComeToRestIsAFailure(t *testing.T) {
	t.Parallel()
	o := short(t)
	gone := fault{"NATS goes away for good", func(s *system) {
		s.nats.Kill()
		s.wait(time.Second)
	}}
	o.phases, o.rest, o.ready = []phase{{name: "away", faults: []fault{gone}, actions: basic}}, 2*time.Second, 10*time.Second
	found, err := campaign(t.Context(), o)
	require.NoError(t, err)
	t.Log("\n" + found.table())
	require.NotEmpty(t, found.failures())
	require.Contains(t, found.table(), "**FAILED**")
	require.Regexp(t, `phase away did not come to rest: not within 2s: \d+ effects or turns are still owed`, found.table())
	require.NotContains(t, found.table(), "books balance")
	require.NoError(t, os.RemoveAll(o.dir))
}
