package trigger

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
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
	from := &redis.ZRangeBy{Min: "-inf", Max: strconv.FormatFloat(at.score, 'f', -1, 64), Count: chunk + 1}
	list, err := e.db.ZRevRangeByScoreWithScores(ctx, q.index(), from).Result()
	if err != nil {
		return nil, keyspace.Unavailable(err)
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
