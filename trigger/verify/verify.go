// Package verify walks the whole ledger in Redis and reports outstanding work, orphaned data and impossible
// states. On request it repairs them.
//
// A fault is a state that the service would never correct by itself. Each fault has a rule (see Rules), and
// each rule a script that checks one object and everything that must agree with it atomically. On a running
// service, some changes take several scripts. So a suspect is checked again after a pause, and only a fault
// that remains is reported, or repaired by the same script, which checks and writes atomically.
//
// It delivers nothing and creates no ids: repaired work continues under its old ids, so that it fires as often
// as it would have.
package verify

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"earshot/repositories/keyspace"
)

// Options are the settings of a check.
type Options struct {
	DB *keyspace.DB
	// Mend repairs faults that have a repair.
	Mend bool
	// Done and Dead are how long delivered and failed records are kept, as the service is configured.
	Done, Dead time.Duration
	// Pause waits before suspects are checked again.
	Pause func(context.Context) error
}

// Report is the result of a check.
type Report struct {
	Pending Pending `json:"owed"`
	// Keys, Apps, Sessions and Triggers are the numbers checked; some that were added or removed meanwhile may
	// be missing or counted twice.
	Keys     int `json:"keys"`
	Apps     int `json:"apps"`
	Sessions int `json:"sessions"`
	Triggers int `json:"triggers"`
	// Findings are the first thousand, by app and rule.
	Findings []Finding `json:"findings"`
	// Orphaned, Impossible and Mended are the numbers of faults; a repaired one counts only as Mended.
	Orphaned   int `json:"orphaned"`
	Impossible int `json:"impossible"`
	Mended     int `json:"mended"`
	// Notes list what could not be checked.
	Notes []string `json:"notes,omitempty"`
}

// Pending is the outstanding work of the service, which is no fault.
type Pending struct {
	Messages int64   `json:"messages"` // undecided
	Calls    int64   `json:"calls"`
	Events   int64   `json:"events"`
	Held     int64   `json:"held"`          // triggers that confirm or settle
	Failed   int64   `json:"failed"`        // triggers that can be retried
	Oldest   float64 `json:"oldestSeconds"` // how long the first entry has been due, in seconds
}

// Finding is one fault.
type Finding struct {
	Rule   string `json:"rule"`
	Class  Class  `json:"class"`
	App    string `json:"app,omitempty"`
	Object string `json:"of"`
	Detail string `json:"detail,omitempty"`
	Mend   string `json:"mend,omitempty"` // the repair that was made or is possible; empty for none
	Mended bool   `json:"mended"`
}

// mostFindings bounds the findings that a Report lists. All are counted and repaired.
const mostFindings = 1000

// Clean reports whether no fault remains.
func (r *Report) Clean() bool { return r.Orphaned+r.Impossible == 0 }

// Ledger checks the whole ledger of a Redis, in constant memory. Its error wraps keyspace.ErrUnavailable if
// Redis did not answer; the report then has the findings so far.
func Ledger(ctx context.Context, o Options) (*Report, error) {
	w := &walk{
		Options: o, report: &Report{Findings: []Finding{}}, suspected: map[string]bool{}, unknown: map[keyspace.Kind]int{},
		outboxEvents: filter{make([]uint64, filterBits/64), maphash.MakeSeed()},
	}
	var err error
	for _, step := range []func(context.Context) error{w.checkOutboxes, w.checkKeys, w.checkPartitions, w.checkSuspects, w.checkCounters} {
		if err = step(ctx); err != nil {
			break
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(w.unknown)) {
		w.report.Notes = append(w.report.Notes, fmt.Sprintf("%d keys of the kind %q, which this version does not know, were not checked", w.unknown[kind], kind))
	}
	slices.SortStableFunc(w.report.Findings, func(a, b Finding) int {
		return strings.Compare(a.App+"\x00"+a.Rule, b.App+"\x00"+b.Rule)
	})
	return w.report, err
}

// unchecked are kinds that other steps read, or that have no rule.
var unchecked = []keyspace.Kind{keyspace.KindOutbox, keyspace.KindConfirm}

// partitionKinds are the kinds of keys that belong to a partition and no app.
var partitionKinds = []keyspace.Kind{
	keyspace.KindDue, keyspace.KindOver, keyspace.KindIdle, keyspace.KindApps, keyspace.KindRefreshes, keyspace.KindExplained, keyspace.KindDead, keyspace.KindOwed,
	keyspace.KindEnded, keyspace.KindKeyEnds,
}

func (w *walk) checkKeys(ctx context.Context) error {
	checks := map[keyspace.Kind]func(context.Context, []keyspace.KeyName) ([]probe, error){
		keyspace.KindTrigger: w.recordProbes, keyspace.KindEffect: w.effectProbes,
		keyspace.KindTurns: w.laneProbes, keyspace.KindCalls: w.laneProbes, keyspace.KindOutboxes: w.laneProbes, keyspace.KindHeld: w.laneProbes, keyspace.KindWebhooks: w.laneProbes,
		keyspace.KindHolders: w.placeProbes, keyspace.KindOrder: w.placeProbes, keyspace.KindRepos: w.placeProbes,
		keyspace.KindTriggers: w.placeProbes, keyspace.KindPending: w.placeProbes, keyspace.KindFailed: w.placeProbes,
		keyspace.KindApp: w.placeProbes, keyspace.KindSessions: w.placeProbes, keyspace.KindRecent: w.placeProbes, keyspace.KindUsers: w.userProbes, keyspace.KindExplained: w.placeProbes,
		keyspace.KindAppKeys: w.placeProbes, keyspace.KindKeyUses: w.placeProbes, keyspace.KindSourced: w.placeProbes,
		keyspace.KindWebhook: w.placeProbes, keyspace.KindResends: w.placeProbes, keyspace.KindTests: w.placeProbes, keyspace.KindVersions: w.placeProbes, keyspace.KindVersioned: w.placeProbes,
	}
	for kind := range longestLife {
		checks[kind] = w.placeProbes
	}
	return w.DB.EachKey(ctx, func(names []string) error {
		kinds := map[keyspace.Kind][]keyspace.KeyName{}
		for _, name := range names {
			place, is := keyspace.ParseKey(name)
			if !is {
				continue
			}
			w.report.Keys++
			known := checks[place.Kind] != nil
			switch {
			case place.App == "" && slices.Contains(partitionKinds, place.Kind):
			case !known && !slices.Contains(unchecked, place.Kind):
				w.unknown[place.Kind]++
			case place.App == "" || place.Kind == keyspace.KindConfirm:
			case keyspace.PartitionOf(place.App) != place.Partition:
				w.addFinding(Finding{Rule: "foreign.key", App: place.App, Object: name})
			case known:
				kinds[place.Kind] = append(kinds[place.Kind], place)
			}
		}
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			probes, err := checks[kind](ctx, kinds[kind])
			if err == nil {
				err = w.check(ctx, probes)
			}
			if err != nil {
				return fmt.Errorf("check %s: %w", kind, err)
			}
		}
		return nil
	})
}
