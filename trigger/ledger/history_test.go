package ledger_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/repositories/keyspace"
	"earshot/trigger/ledger"
)

// chat is a session whose messages are accepted by a caller that recalls what it has read of them.
type chat struct {
	*world
	seen     []ledger.PastMessage
	recalled ledger.CachedMessages
	sent     int // messages of the history that were read again
}

func newChat(w *world) *chat {
	w.app("limits", "0 0 0 0 0 0 0 0")
	return &chat{world: w}
}

// say accepts a message, and requires the same history as for a caller that recalls nothing.
func (c *chat) say(id, text string) {
	c.Helper()
	turn := ledger.Turn{App: "shop", Session: "s", Message: id}
	found, err := c.Accept(c.Context(), ledger.Acceptance{
		Turn: turn, Token: "of " + id, Message: text, WordsHash: text, History: 8, Cached: c.recalled,
		SessionTTL: time.Hour, GenerationTTL: time.Hour, Messages: 12,
	})
	require.NoError(c, err)
	require.Equal(c, ledger.Taken, found.Status)
	history := found.Taken.History
	for i, past := range history.Messages {
		if past.CachedIndex > 0 {
			history.Messages[i] = c.seen[past.CachedIndex-1]
		} else {
			c.sent++
		}
	}
	whole, err := c.Peek(c.Context(), turn, 8, "")
	require.NoError(c, err)
	require.Equal(c, whole.History.Messages, history.Messages)
	c.seen, c.recalled = history.Messages, history.Cached
}

// decide decides a message, and settles its event with results of messages.
func (c *chat) decide(id, decision string, results ...ledger.Result) {
	c.Helper()
	turn, token := ledger.Turn{App: "shop", Session: "s", Message: id}, "of "+id
	decided, err := c.Commit(c.Context(), ledger.Commitment{
		Turn: turn, Box: "s", Token: token, Decision: decision, TTL: time.Hour, Lease: 15 * time.Second,
		Events: []keyspace.Entry{keyspace.EventEntry(id+".event", "s", "", "{}")},
	})
	require.NoError(c, err)
	require.Equal(c, ledger.Committed, decided.Status)
	settled, err := c.Settle(c.Context(), []ledger.Settlement{{Turn: turn, Box: "s", Token: token, Keep: time.Hour, Results: results}})
	require.NoError(c, err)
	require.False(c, settled[0].Lost)
}

// answer closes the turn of a message. It changes nothing if the message is not decided or has its answer.
func (c *chat) answer(id, reply string) {
	c.Helper()
	report := ledger.Report{App: "shop", Session: "s", Box: "s", Token: "of " + id, Message: id, Answer: "{}", Reply: reply}
	_, _, err := c.Finish(c.Context(), report)
	require.NoError(c, err)
}

// told is a message that was decided and answered before the next one came.
func (c *chat) told(id, text string) {
	c.Helper()
	c.say(id, text)
	c.decide(id, "{}")
	c.answer(id, "")
}

// end closes the session, after which messages may have the ids of earlier ones.
func (c *chat) end(generation string) {
	c.Helper()
	require.NoError(c, c.db.Del(c.Context(), c.k.Turns("s"), c.k.Order("s")).Err())
	require.NoError(c, c.db.HSet(c.Context(), c.k.Closed("s"), "generation", generation).Err())
}

