//go:build nightly

package main

import (
	"errors"
	"fmt"
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
	t.Cleanup(func() {
		if !t.Failed() {
			require.NoError(t, os.RemoveAll(o.dir))
		}
	})
	return o
}

func run(t *testing.T, o options) *outcome {
	t.Helper()
	found, err := campaign(t.Context(), o)
	if found != nil {
		t.Log("\n" + found.table())
	}
	require.NoError(t, err)
	return found
}

// contended is a phase of clients that fire, and change, the same repositories.
func contended(kills int, shared ...action) phase {
	return phase{name: "contention", kills: kills, faults: []fault{{"nothing goes wrong", func(s *system) { s.wait(4 * time.Second) }}}, actions: shared}
}

// campaignsForAFlaw is how often a flaw is tried: on a busy machine a campaign of seconds may not meet it.
const campaignsForAFlaw = 10

// flaws are those of package failpoint, each with the phase in which it shows and the rule that it breaks.
var flaws = map[failpoint.Flaw]struct {
	phase  phase
	points []failpoint.Point
	rule   string
}{
	failpoint.CommitWithoutCAS: {contended(0, action{8, (*client).contend}, action{2, (*client).reform}), nil, "once is once: "},
	failpoint.MoveWithoutState: {contended(0, action{1, quarrelsome}), nil, "every trigger ends in one way: "},
	failpoint.UnfencedFirst:    {contended(0, action{1, func(c *client) { c.same(6) }}), nil, "of equal values one fires: "},
	failpoint.EarlyPublish:     {contended(0, action{8, (*client).contend}, action{2, (*client).reform}), nil, "nothing happened that was not decided: "},
	failpoint.ChangingID:       {contended(2, saying(1, "note")), []failpoint.Point{failpoint.PublishAcked}, "nothing is stored twice: "},
	failpoint.ChangeWithoutCAS: {contended(0, action{1, (*client).fill}), nil, "a task fires once, with what was given: "},
	failpoint.ChangingCall:     {contended(0, action{1, (*client).chat}), nil, "a chat fires once: "},
	failpoint.ChangingKey:      {contended(0, saying(1, "lookup")), nil, "an MCP server carries out every call: "},
	failpoint.ForgottenResend:  {contended(0, saying(1, "note")), nil, "each event arrives at the webhook: "},
	failpoint.LostBehind:       {contended(0, action{1, (*client).peek}), nil, "answers agree with records: "},
	failpoint.Unwaited: {
		phase{name: "contention", cluster: &layout{wait: 1}, faults: []fault{lagging(true)}, actions: []action{saying(1, "note")}}, nil, "what was answered is kept: ",
	},
}

// isFound runs campaigns of replicas with a flaw until one ends with a violation of the rule that the flaw breaks.
func isFound(t *testing.T, flaw failpoint.Flaw) {
	t.Parallel()
	for range campaignsForAFlaw {
		o := short(t)
		o.flaw, o.phases, o.points, o.rest = flaw, []phase{flaws[flaw].phase}, flaws[flaw].points, 15*time.Second
		found := run(t, o)
		require.NotContains(t, found.table(), "does not come up")
		require.NoError(t, os.RemoveAll(o.dir))
		if slices.ContainsFunc(found.violations(), func(v string) bool { return strings.HasPrefix(v, "contention: "+flaws[flaw].rule) }) {
			require.NotEmpty(t, found.failures())
			return
		}
	}
	t.Errorf("no violation of %q", flaws[flaw].rule)
}

// TestAPhaseThatDoesNotComeToRestIsAFailure leaves NATS away, so that what is owed stays owed.
func TestAPhaseThatDoesNotComeToRestIsAFailure(t *testing.T) {
	t.Parallel()
	o := short(t)
	gone := fault{"NATS goes away for good", func(s *system) {
		s.nats.Kill()
		s.wait(time.Second)
	}}
	o.phases, o.rest, o.ready = []phase{{name: "away", faults: []fault{gone}, actions: basic}}, 2*time.Second, time.Minute
	found := run(t, o)
	require.NotEmpty(t, found.failures())
	require.Contains(t, found.table(), "**FAILED**")
	require.Regexp(t, `phase away did not come to rest: not within 2s: \d+ effects or turns are still owed`, found.table())
	require.NotContains(t, found.table(), "books balance")
}

func quarrelsome(c *client) {
	if asked, is := c.either(true, "refund").only(); is {
		c.quarrel(asked)
	}
}

