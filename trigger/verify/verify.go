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
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

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
	w := &walk{
		Options: o, report: &Report{Findings: []Finding{}}, suspected: map[string]bool{}, unknown: map[keyspace.Kind]int{},
		queued: filter{make([]uint64, filterBits/64), maphash.MakeSeed()},
	}
	var err error
	for _, step := range []func(context.Context) error{w.queues, w.keys, w.partitions, w.judge, w.counters} {
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

// otherwise are kinds that are read in another way, or that no rule is about.
var otherwise = []keyspace.Kind{keyspace.KindOutbox, keyspace.KindConfirm}

// ofPartitions are the kinds of keys that are of a partition, without an app.
var ofPartitions = []keyspace.Kind{
	keyspace.KindDue, keyspace.KindOver, keyspace.KindIdle, keyspace.KindApps, keyspace.KindRefreshes, keyspace.KindExplained, keyspace.KindDead, keyspace.KindOwed,
	keyspace.KindEnded,
}

// keys looks at all keys but outboxes.
func (w *walk) keys(ctx context.Context) error {
	looks := map[keyspace.Kind]func(context.Context, []keyspace.Place) ([]probe, error){
		keyspace.KindTrigger: w.records, keyspace.KindEffect: w.effects,
		keyspace.KindTurns: w.lanes, keyspace.KindCalls: w.lanes, keyspace.KindOutboxes: w.lanes, keyspace.KindHeld: w.lanes, keyspace.KindWebhooks: w.lanes,
		keyspace.KindHolders: w.places, keyspace.KindOrder: w.places, keyspace.KindRepos: w.places,
		keyspace.KindTriggers: w.places, keyspace.KindPending: w.places, keyspace.KindFailed: w.places,
		keyspace.KindApp: w.places, keyspace.KindSessions: w.places, keyspace.KindRecent: w.places, keyspace.KindUsers: w.users, keyspace.KindExplained: w.places,
		keyspace.KindAppKeys: w.places, keyspace.KindKeyUses: w.places, keyspace.KindSourced: w.places,
		keyspace.KindWebhook: w.places, keyspace.KindResends: w.places, keyspace.KindTests: w.places, keyspace.KindVersions: w.places, keyspace.KindVersioned: w.places,
	}
	for kind := range lives {
		looks[kind] = w.places
	}
	return w.DB.EachKey(ctx, func(names []string) error {
		kinds := map[keyspace.Kind][]keyspace.Place{}
		for _, name := range names {
			place, is := keyspace.PlaceOf(name)
			if !is {
				continue
			}
			w.report.Keys++
			known := looks[place.Kind] != nil
			switch {
			case place.App == "" && slices.Contains(ofPartitions, place.Kind):
			case !known && !slices.Contains(otherwise, place.Kind):
				w.unknown[place.Kind]++
			case place.App == "" || place.Kind == keyspace.KindConfirm:
			case keyspace.PartitionOf(place.App) != place.Partition:
				w.found(Finding{Rule: "foreign.key", App: place.App, Of: name})
			case known:
				kinds[place.Kind] = append(kinds[place.Kind], place)
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
