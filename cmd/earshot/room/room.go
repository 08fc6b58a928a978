// Package room tells Prometheus how much Redis and the stream of events hold, and how much they
// may: what is nearly full is to be seen before it refuses anything.
package room

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// keptFor is how long an answer is given again: /metrics may be asked for by anybody who
	// reaches it, and each look costs a round trip.
	keptFor = 5 * time.Second
	// patience is how long an answer of a store is waited for. Without one its metrics are
	// left out: an old number would be taken for a new one.
	patience = time.Second
)

// Ask returns how many bytes a store holds, and how many it may; zero where nothing bounds it.
type Ask func(context.Context) (used, limit int64, err error)

// Metrics is a collector that looks at the stores when it is asked. The names of its metrics
// are public.
type Metrics struct {
	now    func() time.Time
	stores []*store

	mu    sync.Mutex
	asked time.Time // when the stores were; zero: they were not
}

// store is one that fills, with what it said when it was last asked.
type store struct {
	ask             Ask
	holds, may      *prometheus.Desc
	used, limit     int64
	answered, bound bool
}

// New returns metrics that are not registered yet.
func New(now func() time.Time, redis, stream Ask) *Metrics {
	return &Metrics{now: now, stores: []*store{
		{
			ask:   redis,
			holds: described("earshot_redis_memory_bytes", "Memory of Redis that counts towards its maxmemory; in a Cluster that of the fullest master."),
			may:   described("earshot_redis_memory_limit_bytes", "Its maxmemory; left out where there is none."),
		},
		{
			ask:   stream,
			holds: described("earshot_stream_bytes", "What the stream of events holds."),
			may:   described("earshot_stream_limit_bytes", "What it may hold; left out where nothing bounds it."),
		},
	}}
}

func described(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, one := range m.stores {
		out <- one.holds
		out <- one.may
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.now(); m.asked.IsZero() || now.Sub(m.asked) >= keptFor {
		m.asked = now
		m.look()
	}
	for _, one := range m.stores {
		one.collect(out)
	}
}

// look asks the stores, all at once.
func (m *Metrics) look() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var asking sync.WaitGroup
	for _, one := range m.stores {
		asking.Go(func() {
			used, limit, err := one.ask(ctx)
			one.used, one.limit, one.answered, one.bound = used, limit, err == nil, limit > 0
		})
	}
	asking.Wait()
}

func (s *store) collect(out chan<- prometheus.Metric) {
	if s.answered {
		out <- prometheus.MustNewConstMetric(s.holds, prometheus.GaugeValue, float64(s.used))
	}
	if s.answered && s.bound {
		out <- prometheus.MustNewConstMetric(s.may, prometheus.GaugeValue, float64(s.limit))
	}
}
