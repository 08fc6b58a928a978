package verify

import (
	"context"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
)

// walk is one way through the ledger.
type walk struct {
	Options
	report    *Report
	queued    filter  // the events that are in an outbox
	suspects  []probe // what looks like a fault, until it is looked at again; suspected has their names
	suspected map[string]bool
	// stray are outboxes that no lane lists, by partition and app: what they hold is owed as well.
	stray   [keyspace.Partitions]map[string][]string
	unknown map[keyspace.Kind]int // keys of kinds that this version does not know
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

// askOf looks at some things of an app at once. The name of each is an argument after those of all,
// and what key makes of it a key.
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
	for _, p := range suspects { // what an outbox holds that no lane lists is owed as well
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

// each runs probes, those of one script together, and passes on those that found something.
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

// filter remembers names in a fixed amount of memory, 8 MiB. It never denies one that was added.
// Of those that were not it takes one in some for added: with a million names one in ninety
// thousand, with ten million one in twenty-five; which ones differs from filter to filter.
type filter struct {
	bits []uint64
	seed maphash.Seed
}

const (
	filterHashes = 4
	filterBits   = 1 << 26
)

// places are the bits of a name: two halves of one hash make as many as are needed.
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
