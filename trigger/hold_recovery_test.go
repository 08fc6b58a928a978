package trigger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/enginetest"
	"earshot/matcher"
	"earshot/repositories/keyspace"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
)

// ways are the moves of a trigger that waits for a yes, with the event and the calls that follow.
var ways = map[string]struct {
	move  func(context.Context, *trigger.Engine, query.Match) error
	event string
	calls int
}{
	"confirm": {func(ctx context.Context, e *trigger.Engine, asked query.Match) error {
		return errOf(e.Confirm(ctx, "clinic", asked.TriggerID, asked.Digest, "key-1"))
	}, "tool.trigger.clinic.s1.refund", 1},
	"deny": {func(ctx context.Context, e *trigger.Engine, asked query.Match) error {
		return errOf(e.Deny(ctx, "clinic", asked.TriggerID, "", "key-1"))
	}, "tool.cancelled.clinic.s1.refund", 0},
	"cancel": {func(ctx context.Context, e *trigger.Engine, asked query.Match) error {
		return errOf(e.Cancel(ctx, "clinic", asked.TriggerID, "key-1"))
	}, "tool.cancelled.clinic.s1.refund", 0},
}

// ended waits until nothing is pending, and expects one end.
func (w *world) ended(event string, calls int) {
	w.T.Helper()
	w.Until("it is carried out", func() bool { return len(w.Events.Payloads(event)) == 1 })
	w.Rest()
	ends := len(w.Events.Payloads("tool.trigger.clinic.s1.refund")) + len(w.Events.Payloads("tool.cancelled.clinic.s1.refund"))
	require.Equal(w.T, 1, ends)
	_, called := w.Calls.Count()
	require.Equal(w.T, calls, called)
}

// TestMoveWithoutAReplyIsDeliveredAtOnce loses every reply to the commit that moves a
// held trigger, until the replica gives up. The lease of its call is 15 s.
func TestMoveWithoutAReplyIsDeliveredAtOnce(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				w.Put("s1", "shop", shop)
				w.Lease = 3 * time.Second
				lost, on := deaf(`"from":"confirming"`)
				_, deafened := w.Replica(lost)
				asked := w.One("m1", `refund {"order":"A1"}`)
				on.Store(true)
				require.ErrorIs(t, way.move(t.Context(), deafened, asked), keyspace.ErrUnavailable)
				on.Store(false)
				w.ended(way.event, way.calls)
				require.NoError(t, way.move(t.Context(), w.Engine, asked), "the same again is answered as before")
			})
		})
	}
}

// dying is a hook that stops a replica for good once it has run a script with a word in its arguments: the
// reply never comes.
func dying(ice *enginetest.Ice, word string) enginetest.Hook {
	return enginetest.Hook{Command: func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		ice.Wait()
		err := next(ctx, cmd)
		if err == nil && enginetest.RunsScript(cmd, word) {
			ice.Freeze()
		}
		ice.Wait()
		return err
	}, Pipeline: ice.Hook().Pipeline}
}

// leasesOver ends all leases, as after the death of a replica.
func (w *world) leasesOver() {
	for _, lane := range []keyspace.Lane{keyspace.LaneCalls, keyspace.LaneOutboxes} {
		for _, member := range w.Server.Client().ZRange(context.Background(), keyspace.KeysOf("clinic").Lane(lane), 0, -1).Val() {
			w.Lapse(lane, member)
		}
	}
}

// TestMoveSurvivesTheDeathOfItsReplica kills a replica between the commit of a move and its effects.
func TestMoveSurvivesTheDeathOfItsReplica(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				w.Put("s1", "shop", shop)
				w.Unhurried()
				dead := &enginetest.Ice{}
				_, dies := w.Replica(dying(dead, `"from":"confirming"`))
				asked, over := w.One("m1", `refund {"order":"A1"}`), make(chan error, 1)
				w.Flushed()
				go func() { over <- way.move(context.Background(), dies, asked) }()
				w.Until("it is moved", func() bool { return w.Trigger(asked.TriggerID).State != query.StateConfirming })
				require.NoError(t, way.move(t.Context(), w.Engine, asked), "the same again is answered as before")
				w.leasesOver()
				w.ended(way.event, way.calls)
				dead.Thaw() // and comes back, when all is done
				require.NoError(t, <-over)
				for _, again := range w.Events.Payloads(way.event) {
					require.Equal(t, w.Events.Payloads(way.event)[0]["id"], again["id"], "NATS has it once")
				}
			})
		})
	}
}

// TestEveryMoveMayRunTwice moves triggers by replicas whose every script runs twice.
func TestEveryMoveMayRunTwice(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "shop", shop)
		_, w.Engine = w.Replica(stutter(func() {}))
		_, worker := w.Replica(stutter(func() {}))
		w.Run(worker)
		for i, name := range []string{"confirm", "deny", "cancel"} {
			asked := w.One(fmt.Sprint("m", i), fmt.Sprintf(`refund {"order":"%d"}`, i))
			require.NoError(t, ways[name].move(t.Context(), w.Engine, asked))
		}
		w.One("n1", `refund {"order":"A1"}`)
		require.Equal(t, query.StateDelivered, w.One("n2", "yes").State)
		mail := w.One("n3", "mail")
		w.timeOver(mail.TriggerID)
		w.UntilState(mail.TriggerID, query.StateDelivered)
		require.Equal(t, query.StateDelivered, w.One("n4", "alarm").State)
		require.Equal(t, query.StateDuplicate, w.One("n5", "alarm").State)
		lamp := w.One("n6", "lamp")
		w.Say("n7", "nothing")
		w.UntilState(lamp.TriggerID, query.StateCancelled)
		w.Rest()
		for subject, times := range map[string]int{
			"tool.confirm.clinic.s1.refund": 4, "tool.trigger.clinic.s1.refund": 2, "tool.cancelled.clinic.s1.refund": 2,
			"tool.trigger.clinic.s1.mail": 1, "tool.trigger.clinic.s1.alarm": 1, "tool.duplicate.clinic.s1.alarm": 1,
			"tool.cancelled.clinic.s1.lamp": 1, "tool.trigger.clinic.s1.lamp": 0,
		} {
			require.Len(t, w.Events.Payloads(subject), times, subject)
		}
		_, calls := w.Calls.Count()
		require.Equal(t, 2, calls)
	})
}

