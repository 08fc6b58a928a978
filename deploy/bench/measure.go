package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
)

// post sends the i-th request to one of the replicas, and checks the answer; see send.
type post func(ctx context.Context, replicas []client, i int) (time.Duration, error)

// figures are what a workload has cost, for each request if that makes sense.
type figures struct {
	pending, failed int64
	rate            float64            // requests a second
	p50, p99        float64            // ms
	cpu             map[string]float64 // ms of each process, for a request
	mallocs         float64            // objects that the server allocates, for a request
}

// at is the plan that the flags ask for.
func (b *bench) at(connections int) plan {
	return plan{connections: connections, rate: b.rate, span: b.measured}
}

func (b *bench) rounded() string { return fmt.Sprintf("%d rounds of %s", b.rounds, b.measured) }

// Numbers of requests and sessions are set aside for each run, and never used twice.
const (
	warmupNumbers   = 1_000_000
	measuredNumbers = 10_000_000
)

// numbers sets n numbers aside and returns the first.
func (b *bench) numbers(n int) int {
	first := b.nextNumber
	b.nextNumber += n
	return first
}

// measure sends requests to replicas of a service: first to warm it up, then to count. Before it counts
// it calls prepare, if there is one, with the number of the first request.
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

// send carries a plan out.
func (b *bench) send(ctx context.Context, p plan, one send) result {
	found, err := p.run(ctx, one)
	b.must(err)
	return found
}

// each does something n times, as many at once as there are connections.
func (b *bench) each(ctx context.Context, n int, do func(ctx context.Context, i int) error) {
	b.must(b.send(ctx, plan{connections: b.connections[0], requests: n}, func(ctx context.Context, i int) (time.Duration, error) { return 0, do(ctx, i) }).failure)
}

func figuresOf(r result, before, after usage) figures {
	n := float64(r.done)
	f := figures{
		pending: r.pending, failed: r.failed, rate: n / r.took.Seconds(), p50: r.ms(50), p99: r.ms(99),
		cpu: map[string]float64{}, mallocs: (after.mallocs - before.mallocs) / n,
	}
	for name, used := range after.cpu {
		f.cpu[name] = (used - before.cpu[name]).Seconds() * 1000 / n
	}
	return f
}

// quantity is one of the figures, as tables show it.
type quantity struct {
	name   string
	format string
	of     func(figures) float64
}

// quantities are all that is printed of a measurement.
var quantities = []quantity{
	{"requests/s", "%.0f", func(f figures) float64 { return f.rate }},
	{"p50 ms", "%.2f", func(f figures) float64 { return f.p50 }},
	{"p99 ms", "%.2f", func(f figures) float64 { return f.p99 }},
	cpuFor("server"), cpuFor("Redis"), cpuFor("NATS"), cpuFor("LLM double"), cpuFor("load"),
	{"allocations", "%.0f", func(f figures) float64 { return f.mallocs }},
	{"answered as pending", "%.0f", func(f figures) float64 { return float64(f.pending) }},
	{"failed", "%.0f", func(f figures) float64 { return float64(f.failed) }},
}

func cpuFor(name string) quantity {
	return quantity{"CPU ms, " + name, "%.3f", func(f figures) float64 { return f.cpu[name] }}
}

// figureTable has a row of all figures for each point.
func figureTable(name string, points []int, found []figures) [][]string {
	rows := [][]string{{name}}
	for _, q := range quantities {
		rows[0] = append(rows[0], q.name)
	}
	for i, f := range found {
		row := []string{comma(points[i])}
		for _, q := range quantities {
			row = append(row, fmt.Sprintf(q.format, q.of(f)))
		}
		rows = append(rows, row)
	}
	return rows
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func comma(n int) string { return humanize.Comma(int64(n)) }

// note prints a line.
func (b *bench) note(format string, args ...any) { fmt.Fprintf(b.out, format+"\n\n", args...) }

// table prints rows in Markdown, the first as the head, in columns of one width.
func (b *bench) table(rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for i, row := range rows {
		for column, cell := range row {
			fmt.Fprintf(b.out, "| %s%s ", cell, strings.Repeat(" ", widths[column]-utf8.RuneCountInString(cell)))
		}
		fmt.Fprintln(b.out, "|")
		if i == 0 {
			fmt.Fprintln(b.out, strings.Repeat("| --- ", len(row))+"|")
		}
	}
	fmt.Fprintln(b.out)
}
