package delivery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/enginetest"
	"earshot/deploy/testbed/redistest"
	"earshot/repositories"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
	"earshot/trigger/worker"
)

// readOnlyTool is a repository of read-only tools, and of tools that are not purely so.
const readOnlyTool = `{"tools":[
  {"name":"look","type":"http","source":"api","method":"GET","path":"/x","emitter":"desk.look"},
  {"name":"seek","url":"http://x.example","readOnly":true},
  {"name":"sure","url":"http://x.example","readOnly":true,"confirm":"once"},
  {"name":"soon","url":"http://x.example","readOnly":true,"settle":"1ms"},
  {"name":"same","url":"http://x.example","readOnly":true,"dedupe":{"within":"1m"}},
  {"name":"says","type":"http","source":"api","method":"GET","path":"/x","readOnly":false},
  {"name":"twice","type":"http","source":"api","method":"GET","path":"/x","request":{"idempotent":false}},
  {"name":"post","url":"http://x.example"}]}`

// frozenReplica is a replica whose Redis freezes at its next call, until it is thawed.
type frozenReplica struct {
	*world
	*trigger.Engine
	enginetest.Ice
}

func (w *world) newFrozenReplica() *frozenReplica {
	w.Metrics = worker.NewMetrics()
	s := &frozenReplica{world: w}
	_, s.Engine = w.Replica(s.Hook())
	var once sync.Once
	w.Calls.Answer(func(effect.Effect) effect.Outcome {
		once.Do(s.Freeze)
		return effect.Outcome{Verdict: effect.Done, Status: 200, Result: json.RawMessage(`{"free":3}`)}
	})
	w.App("clinic", withSources)
	w.Put("", "desk", readOnlyTool)
	return s
}

// Fire fires a tool on the replica.
func (s *frozenReplica) Fire(d trigger.Direct) (match query.Match) {
	s.T.Helper()
	d.AppID, d.Source = "clinic", query.SourceUI
	raw := testbed.Got(s.Engine.Fire(s.T.Context(), d))(s.T)
	require.NoError(s.T, json.Unmarshal(raw, &match))
	return match
}

// readOnKeeper reads a trigger on another replica; false if it is not written.
func (w *world) readOnKeeper(id string) (query.Record, bool) {
	record, err := w.Keeper.Trigger(w.T.Context(), "clinic", id)
	return record, err == nil
}

// valueOf is the value of a counter or a gauge.
func valueOf(of prometheus.Metric) float64 {
	var read dto.Metric
	_ = of.Write(&read) // a number never fails
	return read.GetCounter().GetValue() + read.GetGauge().GetValue()
}

func (s *frozenReplica) outcomes(outcome string) float64 {
	return valueOf(s.Metrics.Behind.WithLabelValues(outcome))
}

func TestReadOnlyToolIsAnsweredBeforeItsRecordIsWritten(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, d := range []trigger.Direct{{Name: "look", SessionID: "s1"}, {Name: "seek"}, {Name: "seek", SessionID: "s2", TriggerID: "task-1", New: true}} {
			s := w.newFrozenReplica()
			before := len(w.Events.Subjects())
			match := s.Fire(d)
			require.Equal(t, "delivered", match.Call.State)
			require.JSONEq(t, `{"free":3}`, string(match.Call.Result))
			require.Equal(t, "pending", match.Event.State)
			require.Equal(t, "pending", match.State, "as its event is")
			_, written := w.readOnKeeper(match.TriggerID)
			require.False(t, written)
			require.Len(t, w.Events.Subjects(), before)

			s.Thaw()
			w.Until("it is written and published", func() bool {
				record, written := w.readOnKeeper(match.TriggerID)
				return written && record.State == query.StateDelivered
			})
			record := w.Trigger(match.TriggerID)
			require.Equal(t, "published", record.Event.State)
			require.JSONEq(t, `{"free":3}`, string(record.Call.Result))
			parts := []string{"call", "event"}
			where := "tool.trigger.clinic." + orNone(d.SessionID) + "." + d.Name
			subjects := []string{where}
			if d.Name == "look" {
				parts, subjects = append(parts, "emitter"), append(subjects, "app.clinic.desk.look")
				require.Equal(t, "published", record.Emitter.State)
			}
			require.Len(t, record.Attempts, len(parts))
			for i, attempt := range record.Attempts {
				require.Equal(t, parts[i], attempt.Effect)
			}
			require.Equal(t, append(subjects, strings.Replace(where, "trigger", "result", 1)), w.Events.Subjects()[before:])
			w.Rest()
			require.Equal(t, 1.0, s.outcomes("written"))
			require.Zero(t, valueOf(s.Metrics.BehindWaiting))
		}
	})
}

