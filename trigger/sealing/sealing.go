// Package sealing walks all that holds sealed credentials in Redis: apps, the repositories of
// apps and sessions, and calls that are owed, held back or failed. It counts by which key they
// are sealed, and seals them anew with the newest. The service goes on meanwhile.
//
// What is sealed anew is the same credential of the same definition: no revision changes, no
// event is owed. Each is written by a script that compares it with what was read, so that a
// write of somebody else always stands.
//
// Not walked, as it ends by itself: marks of who a browser has signed in, session tokens, and the
// tokens of SERMAS's clients, which are not in Redis at all.
package sealing

import (
	"context"
	"encoding/json"
	"slices"

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

// swap writes a field of a hash where it is as it was read.
//
//	KEYS hash
//	ARGV field, what was read, what is to be there
//	=>   1, or 0 where somebody else has written it, or removed it
var swap = keyspace.NewScript(`
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1
`)

// Run goes the whole way. The tally is of what was found; what was sealed anew counts as
// current. Its error wraps keyspace.ErrUnavailable where Redis did not answer; what was done
// until then is in the progress.
func (w Walk) Run(ctx context.Context) (Progress, error) {
	var p Progress
	err := w.DB.EachKey(ctx, func(names []string) error {
		p.Keys += len(names)
		kinds := map[keyspace.Kind][]keyspace.Place{}
		for _, name := range names {
			if place, is := keyspace.PlaceOf(name); is && place.App != "" && keyspace.PartitionOf(place.App) == place.Partition {
				kinds[place.Kind] = append(kinds[place.Kind], place)
			}
		}
		for kind, look := range map[keyspace.Kind]func(context.Context, []keyspace.Place, *Progress) error{
			keyspace.KindApp: w.apps, keyspace.KindRepos: w.repositories, keyspace.KindEffect: w.calls, keyspace.KindHeld: w.held,
		} {
			if err := look(ctx, kinds[kind], &p); err != nil {
				return err
			}
		}
		return w.After(ctx, p)
	})
	return p, err
}

// so many definitions are read in one round trip.
const together = 50

// item is a text with credentials in a field of a hash.
type item struct{ app, key, field, text string }

// treat looks at some items, and seals them anew where that is asked for. anew returns the text as it
// is to be, and how it was sealed.
func (w Walk) treat(ctx context.Context, items []item, counts *Keys, p *Progress, anew func(item) (string, store.Sealing)) error {
	for _, one := range items {
		text, found := anew(one)
		if w.Reseal && text != one.text {
			reply, err := swap.Run(ctx, w.DB, []string{one.key}, one.field, one.text, text)
			switch {
			case err != nil:
				return err
			case reply != int64(1): // another pass finds what became of it
			case found == store.ByOld:
				p.Resealed++
				found = store.ByCurrent
			default:
				p.Resealed++
			}
		}
		counts.count(found)
	}
	return nil
}

// reseal seals the credentials of a definition anew.
func (w Walk) reseal(one item) (string, store.Sealing) { return w.Sealer.Reseal(one.app, one.text) }

func (w Walk) apps(ctx context.Context, places []keyspace.Place, p *Progress) error {
	return w.fields(ctx, places, "record", func(items []item) error { return w.treat(ctx, items, &p.Tally.Apps, p, w.reseal) })
}

// repositories are those of an app or of one of its sessions.
func (w Walk) repositories(ctx context.Context, places []keyspace.Place, p *Progress) error {
	for _, place := range places {
		for cursor := uint64(0); ; {
			pairs, next, err := w.DB.HScan(ctx, place.Key(), cursor, "", together).Result()
			if err != nil {
				return keyspace.Unavailable(err)
			}
			var items []item
			for pair := range slices.Chunk(pairs, 2) {
				items = append(items, item{place.App, place.Key(), pair[0], pair[1]})
			}
			if err := w.treat(ctx, items, &p.Tally.Repositories, p, w.reseal); err != nil {
				return err
			}
			if cursor = next; cursor == 0 {
				break
			}
		}
	}
	return nil
}

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
				items = append(items, item{some[i].App, some[i].Key(), field, reply.Val()})
			}
		}
		if err := do(items); err != nil {
			return err
		}
	}
	return nil
}

// isCall reports whether effects of a kind hold a tool.
func isCall(kind string) bool {
	return kind == string(effect.KindCall) || kind == string(effect.KindAnswer)
}

// calls looks at the effects that are calls.
func (w Walk) calls(ctx context.Context, places []keyspace.Place, p *Progress) error {
	var calls []keyspace.Place
	at := map[string]keyspace.Place{}
	for _, place := range places {
		at[place.Key()] = place
	}
	err := w.fields(ctx, places, "kind", func(items []item) error {
		for _, one := range items {
			if isCall(one.text) {
				calls = append(calls, at[one.key])
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.fields(ctx, calls, "body", func(items []item) error {
		return w.treat(ctx, items, &p.Tally.Calls, p, func(one item) (string, store.Sealing) { return w.body(one.app, one.text) })
	})
}

// held looks at what triggers keep back that are to be confirmed, or settle.
func (w Walk) held(ctx context.Context, lanes []keyspace.Place, p *Progress) error {
	for _, lane := range lanes {
		ids, err := w.DB.ZRange(ctx, lane.Key(), 0, -1).Result()
		if err != nil {
			return keyspace.Unavailable(err)
		}
		places := make([]keyspace.Place, len(ids))
		for i, id := range ids {
			places[i] = keyspace.Place{Partition: lane.Partition, Kind: keyspace.KindTrigger, App: lane.App, Name: id}
		}
		err = w.fields(ctx, places, "held", func(items []item) error {
			return w.treat(ctx, items, &p.Tally.Calls, p, func(one item) (string, store.Sealing) { return w.keptBack(one.app, one.text) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// object is a JSON object whose other fields stay as they are, those of later versions too.
type object map[string]json.RawMessage

// body seals the tool of a call anew, which is its field tool.
func (w Walk) body(appID, body string) (string, store.Sealing) {
	var call object
	var tool string
	if json.Unmarshal([]byte(body), &call) != nil || json.Unmarshal(call["tool"], &tool) != nil {
		return body, store.ByNone
	}
	resealed, found := w.Sealer.Reseal(appID, tool)
	if resealed == tool {
		return body, found
	}
	return with(body, call, "tool", resealed), found
}

// keptBack seals the tools of the calls anew among the effects that a trigger keeps back.
func (w Walk) keptBack(appID, held string) (string, store.Sealing) {
	var kept object
	var effects []object
	if json.Unmarshal([]byte(held), &kept) != nil || json.Unmarshal(kept["effects"], &effects) != nil {
		return held, store.ByNone
	}
	found, changed := store.Unsealed, false
	for i, one := range effects {
		var kind, body string
		if json.Unmarshal(one["kind"], &kind) != nil || !isCall(kind) || json.Unmarshal(one["body"], &body) != nil {
			continue
		}
		resealed, was := w.body(appID, body)
		found, changed = max(found, was), changed || resealed != body
		if text, err := exactjson.Encode(resealed); err == nil {
			effects[i]["body"] = text
		}
	}
	if !changed {
		return held, found
	}
	return with(held, kept, "effects", effects), found
}

// with is the text of an object with another value in a field, or the text as it was where it
// cannot be written.
func with(was string, o object, field string, value any) string {
	text, err := exactjson.Encode(value)
	if err != nil {
		return was
	}
	o[field] = text
	whole, err := exactjson.Encode(o)
	if err != nil {
		return was
	}
	return string(whole)
}
