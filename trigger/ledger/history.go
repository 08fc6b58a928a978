package ledger

import (
	"context"
	"maps"
	"slices"
	"strings"

	"earshot/repositories/keyspace"
)

// turnFields are the fields of a turn in the hash of its session, by what they hold: a
// letter and a colon, for there are as many as messages, before the messageId. Scripts
// know them by the same names (TurnLua).
//
// Besides, the hash has unfinished: the calls of the session that lack values; left: how
// many messages have left its history; and used: when (ms) the last one came.
var turnFields = map[string]string{
	"message":   "m:", // as JSON
	"arrived":   "t:", // when (ms)
	"says":      "h:", // a hash of what it says
	"token":     "k:", // of the lease
	"ends":      "u:", // the lease does (ms)
	"claims":    "c:", // how often the lease was taken
	"decision":  "d:", // JSON of the answer as it was decided
	"decider":   "x:", // token of who decided
	"answer":    "a:", // JSON
	"reply":     "p:", // JSON
	"results":   "r:", // of calls, a line of JSON each
	"failure":   "f:", // JSON: why it was not decided
	"explained": "e:", // why it was decided so, packed
	"verified":  "v:", // claims that tools need, until it is decided
}

// TurnLua defines turn, a table of turnFields.
var TurnLua = func() string {
	var lua strings.Builder
	lua.WriteString("local turn = {")
	for _, name := range slices.Sorted(maps.Keys(turnFields)) {
		lua.WriteString(name + " = '" + turnFields[name] + "', ")
	}
	return lua.String() + "}\n"
}()

// trimmed is how many messages leave the history at most as one comes: more than one, so
// that a number that was lowered, or was held up by a message under way, is reached.
const trimmed = "16"

// trimLua defines trim(order, turns, most, session, length), which lets the oldest messages
// of a session, length in all, leave its history where there are more than most, and returns
// how many do. One that is not decided, or that a replica works on, stays, and with it all
// that came later. session is how the names of its turns begin. It needs DueLua and TurnLua.
const trimLua = `
local function trim(order, turns, most, session, length)
  for gone = 0, ` + trimmed + ` - 1 do
    if length - gone <= most then return gone end
    local old = redis.call('LINDEX', order, 0)
    local lease = redis.call('HGET', turns, turn.ends .. old)
    if redis.call('ZSCORE', ledger.turns, session .. old) or lease and tonumber(lease) > now() then return gone end
    redis.call('LPOP', order)
    local fields = {}
    for _, field in pairs(turn) do fields[#fields + 1] = field .. old end
    redis.call('HDEL', turns, unpack(fields))
    redis.call('HINCRBY', turns, 'left', 1)
  end
  return ` + trimmed + `
end
`

// Place is where a message stands in the history of its session, counted from the first
// that the session had, whether or not it has left the history since.
type Place struct {
	Number string
	ID     string // of the message; empty for where the list begins
}

// Pages is a part of a history: the messages behind a place, in the order of the list.
type Pages struct {
	After  Place
	Since  int64 // when (ms) the first of them came, or later; 0 for all
	Newest bool  // the list begins with the newest
	Most   int
}

// page reads a page of a history. Places are counted from the first message that the
// session had, whether or not it has left the history since. The messages came in the order
// of their places, so that the first of some time is found in a few steps.
//
//	KEYS order, turns
//	ARGV place and id of the message that the page follows ('' for the first page), most,
//	     since (ms), '1' for the newest first
//	=>   ok with from, the place of the oldest, and ids; moved where no message was at that
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
    if tonumber(arrived or 0) < since then first = middle + 1 else above = middle end
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

// Page reads the ids of messages in the order of the list, and the place of the first;
// moved says that no message is at the place that they are to follow.
func (l *Ledger) Page(ctx context.Context, appID, sessionID string, p Pages) (first int, ids []string, moved bool, err error) {
	k := keyspace.KeysOf(appID)
	newest := ""
	if p.Newest {
		newest = "1"
	}
	raw, err := page.Run(ctx, l.db, []string{k.Order(sessionID), k.Turns(sessionID)}, p.After.Number, p.After.ID, p.Most, p.Since, newest)
	if err != nil {
		return 0, nil, false, err
	}
	r := readReply(raw)
	first, ids = r.values.number("from"), r.values.texts("ids")
	if p.Newest {
		first += len(ids) - 1
		slices.Reverse(ids)
	}
	return first, ids, r.status == "moved", nil
}

// StoredMessage is what the history shows of a message: JSON, and empty where there is
// none. One without a Message has left the history.
type StoredMessage struct{ Message, Decision, Reply, Failure, Answer string }

// shownFields are those of a StoredMessage.
func shownFields(id string) []string {
	names := []string{"message", "decision", "reply", "failure", "answer"}
	for i := range names {
		names[i] = turnFields[names[i]] + id
	}
	return names
}

// MessageSizes are the lengths of messages with what the history shows of them.
func (l *Ledger) MessageSizes(ctx context.Context, appID, sessionID string, ids []string) ([]int64, error) {
	turns := keyspace.KeysOf(appID).Turns(sessionID)
	return l.sizes(ctx, len(ids), func(i int) (string, []string) { return turns, shownFields(ids[i]) })
}

// Messages reads messages of a session.
func (l *Ledger) Messages(ctx context.Context, appID, sessionID string, ids []string) ([]StoredMessage, error) {
	var fields []string
	for _, id := range ids {
		fields = append(fields, shownFields(id)...)
	}
	found, err := l.db.HMGet(ctx, keyspace.KeysOf(appID).Turns(sessionID), fields...).Result()
	if err != nil {
		return nil, keyspace.Unavailable(err)
	}
	var list []StoredMessage
	for row := range slices.Chunk(keyspace.Fields(found), len(fields)/len(ids)) {
		list = append(list, StoredMessage{Message: row[0], Decision: row[1], Reply: row[2], Failure: row[3], Answer: row[4]})
	}
	return list, nil
}
