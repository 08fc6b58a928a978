package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

type growth struct {
	*bench
	ctx      context.Context
	workload workload
	plan     plan
	prepare  func(first int)
	replicas []*server
}

// dimension is something that the cost of a message may grow with: the points to measure by default, and how to set one up.
type dimension struct {
	points []int
	set    func(g *growth, n int)
}

const (
	// Each request needs a session of its own, whose history is filled before.
	historyRequests = 200
	apart           = 1 << 40
)

var dimensions = map[string]dimension{
	"tools": {[]int{1, 10, 100, 1000, 10_000}, func(g *growth, n int) {
		if n > maxTools {
			g.t.Fatalf("%d tools: there are names for %d", n, maxTools)
		}
		g.workload.tools, g.workload.app = n, fmt.Sprintf("tools-%d", n)
		g.must(g.workload.register(g.ctx, newClient(g.replicas[0], 1)))
	}},
	"matches": {[]int{1, 2, 4, 8}, func(g *growth, n int) { g.workload.matches, g.workload.tools = n, max(n, g.workload.tools) }},
	"history": {[]int{0, 10, 20, 40}, func(g *growth, n int) {
		g.workload.sessions, g.workload.first = apart, 0
		g.plan.requests, g.plan.span = historyRequests, 0
		g.prepare = func(first int) {
			if n == 0 {
				return
			}
			c := newClient(g.replicas[0], g.plan.connections)
			defer c.HTTP.CloseIdleConnections()
			g.each(g.ctx, n*historyRequests, func(ctx context.Context, i int) error { return g.workload.tell(ctx, c, first+i%historyRequests) })
		}
	}},
	// The keys of one idle session are copied: a million sessions would take most of an hour over REST. Shared keys do not grow.
	"sessions": {[]int{1, 1000, 10_000, 100_000}, func(g *growth, n int) {
		g.workload.sessions, g.workload.first = n, 0
		const model = "pattern"
		path := "/v1/apps/" + g.workload.app + "/sessions/" + model + "/messages"
		body := map[string]any{"messageId": "m", "actor": "agent", "text": "The table is free again this afternoon."}
		g.must(newClient(g.replicas[0], 1).send(g.ctx, http.MethodPost, path, body, nil))
		dumps := map[string]string{}
		keys := g.redis.Scan(g.ctx, 0, "*"+model+"*", 1000).Iterator()
		for keys.Next(g.ctx) {
			dump, err := g.redis.Dump(g.ctx, keys.Val()).Result()
			g.must(err)
			dumps[keys.Val()] = dump
		}
		g.must(keys.Err())
		pipe := g.redis.Pipeline()
		for i := range n {
			for key, dump := range dumps {
				pipe.RestoreReplace(g.ctx, strings.ReplaceAll(key, model, "s"+strconv.Itoa(i)), 0, dump)
			}
			if pipe.Len() > 1000 || i == n-1 {
				_, err := pipe.Exec(g.ctx)
				g.must(err)
			}
		}
	}},
	"replicas": {[]int{1, 2, 3}, func(g *growth, n int) {
		for len(g.replicas) < n {
			g.replicas = append(g.replicas, g.earshot())
		}
	}},
}

func dimensionNames() string { return strings.Join(slices.Sorted(maps.Keys(dimensions)), ", ") }

func (b *bench) grow(ctx context.Context) {
	of, known := dimensions[b.dimension]
	if !known {
		b.t.Fatalf("-grow %s: it is one of %s", b.dimension, dimensionNames())
	}
	if len(b.points) > 0 {
		of.points = b.points
	}
	g := &growth{bench: b, ctx: ctx, workload: workload{app: "grow", tools: b.tools, matches: b.matches, sessions: max(1, b.sessions)}, replicas: []*server{b.earshot()}}
	b.must(g.workload.register(ctx, newClient(g.replicas[0], 1)))
	g.print(of, b.dimension)
	if b.dimension == "tools" {
		g.workload.silent = true
		g.print(of, "tools, where messages call for none")
	}
}

func (g *growth) print(of dimension, name string) {
	found, memories := make([]figures, len(of.points)), make([]float64, len(of.points))
	for i, n := range of.points {
		g.plan, g.workload.first = g.at(g.connections[0]), g.numbers(g.sessions)
		of.set(g, n)
		found[i] = g.measure(g.ctx, g.workload.post, g.plan, g.prepare, g.replicas...)
		memories[i] = g.usedMemory(g.ctx)
	}
	g.note("## %s, %s", name, g.at(g.connections[0]))
	g.table(growthTable(figureTable(g.dimension, of.points, found), found, memories))
}

func growthTable(rows [][]string, found []figures, memories []float64) [][]string {
	rows[0] = append(rows[0], "server, × the first", "Redis holds MiB")
	for i, f := range found {
		times := "–" // a first run that was too short for the clock of the CPU
		if base := found[0][cpuServer]; base > 0 {
			times = fmt.Sprintf("%.2f", f[cpuServer]/base)
		}
		rows[i+1] = append(rows[i+1], times, fmt.Sprintf("%.1f", memories[i]/mebibyte))
	}
	return rows
}
