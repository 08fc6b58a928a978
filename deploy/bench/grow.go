package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"earshot/deploy/bench/load"
	"earshot/deploy/bench/rig"
)

// dimension is something that the cost of a message may grow with.
type dimension struct {
	points []int // where it is measured, unless others are given
	// prepare makes the workload, the replicas and the pressure for a point.
	prepare func(ctx context.Context, b *bench, g *growth, n int) error
}

// growth is what a point of a dimension is measured with. It keeps its servers from
// point to point.
type growth struct {
	workload workload
	pressure pressure
	replicas []*rig.Server
}

var dimensions = map[string]dimension{
	"tools": {[]int{1, 10, 100, 1000, 10_000}, func(ctx context.Context, b *bench, g *growth, n int) error {
		if n > maxTools {
			return fmt.Errorf("%d tools, there are names for %d", n, maxTools)
		}
		g.workload.tools, g.workload.app = n, fmt.Sprintf("tools-%d", n)
		return g.workload.register(ctx, newClient(g.replicas[0], 1))
	}},
	"matches": {[]int{1, 2, 4, 8}, func(_ context.Context, _ *bench, g *growth, n int) error {
		g.workload.matches, g.workload.tools = n, max(n, g.workload.tools)
		return nil
	}},
	"history": {[]int{0, 10, 20, 40}, prepareHistory},
	"sessions": {[]int{1, 1000, 10_000, 100_000}, func(ctx context.Context, b *bench, g *growth, n int) error {
		g.workload.sessions, g.workload.first = n, 0
		return b.fillSessions(ctx, g, n)
	}},
	"replicas": {[]int{1, 2, 3}, func(ctx context.Context, b *bench, g *growth, n int) error {
		for len(g.replicas) < n {
			s, err := b.world.Earshot(ctx)
			if err != nil {
				return err
			}
			g.replicas = append(g.replicas, s)
		}
		return nil
	}},
}

func dimensionNames() string { return strings.Join(slices.Sorted(maps.Keys(dimensions)), ", ") }

// grow prints what messages cost at each point of a dimension, and how many times as
// much CPU of the server as at the first.
func (b *bench) grow(ctx context.Context, name string) error {
	of, known := dimensions[name]
	if !known {
		return fmt.Errorf("-grow %s: it is one of %s", name, dimensionNames())
	}
	if len(b.points) > 0 {
		of.points = b.points
	}
	first, err := b.world.Earshot(ctx)
	if err != nil {
		return err
	}
	g := &growth{workload: workload{app: "grow", tools: b.tools, matches: b.matches, sessions: max(1, b.sessions)}, replicas: []*rig.Server{first}}
	if err := g.workload.register(ctx, newClient(first, 1)); err != nil {
		return err
	}
	found, memories := make([]figures, len(of.points)), make([]float64, len(of.points))
	for i, n := range of.points {
		g.pressure, g.workload.first = b.at(b.connections[0]), b.numbers(b.sessions)
		if err := of.prepare(ctx, b, g, n); err != nil {
			return fmt.Errorf("%d %s: %w", n, name, err)
		}
		if found[i], err = b.measure(ctx, g.workload.post, g.pressure, g.replicas...); err != nil {
			return fmt.Errorf("%d %s: %w", n, name, err)
		}
		if memories[i], err = b.usedMemory(ctx); err != nil {
			return err
		}
	}
	b.note("## %s, %s", name, b.at(b.connections[0]))
	b.table(growthTable(figureTable(name, of.points, found), found, memories))
	return nil
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

// growthTable adds what grows to a table of figures.
func growthTable(rows [][]string, found []figures, memories []float64) [][]string {
	rows[0] = append(rows[0], "server, × the first", "Redis holds MiB")
	for i, f := range found {
		times := "–" // a first run that was too short for the clock of the CPU
		if base := found[0].cpu[rig.NameServer]; base > 0 {
			times = fmt.Sprintf("%.2f", f.cpu[rig.NameServer]/base)
		}
		rows[i+1] = append(rows[i+1], times, fmt.Sprintf("%.1f", memories[i]/mebibyte))
	}
	return rows
}

// historyRequests are as many as are measured with a history: each needs a session of
// its own, which has to be filled before.
const historyRequests = 200

// prepareHistory has each message meet a session in which n have been said.
func prepareHistory(_ context.Context, _ *bench, g *growth, n int) error {
	g.workload.sessions, g.workload.first = apart, 0
	g.pressure.requests = historyRequests
	g.pressure.measured = 0
	g.pressure.prepare = func(ctx context.Context, first int) error {
		c := newClient(g.replicas[0], g.pressure.connections)
		defer c.http.CloseIdleConnections()
		result, err := load.Run(ctx, load.Plan{Connections: g.pressure.connections, Requests: max(1, n*historyRequests)}, func(ctx context.Context, i int) error {
			if n == 0 {
				return nil
			}
			return g.workload.tell(ctx, c, first+i%historyRequests)
		})
		if err == nil {
			err = result.Failure
		}
		return err
	}
	return nil
}

// apart is so many sessions that no two requests are of the same.
const apart = 1 << 40

// tell stores a message that nothing is matched against.
func (w workload) tell(ctx context.Context, c client, session int) error {
	path := fmt.Sprintf("/v1/apps/%s/sessions/s%d/messages", w.app, session)
	return c.send(ctx, http.MethodPost, path, map[string]any{"actor": "agent", "text": "The " + things[session%len(things)] + " is free again this afternoon."}, nil)
}
