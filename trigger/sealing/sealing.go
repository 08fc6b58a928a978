// Package sealing walks all that holds sealed credentials in Redis: apps, the repositories of apps
// and sessions with their versions, and calls that are owed, deferred or failed. It counts by which key they are sealed,
// and seals them anew with the newest. The service goes on meanwhile.
//
// What is sealed anew is the same credential of the same definition: no revision changes, no event is
// owed. A script compares each with what was read before it writes, so that a write of somebody else
// always stands.
//
// Not walked, as it ends by itself: marks of browsers that are signed in, session tokens, and the
// tokens of SERMAS's clients, which are not in Redis at all.
package sealing

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger/effect"
)

// Walk is one way through what is sealed.
type Walk struct {
	DB     *keyspace.DB
	Sealer *store.Sealer
	// Reseal has what an old key seals sealed by the newest.
	Reseal bool
	// After is called after each part of the way; its error ends it.
	After func(context.Context, Progress) error
}

// Progress is how far a walk has come.
type Progress struct {
	Keys     int // of Redis that were looked at
	Resealed int // definitions and calls
	Tally    Tally
}

// Run goes the whole way. The tally is of what was found; what was sealed anew counts as current. Its
// error wraps keyspace.ErrUnavailable if Redis did not answer; the progress has what was done until
// then.
func (w Walk) Run(ctx context.Context) (p Progress, err error) {
	err = w.DB.EachKey(ctx, func(names []string) error {
		p.Keys += len(names)
		places := map[keyspace.Kind][]keyspace.Place{}
		for _, name := range names {
			if place, is := keyspace.PlaceOf(name); is && place.App != "" && keyspace.PartitionOf(place.App) == place.Partition {
				places[place.Kind] = append(places[place.Kind], place)
			}
		}
		if err := w.fields(ctx, places[keyspace.KindApp], "record", w.treat(ctx, &p, &p.Tally.Apps, w.Sealer.Reseal)); err != nil {
			return err
		}
		for _, place := range slices.Concat(places[keyspace.KindRepos], places[keyspace.KindVersions]) {
			if err := w.repositories(ctx, place, w.treat(ctx, &p, &p.Tally.Repositories, w.Sealer.Reseal)); err != nil {
				return err
			}
		}
		if err := w.calls(ctx, places[keyspace.KindEffect], &p); err != nil {
			return err
		}
		for _, lane := range places[keyspace.KindHeld] {
			if err := w.held(ctx, lane, &p); err != nil {
				return err
			}
		}
		return w.After(ctx, p)
	})
	return p, err
}

type item struct {
	place       keyspace.Place
	field, text string
}

const together = 50

// fields reads a field of each hash, and hands out those that are there.
func (w Walk) fields(ctx context.Context, places []keyspace.Place, field string, do func([]item) error) error {
	for some := range slices.Chunk(places, together) {
		pipe, replies := w.DB.Pipeline(), make([]*redis.StringCmd, len(some))
		for i, place := range some {
			replies[i] = pipe.HGet(ctx, place.Key(), field)
		}
		_, _ = pipe.Exec(ctx) // every command has its own error
		var items []item
		for i, reply := range replies {
			if err := reply.Err(); err != nil && err != redis.Nil {
				return keyspace.Unavailable(err)
			}
			if reply.Val() != "" {
				items = append(items, item{some[i], field, reply.Val()})
			}
		}
		if err := do(items); err != nil {
			return err
		}
	}
	return nil
}

// repositories hands out those of an app or of one of its sessions, or the versions of one.
func (w Walk) repositories(ctx context.Context, place keyspace.Place, do func([]item) error) error {
	for cursor := uint64(0); ; {
		pairs, next, err := w.DB.HScan(ctx, place.Key(), cursor, "", together).Result()
		if err != nil {
			return keyspace.Unavailable(err)
		}
		var items []item
		for pair := range slices.Chunk(pairs, 2) {
			if _, err := strconv.Atoi(pair[0]); place.Kind == keyspace.KindVersions && (err != nil || pair[1] == "") {
				continue // what is said of a version, and one that is a deletion
			}
			items = append(items, item{place, pair[0], pair[1]})
		}
		if err := do(items); err != nil || next == 0 {
			return err
		}
		cursor = next
	}
}

