package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	heldSamples       = 1000                   // over all of the time, so many since a heap is a sawtooth
	soonest           = 100 * time.Millisecond // from one to the next
	shownRows         = 24
	keptShare         = 12 // the part of the time that records, sessions and events are kept, so that as many expire as are made
	warmupShare       = 4  // the part of the time of which nothing is judged
	messagesOfSession = 20 // said in a session before another takes its place
	lastingOverhead   = 40 // what a key that expires takes in addition to its own bytes
)

// lastingPatterns are keys of expired sessions: the generation for two days, the list of drafts for an hour.
var lastingPatterns = []string{"*}:closed:*", "*}:drafts:*"}

type sample struct {
	at     time.Duration
	values []float64 // of each of held
}

// holding is something that must not grow under a constant load.
type holding struct {
	name   string
	metric string // of the server, or one of Redis
	unit   float64
	format string
	teeth  bool // it grows until it is collected: what counts is what is left then
}

// Metrics of Redis. Lasting keys are not judged: few are old enough to expire.
const (
	redisBytes = "redis bytes"
	redisKeys  = "redis keys"
	lasting    = "lasting keys"
)

var held = []holding{
	{"server RSS MiB", "process_resident_memory_bytes", mebibyte, "%.1f", false},
	{"server heap MiB", "go_memstats_heap_alloc_bytes", mebibyte, "%.1f", true},
	{"goroutines", "go_goroutines", 1, "%.0f", false},
	{"file descriptors", "process_open_fds", 1, "%.0f", false},
	{"NATS MiB", "earshot_stream_bytes", mebibyte, "%.2f", false},
	{"Redis MiB but lasting", redisBytes, mebibyte, "%.2f", false},
	{"keys in Redis but lasting", redisKeys, 1, "%.0f", false},
	{lasting, lasting, 1, "%.0f", false},
}

func kept(hold time.Duration) time.Duration { return max(time.Second, hold/keptShare) }

// livingSessions are as many as have each of them speak for as long as things are kept.
func livingSessions(each float64, hold time.Duration) int {
	return max(1, int(each*kept(hold).Seconds()/messagesOfSession))
}

func (b *bench) holdLoad(ctx context.Context) {
	keep := kept(b.hold).String()
	s := b.earshot("EARSHOT_SERMAS=on", "EARSHOT_RETENTION="+keep, "EARSHOT_DEAD_RETENTION="+keep, "EARSHOT_EXPLAIN_RETENTION="+keep, "EARSHOT_SESSION_TTL="+keep, "EARSHOT_STREAM_MAX_AGE="+keep)
	m := &mix{workload: workload{app: "hold", tools: b.tools, matches: b.matches, sessions: b.sessions, messages: messagesOfSession}, client: newClient(s, b.connections[0])}
	b.must(errors.Join(m.register(ctx, m.client), m.client.send(ctx, http.MethodPut, "/v1/apps/hold/repositories/waiting", rawJSON(formTools), nil)))
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	gone, err := m.follow(ctx)
	b.must(err)
	// All connections are made before: they are memory, and goroutines.
	b.send(ctx, plan{connections: b.connections[0], span: b.warmup, first: b.numbers(warmupNumbers)}, m.send)
	load := plan{connections: b.connections[0], rate: b.rate, span: b.hold, first: b.numbers(measuredNumbers)}
	var found result
	ended, began := make(chan struct{}), time.Now()
	go func() {
		defer close(ended)
		found, err = load.run(ctx, m.send)
	}()
	look := time.NewTicker(max(b.hold/heldSamples, soonest))
	defer look.Stop()
	var samples []sample
	for over := false; !over; {
		select {
		case <-ended:
			over = true
		case <-look.C:
			samples = append(samples, sample{time.Since(began), b.holds(ctx, s)})
		}
	}
	stop()
	came, wrong := gone()
	b.must(errors.Join(err, wrong))
	b.note("## %s for %s; records, idle sessions and events are kept for %s", load, b.hold, keep)
	b.note("%d answered, %d of them as pending, %d failed; p50 %.2f ms, p99 %.2f ms", found.done, found.pending, found.failed, found.ms(50), found.ms(99))
	b.note("Followers came %s times, for %s each", came, followed)
	if found.failure != nil {
		b.note("One of those that failed: %v", found.failure)
	}
	rows := [][]string{{"after"}}
	for _, h := range held {
		rows[0] = append(rows[0], h.name)
	}
	for i := 0; i < len(samples); i += max(1, len(samples)/shownRows) {
		row := []string{samples[i].at.Round(100 * time.Millisecond).String()}
		for k, h := range held {
			row = append(row, fmt.Sprintf(h.format, samples[i].values[k]))
		}
		rows = append(rows, row)
	}
	b.table(rows)
	rows, err = verdictTable(samples, b.hold/warmupShare)
	b.must(err)
	b.table(rows)
}