func orNone(session string) string {
	if session == "" {
		return "_"
	}
	return session
}

func TestTriggersThatChangeSomethingAreWrittenBeforeTheAnswer(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Metrics = worker.NewMetrics()
		w.Store, w.Engine = w.Replica()
		w.App("clinic", withSources)
		w.Put("", "desk", readOnlyTool)
		for _, d := range []trigger.Direct{
			{Name: "sure"}, {Name: "soon"}, {Name: "same"}, {Name: "says"}, {Name: "twice"}, {Name: "post"}, {Name: "look", TriggerID: "chosen"},
			{Name: "rare"},
		} {
			w.Put("", "once", `{"options":{"triggerOnce":true},"tools":[{"name":"rare","url":"http://x.example","readOnly":true}]}`)
			match := w.Fire(d)
			_, written := w.readOnKeeper(match.TriggerID)
			require.True(t, written, d.Name)
		}
		require.Zero(t, valueOf(w.Metrics.Behind.WithLabelValues("written")))
	})
}

func TestReadAfterAnAnswerWaitsForItsRecord(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", withSources)
		w.Put("", "desk", readOnlyTool)
		for i := range 20 {
			match := w.Fire(trigger.Direct{Name: "look", SessionID: fmt.Sprint("s", i%3)})
			require.Equal(t, "delivered", w.Trigger(match.TriggerID).Call.State)
			list := w.Triggers(query.Triggers{Name: "look"})
			require.Equal(t, match.TriggerID, list[0].TriggerID)
		}
		w.Rest()
	})
}

func TestManyReadsOfASessionArePublishedInTheirOrder(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", `{"settings":{"limits":null}}`)
		w.Put("", "desk", `{"tools":[{"name":"seek","url":"http://x.example","readOnly":true}]}`)
		w.Unhurried()
		var ids []string
		for range 200 {
			ids = append(ids, w.Fire(trigger.Direct{Name: "seek", SessionID: "s1"}).TriggerID)
		}
		w.Until("all is published", func() bool { return len(w.Events.Subjects()) == 400 })
		var order []string
		for _, taken := range w.Events.Events() {
			if taken.TriggerID != "" {
				order = append(order, taken.TriggerID+" "+strings.Split(taken.Event.Subject, ".")[1])
			}
		}
		for i, id := range ids {
			require.Equal(t, []string{id + " trigger", id + " result"}, order[2*i:2*i+2])
		}
		w.Rest()
		for _, record := range w.Triggers(query.Triggers{}) {
			require.Equal(t, query.StateDelivered, record.State)
		}
	})
}

func TestReadThatFailsIsOwedBeforeTheAnswer(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", withSources)
		w.Put("", "desk", readOnlyTool)
		w.Calls.Answer(func(e effect.Effect) effect.Outcome {
			if e.Attempt == 1 {
				return down(e)
			}
			return effect.Outcome{Verdict: effect.Done, Status: 200}
		})
		match := w.Fire(trigger.Direct{Name: "look", SessionID: "s1"})
		require.Equal(t, "pending", match.Call.State)
		require.Equal(t, 1, match.Call.Attempts)
		_, written := w.readOnKeeper(match.TriggerID)
		require.True(t, written)
		w.Keeper.Wake("clinic")
		w.UntilState(match.TriggerID, query.StateDelivered)
		attempts, _ := w.Calls.Count()
		require.Equal(t, 2, attempts)

		w.Calls.Answer(enginetest.Refuse)
		match = w.Fire(trigger.Direct{Name: "look"})
		require.Equal(t, "failed", match.Call.State)
		w.Calls.Answer(nil)
		err := w.Engine.Retry(t.Context(), "clinic", match.TriggerID, "")
		require.NoError(t, err, "a person may try it again, as any other")
		w.Keeper.Wake("clinic")
		w.UntilState(match.TriggerID, query.StateDelivered)
	})
}