func (w Walk) calls(ctx context.Context, effects []keyspace.Place, p *Progress) error {
	var calls []keyspace.Place
	err := w.fields(ctx, effects, "kind", func(items []item) error {
		for _, one := range items {
			if isCall(one.text) {
				calls = append(calls, one.place)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.fields(ctx, calls, "body", w.treat(ctx, p, &p.Tally.Calls, w.resealCall))
}

func isCall(kind string) bool {
	return kind == string(effect.KindCall) || kind == string(effect.KindAnswer)
}

// held looks at what triggers defer that are to be confirmed, or settle.
func (w Walk) held(ctx context.Context, lane keyspace.Place, p *Progress) error {
	ids, err := w.DB.ZRange(ctx, lane.Key(), 0, -1).Result()
	if err != nil {
		return keyspace.Unavailable(err)
	}
	places := make([]keyspace.Place, len(ids))
	for i, id := range ids {
		places[i] = keyspace.Place{Partition: lane.Partition, Kind: keyspace.KindTrigger, App: lane.App, Name: id}
	}
	return w.fields(ctx, places, "held", w.treat(ctx, p, &p.Tally.Calls, w.resealDeferred))
}

// swap writes a field of a hash if it is as it was read.
//
//	KEYS hash
//	ARGV field, what was read, what is to be there
//	=>   1, or 0 where somebody else has written it, or removed it
var swap = keyspace.NewScript(`
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1
`)

// treat returns a function that counts items, and seals them anew if that is asked for. reseal returns
// a text of an app as it is to be, and how it was sealed.
func (w Walk) treat(ctx context.Context, p *Progress, counts *Keys, reseal func(appID, text string) (string, store.Sealing)) func([]item) error {
	return func(items []item) error {
		for _, one := range items {
			text, found := reseal(one.place.App, one.text)
			if w.Reseal && text != one.text {
				reply, err := swap.Run(ctx, w.DB, []string{one.place.Key()}, one.field, one.text, text)
				if err != nil {
					return err
				}
				if reply == int64(1) { // else another pass finds what became of it
					p.Resealed++
					if found == store.ByOld {
						found = store.ByCurrent
					}
				}
			}
			switch found {
			case store.ByCurrent:
				counts.Current++
			case store.ByOld:
				counts.Old++
			case store.ByNone:
				counts.None++
			}
		}
		return nil
	}
}

// object is a JSON object whose other fields stay as they are, those of later versions too.
type object map[string]json.RawMessage

// resealCall seals the tool of a call anew, which is its field tool.
func (w Walk) resealCall(appID, body string) (string, store.Sealing) {
	var call object
	var tool string
	if json.Unmarshal([]byte(body), &call) != nil || json.Unmarshal(call["tool"], &tool) != nil {
		return body, store.ByNone
	}
	resealed, found := w.Sealer.Reseal(appID, tool)
	if resealed == tool {
		return body, found
	}
	call["tool"] = exactjson.EncodeOrNull(resealed)
	return string(exactjson.EncodeOrNull(call)), found
}

// resealDeferred seals the tools of the calls anew among the effects that a trigger has deferred.
func (w Walk) resealDeferred(appID, held string) (string, store.Sealing) {
	var deferred object
	var effects []object
	if json.Unmarshal([]byte(held), &deferred) != nil || json.Unmarshal(deferred["effects"], &effects) != nil {
		return held, store.ByNone
	}
	found, changed := store.Unsealed, false
	for _, one := range effects {
		var kind, body string
		if json.Unmarshal(one["kind"], &kind) != nil || !isCall(kind) || json.Unmarshal(one["body"], &body) != nil {
			continue
		}
		resealed, was := w.resealCall(appID, body)
		found, changed = max(found, was), changed || resealed != body
		one["body"] = exactjson.EncodeOrNull(resealed)
	}
	if !changed {
		return held, found
	}
	deferred["effects"] = exactjson.EncodeOrNull(effects)
	return string(exactjson.EncodeOrNull(deferred)), found
}

// Tally counts what holds credentials, by the key that has sealed them: a definition with one
// credential that is sealed by an old key counts there, and one with one that no key opens as that.
type Tally struct {
	Apps         Keys `json:"apps"`
	Repositories Keys `json:"repositories"` // of apps and of their sessions
	Calls        Keys `json:"calls"`        // that are owed, deferred or failed
}

// Keys counts by keys.
type Keys struct {
	Current int `json:"current"` // sealed by the key that seals now
	Old     int `json:"old"`     // by one from before a rotation
	None    int `json:"none"`    // by no key that is here
}

// ByCurrent, ByOld and ByNone pick counts for Sum and Words.
func ByCurrent(k Keys) int { return k.Current }

// ByOld picks what an old key seals.
func ByOld(k Keys) int { return k.Old }

// ByNone picks what no key opens.
func ByNone(k Keys) int { return k.None }

// Sum adds up the counts that pick takes.
func (t *Tally) Sum(pick func(Keys) int) int {
	return pick(t.Apps) + pick(t.Repositories) + pick(t.Calls)
}

// Words are the counts that pick takes, in words: 1 app, 3 repositories, 2 calls.
func (t *Tally) Words(pick func(Keys) int) string {
	var parts []string
	for _, kind := range []struct {
		of        Keys
		one, many string
	}{{t.Apps, "app", "apps"}, {t.Repositories, "repository", "repositories"}, {t.Calls, "call", "calls"}} {
		switch n := pick(kind.of); n {
		case 0:
		case 1:
			parts = append(parts, "1 "+kind.one)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, kind.many))
		}
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}
