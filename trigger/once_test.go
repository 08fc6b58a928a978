package trigger_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/trigger"
)

const choice = `{"options":{"triggerOnce":true},"tools":[{"name":"yes"},{"name":"no"}]}`

// TestTriggerOnceFiresExactlyOnce lets messages and direct triggers on two replicas
// race for a repository, the session's or the app's, hit from many sessions.
func TestTriggerOnceFiresExactlyOnce(t *testing.T) {
	for _, owner := range []string{"s1", ""} {
		t.Run("owner "+owner, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				w.Unhurried()
				w.Put(owner, "choice", choice)
				require.EqualValues(t, 1, w.race(owner, 24))
				w.Rest()
				require.Len(t, w.Events.Payloads("tool.changed.clinic.choice"), 2, "its end is told as its beginning was")
				w.Put(owner, "choice", choice)
				require.EqualValues(t, 1, w.race(owner, 24), "registered again, it fires again")
			})
		})
	}
}

// race has n contenders fire a tool of a triggerOnce repository, and counts the reported firings; the events
// must be as many.
func (w *world) race(owner string, n int) int64 {
	_, other := w.Replica()
	engines := []*trigger.Engine{w.Engine, other}
	_, before := w.fired()
	var group sync.WaitGroup
	var won atomic.Int64
	for i := range n {
		session, engine := owner, engines[i%2]
		if owner == "" {
			session = fmt.Sprintf("s%d", i%5)
		}
		group.Go(func() { won.Add(w.contend(engine, session, i)) })
	}
	group.Wait()
	w.Rest()
	_, after := w.fired()
	require.EqualValues(w.T, won.Load(), after-before, "every fire is told to exactly one")
	return won.Load()
}

// contend tries to fire once, and returns the number of reported firings.
func (w *world) contend(engine *trigger.Engine, session string, i int) int64 {
	if i%3 == 0 {
		_, err := engine.Fire(w.T.Context(), trigger.Direct{AppID: "clinic", SessionID: session, Name: "yes", Source: "ui"})
		if errors.Is(err, trigger.ErrNotInScope) {
			return 0
		}
		if err != nil {
			w.T.Error(err)
		}
		return 1
	}
	answer, err := w.SayOn(engine, session, "", "yes; no")
	if err != nil {
		w.T.Error(err)
	}
	return int64(len(answer.Matches))
}

// fired counts the trigger events that were published.
func (w *world) fired() (subjects []string, n int) {
	for _, subject := range w.Events.Subjects() {
		if len(subject) > 13 && subject[:13] == "tool.trigger." {
			subjects = append(subjects, subject)
		}
	}
	return subjects, len(subjects)
}

func TestOneMessageFiresOneToolOfATriggerOnceRepository(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "choice", choice)
		w.Put("s1", "more", `{"tools":[{"name":"greet"}]}`)
		answer := w.Say("m1", "no; yes; greet")
		require.Len(t, answer.Matches, 2)
		require.Equal(t, "no", answer.Matches[0].Name)
		require.Equal(t, "greet", answer.Matches[1].Name)
		_, err := w.Store.Repository(t.Context(), repositories.Scope{AppID: "clinic", SessionID: "s1"}, "choice")
		require.ErrorIs(t, err, repositories.ErrNotFound)
	})
}

func TestRepositoryChangedWhileAMessageIsMatched(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, test := range []struct {
			rule   string
			change func()
			fires  int
		}{
			{"put again as it was", func() { w.Register(session("s1"), "r", `{"tools":[{"name":"greet"}]}`) }, 1},
			{"patched with another tool", func() { w.patch("s1", "r", `{"tools":[{"name":"other"}]}`) }, 1},
			{"its tool was changed", func() { w.Register(session("s1"), "r", `{"tools":[{"name":"greet","description":"new"}]}`) }, 0},
			{"it was deleted", func() {
				require.NoError(t, w.Store.DeleteRepository(t.Context(), repositories.Scope{AppID: "clinic", SessionID: "s1"}, "r"))
			}, 0},
		} {
			w.Put("s1", "r", `{"tools":[{"name":"greet"}]}`)
			var once sync.Once
			w.Matcher.Intercept(func(context.Context, matcher.Request) error { once.Do(test.change); return nil })
			answer, err := w.TrySay("", "greet")
			require.NoError(t, err, test.rule)
			require.Len(t, answer.Matches, test.fires, test.rule)
		}
	})
}

// patch adds tools to a repository of the session.
func (w *world) patch(session, id, body string) {
	scope := repositories.Scope{AppID: "clinic", SessionID: session}
	patch, err := repositories.DecodePatch(scope, id, []byte(body))
	require.NoError(w.T, err)
	_, _, err = w.Store.PatchRepository(w.T.Context(), scope, id, patch)
	require.NoError(w.T, err)
}