// TestReadThatFailsIsOwedWhateverHappensMeanwhile has clients that go, and tools that are written and removed, during the
// call.
func TestReadThatFailsIsOwedWhateverHappensMeanwhile(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for name, meanwhile := range map[string]func(gone func()){
			"its client goes":          func(gone func()) { gone() },
			"its app is written":       func(func()) { w.App("clinic", strings.Replace(withSources, "{", `{"name":"C",`, 1)) },
			"another tool is written":  func(func()) { w.Put("", "other", `{"tools":[{"name":"none"}]}`) },
			"its own tool is written":  func(func()) { w.Put("", "desk", readOnlyTool) },
			"its session has one, too": func(func()) { w.Put("s1", "own", `{"tools":[{"name":"mine"}]}`) },
		} {
			w.App("clinic", withSources)
			w.Put("", "desk", readOnlyTool)
			ctx, gone := context.WithCancel(t.Context())
			before, _ := w.Calls.Count()
			var first atomic.Int64
			w.Calls.Answer(func(e effect.Effect) effect.Outcome {
				if e.Attempt > 1 {
					return effect.Outcome{Verdict: effect.Done, Status: 200}
				}
				first.Add(1)
				meanwhile(gone)
				return down(e)
			})
			raw, err := w.Engine.Fire(ctx, trigger.Direct{AppID: "clinic", Name: "look", SessionID: "s1", Source: query.SourceUI})
			gone()
			require.NoError(t, err, name)
			var match query.Match
			require.NoError(t, json.Unmarshal(raw, &match))
			w.Keeper.Wake("clinic")
			w.UntilState(match.TriggerID, query.StateDelivered)
			calls, _ := w.Calls.Count()
			require.EqualValues(t, 1, first.Load(), "%s: its first attempt is one", name)
			require.Equal(t, before+2, calls, "%s: and tried once more", name)
		}
	})
}

func TestReadOfASessionThatIsErasedMeanwhileLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", withSources)
		w.Put("", "desk", readOnlyTool)
		before := len(w.Events.Subjects())
		w.Calls.Answer(func(e effect.Effect) effect.Outcome {
			w.Close()
			return down(e)
		})
		_, err := w.Engine.Fire(t.Context(), trigger.Direct{AppID: "clinic", Name: "look", SessionID: "s1", Source: query.SourceUI})
		require.Error(t, err)
		require.Empty(t, w.Triggers(query.Triggers{}))
		require.Len(t, w.Events.Subjects(), before)
	})
}

func TestSlowReadHasItsRecordWhileItIsUnderWay(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", withSources)
		w.Put("", "desk", readOnlyTool)
		w.Calls.Answer(func(e effect.Effect) effect.Outcome {
			w.Until("it is written", func() bool {
				record, written := w.readOnKeeper(e.TriggerID)
				return written && record.Call.State == query.StatePending
			})
			return effect.Outcome{Verdict: effect.Done, Status: 200}
		})
		match := w.Fire(trigger.Direct{Name: "look"})
		require.Equal(t, "delivered", match.Call.State)
		attempts, _ := w.Calls.Count()
		require.Equal(t, 1, attempts)
		w.Rest()
	})
}

