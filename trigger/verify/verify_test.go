package verify_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories/keyspace"
	"earshot/trigger/query"
	"earshot/trigger/verify"
)

func TestAHealthyLedgerHasNoFinding(t *testing.T) {
	t.Parallel()
	redistest.OnRedis(t, func(t *testing.T, server *redistest.Server) {
		w := newWorld(t, server)
		require.Equal(t, &verify.Report{Findings: []verify.Finding{}}, w.verify(true), "an empty one")
		w.fill()
		before := w.dump()
		report := w.verify(true)
		require.Empty(t, report.Findings)
		require.Empty(t, report.Notes)
		require.Equal(t, before, w.dump(), "there was nothing to mend")
		report.Pending.Oldest, report.Keys = 0, 0
		require.Equal(t, &verify.Report{
			Pending: verify.Pending{Calls: 2, Events: 3, Held: 2, Failed: 1}, Apps: 2, Sessions: 3, Triggers: 11, Findings: []verify.Finding{},
		}, report)
	})
}

// TestADeliveredDecisionHasNoFinding looks while the first event of a tool with a call is published: its events
// are a batch, and its call is an effect.
func TestADeliveredDecisionHasNoFinding(t *testing.T) {
	t.Parallel()
	redistest.OnRedis(t, func(t *testing.T, server *redistest.Server) {
		w := newWorld(t, server)
		w.app("clinic")
		w.put("", "desk", desk)
		var found *verify.Report
		w.events.before = sync.OnceFunc(func() { found = w.verify(true) })
		w.say("s1", "book")
		require.Empty(t, found.Findings)
		require.EqualValues(t, 1, found.Pending.Calls)
		require.Empty(t, w.verify(true).Findings)
	})
}

// TestRepairedWorkIsDeliveredOnce removes the entries by which the service finds its pending work, and more.
func TestRepairedWorkIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, redistest.Run(t))
	w.fill()
	call := keyspace.EffectID(w.firing(w.ids["s1 busy"]), "call")
	for _, broken := range []error{
		w.z(w.k.Due(), "calls/clinic", "outboxes/clinic", "held/clinic").Err(),
		w.z(w.k.Lane(keyspace.LaneCalls), call).Err(),
		w.z(w.k.Lane(keyspace.LaneOutboxes), "s1", "s3", "_").Err(),
		w.z(w.k.Lane(keyspace.LaneHeld), w.ids["s1 lamp"], w.ids["s1 refund"]).Err(),
		w.set(w.trigger("busy"), "open", 7).Err(), w.set(w.trigger("late"), "open", 0).Err(),
		w.set(w.trigger("lamp"), "due", 1).Err(), // its time is over
		w.client.Set(t.Context(), w.k.PendingCount(), -5, 0).Err(),
	} {
		require.NoError(t, broken)
	}
	require.True(t, w.verify(true).Clean())
	w.calls.takeAll()
	w.run()
	settled := func(tool, state string) func() bool {
		return func() bool {
			record, err := w.engine.Trigger(t.Context(), "clinic", w.ids["s1 "+tool])
			require.NoError(t, err)
			return record.State == state
		}
	}
	for _, tool := range []string{"busy", "late", "lamp"} {
		require.Eventually(t, settled(tool, query.StateDelivered), time.Minute, 10*time.Millisecond, tool)
	}
	require.Eventually(t, func() bool { return w.verify(false).Pending.Events == 0 }, time.Minute, 10*time.Millisecond)
	require.True(t, settled("refund", query.StateConfirming)(), "nobody has said yes")
	report := w.verify(false)
	require.Empty(t, report.Findings)
	require.Equal(t, verify.Pending{Calls: 1, Held: 1, Failed: 1}, report.Pending, "an answer is waited for")
	for of, all := range map[string]map[string]int{"events": w.events.times(), "calls": w.calls.times()} {
		require.NotEmpty(t, all)
		for id, times := range all {
			require.Equal(t, 1, times, "%s: %s", of, id)
		}
	}
	require.Contains(t, w.calls.times(), call)
}

// TestARunningServiceHasNoFinding checks, and repairs, while messages arrive.
func TestARunningServiceHasNoFinding(t *testing.T) {
	t.Parallel()
	w := newWorld(t, redistest.Run(t))
	w.fill()
	w.run()
	ctx, stop := context.WithCancel(t.Context())
	var saying sync.WaitGroup
	for _, session := range []string{"a", "b", "c", "d"} {
		saying.Go(func() {
			for n := 0; ctx.Err() == nil && n < 150; n++ {
				_ = w.tell(ctx, session, n) // of the last one the context may be over
			}
		})
	}
	for range 10 {
		require.Empty(t, w.verify(true).Findings)
	}
	stop()
	saying.Wait()
	require.Eventually(t, func() bool { return w.verify(true).Pending.Events == 0 }, time.Minute, 10*time.Millisecond)
	require.Empty(t, w.verify(false).Findings)
}

func TestAnInterruptedCheckReportsItsFindings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, redistest.Run(t))
	w.fill()
	require.NoError(t, w.z(w.k.Due(), "calls/clinic").Err())
	leave := errors.New("enough")
	report, err := verify.Ledger(t.Context(), verify.Options{DB: w.db, Pause: func(context.Context) error { return leave }})
	require.ErrorIs(t, err, leave)
	require.Equal(t, 11, report.Triggers)
	w.server.Kill()
	_, err = verify.Ledger(t.Context(), verify.Options{DB: w.db, Pause: func(context.Context) error { return nil }})
	require.ErrorIs(t, err, keyspace.ErrUnavailable)
}

func TestRuleNamesAreUnique(t *testing.T) {
	t.Parallel()
	var names []string
	for _, rule := range verify.Rules() {
		require.NotEmpty(t, rule.Fault)
		names = append(names, rule.Name)
	}
	slices.Sort(names)
	require.Len(t, slices.Compact(names), len(verify.Rules()))
}
