package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/redistest"
	"earshot/repositories/keyspace"
	"earshot/trigger/ledger"
)

// reads is a run of direct triggers of a session that are written behind their answers.
func reads(app, session string, ids ...string) ledger.Behind {
	b := ledger.Behind{
		Turn: ledger.Turn{App: app, Session: session}, Box: session, Token: "of-" + session, Generations: ledger.Generations{App: "g1"}, TTL: time.Hour,
	}
	for _, id := range ids {
		b.Firings = append(b.Firings, ledger.Firing{ID: id, Name: id, Record: "{}", Open: 1, States: ledger.States{Event: `{"state":"pending"}`, Call: `{"state":"delivered"}`}})
		b.Attempts = append(b.Attempts, "{}\n")
		e := keyspace.EventEntry(id+".event", session, id, "{}")
		e.Part = "event"
		b.Events = append(b.Events, e)
	}
	return b
}

func (w *world) behind(list ...ledger.Behind) []ledger.Written {
	w.Helper()
	first := testbed.Got(ledger.WriteBehind(w.Context(), w.Ledger, list))(w)
	again := testbed.Got(ledger.WriteBehind(w.Context(), w.Ledger, list))(w)
	require.Equal(w, first, again)
	return first
}

// TestReadsAreWrittenTogether has one run for the reads of many sessions, of which some meet events of others, an
// erasure, and a new life of their session or their app.
func TestReadsAreWrittenTogether(t *testing.T) {
	each(t, func(w *world) {
		other := keyspace.KeysOf("other")
		require.NoError(w, w.db.HSet(w.Context(), other.App(), "record", "{}", "version", "v1", "generation", "g2").Err())
		w.accept("a", nil)
		w.decide("a", false, nil) // its event is ahead of the reads of session s
		require.NoError(w, w.db.HSet(w.Context(), w.k.Closed("erased"), "generation", "", "erasing", "99999999999999").Err())
		require.NoError(w, w.db.HSet(w.Context(), w.k.Closed("reborn"), "generation", "2").Err())

		first, gone := reads("shop", "s1", "r1", "r2"), ledger.Written{Gone: true}
		first.Firings[1].States.Emitter = `{"state":"published"}`
		require.Equal(w, []ledger.Written{{Batch: true}, {}, gone, gone, gone, {Batch: true}}, w.behind(
			first, reads("shop", "s", "r3"), reads("shop", "erased", "r4"), reads("shop", "reborn", "r5"),
			reads("other", "s1", "r6"), reads("shop", "s2", "r7")))
		require.InDelta(w, 4, w.owed(), 0, "batches of a, s1 and s2, and the event of r3")

		list := testbed.Got(w.reader.Triggers(w.Context(), "shop", []string{"r1", "r2", "r3", "r4", "r5", "r7"}))(w)
		for i, id := range []string{"r1", "r2", "r3", "", "", "r7"} {
			if id == "" {
				require.Nil(w, list[i])
				continue
			}
			require.Equal(w, id, list[i].Name)
			require.JSONEq(w, `{"state":"delivered"}`, list[i].Call)
		}
		require.Equal(w, []string{"", `{"state":"published"}`}, []string{list[0].Emitter, list[1].Emitter})
		pending := testbed.Got(w.db.ZRange(w.Context(), w.k.InState(keyspace.Pending), 0, -1).Result())(w)
		require.Equal(w, []string{"r3"}, pending, "only what no publisher has")
		for key, want := range map[string][]string{
			w.k.Triggers(""):   {"t1", "r1", "r2", "r3", "r7"},
			w.k.Triggers("s1"): {"r1", "r2"},
			w.k.Sessions():     {"s", "s1", "s2"},
		} {
			found := testbed.Got(w.db.ZRange(w.Context(), key, 0, -1).Result())(w)
			require.Equal(w, want, found, key)
		}
	})
}

