package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/deploy/testbed"
	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
)

type outcome struct {
	seed       int64
	asked      int  // kills
	cut        bool // it was ended from outside
	took       time.Duration
	kills      map[failpoint.Point]int
	random     int
	faults     map[string]int
	accounts   []*account // of the phases, in their order
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

func (o *outcome) count(e *evidence) {
	for _, one := range e.operations {
		if one.ID != "" && one.Kind != "published" {
			o.messages++
		}
		if one.Kind == "chat" {
			o.chats++
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
	for _, one := range e.calls {
		if strings.HasPrefix(one.Path, remotePath) {
			o.remote++
		}
	}
	o.repeats += len(e.again)
	o.triggers += len(e.byID)
	o.effects += len(e.stored) + len(e.calls)
	o.tasks += len(e.askedTasks())
	o.losses = append(o.losses, e.losses...)
}

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

func (o *outcome) unsound() (n int) {
	for _, a := range o.accounts {
		if !a.sound() {
			n++
		}
	}
	return n
}

// failures lists why the campaign is no proof; empty if it is one.
func (o *outcome) failures() (list []string) {
	if len(o.accounts) == 0 {
		list = append(list, "no phase was run")
	}
	if o.cut {
		list = append(list, "it was cut off")
	}
	if unsound := o.unsound(); unsound > 0 {
		list = append(list, fmt.Sprintf("%d of %d phases did not come to rest, and their books prove nothing", unsound, len(o.accounts)))
	}
	if n := len(o.violations()); n > 0 {
		list = append(list, fmt.Sprintf("%d violations of the promise", n))
	}
	if total := o.killed() + o.random; total < o.asked {
		list = append(list, fmt.Sprintf("only %d of the %d kills that were asked for took place", total, o.asked))
	}
	return list
}

const maxLines = 100

func (o *outcome) table() string {
	var b strings.Builder
	row := func(name string, value any) { fmt.Fprintf(&b, "| %s | %v |\n", name, value) }
	verdict := fmt.Sprintf("**PASSED**: all %d phases came to rest, and their books balance", len(o.accounts))
	if failures := o.failures(); len(failures) > 0 {
		verdict = "**FAILED**: " + strings.Join(failures, "; ")
	}
	fmt.Fprintf(&b, "%s\n\n| what | how much |\n| --- | --- |\n", verdict)
	row("seed, time", fmt.Sprintf("%d, %s", o.seed, o.took.Round(time.Second)))
	row("kills at crash points", fmt.Sprintf("%d at %d of %d points", o.killed(), len(o.kills), len(failpoint.Points())))
	row("kills at any other instant", o.random)
	for _, name := range slices.Sorted(maps.Keys(o.faults)) {
		row(name, times(o.faults[name]))
	}
	row("replies of Redis lost", o.lost)
	row("messages and direct triggers answered", o.messages)
	row("asked again at the end, same answer", o.repeats)
	row("triggers, events and calls in the books", fmt.Sprintf("%d, %d", o.triggers, o.effects))
	row("calls that ended as outcome_unknown, retried by hand", o.unknown)
	row("tasks of missing values, chats in act, calls of the MCP server", fmt.Sprintf("%d, %d, %d", o.tasks, o.chats, o.remote))
	if len(o.losses) > 0 {
		var promoted, answered []time.Duration
		for _, l := range o.losses {
			promoted, answered = append(promoted, l.promoted), append(answered, l.answered)
		}
		row("masters of a Redis Cluster lost; replica promoted after, p50 / most; its app answered after, p50 / most",
			fmt.Sprintf("%d; %s / %s; %s / %s", len(o.losses), quantile(promoted, 0.5), quantile(promoted, 1), quantile(answered, 0.5), quantile(answered, 1)))
	}
	row("answers that a death held up", len(o.recoveries))
	row("held up, p50 / p99 / most", fmt.Sprintf("%s / %s / %s, lease + 1 s is %s",
		quantile(o.recoveries, 0.5), quantile(o.recoveries, 0.99), quantile(o.recoveries, 1), recoveryLimit))
	var names []string
	of := map[string][]*account{}
	for _, a := range o.accounts {
		if of[a.phase] == nil {
			names = append(names, a.phase)
		}
		of[a.phase] = append(of[a.phase], a)
	}
	for _, name := range names {
		row("phase "+name, summary(of[name]))
	}
	violations := fmt.Sprintf("**%d**", len(o.violations()))
	if unsound := o.unsound(); unsound > 0 { // never a bare 0
		violations = fmt.Sprintf("**%d found, NOT KNOWN for %d phases**", len(o.violations()), unsound)
	}
	row("**violations**", violations)
	o.details(&b)
	return b.String()
}

func (o *outcome) details(b *strings.Builder) {
	var kills, lines []string
	for _, point := range failpoint.Points() {
		kills = append(kills, fmt.Sprintf("%s %d", point, o.kills[point]))
	}
	fmt.Fprintf(b, "\nKills by point: %s\n", strings.Join(kills, ", "))
	for _, a := range o.accounts {
		for _, text := range a.troubles {
			lines = append(lines, fmt.Sprintf("phase %s did not come to rest: %s; its logs are in %s", a.phase, text, a.dir))
		}
		if !a.closed {
			lines = append(lines, fmt.Sprintf("phase %s: its books were never closed", a.phase))
		}
	}
	lines = append(lines, o.violations()...)
	for _, line := range lines[:min(len(lines), maxLines)] {
		fmt.Fprintf(b, "- %s\n", line)
	}
	if more := len(lines) - maxLines; more > 0 {
		fmt.Fprintf(b, "- and %d more\n", more)
	}
}

func summary(accounts []*account) string {
	var rested time.Duration
	owed, sound, violations := int64(0), 0, 0
	for _, a := range accounts {
		rested, owed, violations = max(rested, a.rested), max(owed, a.owed), violations+len(a.violations)
		if a.sound() {
			sound++
		}
	}
	switch {
	case sound < len(accounts):
		return fmt.Sprintf("**%d of %d DID NOT COME TO REST**; violations so far: %d", len(accounts)-sound, len(accounts), violations)
	case violations > 0:
		return fmt.Sprintf("%s, at rest, **%d VIOLATIONS**", times(len(accounts)), violations)
	default:
		return fmt.Sprintf("%s, at rest, books balance; %d owed at the end at most, nothing after %s at most",
			times(len(accounts)), owed, rested.Round(10*time.Millisecond))
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func quantile(list []time.Duration, part float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	ordered := slices.Sorted(slices.Values(list))
	return ordered[int(part*float64(len(ordered)-1))].Round(time.Millisecond)
}

type account struct {
	phase, dir string
	owed       int64         // when the clients fell silent
	rested     time.Duration // until nothing was owed
	troubles   []string      // why the phase proves nothing: it did not come to rest, so missing effects may still come
	closed     bool          // its books are
	violations []string
}

func (a *account) trouble(errs ...error) {
	for _, err := range errs {
		if err != nil && !slices.Contains(a.troubles, err.Error()) {
			a.troubles = append(a.troubles, err.Error())
		}
	}
}

// rest lets what waits for a yes expire, and waits until nothing is owed. If that failed before, it gives up soon.
func (a *account) rest(s *system) {
	limit := s.options.rest
	if len(a.troubles) > 0 {
		limit = time.Second
	}
	ctx, owed, begun := context.Background(), s.due(), time.Now()
	for _, app := range apps {
		k := keyspace.KeysOf(app)
		held, err := s.client.ZRange(ctx, k.Lane(keyspace.LaneHeld), 0, -1).Result()
		a.trouble(err)
		for _, id := range held {
			a.trouble(expire.Run(ctx, s.client, []string{k.Trigger(id), k.Lane(keyspace.LaneHeld), k.Due()}, id, string(keyspace.LaneHeld)+"/"+app).Err())
		}
	}
	a.trouble(testbed.Until(ctx, limit, func(context.Context) error {
		s.makeRoom()
		switch owed := s.due(); {
		case owed > 0:
			return fmt.Errorf("%d effects or turns are still owed", owed)
		case owed < 0:
			return errors.New("no answer from Redis to what is owed")
		}
		return nil
	}))
	if spent := time.Since(begun); spent > a.rested {
		a.owed, a.rested = owed, spent
	}
}

var expire = redis.NewScript(`
if redis.call('HGET', KEYS[1], 'state') ~= 'confirming' then return 0 end
redis.call('HSET', KEYS[1], 'due', 1)
redis.call('ZADD', KEYS[2], 'XX', 1, ARGV[1])
redis.call('ZADD', KEYS[3], 1, ARGV[2])
return 1
`)

func (a *account) sound() bool { return a.closed && len(a.troubles) == 0 }
