package ledger

import (
	"context"
	"errors"
	"time"

	"earshot/repositories/crash"
	"earshot/repositories/keyspace"
)

// maxClaims is how often an effect or a turn may be claimed without an outcome. One
// that takes its workers down with it must not do so for ever.
const maxClaims = 5

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
//	=>   a Status, with
//	     answered  answer
//	     decided   decision
//	     limited   limit, most, pause (ms)
//	     taken     message, age and at (ms), version, revision and record of the app,
//	               its own repositories, those of the session, ids, messages, decisions,
//	               results and replies of the history, unfinished calls, claims, and
//	               the generations of app and session
var accept = keyspace.NewScript(keyspace.DueLua, turnLua, rateLua, trimLua, `
local id, token, at = ARGV[1], ARGV[3], now()
local function get(field) return redis.call('HGET', KEYS[4], field .. id) or '' end
local function set(field, value) redis.call('HSET', KEYS[4], field .. id, value) end
local app = redis.call('HMGET', KEYS[1], 'version', 'generation')
local version = app[1]
if not version then
  if ARGV[2] == '' then unschedule('turns', ARGV[8]) end
  return {'noapp'}
end
local message = get(turn.message)
if ARGV[2] == '' and (message == '' or not redis.call('ZSCORE', ledger.turns, ARGV[8])) then
  unschedule('turns', ARGV[8])
  return {'gone'}
end
local says = get(turn.says)
if ARGV[2] ~= '' and says ~= '' and says ~= ARGV[14] then return {'reused'} end
redis.call('ZADD', KEYS[6], at + tonumber(ARGV[7]), ARGV[15])
redis.call('PEXPIRE', KEYS[9], ARGV[13])
local answer = get(turn.answer)
if answer ~= '' then
  unschedule('turns', ARGV[8])
  return {'answered', 'answer', answer}
end
local ends = tonumber(get(turn.ends)) or 0
if get(turn.token) ~= token and ends > at then
  if ARGV[2] == '' then redis.call('ZADD', ledger.turns, 'XX', ends, ARGV[8]) end
  return {'busy'}
end
local decision = get(turn.decision)
if decision ~= '' then
  unschedule('turns', ARGV[8])
  return {'decided', 'decision', decision}
end
if message == '' then
  local over = overRate(KEYS[1], KEYS[7], KEYS[8], {messages = 1, bytes = #ARGV[2] + #ARGV[12], agent = ARGV[11] ~= ''})
  if over then return over end
  message = ARGV[2]
  set(turn.message, message)
  set(turn.says, ARGV[14])
  if ARGV[12] ~= '' then set(turn.verified, ARGV[12]) end
  set(turn.arrived, at)
  redis.call('RPUSH', KEYS[5], id)
  trim(KEYS[5], KEYS[4], tonumber(ARGV[16]), string.sub(ARGV[8], 1, -#id - 1))
end
if ARGV[11] ~= '' then
  set(turn.answer, ARGV[11])
  return {'answered', 'answer', ARGV[11]}
end
if get(turn.token) ~= token then
  local claims = redis.call('HINCRBY', KEYS[4], turn.claims .. id, 1)
  if claims > tonumber(ARGV[10]) then
    unschedule('turns', ARGV[8])
    redis.call('HDEL', KEYS[4], turn.claims .. id)
    set(turn.failure, '{"error":"crashed_worker"}')
    return {'dead'}
  end
end
set(turn.token, token)
set(turn.ends, at + tonumber(ARGV[4]))
redis.call('HDEL', KEYS[4], turn.failure .. id)
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
  local found = redis.call('HMGET', KEYS[4], turn.message .. of, turn.decision .. of, turn.results .. of, turn.reply .. of)
  for j = 1, 4 do past[j][i] = found[j] or '' end
end
local revision, record, own = '', '', {}
if version ~= ARGV[6] then
  revision, record = redis.call('HGET', KEYS[1], 'rev'), redis.call('HGET', KEYS[1], 'record')
  own = redis.call('HVALS', KEYS[2])
end
return {'taken', 'message', message, 'age', tostring(at - tonumber(get(turn.arrived))), 'at', tostring(at),
  'version', version, 'revision', revision, 'record', record, 'own', own,
  'repositories', redis.call('HVALS', KEYS[3]),
  'ids', ids, 'messages', past[1], 'decisions', past[2], 'results', past[3], 'replies', past[4],
  'unfinished', redis.call('HGET', KEYS[4], 'unfinished') or '', 'claims', get(turn.verified),
  'app', app[2] or '', 'session', redis.call('HGET', KEYS[9], 'generation') or ''}
`)

