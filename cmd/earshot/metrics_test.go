package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

func TestCapacityIsAskedForNowAndThen(t *testing.T) {
	at, asked := time.Unix(1_800_000_000, 0), 0
	used, limit, away := int64(80), int64(100), error(nil)
	m := newCapacityMetrics(func() time.Time { return at },
		func(ctx context.Context) (int64, int64, error) {
			_, bounded := ctx.Deadline()
			require.True(t, bounded, "a Redis that hangs must not hold /metrics up")
			asked++
			return used, limit, away
		},
		func(context.Context) (int64, int64, error) { return 7, 0, nil })
	full := map[string]float64{"earshot_redis_memory_bytes": 80, "earshot_redis_memory_limit_bytes": 100, "earshot_stream_bytes": 7}
	require.Equal(t, full, gathered(t, m), "a stream that nothing bounds has no limit, which a share of it could be told of")

	used, limit = 90, 0
	at = at.Add(4 * time.Second)
	require.Equal(t, full, gathered(t, m))
	require.Equal(t, 1, asked, "whoever reaches /metrics does not reach Redis each time")
	at = at.Add(time.Second)
	require.Equal(t, map[string]float64{"earshot_redis_memory_bytes": 90, "earshot_stream_bytes": 7}, gathered(t, m))

	away = errors.New("no answer")
	at = at.Add(time.Minute)
	require.Equal(t, map[string]float64{"earshot_stream_bytes": 7}, gathered(t, m), "what is not known is not said")
}

func gathered(t *testing.T, m prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	families, err := registry.Gather()
	require.NoError(t, err)
	found := map[string]float64{}
	for _, family := range families {
		found[family.GetName()] = family.GetMetric()[0].GetGauge().GetValue()
	}
	return found
}
