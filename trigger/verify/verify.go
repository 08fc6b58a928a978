// Package verify walks all that the ledger has in Redis, and says what is owed, what is
// orphaned and what is impossible; where it is asked to, it mends that.
//
// A fault is a state that the service would never put right by itself: what it clears up when it
// comes to it, or when the time of it is over, is none. Each fault has a rule (see Rules), and
// each rule a script that looks at one thing and all that must agree with it at one instant. On
// a service that runs, some changes take several scripts: what looks like a fault is looked at
// again after a pause, and only what is still there is told, or mended by that same script, which
// compares and writes in one.
//
// Nothing is delivered here, and no id is made: what is mended goes on under the ids that it had,
// so that it fires as often as it would have.
package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
)

// Options are how a ledger is looked at.
type Options struct {
	DB *keyspace.DB
	// Mend has what can be mended mended.
	Mend bool
	// Done and Dead are how long records are kept that owe nothing any more, and that have
	// failed: as the service has them.
	Done, Dead time.Duration
	// Pause waits before what looks like a fault is looked at again.
	Pause func(context.Context) error
}

// Report is what was found.
type Report struct {
	Owed Owed `json:"owed"`
	// Keys, Apps, Sessions and Triggers are how many were looked at; of those that came or went
	// meanwhile some may be missing or counted twice.
	Keys     int `json:"keys"`
	Apps     int `json:"apps"`
	Sessions int `json:"sessions"`
	Triggers int `json:"triggers"`
	// Findings are the first thousand, by app and rule.
	Findings []Finding `json:"findings"`
	// Orphaned, Impossible and Mended are how many there are; what was mended counts as that.
	Orphaned   int `json:"orphaned"`
	Impossible int `json:"impossible"`
	Mended     int `json:"mended"`
	// Notes say what could not be looked at.
	Notes []string `json:"notes,omitempty"`
}

// Owed is what the service has still to do. It is no fault.
type Owed struct {
	Messages int64 `json:"messages"` // that are not decided
	Calls    int64 `json:"calls"`
	Events   int64 `json:"events"`
	Held     int64 `json:"held"`   // triggers that wait to be confirmed, or settle
	Failed   int64 `json:"failed"` // triggers that can be tried again
	// Oldest is for how long the first of all has been due, in seconds.
	Oldest float64 `json:"oldestSeconds"`
}

// Finding is one fault.
type Finding struct {
	Rule   string `json:"rule"`
	Class  Class  `json:"class"`
	App    string `json:"app,omitempty"`
	Of     string `json:"of"` // what it is about
	Detail string `json:"detail,omitempty"`
	// Mend is what was done about it, or would be; empty where nothing can be done here.
	Mend   string `json:"mend,omitempty"`
	Mended bool   `json:"mended"`
}

// mostFindings is how many findings a Report lists. All are counted, and mended.
const mostFindings = 1000

// Clean reports whether nothing is wrong any more.
func (r *Report) Clean() bool { return r.Orphaned+r.Impossible == 0 }

