package trigger_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/repositories/keyspace"
	"earshot/trigger"
	"earshot/trigger/query"
)

// deaf loses the replies of scripts whose text or arguments hold a word, while it is on.
type deaf struct {
	passing
	on   atomic.Bool
	word string
}

func (d *deaf) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if err != nil || !d.on.Load() || !strings.HasPrefix(cmd.Name(), "eval") || !strings.Contains(cmd.String(), d.word) {
			return err
		}
		err = &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}
		cmd.SetErr(err)
		return err
	}
}

// TestMessageWhoseAcceptanceWasNotHeardOfGoesOnAtOnce loses the reply that a message is
// accepted. Its lease is a minute.
func TestMessageWhoseAcceptanceWasNotHeardOfGoesOnAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("s1", "booking", booking)
		w.lease = time.Minute
		lost := &deaf{word: "book {"}
		lost.on.Store(true)
		_, w.engine = w.replica(lost)
		_, err := w.say("m1", `book {"day":"monday"}`)
		require.ErrorIs(t, err, keyspace.ErrUnavailable)
		lost.on.Store(false)
		w.until("it is decided", func() bool { return len(w.events.payloads("tool.trigger.clinic.s1.book")) == 1 })
		answer, err := w.say("m1", `book {"day":"monday"}`)
		require.NoError(t, err)
		require.Len(t, answer.Matches, 1)
		w.rest()
	})
}

// TestDecisionThatWasNotHeardOfIsCarriedOutAtOnce loses every reply to a decision, until
// the replica gives up.
func TestDecisionThatWasNotHeardOfIsCarriedOutAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("s1", "shop", payment)
		w.lease = 3 * time.Second        // a third of which is for the decision
		lost := &deaf{word: `"schema":`} // which a record has, and no outcome
		lost.on.Store(true)
		_, w.engine = w.replica(lost)
		_, err := w.say("m1", "pay")
		require.ErrorIs(t, err, keyspace.ErrUnavailable)
		_, err = w.fire(trigger.Direct{SessionID: "s1", Name: "pay", Source: "ui", TriggerID: "t1"})
		require.ErrorIs(t, err, keyspace.ErrUnavailable)
		lost.on.Store(false)
		w.until("both are carried out", func() bool { return len(w.events.payloads("tool.trigger.clinic.s1.pay")) == 2 })
		w.rest() // the lease of a call is 15 s, which is longer than this waits
		match, err := w.fire(trigger.Direct{SessionID: "s1", Name: "pay", Source: "ui", TriggerID: "t1"})
		require.NoError(t, err)
		require.Equal(t, "delivered", match.Call.State)
		answer, err := w.say("m1", "pay")
		require.NoError(t, err)
		require.Equal(t, "delivered", answer.Matches[0].Call.State)
		_, calls := w.calls.count()
		require.Equal(t, 2, calls)
	})
}

// TestMessageThatWorkFailsOnIsGivenBack has the matcher fail in a way that nobody foresaw,
// and panic, under a lease of a minute.
func TestMessageThatWorkFailsOnIsGivenBack(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("s1", "booking", booking)
		w.unhurried()
		var tries atomic.Int64
		w.matcher.intercept(func(matcher.Request) error {
			switch tries.Add(1) {
			case 1:
				return errors.New("unforeseen")
			case 2:
				panic("unforeseen")
			}
			return nil
		})
		_, err := w.say("m1", `book {"day":"monday"}`)
		require.ErrorContains(t, err, "unforeseen")
		_, err = w.say("m1", `book {"day":"monday"}`)
		require.Error(t, err)
		answer, err := w.say("m1", `book {"day":"monday"}`)
		require.NoError(t, err)
		require.Len(t, answer.Matches, 1)
		w.rest()
	})
}

// TestCallThatIsBrokenOffAtTheEndGoesOnElsewhereAtOnce stops a replica whose call hangs.
func TestCallThatIsBrokenOffAtTheEndGoesOnElsewhereAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("s1", "r", `{"tools":[{"name":"ring","url":"http://x.example"}]}`)
		w.unhurried()
		begun := make(chan struct{}, 1)
		w.calls.hang(func(ctx context.Context) {
			begun <- struct{}{}
			<-ctx.Done()
		})
		go func() { _, _ = w.say("m1", "ring") }()
		<-begun
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		require.Error(t, w.engine.Stop(ended))
		w.rest() // the lease of a call is 15 s, which is longer than this waits
		_, calls := w.calls.count()
		require.Equal(t, 1, calls)
	})
}

// TestPauseOfRedisHoldsNobodyUpBeyondIt has a server that stops for longer than a replica
// waits for it, and then does all that it was sent.
func TestPauseOfRedisHoldsNobodyUpBeyondIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, redistest.Run(t, "--enable-debug-command", "yes"))
	w.unhurried()
	w.put("s1", "booking", booking)
	_, err := w.say("m0", "nothing") // the scripts are known now
	require.NoError(t, err)
	asleep := make(chan struct{})
	go func() {
		defer close(asleep)
		_ = w.server.Connect(redis.UniversalOptions{ReadTimeout: time.Minute}).Do(context.Background(), "DEBUG", "SLEEP", 4).Err()
	}()
	hasty := w.server.Connect(redis.UniversalOptions{ReadTimeout: 100 * time.Millisecond, MaxRetries: -1})
	w.until("it sleeps", func() bool { return hasty.Ping(context.Background()).Err() != nil })
	paused, end := context.WithTimeout(t.Context(), 2*time.Second) // go-redis sends it again until then
	defer end()
	_, err = w.engine.Post(paused, trigger.Message{AppID: "clinic", SessionID: "s1", ID: "m1", Actor: matcher.ActorUser, Text: `book {"day":"monday"}`})
	require.Error(t, err)
	<-asleep
	answer, err := w.say("m1", `book {"day":"monday"}`) // which had come to Redis or not
	require.NoError(t, err)
	require.Len(t, answer.Matches, 1)
	w.rest()
	require.Len(t, w.events.payloads("tool.trigger.clinic.s1.book"), 1)
}

// TestMessageOfADeletedAppLeavesTheLedger deletes an app while a message of it waits for
// its next try.
func TestMessageOfADeletedAppLeavesTheLedger(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("s1", "booking", booking)
		w.matcher.intercept(func(matcher.Request) error { return &matcher.Unavailable{Reason: "it is away"} })
		_, err := w.engine.PostAsync(t.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", ID: "m1", Actor: matcher.ActorUser, Text: "hello"})
		require.NoError(t, err)
		w.until("it waits", func() bool {
			entries, _, err := w.engine.History(context.Background(), query.History{AppID: "clinic", SessionID: "s1", Page: query.Page{Limit: 1}})
			return err == nil && len(entries) == 1 && entries[0].State == "failed"
		})
		require.NoError(t, w.store.DeleteApp(t.Context(), "clinic"))
		w.rest()
	})
}
