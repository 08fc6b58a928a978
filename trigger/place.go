package trigger

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// place is where a trigger stands in a list: lists are by time and, of one time, by
// id, both falling. A place stays what it is when its trigger leaves the list.
type place struct {
	score float64
	id    string
}

// top is the place before the newest.
var top = place{score: math.Inf(1)}

// chunk is how many records are read at a time.
const chunk = 100

// placesAfter reads the next places of a list.
func (e *Engine) placesAfter(ctx context.Context, q Query, at place) ([]place, error) {
	list, err := e.ledger.ListedUpTo(ctx, q.index(), at.score, chunk+1)
	if err != nil {
		return nil, err
	}
	var places []place
	for _, z := range list {
		next := place{score: z.Score, id: z.Member.(string)}
		if next.follows(at) && len(places) < chunk {
			places = append(places, next)
		}
	}
	return places, nil
}

func (p place) follows(other place) bool {
	return p.score < other.score || p.score == other.score && p.id < other.id
}

func placeIDs(places []place) []string {
	ids := make([]string, len(places))
	for i := range places {
		ids[i] = places[i].id
	}
	return ids
}

// cursor writes the place for a client.
func (p place) cursor() string {
	return encodeCursor(strconv.FormatFloat(p.score, 'f', -1, 64) + "/" + p.id)
}

// placeOf reads a client's cursor; without one it is the top.
func placeOf(cursor string) (place, error) {
	if cursor == "" {
		return top, nil
	}
	text, err := decodeCursor(cursor)
	if err != nil {
		return place{}, err
	}
	score, id, _ := strings.Cut(text, "/")
	at, err := strconv.ParseFloat(score, 64)
	if err != nil || id == "" {
		return place{}, fmt.Errorf("%w: %q", ErrCursor, cursor)
	}
	return place{score: at, id: id}, nil
}

func encodeCursor(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func decodeCursor(cursor string) (string, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return "", fmt.Errorf("%w: %q", ErrCursor, cursor)
	}
	return string(text), nil
}
