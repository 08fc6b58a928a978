package ledger_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/redistest"
	"earshot/repositories/keyspace"
	"earshot/repositories/lists"
	"earshot/trigger/ledger"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// world is the ledger of an app with one repository, on one kind of Redis. Its helpers run each script twice,
// like a client that lost the reply, and expect the same result.
type world struct {
	*testing.T
	*ledger.Ledger
	reader *ledger.Reader
	db     *keyspace.DB
	k      keyspace.Keys
}

func each(t *testing.T, test func(w *world)) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		db := &keyspace.DB{UniversalClient: server.Client(), Embedded: server.Embedded()}
		w := &world{t, ledger.New(db), ledger.NewReader(db), db, keyspace.KeysOf("shop")}
		w.app("record", "{}", "rev", "r1", "version", "v1", "generation", "g1")
		require.NoError(t, db.HSet(t.Context(), w.k.Repos(""), "booking", "r1 g1 {}").Err())
		test(w)
	})
}

func (w *world) app(fields ...any) {
	w.Helper()
	require.NoError(w, w.db.HSet(w.Context(), w.k.App(), fields...).Err())
}

var m1 = ledger.Turn{App: "shop", Session: "s", Message: "m1"}

func (w *world) accept(token string, change func(*ledger.Acceptance)) (found ledger.Accepted) {
	w.Helper()
	a := ledger.Acceptance{
		Turn: m1, Token: token, Lease: time.Hour, Message: `{"text":"noon"}`, WordsHash: "hash", History: 40, Version: "v0",
		SessionTTL: time.Hour, GenerationTTL: time.Hour, Messages: 100,
	}
	if change != nil {
		change(&a)
	}
	for range 2 {
		found = testbed.Got(w.Accept(w.Context(), a))(w)
	}
	return found
}

// decide commits a firing of m1 with an event and, where calls says so, a call.
func (w *world) decide(token string, calls bool, change func(*ledger.Commitment)) (decided ledger.Decision) {
	w.Helper()
	c := ledger.Commitment{
		Turn: m1, Box: "s", Token: token, Decision: `{"decided":true}`, Matched: "v1", Version: "v2", TTL: time.Hour, Lease: time.Hour,
		Firings: []ledger.Firing{{ID: "t1", Name: "t1", Record: "{}", Repository: "booking", Revision: "r1", Open: 1, States: ledger.States{Event: `{"state":"pending"}`}}},
		Events:  []keyspace.Entry{keyspace.EventEntry("t1.event", "s", "t1", "{}")},
	}
	c.Events[0].Part = "event"
	if calls {
		c.Firings[0].Open, c.Firings[0].States.Call = 2, `{"state":"pending"}`
		c.Others = []keyspace.Entry{{ID: "t1.call", Kind: "call", Body: "{}", Session: "s", Trigger: "t1", Part: "call", Lease: 3_600_000}}
	}
	if change != nil {
		change(&c)
	}
	for range 2 {
		decided = testbed.Got(w.Commit(w.Context(), c))(w)
	}
	return decided
}

func (w *world) trigger() ledger.StoredTrigger {
	w.Helper()
	list := testbed.Got(w.reader.Triggers(w.Context(), "shop", []string{"t1", "none"}))(w)
	require.Nil(w, list[1])
	return *list[0]
}

func (w *world) owed() float64 {
	w.Helper()
	found := testbed.Got(ledger.ReadBacklog(w.Context(), w.Ledger))(w)
	return found.Pending
}

