package usage_test

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
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

// days returns the use of an app by days, without their beginnings.
func days(t *testing.T, c *usage.Counter, app string, from, to time.Time) ([]usage.Use, error) {
	list, _, err := c.Read(t.Context(), app, usage.Day, from, to)
	for i := range list {
		require.Equal(t, list[i].Day, list[i].Begins.Format(time.DateOnly))
		list[i].Begins = time.Time{}
	}
	return list, err
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

		found, err := days(t, c, "a", now.AddDate(0, 0, -2), *now)
		require.NoError(t, err)
		require.Equal(t, []usage.Use{{Day: "2026-11-29", Messages: 3}, {Day: "2026-11-30", PromptTokens: 700}}, found)
		found = testbed.Got(days(t, c, "a", *now, *now))(t)
		require.Len(t, found, 1)
		_, err = days(t, c, "gone", *now, *now)
		require.ErrorIs(t, err, repositories.ErrNotFound)
		key := keyspace.Usage(keyspace.KeysOf("gone"), usage.Day.Name, now.Unix()/86400)
		require.Zero(t, db.Exists(t.Context(), key).Val(), "an app that is gone leaves none")
		key = keyspace.Usage(keyspace.KeysOf("a"), usage.Day.Name, now.Unix()/86400)
		require.InDelta(t, usage.Day.Number*24, db.PTTL(t.Context(), key).Val().Hours(), 1)
		require.Contains(t, keyspace.AllUsage(keyspace.KeysOf("a"), now.AddDate(0, 0, usage.Day.Number+1)), key, "it goes with its app for as long as it may be there")
	})
}

func TestUnwrittenCountsAreKept(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		c, _, hook, now := counting(t, server)
		c.Add("a", usage.Events, 1)
		c.Add("b", usage.Events, 2)
		hook.away.Store(true)
		require.ErrorIs(t, c.Flush(t.Context()), keyspace.ErrUnavailable)
		_, err := days(t, c, "a", *now, *now)
		require.ErrorIs(t, err, keyspace.ErrUnavailable)
		c.Add("a", usage.Events, 4)
		hook.away.Store(false)
		for app, want := range map[string]int64{"a": 5, "b": 2} {
			found := testbed.Got(days(t, c, app, *now, *now))(t)
			require.Equal(t, []usage.Use{{Day: "2026-11-29", Events: want}}, found)
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
	found := testbed.Got(registry.Gather())(t)
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

func TestUseIsKeptByMinutesAndHoursWithDurationsAndHosts(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		c, db, _, now := counting(t, server)
		first := *now
		for range 90 {
			c.CountDecision("a", 10*time.Millisecond)
		}
		for range 10 {
			c.CountDecision("a", 3*time.Second)
		}
		c.CountCall("a", "x.example:8080", usage.Succeeded, 100*time.Millisecond)
		c.CountCall("a", "x.example:8080", usage.Failed, 200*time.Millisecond)
		*now = now.Add(2 * time.Second)
		c.Add("a", usage.Messages, 1)
		c.CountDecision("a", 0)
		c.CountCall("a", "x.example:8080", usage.Held, 0)
		c.CountCall("a", "", usage.Succeeded, 0)

		list, total, err := c.Read(t.Context(), "a", usage.Minute, first, *now)
		require.NoError(t, err)
		require.Len(t, list, 2)
		require.Equal(t, "2026-11-29T23:59:00Z", list[0].Begins.Format(time.RFC3339))
		require.InDelta(t, 10, list[0].Decided.P50, 2)
		require.InDelta(t, 3000, list[0].Decided.P95, 600)
		require.InDelta(t, 1, list[1].Decided.P95, 0)
		require.EqualValues(t, 1, total.Messages)
		hours, _, err := c.Read(t.Context(), "a", usage.Hour, first, *now)
		require.NoError(t, err)
		require.Len(t, hours, 2)
		hosts := testbed.Got(c.Hosts(t.Context(), "a", usage.Minute, first, *now))(t)
		require.Len(t, hosts, 1)
		require.Equal(t, []int64{2, 1, 1}, []int64{hosts[0].Calls, hosts[0].Failures, hosts[0].Held})
		require.Equal(t, usage.HostDown, hosts[0].State)
		require.InDelta(t, 200, hosts[0].Took.P95, 40)
		days := testbed.Got(c.Hosts(t.Context(), "a", usage.Day, first, *now))(t)
		require.Empty(t, days)
		for _, key := range db.Keys(t.Context(), "*usage:a:*").Val() {
			require.Contains(t, keyspace.AllUsage(keyspace.KeysOf("a"), *now), key, "it goes with its app")
			require.Positive(t, db.PTTL(t.Context(), key).Val(), key)
		}
	})
}

func TestHostsAreCountedByNameUpToABound(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		c, db, _, now := counting(t, server)
		for i := range 70 {
			c.CountCall("a", fmt.Sprintf("h%02d.example", i), usage.Failed, time.Second)
		}
		hosts := testbed.Got(c.Hosts(t.Context(), "a", usage.Minute, *now, *now))(t)
		require.Len(t, hosts, 51)
		require.EqualValues(t, 20, hosts[0].Calls, "those beyond 50 are one")
		for i := range 600 {
			other := usage.NewCounter(db, func() time.Time { return *now })
			other.CountCall("a", fmt.Sprintf("i%03d.example", i), usage.Failed, time.Second)
			require.NoError(t, other.Flush(t.Context()))
		}
		require.LessOrEqual(t, db.HLen(t.Context(), keyspace.Usage(keyspace.KeysOf("a"), usage.Minute.Name, now.Unix()/60)).Val(), int64(600))
	})
}
