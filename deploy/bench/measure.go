package main

import (
	"context"
	"fmt"
	"time"

	"earshot/deploy/bench/load"
	"earshot/deploy/bench/rig"
)

// pressure is how a workload is sent.
type pressure struct {
	connections int
	rate        float64       // requests a second; 0: closed loop
	warmup      time.Duration // before anything is counted
	measured    time.Duration
	requests    int // the most that are counted; 0: as many as there is time for
	// prepare is called with the number of the first request that is counted.
	prepare func(ctx context.Context, first int) error
}

// figures are what a workload has cost, for each request where it makes sense.
type figures struct {
	requests, pending, failed int64
	rate                      float64            // requests a second
	p50, p99                  float64            // ms
	cpu                       map[string]float64 // ms of each process, for a request
	mallocs                   float64            // objects that the server allocates, for a request
}

// post sends the i-th request to one of the replicas, and checks the answer.
type post func(ctx context.Context, replicas []client, i int) error

// measure sends requests to replicas of a service: first to warm it up, then to count.
func (b *bench) measure(ctx context.Context, one post, p pressure, servers ...*rig.Server) (figures, error) {
	clients := make([]client, len(servers))
	for i, s := range servers {
		clients[i] = newClient(s, p.connections)
		defer clients[i].http.CloseIdleConnections()
	}
	send := func(ctx context.Context, i int) error { return one(ctx, clients, i) }
	plan := load.Plan{Connections: p.connections, Rate: p.rate, For: p.warmup, First: b.numbers(warmupNumbers)}
	if p.warmup > 0 {
		if _, err := load.Run(ctx, plan, send); err != nil {
			return figures{}, err
		}
	}
	plan.For, plan.Requests, plan.First = p.measured, p.requests, b.numbers(measuredNumbers)
	if p.prepare != nil {
		if err := p.prepare(ctx, plan.First); err != nil {
			return figures{}, err
		}
	}
	return b.count(ctx, plan, send, servers)
}

// count runs the plan and reads what it has cost.
func (b *bench) count(ctx context.Context, plan load.Plan, send load.Send, servers []*rig.Server) (figures, error) {
	before, err := b.world.Usage(ctx, servers...)
	if err != nil {
		return figures{}, err
	}
	result, err := load.Run(ctx, plan, send)
	if err != nil {
		return figures{}, err
	}
	after, err := b.world.Usage(ctx, servers...)
	if err != nil {
		return figures{}, err
	}
	if result.Done == 0 {
		return figures{}, fmt.Errorf("all of %d requests failed, one of them: %w", result.Failed, result.Failure)
	}
	if result.Failure != nil {
		b.note("%d of %d requests failed, one of them: %v", result.Failed, result.Failed+result.Done, result.Failure)
	}
	return figuresOf(result, before, after), nil
}

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

func figuresOf(result load.Result, before, after rig.Usage) figures {
	n := float64(result.Done)
	f := figures{
		requests: result.Done, pending: result.Pending, failed: result.Failed, rate: result.Rate(),
		p50: float64(result.Times.ValueAtPercentile(50)) / 1000, p99: float64(result.Times.ValueAtPercentile(99)) / 1000,
		cpu: map[string]float64{}, mallocs: (after.Mallocs - before.Mallocs) / n,
	}
	for name, used := range after.CPU {
		f.cpu[name] = (used - before.CPU[name]).Seconds() * 1000 / n
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
	cpuOf("server", rig.NameServer), cpuOf("Redis", "Redis"), cpuOf("NATS", "NATS"), cpuOf("LLM double", "LLM double"), cpuOf("load", rig.NameLoad),
	{"allocations", "%.0f", func(f figures) float64 { return f.mallocs }},
	{"answered as pending", "%.0f", func(f figures) float64 { return float64(f.pending) }},
	{"failed", "%.0f", func(f figures) float64 { return float64(f.failed) }},
}

func cpuOf(shown, name string) quantity {
	return quantity{"CPU ms, " + shown, "%.3f", func(f figures) float64 { return f.cpu[name] }}
}
