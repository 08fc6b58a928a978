package main

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/repositories/failpoint"
)

// TestNothingIsLostAndNothingHappensTwice is the short form of the rig: every crash
// point and every fault of the world once.
func TestNothingIsLostAndNothingHappensTwice(t *testing.T) {
	o, err := short(t).withEras("kills,recovery,faults,outage,full,restore,deletion") // the cluster has a test of its own
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
	o, err := short(t).withEras("cluster")
	require.NoError(t, err)
	found, err := campaign(t.Context(), o)
	require.NoError(t, err)
	t.Log("\n" + found.table())
	require.Empty(t, found.failures())
	require.Len(t, found.losses, 1)
	require.NoError(t, os.RemoveAll(o.dir))
}

// built holds the programs, which all tests share.
var built = sync.OnceValues(func() (programs, error) { return build(context.Background(), binaries, false) })

var binaries string

func TestMain(m *testing.M) {
	var err error
	if binaries, err = os.MkdirTemp("", "earshot-faults-bin-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(binaries)
	os.Exit(code)
}

// short are the options of the short form, with a folder that is kept where the test
// fails.
func short(t *testing.T) options {
	if testing.Short() {
		t.Skip("runs for minutes")
	}
	if _, err := exec.LookPath("redis-server"); err != nil && os.Getenv("EARSHOT_REQUIRE_SERVERS") == "" {
		t.Skip("no redis-server on the path: install it with apt-get install redis-server, or brew install redis")
	}
	o := defaults()
	o.logf = t.Logf
	var err error
	o.programs, err = built()
	require.NoError(t, err)
	o.dir, err = os.MkdirTemp("", "earshot-faults-")
	require.NoError(t, err)
	return o
}

// contended is an era of clients that fire, and change, the same repositories.
func contended(kills int, shared ...deed) era {
	return era{name: "contention", kills: kills, faults: []fault{calm(4 * time.Second)}, deeds: shared}
}

// campaignsForAFlaw is how often it is tried to see a flaw: on a busy machine a campaign of
// seconds may do too little to meet it.
const campaignsForAFlaw = 10

// TestEveryFlawIsFound plants one flaw at a time into the replicas. The campaign has to
// end with violations of a rule that the flaw breaks.
func TestEveryFlawIsFound(t *testing.T) {
	contend, reform := deed{8, (*speaker).contend}, deed{2, (*speaker).reform}
	quarrel, same := deed{1, (*speaker).quarrelsome}, deed{1, func(s *speaker, ctx context.Context) { s.same(ctx, 6) }}
	lookup := deed{1, func(s *speaker, ctx context.Context) { s.say(ctx, "lookup", `call lookup {"day":"monday"}`) }}
	note := deed{1, func(s *speaker, ctx context.Context) { s.say(ctx, "note", `call note {"day":"monday"}`) }}
	for _, test := range []struct {
		flaw   failpoint.Flaw
		era    era
		points []failpoint.Point
		rule   string
	}{
		{failpoint.CommitWithoutCAS, contended(0, contend, reform), nil, "once is once: "},
		{failpoint.MoveWithoutState, contended(0, quarrel), nil, "every trigger ends in one way: "},
		{failpoint.UnfencedFirst, contended(0, same), nil, "of equal values one fires: "},
		{failpoint.EarlyPublish, contended(0, contend, reform), nil, "nothing happened that was not decided: "},
		{failpoint.ChangingID, contended(2, note), []failpoint.Point{failpoint.PublishAcked}, "nothing is stored twice: "},
		{failpoint.ChangeWithoutCAS, contended(0, deed{1, (*speaker).fill}), nil, "a task fires once, with what was given: "},
		{failpoint.ChangingCall, contended(0, deed{1, (*speaker).chat}), nil, "a chat fires once: "},
		{failpoint.ChangingKey, contended(0, lookup), nil, "an MCP server carries out every call: "},
		{failpoint.Unwaited, era{name: "contention", cluster: &layout{wait: 1}, faults: []fault{lagging(true)}, deeds: []deed{note}}, nil, "what was answered is kept: "},
	} {
		t.Run(string(test.flaw), func(t *testing.T) {
			t.Parallel()
			broken := func(violation string) bool { return strings.HasPrefix(violation, "contention: "+test.rule) }
			for range campaignsForAFlaw {
				o := short(t)
				o.flaw, o.eras, o.points, o.rest = test.flaw, []era{test.era}, test.points, 15*time.Second
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

// TestOfManyWaysOneIsTakenWhileReplicasDie has 64 clients ask for the same at once, and
// triggers confirmed, denied, cancelled and released at the same instant, while replicas die
// about that.
func TestOfManyWaysOneIsTakenWhileReplicasDie(t *testing.T) {
	t.Parallel()
	o := short(t)
	o.points = []failpoint.Point{failpoint.CommitBefore, failpoint.CommitReply, failpoint.MoveBefore, failpoint.MoveReply, failpoint.HeldClaimed, failpoint.NextBefore, failpoint.EffectsBefore}
	held := []deed{{1, func(s *speaker, ctx context.Context) { s.same(ctx, 64) }}, {4, (*speaker).quarrelsome}, {4, (*speaker).settle}, {2, (*speaker).interrupt}, {2, (*speaker).guard}}
	o.eras = []era{contended(len(o.points), held...)}
	found, err := campaign(t.Context(), o)
	require.NoError(t, err)
	t.Log("\n" + found.table())
	require.Empty(t, found.failures())
	require.NoError(t, os.RemoveAll(o.dir))
}

// TestAnEraThatDoesNotComeToRestIsAFailure leaves NATS away, so that what is owed
// stays owed.
func TestAnEraThatDoesNotComeToRestIsAFailure(t *testing.T) {
	t.Parallel()
	o := short(t)
	away := fault{"NATS goes away for good", func(w *world, ctx context.Context) error {
		w.nats.Kill()
		wait(ctx, time.Second)
		return nil
	}}
	o.eras, o.rest, o.ready = []era{{name: "away", faults: []fault{away}, deeds: deeds}}, 2*time.Second, 10*time.Second
	found, err := campaign(t.Context(), o)
	require.NoError(t, err)
	t.Log("\n" + found.table())
	require.NotEmpty(t, found.failures())
	require.Contains(t, found.table(), "**FAILED**")
	require.Regexp(t, `era away did not come to rest: \d+ effects or turns are still owed`, found.table())
	require.NotContains(t, found.table(), "books balance")
	require.NoError(t, os.RemoveAll(o.dir))
}
