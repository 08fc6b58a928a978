package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// What a load that is held is cut into.
const (
	heldSamples = 1000                   // over all of the time, so many since a heap is a sawtooth
	soonest     = 100 * time.Millisecond // from one to the next
	shownRows   = 24
	// keptShare is the part of the time that records, sessions and events are kept, so
	// that as many expire as come in before anything is judged.
	keptShare   = 12
	warmupShare = 4 // the part of the time of which nothing is judged
	// messagesOfSession is how much is said in a session before another takes its place
	// and it is left to expire.
	messagesOfSession = 20
	// lastingOverhead is what a key that expires takes beside its own bytes.
	lastingOverhead = 40
)

// lastingPatterns are the keys that a session which has expired leaves whatever the settings, and
// which so grow in all of a run: its generation for two days and more, the list of its drafts for an hour.
var lastingPatterns = []string{"*}:closed:*", "*}:drafts:*"}

// sample is what server and Redis hold at a time.
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

// kept is how long a service that is held keeps what it need not keep.
func kept(hold time.Duration) time.Duration { return max(time.Second, hold/keptShare) }

// livingSessions are as many as have each of them speak for as long as things are kept.
func livingSessions(each float64, hold time.Duration) int {
	return max(1, int(each*kept(hold).Seconds()/messagesOfSession))
}

// holdLoad sends a constant load of all kinds for a time, and prints what server and Redis hold
// meanwhile and whether it has grown.
func (b *bench) holdLoad(ctx context.Context) {
	keep := kept(b.hold).String()
	s := b.earshot("EARSHOT_SERMAS=on", "EARSHOT_RETENTION="+keep, "EARSHOT_DEAD_RETENTION="+keep, "EARSHOT_EXPLAIN_RETENTION="+keep, "EARSHOT_SESSION_TTL="+keep, "EARSHOT_STREAM_MAX_AGE="+keep)
	m := &mix{workload: workload{app: "hold", tools: b.tools, matches: b.matches, sessions: b.sessions, messages: messagesOfSession}, client: newClient(s, b.connections[0])}
	b.must(m.prepare(ctx))
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	gone, err := m.follow(ctx)
	b.must(err)
	// All connections are made before anything is looked at: they are memory, and goroutines.
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
	b.table(sampleTable(samples))
	rows, err := verdictTable(samples, b.hold/warmupShare)
	b.must(err)
	b.table(rows)
}

// holds reads all that is looked at. Of the keys of a pattern each takes as many bytes as one of them.
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

func sampleTable(samples []sample) [][]string {
	head := []string{"after"}
	for _, h := range held {
		head = append(head, h.name)
	}
	rows := [][]string{head}
	for i := 0; i < len(samples); i += max(1, len(samples)/shownRows) {
		row := []string{samples[i].at.Round(100 * time.Millisecond).String()}
		for k, h := range held {
			row = append(row, fmt.Sprintf(h.format, samples[i].values[k]))
		}
		rows = append(rows, row)
	}
	return rows
}

// verdictTable judges all samples after the warm-up.
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

// point is a value at a time.
type point struct{ at, value float64 }

// trend is the line through points with the least squares between.
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

// windows are the parts of the time of which a sawtooth is judged by its least value.
const windows = 24

// lows has the least of the points of each window.
func lows(points []point) (found []point) {
	for some := range slices.Chunk(points, max(1, len(points)/windows)) {
		found = append(found, slices.MinFunc(some, func(a, b point) int { return cmp.Compare(a.value, b.value) }))
	}
	return found
}

// What a trend can be.
const (
	flat    = "flat"
	grows   = "grows"
	falls   = "falls"
	unclear = "unclear: hold it longer"
)

// tolerance is the share of its mean by which something may grow or fall and is still
// flat: heaps, buffers and hash tables breathe.
const tolerance = 0.05

// change is the share of its mean by which the value has grown from the first point to
// the last, as the line has it, with the least and the most that its scatter allows for:
// two standard errors.
func (t trend) change() (least, likely, most float64) {
	if t.mean == 0 {
		return 0, 0, 0
	}
	scale := t.span / t.mean
	return (t.slope - 2*t.sure) * scale, t.slope * scale, (t.slope + 2*t.sure) * scale
}

// verdict says whether the value is the same at the end as at the beginning.
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
