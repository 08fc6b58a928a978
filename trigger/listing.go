package trigger

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
	"earshot/trigger/textsearch"
)

// Query selects the trigger records that all its fields hold for. What is empty holds for
// all.
type Query struct {
	AppID     string
	SessionID string
	State     string // StatePending, StateFailed or StateDelivered
	Name      string // of the tool
	Source    string // SourceMessage, SourceUI, SourceTask or SourceAgent
	MessageID string
	// Reason is why the call was not delivered.
	Reason effect.Reason
	// Value is a text that stands in one of the values as they are shown, whatever the case
	// of its letters; numbers are texts as they are written.
	Value string
	// Since and Until bound when it fired. Until itself is not included.
	Since, Until time.Time
	// Oldest asks for the oldest first.
	Oldest bool
	// Closed asks for what has fired in the session before it was closed as well.
	Closed bool
	// AllLives asks for what has fired in any life of the session; the whole list of the app
	// is looked through for it.
	AllLives bool
	Page     Page
}

// filtered reports whether there is more to look at than what the index of the query lists.
func (q Query) filtered(index searched) bool {
	return q.Name+q.Source+q.MessageID+string(q.Reason)+q.Value != "" || q.State != "" && !index.state || q.SessionID != "" && !index.session
}

// sieve is what a record of the query has in it, as the ledger keeps it.
func (q Query) sieve() ledger.Sieve {
	s := ledger.Sieve{State: q.State, Session: q.SessionID, Begins: `"values":{`}
	if q.Reason != "" {
		s.Failure = memberText("reason", string(q.Reason))
	}
	if q.MessageID != "" {
		s.Text = memberText("messageId", q.MessageID)
	}
	switch {
	case q.Name != "" && q.Source != "":
		s.Head = memberText("name", q.Name) + "," + memberText("source", q.Source)
	case q.Name != "":
		s.Head = memberText("name", q.Name)
	case q.Source != "":
		s.Head = memberText("source", q.Source)
	}
	if q.Value != "" {
		s.Values = textsearch.AnyCase(q.Value)
	}
	return s
}

// memberText is a member of a JSON object as records have it.
func memberText(name, value string) string {
	text, _ := exactjson.Encode(map[string]string{name: value}) // texts never fail
	return string(text[1 : len(text)-1])
}

// selects reports whether the query holds for a record.
func (q Query) selects(r Record) bool {
	switch {
	case q.SessionID != "" && r.SessionID != q.SessionID, q.State != "" && r.State != q.State, q.Name != "" && r.Name != q.Name,
		q.Source != "" && r.Source != q.Source, q.MessageID != "" && r.MessageID != q.MessageID,
		q.Reason != "" && (r.Call == nil || r.Call.Reason != q.Reason):
		return false
	case !q.Since.IsZero() && r.Time.Before(q.Since), !q.Until.IsZero() && !r.Time.Before(q.Until):
		return false
	}
	return q.Value == "" || textsearch.In(r.Values, q.Value)
}

// clockSkew is how far the time that a record shows, of the replica that decided it, may be
// from its place in the list, which is by the clock of Redis.
const clockSkew = time.Minute

// span is the part of the list that the records of the query are in.
func (q Query) span() ledger.Span {
	s := ledger.Span{From: math.Inf(-1), To: math.Inf(1), Oldest: q.Oldest}
	if !q.Since.IsZero() {
		s.From = float64(q.Since.Add(-clockSkew).UnixMicro())
	}
	if !q.Until.IsZero() {
		s.To = float64(q.Until.Add(clockSkew).UnixMicro())
	}
	return s
}

// ErrCursor means that a cursor was not issued by this list.
var ErrCursor = errors.New("the cursor is none that this list has given")

// How many tools a search finds at most: where nothing is said, and in any case.
const (
	findsUsually = 10
	findsAtMost  = 100
)

// FoundTool is a tool in scope that a search has found.
type FoundTool struct {
	Tool
	// Score is how near the text is to the tool by its words: above 0, and 1.3 at most. It
	// tells tools of one answer apart.
	Score float64 `json:"score"`
}

// shownScore is a score to six digits behind the point, since what is behind them says
// nothing; it stays above 0.
func shownScore(score float32) float64 {
	return max(1, math.Round(float64(score)*1e6)) / 1e6
}