func TestReadsBeyondTheQueueAreWrittenBeforeTheAnswer(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.newFrozenReplica()
		s.Fire(trigger.Direct{Name: "seek"})
		large := testbed.Got(json.Marshal(strings.Repeat("r", 1<<20)))(t)
		w.Calls.Answer(func(effect.Effect) effect.Outcome {
			return effect.Outcome{Verdict: effect.Done, Status: 200, Result: large}
		})
		s.Thaw()
		full := make(chan struct{})
		w.Events.Answer(func(effect.Effect) effect.Outcome { // nothing gets out until so many are written before
			<-full
			return effect.Outcome{Verdict: effect.Done}
		})
		var last query.Match
		for s.outcomes("before") == 0 {
			last = s.Fire(trigger.Direct{Name: "seek"})
		}
		close(full)
		_, written := w.readOnKeeper(last.TriggerID)
		require.True(t, written)
		w.Rest()
		w.Until("nothing waits", func() bool { return valueOf(s.Metrics.BehindWaiting) == 0 })
		require.Zero(t, s.outcomes("lost"))
	})
}

func TestRecordDoesNotRestoreAnEndedSession(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for what, end := range map[string]func() error{
			"session": func() error { return w.Store.CloseSession(t.Context(), "clinic", "s1") },
			"app":     func() error { return w.Store.DeleteApp(t.Context(), "clinic") },
			"another": func() error {
				if err := w.Store.DeleteApp(t.Context(), "clinic"); err != nil {
					return err
				}
				w.App("clinic", "{}")
				return nil
			},
		} {
			s := w.newFrozenReplica()
			match := s.Fire(trigger.Direct{Name: "look", SessionID: "s1"})
			events := len(w.Events.Subjects())
			require.NoError(t, end())
			s.Thaw()
			w.Until("it is dropped", func() bool { return s.outcomes("dropped") == 1 })
			_, written := w.readOnKeeper(match.TriggerID)
			require.False(t, written, what)
			require.Len(t, w.Events.Subjects(), events, what)
			for _, key := range w.Server.Keys() {
				require.NotContains(t, key, "turns:clinic:s1", what)
			}
		}
	})
}

func TestEventsOfAReadThatAreNotPublishedAreOwed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", withSources)
		w.Put("", "desk", readOnlyTool)
		w.Events.Answer(down)
		match := w.Fire(trigger.Direct{Name: "look", SessionID: "s1"})
		w.Until("an attempt has failed", func() bool {
			record := w.Trigger(match.TriggerID)
			return record.Event.State == query.StatePending && len(record.Attempts) > 1
		})
		second := w.Fire(trigger.Direct{Name: "seek", SessionID: "s1"})
		require.Equal(t, "delivered", w.Trigger(second.TriggerID).Call.State, "it is written although others are before it")
		w.Events.Answer(nil)
		w.UntilState(match.TriggerID, query.StateDelivered)
		w.UntilState(second.TriggerID, query.StateDelivered)
		require.Equal(t, []string{
			"tool.trigger.clinic.s1.look", "app.clinic.desk.look", "tool.result.clinic.s1.look", "tool.trigger.clinic.s1.seek", "tool.result.clinic.s1.seek",
		}, w.Events.Subjects())
		w.Rest()
	})
}

func TestStoppedReplicaWritesItsAnsweredTriggers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", withSources)
		w.Put("", "desk", readOnlyTool)
		var ids []string
		for i := range 50 {
			ids = append(ids, w.Fire(trigger.Direct{Name: "look", SessionID: fmt.Sprint("s", i%5)}).TriggerID)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, w.Engine.Stop(ctx))
		for _, id := range ids {
			record, written := w.readOnKeeper(id)
			require.True(t, written)
			require.Equal(t, query.StateDelivered, record.State)
		}
	})
}

