package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
)

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
	// fresh are probes that are not asked yet.
	fresh []probe
	// unknown counts keys of kinds that this version does not know.
	unknown map[keyspace.Kind]int
}

// outbox is the outbox of an app, as a member of its lane.
type outbox struct{ app, box string }

// looker looks at the things of an app, by their kinds.
type looker struct{ *walk }

// looks are how things of an app are looked at, by their kinds.
func (w looker) looks() map[keyspace.Kind]func(context.Context, []keyspace.Place) ([]probe, error) {
	return map[keyspace.Kind]func(context.Context, []keyspace.Place) ([]probe, error){
		keyspace.KindTrigger: w.records, keyspace.KindEffect: w.effects,
		keyspace.KindTurns: w.turns, keyspace.KindCalls: w.lanes, keyspace.KindOutboxes: w.lanes, keyspace.KindHeld: w.lanes,
		keyspace.KindHolders: w.holders, keyspace.KindOrder: w.sessions, keyspace.KindRepos: w.repositories,
		keyspace.KindTriggers: w.triggerLists, keyspace.KindPending: w.triggerLists, keyspace.KindFailed: w.triggerLists,
		keyspace.KindApp: w.apps, keyspace.KindSessions: w.sessionLists, keyspace.KindExplained: w.explained,
		keyspace.KindAppKeys: w.leftovers, keyspace.KindKeyUses: w.leftovers, keyspace.KindSourced: w.leftovers,
	}
}

// elsewhere are kinds that are looked at by another way, or of which nothing must hold.
var elsewhere = []keyspace.Kind{keyspace.KindOutbox, keyspace.KindConfirm}

// ofPartitions are the kinds of keys that are of a partition, without an app.
var ofPartitions = []keyspace.Kind{
	keyspace.KindDue, keyspace.KindOver, keyspace.KindIdle, keyspace.KindApps, keyspace.KindRefreshes, keyspace.KindExplained, keyspace.KindDead, keyspace.KindOwed,
}

// keys looks at all keys but outboxes.
func (w *walk) keys(ctx context.Context) error {
	looks := looker{w}.looks()
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
			look := looks[kind]
			if _, ends := lives[kind]; ends {
				look = w.endless
			}
			probes, err := look(ctx, kinds[kind])
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
	_, ends := lives[place.Kind]
	switch {
	case place.App == "" && slices.Contains(ofPartitions, place.Kind):
		return false
	case !known && !ends && !slices.Contains(elsewhere, place.Kind):
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

// unread says what was not looked at for being unknown.
func (w *walk) unread() (notes []string) {
	for _, kind := range slices.Sorted(maps.Keys(w.unknown)) {
		notes = append(notes, fmt.Sprintf("%d keys of the kind %q, which this version does not know, were not looked at", w.unknown[kind], kind))
	}
	return notes
}

// page is how many members of a list, or fields of a hash, are read at once.
const page = 500

// members hands out the members of a sorted set, some at a time, with their scores.
func (w *walk) members(ctx context.Context, key string, do func([]redis.Z) error) error {
	return pages(func(cursor uint64) ([]string, uint64, error) { return w.DB.ZScan(ctx, key, cursor, "", page).Result() }, func(pairs []string) error {
		list := make([]redis.Z, 0, len(pairs)/2)
		for pair := range slices.Chunk(pairs, 2) {
			score, _ := strconv.ParseFloat(pair[1], 64) // as Redis writes it
			list = append(list, redis.Z{Member: pair[0], Score: score})
		}
		return do(list)
	})
}

// fields hands out the names of the fields of a hash, some at a time.
func (w *walk) fields(ctx context.Context, key string, do func([]string) error) error {
	return pages(func(cursor uint64) ([]string, uint64, error) {
		return w.DB.HScan(ctx, key, cursor, "", page/5).Result()
	}, func(pairs []string) error {
		names := make([]string, 0, len(pairs)/2)
		for pair := range slices.Chunk(pairs, 2) {
			names = append(names, pair[0])
		}
		return do(names)
	})
}

// pages hands out what a scan finds, no more than page names at a time, however many Redis
// gives at once.
func pages(read func(cursor uint64) ([]string, uint64, error), do func([]string) error) error {
	for cursor := uint64(0); ; {
		found, next, err := read(cursor)
		if err != nil {
			return keyspace.Unavailable(err)
		}
		for some := range slices.Chunk(found, page) {
			if err := do(some); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}