func TestAMessageIsAcceptedAndDecidedOnce(t *testing.T) {
	each(t, func(w *world) {
		found := w.accept("a", nil)
		require.Equal(w, ledger.Taken, found.Status)
		require.Equal(w, []string{"r1 g1 {}"}, found.Taken.App.Repositories)
		require.Equal(w, "v1", found.Taken.App.Version)
		require.Equal(w, ledger.Busy, w.accept("b", nil).Status)
		require.Equal(w, ledger.Reused, w.accept("a", func(a *ledger.Acceptance) { a.WordsHash = "other" }).Status)
		require.Equal(w, ledger.NoApp, w.accept("a", func(a *ledger.Acceptance) { a.App = "none" }).Status)
		require.InDelta(w, 1, w.owed(), 0)

		require.Equal(w, ledger.Lost, w.decide("b", false, nil).Status)
		require.Equal(w, ledger.Stale, w.decide("a", false, func(c *ledger.Commitment) { c.Matched, c.Firings[0].Revision = "v0", "r0" }).Status)
		require.Equal(w, ledger.Decision{Status: ledger.Committed, Holder: "a", Batch: true}, w.decide("a", false, nil))
		require.Equal(w, ledger.Lost, w.decide("b", false, nil).Status)
		require.Equal(w, ledger.Busy, w.accept("b", nil).Status, "it is not answered yet")

		done := ledger.Settlement{
			Turn: m1, Box: "s", Token: "a", Keep: time.Hour, Answer: ledger.AsDecided,
			Firings: []ledger.Settled{{ID: "t1", States: ledger.States{Event: `{"state":"published"}`}, Attempts: "{}\n"}},
		}
		for run := range 2 {
			flushed := testbed.Got(w.Settle(w.Context(), []ledger.Settlement{done}))(w)
			require.Equal(w, []ledger.Flushed{{Lost: run > 0}}, flushed)
		}
		require.Equal(w, ledger.StoredTrigger{ID: "t1", Record: "{}", Event: `{"state":"published"}`, Attempts: "{}\n", Name: "t1"}, w.trigger())
		answered := w.accept("b", nil)
		require.Equal(w, ledger.Accepted{Status: ledger.Answered, Answer: ledger.AsDecided, Decision: `{"decided":true}`}, answered)
		require.Zero(w, w.owed())
	})
}

func TestTheEventsOfABatchAreClaimedByOneAtATime(t *testing.T) {
	each(t, func(w *world) {
		w.accept("a", nil)
		w.decide("a", false, nil)
		run := testbed.Got(w.ClaimRun(w.Context(), "shop", "s", "b"))(w)
		require.Empty(w, run, "who has decided publishes")

		had, err := w.Release(w.Context(), ledger.HeldLeases{Turn: m1, Token: "a", Box: "s"})
		require.NoError(w, err)
		require.True(w, had)
		for range 2 {
			run, err = w.ClaimRun(w.Context(), "shop", "s", "b")
			require.NoError(w, err)
			require.Len(w, run, 1)
			require.Equal(w, "t1.event", run[0].ID)
			require.Equal(w, 1, run[0].Attempt)
		}
		had, err = w.Release(w.Context(), ledger.HeldLeases{Turn: ledger.Turn{App: "shop", Session: "s"}, Token: "b", Box: "s"})
		require.NoError(w, err)
		require.True(w, had)
		run = testbed.Got(w.ClaimRun(w.Context(), "shop", "s", "b"))(w)
		require.Len(w, run, 1, "nobody waits for the end of the lease")
		outcome := ledger.Outcome{ID: "t1.event", Event: true, Verdict: "retry", Counts: 1, Trigger: "t1", Part: "event", State: `{"state":"pending","error":"away"}`}
		w.finish("b", outcome)
		run = testbed.Got(w.ClaimRun(w.Context(), "shop", "s", "c"))(w)
		require.Equal(w, [2]int{2, 1}, [2]int{run[0].Attempt, run[0].Fails})
		outcome.Verdict, outcome.State = "done", `{"state":"published"}`
		w.finish("b", outcome)
		require.JSONEq(w, `{"state":"pending","error":"away"}`, w.trigger().Event, "its lease was lost")
		w.finish("c", outcome)
		require.JSONEq(w, `{"state":"published"}`, w.trigger().Event)
		require.Zero(w, w.owed())

		w.Purge(w.Context(), "shop", "s", "t1", "t1", false)
		require.NoError(w, w.db.HDel(w.Context(), w.k.Turns("s"), "d:m1").Err())
		erased := slices.Repeat([]string{"erased"}, 128) // as many as are read at once
		require.NoError(w, w.db.RPush(w.Context(), w.k.Outbox("s"), lists.Map(erased, func(id string) any { return id })...).Err())
		w.accept("a", nil)
		require.False(w, w.decide("a", false, nil).Batch)
		run = testbed.Got(w.ClaimRun(w.Context(), "shop", "s", "d"))(w)
		require.Len(w, run, 1, "the first that is left")
	})
}

