package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/deploy/bench/load"
	"earshot/deploy/bench/rig"
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
	metric string // of the server; none: it is Redis that holds it
	unit   float64
	format string
	teeth  bool // it grows until it is collected: what counts is what is left then
}

// lasting keys are not judged: few are old enough to expire.
const lasting = "lasting keys"

const mebibyte = 1 << 20

var held = []holding{
	{"server RSS MiB", "process_resident_memory_bytes", mebibyte, "%.1f", false},
	{"server heap MiB", "go_memstats_heap_alloc_bytes", mebibyte, "%.1f", true},
	{"goroutines", "go_goroutines", 1, "%.0f", false},
	{"file descriptors", "process_open_fds", 1, "%.0f", false},
	{"NATS MiB", "earshot_stream_bytes", mebibyte, "%.2f", false},
	{"Redis MiB but lasting", "", mebibyte, "%.2f", false},
	{"keys in Redis but lasting", "", 1, "%.0f", false},
	{lasting, "", 1, "%.0f", false},
}

// kept is how long a service that is held keeps what it need not keep.
func kept(hold time.Duration) time.Duration { return max(time.Second, hold/keptShare) }

// livingSessions are as many as have each of them speak for as long as things are kept.
func livingSessions(rate float64, hold time.Duration) int {
	return max(1, int(rate*kept(hold).Seconds()/messagesOfSession))
}

// holdLoad sends a constant load of all kinds for a time, and prints what server and Redis hold
// meanwhile and whether it has grown.
func (b *bench) holdLoad(ctx context.Context) error {
	keep := kept(b.hold).String()
	s, err := b.world.Earshot(ctx, "EARSHOT_SERMAS=on", "EARSHOT_RETENTION="+keep, "EARSHOT_DEAD_RETENTION="+keep, "EARSHOT_EXPLAIN_RETENTION="+keep, "EARSHOT_SESSION_TTL="+keep, "EARSHOT_STREAM_MAX_AGE="+keep)
	if err != nil {
		return err
	}
	c := newClient(s, b.connections[0])
	defer c.http.CloseIdleConnections()
	m := &mix{workload: workload{app: "hold", tools: b.tools, matches: b.matches, sessions: b.sessions, messages: messagesOfSession}, client: c}
	if err := m.prepare(ctx); err != nil {
		return err
	}
	following, stop := context.WithCancel(ctx)
	defer stop()
	gone, err := m.follow(following)
	if err != nil {
		return err
	}
	// All connections are made before anything is looked at: they are memory, and goroutines.
	plan := load.Plan{Connections: b.connections[0], For: b.warmup, First: b.numbers(warmupNumbers)}
	if _, err := load.Run(ctx, plan, m.send); err != nil {
		return err
	}
	plan.Rate, plan.For, plan.First = b.rate, b.hold, b.numbers(measuredNumbers)
	result, samples, err := b.watched(ctx, s, func(ctx context.Context) (load.Result, error) { return load.Run(ctx, plan, m.send) })
	stop()
	came, wrong := gone()
	if err := errors.Join(err, wrong); err != nil {
		return err
	}
	b.note("## %s for %s; records, idle sessions and events are kept for %s", b.at(b.connections[0]), b.hold, keep)
	b.note("%d answered, %d of them as pending, %d failed; p50 %.2f ms, p99 %.2f ms", result.Done, result.Pending, result.Failed,
		float64(result.Times.ValueAtPercentile(50))/1000, float64(result.Times.ValueAtPercentile(99))/1000)
	b.note("Followers came %s times, for %s each", came, followed)
	if result.Failure != nil {
		b.note("One of those that failed: %v", result.Failure)
	}
	b.table(sampleTable(samples))
	rows, err := verdictTable(samples, b.hold/warmupShare)
	if err != nil {
		return err
	}
	b.table(rows)
	return nil
}

// watched runs a load and takes samples meanwhile.
func (b *bench) watched(ctx context.Context, s *rig.Server, under func(context.Context) (load.Result, error)) (result load.Result, samples []sample, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed, ended, began := error(nil), make(chan struct{}), time.Now()
	go func() {
		defer close(ended)
		result, failed = under(ctx)
	}()
	look := time.NewTicker(max(b.hold/heldSamples, soonest))
	defer look.Stop()
	for {
		select {
		case <-ended:
			return result, samples, failed
		case <-look.C:
		}
		values, err := b.holds(ctx, s)
		if err != nil {
			cancel()
			<-ended
			return result, samples, errors.Join(err, context.Cause(ctx))
		}
		samples = append(samples, sample{time.Since(began), values})
	}
}

// holds reads all that is looked at.
func (b *bench) holds(ctx context.Context, s *rig.Server) ([]float64, error) {
	var names []string
	for _, h := range held {
		if h.metric != "" {
			names = append(names, h.metric)
		}
	}
	metrics, err := s.Metrics(ctx, names...)
	if err != nil {
		return nil, err
	}
	of, err := b.redisHolds(ctx)
	if err != nil {
		return nil, err
	}
	values := make([]float64, len(held))
	for i, h := range held {
		if h.metric != "" {
			values[i] = metrics[h.metric] / h.unit
			continue
		}
		values[i], of = of[0]/h.unit, of[1:]
	}
	return values, nil
}

// redisHolds are the bytes and the keys that Redis holds beside the lasting ones, and how many those are.
func (b *bench) redisHolds(ctx context.Context) ([]float64, error) {
	bytes, err := b.usedMemory(ctx)
	if err != nil {
		return nil, err
	}
	keys, err := b.world.Redis.DBSize(ctx).Result()
	if err != nil {
		return nil, err
	}
	all := 0
	for _, pattern := range lastingPatterns {
		n, each, err := b.keysLike(ctx, pattern)
		if err != nil {
			return nil, err
		}
		all += n
		bytes -= float64(n) * float64(each+lastingOverhead)
	}
	return []float64{bytes, float64(int(keys) - all), float64(all)}, nil
}

// keysLike counts the keys of a pattern; each takes as many bytes as one of them.
func (b *bench) keysLike(ctx context.Context, pattern string) (n int, each int64, err error) {
	last := ""
	found := b.world.Redis.Scan(ctx, 0, pattern, 10_000).Iterator()
	for found.Next(ctx) {
		n, last = n+1, found.Val()
	}
	if err := found.Err(); err != nil || n == 0 {
		return 0, 0, err
	}
	each, err = b.world.Redis.MemoryUsage(ctx, last, 0).Result()
	if errors.Is(err, redis.Nil) { // it has expired since
		return n, 0, nil
	}
	return n, each, err
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
