package main

import (
	"context"
	"io/fs"
	"math"
	"path"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"earshot/matcher/llm"
	"earshot/repositories/version"
)

// buildInfo is always 1, so that other metrics can be multiplied with it for its labels.
func buildInfo() prometheus.Collector {
	of := version.Current()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "earshot_build_info", Help: "1. The labels say which version a replica runs; during a rolling restart there are two.",
		ConstLabels: prometheus.Labels{"version": of.Version, "commit": of.Commit, "go": of.Go},
	})
	info.Set(1)
	return info
}

// llmMetrics are the metrics of LLM requests. The metric names are public.
type llmMetrics struct {
	seconds prometheus.Histogram
	tokens  *prometheus.CounterVec
}

func newLLMMetrics() *llmMetrics {
	m := &llmMetrics{
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "earshot_llm_seconds", Help: "Time of one request to a model.", Buckets: prometheus.ExponentialBuckets(0.01, 2, 12),
		}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "earshot_llm_tokens_total", Help: "Tokens that the model counted, by kind. Cached tokens are part of prompt.",
		}, []string{"kind"}),
	}
	for _, kind := range []string{"prompt", "cached", "completion"} {
		m.tokens.WithLabelValues(kind)
	}
	return m
}

func (m *llmMetrics) observe(exchange llm.Exchange) {
	m.seconds.Observe(exchange.Took.Seconds())
	m.tokens.WithLabelValues("prompt").Add(float64(exchange.Usage.Prompt))
	m.tokens.WithLabelValues("cached").Add(float64(exchange.Usage.Cached))
	m.tokens.WithLabelValues("completion").Add(float64(exchange.Usage.Completion))
}

const (
	// capacityAge is how long a result is reused: /metrics is public, and each check costs a round trip.
	capacityAge = 5 * time.Second
	// capacityTimeout bounds the wait for a store. Without an answer, its metrics are omitted.
	capacityTimeout = time.Second
)

// capacityMetrics are the used and allowed sizes of Redis and the stream. The metric names are public.
type capacityMetrics struct {
	now    func() time.Time
	stores [2]filledStore

	mu    sync.Mutex
	asked time.Time // when the stores were asked; zero for never
}

// filledStore is a store with its last answer.
type filledStore struct {
	ask        askCapacity
	holds, may *prometheus.Desc
	used, most int64
	err        error
}

// askCapacity returns how many bytes a store holds, and how many it may hold; zero without a limit.
type askCapacity func(context.Context) (used, limit int64, err error)

func newCapacityMetrics(now func() time.Time, redis, stream askCapacity) *capacityMetrics {
	desc := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }
	return &capacityMetrics{now: now, stores: [2]filledStore{
		{
			ask:   redis,
			holds: desc("earshot_redis_memory_bytes", "Memory of Redis that counts towards its maxmemory. In a Cluster it is that of the fullest master. Missing if Redis does not answer, or does not let its user read INFO."),
			may:   desc("earshot_redis_memory_limit_bytes", "The maxmemory of Redis; in a Cluster that of the fullest master. Missing if there is no limit, or if Redis does not answer or does not let its user read INFO."),
		},
		{
			ask:   stream,
			holds: desc("earshot_stream_bytes", "Bytes that the stream of events holds. Missing if NATS does not answer."),
			may:   desc("earshot_stream_limit_bytes", "Bytes that the stream of events may hold. Missing if nothing limits it, or if NATS does not answer."),
		},
	}}
}

func (m *capacityMetrics) Describe(out chan<- *prometheus.Desc) {
	for i := range m.stores {
		out <- m.stores[i].holds
		out <- m.stores[i].may
	}
}

