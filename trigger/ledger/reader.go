package ledger

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/lists"
)

// Reader reads messages and triggers from the ledger, for lists and single look-ups. It is safe for concurrent
// use.
type Reader struct{ db *keyspace.DB }

// NewReader returns a Reader of a Redis.
func NewReader(db *keyspace.DB) *Reader { return &Reader{db} }

// StoredTrigger is a trigger as stored in Redis; commit and finish write it.
type StoredTrigger struct {
	ID                   string
	Record               string // as committed
	Event, Emitter, Call string // JSON of the states of its effects
	Result               string // JSON of the state of its result's event
	Attempts, Retries    string // a line of JSON each
	Answer               string // JSON
	Name                 string // prefix of its effects' ids
	// Answering reports that the replica that fired it may still answer; it is meaningless for a trigger that
	// was not fired directly.
	Answering bool
	State     string // as in package state
	Moves     string // a line of JSON each
	Due       int64  // end (ms) of a held one's time
}

var triggerFields = []string{"record", "event", "emitter", "call", "result", "log", "answer", "fire", "until", "retries", "state", "due", "moves"}

// CheckApp returns the error for an app that does not exist.
//
// Errors: repositories.ErrNotFound without the app, keyspace.ErrUnavailable.
func (l *Reader) CheckApp(ctx context.Context, appID string) error {
	exists, err := l.KeyExists(ctx, keyspace.KeysOf(appID).App())
	if err == nil && !exists {
		err = AppNotFound(appID)
	}
	return err
}

// Triggers reads triggers in one round trip; a missing one is nil.
func (l *Reader) Triggers(ctx context.Context, appID string, ids []string) ([]*StoredTrigger, error) {
	k := keyspace.KeysOf(appID)
	pipe := l.db.Pipeline()
	clock := l.db.Clocks(ctx, pipe)(k.Due())
	replies := make([]*redis.SliceCmd, len(ids))
	for i, id := range ids {
		replies[i] = pipe.HMGet(ctx, k.Trigger(id), triggerFields...)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, keyspace.Unavailable(err)
	}
	now, err := clock.Read()
	if err != nil {
		return nil, err
	}
	list := make([]*StoredTrigger, len(ids))
	for i := range replies {
		v := keyspace.Fields(replies[i].Val())
		if v[0] == "" {
			continue
		}
		list[i] = &StoredTrigger{
			ID: ids[i], Record: v[0], Event: v[1], Emitter: v[2], Call: v[3], Result: v[4], Attempts: v[5], Answer: v[6], Name: v[7],
			Answering: v[8] != "" && now.UnixMilli() < int64(number(v[8])), Retries: v[9], State: v[10], Due: int64(number(v[11])), Moves: v[12],
		}
	}
	return list, nil
}

// CallDue is when the next attempt at a call is due.
type CallDue struct {
	Tries    int       // so far
	Due      time.Time // if not leased
	Leased   bool      // an attempt is in progress
	Awaiting bool      // no attempt is made: it waits for an external answer until it is due
}

// CallDue returns when the next attempt at a call is due; nil if it is no longer outstanding.
func (l *Reader) CallDue(ctx context.Context, appID, id string) (*CallDue, error) {
	k := keyspace.KeysOf(appID)
	pipe := l.db.Pipeline()
	clock := l.db.Clocks(ctx, pipe)(k.Due())
	found := pipe.HMGet(ctx, k.Effect(id), "tries", "token", "until", "kind", "given")
	score := pipe.ZScore(ctx, k.Lane(keyspace.LaneCalls), id)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, keyspace.Unavailable(err)
	}
	now, err := clock.Read()
	if err != nil || errors.Is(score.Err(), redis.Nil) {
		return nil, err
	}
	v := keyspace.Fields(found.Val())
	until := time.UnixMilli(int64(number(v[2])))
	return &CallDue{
		Tries: number(v[0]), Due: time.UnixMilli(int64(score.Val())).UTC(), Leased: v[1] != "" && until.After(now), Awaiting: v[3] == "answer" && v[4] == "",
	}, nil
}

// Awaiting returns until when effects wait for an external answer. It is the zero time for an effect that is
// answered or asks no question.
func (l *Reader) Awaiting(ctx context.Context, appID string, ids []string) ([]time.Time, error) {
	found, err := l.db.HashFields(ctx, lists.Map(ids, keyspace.KeysOf(appID).Effect), "kind", "given", "created", "wait")
	return lists.Map(found, func(v []string) (until time.Time) {
		if v[0] == "answer" && v[1] == "" {
			until = time.UnixMilli(int64(number(v[2]) + number(v[3]))).UTC()
		}
		return until
	}), err
}

