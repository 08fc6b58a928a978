package usage_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/trigger/usage"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// trips counts the round trips to Redis with several scripts, and can cut it off.
type trips struct {
	count atomic.Int64
	away  atomic.Bool
}

func (*trips) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		if h.away.Load() {
			command.SetErr(net.ErrClosed)
			return net.ErrClosed
		}
		return next(ctx, command)
	}
}

func (h *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		if commands[0].Name() == "evalsha" {
			h.count.Add(1)
		}
		if h.away.Load() {
			for _, command := range commands {
				command.SetErr(net.ErrClosed)
			}
			return net.ErrClosed
		}
		return next(ctx, commands)
	}
}

// counting is a Counter at the end of a day, over the apps a and b, with the clock.
func counting(t *testing.T, server *redistest.Server) (*usage.Counter, *keyspace.DB, *trips, *time.Time) {
	db, hook := &keyspace.DB{UniversalClient: server.Client(), Embedded: server.Embedded()}, &trips{}
	for _, app := range []string{"a", "b"} {
		require.NoError(t, db.HSet(t.Context(), keyspace.KeysOf(app).App(), "record", "{}").Err())
	}
	db.AddHook(hook)
	now := time.Date(2026, 11, 29, 23, 59, 59, 0, time.UTC)
	return usage.NewCounter(db, func() time.Time { return now }), db, hook, &now
}

func TestUseIsAddedUpByAppAndDay(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		c, db, hook, now := counting(t, server)
		other := usage.NewCounter(db, func() time.Time { return *now })
		c.Add("a", usage.Messages, 1)
		other.Add("a", usage.Messages, 2)
		c.Add("b", usage.Calls, 5)
		*now = now.Add(time.Second)
		c.Add("a", usage.PromptTokens, 700)
		c.Add("", usage.Messages, 1)
		c.Add("gone", usage.Messages, 1)
		require.NoError(t, other.Flush(t.Context()))
		require.NoError(t, c.Flush(t.Context()))
		require.EqualValues(t, 1, hook.count.Load(), "all in one round trip")
		require.NoError(t, c.Flush(t.Context()))
		require.EqualValues(t, 1, hook.count.Load(), "nothing to add costs nothing")

		days, err := c.Days(t.Context(), "a", now.AddDate(0, 0, -2), *now)
		require.NoError(t, err)
		require.Equal(t, []usage.Day{{Day: "2026-11-29", Messages: 3}, {Day: "2026-11-30", PromptTokens: 700}}, days)
		days, err = c.Days(t.Context(), "a", *now, *now)
		require.NoError(t, err)
		require.Len(t, days, 1)
		_, err = c.Days(t.Context(), "gone", *now, *now)
		require.ErrorIs(t, err, repositories.ErrNotFound)
		key := keyspace.Usage(keyspace.KeysOf("gone"), now.Unix()/86400)
		require.Zero(t, db.Exists(t.Context(), key).Val(), "an app that is gone leaves none")
		key = keyspace.Usage(keyspace.KeysOf("a"), now.Unix()/86400)
		require.InDelta(t, usage.Kept*24, db.PTTL(t.Context(), key).Val().Hours(), 1)
		require.Contains(t, keyspace.AllUsage(keyspace.KeysOf("a"), now.AddDate(0, 0, usage.Kept+1)), key, "it goes with its app for as long as it may be there")
	})
}

func TestWhatCannotBeWrittenIsKept(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		c, _, hook, now := counting(t, server)
		c.Add("a", usage.Events, 1)
		c.Add("b", usage.Events, 2)
		hook.away.Store(true)
		require.ErrorIs(t, c.Flush(t.Context()), keyspace.ErrUnavailable)
		_, err := c.Days(t.Context(), "a", *now, *now)
		require.ErrorIs(t, err, keyspace.ErrUnavailable)
		c.Add("a", usage.Events, 4)
		hook.away.Store(false)
		for app, want := range map[string]int64{"a": 5, "b": 2} {
			days, err := c.Days(t.Context(), app, *now, *now)
			require.NoError(t, err)
			require.Equal(t, []usage.Day{{Day: "2026-11-29", Events: want}}, days)
		}
	})
}

func TestMetricsNameSoManyApps(t *testing.T) {
	c := usage.NewCounter(nil, time.Now)
	metrics := c.ByApp(2)
	c.Add("a", usage.Messages, 1)
	for _, app := range []string{"b", "c", "d", "a", "b"} {
		c.Add(app, usage.PromptTokens, 10)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)
	found, err := registry.Gather()
	require.NoError(t, err)
	counted := map[string]float64{}
	for _, one := range found[0].GetMetric() {
		counted[one.GetLabel()[0].GetValue()+" "+one.GetLabel()[1].GetValue()] = one.GetCounter().GetValue()
	}
	require.Len(t, counted, 3*11, "a kind that was not used is 0, so that its first use is an increase")
	for name, want := range map[string]float64{
		"a messages": 1, "a promptTokens": 10, "b messages": 0, "b promptTokens": 20, "(other) promptTokens": 20, "(other) calls": 0,
	} {
		require.InDelta(t, want, counted[name], 0, name)
	}
}