func TestEachLeaseIsReleased(t *testing.T) {
	each(t, func(w *world) {
		released := func(h ledger.HeldLeases) bool {
			w.Helper()
			return testbed.Got(w.Release(w.Context(), h))(w)
		}
		w.accept("a", nil)
		require.False(w, released(ledger.HeldLeases{Turn: m1, Token: "b"}))
		require.True(w, released(ledger.HeldLeases{Turn: m1, Token: "a"}))
		require.Equal(w, ledger.Taken, w.accept("b", nil).Status)
		w.decide("d", false, func(c *ledger.Commitment) { c.Turn.Message, c.Decision = "", "" })
		direct := ledger.HeldLeases{Turn: ledger.Turn{App: "shop", Session: "s"}, Token: "d", Box: "another", Trigger: "t1"}
		require.True(w, released(direct))
		require.False(w, w.trigger().Answering)
	})
}

func TestOnlyHeldTriggersStayInTheirLane(t *testing.T) {
	each(t, func(w *world) {
		for state, stays := range map[string]int64{"confirming": 1, "settling": 1, "cancelled": 0, "": 0} {
			require.NoError(w, w.db.HSet(w.Context(), w.k.Trigger("t1"), "state", state).Err())
			require.NoError(w, w.db.ZAdd(w.Context(), w.k.Lane(keyspace.LaneHeld), redis.Z{Score: 1, Member: "t1"}).Err())
			require.NoError(w, w.DropFromHeld(w.Context(), "shop", "t1"))
			require.Equal(w, stays, w.db.ZCard(w.Context(), w.k.Lane(keyspace.LaneHeld)).Val(), state)
		}
	})
}

func (w *world) finish(token string, outcome ledger.Outcome) {
	w.Helper()
	for range 2 {
		_, _, err := w.Finish(w.Context(), ledger.Report{App: "shop", Session: "s", Box: "s", Token: token, Keep: 3_600_000, KeepDead: 3_600_000, Outcomes: []ledger.Outcome{outcome}})
		require.NoError(w, err)
	}
}

func TestACallIsTriedUntilItIsDeadAndCanBeRevived(t *testing.T) {
	each(t, func(w *world) {
		w.accept("a", nil)
		require.True(w, w.decide("a", true, nil).Batch, "its event alone: the call is an effect")
		claim := func(token string) *ledger.Claimed {
			w.Helper()
			claimed := testbed.Got(w.Claim(w.Context(), "shop", "t1.call", token))(w)
			return claimed
		}
		require.Nil(w, claim("b"), "who has decided makes the first attempt")
		require.Equal(w, 1, claim("a").Attempt)
		outcome := ledger.Outcome{ID: "t1.call", Verdict: "retry", Counts: 1, Trigger: "t1", Part: "call", State: `{"state":"pending","error":"away"}`}
		w.finish("a", outcome)
		require.Equal(w, [2]int{2, 1}, [2]int{claim("b").Attempt, claim("b").Fails})
		require.Nil(w, claim("c"))
		outcome.Verdict, outcome.State = "dead", `{"state":"failed"}`
		w.finish("b", outcome)
		require.Nil(w, claim("c"))
		require.JSONEq(w, `{"state":"failed"}`, w.trigger().Call)

		for range 2 {
			require.NoError(w, w.Revive(w.Context(), ledger.Revival{App: "shop", Session: "s", Trigger: "t1", Name: "t1", States: ledger.States{Call: `{"state":"pending"}`}, Line: "{}"}))
		}
		require.Equal(w, "{}\n", w.trigger().Retries)
		failed := func() float64 { return testbed.Got(ledger.ReadBacklog(w.Context(), w.Ledger))(w).Dead }
		require.Zero(w, failed())
		require.Equal(w, 1, claim("c").Revived)
		removed := testbed.Got(w.Purge(w.Context(), "shop", "s", "t1", "t1", false))(w)
		require.False(w, removed, "it owes a call")

		w.finish("c", outcome)
		require.InDelta(w, 1, failed(), 0)
		_, err := w.Settle(w.Context(), []ledger.Settlement{{Turn: m1, Box: "s", Token: "a", Keep: time.Hour}})
		require.NoError(w, err)
		require.NoError(w, w.db.HSet(w.Context(), w.k.Trigger("t1"), "open", 0).Err()) // as if its event were published
		removed = testbed.Got(w.Purge(w.Context(), "shop", "s", "t1", "t1", true))(w)
		require.True(w, removed)
		require.Zero(w, failed())
	})
}