func TestWhatACallerRecallsIsNotReadAgain(t *testing.T) {
	each(t, func(w *world) {
		c := newChat(w)
		for i := range 30 {
			c.told(fmt.Sprint("m", i), "one")
		}
		require.Equal(w, 29, c.sent, "each message was read once, though the history moved on")

		c.sent = 0
		c.say("m30", "one")
		require.Equal(w, 1, c.sent, "the one before")
		c.say("m31", "one")
		require.Equal(w, 2, c.sent, "m30, which is not decided")
		c.say("m32", "one")
		require.Equal(w, 3, c.sent, "m31: m30 has not changed")
		c.decide("m30", "{}", ledger.Result{Message: "m30", JSON: "{}"})
		c.say("m33", "one")
		require.Equal(w, 5, c.sent, "m30, which is decided now, and m32")
		c.answer("m30", `"a reply"`)
		c.decide("m32", "{}")
		c.say("m34", "one")
		require.Equal(w, 8, c.sent, "m30, m32 and m33")

		c.sent = 0
		c.decide("m34", "{}", ledger.Result{Message: "m28", JSON: "{}"})
		c.answer("m34", "")
		c.told("m35", "one")
		require.Equal(w, len(c.seen), c.sent, "all: m28 was answered, and has another result")
		c.say("m36", "one")
		require.Equal(w, len(c.seen), c.sent, "one more")

		c.end("g2")
		c.sent = 0
		c.told("m31", "two")
		c.told("m32", "two")
		c.told("m33", "two")
		require.Equal(w, 2, c.sent, "in another life of the session the same ids are of other messages")

		for _, id := range []string{"m32", "m33"} { // a failover loses the last ones, and others come in their places
			require.NoError(w, w.db.RPop(w.Context(), w.k.Order("s")).Err())
			require.NoError(w, w.db.HDel(w.Context(), w.k.Turns("s"), "m:"+id, "t:"+id, "d:"+id, "a:"+id).Err())
		}
		for before := w.db.Time(w.Context()).Val().UnixMilli(); w.db.Time(w.Context()).Val().UnixMilli() == before; {
			// a failover takes longer than the millisecond by which messages in one place differ
		}
		another := &chat{world: w} // another replica
		another.told("m34", "two")
		c.told("m35", "two")

		came := w.db.HGet(w.Context(), w.k.Turns("s"), "t:m31").Val()
		c.end("g3")
		another.told("m31", "three")
		require.NoError(w, w.db.HSet(w.Context(), w.k.Turns("s"), "t:m31", came).Err(), "clocks may go back")
		c.say("m32", "three")
	})
}

// TestAHistoryIsTheSameWhateverItsCallerRecalls makes all changes of a history in random order.
func TestAHistoryIsTheSameWhateverItsCallerRecalls(t *testing.T) {
	each(t, func(w *world) {
		const seed = 31
		c, random, life := newChat(w), rand.New(rand.NewPCG(seed, 0)), 0
		var ids, undecided, open []string
		for step := range 300 {
			someone := func() string { return ids[max(0, len(ids)-1-random.IntN(10))] }
			switch what := random.IntN(14); {
			case what < 6:
				id := fmt.Sprint("m", life, ".", step%2, len(ids))
				ids = append(ids, id)
				c.say(id, fmt.Sprint("text ", step%10))
				if random.IntN(10) > 0 {
					c.decide(id, fmt.Sprintf(`{"decided":%d}`, step%10))
					if open = append(open, id); random.IntN(10) > 0 {
						c.answer(id, fmt.Sprint(step%10))
					}
				} else {
					undecided = append(undecided, id)
				}
			case what < 9 && len(undecided) > 1: // with a result of its own, and one of an earlier message, maybe a late one
				id := undecided[0]
				undecided, open = undecided[1:], append(open, id)
				c.decide(id, "{}", ledger.Result{Message: someone(), JSON: fmt.Sprint(step)}, ledger.Result{Message: id, JSON: fmt.Sprint(step)})
			case what < 13 && len(open) > 0: // most have their answer
				c.answer(open[max(0, len(open)-1-random.IntN(10))], fmt.Sprint(step))
			case what == 13 && step%5 == 0:
				life++
				ids, undecided, open = nil, nil, nil
				c.end(fmt.Sprint("g", life))
			}
		}
		require.Positive(w, life)
		require.Less(w, c.sent, 600, "most was recalled: a history has eight messages")
	})
}