// holds reads all holdings. Each key of a pattern counts as many bytes as one of them.
func (b *bench) holds(ctx context.Context, s *server) (values []float64) {
	var names []string
	for _, h := range held {
		if h.metric != redisBytes && h.metric != redisKeys && h.metric != lasting {
			names = append(names, h.metric)
		}
	}
	metrics := b.metrics(s, names...)
	keys, err := b.redis.DBSize(ctx).Result()
	b.must(err)
	metrics[redisBytes], metrics[redisKeys] = b.usedMemory(ctx), float64(keys)
	for _, pattern := range lastingPatterns {
		n, last := 0, ""
		found := b.redis.Scan(ctx, 0, pattern, 10_000).Iterator()
		for found.Next(ctx) {
			n, last = n+1, found.Val()
		}
		b.must(found.Err())
		if n == 0 {
			continue
		}
		each, err := b.redis.MemoryUsage(ctx, last, 0).Result()
		if !errors.Is(err, redis.Nil) { // it has expired since
			b.must(err)
		}
		metrics[lasting] += float64(n)
		metrics[redisKeys] -= float64(n)
		metrics[redisBytes] -= float64(n) * float64(each+lastingOverhead)
	}
	for _, h := range held {
		values = append(values, metrics[h.metric]/h.unit)
	}
	return values
}

func verdictTable(samples []sample, warmup time.Duration) ([][]string, error) {
	rows := [][]string{{"after the warm-up of " + warmup.Round(time.Second).String(), "mean", "slope an hour", "standard error", "grown in the time", "at least", "at most", "verdict"}}
	for i, h := range held {
		var points []point
		for _, s := range samples {
			if s.at >= warmup {
				points = append(points, point{s.at.Hours(), s.values[i]})
			}
		}
		if h.teeth {
			points = lows(points)
		}
		t, err := trendOf(points)
		if err != nil {
			return nil, err
		}
		verdict := t.verdict()
		if h.name == lasting {
			verdict = "kept for longer"
		}
		least, likely, most := t.change()
		rows = append(rows, []string{
			h.name, fmt.Sprintf(h.format, t.mean), fmt.Sprintf("%+.2f", t.slope), fmt.Sprintf("%.2f", t.sure),
			fmt.Sprintf("%+.1f %%", 100*likely), fmt.Sprintf("%+.1f %%", 100*least), fmt.Sprintf("%+.1f %%", 100*most), verdict,
		})
	}
	return rows, nil
}

type point struct{ at, value float64 }

// trend is the line of least squares through points.
type trend struct {
	slope float64 // of the value, for one unit of time
	sure  float64 // standard error of the slope
	mean  float64
	span  float64 // time from the first point to the last
}

// enoughPoints are the fewest whose scatter says how sure a slope is.
const enoughPoints = 8

func trendOf(points []point) (t trend, err error) {
	n := float64(len(points))
	if len(points) < enoughPoints {
		return t, fmt.Errorf("%d samples after the warm-up, %d are the fewest that have a trend", len(points), enoughPoints)
	}
	var middle, varies, goesWith, off float64
	for _, p := range points {
		middle, t.mean = middle+p.at/n, t.mean+p.value/n
	}
	for _, p := range points {
		varies += (p.at - middle) * (p.at - middle)
		goesWith += (p.at - middle) * (p.value - t.mean)
	}
	t.slope, t.span = goesWith/varies, points[len(points)-1].at-points[0].at
	for _, p := range points {
		rest := p.value - t.mean - t.slope*(p.at-middle)
		off += rest * rest
	}
	t.sure = math.Sqrt(off / (n - 2) / varies)
	return t, nil
}

// A sawtooth is judged by the least value of each window.
const windows = 24

func lows(points []point) (found []point) {
	for some := range slices.Chunk(points, max(1, len(points)/windows)) {
		found = append(found, slices.MinFunc(some, func(a, b point) int { return cmp.Compare(a.value, b.value) }))
	}
	return found
}

const (
	flat    = "flat"
	grows   = "grows"
	falls   = "falls"
	unclear = "unclear: hold it longer"
)

// tolerance is the share of its mean by which something flat may grow or fall: heaps, buffers and hash tables do.
const tolerance = 0.05

// change is the growth over the whole time as a share of the mean, with the bounds of two standard errors.
func (t trend) change() (least, likely, most float64) {
	if t.mean == 0 {
		return 0, 0, 0
	}
	scale := t.span / t.mean
	return (t.slope - 2*t.sure) * scale, t.slope * scale, (t.slope + 2*t.sure) * scale
}

func (t trend) verdict() string {
	switch least, _, most := t.change(); {
	case least > tolerance:
		return grows
	case most < -tolerance:
		return falls
	case least >= -tolerance && most <= tolerance:
		return flat
	}
	return unclear
}