func TestADraftIsMatchedByTheNewestAndGoesWithItsMessage(t *testing.T) {
	each(t, func(w *world) {
		begin := func(token, says string) ledger.BegunDraft {
			w.Helper()
			begun, err := w.BeginDraft(w.Context(), ledger.Draft{Turn: m1, Token: token, Lease: time.Hour, Message: `{"text":"noon"}`, WordsHash: says})
			require.NoError(w, err)
			return begun
		}
		keep := func(token string) bool {
			w.Helper()
			held := testbed.Got(w.StoreDraftMatch(w.Context(), ledger.MatchedDraft{Turn: m1, Token: token, Match: "match", Answer: "{}"}))(w)
			return held
		}
		first := begin("a", "old")
		require.Equal(w, first, begin("a", "old"))
		require.Equal(w, ledger.Busy, begin("b", "old").Status)
		require.Greater(w, begin("b", "hash").Since, first.Since)
		require.False(w, keep("a"), "a newer draft has replaced it")
		require.True(w, keep("b"))
		require.Equal(w, ledger.BegunDraft{Status: ledger.Answered, Answer: "{}"}, begin("c", "hash"))

		found := w.accept("d", func(a *ledger.Acceptance) { a.Message, a.WordsHash, a.OfDraft = "", "", true })
		require.Equal(w, ledger.Taken, found.Status)
		require.Equal(w, ledger.DraftMatch{Match: "match"}, found.Taken.Draft)
		status := testbed.Got(w.WithdrawDraft(w.Context(), m1, "r"))(w)
		require.Equal(w, ledger.Decided, status)
		status = testbed.Got(w.WithdrawDraft(w.Context(), ledger.Turn{App: "none", Session: "s", Message: "m1"}, "r"))(w)
		require.Equal(w, ledger.NoApp, status)
	})
}

func TestWhatIsOverALimitIsNotStored(t *testing.T) {
	each(t, func(w *world) {
		w.app("limits", "1 0 1 0 0 0 0 0")
		w.accept("a", nil)
		_, err := w.Accept(w.Context(), ledger.Acceptance{Turn: ledger.Turn{App: "shop", Session: "s", Message: "m2"}, Token: "b", Message: "{}", WordsHash: "h", SessionTTL: time.Hour, GenerationTTL: time.Hour, Messages: 100})
		limited := &ledger.RateError{}
		require.ErrorAs(w, err, &limited)
		require.Equal(w, "messagesPerMinute", limited.Limit)
		require.Equal(w, 1, limited.Most)
		require.Positive(w, limited.RetryAfter)
		require.InDelta(w, 1, w.owed(), 0)
		require.NoError(w, w.Count(w.Context(), "shop", "", ledger.Use{Triggers: 1}))
		require.ErrorAs(w, w.Count(w.Context(), "shop", "", ledger.Use{Triggers: 1}), &limited)
		require.Equal(w, "triggersPerMinute", limited.Limit)
		require.Error(w, w.Count(w.Context(), "none", "", ledger.Use{}))
	})
}

