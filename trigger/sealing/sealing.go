// Package sealing walks all sealed credentials in Redis: those of apps, of repositories of apps and sessions
// with their versions, and of pending, deferred or failed calls. It counts them by sealing key, and re-seals
// them with the newest. The service keeps running.
//
// Re-sealing keeps the same credential and definition: no revision changes and no event follows. A script
// compares each with the value read before it writes, so that concurrent writes always win.
//
// It skips data that expires by itself: marks of signed-in browsers and session tokens. Tokens of SERMAS's
// clients are not in Redis at all.
package sealing

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/repositories/lists"
	"earshot/repositories/store"
	"earshot/trigger/effect"
)

// Walk is one pass through the sealed data.
type Walk struct {
	DB     *keyspace.DB
	Sealer *store.Sealer
	// Reseal re-seals data of old keys with the newest.
	Reseal bool
	// After is called after each part of the walk; its error ends the walk.
	After func(context.Context, Progress) error
}

// Progress is the progress of a walk.
type Progress struct {
	Keys     int // Redis keys examined
	Resealed int // definitions and calls
	Tally    Tally
}

// Run does the whole walk. The tally counts the data found; re-sealed data counts as current. Its error wraps
// keyspace.ErrUnavailable if Redis did not answer; the progress then has the work done so far.
func (w Walk) Run(ctx context.Context) (p Progress, err error) {
	err = w.DB.EachKey(ctx, func(names []string) error {
		p.Keys += len(names)
		places := map[keyspace.Kind][]keyspace.KeyName{}
		for _, name := range names {
			if place, is := keyspace.ParseKey(name); is && place.App != "" && keyspace.PartitionOf(place.App) == place.Partition {
				places[place.Kind] = append(places[place.Kind], place)
			}
		}
		if err := w.fields(ctx, places[keyspace.KindApp], "record", w.countAndReseal(ctx, &p, &p.Tally.Apps, w.Sealer.Reseal)); err != nil {
			return err
		}
		for _, place := range slices.Concat(places[keyspace.KindRepos], places[keyspace.KindVersions]) {
			if err := w.repositories(ctx, place, w.countAndReseal(ctx, &p, &p.Tally.Repositories, w.Sealer.Reseal)); err != nil {
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
	place       keyspace.KeyName
	field, text string
}

const perRead = 50

// fields reads a field of each hash, and calls do with the existing ones.
func (w Walk) fields(ctx context.Context, places []keyspace.KeyName, field string, do func([]item) error) error {
	for some := range slices.Chunk(places, perRead) {
		found, err := w.DB.HashFields(ctx, lists.Map(some, keyspace.KeyName.Key), field)
		if err != nil {
			return err
		}
		var items []item
		for i, values := range found {
			if values[0] != "" {
				items = append(items, item{some[i], field, values[0]})
			}
		}
		if err := do(items); err != nil {
			return err
		}
	}
	return nil
}

// repositories calls do with the repositories of an app or of one of its sessions, or with the versions of one.
func (w Walk) repositories(ctx context.Context, place keyspace.KeyName, do func([]item) error) error {
	for cursor := uint64(0); ; {
		pairs, next, err := w.DB.HScan(ctx, place.Key(), cursor, "", perRead).Result()
		if err != nil {
			return keyspace.Unavailable(err)
		}
		var items []item
		for pair := range slices.Chunk(pairs, 2) {
			if _, err := strconv.Atoi(pair[0]); place.Kind == keyspace.KindVersions && (err != nil || pair[1] == "") {
				continue // descriptions of versions, and deletions
			}
			items = append(items, item{place, pair[0], pair[1]})
		}
		if err := do(items); err != nil || next == 0 {
			return err
		}
		cursor = next
	}
}

func (w Walk) calls(ctx context.Context, effects []keyspace.KeyName, p *Progress) error {
	var calls []keyspace.KeyName
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
	return w.fields(ctx, calls, "body", w.countAndReseal(ctx, p, &p.Tally.Calls, w.resealCall))
}

func isCall(kind string) bool {
	return kind == string(effect.KindCall) || kind == string(effect.KindAnswer)
}

// held processes the deferred effects of confirming and settling triggers.
func (w Walk) held(ctx context.Context, lane keyspace.KeyName, p *Progress) error {
	ids, err := w.DB.ZRange(ctx, lane.Key(), 0, -1).Result()
	if err != nil {
		return keyspace.Unavailable(err)
	}
	places := lists.Map(ids, func(id string) keyspace.KeyName {
		return keyspace.KeyName{Partition: lane.Partition, Kind: keyspace.KindTrigger, App: lane.App, Name: id}
	})
	return w.fields(ctx, places, "held", w.countAndReseal(ctx, p, &p.Tally.Calls, w.resealDeferred))
}

// replace writes a field of a hash if it is unchanged.
//
//	KEYS hash
//	ARGV field, value read, new value
//	=>   1, or 0 if it was changed or removed meanwhile
var replace = keyspace.NewScript(`
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1
`)

// countAndReseal returns a function that counts items, and re-seals them if requested. reseal returns the new text of an
// app's text, and how it was sealed.
func (w Walk) countAndReseal(ctx context.Context, p *Progress, counts *Keys, reseal func(appID, text string) (string, store.Sealing)) func([]item) error {
	return func(items []item) error {
		for _, one := range items {
			text, found := reseal(one.place.App, one.text)
			if w.Reseal && text != one.text {
				reply, err := replace.Run(ctx, w.DB, []string{one.place.Key()}, one.field, one.text, text)
				if err != nil {
					return err
				}
				if reply == int64(1) { // else another pass finds the new value
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

// object is a JSON object whose other fields stay unchanged, including those of later versions.
type object map[string]json.RawMessage

// resealCall re-seals the tool of a call, its field tool.
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

// resealDeferred re-seals the tools of the calls among a trigger's deferred effects.
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

// Tally counts objects with credentials by their sealing key: a definition with a credential of an old key
// counts as old, and one with a credential that no key opens as none.
type Tally struct {
	Apps         Keys `json:"apps"`
	Repositories Keys `json:"repositories"` // of apps and of their sessions
	Calls        Keys `json:"calls"`        // pending, deferred or failed
}

// Keys counts by keys.
type Keys struct {
	Current int `json:"current"` // sealed by the newest key
	Old     int `json:"old"`     // by a key from before a rotation
	None    int `json:"none"`    // by no available key
}

// ByCurrent, ByOld and ByNone select counts for Sum and Text.
func ByCurrent(k Keys) int { return k.Current }

// ByOld selects the count of old keys.
func ByOld(k Keys) int { return k.Old }

// ByNone selects the count of objects that no key opens.
func ByNone(k Keys) int { return k.None }

// Sum returns the sum of the selected counts.
func (t *Tally) Sum(pick func(Keys) int) int {
	return pick(t.Apps) + pick(t.Repositories) + pick(t.Calls)
}

// Text returns the selected counts in words: 1 app, 3 repositories, 2 calls.
func (t *Tally) Text(pick func(Keys) int) string {
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
