package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"earshot/deploy/testbed"
)

type post func(ctx context.Context, replicas []client, i int) (time.Duration, error)

// figures are what a workload has cost, by the names of quantities.
type figures map[string]float64

// Quantities that are more than printed.
const (
	rate      = "requests/s"
	p50       = "p50 ms"
	p99       = "p99 ms"
	cpuServer = cpu + nameServer
	cpuAll    = cpu + "all but load"
	cpu       = "CPU ms, " // of a process, for each request
	failed    = "failed"

	allocations       = "allocations"
	redisCommands     = "commands of Redis"
	redisBytesWritten = "bytes of AOF"
	natsBytes         = "bytes of NATS"
)

// quantities are printed of a measurement, each with its format; allocations are for each request.
var quantities = [][2]string{
	{rate, "%.0f"}, {p50, "%.2f"}, {p99, "%.2f"}, {cpuAll, "%.3f"}, {cpuServer, "%.3f"}, {cpu + "Redis", "%.3f"}, {cpu + "NATS", "%.3f"}, {cpu + "LLM double", "%.3f"},
	{cpu + nameLoad, "%.3f"},
	{redisCommands, "%.1f"}, {redisBytesWritten, "%.0f"}, {natsBytes, "%.0f"}, {allocations, "%.0f"}, {"answered as pending", "%.0f"}, {failed, "%.0f"},
}

func (b *bench) at(connections int) plan {
	return plan{connections: connections, rate: b.rate, span: b.measured}
}

func (b *bench) rounded() string { return fmt.Sprintf("%d rounds of %s", b.rounds, b.measured) }

// Numbers of requests and sessions are never used twice.
const (
	warmupNumbers   = 1_000_000
	measuredNumbers = 10_000_000
)

func (b *bench) numbers(n int) int {
	first := b.nextNumber
	b.nextNumber += n
	return first
}

// measure warms replicas up, then counts. In between it calls prepare, if not nil, with the number of the first request.
func (b *bench) measure(ctx context.Context, one post, p plan, prepare func(first int), servers ...*server) figures {
	clients := make([]client, len(servers))
	for i, s := range servers {
		clients[i] = newClient(s, p.connections)
		defer clients[i].HTTP.CloseIdleConnections()
	}
	request := func(ctx context.Context, i int) (time.Duration, error) { return one(ctx, clients, i) }
	if b.warmup > 0 {
		b.send(ctx, plan{connections: p.connections, rate: p.rate, span: b.warmup, first: b.numbers(warmupNumbers)}, request)
	}
	p.first = b.numbers(measuredNumbers)
	if prepare != nil {
		prepare(p.first)
	}
	before := b.used(servers...)
	found := b.send(ctx, p, request)
	after := b.used(servers...)
	if found.done == 0 {
		b.t.Fatalf("all of %d requests to %s failed, one of them: %v", found.failed, servers[0].Name, found.failure)
	}
	if found.failure != nil {
		b.note("%d of %d requests failed, one of them: %v", found.failed, found.failed+found.done, found.failure)
	}
	return figuresOf(found, before, after)
}

func (b *bench) send(ctx context.Context, p plan, one send) result {
	found, err := p.run(ctx, one)
	b.must(err)
	return found
}

func (b *bench) each(ctx context.Context, n int, do func(ctx context.Context, i int) error) {
	b.must(b.send(ctx, plan{connections: b.connections[0], requests: n}, func(ctx context.Context, i int) (time.Duration, error) { return 0, do(ctx, i) }).failure)
}

func figuresOf(r result, before, after usage) figures {
	n := float64(r.done)
	f := figures{
		rate: n / r.took.Seconds(), p50: r.ms(50), p99: r.ms(99), "answered as pending": float64(r.pending), failed: float64(r.failed),
	}
	for name, counted := range after.counted {
		f[name] = (counted - before.counted[name]) / n
	}
	for name, used := range after.cpu {
		f[cpu+name] = (used - before.cpu[name]).Seconds() * 1000 / n
		if name != nameLoad {
			f[cpuAll] += f[cpu+name]
		}
	}
	return f
}