// TimeRange is a part of a list of triggers by time (µs), bounds included. Its first Most members are read: the
// newest, or the oldest; those of equal time are ordered by id, in the same direction.
type TimeRange struct {
	From, To float64
	Oldest   bool
	Most     int
}

// ReadList reads members of a list of triggers with the time (µs) of each.
func (l *Reader) ReadList(ctx context.Context, list string, s TimeRange) ([]redis.Z, error) {
	text := func(score float64) string { return strconv.FormatFloat(score, 'f', -1, 64) }
	by := redis.ZRangeArgs{Key: list, Start: text(s.From), Stop: text(s.To), ByScore: true, Rev: !s.Oldest, Count: int64(s.Most)}
	if by.Rev {
		by.Start, by.Stop = by.Stop, by.Start
	}
	found, err := l.db.ZRangeArgsWithScores(ctx, by).Result()
	return found, keyspace.Unavailable(err)
}

// InList reports whether a list of triggers has a member.
func (l *Reader) InList(ctx context.Context, list, id string) (bool, error) {
	err := l.db.ZScore(ctx, list, id).Err()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, keyspace.Unavailable(err)
}

// SessionsOf reads the sessions of triggers; empty for those without one and for missing triggers.
func (l *Reader) SessionsOf(ctx context.Context, appID string, ids []string) ([]string, error) {
	read, err := l.db.HashFields(ctx, lists.Map(ids, keyspace.KeysOf(appID).Trigger), "session")
	return lists.Map(read, func(fields []string) string { return fields[0] }), err
}

// KeyExists reports whether a key, as of a list of triggers, exists.
func (l *Reader) KeyExists(ctx context.Context, key string) (bool, error) {
	there, err := l.db.Exists(ctx, key).Result()
	return there > 0, keyspace.Unavailable(err)
}

// TriggersFitting returns how many of the triggers fit into one read.
func (l *Reader) TriggersFitting(ctx context.Context, appID string, ids []string) (int, error) {
	k := keyspace.KeysOf(appID)
	large := []string{"record", "call", "log", "answer"}
	sizes, err := l.db.Sizes(ctx, len(ids), func(i int) (string, []string) { return k.Trigger(ids[i]), large })
	return repositories.Fitting(sizes), err
}

// Place is the place of a message in the history of its session, counted from the session's first message,
// including those that have left the history.
type Place struct {
	Number string
	ID     string // of the message; empty for the beginning of the list
}

// Pages selects a part of a history: the messages behind a place, in the order of the list.
type Pages struct {
	After  Place
	Since  int64 // earliest arrival (ms); 0 for all
	Newest bool  // the list begins with the newest
	Most   int
}

// page reads a page of a history. Messages are ordered by arrival, so a binary search finds the first of a
// time.
//
//	KEYS order, turns
//	ARGV place and id of the message that the page follows ('' for the first page), most,
//	     since (ms), '1' for the newest first
//	=>   ok with from, the place of the oldest, and ids; moved if that message is not at that
//	     place
var page = keyspace.NewFreeingScript(TurnLua, `
local left, most, since = tonumber(redis.call('HGET', KEYS[2], 'left') or 0), tonumber(ARGV[3]), tonumber(ARGV[4])
local at
if ARGV[2] ~= '' then
  at = tonumber(ARGV[1]) - left
  if at >= 0 and redis.call('LINDEX', KEYS[1], at) ~= ARGV[2] then return {'moved'} end
end
local first = 0
if since > 0 then
  local above = redis.call('LLEN', KEYS[1])
  while first < above do
    local middle = math.floor((first + above) / 2)
    local arrived = redis.call('HGET', KEYS[2], turn.arrived .. redis.call('LINDEX', KEYS[1], middle))
    if arrivedAt(arrived) < since then first = middle + 1 else above = middle end
  end
end
local from, last
if ARGV[5] == '1' then
  last = at and at - 1 or redis.call('LLEN', KEYS[1]) - 1
  from = math.max(first, last - most + 1)
else
  from = math.max(first, at and at + 1 or 0)
  last = from + most - 1
end
local ids = {}
if last >= from then ids = redis.call('LRANGE', KEYS[1], from, last) end
return {'ok', 'from', tostring(left + from), 'ids', ids}
`)

