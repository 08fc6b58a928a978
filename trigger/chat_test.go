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
)

const following = `{"settings":{"chatEvents":true,"chatModeEnabled":true}}`

// told returns the chat events of session s1 so far, as actor: text or failed: reason.
func (w *world) told() (list []string) {
	w.T.Helper()
	for _, subject := range []string{"chat.message.clinic.s1", "chat.failed.clinic.s1"} {
		for _, event := range w.Events.Payloads(subject) {
			list = append(list, strings.TrimPrefix(fmt.Sprint(event["actor"], ": ", event["text"]), "<nil>: <nil>"))
			if event["reason"] != nil {
				list[len(list)-1] = fmt.Sprint("failed: ", event["reason"])
			}
		}
	}
	return list
}

// TestMessagesAndRepliesAreChatEvents checks that a conversation's events come once each and in
// order, from all actors.
func TestMessagesAndRepliesAreChatEvents(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		w.Say("m0", "before it was wanted")
		w.App("clinic", following)
		_, err := w.Store.PutSession(t.Context(), &repositories.Session{AppID: "clinic", ID: "s1", Metadata: repositories.Metadata(`{"visitor":"v1"}`)})
		require.NoError(t, err)
		for range 2 { // sent again, it is the same message
			w.Say("m1", `book {"day":"monday"}`)
		}
		w.Agent("a1", "which doctor?")
		w.Say("m2", "nothing")
		want := []string{`user: book {"day":"monday"}`, "assistant: done: book", "agent: which doctor?", "user: nothing", "assistant: I heard: nothing"}
		w.Until("all is told", func() bool { return len(w.told()) >= len(want) })
		w.Rest()
		require.Equal(t, want, w.told())
		first := w.Events.Payloads("chat.message.clinic.s1")[0]
		require.Equal(t, "m1", first["messageId"])
		require.Equal(t, map[string]any{"visitor": "v1"}, first["metadata"])
		require.Equal(t, "m1.reply", w.Events.Payloads("chat.message.clinic.s1")[1]["messageId"])

		w.Close()
		w.Say("m1", "nothing")
		w.Rest()
		require.Equal(t, append(want, "user: nothing", "assistant: I heard: nothing"), w.told(), "in its next life a session has other messages of the same ids")
		ids := map[any]bool{}
		for _, event := range w.Events.Payloads("chat.message.clinic.s1") {
			ids[event["id"]] = true
		}
		require.Len(t, ids, len(want)+2, "each is an event of its own")
	})
}

func TestAnUndecidedMessageIsAChatEvent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", following)
		w.Put("s1", "booking", booking)
		w.Matcher.Intercept(func(context.Context, matcher.Request) error {
			return &matcher.Unavailable{Reason: "HTTP " + fmt.Sprint(http.StatusTooManyRequests), RetryAfter: 1500 * time.Millisecond}
		})
		_, err := w.TrySay("m1", "greet")
		require.Error(t, err)
		w.Rest()
		require.Equal(t, []string{"user: greet", "failed: the LLM is not available: HTTP 429"}, w.told())
		failed := w.Events.Payloads("chat.failed.clinic.s1")[0]
		require.Equal(t, "m1", failed["messageId"])
		require.EqualValues(t, 2, failed["retryAfter"])
		w.Matcher.Intercept(nil)
		w.Say("m1", "greet")
		w.Rest()
		require.Equal(t, []string{"user: greet", "assistant: I heard: greet"}, w.told()[:2], "sent again it is not said again")
	})
}

// TestADraftIsAChatEventWhenItIsCommitted checks that an uncommitted draft has no event.
func TestADraftIsAChatEventWhenItIsCommitted(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", following)
		w.Put("s1", "booking", booking)
		for _, text := range []string{"boo", `book {"day":"friday"}`} {
			w.drafted(w.Engine, "m1", text)
		}
		w.Rest()
		require.Empty(t, w.told())
		w.committed(w.Engine, "m1")
		w.Rest()
		require.Equal(t, []string{`user: book {"day":"friday"}`, "assistant: done: book"}, w.told())
	})
}

// TestChatEventsSurviveTheBrokerAndTheirReplica loses the broker, and then the replica that
// had stored the messages.
func TestChatEventsSurviveTheBrokerAndTheirReplica(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", following)
		w.Events.Answer(down)
		for _, id := range []string{"a1", "a2", "a3"} {
			w.Agent(id, id)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, w.Engine.Stop(ctx))
		require.Empty(t, w.told())
		w.Events.Answer(nil)
		w.Rest()
		require.Equal(t, []string{"agent: a1", "agent: a2", "agent: a3"}, w.told())
	})
}

// TestChatEventsCostNothingWhenTheyAreOff counts round trips and publishes: none more without chat events, and
// with them only round trips that no answer waits for.
func TestChatEventsCostNothingWhenTheyAreOff(t *testing.T) {
	server := redistest.Mini(t)
	w := newWorld(t, server)
	w.Put("s1", "booking", booking)
	// cost is the least of some messages: a busy machine adds to the others.
	cost := func(of string) (trips int64, published int) {
		for n := range 5 {
			before, were := w.Trips.Made(), w.published()
			w.Say(fmt.Sprint(of, n), `book {"day":"monday"}`)
			w.Flushed()
			made := w.Trips.Made() - before
			w.Rest()
			if published = w.published() - were; n == 0 || made < trips {
				trips = made
			}
		}
		return trips, published
	}
	trips, published := cost("off")
	w.App("clinic", `{"settings":{"chatEvents":true}}`)
	more, told := cost("on")
	require.LessOrEqual(t, more-trips, int64(1), "its settlement, where it was not written with the other")
	require.Equal(t, published+1, told)
}

// published returns the number of sent events.
func (w *world) published() int {
	attempts, _ := w.Events.Count()
	return attempts
}
