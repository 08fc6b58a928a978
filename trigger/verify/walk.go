package verify

import (
	"context"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
	"earshot/repositories/lists"
)

// walk is one pass through the ledger.
type walk struct {
	Options
	report       *Report
	outboxEvents filter  // the events in outboxes
	suspects     []probe // checks with a suspected fault; suspected has their names
	suspected    map[string]bool
	// strayOutboxes are outboxes in no lane, by partition and app: their events are outstanding as well.
	strayOutboxes [keyspace.Partitions]map[string][]string
	unknown       map[keyspace.Kind]int // keys of kinds unknown to this version
}

func (w *walk) addFinding(f Finding) {
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

// members calls visit with the members of a sorted set, a page at a time.
func (w *walk) members(ctx context.Context, key string, visit func([]string) error) error {
	return pages(func(cursor uint64) *redis.ScanCmd { return w.DB.ZScan(ctx, key, cursor, "", page) }, visit)
}

func (w *walk) fields(ctx context.Context, key string, visit func([]string) error) error {
	return pages(func(cursor uint64) *redis.ScanCmd { return w.DB.HScan(ctx, key, cursor, "", page/5) }, visit)
}

// pages calls visit with the names of a scan whose reply alternates names and scores or values, at most half a
// page at a time, however many Redis returns at once.
func pages(read func(cursor uint64) *redis.ScanCmd, visit func([]string) error) error {
	for cursor := uint64(0); ; {
		entries, next, err := read(cursor).Result()
		if err != nil {
			return keyspace.Unavailable(err)
		}
		for batch := range slices.Chunk(entries, page) {
			names := make([]string, 0, len(batch)/2)
			for pair := range slices.Chunk(batch, 2) {
				names = append(names, pair[0])
			}
			if err := visit(names); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// checkNames checks several objects of an app at once. The name of each is appended to the arguments, and key(name)
// to the keys.
func (w *walk) checkNames(ctx context.Context, p probe, names []string, key func(string) string) error {
	for _, name := range names {
		p.args = append(p.args, name)
		if key != nil {
			p.keys = append(p.keys, key(name))
		}
	}
	p.object += " from " + names[0]
	return w.check(ctx, []probe{p})
}

// script is one check in Lua in two forms: one only reads, the other repairs what it finds. It returns three
// texts for each fault: the rule, the detail, and an empty text if there is no repair, '0' if there is one, '1' if it was
// made.
type script struct{ read, mend *keyspace.Script }

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
	keys   []string
	args   []any
	app    string
	object string // description of the object
}

// Bounds of the checks sent in one round trip, and of the suspects remembered before they are checked again.
const (
	probesPerTrip = 100
	mostSuspects  = 10_000
)

func (w *walk) check(ctx context.Context, probes []probe) error {
	err := w.runProbes(ctx, probes, false, func(p probe, _ []Finding) {
		if name := nameOf(p.app, p.object); !w.suspected[name] {
			w.suspected[name] = true
			w.suspects = append(w.suspects, p)
		}
	})
	if err == nil && len(w.suspects) >= mostSuspects {
		err = w.checkSuspects(ctx)
	}
	return err
}

// checkSuspects checks all suspects again after a pause: a fault that remains is reported.
func (w *walk) checkSuspects(ctx context.Context) error {
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
		if box, is := strings.CutPrefix(p.object, outboxObject); is && p.script == outboxHead {
			n := keyspace.PartitionOf(p.app)
			if w.strayOutboxes[n] == nil {
				w.strayOutboxes[n] = map[string][]string{}
			}
			w.strayOutboxes[n][p.app] = append(w.strayOutboxes[n][p.app], box)
		}
	}
	return w.runProbes(ctx, suspects, w.Mend, func(_ probe, list []Finding) {
		for _, finding := range list {
			w.addFinding(finding)
		}
	})
}

// runProbes runs probes, grouped by script, and calls visit with those that found something.
func (w *walk) runProbes(ctx context.Context, probes []probe, mend bool, visit func(probe, []Finding)) error {
	for len(probes) > 0 {
		var same, others []probe
		for _, p := range probes {
			if p.script == probes[0].script {
				same = append(same, p)
			} else {
				others = append(others, p)
			}
		}
		for batch := range slices.Chunk(same, probesPerTrip) {
			replies, err := w.replies(ctx, batch, mend)
			if err != nil {
				return err
			}
			for i, reply := range replies {
				if list := batch[i].findings(reply); len(list) > 0 {
					visit(batch[i], list)
				}
			}
		}
		probes = others
	}
	return nil
}

func (w *walk) replies(ctx context.Context, probes []probe, mend bool) ([]any, error) {
	run := probes[0].read
	if mend {
		run = probes[0].mend
	}
	return run.RunAll(ctx, w.DB, lists.Map(probes, func(p probe) keyspace.Call { return keyspace.Call{Keys: p.keys, Args: p.args} }))
}

func (p probe) findings(reply any) (list []Finding) {
	fields, _ := reply.([]any)
	for text := range slices.Chunk(keyspace.Fields(fields), 3) {
		list = append(list, Finding{Rule: text[0], App: p.app, Object: p.object, Detail: text[1], Mended: text[2] == "1"})
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

// positions returns the bits of a name, derived from the two halves of one hash.
func (f *filter) positions(name string) (positions [filterHashes]uint64) {
	hash := maphash.String(f.seed, name)
	for i := range positions {
		positions[i] = (hash + uint64(i)*(hash>>32|1)) % filterBits
	}
	return positions
}

func (f *filter) has(name string) bool {
	for _, position := range f.positions(name) {
		if f.bits[position/64]&(1<<(position%64)) == 0 {
			return false
		}
	}
	return true
}