// Page reads the ids of messages in the order of the list, and the place of the first. moved reports that the
// message that they are to follow is not at its place.
func (l *Reader) Page(ctx context.Context, appID, sessionID string, p Pages) (first int, ids []string, moved bool, err error) {
	k := keyspace.KeysOf(appID)
	r, err := readReply(page.Run(ctx, l.db, []string{k.Order(sessionID), k.Turns(sessionID)}, p.After.Number, p.After.ID, p.Most, p.Since, p.Newest))
	if err != nil {
		return 0, nil, false, err
	}
	first, ids = r.number("from"), r.texts("ids")
	if p.Newest {
		first += len(ids) - 1
		slices.Reverse(ids)
	}
	return first, ids, r.Status == Moved, nil
}

// StoredMessage is a message as the history shows it: JSON, Called a line each, the decision as committed, each empty
// for none. One without a Message has left the history.
type StoredMessage struct{ Message, Decision, Reply, Failure, Called, Answer string }

// turnFieldsOf returns the names of fields of a message, given the names of turnFields.
func turnFieldsOf(id string, names ...string) []string {
	for i := range names {
		names[i] = turnFields[names[i]] + id
	}
	return names
}

func answerOf(answer, lease string) string {
	if lease == AsDecided {
		return AsDecided
	}
	return answer
}

func shownFields(id string) []string {
	return turnFieldsOf(id, "message", "decision", "reply", "failure", "called", "answer", "lease")
}

// MessageSizes returns the sizes of messages in bytes, as the history shows them.
func (l *Reader) MessageSizes(ctx context.Context, appID, sessionID string, ids []string) ([]int64, error) {
	turns := keyspace.KeysOf(appID).Turns(sessionID)
	return l.db.Sizes(ctx, len(ids), func(i int) (string, []string) { return turns, shownFields(ids[i]) })
}

// MessageTexts reads messages, each of a session: JSON, empty for a missing one.
func (l *Reader) MessageTexts(ctx context.Context, of []Turn) ([]string, error) {
	pipe, replies := l.db.Pipeline(), make([]*redis.StringCmd, len(of))
	for i, t := range of {
		replies[i] = pipe.HGet(ctx, keyspace.KeysOf(t.App).Turns(t.Session), turnFields["message"]+t.Message)
	}
	texts := make([]string, len(of))
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, keyspace.Unavailable(err)
	}
	for i := range replies {
		texts[i] = replies[i].Val()
	}
	return texts, nil
}

// Messages reads messages of a session.
func (l *Reader) Messages(ctx context.Context, appID, sessionID string, ids []string) ([]StoredMessage, error) {
	var fields []string
	for _, id := range ids {
		fields = append(fields, shownFields(id)...)
	}
	found, err := l.fields(ctx, keyspace.KeysOf(appID).Turns(sessionID), fields)
	if err != nil {
		return nil, err
	}
	var list []StoredMessage
	for row := range slices.Chunk(found, len(fields)/len(ids)) {
		list = append(list, StoredMessage{Message: row[0], Decision: row[1], Reply: row[2], Failure: row[3], Called: row[4], Answer: answerOf(row[5], row[6])})
	}
	return list, nil
}

func (l *Reader) fields(ctx context.Context, key string, fields []string) ([]string, error) {
	found, err := l.db.HMGet(ctx, key, fields...).Result()
	return keyspace.Fields(found), keyspace.Unavailable(err)
}

// Explained is what explains a message: JSON, the decision as committed, and the explanation, which may be
// empty. One without a Message is not in the history.
type Explained struct{ Message, Decision, Answer, Failure, Explanation, Called string }

// Explained reads the explanation of a message.
func (l *Reader) Explained(ctx context.Context, t Turn) (Explained, error) {
	row, err := l.fields(ctx, t.keys().Turns(t.Session), turnFieldsOf(t.Message, "message", "decision", "answer", "failure", "explained", "lease", "called"))
	if err != nil {
		return Explained{}, err
	}
	return Explained{row[0], row[1], answerOf(row[2], row[5]), row[3], row[4], row[6]}, nil
}