func TestAReadIsAdmittedOnlyAsItWasPlanned(t *testing.T) {
	each(t, func(w *world) {
		require.NoError(w, w.db.HSet(w.Context(), w.k.Repos("own"), "r", "r1 g1 {}").Err())
		require.NoError(w, w.db.HSet(w.Context(), w.k.Closed("erased"), "erasing", "99999999999999").Err())
		for name, test := range map[string]struct {
			change func(*ledger.Commitment)
			want   ledger.Status
		}{
			"as planned":            {func(*ledger.Commitment) {}, ledger.Committed},
			"another version":       {func(c *ledger.Commitment) { c.Matched = "v0" }, ledger.Changed},
			"no app":                {func(c *ledger.Commitment) { c.App = "none" }, ledger.NoApp},
			"in erasure":            {func(c *ledger.Commitment) { c.Session = "erased" }, ledger.Closed},
			"tools nobody has read": {func(c *ledger.Commitment) { c.Session = "own" }, ledger.Changed},
			"tools that were read":  {func(c *ledger.Commitment) { c.Session, c.Optimistic = "own", false }, ledger.Committed},
			"another profile":       {func(c *ledger.Commitment) { c.Profile = "{}" }, ledger.Changed},
		} {
			c := ledger.Commitment{Turn: ledger.Turn{App: "shop", Session: "s"}, Matched: "v1", Optimistic: true}
			test.change(&c)
			status, _, err := ledger.Admit(w.Context(), w.Ledger, c, 1)
			require.NoError(w, err)
			require.Equal(w, test.want, status, name)
		}
	})
}

// TestManyReadsAreWrittenInSeveralRuns writes more than a run of the script may.
func TestManyReadsAreWrittenInSeveralRuns(t *testing.T) {
	each(t, func(w *world) {
		var list []ledger.Behind
		for i := range 150 {
			list = append(list, reads("shop", fmt.Sprint("s", i), fmt.Sprint("r", i, "a"), fmt.Sprint("r", i, "b")))
		}
		for _, one := range w.behind(list...) {
			require.Equal(w, ledger.Written{Batch: true}, one)
		}
		require.InDelta(w, 150, w.owed(), 0)
		require.EqualValues(w, 300, w.db.ZCard(w.Context(), w.k.Triggers("")).Val())
	})
}

// TestReadsCostRedisLittle bounds what Redis does for reads of different sessions that are admitted and written
// together.
func TestReadsCostRedisLittle(t *testing.T) {
	t.Parallel()
	server := redistest.Run(t)
	client := server.Client()
	k := keyspace.KeysOf("shop")
	require.NoError(t, client.HSet(t.Context(), k.App(), "record", "{}", "version", "v1", "generation", "g1", "limits", "0 0 0 0 0 0 0 0").Err())
	l := ledger.New(&keyspace.DB{UniversalClient: client})
	write := func(round string) {
		var list []ledger.Behind
		for i := range 32 {
			session := fmt.Sprint("s", i)
			status, lives, err := ledger.Admit(t.Context(), l, ledger.Commitment{Turn: ledger.Turn{App: "shop", Session: session}, Matched: "v1", Optimistic: true}, 100)
			require.NoError(t, err)
			require.Equal(t, ledger.Committed, status)
			require.Equal(t, ledger.Generations{App: "g1"}, lives)
			list = append(list, reads("shop", session, round+session))
		}
		_, err := ledger.WriteBehind(t.Context(), l, list)
		require.NoError(t, err)
		var done []ledger.Settlement
		for _, one := range list {
			done = append(done, ledger.Settlement{Turn: one.Turn, Box: one.Box, Token: one.Token, Firings: []ledger.Settled{{ID: one.Firings[0].ID, Attempts: "{}\n"}}})
		}
		_, err = l.Settle(t.Context(), done)
		require.NoError(t, err)
	}
	write("a") // the scripts are known now
	_, before, _ := used(t, client)
	write("b")
	_, after, _ := used(t, client)
	require.LessOrEqual(t, (after-before)/32, 12.0)
}