func TestReadIsRefusedBeforeItsCall(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", `{"sources":[{"name":"api","type":"http","baseUrl":"https://h"}],"settings":{"limits":{"sessionTriggersPerMinute":2}}}`)
		w.Put("", "desk", `{"tools":[{"name":"look","type":"http","source":"api","method":"GET","path":"/x"}]}`)
		w.Fire(trigger.Direct{Name: "look", SessionID: "s1"})
		w.Fire(trigger.Direct{Name: "look", SessionID: "s1"})
		_, err := w.TryFire(trigger.Direct{Name: "look", SessionID: "s1", Source: query.SourceUI})
		require.ErrorContains(t, err, "sessionTriggersPerMinute is reached, which is 2")
		attempts, _ := w.Calls.Count()
		require.Equal(t, 2, attempts)

		// Another replica has cached the tool.
		_, other := w.Replica()
		fire := func() error {
			_, err := other.Fire(t.Context(), trigger.Direct{AppID: "clinic", SessionID: "s2", Name: "look", Source: query.SourceUI})
			return err
		}
		require.NoError(t, fire())
		require.NoError(t, w.Store.DeleteRepository(t.Context(), repositories.Scope{AppID: "clinic"}, "desk"))
		require.ErrorIs(t, fire(), trigger.ErrNotInScope)
		attempts, _ = w.Calls.Count()
		require.Equal(t, 3, attempts)
	})
}

// holdsEvents registers the tools of an app whose events are acknowledged only after release.
func holdsEvents(w *world) (release func()) {
	w.App("clinic", withSources)
	w.Put("", "desk", readOnlyTool)
	held := make(chan struct{})
	w.Events.Answer(func(effect.Effect) effect.Outcome {
		<-held
		return effect.Outcome{Verdict: effect.Done}
	})
	return func() { close(held) }
}

func TestAnswerOfACallWaitsForNoEvent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		release := holdsEvents(w)
		match := w.Fire(trigger.Direct{Name: "post", SessionID: "s1"})
		require.Equal(t, []string{"pending", "delivered", "pending"}, []string{match.Event.State, match.Call.State, match.State})
		release()
		w.Rest()
		record := w.Trigger(match.TriggerID)
		require.Equal(t, query.StateDelivered, record.State)
		require.Equal(t, []string{"tool.trigger.clinic.s1.post", "tool.result.clinic.s1.post"}, w.Events.Subjects())
		again := w.Fire(trigger.Direct{Name: "post", SessionID: "s1", TriggerID: match.TriggerID})
		require.Equal(t, match, again, "the answer that was given is the one that is kept")
	})
}

// TestAnswerOfAMessageWaitsForNoEvent posts a message without a client's id, whose answer no client can have
// asked for.
func TestAnswerOfAMessageWaitsForNoEvent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		release := holdsEvents(w)
		answer := w.Say("", "post {}")
		match := answer.Matches[0]
		require.Equal(t, []string{"pending", "delivered", "pending"}, []string{match.Event.State, match.Call.State, match.State})
		release()
		w.Say("m2", "thanks")
		require.NotEmpty(t, w.Matcher.Asked[1].History[0].Fired[0].Result, "the next message waits for what follows the answer")
		require.Equal(t, answer, w.Say(answer.MessageID, "post {}"), "the answer that was given is the one that is kept")
		require.Equal(t, query.StateDelivered, w.Trigger(match.TriggerID).State)
		require.Equal(t, []string{"tool.trigger.clinic.s1.post", "tool.result.clinic.s1.post"}, w.Events.Subjects()[:2])

		w.Put("s2", "own", `{"tools":[{"name":"tell","url":"http://x.example","returnDirect":true}]}`)
		for _, one := range []struct{ id, text, why string }{
			{"m3", "post {}", "the same id must bring the same answer after a crash as well"},
			{"", "twice {}", "a call that is made once would be of unknown outcome"},
			{"", "tell {}", "a crash would leave the reply out of the history"},
		} {
			require.True(t, awaitsItsEvent(w, one.id, one.text), one.why)
		}
		w.Rest()
	})
}

func TestAnswerOfACallShowsAnEventThatIsAboutToBePublished(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", withSources)
		w.Put("", "desk", readOnlyTool)
		require.True(t, awaitsItsEvent(w, "", "post {}"))
		w.Rest()
	})
}

