package main

import (
	"context"
	"fmt"
	"slices"

	"earshot/deploy/bench/rig"
)

// pair is the same workload on Earshot and on what it is compared with, one right after
// the other.
type pair struct{ other, earshot figures }

// both are the services that are compared, on the same Redis, NATS and LLM.
type both struct{ floor, earshot *rig.Server }

// startBoth starts both and registers the workload's tools with each.
func (b *bench) startBoth(ctx context.Context, w workload) (both, error) {
	floor, err := b.world.Floor(ctx)
	if err != nil {
		return both{}, err
	}
	earshot, err := b.world.Earshot(ctx)
	if err != nil {
		return both{}, err
	}
	for _, s := range []*rig.Server{floor, earshot} {
		if err := w.register(ctx, newClient(s, 1)); err != nil {
			return both{}, err
		}
	}
	return both{floor, earshot}, nil
}

// pairs measures a workload in rounds: floor, Earshot, floor, Earshot. What else the
// machine does meets both alike.
func (b *bench) pairs(ctx context.Context, s both, w workload, p pressure) ([]pair, error) {
	other := func() (figures, error) {
		// What was said before is part of what a message costs: no round finds any.
		w.first = b.numbers(w.sessions)
		return b.measure(ctx, w.post, p, s.floor)
	}
	return b.inTurns(other, func() (figures, error) { return b.measure(ctx, w.post, p, s.earshot) })
}

// inTurns measures Earshot and what it is compared with, one after the other.
func (b *bench) inTurns(other, earshot func() (figures, error)) ([]pair, error) {
	rounds := make([]pair, b.rounds)
	for i := range rounds {
		var err error
		if rounds[i].other, err = other(); err != nil {
			return nil, fmt.Errorf("measure what Earshot is compared with: %w", err)
		}
		if rounds[i].earshot, err = earshot(); err != nil {
			return nil, fmt.Errorf("measure Earshot: %w", err)
		}
	}
	return rounds, nil
}

// compare prints what messages cost, beside the least that they could.
func (b *bench) compare(ctx context.Context) error {
	w := workload{app: "bench", tools: b.tools, matches: b.matches, sessions: b.sessions, direct: b.sessions == 0}
	s, err := b.startBoth(ctx, w)
	if err != nil {
		return err
	}
	for _, connections := range b.connections {
		rounds, err := b.pairs(ctx, s, w, b.at(connections))
		if err != nil {
			return err
		}
		b.note("## %s, %s, %d tools, %d called for, %s", b.at(connections), b.rounded(), w.tools, w.matches, w.spread())
		b.table(pairTable("floor", rounds))
	}
	return nil
}

// pairTable has the median of all rounds, and the median ratio of the pairs with the
// least and the greatest. What took nothing on the other side, or too little for the clock
// of the CPU, has none.
func pairTable(other string, rounds []pair) [][]string {
	rows := [][]string{{"for each request", other, "Earshot", "ratio", "of the rounds"}}
	for _, q := range quantities {
		var others, earshot, ratios []float64
		for _, round := range rounds {
			o, e := q.of(round.other), q.of(round.earshot)
			others, earshot, ratios = append(others, o), append(earshot, e), append(ratios, e/o)
		}
		row := []string{q.name, fmt.Sprintf(q.format, median(others)), fmt.Sprintf(q.format, median(earshot)), "", ""}
		if slices.Min(others) > 0 {
			row[3] = fmt.Sprintf("%.2f", median(ratios))
			row[4] = fmt.Sprintf("%.2f to %.2f", slices.Min(ratios), slices.Max(ratios))
		}
		rows = append(rows, row)
	}
	return rows
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// direct prints what direct triggers cost, without a session, within one, and spread.
func (b *bench) direct(ctx context.Context) error {
	w := workload{app: "direct", tools: b.tools, direct: true}
	s, err := b.startBoth(ctx, w)
	if err != nil {
		return err
	}
	rows := [][]string{{"sessions", "connections", "requests/s", "× floor", "p50 ms", "× floor", "p99 ms", "CPU ms, server", "× floor", "CPU ms, Redis", "pending", "failed"}}
	for _, w.sessions = range []int{0, 1, b.sessions} {
		for _, connections := range b.connections {
			rounds, err := b.pairs(ctx, s, w, b.at(connections))
			if err != nil {
				return err
			}
			rows = append(rows, directRow(w.sessions, connections, rounds))
		}
	}
	b.note("## direct triggers, %s", b.rounded())
	b.table(rows)
	return nil
}

func directRow(sessions, connections int, rounds []pair) []string {
	of := func(pick func(figures) float64) (value, ratio float64) {
		var values, ratios []float64
		for _, round := range rounds {
			values, ratios = append(values, pick(round.earshot)), append(ratios, pick(round.earshot)/pick(round.other))
		}
		return median(values), median(ratios)
	}
	rate, rateRatio := of(func(f figures) float64 { return f.rate })
	p50, p50Ratio := of(func(f figures) float64 { return f.p50 })
	p99, _ := of(func(f figures) float64 { return f.p99 })
	cpu, cpuRatio := of(func(f figures) float64 { return f.cpu[rig.NameServer] })
	db, _ := of(func(f figures) float64 { return f.cpu["Redis"] })
	pending, _ := of(func(f figures) float64 { return float64(f.pending) })
	failed, _ := of(func(f figures) float64 { return float64(f.failed) })
	return []string{
		comma(sessions), comma(connections), fmt.Sprintf("%.0f", rate), fmt.Sprintf("%.2f", rateRatio), fmt.Sprintf("%.2f", p50),
		fmt.Sprintf("%.2f", p50Ratio), fmt.Sprintf("%.2f", p99), fmt.Sprintf("%.3f", cpu), fmt.Sprintf("%.2f", cpuRatio),
		fmt.Sprintf("%.3f", db), fmt.Sprintf("%.0f", pending), fmt.Sprintf("%.0f", failed),
	}
}