// DraftExplained reads the explanation of a draft's match; empty if there is none.
func (l *Reader) DraftExplained(ctx context.Context, t Turn) (string, error) {
	row, err := l.fields(ctx, t.draft(), []string{"explained"})
	if err != nil {
		return "", err
	}
	return row[0], nil
}

// ExplainedParts reads parts of explanations by name. Missing ones are skipped.
func (l *Reader) ExplainedParts(ctx context.Context, appID string, names []string) (map[string]string, error) {
	found, err := l.fields(ctx, keyspace.KeysOf(appID).ExplainedParts(), names)
	parts := map[string]string{}
	for i, text := range found {
		if text != "" {
			parts[names[i]] = text
		}
	}
	return parts, err
}

// filterTriggers drops triggers that cannot match a search. User data is opaque to scripts, so it compares texts only,
// and the caller must check the rest.
//
//	KEYS triggers
//	ARGV 1 most bytes, 2 state, 3 session, 4 a text in the call's state, 5 one in the record,
//	     6 the beginning of the values' object, 7 a text before it in the
//	     record, each '' for any, then lower-case texts, one of which a value contains;
//	     none for any value
//	=>   how many were examined, then the places of the remaining ones, from 1
//
// It ends early, but not before the first, once it has read so many bytes, since it blocks Redis meanwhile.
var filterTriggers = keyspace.NewReadingScript(`
local most, state, session, failure, text, begins, head = tonumber(ARGV[1]), unpack(ARGV, 2, 7)
local examined, bytes, fields, at = 0, 0, {}, {}
local function read(wanted, ...)
  for _, field in ipairs(wanted and {...} or {}) do
    fields[#fields + 1] = field
    at[field] = #fields
  end
end
read(true, 'open')
read(state ~= '', 'state', 'event', 'emitter', 'call', 'result')
read(session ~= '', 'session')
read(failure ~= '', 'call')
read(text .. head ~= '' or #ARGV > 7, 'record')
local function contains(text, part) return string.find(text, part, 1, true) ~= nil end
local function containsValue(text)
  text = string.lower(text)
  for i = 8, #ARGV do
    if contains(text, ARGV[i]) then return true end
  end
  return false
end
local function closingQuote(record, at)
  while true do
    at = string.find(record, '["\\]', at + 1)
    if not at or string.byte(record, at) == 34 then return at or #record end
    at = at + 1
  end
end
local function anyValueMatches(record, at)
  local depth = 1
  while depth > 0 do
    local token = string.find(record, '["{}]', at + 1)
    if not token then return true end
    if token > at + 2 and containsValue(string.sub(record, at + 1, token - 1)) then return true end
    local kind = string.byte(record, token)
    if kind == 34 then
      at = closingQuote(record, token)
      local name = string.byte(record, at + 1) == 58
      if not name and containsValue(string.sub(record, token, at)) then return true end
    else
      at, depth = token, depth + (kind == 123 and 1 or -1)
    end
  end
  return false
end
local function stateOf(held, event, emitter, call, result)
  if held and held ~= '' then return held == 'settling' and 'pending' or held end
  local function is(word) -- a call's result, which is user data, stands behind its state
    local text = '"state":"' .. word .. '"'
    return contains(event or '', text) or contains(emitter or '', text) or string.sub(call or '', 2, #text + 1) == text
  end
  if is('failed') or contains(result or '', '"state":"failed"') then return 'failed' end
  return is('pending') and 'pending' or 'delivered'
end
local function fits(t)
  local record = t[at.record]
  if not t[1] or record == false or state ~= '' and stateOf(t[at.state], t[at.event], t[at.emitter], t[at.call], t[at.result]) ~= state or session ~= '' and t[at.session] ~= session then return false end
  if failure ~= '' and not contains(t[at.call] or '', failure) or text ~= '' and not contains(record, text) then return false end
  if head == '' and #ARGV == 7 then return true end
  local first, last = string.find(record, begins, 1, true)
  if not first then return true end
  return (head == '' or contains(string.sub(record, 1, first), head)) and (#ARGV == 7 or anyValueMatches(record, last))
end
local fitting = {0}
for i, key in ipairs(KEYS) do
  local t = redis.call('HMGET', key, unpack(fields))
  examined, bytes = i, bytes + #(t[at.record] or '') + #(t[at.call] or '')
  if fits(t) then fitting[#fitting + 1] = i end
  if bytes > most then break end
end
fitting[1] = examined
return fitting
`)