// Triggers lists trigger records, newest first. Records that are added or removed between
// two pages do not move others to another page. A page may have fewer records than its limit,
// even none, and more behind it: where few match, it ends when so many were looked at as
// take a good part of a second.
func (r *Records) Triggers(ctx context.Context, q Query) ([]Record, string, error) {
	if err := r.appExists(ctx, q.AppID); err != nil {
		return nil, "", err
	}
	at, err := positionOf(q.Page.After)
	if err != nil {
		return nil, "", err
	}
	r.settling.waitForApp(ctx, q.AppID)
	index, err := r.indexOf(ctx, q)
	if err != nil {
		return nil, "", err
	}
	l := listing{records: r, query: q, index: index, items: []Record{}, at: at}
	for looked, few := 0, chunk; ; few = min(4*few, window) {
		places, err := l.places(ctx, few)
		if err != nil {
			return nil, "", err
		}
		hits, err := l.sift(ctx, places)
		if err != nil {
			return nil, "", err
		}
		if full, err := l.read(ctx, hits); full || err != nil {
			return l.items, l.at.cursor(), err
		}
		if len(places) < few {
			return l.items, "", nil
		}
		l.at = places[len(places)-1]
		if looked += few; looked >= mostLooked {
			return l.items, l.at.cursor(), nil
		}
	}
}

// So many records are looked at together, at first and later on, and for one page.
const (
	chunk      = 100
	window     = 4000
	mostLooked = 100_000
)

// listing is one page of a list while it is put together.
type listing struct {
	records *Records
	query   Query
	index   searched
	items   []Record
	room    repositories.Room
	at      position // of the last item, or of what was looked at last
}

// places reads the next places of the list.
func (l *listing) places(ctx context.Context, most int) ([]position, error) {
	span := l.query.span()
	span.Most = most + 1
	switch {
	case l.at.id == "":
	case span.Oldest:
		span.From = max(span.From, l.at.score)
	default:
		span.To = min(span.To, l.at.score)
	}
	list, err := l.records.ledger.Listed(ctx, l.index.key, span)
	if err != nil {
		return nil, err
	}
	var places []position
	for _, z := range list {
		next := position{score: z.Score, id: z.Member.(string)}
		if l.follows(next) && len(places) < most {
			places = append(places, next)
		}
	}
	return places, nil
}

// follows reports whether a place is behind what was looked at.
func (l *listing) follows(next position) bool {
	first, second := l.at, next
	if l.query.Oldest {
		first, second = next, l.at
	}
	return l.at.id == "" || second.score < first.score || second.score == first.score && second.id < first.id
}

// sift leaves out the places whose records do not match for certain.
func (l *listing) sift(ctx context.Context, places []position) ([]position, error) {
	if !l.query.filtered(l.index) {
		return places, nil
	}
	found, err := l.records.ledger.Sift(ctx, l.query.AppID, positionIDs(places), l.query.sieve())
	hits := make([]position, len(found))
	for i, place := range found {
		hits[i] = places[place]
	}
	return hits, err
}

// read adds the records of places to the page, and reports whether it is full: that there is
// one more that matches.
func (l *listing) read(ctx context.Context, places []position) (full bool, err error) {
	for len(places) > 0 {
		next := places[:min(len(places), l.query.Page.Limit+1-len(l.items))]
		few, err := l.records.ledger.TriggersFitting(ctx, l.query.AppID, positionIDs(next))
		if err != nil {
			return false, err
		}
		records, err := l.records.readTriggers(ctx, l.query.AppID, positionIDs(next[:few]))
		if err != nil {
			return false, err
		}
		for i, one := range records {
			if one == nil || !l.query.selects(one.record) { // it may have gone since the list was read
				continue
			}
			if len(l.items) == l.query.Page.Limit || !l.room.Takes(one.record) {
				return true, nil
			}
			l.items, l.at = append(l.items, one.record), next[i]
		}
		places = places[few:]
	}
	return false, nil
}

// searched is the sorted set that a query reads, and whether it holds only what is in the
// state, and of the session, that are asked for.
type searched struct {
	key            string
	state, session bool
}

// indexOf chooses the list with the fewest records: that of the session, unless it was
// closed, else that of a state.
func (r *Records) indexOf(ctx context.Context, q Query) (searched, error) {
	k := keyspace.KeysOf(q.AppID)
	if q.SessionID != "" && !q.AllLives {
		own := searched{key: k.Triggers(q.SessionID), session: true}
		if !q.Closed {
			return own, nil
		}
		if alive, err := r.ledger.HasList(ctx, own.key); alive || err != nil {
			return own, err
		}
	}
	switch q.State {
	case StatePending, StateFailed:
		return searched{key: k.InState(q.State), state: true}, nil
	case StateConfirming: // they are among the pending ones
		return searched{key: k.InState(StatePending)}, nil
	}
	return searched{key: k.Triggers("")}, nil
}

// position is the place of a trigger in a list, which is sorted by time (µs) and then by id.
// It stays what it is when its trigger leaves the list. One without an id is the begin.
type position struct {
	score float64
	id    string
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

// positionOf reads a client's cursor; without one it is the begin.
func positionOf(cursor string) (position, error) {
	if cursor == "" {
		return position{}, nil
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