func TestTableOfACampaignThatIsAProofSaysSo(t *testing.T) {
	o := &outcome{asked: 2, random: 2, accounts: []*account{{phase: "kills", closed: true, owed: 7, rested: time.Second}}}
	require.Empty(t, o.failures())
	require.Contains(t, o.table(), "**PASSED**: all 1 phases came to rest")
	require.Contains(t, o.table(), "| phase kills | once, at rest, books balance; 7 owed at the end at most, nothing after 1s at most |")
	require.Contains(t, o.table(), "| **violations** | **0** |")
}

// TestTableDoesNotReadAsAPassWhereItProvesNothing has one phase that is well beside each.
func TestTableDoesNotReadAsAPassWhereItProvesNothing(t *testing.T) {
	well := &account{phase: "kills", closed: true}
	owing := &account{phase: "outage", closed: true}
	owing.trouble(errors.New("12 effects or turns are still owed after 1m30s of quiet"))
	for says, o := range map[string]*outcome{
		"no phase was run": {},
		"phase outage did not come to rest: 12 effects or turns are still owed after 1m30s of quiet": {accounts: []*account{well, owing}},
		"| phase outage | **1 of 1 DID NOT COME TO REST**; violations so far: 0 |":                   {accounts: []*account{well, owing}},
		"| **violations** | **0 found, NOT KNOWN for 1 phases** |":                                   {accounts: []*account{well, owing}},
		"its books were never closed": {accounts: []*account{well, {phase: "outage"}}},
		"2 violations of the promise": {accounts: []*account{well, {phase: "full", closed: true, violations: []string{"a", "b"}}}},
		"it was cut off":              {accounts: []*account{well}, cut: true},
		"only 3 of the 500 kills":     {accounts: []*account{well}, asked: 500, random: 3},
	} {
		require.NotEmpty(t, o.failures(), says)
		require.Contains(t, o.table(), says)
		require.Regexp(t, `^\*\*FAILED\*\*: `, o.table())
		require.NotContains(t, o.table(), "PASSED")
	}
}

func TestQuantileIsTheValueThatAPartDoesNotExceed(t *testing.T) {
	list := []time.Duration{3 * time.Second, time.Second, 2 * time.Second}
	require.Equal(t, 2*time.Second, quantile(list, 0.5))
	require.Equal(t, 3*time.Second, quantile(list, 1))
	require.Zero(t, quantile(nil, 1))
}

func TestScheduleHangsOnItsSeedAloneAndComesToEveryPoint(t *testing.T) {
	choices := func(seed int64) (list []string) {
		plan := newSchedule(seed, failpoint.Points())
		plan.arm(len(failpoint.Points()))
		for plan.pending() {
			point, passes := plan.next()
			list = append(list, fmt.Sprintf("%s:%d", point, passes))
		}
		return list
	}
	require.Equal(t, choices(1), choices(1))
	require.NotEqual(t, choices(1), choices(2))
	seen := map[string]bool{}
	for _, choice := range choices(3) {
		seen[strings.Split(choice, ":")[0]] = true
	}
	require.Len(t, seen, len(failpoint.Points()))
}

func TestScheduleIsQuietWhenNobodyIsOnTheWayToAPoint(t *testing.T) {
	plan := newSchedule(1, failpoint.Points())
	plan.arm(1)
	plan.next()
	require.False(t, plan.pending())
	require.False(t, plan.quiet())
	plan.over()
	require.True(t, plan.quiet())
}

func TestPointThatWasMissedComesAgain(t *testing.T) {
	plan := newSchedule(1, failpoint.Points())
	plan.arm(len(failpoint.Points()))
	first, _ := plan.next()
	plan.missed(first)
	var last failpoint.Point
	for plan.pending() {
		last, _ = plan.next()
	}
	require.Equal(t, first, last)
}

func TestPlantedCredentialsAreFoundInEveryForm(t *testing.T) {
	secrets := plant()
	secrets.look("a log", "all is well")
	require.Empty(t, secrets.all())
	for _, word := range secrets.words() {
		secrets.look("a log", "x"+word+"y")
	}
	require.GreaterOrEqual(t, len(secrets.all()), len(secrets.words()))
}

// TestNothingIsLostAndNothingHappensTwice is the short form of the rig: every crash point and every fault once.
func TestNothingIsLostAndNothingHappensTwice(t *testing.T) {
	o := testbed.Got(short(t).withPhases("kills,recovery,faults,outage,full,restore,deletion"))(t) // the cluster has a test of its own
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
	o := testbed.Got(short(t).withPhases("cluster"))(t)
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