// Filter has the texts that the JSON of a matching trigger contains. An empty field excludes nothing.
type Filter struct {
	State   string
	Session string
	Failure string // a text in the state of the call
	Text    string // a text in the record
	// Begins is the beginning of the values' object, Head a text before it.
	Begins, Head string
	// Values are lower-case texts, one of which a value contains.
	Values []string
}

// Bounds of the triggers, and about of their bytes, that one script examines: it blocks Redis for about a
// millisecond.
const (
	mostFiltered      = 500
	mostFilteredBytes = 1 << 20
)

// FilterTriggers returns the indices in ids of the triggers that may match a search, in two round trips, or more for
// large triggers. Missing triggers are left out.
func (l *Reader) FilterTriggers(ctx context.Context, appID string, ids []string, by Filter) (places []int, err error) {
	args := []any{mostFilteredBytes, by.State, by.Session, by.Failure, by.Text, by.Begins, by.Head}
	for _, text := range by.Values {
		args = append(args, text)
	}
	keys := lists.Map(ids, keyspace.KeysOf(appID).Trigger)
	err = scan{filterTriggers, keys, 1, mostFiltered, args}.run(ctx, l.db, func(from int, found []any) {
		for _, item := range found {
			place, _ := item.(int64)
			places = append(places, from+int(place)-1)
		}
	})
	slices.Sort(places)
	return places, err
}

// scan runs a script over a list, at most most elements at a time. Each element has so many keys. The script replies
// with how many elements it has examined, which may be fewer, and what it found in them.
type scan struct {
	script     *keyspace.Script
	keys       []string
	each, most int
	args       []any
}

// run calls add with the index of the first element that a call examined, and what the call found.
func (s scan) run(ctx context.Context, db *keyspace.DB, add func(from int, found []any)) error {
	type portion struct{ from, to int }
	var portions []portion
	for from, count := 0, len(s.keys)/s.each; from < count; from += s.most {
		portions = append(portions, portion{from, min(from+s.most, count)})
	}
	for len(portions) > 0 {
		replies, err := s.script.RunAll(ctx, db, lists.Map(portions, func(p portion) keyspace.Call {
			return keyspace.Call{Keys: s.keys[p.from*s.each : p.to*s.each], Args: s.args}
		}))
		if err != nil {
			return err
		}
		var rest []portion
		for i, p := range portions {
			list, _ := replies[i].([]any)
			examined, _ := list[0].(int64)
			add(p.from, list[1:])
			if p.from += int(examined); examined > 0 && p.from < p.to {
				rest = append(rest, p)
			}
		}
		portions = rest
	}
	return nil
}

// findMessages searches the messages of sessions, the latest first.
//
//	KEYS order and turns of each session
//	ARGV most bytes, most messages of each session, most matches of each, then lower-case texts, one of
//	     which a match contains; without texts, messages of users match
//	=>   how many sessions were examined, then alternating the place of a session, from 1, and the id of
//	     a message in it
//
// It ends early, but not before the first, once it has read so many bytes.
var findMessages = keyspace.NewReadingScript(TurnLua, `
local most, ofEach, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local examined, bytes, found = 0, 0, {0}
local function textOf(message)
  local _, begins = string.find(message, '"text":"', 1, true)
  local at = begins
  while at do
    at = string.find(message, '["\\]', at + 1)
    if not at or string.byte(message, at) == 34 then break end
    at = at + 1
  end
  return begins and string.lower(string.sub(message, begins + 1, (at or 0) - 1)) or ''
end
local function fits(message)
  if #ARGV == 3 then return string.find(message, '"actor":"user"', 1, true) ~= nil end
  local text = textOf(message)
  for i = 4, #ARGV do
    if string.find(text, ARGV[i], 1, true) then return true end
  end
  return false
end
for i = 1, #KEYS, 2 do
  local ids, left = redis.call('LRANGE', KEYS[i], -ofEach, -1), wanted
  for j = #ids, 1, -1 do
    local message = redis.call('HGET', KEYS[i + 1], turn.message .. ids[j]) or ''
    bytes = bytes + #message
    if fits(message) then
      found[#found + 1], found[#found + 2], left = (i + 1) / 2, ids[j], left - 1
      if left == 0 then break end
    end
  end
  examined = examined + 1
  if bytes > most then break end
end
found[1] = examined
return found
`)

