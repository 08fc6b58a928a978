package trigger_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/enginetest"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/repositories/keyspace"
	"earshot/trigger"
)

// deaf returns a hook that, while on, loses the replies of scripts with a word in their text or arguments.
func deaf(word string) (hook enginetest.Hook, on *atomic.Bool) {
	on = &atomic.Bool{}
	return enginetest.Hook{Command: func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		err := next(ctx, cmd)
		if err != nil || !on.Load() || !enginetest.RunsScript(cmd, word) {
			return err
		}
		err = &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}
		cmd.SetErr(err)
		return err
	}}, on
}

// TestAcceptedMessageWithoutAReplyContinuesAtOnce loses the reply to a message's acceptance. Its lease is a
// minute.
func TestAcceptedMessageWithoutAReplyContinuesAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		w.Lease = time.Minute
		lost, on := deaf("book {")
		on.Store(true)
		_, w.Engine = w.Replica(lost)
		_, err := w.TrySay("m1", `book {"day":"monday"}`)
		require.ErrorIs(t, err, keyspace.ErrUnavailable)
		on.Store(false)
		w.Until("it is decided", func() bool { return len(w.Events.Payloads("tool.trigger.clinic.s1.book")) == 1 })
		answer := w.Say("m1", `book {"day":"monday"}`)
		require.Len(t, answer.Matches, 1)
		w.Rest()
	})
}

// TestDecisionWithoutAReplyIsDeliveredAtOnce loses every reply to a decision, until
// the replica gives up.
func TestDecisionWithoutAReplyIsDeliveredAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "shop", `{"tools":[{"name":"pay","url":"http://x.example","request":{"idempotent":false}}]}`)
		w.Lease = 3 * time.Second                  // a third of which is for the decision
		lost, on := deaf(`"name":"pay","source":`) // which a record has, and no outcome
		on.Store(true)
		_, w.Engine = w.Replica(lost)
		_, err := w.TrySay("m1", "pay")
		require.ErrorIs(t, err, keyspace.ErrUnavailable)
		_, err = w.TryFire(trigger.Direct{SessionID: "s1", Name: "pay", Source: "ui", TriggerID: "t1"})
		require.ErrorIs(t, err, keyspace.ErrUnavailable)
		on.Store(false)
		w.Until("both are carried out", func() bool { return len(w.Events.Payloads("tool.trigger.clinic.s1.pay")) == 2 })
		w.Rest() // the lease of a call is 15 s, which is longer than this waits
		match := w.Fire(trigger.Direct{SessionID: "s1", Name: "pay", Source: "ui", TriggerID: "t1"})
		require.Equal(t, "delivered", match.Call.State)
		answer := w.Say("m1", "pay")
		require.Equal(t, "delivered", answer.Matches[0].Call.State)
		_, calls := w.Calls.Count()
		require.Equal(t, 2, calls)
	})
}

// TestMessageIsReleasedAfterAPanic has the matcher return an unexpected error, and panic, under a lease of
// a minute.
func TestMessageIsReleasedAfterAPanic(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		w.Unhurried()
		var tries atomic.Int64
		w.Matcher.Intercept(func(context.Context, matcher.Request) error {
			switch tries.Add(1) {
			case 1:
				return errors.New("unforeseen")
			case 2:
				panic("unforeseen")
			}
			return nil
		})
		_, err := w.TrySay("m1", `book {"day":"monday"}`)
		require.ErrorContains(t, err, "unforeseen")
		_, err = w.TrySay("m1", `book {"day":"monday"}`)
		require.Error(t, err)
		answer := w.Say("m1", `book {"day":"monday"}`)
		require.Len(t, answer.Matches, 1)
		w.Rest()
	})
}

// TestInterruptedCallContinuesOnAnotherReplica stops a replica whose call hangs.
func TestInterruptedCallContinuesOnAnotherReplica(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "r", `{"tools":[{"name":"ring","url":"http://x.example"}]}`)
		w.Unhurried()
		begun := make(chan struct{}, 1)
		w.Calls.Hang(func(ctx context.Context) {
			begun <- struct{}{}
			<-ctx.Done()
		})
		go func() { _, _ = w.TrySay("m1", "ring") }()
		<-begun
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		require.Error(t, w.Engine.Stop(ended))
		w.Rest() // the lease of a call is 15 s, which is longer than this waits
		_, calls := w.Calls.Count()
		require.Equal(t, 1, calls)
	})
}

// TestPauseOfRedisHoldsNobodyUpBeyondIt has a server that stops for longer than a replica waits, and then runs
// all commands sent to it.
func TestPauseOfRedisHoldsNobodyUpBeyondIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, redistest.Run(t, "--enable-debug-command", "yes"))
	w.Timeout = time.Second
	w.Unhurried()
	w.Put("s1", "booking", booking)
	_, err := w.TrySay("m0", "nothing") // the scripts are known now
	require.NoError(t, err)
	asleep := make(chan struct{})
	go func() {
		defer close(asleep)
		_ = w.Server.Connect(redis.UniversalOptions{ReadTimeout: time.Minute}).Do(context.Background(), "DEBUG", "SLEEP", 4).Err()
	}()
	hasty := w.Server.Connect(redis.UniversalOptions{ReadTimeout: 100 * time.Millisecond, MaxRetries: -1})
	w.Until("it sleeps", func() bool { return hasty.Ping(context.Background()).Err() != nil })
	paused, end := context.WithTimeout(t.Context(), 2*time.Second) // go-redis sends it again until then
	defer end()
	_, err = w.Engine.Post(paused, trigger.Message{AppID: "clinic", SessionID: "s1", ID: "m1", Actor: matcher.ActorUser, Text: `book {"day":"monday"}`})
	require.Error(t, err)
	<-asleep
	answer, err := w.TrySay("m1", `book {"day":"monday"}`) // which had come to Redis or not
	require.NoError(t, err)
	require.Len(t, answer.Matches, 1)
	w.Rest()
	require.Len(t, w.Events.Payloads("tool.trigger.clinic.s1.book"), 1)
}

// TestMessageOfADeletedAppLeavesTheLedger deletes an app while a message of it waits for its next try. It is pending until
// then: what has failed is tried again by its client alone.
func TestMessageOfADeletedAppLeavesTheLedger(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		var tries atomic.Int64
		w.Matcher.Intercept(func(context.Context, matcher.Request) error {
			tries.Add(1)
			return &matcher.Unavailable{Reason: "it is away"}
		})
		_, err := w.Engine.PostAsync(t.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", ID: "m1", Actor: matcher.ActorUser, Text: "hello"})
		require.NoError(t, err)
		w.Until("it waits, without a lease", func() bool {
			return tries.Load() > 0 && !w.Server.Client().HExists(context.Background(), keyspace.KeysOf("clinic").Turns("s1"), "k:m1").Val()
		})
		require.Equal(t, "pending", w.History("s1")[0].State)
		require.NoError(t, w.Store.DeleteApp(t.Context(), "clinic"))
		w.Rest()
	})
}
