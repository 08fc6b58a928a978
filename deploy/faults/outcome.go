package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"earshot/repositories/crash"
)

// outcome is what a campaign has found.
type outcome struct {
	seed       int64
	took       time.Duration
	kills      map[crash.Point]int
	random     int
	faults     map[string]int
	messages   int
	triggers   int
	effects    int
	repeats    int
	lost       int64 // replies of Redis
	recoveries []time.Duration
	violations []string
}

// recoveryLimit is what the promise allows: the lease of a turn plus a second.
const recoveryLimit = 16 * time.Second

// killed counts the kills at points.
func (o *outcome) killed() (total int) {
	for _, times := range o.kills {
		total += times
	}
	return total
}

// table is the outcome in Markdown.
func (o *outcome) table() string {
	var b strings.Builder
	row := func(name string, value any) { fmt.Fprintf(&b, "| %s | %v |\n", name, value) }
	fmt.Fprintf(&b, "| what | how much |\n| --- | --- |\n")
	row("seed, time", fmt.Sprintf("%d, %s", o.seed, o.took.Round(time.Second)))
	row("kills at crash points", fmt.Sprintf("%d at %d of %d points", o.killed(), len(o.kills), len(crash.Points())))
	row("kills at any other instant", o.random)
	for _, name := range sorted(o.faults) {
		row(name, fmt.Sprintf("%d times", o.faults[name]))
	}
	row("replies of Redis lost", o.lost)
	row("messages and direct triggers answered", o.messages)
	row("asked again at the end, same answer", o.repeats)
	row("triggers, events and calls in the books", fmt.Sprintf("%d, %d", o.triggers, o.effects))
	row("answers that a death held up", len(o.recoveries))
	row("held up, p50 / p99 / most", fmt.Sprintf("%s / %s / %s, lease + 1 s is %s",
		quantile(o.recoveries, 0.5), quantile(o.recoveries, 0.99), quantile(o.recoveries, 1), recoveryLimit))
	row("**violations**", fmt.Sprintf("**%d**", len(o.violations)))
	fmt.Fprintf(&b, "\nKills by point: %s\n", o.byPoint())
	for _, violation := range o.violations {
		fmt.Fprintf(&b, "- %s\n", violation)
	}
	return b.String()
}

func (o *outcome) byPoint() string {
	var parts []string
	for _, point := range crash.Points() {
		parts = append(parts, fmt.Sprintf("%s %d", point, o.kills[point]))
	}
	return strings.Join(parts, ", ")
}

func sorted(counts map[string]int) []string {
	var names []string
	for name := range counts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// quantile is the value that a part of the list does not exceed.
func quantile(list []time.Duration, part float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	ordered := slices.Sorted(slices.Values(list))
	return ordered[int(part*float64(len(ordered)-1))].Round(time.Millisecond)
}
