package ledger_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/trigger/ledger"
)

// chat is a session whose messages are accepted by a caller that recalls what it has read of them.
type chat struct {
	*world
	last     ledger.Turn
	seen     []ledger.Past
	recalled ledger.Recalled
	sent     int // messages of the history that were read again
}

func newChat(w *world) *chat {
	w.app("limits", "0 0 0 0 0 0 0 0")
	return &chat{world: w}
}

// say accepts a message, decides it if a decision is given, and requires the same history as for a caller that
// recalls nothing.
func (c *chat) say(id, text, decision string) {
	c.Helper()
	c.last = ledger.Turn{App: "shop", Session: "s", Message: id}
	found, err := c.Accept(c.Context(), ledger.Acceptance{
		Turn: c.last, Token: "of " + id, Message: text, Says: text, History: 8, Recalled: c.recalled,
		Life: time.Hour, Remembers: time.Hour, Messages: 12,
	})
	require.NoError(c, err)
	require.Equal(c, ledger.Taken, found.Status)
	history := found.Taken.History
	for i, past := range history.Messages {
		if past.Had > 0 {
			history.Messages[i] = c.seen[past.Had-1]
		} else {
			c.sent++
		}
	}
	whole, err := c.Peek(c.Context(), c.last, 8, "")
	require.NoError(c, err)
	require.Equal(c, whole.History.Messages, history.Messages)
	c.seen, c.recalled = history.Messages, history.Recalled
	if decision != "" {
		decided, err := c.Commit(c.Context(), ledger.Commitment{Turn: c.last, Box: "s", Token: "of " + id, Decision: decision, TTL: 3_600_000, Lease: 15000})
		require.NoError(c, err)
		require.Equal(c, ledger.Committed, decided.Status)
	}
}

// add writes an outcome of an earlier message as the scripts do: one more result, or a missing decision or
// reply.
func (c *chat) add(id, letter, text string) {
	c.Helper()
	turns, field := c.k.Turns("s"), letter+":"+id
	before, _ := c.db.HGet(c.Context(), turns, field).Result()
	if letter == "r" || before == "" {
		require.NoError(c, c.db.HSet(c.Context(), turns, field, before+text).Err())
	}
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
			c.say(fmt.Sprint("m", i), "one", "{}")
		}
		require.Equal(w, 29, c.sent, "each message was read once, though the history moved on")

		c.sent = 0
		c.add("m28", "r", "{}\n")
		c.say("m30", "one", "")
		require.Equal(w, 2, c.sent, "that with a result, and the one before")
		c.add("m28", "p", `"a reply"`)
		c.say("m31", "one", "{}")
		require.Equal(w, 4, c.sent)
		c.add("m30", "d", "{}")
		c.say("m32", "one", "{}")
		require.Equal(w, 6, c.sent, "the one that was not decided when it was read")

		c.sent = 0
		c.end("g2")
		c.say("m31", "two", "{}")
		c.say("m32", "two", "{}")
		c.say("m33", "two", "{}")
		require.Equal(w, 2, c.sent, "in another life of the session the same ids are of other messages")

		for _, id := range []string{"m32", "m33"} { // a failover loses the last ones, and others come in their places
			require.NoError(w, w.db.RPop(w.Context(), w.k.Order("s")).Err())
			require.NoError(w, w.db.HDel(w.Context(), w.k.Turns("s"), "m:"+id, "t:"+id, "d:"+id).Err())
		}
		for before := w.db.Time(w.Context()).Val().UnixMilli(); w.db.Time(w.Context()).Val().UnixMilli() == before; {
			// a failover takes longer than the millisecond by which messages in one place differ
		}
		another := &chat{world: w} // another replica
		another.say("m34", "two", "{}")
		c.say("m35", "two", "{}")

		came := w.db.HGet(w.Context(), w.k.Turns("s"), "t:m31").Val()
		c.end("g3")
		another.say("m31", "three", "{}")
		require.NoError(w, w.db.HSet(w.Context(), w.k.Turns("s"), "t:m31", came).Err(), "clocks may go back")
		c.say("m32", "three", "{}")
	})
}

// TestAHistoryIsTheSameWhateverItsCallerRecalls makes all changes of a history in random order.
func TestAHistoryIsTheSameWhateverItsCallerRecalls(t *testing.T) {
	each(t, func(w *world) {
		const seed = 31
		c, random, life := newChat(w), rand.New(rand.NewPCG(seed, 0)), 0
		ids := []string{}
		for step := range 300 {
			text, decision := fmt.Sprint("text ", step%10), ""
			if random.IntN(10) > 0 {
				decision = `{"decided":` + fmt.Sprint(step%10) + `}`
			}
			switch what := random.IntN(12); {
			case what < 6:
				ids = append(ids, fmt.Sprint("m", life, ".", step%2, len(ids)))
				c.say(ids[len(ids)-1], text, decision)
			case what < 10 && len(ids) > 0:
				c.add(ids[max(0, len(ids)-1-random.IntN(10))], []string{"r", "p", "d"}[random.IntN(3)], fmt.Sprintf("%d\n", random.IntN(100)))
			case what == 11 && step%5 == 0:
				life++
				ids = nil
				c.end(fmt.Sprint("g", life))
			}
		}
		require.Positive(w, life)
		require.Less(w, c.sent, 300, "most was recalled: a history has eight messages")
	})
}
