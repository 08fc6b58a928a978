package trigger_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/trigger"
	"earshot/trigger/query"
)

// A stream and an endpoint recognize a repetition by the id of an effect: two different effects must never
// share one, whatever ids clients and apps choose.

const greetings = `{"tools":[{"name":"greet"},{"name":"book","schema":[{"parameter":"day","type":"string","required":true}]}]}`

// distinct checks that no two events that were published have the same id.
func (w *world) distinct(t *testing.T) {
	seen := map[string]string{}
	for _, effect := range w.Events.Events() {
		require.Empty(t, seen[effect.ID], "has the id of %s", effect.Event.Subject)
		seen[effect.ID] = effect.Event.Subject
	}
}

func TestMessagesOfSessionsOfOneNameAreDifferentOnes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "greetings", greetings)
		for range 2 {
			for id, text := range map[string]string{"m1": "greet", "m2": "book", "m3": "nothing that is known"} {
				w.Say(id, text)
			}
			w.Close()
		}
		w.Rest()
		w.distinct(t)
		for _, subject := range []string{"tool.trigger.clinic.s1.greet", "tool.rejected.clinic.s1.book", "tool.notmatching.clinic.s1"} {
			require.Len(t, w.Events.Payloads(subject), 2, subject)
		}
	})
}

func TestDirectTriggersOfOneNameInDifferentAppsAreDifferentOnes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("other", "{}")
		repository := testbed.Got(repositories.DecodeRepository(repositories.Scope{AppID: "other"}, "greetings", []byte(greetings)))(t)
		_, err := w.Store.PutRepository(t.Context(), repository)
		require.NoError(t, err)
		w.Put("", "greetings", greetings)
		for _, app := range []string{"clinic", "other"} {
			_, err := w.Engine.Fire(t.Context(), trigger.Direct{AppID: app, Name: "greet", Source: "task", TriggerID: "t1"})
			require.NoError(t, err)
		}
		w.Rest()
		w.distinct(t)
		require.Len(t, w.Events.Payloads("tool.trigger.other._.greet"), 1)
	})
}

func TestNewAppOfTheSameNameHasNoEarlierTriggers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for range 2 {
			w.Put("", "greetings", greetings)
			w.Fire(trigger.Direct{Name: "greet", Source: "task", TriggerID: "t1"})
			require.NoError(t, w.Store.DeleteApp(t.Context(), "clinic"))
			w.App("clinic", "{}")
			_, err := w.Engine.Trigger(t.Context(), "clinic", "t1")
			require.ErrorIs(t, err, query.ErrNotFound)
		}
		w.Rest()
		w.distinct(t)
		require.Len(t, w.Events.Payloads("tool.trigger.clinic._.greet"), 2)
	})
}

// TestSessionKeepsItsGenerationWhileItLives uses a session repeatedly after the end of the time for which its
// closing is remembered.
func TestSessionKeepsItsGenerationWhileItLives(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Close()
		client, closed := w.Server.Client(), keyspace.KeysOf("clinic").Closed("s1")
		before := testbed.Got(w.Store.Generation(t.Context(), "clinic", "s1"))(t)
		client.PExpire(t.Context(), closed, time.Minute)
		w.Say("m1", "hello")
		require.Greater(t, client.PTTL(t.Context(), closed).Val(), 24*time.Hour)
		after := testbed.Got(w.Store.Generation(t.Context(), "clinic", "s1"))(t)
		require.Equal(t, before, after)
	})
}

// TestMessageIDBelongsToOneMessage sends an id again with other words, or as another
// actor: before and after the first message is decided, and to be answered at once.
func TestMessageIDBelongsToOneMessage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "greetings", greetings)
		first := trigger.Message{AppID: "clinic", SessionID: "s1", ID: "m1", Actor: matcher.ActorUser, Text: "greet"}
		others := map[string]trigger.Message{}
		for what, change := range map[string]func(*trigger.Message){
			"another text": func(m *trigger.Message) { m.Text = "greet me" }, "another actor": func(m *trigger.Message) { m.Actor = matcher.ActorAgent },
		} {
			changed := first
			change(&changed)
			others[what] = changed
		}
		refused := func() {
			for what, other := range others {
				_, err := w.Engine.Post(t.Context(), other)
				require.ErrorIs(t, err, trigger.ErrReused, what)
				_, err = w.Engine.PostAsync(t.Context(), other)
				require.ErrorIs(t, err, trigger.ErrReused, what)
			}
		}
		w.Matcher.Intercept(func(context.Context, matcher.Request) error { refused(); return nil })
		answer := testbed.Got(w.Engine.Post(t.Context(), first))(t)
		refused()
		first.TraceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
		again := testbed.Got(w.Engine.Post(t.Context(), first))(t)
		require.JSONEq(t, string(answer), string(again))
		w.Rest()
		require.Len(t, w.Events.Payloads("tool.trigger.clinic.s1.greet"), 1)
	})
}