// Ledger looks at the whole ledger of a Redis, with as much memory for a large one as for a small
// one. Its error wraps keyspace.ErrUnavailable where Redis did not answer; what was found and
// mended until then is in the report.
func Ledger(ctx context.Context, o Options) (*Report, error) {
	w := &walk{Options: o, report: &Report{Findings: []Finding{}}, queued: newFilter(), suspected: map[string]bool{}, unknown: map[keyspace.Kind]int{}}
	var err error
	for _, step := range []func(context.Context) error{w.queues, w.keys, w.partitions, w.failures, w.judge, w.counters} {
		if err = step(ctx); err != nil {
			break
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(w.unknown)) {
		w.report.Notes = append(w.report.Notes, fmt.Sprintf("%d keys of the kind %q, which this version does not know, were not looked at", w.unknown[kind], kind))
	}
	slices.SortStableFunc(w.report.Findings, func(a, b Finding) int {
		return strings.Compare(a.App+"\x00"+a.Rule, b.App+"\x00"+b.Rule)
	})
	return w.report, err
}

// found adds a finding to the report.
func (w *walk) found(f Finding) {
	rule := rules[f.Rule]
	f.Class, f.Mend = rule.Class, rule.Mend
	switch {
	case f.Mended:
		w.report.Mended++
	case f.Class == Orphaned:
		w.report.Orphaned++
	default:
		w.report.Impossible++
	}
	if len(w.report.Findings) < mostFindings {
		w.report.Findings = append(w.report.Findings, f)
	}
}

// walk is one way through the ledger.
type walk struct {
	Options
	report *Report
	// queued has the events that are in an outbox.
	queued *filter
	// suspects are what looks like a fault, until it is looked at again; suspected has their
	// names.
	suspects  []probe
	suspected map[string]bool
	// stray are outboxes that nobody would look at, by partition: what they hold is counted as
	// owed all the same.
	stray [keyspace.Partitions][]outbox
	// unknown counts keys of kinds that this version does not know.
	unknown map[keyspace.Kind]int
}

// outbox is the outbox of an app, as a member of its lane.
type outbox struct{ app, box string }

// elsewhere are kinds that are looked at by another way, or of which nothing must hold.
var elsewhere = []keyspace.Kind{keyspace.KindOutbox, keyspace.KindConfirm}

// ofPartitions are the kinds of keys that are of a partition, without an app.
var ofPartitions = []keyspace.Kind{
	keyspace.KindDue, keyspace.KindOver, keyspace.KindIdle, keyspace.KindApps, keyspace.KindRefreshes, keyspace.KindExplained, keyspace.KindDead, keyspace.KindOwed,
}

// keys looks at all keys but outboxes.
func (w *walk) keys(ctx context.Context) error {
	looks := map[keyspace.Kind]func(context.Context, []keyspace.Place) ([]probe, error){
		keyspace.KindTrigger: w.records, keyspace.KindEffect: w.effects,
		keyspace.KindTurns: w.turns, keyspace.KindCalls: w.lanes, keyspace.KindOutboxes: w.lanes, keyspace.KindHeld: w.lanes,
		keyspace.KindHolders: w.holders, keyspace.KindOrder: w.sessions, keyspace.KindRepos: w.repositories,
		keyspace.KindTriggers: w.triggerLists, keyspace.KindPending: w.triggerLists, keyspace.KindFailed: w.triggerLists,
		keyspace.KindApp: w.apps, keyspace.KindSessions: w.sessionLists, keyspace.KindExplained: w.explained,
		keyspace.KindAppKeys: w.leftovers, keyspace.KindKeyUses: w.leftovers, keyspace.KindSourced: w.leftovers,
	}
	for kind := range lives {
		looks[kind] = w.endless
	}
	return w.DB.EachKey(ctx, func(names []string) error {
		kinds := map[keyspace.Kind][]keyspace.Place{}
		for _, name := range names {
			if place, is := keyspace.PlaceOf(name); is {
				w.report.Keys++
				if w.placed(place, name, looks[place.Kind] != nil) {
					kinds[place.Kind] = append(kinds[place.Kind], place)
				}
			}
		}
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			probes, err := looks[kind](ctx, kinds[kind])
			if err == nil {
				err = w.ask(ctx, probes)
			}
			if err != nil {
				return fmt.Errorf("look at %s: %w", kind, err)
			}
		}
		return nil
	})
}

// placed reports whether a key is to be looked at: it is of an app, where it belongs, and of a
// kind that is known.
func (w *walk) placed(place keyspace.Place, name string, known bool) bool {
	switch {
	case place.App == "" && slices.Contains(ofPartitions, place.Kind):
		return false
	case !known && !slices.Contains(elsewhere, place.Kind):
		w.unknown[place.Kind]++
		return false
	case place.App == "" || place.Kind == keyspace.KindConfirm:
		return false
	case keyspace.PartitionOf(place.App) != place.Partition:
		w.found(Finding{Rule: "foreign.key", App: place.App, Of: name})
		return false
	}
	return place.Kind != keyspace.KindOutbox
}

const page = 500

// members hands out the members of a sorted set, some at a time.
func (w *walk) members(ctx context.Context, key string, do func([]string) error) error {
	return pages(func(cursor uint64) *redis.ScanCmd { return w.DB.ZScan(ctx, key, cursor, "", page) }, do)
}

func (w *walk) fields(ctx context.Context, key string, do func([]string) error) error {
	return pages(func(cursor uint64) *redis.ScanCmd { return w.DB.HScan(ctx, key, cursor, "", page/5) }, do)
}