// awaitsItsEvent reports whether the answer of a message waits for an event that is slower than the call. On a busy
// machine the answer stops waiting before, so there are several attempts.
func awaitsItsEvent(w *world, id, text string) bool {
	for attempt := range 20 {
		called, answered := make(chan struct{}), make(chan struct{})
		call := sync.OnceFunc(func() { close(called) }) // a slow machine may need another attempt
		w.Calls.Answer(func(effect.Effect) effect.Outcome {
			call()
			return effect.Outcome{Verdict: effect.Done, Result: json.RawMessage(`{"ok":true}`)}
		})
		w.Events.Answer(func(effect.Effect) effect.Outcome {
			<-called
			select {
			case <-answered: // it does not wait
			case <-time.After(5 * time.Millisecond): // it waits five times as long
			}
			return effect.Outcome{Verdict: effect.Done}
		})
		if id != "" {
			id = fmt.Sprintf("%s-%d", id, attempt)
		}
		answer := testbed.Got(w.SayOn(w.Engine, "s2", id, text))(w.T)
		close(answered)
		if answer.Matches[0].Event.State == "published" {
			return true
		}
		w.Rest()
	}
	return false
}

// TestOutcomeOfACallThatIsMadeOnceIsWrittenBeforeTheAnswer: else a crash would turn an outcome that the client
// knows into unknown.
func TestOutcomeOfACallThatIsMadeOnceIsWrittenBeforeTheAnswer(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", withSources)
		w.Put("", "desk", readOnlyTool)
		match := w.Fire(trigger.Direct{Name: "twice", SessionID: "s1"})
		record, _ := w.readOnKeeper(match.TriggerID)
		require.Equal(t, "delivered", record.Call.State)
	})
}

// TestReadCostsLittle counts what a read asks of Redis before its answer, and in all.
func TestReadCostsLittle(t *testing.T) {
	t.Parallel()
	server := redistest.Run(t) // others count no commands
	w := idleWorld(t, server, 0)
	var ice enginetest.Ice
	trips := &redistest.Trips{}
	w.Metrics = worker.NewMetrics()
	_, w.Engine = w.Replica(ice.Hook(), trips)
	w.App("clinic", `{"settings":{"limits":null}}`)
	w.Register(enginetest.Session(""), "desk", `{"tools":[{"name":"seek","url":"http://x.example","readOnly":true}]}`)
	read := func(session string) { w.Fire(trigger.Direct{Name: "seek", SessionID: session}) }
	read("") // its tool is cached now
	w.Flushed()
	w.Until("it is settled", func() bool { return valueOf(w.Metrics.BehindWaiting) == 0 })

	made := trips.Made()
	var once sync.Once
	w.Calls.Answer(func(effect.Effect) effect.Outcome {
		once.Do(ice.Freeze)
		return effect.Outcome{Verdict: effect.Done, Status: 200}
	})
	read("")
	require.EqualValues(t, 1, trips.Made()-made, "one round trip comes before the answer")
	ice.Thaw()

	for session, most := range map[string]float64{"": 26, "s1": 22} {
		const reads = 100
		w.Flushed()
		before, made := commandsOf(t, server), trips.Made()
		for range reads {
			read(session)
		}
		w.Until("all are written", func() bool { return valueOf(w.Metrics.BehindWaiting) == 0 })
		t.Logf("%q: %.1f commands, %.2f trips", session, (commandsOf(t, server)-before)/reads, float64(trips.Made()-made)/reads)
		require.LessOrEqual(t, (commandsOf(t, server)-before)/reads, most)
	}
}

// commandsOf returns the number of commands that Redis has run, including those in scripts.
func commandsOf(t *testing.T, server *redistest.Server) (commands float64) {
	info := testbed.Got(server.Client().Info(t.Context(), "commandstats").Result())(t)
	for line := range strings.Lines(info) {
		_, stats, _ := strings.Cut(line, ":calls=")
		calls, _, _ := strings.Cut(stats, ",")
		n, _ := strconv.ParseFloat(calls, 64)
		commands += n
	}
	return commands
}
