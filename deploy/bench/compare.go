package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// subject is measured in turns with others. The last of them is Earshot, which is compared with each.
type subject struct {
	name   string
	server *server
	post   post
}

// subjects starts the floor, for messages also the least that keeps the promise, and Earshot.
func (b *bench) subjects(ctx context.Context, w *workload) (all []subject) {
	posting := func(ctx context.Context, replicas []client, i int) (time.Duration, error) {
		return w.post(ctx, replicas, i)
	}
	least := role{Redis: b.store.URL(), NATS: b.nats.URL, LLM: b.llm(), Lease: promiseLease}
	for _, least.Name = range []string{roleFloor, rolePromise} {
		if least.Name == roleFloor || !w.direct {
			all = append(all, subject{least.Name, b.play(least.Name, least), posting})
		}
	}
	all = append(all, subject{"Earshot", b.earshot(), posting})
	for _, one := range all {
		b.must(w.register(ctx, newClient(one.server, 1)))
	}
	return all
}

// inTurns measures all in turns, so that other load affects all. The others are frozen: a replica polls, and Redis would count that.
func (b *bench) inTurns(ctx context.Context, all []subject, p plan, begin func()) [][]figures {
	for _, one := range all {
		one.server.Freeze()
		defer one.server.Thaw()
	}
	rounds := make([][]figures, b.rounds)
	for i := range rounds {
		begin()
		for _, one := range all {
			one.server.Thaw()
			rounds[i] = append(rounds[i], b.measure(ctx, one.post, p, nil, one.server))
			one.server.Freeze()
		}
	}
	return rounds
}

// anew has a round begin with new sessions: what was said before is part of what a message costs.
func (b *bench) anew(w *workload) func() { return func() { w.first = b.numbers(w.sessions) } }

func (b *bench) compare(ctx context.Context) {
	w := &workload{app: "bench", tools: b.tools, matches: b.matches, sessions: b.sessions, direct: b.sessions == 0}
	all := b.subjects(ctx, w)
	for _, connections := range b.connections {
		rounds := b.inTurns(ctx, all, b.at(connections), b.anew(w))
		b.note("## %s, %s, %d tools, %d called for, %s", b.at(connections), b.rounded(), w.tools, w.matches, w.spread())
		b.table(turnTable(all, rounds))
	}
}

// valuesOf are those of a quantity of one subject in all rounds.
func valuesOf(rounds [][]figures, of int, quantity string) []float64 {
	values := make([]float64, len(rounds))
	for i, round := range rounds {
		values[i] = round[of][quantity]
	}
	return values
}

// ratiosTo are those of the last subject to another in each round; nil where the other is 0 in one.
func ratiosTo(rounds [][]figures, to int, quantity string) []float64 {
	others, ours := valuesOf(rounds, to, quantity), valuesOf(rounds, len(rounds[0])-1, quantity)
	if slices.Min(others) <= 0 {
		return nil
	}
	for i := range ours {
		ours[i] /= others[i]
	}
	return ours
}

// turnTable has the medians of all rounds, and for each other subject the median, least and greatest ratio, unless that is 0.
func turnTable(all []subject, rounds [][]figures) [][]string {
	head := []string{"for each request"}
	for _, one := range all {
		head = append(head, one.name)
	}
	others := len(all) - 1
	for _, one := range all[:others] {
		head = append(head, "× "+one.name)
	}
	rows := [][]string{head}
	for _, q := range quantities {
		row := []string{q[0]}
		for i := range all {
			row = append(row, fmt.Sprintf(q[1], median(valuesOf(rounds, i, q[0]))))
		}
		for i := range others {
			cell := ""
			if found := ratiosTo(rounds, i, q[0]); found != nil {
				cell = fmt.Sprintf("%.2f (%.2f to %.2f)", median(found), slices.Min(found), slices.Max(found))
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return rows
}

func (b *bench) direct(ctx context.Context) {
	w := &workload{app: "direct", tools: b.tools, direct: true}
	all := b.subjects(ctx, w)
	rows := [][]string{{"sessions", "connections", "requests/s", "× floor", "p50 ms", "× floor", "p99 ms", "CPU ms, server", "× floor", "CPU ms, Redis", "pending", "failed"}}
	for _, w.sessions = range []int{0, 1, b.sessions} {
		for _, connections := range b.connections {
			rows = append(rows, directRow(rows[0], w.sessions, connections, b.inTurns(ctx, all, b.at(connections), b.anew(w))))
		}
	}
	b.note("## direct triggers, %s", b.rounded())
	b.table(rows)
}

// directRow has a cell for each column of the head. A column of ratios belongs to the one before it.
func directRow(head []string, sessions, connections int, rounds [][]figures) []string {
	row, last := []string{comma(sessions), comma(connections)}, ""
	for _, name := range head[2:] {
		if name == "× floor" {
			row = append(row, fmt.Sprintf("%.2f", median(ratiosTo(rounds, 0, last))))
			continue
		}
		q := quantities[slices.IndexFunc(quantities, func(q [2]string) bool { return strings.HasSuffix(q[0], name) })]
		row, last = append(row, fmt.Sprintf(q[1], median(valuesOf(rounds, 1, q[0])))), q[0]
	}
	return row
}
