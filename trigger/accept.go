package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"earshot/matcher"
	"earshot/repositories/crash"
	"earshot/repositories/keyspace"
	"earshot/repositories/parameters"
	"earshot/repositories/store"
)

// accept stores a message, or finds what became of it, and takes the lease of its
// turn where nobody has it. With an empty message it claims a turn that is there. In
// the same round trip it reads all that the matcher needs. The history begins where
// matcher.HistoryStart has it begin.
//
//	KEYS app, repos of the app, repos of the session, turns, order, idle, rate of the
//	     app, rate of the session, closed, then the ledger
//	ARGV 1 messageId, 2 message (JSON, '' to claim), 3 token, 4 lease (ms),
//	     5 messages of history, 6 version of the app that the caller has,
//	     7 session TTL (ms), 8 member of the turns, 9 appId, 10 most claims,
//	     11 answer (JSON) of a message that is matched against nothing, else ''
//	     12 verified claims (JSON) that its tools need, else ''
//	     13 how long the generation of the session is kept (ms)
//	     14 what the message says, as a hash; '' to claim
//	     15 member of idle, 16 most messages of the session's history
//	=>   {status, ...}
//	     noapp     the app does not exist
//	     gone      there is no such turn to claim, or it is not due any more
//	     reused    the messageId belongs to a message that says something else
//	     answered  answer
//	     busy      another has the lease
//	     decided   decision; its answer was lost with a process
//	     dead      claimed too often without an outcome
//	     limited   which limit, its number, pause (ms); nothing was stored
//	     taken     message, age (ms), app version, app revision, app record,
//	               repositories of the app, those of the session, and of the history
//	               ids, messages, decisions, results, replies, then unfinished calls,
//	               the time (ms), the claims, and the generations of app and session
//
// The fields of turns are a letter, a colon and the messageId: m message, t time of
// arrival, k token, u end of lease, c claims, d decision, x token of the decision,
// h hash of what it says, a answer, p reply, r results of calls, f failure, v verified claims until the
// decision. Besides, unfinished has the calls that lack values, and left is how many
// messages have left the history.
var accept = keyspace.NewScript(keyspace.DueLua, rateLua, trimLua, `
local id, token, at = ARGV[1], ARGV[3], now()
local function get(field) return redis.call('HGET', KEYS[4], field .. ':' .. id) or '' end
local function set(field, value) redis.call('HSET', KEYS[4], field .. ':' .. id, value) end
local app = redis.call('HMGET', KEYS[1], 'version', 'generation')
local version = app[1]
if not version then
  if ARGV[2] == '' then unschedule('turns', ARGV[8]) end
  return {'noapp'}
end
local message = get('m')
if ARGV[2] == '' and (message == '' or not redis.call('ZSCORE', ledger.turns, ARGV[8])) then
  unschedule('turns', ARGV[8])
  return {'gone'}
end
local says = get('h')
if ARGV[2] ~= '' and says ~= '' and says ~= ARGV[14] then return {'reused'} end
redis.call('ZADD', KEYS[6], at + tonumber(ARGV[7]), ARGV[15])
redis.call('PEXPIRE', KEYS[9], ARGV[13])
local answer = get('a')
if answer ~= '' then
  unschedule('turns', ARGV[8])
  return {'answered', answer}
end
local ends = tonumber(get('u')) or 0
if get('k') ~= token and ends > at then
  if ARGV[2] == '' then redis.call('ZADD', ledger.turns, 'XX', ends, ARGV[8]) end
  return {'busy'}
end
local decision = get('d')
if decision ~= '' then
  unschedule('turns', ARGV[8])
  return {'decided', decision}
end
if message == '' then
  local over = overRate(KEYS[1], KEYS[7], KEYS[8], {messages = 1, bytes = #ARGV[2] + #ARGV[12], agent = ARGV[11] ~= ''})
  if over then return over end
  message = ARGV[2]
  set('m', message)
  set('h', ARGV[14])
  if ARGV[12] ~= '' then set('v', ARGV[12]) end
  set('t', at)
  redis.call('RPUSH', KEYS[5], id)
  trim(KEYS[5], KEYS[4], tonumber(ARGV[16]), string.sub(ARGV[8], 1, -#id - 1))
end
if ARGV[11] ~= '' then
  set('a', ARGV[11])
  return {'answered', ARGV[11]}
end
if get('k') ~= token then
  local claims = redis.call('HINCRBY', KEYS[4], 'c:' .. id, 1)
  if claims > tonumber(ARGV[10]) then
    unschedule('turns', ARGV[8])
    redis.call('HDEL', KEYS[4], 'c:' .. id)
    set('f', '{"error":"crashed_worker"}')
    return {'dead'}
  end
end
set('k', token)
set('u', at + tonumber(ARGV[4]))
redis.call('HDEL', KEYS[4], 'f:' .. id)
schedule(ARGV[9], 'turns', ARGV[8], at + tonumber(ARGV[4]))
local left = tonumber(redis.call('HGET', KEYS[4], 'left') or 0)
local earlier, most, from = left + redis.call('LLEN', KEYS[5]) - 1, tonumber(ARGV[5]), left
if earlier > most then
  local step = math.max(1, math.floor(most / 4))
  from = math.max(left, math.min(earlier, math.ceil((earlier - most) / step) * step))
end
local ids = redis.call('LRANGE', KEYS[5], from - left, -1)
local past = {{}, {}, {}, {}}
for i, of in ipairs(ids) do
  local found = redis.call('HMGET', KEYS[4], 'm:' .. of, 'd:' .. of, 'r:' .. of, 'p:' .. of)
  for j = 1, 4 do past[j][i] = found[j] or '' end
end
local revision, record, own = '', '', {}
if version ~= ARGV[6] then
  revision, record = redis.call('HGET', KEYS[1], 'rev'), redis.call('HGET', KEYS[1], 'record')
  own = redis.call('HVALS', KEYS[2])
end
return {'taken', message, tostring(at - tonumber(get('t'))), version, revision, record, own,
  redis.call('HVALS', KEYS[3]), ids, past[1], past[2], past[3], past[4],
  redis.call('HGET', KEYS[4], 'unfinished') or '', tostring(at), get('v'),
  app[2] or '', redis.call('HGET', KEYS[9], 'generation') or ''}
`)