func figureTable(name string, points []int, found []figures) [][]string {
	rows := [][]string{{name}}
	for _, q := range quantities {
		rows[0] = append(rows[0], q[0])
	}
	for i, f := range found {
		row := []string{comma(points[i])}
		for _, q := range quantities {
			row = append(row, fmt.Sprintf(q[1], f[q[0]]))
		}
		rows = append(rows, row)
	}
	return rows
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func (b *bench) note(format string, args ...any) { fmt.Fprintf(b.out, format+"\n\n", args...) }

// table prints rows in Markdown, the first as the head, in aligned columns.
func (b *bench) table(rows [][]string) {
	var aligned strings.Builder
	w := tabwriter.NewWriter(&aligned, 0, 0, 1, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, "| "+strings.Join(row, "\t| ")+"\t|")
	}
	b.must(w.Flush())
	head, body, _ := strings.Cut(aligned.String(), "\n")
	fmt.Fprintf(b.out, "%s\n%s|\n%s\n", head, strings.Repeat("| --- ", len(rows[0])), body)
}

// errPending is the error of a request that was answered before its event was published.
var errPending = errors.New("answered, but not done yet")

// send sends the i-th request, concurrently. It returns the time that counts, or 0 for that of the whole request.
type send func(ctx context.Context, i int) (time.Duration, error)

// plan is a closed loop of some connections, or an open loop of a rate. It ends after span or requests.
type plan struct {
	connections int           // requests that are under way at once; at most so many in an open loop
	rate        float64       // requests that begin each second; 0 for a closed loop
	span        time.Duration // in which requests are begun; 0: until there were enough
	requests    int           // the most that are begun; 0: as many as there is time for
	first       int           // the number of the first request
}

func (p plan) String() string {
	if p.rate > 0 {
		return fmt.Sprintf("%g requests/s over at most %d connections", p.rate, p.connections)
	}
	if p.connections == 1 {
		return "one connection"
	}
	return fmt.Sprintf("%d connections", p.connections)
}

type result struct {
	times                 *hdrhistogram.Histogram // of all requests but failures, in microseconds; in an open loop from when a request was due
	took                  time.Duration           // from the first request to the last answer
	done, pending, failed int64                   // done with pending
	failure               error                   // of one of those that failed
}

const longest = 2 * time.Minute

func newResult() result { return result{times: hdrhistogram.New(1, longest.Microseconds(), 3)} }

func (r *result) note(took time.Duration, err error) {
	switch {
	case errors.Is(err, errPending):
		r.pending++
	case err != nil:
		r.failed++
		r.failure = err
		return
	}
	r.done++
	_ = r.times.RecordValue(min(took, longest).Microseconds()) // no value is above the largest
}

func (r result) ms(percent float64) float64 {
	return float64(r.times.ValueAtPercentile(percent)) / 1000
}

// run sends requests. Those that failed are in the result.
func (p plan) run(ctx context.Context, one send) (result, error) {
	total := newResult()
	if p.connections < 1 || p.rate < 0 || (p.span <= 0 && p.requests < 1) {
		return total, fmt.Errorf("%d connections, %g a second, %d requests, for %s: give at least one connection, and an end", p.connections, p.rate, p.requests, p.span)
	}
	began, results := time.Now(), make([]result, p.connections)
	var begun atomic.Int64
	var group sync.WaitGroup
	for c := range results {
		results[c] = newResult()
		group.Go(func() {
			for {
				n, due := int(begun.Add(1))-1, time.Now()
				if p.rate > 0 {
					due = began.Add(time.Duration(float64(n) / p.rate * float64(time.Second)))
				}
				if (p.requests > 0 && n >= p.requests) || (p.span > 0 && due.Sub(began) >= p.span) {
					return
				}
				if testbed.Wait(ctx, time.Until(due)); ctx.Err() != nil {
					return
				}
				took, err := one(ctx, p.first+n)
				if took == 0 {
					took = time.Since(due)
				}
				results[c].note(took, err)
			}
		})
	}
	group.Wait()
	total.took = time.Since(began)
	for _, r := range results {
		total.times.Merge(r.times)
		total.done, total.pending, total.failed = total.done+r.done, total.pending+r.pending, total.failed+r.failed
		if r.failure != nil {
			total.failure = r.failure
		}
	}
	return total, ctx.Err()
}