// Acceptance is a request for the lease of a turn: that of a new message, or an existing
// one.
type Acceptance struct {
	Turn
	Token string // of the lease
	Lease time.Duration
	// Message is JSON, empty to claim a turn that is there; Says a hash of what it says,
	// and Claims the JSON of the verified claims that its tools need.
	Message, Says, Claims string
	// Answer is that of a message which is matched against nothing.
	Answer string
	// History is how many messages the matcher is shown, Version the one of the app that
	// the caller has.
	History int
	Version string
	// Life is how long an unused session lives, and Remembers how long its generation is
	// kept after that.
	Life, Remembers time.Duration
	// Messages is how many the history of the session may have.
	Messages int
}

// Status is the result of a script of the ledger.
type Status string

// What Accept finds.
const (
	NoApp    Status = "noapp"    // the app does not exist
	Gone     Status = "gone"     // there is no such turn to claim, or it is not due any more
	Reused   Status = "reused"   // the messageId belongs to a message that says something else
	Answered Status = "answered" // before
	Busy     Status = "busy"     // another has the lease
	Decided  Status = "decided"  // before; its answer was lost with a process
	Crashed  Status = "dead"     // claimed too often without an outcome
	Limited  Status = "limited"  // a rate is reached; nothing was stored
	Taken    Status = "taken"    // the lease is the caller's
)

// Accepted is the reply of Accept.
type Accepted struct {
	Status
	Answer   string // of Answered
	Decision string // of Decided
	Taken    *TakenTurn
	// Few says that too few replicas of Redis have what was written.
	Few bool
}

// TakenTurn is the ledger's data on a turn whose lease was taken.
type TakenTurn struct {
	Message string
	Age, At time.Duration // since it was accepted; now: by the clock of Redis
	App     AppFields
	// Repositories are those of the session.
	Repositories []string
	History      []Past
	Unfinished   string // JSON of calls that lack values
	Claims       string // JSON
	// Generations of the app and of the session.
	AppGeneration, SessionGeneration string
}

// Past is an earlier message of a session. All of its fields but the id are JSON, and may
// be empty.
type Past struct{ ID, Message, Decision, Results, Reply string }

// Accept asks for a turn. A *RateError says that a limit is reached. After an error that
// wraps keyspace.ErrUnavailable it is not known whether the turn was taken.
func (l *Ledger) Accept(ctx context.Context, a Acceptance) (Accepted, error) {
	k := a.keys()
	keys := []string{
		k.App(), k.Repos(""), k.Repos(a.Session), k.Turns(a.Session), k.Order(a.Session), k.Idle(),
		k.Rates(""), k.Rates(a.Session), k.Closed(a.Session),
	}
	run := accept.RunSafely
	if a.Message == "" {
		run = accept.Run // a worker goes on with what was accepted, whoever has it
	}
	crash.At(crash.AcceptBefore)
	raw, err := run(ctx, l.db, append(keys, k.Ledger()...),
		a.Turn.Message, a.Message, a.Token, a.Lease.Milliseconds(), a.History, a.Version,
		a.Life.Milliseconds(), a.Member(), a.App, maxClaims, a.Answer, a.Claims, a.Remembers.Milliseconds(), a.Says, a.App+"/"+a.Session, a.Messages)
	crash.At(crash.AcceptReply)
	few := errors.Is(err, keyspace.ErrReplicas)
	if err != nil && !few {
		return Accepted{}, err
	}
	return readAccepted(readReply(raw), few)
}

func readAccepted(r scriptReply, few bool) (Accepted, error) {
	found := Accepted{Status: Status(r.status), Answer: r.values.text("answer"), Decision: r.values.text("decision"), Few: few}
	switch found.Status {
	case Limited:
		return found, readLimited(r.values)
	case Taken:
		found.Taken = readTaken(r.values)
	}
	return found, nil
}

func readTaken(v values) *TakenTurn {
	t := &TakenTurn{
		Message: v.text("message"), Age: v.duration("age"), At: v.duration("at"),
		App:          AppFields{Version: v.text("version"), Revision: v.text("revision"), Record: v.text("record"), Repositories: v.texts("own")},
		Repositories: v.texts("repositories"), Unfinished: v.text("unfinished"), Claims: v.text("claims"),
		AppGeneration: v.text("app"), SessionGeneration: v.text("session"),
	}
	messages, decisions, results, replies := v.texts("messages"), v.texts("decisions"), v.texts("results"), v.texts("replies")
	for i, id := range v.texts("ids") {
		t.History = append(t.History, Past{id, messages[i], decisions[i], results[i], replies[i]})
	}
	return t
}