func TestATurnThatTakesItsWorkersDownIsGivenUp(t *testing.T) {
	each(t, func(w *world) {
		for _, token := range strings.Split("abcde", "") {
			require.Equal(w, ledger.Taken, w.accept(token, func(a *ledger.Acceptance) { a.Lease = 0 }).Status)
		}
		for _, status := range []ledger.Status{ledger.Crashed, ledger.Gone} {
			found, err := w.Accept(w.Context(), ledger.Acceptance{Turn: m1, Token: "f", SessionTTL: time.Hour, GenerationTTL: time.Hour, Messages: 100})
			require.NoError(w, err)
			require.Equal(w, status, found.Status)
		}
		require.Zero(w, w.owed())
		explained := testbed.Got(w.reader.Explained(w.Context(), m1))(w)
		require.JSONEq(w, `{"error":"crashed_worker"}`, explained.Failure)
		require.Equal(w, ledger.Taken, w.accept("g", nil).Status, "its client may send it again")
		explained = testbed.Got(w.reader.Explained(w.Context(), m1))(w)
		require.Empty(w, explained.Failure)
	})
}

// TestATurnOfAnEarlierBuildGoesOn has a turn in the form of earlier builds, with separate fields for the
// lease's token and end, for the hash of the words, and for the answer.
func TestATurnOfAnEarlierBuildGoesOn(t *testing.T) {
	each(t, func(w *world) {
		turns, ends := w.k.Turns("s"), time.Now().Add(time.Hour).UnixMilli()
		require.Equal(w, ledger.Taken, w.accept("a", nil).Status)
		arrived := time.Now().Add(-time.Minute).UnixMilli()
		require.NoError(w, w.db.HSet(w.Context(), turns, "k:m1", "a", "u:m1", ends, "h:m1", "hash", "t:m1", arrived).Err())
		require.Equal(w, ledger.Busy, w.accept("b", nil).Status)
		require.Equal(w, ledger.Reused, w.accept("a", func(a *ledger.Acceptance) { a.WordsHash = "other" }).Status)
		require.GreaterOrEqual(w, w.accept("a", nil).Taken.Age, time.Minute)
		_, ids, _, err := w.reader.Page(w.Context(), "shop", "s", ledger.Pages{Since: arrived + 1, Most: 10})
		require.NoError(w, err)
		require.Empty(w, ids)

		require.NoError(w, w.db.HSet(w.Context(), turns, "k:m1", "a", "u:m1", ends).Err())
		held := testbed.Got(w.Extend(w.Context(), m1, "a", time.Minute))(w)
		require.True(w, held)
		require.Equal(w, ledger.Lost, w.decide("b", false, nil).Status)
		require.NoError(w, w.db.HSet(w.Context(), turns, "k:m1", "a", "u:m1", ends).Err())
		require.True(w, w.decide("a", false, nil).Batch)
		_, err = w.Settle(w.Context(), []ledger.Settlement{{Turn: m1, Box: "s", Token: "a", Next: "n", Keep: time.Hour, Answer: ledger.AsDecided}})
		require.NoError(w, err)
		answered := ledger.Accepted{Status: ledger.Answered, Answer: ledger.AsDecided, Decision: `{"decided":true}`}
		require.Equal(w, answered, w.accept("b", nil))
		require.Zero(w, w.db.Exists(w.Context(), w.k.Outbox("s")).Val())
		require.False(w, w.db.HExists(w.Context(), turns, "u:m1").Val(), "nothing of its lease is left")

		require.NoError(w, w.db.HDel(w.Context(), turns, "k:m1").Err())
		require.Equal(w, ledger.Decided, w.accept("b", nil).Status)
		require.NoError(w, w.db.HSet(w.Context(), turns, "a:m1", ledger.AsDecided).Err())
		require.Equal(w, answered, w.accept("b", nil))
	})
}

