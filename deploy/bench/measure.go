package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
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

// quantities are all that is printed of a measurement, each with its format; allocations are for each
// request.
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

// measure warms replicas up, then counts. Before it counts it calls prepare, if not nil, with the number of the first
// request.
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
