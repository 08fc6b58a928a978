package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path/filepath"
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
	historyRequests = 200 // each request needs a session of its own, whose history is filled before
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

const mebibyte = 1 << 20

// kinds are what Redis holds, and how one is added: a message that is only stored, one that is matched, or a direct trigger.
var kinds = []struct {
	name           string
	stored, direct bool
	matches        int
	outside        bool
}{
	{name: "idle session, one message said in it", stored: true},
	{name: "message more in it", stored: true},
	{name: "message that sets off none"},
	{name: "message that sets off one tool, with record and explanation", matches: 1},
	{name: "direct trigger in a session", direct: true},
	{name: "direct trigger without one", direct: true, outside: true},
}

// space is what Redis uses, all of it and the keys alone, and what NATS has on its disk, in bytes.
type space struct{ total, keys, disk float64 }

func (b *bench) memory(ctx context.Context) {
	w, c := workload{app: "memory", tools: b.tools, sessions: b.things}, newClient(b.earshot(), b.connections[0])
	b.must(w.register(ctx, c))
	rows := [][]string{{"for each", "bytes of Redis", "bytes of its keys", "bytes on the disk of NATS"}}
	// The last few requests may not be flushed yet.
	growing := func(name string, n int, do func()) {
		before := b.space(ctx)
		do()
		after := b.space(ctx)
		rows = append(rows, bytesRow(name, space{after.total - before.total, after.keys - before.keys, after.disk - before.disk}, n))
	}
	for _, kind := range kinds {
		one := w
		if one.direct, one.matches = kind.direct, kind.matches; kind.outside {
			one.sessions = 0
		}
		growing(kind.name, b.things, func() {
			b.each(ctx, b.things, func(ctx context.Context, i int) error {
				if kind.stored {
					return one.tell(ctx, c, i)
				}
				_, err := one.post(ctx, []client{c}, i)
				return err
			})
		})
	}
	many := workload{app: "memory-tools", tools: min(b.things, maxTools)}
	growing("tool", many.tools, func() { b.must(many.register(ctx, c)) })
	b.note("## bytes in Redis and on the disk of NATS, of %d each", b.things)
	b.table(rows)
}

func bytesRow(name string, took space, n int) []string {
	row := []string{name}
	for _, bytes := range []float64{took.total, took.keys, took.disk} {
		row = append(row, fmt.Sprintf("%.0f", bytes/float64(n)))
	}
	return row
}

func (b *bench) space(ctx context.Context) space {
	used := space{total: b.usedMemory(ctx)}
	b.must(filepath.WalkDir(b.nats.Folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a file that was there for a moment
		}
		if err == nil {
			used.disk += float64(file.Size())
		}
		return err
	}))
	keys := b.redis.Scan(ctx, 0, "*", 1000).Iterator()
	for keys.Next(ctx) {
		// A key that has gone since counts as nothing.
		size, _ := b.redis.MemoryUsage(ctx, keys.Val(), 0).Result()
		used.keys += float64(size)
	}
	b.must(keys.Err())
	return used
}

func (b *bench) usedMemory(ctx context.Context) float64 {
	info, err := b.redis.InfoMap(ctx, "memory").Result()
	b.must(err)
	total, err := strconv.ParseFloat(info["Memory"]["used_memory"], 64)
	b.must(err)
	return total
}
