package query

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/repositories/lists"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
)

// Triggers selects the trigger records that match all its fields. An empty field matches all.
type Triggers struct {
	AppID     string
	SessionID string
	State     string // StatePending, StateFailed or StateDelivered
	Name      string // of the tool
	Source    string // SourceMessage, SourceUI, SourceTask or SourceAgent
	MessageID string
	Reason    effect.Reason // why the call was not delivered
	// Value is a text within one of the values as shown, in any letter case; numbers are compared as written.
	Value string
	// Since and Until bound the time of firing; Until is exclusive.
	Since, Until time.Time
	Oldest       bool // lists the oldest first
	// AllLives includes triggers fired before the session was closed, also if it is in use again.
	AllLives bool
	Page     Page
}

// selects reports whether the query matches a record.
func (q Triggers) selects(r Record) bool {
	switch {
	case q.SessionID != "" && r.SessionID != q.SessionID, q.State != "" && r.State != q.State, q.Name != "" && r.Name != q.Name,
		q.Source != "" && r.Source != q.Source, q.MessageID != "" && r.MessageID != q.MessageID,
		q.Reason != "" && (r.Call == nil || r.Call.Reason != q.Reason):
		return false
	case !q.Since.IsZero() && r.Time.Before(q.Since), !q.Until.IsZero() && !r.Time.Before(q.Until):
		return false
	}
	return q.Value == "" || contains(map[string]any(r.Values), folded(q.Value))
}

// prefilter returns texts that any matching record contains as the ledger stores it.
func (q Triggers) prefilter() ledger.Filter {
	member := func(name, value string) string { // of a JSON object
		text, _ := exactjson.Encode(map[string]string{name: value}) // texts never fail
		return string(text[1 : len(text)-1])
	}
	s := ledger.Filter{State: q.State, Session: q.SessionID, Begins: `"values":{`}
	if q.Reason != "" {
		s.Failure = member("reason", string(q.Reason))
	}
	if q.MessageID != "" {
		s.Text = member("messageId", q.MessageID)
	}
	var head []string
	if q.Name != "" {
		head = append(head, member("name", q.Name))
	}
	if q.Source != "" {
		head = append(head, member("source", q.Source))
	}
	s.Head = strings.Join(head, ",")
	if q.Value != "" {
		s.Values = anyCase(q.Value)
	}
	return s
}

// Bounds of a search: the records read together, at first and later; the least number for a page with few
// matches; and its time.
const (
	firstBatch    = 100
	largestBatch  = 4000
	leastExamined = 2000
	searchTime    = 75 * time.Millisecond
)

// Triggers lists trigger records, newest first. Records added or removed between two pages do not move others
// to another page. A page may have fewer records than its limit, even none, with more behind it: if few match,
// it ends after 75 ms. SearchedUntil returns how far its cursor has searched.
func (r *Records) Triggers(ctx context.Context, q Triggers) ([]Record, string, error) {
	if err := r.Ledger.CheckApp(ctx, q.AppID); err != nil {
		return nil, "", err
	}
	start, err := readPosition(q.Page.After)
	if err != nil {
		return nil, "", err
	}
	r.AwaitFlush(ctx, q.AppID)
	l := listing{Records: r, query: q, items: []Record{}, at: start}
	if err := l.chooseIndex(ctx); err != nil {
		return nil, "", err
	}
	started := r.Now()
	for examined, size := 0, firstBatch; ; size = l.batchSize(examined, size, r.Now().Sub(started)) {
		if size == 0 {
			return l.items, l.at.cursor(), nil
		}
		positions, err := l.nextPositions(ctx, size)
		if err != nil {
			return nil, "", err
		}
		selected := positions
		if l.filtered {
			indexes, err := r.Ledger.FilterTriggers(ctx, q.AppID, positionIDs(positions), q.prefilter())
			if err != nil {
				return nil, "", err
			}
			selected = lists.Map(indexes, func(index int) position { return positions[index] })
		}
		if full, err := l.addRecords(ctx, selected); full || err != nil {
			return l.items, l.at.cursor(), err
		}
		if len(positions) < size {
			return l.items, "", nil
		}
		l.at = positions[len(positions)-1]
		examined += size
	}
}

// batchSize returns how many records to examine next: as many as the remaining time probably allows, or 0 if it is
// over. examined is the number of records so far, and elapsed the time that they took.
func (l *listing) batchSize(examined, size int, elapsed time.Duration) int {
	size = min(4*size, largestBatch)
	if !l.filtered || examined < leastExamined {
		return size
	}
	estimate := int(float64(examined) * float64(searchTime-elapsed) / float64(max(elapsed, time.Microsecond)))
	if estimate < firstBatch {
		return 0
	}
	return min(size, estimate)
}

// SearchedUntil returns how far the page before the cursor searched; the zero time for none.
func SearchedUntil(cursor string) time.Time {
	at, err := readPosition(cursor)
	if err != nil || at.id == "" {
		return time.Time{}
	}
	return time.UnixMicro(int64(at.score)).UTC()
}

// listing is one page of a list in construction.
type listing struct {
	*Records
	query    Triggers
	index    string // the sorted set that is read
	filtered bool   // the query has conditions beyond the index
	items    []Record
	page     repositories.PageBudget
	at       position // of the last item, or of the last record examined
}

