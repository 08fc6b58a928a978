package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"earshot/deploy/faults/endpoints"
	"earshot/repositories/failpoint"
)

// outcome is what a campaign has found.
type outcome struct {
	seed       int64
	asked      int  // kills
	cut        bool // it was ended from outside
	took       time.Duration
	kills      map[failpoint.Point]int
	random     int
	faults     map[string]int
	accounts   []*account // of the eras, in their order
	messages   int
	triggers   int
	effects    int
	repeats    int
	unknown    int   // calls that ended as outcome_unknown
	tasks      int   // of MCP
	chats      int   // in act
	remote     int   // calls of the MCP server
	lost       int64 // replies of Redis
	losses     []loss
	recoveries []time.Duration
}

// recoveryLimit is what the promise allows: the lease of a turn plus a second.
const recoveryLimit = 16 * time.Second

// count adds what the books of an era hold.
func (o *outcome) count(e *evidence) {
	for _, one := range e.operations {
		if one.ID != "" && one.Kind != "published" {
			o.messages++
		}
		if one.Recovery > 0 && !one.Disturbed {
			o.recoveries = append(o.recoveries, one.Recovery)
		}
	}
	for _, one := range e.failed {
		if one.Call != nil && one.Call.Reason == outcomeUnknown {
			o.unknown++
		}
	}
	o.repeats += len(e.again)
	o.triggers += len(e.byID())
	o.effects += len(e.stored) + len(e.calls)
	o.losses = append(o.losses, e.losses...)
	o.tasks += len(e.tasks())
	for _, one := range e.operations {
		if one.Kind == "chat" {
			o.chats++
		}
	}
	for _, one := range e.calls {
		if strings.HasPrefix(one.Path, endpoints.RemotePath) {
			o.remote++
		}
	}
}

// killed counts the kills at points.
func (o *outcome) killed() (total int) {
	for _, n := range o.kills {
		total += n
	}
	return total
}

func (o *outcome) violations() (all []string) {
	for _, a := range o.accounts {
		all = append(all, a.violations...)
	}
	return all
}

// failures says in words why the campaign is no proof; empty where it is one.
func (o *outcome) failures() (list []string) {
	if len(o.accounts) == 0 {
		list = append(list, "no era was run")
	}
	if o.cut {
		list = append(list, "it was cut off")
	}
	if unsound := o.unsound(); unsound > 0 {
		list = append(list, fmt.Sprintf("%d of %d eras did not come to rest, and their books prove nothing", unsound, len(o.accounts)))
	}
	if n := len(o.violations()); n > 0 {
		list = append(list, fmt.Sprintf("%d violations of the promise", n))
	}
	if total := o.killed() + o.random; total < o.asked {
		list = append(list, fmt.Sprintf("only %d of the %d kills that were asked for took place", total, o.asked))
	}
	return list
}

func (o *outcome) unsound() (n int) {
	for _, a := range o.accounts {
		if !a.sound() {
			n++
		}
	}
	return n
}

// maxLines is how many breaches are told one by one.
const maxLines = 100

// table is the outcome in Markdown, below the verdict.
func (o *outcome) table() string {
	var b strings.Builder
	row := func(name string, value any) { fmt.Fprintf(&b, "| %s | %v |\n", name, value) }
	fmt.Fprintf(&b, "%s\n\n| what | how much |\n| --- | --- |\n", o.verdict())
	row("seed, time", fmt.Sprintf("%d, %s", o.seed, o.took.Round(time.Second)))
	row("kills at crash points", fmt.Sprintf("%d at %d of %d points", o.killed(), len(o.kills), len(failpoint.Points())))
	row("kills at any other instant", o.random)
	for _, name := range sorted(o.faults) {
		row(name, times(o.faults[name]))
	}
	row("replies of Redis lost", o.lost)
	row("messages and direct triggers answered", o.messages)
	row("asked again at the end, same answer", o.repeats)
	row("triggers, events and calls in the books", fmt.Sprintf("%d, %d", o.triggers, o.effects))
	row("calls that ended as outcome_unknown, retried by hand", o.unknown)
	row("tasks of missing values, chats in act, calls of the MCP server", fmt.Sprintf("%d, %d, %d", o.tasks, o.chats, o.remote))
	if len(o.losses) > 0 {
		row("masters of a Redis Cluster lost; replica promoted after, p50 / most; its app answered after, p50 / most", summaryOf(o.losses))
	}
	row("answers that a death held up", len(o.recoveries))
	row("held up, p50 / p99 / most", fmt.Sprintf("%s / %s / %s, lease + 1 s is %s",
		quantile(o.recoveries, 0.5), quantile(o.recoveries, 0.99), quantile(o.recoveries, 1), recoveryLimit))
	for _, name := range o.eras() {
		row("era "+name, summary(o.of(name)))
	}
	row("**violations**", o.violationCount())
	fmt.Fprintf(&b, "\nKills by point: %s\n", o.byPoint())
	lines := append(restless(o.accounts), o.violations()...)
	for _, line := range lines[:min(len(lines), maxLines)] {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	if more := len(lines) - maxLines; more > 0 {
		fmt.Fprintf(&b, "- and %d more\n", more)
	}
	return b.String()
}

func (o *outcome) verdict() string {
	if failures := o.failures(); len(failures) > 0 {
		return "**FAILED**: " + strings.Join(failures, "; ")
	}
	return fmt.Sprintf("**PASSED**: all %d eras came to rest, and their books balance", len(o.accounts))
}

// violationCount never shows a bare 0 where books were not closed at rest.
func (o *outcome) violationCount() string {
	if unsound := o.unsound(); unsound > 0 {
		return fmt.Sprintf("**%d found, NOT KNOWN for %d eras**", len(o.violations()), unsound)
	}
	return fmt.Sprintf("**%d**", len(o.violations()))
}

// eras lists the names of the eras in the order in which they came.
func (o *outcome) eras() (names []string) {
	for _, a := range o.accounts {
		if !slices.Contains(names, a.era) {
			names = append(names, a.era)
		}
	}
	return names
}

func (o *outcome) of(in string) (list []*account) {
	for _, a := range o.accounts {
		if a.era == in {
			list = append(list, a)
		}
	}
	return list
}

func (o *outcome) byPoint() string {
	var parts []string
	for _, point := range failpoint.Points() {
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

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// quantile is the value that a part of the list does not exceed.
func quantile(list []time.Duration, part float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	ordered := slices.Sorted(slices.Values(list))
	return ordered[int(part*float64(len(ordered)-1))].Round(time.Millisecond)
}
