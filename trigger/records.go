package trigger

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
)

// storedTrigger is a trigger as Redis keeps it.
type storedTrigger struct {
	record Record
	fire   string // what its effects are named after
	answer string
	// fresh says that the replica that fired it may still be answering.
	fresh bool
}

// recordFields are read of a trigger; see commit and finish for what they hold.
var recordFields = []string{"record", "open", "dead", partEvent, partEmitter, partCall, "log", "answer", "until", "fire"}

// Trigger returns the record of a trigger, or ErrNotFound.
func (e *Engine) Trigger(ctx context.Context, appID, triggerID string) (Record, error) {
	stored, err := e.readTrigger(ctx, appID, triggerID)
	if err != nil {
		return Record{}, err
	}
	if stored == nil {
		return Record{}, fmt.Errorf("trigger %q: %w", triggerID, ErrNotFound)
	}
	return stored.record, nil
}

func (e *Engine) readTrigger(ctx context.Context, appID, triggerID string) (*storedTrigger, error) {
	list, err := e.readTriggers(ctx, appID, []string{triggerID})
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// readTriggers reads records in one round trip; nil stands for one that is gone.
func (e *Engine) readTriggers(ctx context.Context, appID string, ids []string) ([]*storedTrigger, error) {
	k := keyspace.KeysOf(appID)
	pipe := e.db.Pipeline()
	clock := e.db.Clocks(ctx, pipe)(k.Due())
	replies := make([]*redis.SliceCmd, len(ids))
	for i, id := range ids {
		replies[i] = pipe.HMGet(ctx, k.Trigger(id), recordFields...)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, keyspace.Unavailable(err)
	}
	now, err := clock.Read()
	if err != nil {
		return nil, err
	}
	list := make([]*storedTrigger, len(ids))
	for i, reply := range replies {
		stored, err := readStored(texts(reply.Val()))
		if err != nil {
			return nil, fmt.Errorf("trigger %q cannot be read: %w", ids[i], err)
		}
		if stored != nil {
			stored.fresh = stored.fresh && now.UnixMilli() < int64(number(reply.Val()[8].(string)))
		}
		list[i] = stored
	}
	return list, nil
}

func readStored(fields []string) (*storedTrigger, error) {
	if fields[0] == "" {
		return nil, nil
	}
	stored := &storedTrigger{fire: fields[9], answer: fields[7], fresh: fields[8] != ""}
	if err := decode(fields[0], &stored.record); err != nil {
		return nil, err
	}
	stored.record.State = recordState(fields[1], fields[2])
	stored.record.Attempts = readAttempts(fields[6])
	return stored, stored.record.Match.fill(fields[3], fields[4], fields[5])
}

func recordState(open, dead string) string {
	switch {
	case dead != "0" && dead != "":
		return StateFailed
	case open != "0":
		return StatePending
	default:
		return StateDelivered
	}
}

func readAttempts(lines string) []Attempt {
	list := []Attempt{}
	for line := range strings.Lines(lines) {
		var attempt Attempt
		if decode(line, &attempt) == nil {
			list = append(list, attempt)
		}
	}
	return list
}

// fill sets the states of a match to those that are stored; empty ones are left.
func (m *Match) fill(event, emitter, call string) error {
	return errors.Join(fillPart(&m.Event, event), fillPart(&m.Emitter, emitter), fillPart(&m.Call, call))
}

func fillPart[T any](part **T, text string) error {
	if text == "" {
		return nil
	}
	*part = new(T)
	return decode(text, *part)
}

// fillStates sets the states of matches to those of now. A trigger whose record is
// gone keeps the state that it had in the answer.
func (e *Engine) fillStates(ctx context.Context, appID string, matches []Match) error {
	ids := make([]string, len(matches))
	for i, match := range matches {
		ids[i] = match.TriggerID
	}
	stored, err := e.readTriggers(ctx, appID, ids)
	if err != nil {
		return err
	}
	for i := range matches {
		if stored[i] != nil {
			matches[i].Event, matches[i].Emitter, matches[i].Call =
				stored[i].record.Event, stored[i].record.Emitter, stored[i].record.Call
		}
	}
	return nil
}

func (e *Engine) appExists(ctx context.Context, appID string) error {
	there, err := e.db.Exists(ctx, keyspace.KeysOf(appID).App()).Result()
	if err != nil {
		return keyspace.Unavailable(err)
	}
	if there == 0 {
		return noApp(appID)
	}
	return nil
}
