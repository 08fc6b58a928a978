package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

type pair struct{ other, earshot figures }

type both struct{ floor, earshot *server }

func (b *bench) startBoth(ctx context.Context, w workload) both {
	s := both{b.play("floor", role{Name: roleFloor, Redis: b.store.URL(), NATS: b.nats.URL, LLM: b.llm()}), b.earshot()}
	b.must(errors.Join(w.register(ctx, newClient(s.floor, 1)), w.register(ctx, newClient(s.earshot, 1))))
	return s
}

// pairs measures in turns, so that other load on the machine affects both sides.
func (b *bench) pairs(ctx context.Context, s both, w workload, p plan) []pair {
	return b.inTurns(func() figures {
		// What was said before is part of what a message costs: no round has any.
		w.first = b.numbers(w.sessions)
		return b.measure(ctx, w.post, p, nil, s.floor)
	}, func() figures { return b.measure(ctx, w.post, p, nil, s.earshot) })
}

func (b *bench) inTurns(other, earshot func() figures) (rounds []pair) {
	for range b.rounds {
		rounds = append(rounds, pair{other(), earshot()})
	}
	return rounds
}

func (b *bench) compare(ctx context.Context) {
	w := workload{app: "bench", tools: b.tools, matches: b.matches, sessions: b.sessions, direct: b.sessions == 0}
	s := b.startBoth(ctx, w)
	for _, connections := range b.connections {
		rounds := b.pairs(ctx, s, w, b.at(connections))
		b.note("## %s, %s, %d tools, %d called for, %s", b.at(connections), b.rounded(), w.tools, w.matches, w.spread())
		b.table(pairTable("floor", rounds))
	}
}

// medians are the medians of a quantity on both sides, and the ratios of the pairs.
func medians(q [2]string, rounds []pair) (other, earshot string, least float64, ratios []float64) {
	var others, earshots []float64
	for _, round := range rounds {
		o, e := round.other[q[0]], round.earshot[q[0]]
		others, earshots, ratios = append(others, o), append(earshots, e), append(ratios, e/o)
	}
	return fmt.Sprintf(q[1], median(others)), fmt.Sprintf(q[1], median(earshots)), slices.Min(others), ratios
}

// pairTable has the medians of all rounds, and the median, least and greatest ratio of the pairs. A quantity that is
// 0 on the other side has no ratio.
func pairTable(other string, rounds []pair) [][]string {
	rows := [][]string{{"for each request", other, "Earshot", "ratio", "of the rounds"}}
	for _, q := range quantities {
		theirs, ours, least, ratios := medians(q, rounds)
		row := []string{q[0], theirs, ours, "", ""}
		if least > 0 {
			row[3], row[4] = fmt.Sprintf("%.2f", median(ratios)), fmt.Sprintf("%.2f to %.2f", slices.Min(ratios), slices.Max(ratios))
		}
		rows = append(rows, row)
	}
	return rows
}

func (b *bench) direct(ctx context.Context) {
	w := workload{app: "direct", tools: b.tools, direct: true}
	s := b.startBoth(ctx, w)
	rows := [][]string{{"sessions", "connections", "requests/s", "× floor", "p50 ms", "× floor", "p99 ms", "CPU ms, server", "× floor", "CPU ms, Redis", "pending", "failed"}}
	for _, w.sessions = range []int{0, 1, b.sessions} {
		for _, connections := range b.connections {
			rows = append(rows, directRow(rows[0], w.sessions, connections, b.pairs(ctx, s, w, b.at(connections))))
		}
	}
	b.note("## direct triggers, %s", b.rounded())
	b.table(rows)
}

// directRow has a cell for each column of the head. A column of ratios belongs to the one before it.
func directRow(head []string, sessions, connections int, rounds []pair) []string {
	row := []string{comma(sessions), comma(connections)}
	var ratios []float64
	for _, column := range head[2:] {
		if column == "× floor" {
			row = append(row, fmt.Sprintf("%.2f", median(ratios)))
			continue
		}
		at := slices.IndexFunc(quantities, func(q [2]string) bool { return strings.HasSuffix(q[0], column) })
		var ours string
		_, ours, _, ratios = medians(quantities[at], rounds)
		row = append(row, ours)
	}
	return row
}