func TestAReplySettledTogetherWithTheEventOfItsMessageIsPublished(t *testing.T) {
	each(t, func(w *world) {
		w.app("chat", "1")
		box := keyspace.ChatBox("s")
		said, replied := keyspace.EventEntry("m1.said", "s", "", "{}"), keyspace.EventEntry("m1.reply", "s", "", "{}")
		said.Box, replied.Box = box, box
		require.True(w, w.accept("a", func(a *ledger.Acceptance) { a.Chat = ledger.Chat{Precondition: "g1 \n", AcceptedEvent: &said} }).MustPublish)
		require.True(w, w.decide("a", false, nil).Batch)
		_, err := w.Settle(w.Context(), []ledger.Settlement{ // the first of them empties the outbox that the second one's event goes into
			{Turn: ledger.Turn{App: "shop", Session: "s"}, Box: box, Token: "a", Keep: time.Hour},
			{Turn: m1, Box: "s", Token: "a", Keep: time.Hour, Answer: ledger.AsDecided, Reply: `"Done."`, ReplyEvent: &replied},
		})
		require.NoError(w, err)
		due := testbed.Got(w.ReadDue(w.Context(), keyspace.AllPartitions(), func(keyspace.Lane) int { return 10 }))(w)
		require.Equal(w, []ledger.Lane{{App: "shop", Kind: keyspace.LaneOutboxes, Members: []string{box}}}, due.Lanes)
		run := testbed.Got(w.ClaimRun(w.Context(), "shop", box, "b"))(w)
		require.Len(w, run, 1)
		require.Equal(w, "m1.reply", run[0].ID)
	})
}

// TestASettlementHasTheCallsThatWereDelivered settles a batch while its call is under way, and together with it.
func TestASettlementHasTheCallsThatWereDelivered(t *testing.T) {
	each(t, func(w *world) {
		pending := func() []string { return w.db.ZRange(w.Context(), w.k.InState(keyspace.Pending), 0, -1).Val() }
		settle := func(change func(*ledger.Settlement)) bool {
			w.Helper()
			of := ledger.Settlement{
				Turn: m1, Box: "s", Token: "a", Keep: time.Hour,
				Firings: []ledger.Settled{{ID: "t1", States: ledger.States{Event: `{"state":"published"}`}, Attempts: "1\n", Call: "t1.call"}},
			}
			if change != nil {
				change(&of)
			}
			flushed := testbed.Got(w.Settle(w.Context(), []ledger.Settlement{of}))(w)
			return !flushed[0].Lost
		}
		delivered := func(of *ledger.Settlement) {
			of.Firings[0].States.Call, of.Results, of.Answer = `{"state":"delivered"}`, []ledger.Result{{"m1", "2"}, {"m0", "gone"}}, `{"matches":[]}`
		}
		w.accept("a", nil)
		w.decide("a", true, nil)
		require.InDelta(w, 2, w.owed(), 0)
		require.True(w, settle(nil))
		require.Equal(w, []string{"t1"}, pending())
		require.InDelta(w, 1, w.owed(), 0, "its call")
		require.False(w, settle(delivered), "the batch is gone")
		require.JSONEq(w, `{"state":"pending"}`, w.trigger().Call)
		w.finish("a", ledger.Outcome{ID: "t1.call", Verdict: "done", Trigger: "t1", Part: "call", State: `{"state":"delivered"}`, Attempt: "2"})
		require.Equal(w, ledger.StoredTrigger{ID: "t1", Record: "{}", Event: `{"state":"published"}`, Call: `{"state":"delivered"}`, Attempts: "1\n2\n", Name: "t1"}, w.trigger())
		require.Empty(w, pending())
		require.Zero(w, w.owed())

		w.Purge(w.Context(), "shop", "s", "t1", "t1", false)
		require.NoError(w, w.db.HDel(w.Context(), w.k.Turns("s"), "d:m1").Err())
		w.decide("a", true, nil)
		require.NoError(w, w.db.HSet(w.Context(), w.k.Effect("t1.call"), "token", "b").Err())
		require.False(w, settle(delivered), "another replica has the call")
		require.NoError(w, w.db.HSet(w.Context(), w.k.Effect("t1.call"), "token", "a").Err())
		require.True(w, settle(delivered))
		require.Equal(w, ledger.StoredTrigger{ID: "t1", Record: "{}", Event: `{"state":"published"}`, Call: `{"state":"delivered"}`, Attempts: "1\n", Name: "t1"}, w.trigger())
		require.Empty(w, pending())
		require.Zero(w, w.owed())
		require.Zero(w, w.db.Exists(w.Context(), w.k.Effect("t1.call"), w.k.Outbox("s")).Val())
		require.Equal(w, ledger.Accepted{Status: ledger.Answered, Answer: `{"matches":[]}`}, w.accept("b", nil))
		require.Equal(w, "2\n", w.db.HGet(w.Context(), w.k.Turns("s"), "r:m1").Val())
		require.False(w, w.db.HExists(w.Context(), w.k.Turns("s"), "r:m0").Val(), "its message is not in the history")
		require.False(w, settle(delivered), "it is settled")
	})
}