// turn is a message that this process has the lease of, with all that was read.
type turn struct {
	turnID
	token   string
	age     time.Duration // since it was accepted, by the clock of Redis
	message storedMessage
	scope   scope
	history []matcher.Utterance
	// unfinished are calls that earlier messages began, as far as they can still be
	// made; at is the time by the clock of Redis.
	unfinished []unfinished
	at         time.Duration
	generation store.Generation
	decided    bool // by this process
}

// storedMessage is a message as the session keeps it.
type storedMessage struct {
	Actor       string    `json:"actor"`
	Text        string    `json:"text"`
	Time        time.Time `json:"ts"`
	TraceParent string    `json:"traceparent,omitempty"`
	// claims stand apart, so that they can go with the decision.
	claims parameters.Claims
}

// says names what a message says: one that is sent again under its id must say the same.
// When, and with which claims, is no part of that.
func (m *storedMessage) says() string {
	if m == nil {
		return ""
	}
	return hash(m.Actor, m.Text)
}

// accepted is what accept found.
type accepted struct {
	status string
	body   string // the answer or the decision
	turn   *turn  // where the lease was taken
	few    bool   // too few replicas of Redis have it
}

// Statuses of accept.
const (
	statusNoApp    = "noapp"
	statusGone     = "gone"
	statusAnswered = "answered"
	statusBusy     = "busy"
	statusDecided  = "decided"
	statusDead     = "dead"
	statusTaken    = "taken"
	statusLimited  = "limited"
	statusReused   = "reused"
)

// accept runs the script. A nil message claims a turn; canned is the answer of a
// message that nothing is matched against.
func (e *Engine) accept(ctx context.Context, id turnID, token string, message *storedMessage, canned string) (accepted, error) {
	text, claims, err := message.encode()
	if err != nil {
		return accepted{}, err
	}
	had := e.apps.get(id.app)
	keys := id.keys()
	crash.At(crash.AcceptBefore)
	run := accept.RunSafely
	if message == nil {
		run = accept.Run // a worker goes on with what was accepted, whoever has it
	}
	reply, err := run(ctx, e.db,
		append([]string{keys.App(), keys.Repos(""), keys.Repos(id.session), keys.Turns(id.session), keys.Order(id.session), keys.Idle(), keys.Rates(""), keys.Rates(id.session), keys.Closed(id.session)}, keys.Ledger()...),
		id.message, text, token, e.lease.Milliseconds(), e.historyLimit, had.version,
		e.store.SessionTTL().Milliseconds(), id.member(), id.app, mostClaims, canned, claims, e.store.Remembers().Milliseconds(), message.says(), id.app+"/"+id.session, e.store.Retention().Messages)
	crash.At(crash.AcceptReply)
	few := errors.Is(err, keyspace.ErrReplicas)
	if err != nil && !few {
		e.giveUp(taken{turnID: id, token: token}, err)
		return accepted{}, err
	}
	found, err := e.readAccepted(id, token, had, reply.([]any))
	found.few = few
	return found, err
}

func (e *Engine) readAccepted(id turnID, token string, had *appState, reply []any) (accepted, error) {
	found := accepted{status: reply[0].(string)}
	switch found.status {
	case statusAnswered, statusDecided:
		found.body = reply[1].(string)
	case statusReused:
		return found, fmt.Errorf("messageId %q %w", id.message, ErrReused)
	case statusLimited:
		return found, readLimited(texts(reply))
	case statusTaken:
		taken, err := e.readTurn(id, token, had, reply[1:])
		found.turn = taken
		return found, err
	}
	return found, nil
}

func (e *Engine) readTurn(id turnID, token string, had *appState, fields []any) (*turn, error) {
	t := &turn{turnID: id, token: token, age: millis(fields[1].(string))}
	if err := json.Unmarshal([]byte(fields[0].(string)), &t.message); err != nil {
		return nil, err
	}
	own, err := e.apps.load(e.store, id.app, had, appFields{
		version: fields[2].(string), revision: fields[3].(string), record: fields[4].(string), repositories: texts(fields[5]),
	})
	if err != nil {
		return nil, err
	}
	sessions, err := loadAll(e.store, id.app, texts(fields[6]))
	if err != nil {
		return nil, err
	}
	t.scope = scope{app: own.app, own: own.repositories, session: sessions}
	t.history = readHistory(id.message, pastOf(fields[7:]))
	if t.scope.claims, err = readClaims(fields[14].(string)); err != nil {
		return nil, err
	}
	t.at = millis(fields[13].(string))
	t.generation = store.Generation{App: fields[15].(string), Session: fields[16].(string)}
	t.unfinished = readUnfinished(fields[12].(string), t.scope, t.at)
	return t, nil
}

// texts reads a list of strings out of a reply.
func texts(reply any) []string {
	items := reply.([]any)
	list := make([]string, len(items))
	for i, item := range items {
		list[i], _ = item.(string)
	}
	return list
}

func millis(text string) time.Duration {
	number, _ := json.Number(strings.TrimSuffix(text, ".0")).Int64()
	return time.Duration(number) * time.Millisecond
}