// TestDirectTriggerIsAnsweredAsItWasDecided repeats a request after later changes of the trigger.
func TestDirectTriggerIsAnsweredAsItWasDecided(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "shop", shop)
		ask := func(id, tool, values string) string {
			var given map[string]any
			require.NoError(t, json.Unmarshal([]byte(values), &given))
			raw, err := w.Engine.Fire(t.Context(), trigger.Direct{AppID: "clinic", SessionID: "s1", TriggerID: id, Name: tool, Source: query.SourceTask, Values: given})
			require.NoError(t, err)
			return string(raw)
		}
		begun, goOn := make(chan bool, 1), make(chan bool)
		w.Calls.Answer(func(effect.Effect) effect.Outcome {
			begun <- true
			<-goOn
			return effect.Outcome{Verdict: effect.Done, Status: 200}
		})
		first := make(chan string, 1)
		go func() { first <- ask("d1", "order", `{"id":"A"}`) }()
		<-begun
		answers := map[string]string{"d2": ask("d2", "order", `{"id":"A"}`), "d3": ask("d3", "mail", "{}"), "d4": ask("d4", "refund", `{"order":"A"}`)}
		require.Contains(t, answers["d2"], `"duplicate"`)
		close(goOn)
		answers["d1"] = <-first
		w.timeOver("d3")
		require.NoError(t, errOf(w.Engine.Deny(t.Context(), "clinic", "d4", "", "key-1")))
		w.Until("it is delivered", func() bool { return w.Trigger("d3").State == query.StateDelivered })
		w.Rest()
		for id, tool := range map[string][2]string{"d1": {"order", `{"id":"A"}`}, "d2": {"order", `{"id":"A"}`}, "d3": {"mail", "{}"}, "d4": {"refund", `{"order":"A"}`}} {
			require.Equal(t, answers[id], ask(id, tool[0], tool[1]), id)
		}
	})
}

// TestRebuiltAnswerShowsHeldTriggersAsDecided has a replica answer, and die before it has recorded
// that.
func TestRebuiltAnswerShowsHeldTriggersAsDecided(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "shop", shop)
		w.Unhurried()
		begun, goOn := make(chan bool, 1), make(chan bool)
		w.Calls.Answer(func(effect.Effect) effect.Outcome {
			begun <- true
			<-goOn
			return effect.Outcome{Verdict: effect.Done, Status: 200}
		})
		first := make(chan error, 1)
		go func() {
			_, err := w.TrySay("m0", `order {"id":"A"}`)
			first <- err
		}()
		<-begun
		answered := map[string]json.RawMessage{}
		said := func(id, text string) json.RawMessage {
			raw, err := w.Engine.Post(t.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", ID: id, Actor: matcher.ActorUser, Text: text})
			require.NoError(t, err)
			return raw
		}
		fired := func(id string) json.RawMessage {
			raw, err := w.Engine.Fire(t.Context(), trigger.Direct{AppID: "clinic", SessionID: "s1", TriggerID: id, Name: "order", Source: query.SourceTask, Values: map[string]any{"id": "A"}})
			require.NoError(t, err)
			return raw
		}
		answered["m1"], answered["d1"] = said("m1", `order {"id":"A"}`), fired("d1")
		require.Contains(t, string(answered["m1"]), `"duplicate"`)
		close(goOn)
		require.NoError(t, <-first)
		w.Rest()
		client, keys := w.Server.Client(), keyspace.KeysOf("clinic")
		forget := func(key string, matches func(field string) bool) {
			for field := range client.HGetAll(t.Context(), key).Val() {
				if matches(field) {
					require.NoError(t, client.HDel(t.Context(), key, field).Err())
				}
			}
		}
		forget(keys.Turns("s1"), func(field string) bool {
			return client.HGet(t.Context(), keys.Turns("s1"), field).Val() == ledger.AsDecided && strings.HasSuffix(field, "m1")
		})
		forget(keys.Trigger("d1"), func(field string) bool { return field == "answer" || field == "until" })
		require.JSONEq(t, string(answered["m1"]), string(said("m1", `order {"id":"A"}`)))
		require.JSONEq(t, string(answered["d1"]), string(fired("d1")))
	})
}

// TestClosingASessionTakesNothingBack closes a session with a settling trigger that its next message would have
// taken back: without a message, it takes effect.
func TestClosingASessionTakesNothingBack(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "shop", shop)
		lamp := w.One("m1", "lamp")
		w.Close()
		w.timeOver(lamp.TriggerID)
		w.UntilState(lamp.TriggerID, query.StateDelivered)
		w.Rest()
	})
}
