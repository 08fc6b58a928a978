package trigger_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/trigger"
)

const following = `{"settings":{"chatEvents":true,"chatModeEnabled":true}}`

// told are the chat events of session s1 so far, as actor: text or failed: reason.
func (w *world) told() (list []string) {
	w.t.Helper()
	for _, subject := range []string{"chat.message.clinic.s1", "chat.failed.clinic.s1"} {
		for _, event := range w.events.payloads(subject) {
			list = append(list, strings.TrimPrefix(fmt.Sprint(event["actor"], ": ", event["text"]), "<nil>: <nil>"))
			if event["reason"] != nil {
				list[len(list)-1] = fmt.Sprint("failed: ", event["reason"])
			}
		}
	}
	return list
}

func (w *world) agent(id, text string) {
	w.t.Helper()
	_, err := w.engine.Post(w.t.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", ID: id, Actor: matcher.ActorAgent, Text: text})
	require.NoError(w.t, err)
}

// TestEveryMessageAndReplyIsToldWhereItsAppWantsIt follows a conversation by its events: once
// each, in the order in which things were said, whoever said them.
func TestEveryMessageAndReplyIsToldWhereItsAppWantsIt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("s1", "booking", booking)
		_, err := w.say("m0", "before it was wanted")
		require.NoError(t, err)
		w.app("clinic", following)
		_, err = w.store.PutSession(t.Context(), &repositories.Session{AppID: "clinic", ID: "s1", Metadata: repositories.Metadata(`{"visitor":"v1"}`)})
		require.NoError(t, err)
		for range 2 { // sent again, it is the same message
			_, err = w.say("m1", `book {"day":"monday"}`)
			require.NoError(t, err)
		}
		w.agent("a1", "which doctor?")
		_, err = w.say("m2", "nothing")
		require.NoError(t, err)
		want := []string{`user: book {"day":"monday"}`, "assistant: done: book", "agent: which doctor?", "user: nothing", "assistant: I heard: nothing"}
		w.until("all is told", func() bool { return len(w.told()) >= len(want) })
		w.rest()
		require.Equal(t, want, w.told())
		first := w.events.payloads("chat.message.clinic.s1")[0]
		require.Equal(t, "m1", first["messageId"])
		require.Equal(t, map[string]any{"visitor": "v1"}, first["metadata"])
		require.Equal(t, "m1.reply", w.events.payloads("chat.message.clinic.s1")[1]["messageId"])

		require.NoError(t, w.store.CloseSession(t.Context(), "clinic", "s1"))
		_, err = w.say("m1", "nothing")
		require.NoError(t, err)
		w.rest()
		require.Equal(t, append(want, "user: nothing", "assistant: I heard: nothing"), w.told(), "in its next life a session has other messages of the same ids")
		ids := map[any]bool{}
		for _, event := range w.events.payloads("chat.message.clinic.s1") {
			ids[event["id"]] = true
		}
		require.Len(t, ids, len(want)+2, "each is an event of its own")
	})
}

func TestAMessageThatCouldNotBeDecidedIsTold(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.app("clinic", following)
		w.put("s1", "booking", booking)
		w.matcher.intercept(func(matcher.Request) error {
			return &matcher.Unavailable{Reason: "HTTP " + fmt.Sprint(http.StatusTooManyRequests), RetryAfter: 1500 * time.Millisecond}
		})
		_, err := w.say("m1", "greet")
		require.Error(t, err)
		w.rest()
		require.Equal(t, []string{"user: greet", "failed: the LLM is not available: HTTP 429"}, w.told())
		failed := w.events.payloads("chat.failed.clinic.s1")[0]
		require.Equal(t, "m1", failed["messageId"])
		require.EqualValues(t, 2, failed["retryAfter"])
		w.matcher.intercept(nil)
		_, err = w.say("m1", "greet")
		require.NoError(t, err)
		w.rest()
		require.Equal(t, []string{"user: greet", "assistant: I heard: greet"}, w.told()[:2], "sent again it is not said again")
	})
}

// TestADraftIsToldWhenItIsCommitted says nothing of what was never meant.
func TestADraftIsToldWhenItIsCommitted(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.app("clinic", following)
		w.put("s1", "booking", booking)
		for _, text := range []string{"boo", `book {"day":"friday"}`} {
			_, err := w.engine.Draft(t.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", ID: "m1", Actor: matcher.ActorUser, Text: text})
			require.NoError(t, err)
		}
		w.rest()
		require.Empty(t, w.told())
		_, err := w.engine.CommitDraft(t.Context(), "clinic", "s1", "m1")
		require.NoError(t, err)
		w.rest()
		require.Equal(t, []string{`user: book {"day":"friday"}`, "assistant: done: book"}, w.told())
	})
}

// TestChatEventsSurviveTheBrokerAndTheirReplica loses the broker, and then the replica that
// had stored the messages.
func TestChatEventsSurviveTheBrokerAndTheirReplica(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.app("clinic", following)
		w.events.answers(down)
		for _, id := range []string{"a1", "a2", "a3"} {
			w.agent(id, id)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, w.engine.Stop(ctx))
		require.Empty(t, w.told())
		w.events.answers(nil)
		w.rest()
		require.Equal(t, []string{"agent: a1", "agent: a2", "agent: a3"}, w.told())
	})
}

// TestChatEventsThatNobodyWantsCostNothing counts round trips and publishes: none more where
// they are off, and no round trip where they are on but those that nobody waits for.
func TestChatEventsThatNobodyWantsCostNothing(t *testing.T) {
	server := redistest.Mini(t)
	w := newWorld(t, server)
	w.put("s1", "booking", booking)
	// cost is the least of some messages: a machine that is busy adds to others.
	cost := func(of string) (trips int64, published int) {
		for n := range 5 {
			before, were := w.trips.Made(), w.published()
			_, err := w.say(fmt.Sprint(of, n), `book {"day":"monday"}`)
			require.NoError(t, err)
			w.settled()
			made := w.trips.Made() - before
			w.rest()
			if published = w.published() - were; n == 0 || made < trips {
				trips = made
			}
		}
		return trips, published
	}
	trips, published := cost("off")
	w.app("clinic", `{"settings":{"chatEvents":true}}`)
	more, told := cost("on")
	require.LessOrEqual(t, more-trips, int64(1), "its settlement, where it was not written with the other")
	require.Equal(t, published+1, told)
}

// published is how many events have been sent.
func (w *world) published() int {
	attempts, _ := w.events.count()
	return attempts
}