func TestASettlementLeavesWhatIsNotItsOwn(t *testing.T) {
	each(t, func(w *world) {
		w.accept("a", nil)
		require.True(w, w.decide("a", false, nil).Batch)
		require.NoError(w, w.db.RPush(w.Context(), w.k.Outbox("s"), "later.event").Err())
		members := w.db.LRange(w.Context(), w.k.Outbox("s"), 0, -1).Val()
		of := ledger.Settlement{Turn: m1, Box: "s", Token: "b", Keep: time.Hour, Answer: ledger.AsDecided, Firings: []ledger.Settled{{ID: "t1", States: ledger.States{Event: "{}"}}}}
		_, err := w.Settle(w.Context(), []ledger.Settlement{of})
		require.NoError(w, err)
		require.Equal(w, members, w.db.LRange(w.Context(), w.k.Outbox("s"), 0, -1).Val(), "the batch is another's")

		require.NoError(w, w.db.Del(w.Context(), w.k.Trigger("t1")).Err())
		of.Token = "a"
		_, err = w.Settle(w.Context(), []ledger.Settlement{of})
		require.NoError(w, err)
		require.Equal(w, members[1:], w.db.LRange(w.Context(), w.k.Outbox("s"), 0, -1).Val())
		require.Zero(w, w.db.Exists(w.Context(), w.k.Trigger("t1"), w.k.Over()).Val(), "an erased record does not come back")
	})
}

// TestALateReportChangesItsOwnTriggerAlone fires a tool under an id, removes the record as the deletion of an app or the
// erasure of a session does, and fires another tool under that id before the first call ends.
func TestALateReportChangesItsOwnTriggerAlone(t *testing.T) {
	each(t, func(w *world) {
		fire := func(token, firing string) {
			w.decide(token, true, func(c *ledger.Commitment) {
				c.Turn.Message, c.Decision, c.Firings[0].Name, c.Events[0].ID, c.Others[0].ID = "", "", firing, firing+".event", firing+".call"
			})
		}
		finish := func(token, firing string) (answer string) {
			for range 2 {
				var err error
				answer, _, err = w.Finish(w.Context(), ledger.Report{
					App: "shop", Session: "s", Box: "s", Token: token, Keep: 3_600_000, KeepDead: 3_600_000, Trigger: "t1", Answer: `"` + firing + `"`,
					Outcomes:  []ledger.Outcome{{ID: firing + ".call", Verdict: "done", Trigger: "t1", Part: "call", State: `{"state":"delivered"}`, Attempt: `"` + firing + `"`, Opens: 1}},
					FollowUps: []ledger.FollowUp{{Entry: keyspace.EventEntry(firing+".result", "s", "t1", "{}"), After: 1}},
				})
				require.NoError(w, err)
			}
			return answer
		}
		fire("a", "f1")
		require.NoError(w, w.db.Del(w.Context(), w.k.Trigger("t1")).Err())
		fire("b", "f2")
		require.Equal(w, `"f1"`, finish("a", "f1"), "its own client is told")
		second := w.trigger()
		require.JSONEq(w, `{"state":"pending"}`, second.Call)
		require.Empty(w, second.Attempts)
		require.Empty(w, second.Answer)
		require.Zero(w, w.db.Exists(w.Context(), w.k.Effect("f1.call"), w.k.Effect("f1.result")).Val(), "nobody has asked for its result")

		require.Equal(w, `"f2"`, finish("b", "f2"))
		require.JSONEq(w, `{"state":"delivered"}`, w.trigger().Call)
		require.Equal(w, `"f2"`, w.trigger().Answer)
	})
}