func (m *capacityMetrics) Collect(out chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.now(); m.asked.IsZero() || now.Sub(m.asked) >= capacityAge {
		m.asked = now
		ctx, cancel := context.WithTimeout(context.Background(), capacityTimeout)
		defer cancel()
		var asking sync.WaitGroup
		for i := range m.stores {
			one := &m.stores[i]
			asking.Go(func() { one.used, one.most, one.err = one.ask(ctx) })
		}
		asking.Wait()
	}
	for _, one := range m.stores {
		if one.err != nil {
			continue
		}
		out <- prometheus.MustNewConstMetric(one.holds, prometheus.GaugeValue, float64(one.used))
		if one.most > 0 {
			out <- prometheus.MustNewConstMetric(one.may, prometheus.GaugeValue, float64(one.most))
		}
	}
}

// A replica keeps some 10 MB and allocates ten times as much per second under load. With Go's default pace the
// collector would take a sixth of its CPU. Instead it runs when a share of the process's memory was allocated.
const (
	unboundedSpare = 128 << 20 // without a memory limit
	mostSpare      = 256 << 20 // more saves little
	spareShare     = 8         // a fraction of the memory: 1/8
)

const (
	ownPercent = 100     // Go's default GOGC
	leastLive  = 4 << 20 // the least live heap that Go counts
)

// paceCollector sets the collector's pace from the memory limit: GOMEMLIMIT, or 90 % of the cgroup's limit.
// GOGC overrides the pace.
func paceCollector(lookup func(variable string) (string, bool), system fs.FS) {
	limit := debug.SetMemoryLimit(-1)
	if _, given := lookup("GOMEMLIMIT"); !given {
		if allowed := cgroupMemory(system); allowed < math.MaxInt64 {
			limit = allowed / 10 * 9
			debug.SetMemoryLimit(limit)
		}
	}
	if _, given := lookup("GOGC"); !given {
		setPace(pace{spareHeap(limit), ownPercent})
	}
}

// spareHeap returns how much may be allocated between two collections.
func spareHeap(limit int64) int64 {
	if limit == math.MaxInt64 {
		return unboundedSpare
	}
	return min(limit/spareShare, mostSpare)
}

// pace is the spare heap and the GOGC that is set for it.
type pace struct {
	spare   int64
	percent int
}

// setPace sets GOGC for the live heap, now and after each collection.
func setPace(p pace) {
	percent := collectorPercent(p.spare, liveHeap())
	if percent != p.percent {
		debug.SetGCPercent(percent)
	}
	// It is freed at the next collection. Without a pointer, it could share memory with live objects.
	type cycle struct{ _ *int }
	runtime.AddCleanup(new(cycle), setPace, pace{p.spare, percent})
}

// collectorPercent returns the GOGC for a live heap, in coarse steps: each change stops the process.
func collectorPercent(spare, live int64) int {
	percent := int(spare * 100 / max(live, leastLive))
	return max(percent-percent%25, ownPercent)
}

func liveHeap() int64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return int64(live[0].Value.Uint64())
}

// cgroupMemory returns the memory limit of the process's cgroups in bytes; math.MaxInt64 without a limit or
// cgroups. A container may see its own cgroup as the root.
func cgroupMemory(system fs.FS) int64 {
	least := int64(math.MaxInt64)
	list, _ := fs.ReadFile(system, "proc/self/cgroup") // exists only on Linux
	for line := range strings.Lines(string(list)) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3) // number, controllers, path
		if len(parts) < 3 {
			continue
		}
		mount, file := "sys/fs/cgroup", "memory.max" // of version 2
		switch {
		case parts[1] == "memory":
			mount, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		case parts[1] != "":
			continue
		}
		for at := path.Clean("/" + parts[2]); ; at = path.Dir(at) { // parent limits apply as well
			text, _ := fs.ReadFile(system, mount+path.Join(at, file))
			limit, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // the word max means no limit
			if 0 < limit && limit <= 1<<60 {                                      // version 1 has a huge number for no limit
				least = min(least, limit)
			}
			if at == "/" {
				break
			}
		}
	}
	return least
}