// Bounds of one script: sessions, last messages examined of each, and matches of each.
const (
	mostSearchedSessions = 100
	mostSearchedMessages = 200
	mostMatches          = 3
)

// FindMessages finds the latest messages of sessions, by the sessions' indices, that may contain one of some lower-case
// texts; without texts, the latest ones of users. It examines the last 200 of each session.
func (l *Reader) FindMessages(ctx context.Context, appID string, sessions, texts []string) (found map[int][]string, err error) {
	k, keys, wanted := keyspace.KeysOf(appID), make([]string, 0, 2*len(sessions)), mostMatches
	for _, id := range sessions {
		keys = append(keys, k.Order(id), k.Turns(id))
	}
	if len(texts) == 0 {
		wanted = 1
	}
	args := []any{mostFilteredBytes, mostSearchedMessages, wanted}
	for _, text := range texts {
		args = append(args, text)
	}
	found = map[int][]string{}
	err = scan{findMessages, keys, 2, mostSearchedSessions, args}.run(ctx, l.db, func(from int, pairs []any) {
		for pair := range slices.Chunk(pairs, 2) {
			place, _ := pair[0].(int64)
			id, _ := pair[1].(string)
			found[from+int(place)-1] = append(found[from+int(place)-1], id)
		}
	})
	return found, err
}

// countWaits counts triggers by what they wait for.
//
//	KEYS triggers
//	=>   how many were examined, then how many are confirming, how many can be taken back, and
//	     how many calls wait for their first attempt, and for a later one
var countWaits = keyspace.NewReadingScript(`
local counts = {#KEYS, 0, 0, 0, 0}
for _, key in ipairs(KEYS) do
  local t = redis.call('HMGET', key, 'state', 'call')
  local at, tried = nil, string.match(t[2] or '', '^{"state":"pending".-"attempts":(%d+)')
  if t[1] == 'confirming' then at = 2 elseif t[1] == 'settling' then at = 3 elseif tried then at = tried == '0' and 4 or 5 end
  if at then counts[at] = counts[at] + 1 end
end
return counts
`)

// AppBacklog is the outstanding work of an app. Its JSON is the answer of the REST call.
type AppBacklog struct {
	Pending Stock `json:"pending"`
	Failed  Stock `json:"failed"`
	// The following counts are of the oldest 5,000 pending triggers.
	Confirming int `json:"confirming"` // triggers that wait for a confirmation
	Settling   int `json:"settling"`   // triggers that can be taken back
	FirstTries int `json:"firstAttempts"`
	Retries    int `json:"laterAttempts"`
	Examined   int `json:"looked"`
}

// Stock is the number of triggers in a state, and the time when the oldest fired.
type Stock struct {
	Count  int64      `json:"count"`
	Oldest *time.Time `json:"oldest,omitempty"`
}

// mostBacklog bounds the pending triggers that are examined.
const mostBacklog = 5000

// Backlog counts the outstanding work of an app.
func (l *Reader) Backlog(ctx context.Context, appID string) (b AppBacklog, err error) {
	k, pipe := keyspace.KeysOf(appID), l.db.Pipeline()
	counts, firsts := map[string]*redis.IntCmd{}, map[string]*redis.ZSliceCmd{}
	for _, state := range []string{keyspace.Pending, keyspace.Failed} {
		counts[state], firsts[state] = pipe.ZCard(ctx, k.InState(state)), pipe.ZRangeWithScores(ctx, k.InState(state), 0, 0)
	}
	ids := pipe.ZRange(ctx, k.InState(keyspace.Pending), 0, mostBacklog-1)
	if _, err := pipe.Exec(ctx); err != nil {
		return b, keyspace.Unavailable(err)
	}
	for state, stock := range map[string]*Stock{keyspace.Pending: &b.Pending, keyspace.Failed: &b.Failed} {
		stock.Count = counts[state].Val()
		for _, first := range firsts[state].Val() {
			stock.Oldest = new(time.UnixMicro(int64(first.Score)).UTC())
		}
	}
	keys := lists.Map(ids.Val(), k.Trigger)
	b.Examined = len(keys)
	err = scan{countWaits, keys, 1, mostFiltered, nil}.run(ctx, l.db, func(_ int, found []any) {
		for i, to := range []*int{&b.Confirming, &b.Settling, &b.FirstTries, &b.Retries} {
			n, _ := found[i].(int64)
			*to += int(n)
		}
	})
	return b, err
}
