package verify

import (
	"context"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
)

// walk is one pass through the ledger.
type walk struct {
	Options
	report    *Report
	queued    filter  // the events in outboxes
	suspects  []probe // checks with a suspected fault; suspected has their names
	suspected map[string]bool
	// stray are outboxes in no lane, by partition and app: their events are outstanding as well.
	stray   [keyspace.Partitions]map[string][]string
	unknown map[keyspace.Kind]int // keys of kinds unknown to this version
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

const page = 500

// members calls do with the members of a sorted set, a page at a time.
func (w *walk) members(ctx context.Context, key string, do func([]string) error) error {
	return pages(func(cursor uint64) *redis.ScanCmd { return w.DB.ZScan(ctx, key, cursor, "", page) }, do)
}

func (w *walk) fields(ctx context.Context, key string, do func([]string) error) error {
	return pages(func(cursor uint64) *redis.ScanCmd { return w.DB.HScan(ctx, key, cursor, "", page/5) }, do)
}

// pages calls do with the names of a scan whose reply alternates names and scores or values, at most half a
// page at a time, however many Redis returns at once.
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

// askOf checks several objects of an app at once. The name of each is appended to the arguments, and key(name)
// to the keys.
func (w *walk) askOf(ctx context.Context, all probe, names []string, key func(string) string) error {
	for _, name := range names {
		all.args = append(all.args, name)
		if key != nil {
			all.keys = append(all.keys, key(name))
		}
	}
	all.of += " from " + names[0]
	return w.ask(ctx, []probe{all})
}

// script is one check in Lua in two forms: one only reads, the other repairs what it finds. It returns three
// texts for each fault: the rule, the detail, and ” if there is no repair, '0' if there is one, '1' if it was
// made.
type script struct{ look, mend *keyspace.Script }

// faultLua defines fault(rule, detail, repair), which records a fault and, when repairing, calls repair; nil
// for none. ofNoApp(app, apps, id) reports whether an app neither exists nor is listed.
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

// probe is one run of a check on one object.
type probe struct {
	*script
	keys []string
	args []any
	app  string
	of   string // description of the object
}

// Bounds of the checks sent in one round trip, and of the suspects remembered before they are checked again.
const (
	together     = 100
	mostSuspects = 10_000
)

// ask runs checks, and remembers suspects.
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

// judge checks all suspects again after a pause: a fault that remains is reported.
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
	for _, p := range suspects { // events of an outbox in no lane are outstanding as well
		if box, is := strings.CutPrefix(p.of, ofOutbox); is && p.script == outboxHead {
			n := keyspace.PartitionOf(p.app)
			if w.stray[n] == nil {
				w.stray[n] = map[string][]string{}
			}
			w.stray[n][p.app] = append(w.stray[n][p.app], box)
		}
	}
	return w.each(ctx, suspects, w.Mend, func(_ probe, list []Finding) {
		for _, one := range list {
			w.found(one)
		}
	})
}

// each runs probes, grouped by script, and calls do with those that found something.
func (w *walk) each(ctx context.Context, probes []probe, mend bool, do func(probe, []Finding)) error {
	for len(probes) > 0 {
		var same, others []probe
		for _, p := range probes {
			if p.script == probes[0].script {
				same = append(same, p)
			} else {
				others = append(others, p)
			}
		}
		for some := range slices.Chunk(same, together) {
			replies, err := w.replies(ctx, some, mend)
			if err != nil {
				return err
			}
			for i, reply := range replies {
				if list := some[i].findings(reply); len(list) > 0 {
					do(some[i], list)
				}
			}
		}
		probes = others
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

func nameOf(app, id string) string { return app + "\x00" + id }

// filter remembers names in a fixed 8 MiB. It has no false negatives. Its false positives are about one in
// ninety thousand with a million names, and one in twenty-five with ten million; they differ between filters.
type filter struct {
	bits []uint64
	seed maphash.Seed
}

const (
	filterHashes = 4
	filterBits   = 1 << 26
)

// places returns the bits of a name, derived from the two halves of one hash.
func (f *filter) places(name string) (at [filterHashes]uint64) {
	hash := maphash.String(f.seed, name)
	for i := range at {
		at[i] = (hash + uint64(i)*(hash>>32|1)) % filterBits
	}
	return at
}

func (f *filter) has(name string) bool {
	for _, at := range f.places(name) {
		if f.bits[at/64]&(1<<(at%64)) == 0 {
			return false
		}
	}
	return true
}
