package trigger

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"earshot/repositories"
	"earshot/repositories/keyspace"
)

// Query selects trigger records.
type Query struct {
	AppID     string
	SessionID string // empty: all of the app
	State     string // empty: all; else StatePending, StateFailed or StateDelivered
	Name      string // empty: all; else those of a tool
	Page      Page
}

// ErrCursor means that a cursor was not issued by this list.
var ErrCursor = errors.New("the cursor is none that this list has given")

// Triggers lists trigger records, newest first. Records that are added or removed between
// two pages do not move others to another page.
func (e *Engine) Triggers(ctx context.Context, q Query) ([]Record, string, error) {
	if err := e.appExists(ctx, q.AppID); err != nil {
		return nil, "", err
	}
	at, err := positionOf(q.Page.After)
	if err != nil {
		return nil, "", err
	}
	items, room := []Record{}, &repositories.Room{}
	for {
		places, err := e.positionsAfter(ctx, q, at)
		if err != nil {
			return nil, "", err
		}
		for rest := places; len(rest) > 0; {
			few, err := e.ledger.TriggersFitting(ctx, q.AppID, positionIDs(rest))
			if err != nil {
				return nil, "", err
			}
			records, err := e.matching(ctx, q, rest[:few])
			if err != nil {
				return nil, "", err
			}
			for _, found := range records {
				if len(items) == q.Page.Limit || !room.Takes(found.Record) {
					return items, at.cursor(), nil
				}
				items, at = append(items, found.Record), found.position
			}
			rest = rest[few:]
		}
		if len(places) < chunk {
			return items, "", nil
		}
		at = places[len(places)-1]
	}
}

// positionedRecord is a record with its place in the list.
type positionedRecord struct {
	Record
	position
}

// matching reads the records of the places that are there and in the state asked for.
func (e *Engine) matching(ctx context.Context, q Query, places []position) ([]positionedRecord, error) {
	if len(places) == 0 {
		return nil, nil
	}
	ids := make([]string, len(places))
	for i, at := range places {
		ids[i] = at.id
	}
	stored, err := e.readTriggers(ctx, q.AppID, ids)
	if err != nil {
		return nil, err
	}
	var records []positionedRecord
	for i, one := range stored {
		switch {
		case one == nil: // it has gone since the list was read
		case q.SessionID != "" && one.record.SessionID != q.SessionID:
		case q.Name != "" && one.record.Name != q.Name:
		case q.State == "" || one.record.State == q.State:
			records = append(records, positionedRecord{one.record, places[i]})
		}
	}
	return records, nil
}

// index is the sorted set that the query reads.
func (q Query) index() string {
	k := keyspace.KeysOf(q.AppID)
	switch {
	case q.SessionID != "":
		return k.Triggers(q.SessionID)
	case q.State == StatePending || q.State == StateFailed:
		return k.InState(q.State)
	default:
		return k.Triggers("")
	}
}

// position is the place of a trigger in a list: lists are sorted by time and then by id,
// both descending. A place stays what it is when its trigger leaves the list.
type position struct {
	score float64
	id    string
}

// top is the place before the newest.
var top = position{score: math.Inf(1)}

// chunk is how many records are read at a time.
const chunk = 100

// positionsAfter reads the next places of a list.
func (e *Engine) positionsAfter(ctx context.Context, q Query, at position) ([]position, error) {
	e.settling.waitForApp(ctx, q.AppID)
	list, err := e.ledger.ListedUpTo(ctx, q.index(), at.score, chunk+1)
	if err != nil {
		return nil, err
	}
	var places []position
	for _, z := range list {
		next := position{score: z.Score, id: z.Member.(string)}
		if next.follows(at) && len(places) < chunk {
			places = append(places, next)
		}
	}
	return places, nil
}

func (p position) follows(other position) bool {
	return p.score < other.score || p.score == other.score && p.id < other.id
}

func positionIDs(places []position) []string {
	ids := make([]string, len(places))
	for i := range places {
		ids[i] = places[i].id
	}
	return ids
}

// cursor writes the place for a client.
func (p position) cursor() string {
	return encodeCursor(strconv.FormatFloat(p.score, 'f', -1, 64) + "/" + p.id)
}

// positionOf reads a client's cursor; without one it is the top.
func positionOf(cursor string) (position, error) {
	if cursor == "" {
		return top, nil
	}
	text, err := decodeCursor(cursor)
	if err != nil {
		return position{}, err
	}
	score, id, _ := strings.Cut(text, "/")
	at, err := strconv.ParseFloat(score, 64)
	if err != nil || id == "" {
		return position{}, fmt.Errorf("%w: %q", ErrCursor, cursor)
	}
	return position{score: at, id: id}, nil
}

func encodeCursor(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func decodeCursor(cursor string) (string, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return "", fmt.Errorf("%w: %q", ErrCursor, cursor)
	}
	return string(text), nil
}