// pages hands out the names that a scan finds, each of which has a score or a value behind it. They
// are no more than half a page at a time, however many Redis gives at once.
func pages(read func(cursor uint64) *redis.ScanCmd, do func([]string) error) error {
	for cursor := uint64(0); ; {
		found, next, err := read(cursor).Result()
		if err != nil {
			return keyspace.Unavailable(err)
		}
		for some := range slices.Chunk(found, page) {
			names := make([]string, 0, len(some)/2)
			for pair := range slices.Chunk(some, 2) {
				names = append(names, pair[0])
			}
			if err := do(names); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// askOf looks at some things of an app at once, each with a key of its own and its name as an
// argument, behind those of all of them.
func (w *walk) askOf(ctx context.Context, all probe, names []string, key func(string) string) error {
	for _, name := range names {
		all.keys, all.args = append(all.keys, key(name)), append(all.args, name)
	}
	all.of += " from " + names[0]
	return w.ask(ctx, []probe{all})
}

// script is one text of Lua that looks at something, in two forms: one writes nothing, the other
// mends what it finds. It returns its faults, three texts each: the rule, what is to be said of
// it, and nothing where nothing mends it, '0' where something would, '1' where it did.
type script struct{ look, mend *keyspace.Script }

// faultLua defines fault(rule, detail, repair), which notes a fault, and where it is to be mended
// calls repair; nil where nothing mends it. ofNoApp(app, apps, id) reports whether an app is
// neither there nor listed.
const faultLua = `
local faults = {}
local function fault(rule, detail, repair)
  faults[#faults + 1] = rule
  faults[#faults + 1] = tostring(detail or '')
  faults[#faults + 1] = repair and (mend and '1' or '0') or ''
  if repair and mend then repair() end
end
local function ofNoApp(app, apps, id)
  return redis.call('EXISTS', app) == 0 and not redis.call('ZSCORE', apps, id)
end
`

func newScript(parts ...string) *script {
	text := strings.Join(append([]string{faultLua}, parts...), "\n")
	return &script{keyspace.NewReadingScript("local mend = false", text), keyspace.NewFreeingScript("local mend = true", text)}
}

// probe is one look of a script at one thing.
type probe struct {
	*script
	keys []string
	args []any
	app  string
	of   string // what it is about, in words
}

// So many looks are sent in one round trip, and so many suspects are remembered at most before
// they are looked at again.
const (
	together     = 100
	mostSuspects = 10_000
)

// ask looks, and remembers what looks like a fault.
func (w *walk) ask(ctx context.Context, probes []probe) error {
	err := w.each(ctx, probes, false, func(p probe, _ []Finding) {
		if name := nameOf(p.app, p.of); !w.suspected[name] {
			w.suspected[name] = true
			w.suspects = append(w.suspects, p)
		}
	})
	if err == nil && len(w.suspects) >= mostSuspects {
		err = w.judge(ctx)
	}
	return err
}

// judge looks at all suspects again after a pause: what is still there is a fault.
func (w *walk) judge(ctx context.Context) error {
	suspects := w.suspects
	w.suspects = nil
	if len(suspects) == 0 {
		return nil
	}
	if err := w.Pause(ctx); err != nil {
		return err
	}
	clear(w.suspected)
	for _, p := range suspects { // what an outbox holds that nobody would look at is owed as well
		if box, is := strings.CutPrefix(p.of, ofOutbox); is && p.script == outboxHead {
			n := keyspace.PartitionOf(p.app)
			w.stray[n] = append(w.stray[n], outbox{p.app, box})
		}
	}
	return w.each(ctx, suspects, w.Mend, func(_ probe, list []Finding) {
		for _, one := range list {
			w.found(one)
		}
	})
}

// each runs probes, those of one script together, and hands out those that found something.
func (w *walk) each(ctx context.Context, probes []probe, mend bool, do func(probe, []Finding)) error {
	for len(probes) > 0 {
		same := 1
		for same < len(probes) && same < together && probes[same].script == probes[0].script {
			same++
		}
		replies, err := w.replies(ctx, probes[:same], mend)
		if err != nil {
			return err
		}
		for i, reply := range replies {
			if list := probes[i].findings(reply); len(list) > 0 {
				do(probes[i], list)
			}
		}
		probes = probes[same:]
	}
	return nil
}

func (w *walk) replies(ctx context.Context, probes []probe, mend bool) ([]any, error) {
	calls, run := make([]keyspace.Call, len(probes)), probes[0].look
	for i, one := range probes {
		calls[i] = keyspace.Call{Keys: one.keys, Args: one.args}
	}
	if mend {
		run = probes[0].mend
	}
	return run.RunAll(ctx, w.DB, calls)
}

// findings reads the reply of a script.
func (p probe) findings(reply any) (list []Finding) {
	fields, _ := reply.([]any)
	for one := range slices.Chunk(keyspace.Fields(fields), 3) {
		list = append(list, Finding{Rule: one[0], App: p.app, Of: p.of, Detail: one[1], Mended: one[2] == "1"})
	}
	return list
}
