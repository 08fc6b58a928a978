package ledger

import (
	"context"
	"errors"

	"earshot/repositories/crash"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
)

// commit is the script that decides. It takes all firings of a plan or none.
//
//	KEYS 1 app, 2 repos of the app, 3 repos of the session, 4 turns, 5 idle,
//	     6 outbox of the session, 7 outbox of the app, 8 triggers of the app,
//	     9 triggers of the session, 10 pending, then the trigger of each firing, then
//	     the effect of each owed, the rates of the app and those of the session, then
//	     the ledger
//	ARGV 1 commitment (JSON)
//	=>   {status, ...}
//	     ok      with holder, the token of who has the session's outbox, if anybody: the
//	             plan's own where there was nothing in it
//	     stale   a repository is not as it was matched; nothing was written
//	     lost    another has the turn, or has decided it
//	     closed  the session was closed meanwhile
//	     exists  a direct trigger of this id was fired before
//	     noapp   the app is gone
//	     limited with limit (on direct triggers), most and pause (ms); nothing was written
//
// A second run, by a client that lost the reply, finds the first one's token beside
// the decision and answers as it did.
var commit = keyspace.NewScript(keyspace.EffectLua, turnLua, rateLua, crash.Script(`
local doc, at = cjson.decode(ARGV[1]), now()
local function reply() return {'ok', 'holder', redis.call('HGET', ledger.holders, doc.box) or ''} end
local function again(key, field)
  redis.call('HSET', key, field, doc.token) -- so that replicas are waited for as they were the first time
  return reply()
end
if redis.call('EXISTS', KEYS[1]) == 0 then return {'noapp'} end
if doc.message ~= '' then
  if redis.call('HGET', KEYS[4], turn.decider .. doc.message) == doc.token then return again(KEYS[4], turn.decider .. doc.message) end
  if redis.call('HEXISTS', KEYS[4], turn.message .. doc.message) == 0 then return {'closed'} end
  if redis.call('HEXISTS', KEYS[4], turn.decision .. doc.message) == 1 then return {'lost'} end
  if redis.call('HGET', KEYS[4], turn.token .. doc.message) ~= doc.token then return {'lost'} end
else
  local by = redis.call('HGET', KEYS[11], 'token')
  if by == doc.token then return again(KEYS[11], 'token') end
  if by then return {'exists'} end
end
for _, firing in ipairs(doc.firings) do
  local repos = firing.session == '' and KEYS[2] or KEYS[3]
  local stored = redis.call('HGET', repos, firing.repository) or ''
  if string.match(stored, '^%S+') ~= firing.revision then return {'stale'} end
end
if doc.message == '' then
  local over = overRate(KEYS[1], KEYS[others - 1], doc.session ~= '' and KEYS[others] or nil,
    {messages = doc.frontEnd and 1 or 0, triggers = 1, bytes = #doc.firings[1].record})
  if over then return over end
end
for i, firing in ipairs(doc.firings) do
  local key = KEYS[10 + i]
  redis.call('HSET', key, 'record', firing.record, 'fire', firing.name, 'token', doc.token, 'open', firing.open, 'dead', 0,
    'until', at + doc.lease, 'session', doc.session)
  for part, state in pairs(firing.states) do redis.call('HSET', key, part, state) end
  redis.call('ZADD', KEYS[8], micros(), firing.id)
  if doc.session ~= '' then redis.call('ZADD', KEYS[9], micros(), firing.id) end
  redis.call('ZADD', KEYS[10], micros(), firing.id)
  if firing.once then
    if firing.session == '' then
      redis.call('HDEL', KEYS[2], firing.repository)
      redis.call('HSET', KEYS[1], 'version', doc.version)
    else
      redis.call('HDEL', KEYS[3], firing.repository)
    end
  end
end
for i, e in ipairs(doc.effects) do
  local ours = e.session == doc.session
  enqueue(KEYS[10 + #doc.firings + i], e, doc.app, ours and KEYS[6] or KEYS[7], ours and doc.token or '')
end
if doc.session ~= '' then redis.call('ZADD', KEYS[5], at + doc.ttl, doc.app .. '/' .. doc.session) end
if doc.message ~= '' then
  redis.call('HSET', KEYS[4], turn.decision .. doc.message, doc.decision, turn.decider .. doc.message, doc.token,
    'unfinished', doc.unfinished)
  redis.call('HDEL', KEYS[4], turn.verified .. doc.message)
  unschedule('turns', doc.member)
end
return reply()
`))

// Commitment is a decision as the script reads it, with all that it owes. The script looks
// into none of the strings that hold JSON. Times are in milliseconds.
type Commitment struct {
	App        string           `json:"app"`
	Session    string           `json:"session"`
	Message    string           `json:"message"`
	Member     string           `json:"member"`
	Box        string           `json:"box"`
	Token      string           `json:"token"`
	Unfinished string           `json:"unfinished"`
	Decision   string           `json:"decision"`
	Version    string           `json:"version"`
	TTL        int64            `json:"ttl"`
	Lease      int64            `json:"lease"`
	Firings    []Firing         `json:"firings"`
	Effects    []keyspace.Entry `json:"effects"`
	// FrontEnd says that a direct trigger counts as a message as well.
	FrontEnd bool `json:"frontEnd"`
}

// Firing is one firing of a tool.
type Firing struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"` // its effects are named after it
	Record     string            `json:"record"`
	Repository string            `json:"repository"`
	Session    string            `json:"session"`
	Revision   string            `json:"revision"`
	Once       bool              `json:"once"`
	Open       int               `json:"open"`
	States     map[string]string `json:"states"`
}

// Commit statuses.
const (
	Committed    Status = "ok"
	Stale        Status = "stale"  // a repository is not as it was matched; nothing was written
	Lost         Status = "lost"   // another has the turn, or has decided it
	Closed       Status = "closed" // the session was closed meanwhile
	AlreadyFired Status = "exists" // a direct trigger of this id was fired before
)

// Decision is the reply to a Commitment.
type Decision struct {
	Status
	// Holder has the session's outbox, empty where nobody does: the commitment's own token
	// where there was nothing in it.
	Holder string
	// Few says that too few replicas of Redis have the decision.
	Few bool
}

// Commit decides. A *RateError says that a limit is reached. It answers the same each time
// that it is asked with the same token.
func (l *Ledger) Commit(ctx context.Context, c Commitment) (Decision, error) {
	text, err := exactjson.Encode(c)
	if err != nil {
		return Decision{}, err
	}
	crash.At(crash.CommitBefore)
	raw, err := commit.RunSafely(ctx, l.db, c.keys(), text)
	crash.At(crash.CommitReply)
	few := errors.Is(err, keyspace.ErrReplicas)
	if err != nil && !few {
		return Decision{}, err
	}
	r := readReply(raw)
	if Status(r.status) == Limited {
		return Decision{}, readLimited(r.values)
	}
	return Decision{Status: Status(r.status), Holder: r.values.text("holder"), Few: few}, nil
}

func (c Commitment) keys() []string {
	k := keyspace.KeysOf(c.App)
	keys := []string{
		k.App(), k.Repos(""), k.Repos(c.Session), k.Turns(c.Session), k.Idle(),
		k.Outbox(c.Session), k.Outbox(""), k.Triggers(""), k.Triggers(c.Session), k.InState(keyspace.Pending),
	}
	for _, firing := range c.Firings {
		keys = append(keys, k.Trigger(firing.ID))
	}
	for _, owed := range c.Effects {
		keys = append(keys, k.Effect(owed.ID))
	}
	return append(append(keys, k.Rates(""), k.Rates(c.Session)), k.Ledger()...)
}