// chooseIndex chooses the list with the fewest records: the session's, unless that lacks an earlier life, else a
// state's.
func (l *listing) chooseIndex(ctx context.Context) error {
	q, k := l.query, keyspace.KeysOf(l.query.AppID)
	var byState, bySession bool
	l.index = k.Triggers("")
	switch q.State {
	case StatePending, StateFailed:
		l.index, byState = k.InState(q.State), true
	case StateConfirming: // they are among the pending ones
		l.index = k.InState(StatePending)
	}
	if q.SessionID != "" {
		closed := false
		if q.AllLives { // a close removes the session's list
			var err error
			if closed, err = l.Ledger.KeyExists(ctx, k.Closed(q.SessionID)); err != nil {
				return err
			}
		}
		if !closed {
			l.index, byState, bySession = k.Triggers(q.SessionID), false, true
		}
	}
	l.filtered = q.Name+q.Source+q.MessageID+string(q.Reason)+q.Value != "" || q.State != "" && !byState || q.SessionID != "" && !bySession
	return nil
}

func (l *listing) nextPositions(ctx context.Context, limit int) ([]position, error) {
	q := l.query
	span := ledger.TimeRange{From: math.Inf(-1), To: math.Inf(1), Oldest: q.Oldest, Most: limit + 1}
	if !q.Since.IsZero() {
		span.From = float64(q.Since.Add(-clockSkew).UnixMicro())
	}
	if !q.Until.IsZero() {
		span.To = float64(q.Until.Add(clockSkew).UnixMicro())
	}
	switch {
	case l.at.id == "":
	case q.Oldest:
		span.From = max(span.From, l.at.score)
	default:
		span.To = min(span.To, l.at.score)
	}
	members, err := l.Ledger.ReadList(ctx, l.index, span)
	if err != nil {
		return nil, err
	}
	var positions []position
	for _, member := range members {
		next := position{score: member.Score, id: member.Member.(string)}
		newer, older := l.at, next
		if q.Oldest {
			newer, older = next, l.at
		}
		follows := l.at.id == "" || older.score < newer.score || older.score == newer.score && older.id < newer.id
		if follows && len(positions) < limit {
			positions = append(positions, next)
		}
	}
	return positions, nil
}

// addRecords adds the records of positions to the page, and reports whether it is full and one more matches.
func (l *listing) addRecords(ctx context.Context, positions []position) (full bool, err error) {
	for len(positions) > 0 {
		batch := positions[:min(len(positions), l.query.Page.Limit+1-len(l.items))]
		fitting, err := l.Ledger.TriggersFitting(ctx, l.query.AppID, positionIDs(batch))
		if err != nil {
			return false, err
		}
		records, err := l.storedTriggers(ctx, l.query.AppID, positionIDs(batch[:fitting]))
		if err != nil {
			return false, err
		}
		for i, trigger := range records {
			if trigger == nil || !l.query.selects(trigger.Record) { // it may have been removed since the list was read
				continue
			}
			if len(l.items) == l.query.Page.Limit || !l.page.Fits(trigger.Record) {
				return true, nil
			}
			l.items, l.at = append(l.items, trigger.Record), batch[i]
		}
		positions = positions[fitting:]
	}
	return false, nil
}

// position is the place of a trigger in a list, sorted by time (µs) and then by id. It stays valid when its
// trigger leaves the list. Without an id it is the beginning.
type position struct {
	score float64
	id    string
}

func positionIDs(positions []position) []string {
	return lists.Map(positions, func(one position) string { return one.id })
}

func (p position) cursor() string {
	return encodeCursor(strconv.FormatFloat(p.score, 'f', -1, 64) + "/" + p.id)
}

func readPosition(cursor string) (position, error) {
	if cursor == "" {
		return position{}, nil
	}
	text, err := decodeCursor(cursor)
	if err != nil {
		return position{}, err
	}
	score, id, _ := strings.Cut(text, "/")
	number, err := strconv.ParseFloat(score, 64)
	if err != nil || id == "" {
		return position{}, fmt.Errorf("%w: %q", ErrCursor, cursor)
	}
	return position{score: number, id: id}, nil
}

// contains reports whether a value, or one inside it, contains a folded text. Numbers are compared as written;
// names of members are ignored.
func contains(value any, text string) bool {
	switch v := value.(type) {
	case nil:
		return false
	case map[string]any:
		return contains(slices.Collect(maps.Values(v)), text)
	case []any:
		return slices.ContainsFunc(v, func(part any) bool { return contains(part, text) })
	case string:
		return strings.Contains(folded(v), text)
	case json.Number:
		return strings.Contains(folded(v.String()), text)
	}
	return strings.Contains(fmt.Sprint(value), text)
}

// folded returns a text in lower case. Only ASCII letters become ASCII letters, so that a script that compares
// bytes may ignore the others.
func folded(text string) string {
	return strings.Map(func(r rune) rune {
		if lower := unicode.ToLower(r); r < utf8.RuneSelf || lower >= utf8.RuneSelf {
			return lower
		}
		return r
	}, text)
}

// anyCase returns texts of which a JSON text, with its ASCII in lower case, contains one if it contains the
// given text in any case: the longest ASCII part, or without one the first two letters in all their cases.
func anyCase(text string) []string {
	encoded := func(text string) string { // as in a JSON string
		whole, _ := exactjson.Encode(text) // a text never fails
		return string(whole[1 : len(whole)-1])
	}
	longest := ""
	for _, part := range strings.FieldsFunc(folded(text), func(r rune) bool { return r >= utf8.RuneSelf }) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	if longest != "" {
		return []string{encoded(longest)}
	}
	variants := []string{""}
	for i, r := range []rune(text) {
		if i == 2 {
			break
		}
		cases := []rune{r}
		for letter := unicode.SimpleFold(r); letter != r; letter = unicode.SimpleFold(letter) {
			cases = append(cases, letter)
		}
		var longer []string
		for _, prefix := range variants {
			for _, letter := range cases {
				longer = append(longer, prefix+encoded(string(letter)))
			}
		}
		variants = longer
	}
	return variants
}
