package trigger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"earshot/repositories/crash"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger/effect"
)

// commit is the script that decides. It takes all fires of a plan or none.
//
//	KEYS 1 app, 2 repos of the app, 3 repos of the session, 4 turns, 5 idle,
//	     6 outbox of the session, 7 outbox of the app, 8 triggers of the app,
//	     9 triggers of the session, 10 pending, then the trigger of each fire, then
//	     the effect of each owed, the rates of the app and those of the session, then
//	     the ledger
//	ARGV 1 commitment (JSON)
//	=>   {status, ...}
//	     ok      the token of who has the session's outbox, if anybody: the plan's own
//	             where there was nothing in it
//	     stale   a repository is not as it was matched; nothing was written
//	     lost    another has the turn, or has decided it
//	     closed  the session was closed meanwhile
//	     exists  a direct trigger of this id was fired before
//	     noapp   the app is gone
//	     limited which limit on direct triggers, its number, pause (ms); nothing was written
//
// A second run, by a client that lost the reply, finds the first one's token beside
// the decision and answers as it did.
var commit = keyspace.NewScript(keyspace.OweLua, rateLua, crash.Script(`
local doc, at = cjson.decode(ARGV[1]), now()
local function reply() return {'ok', redis.call('HGET', ledger.holders, doc.box) or ''} end
local function again(key, field)
  redis.call('HSET', key, field, doc.token) -- so that replicas are waited for as they were the first time
  return reply()
end
if redis.call('EXISTS', KEYS[1]) == 0 then return {'noapp'} end
if doc.message ~= '' then
  if redis.call('HGET', KEYS[4], 'x:' .. doc.message) == doc.token then return again(KEYS[4], 'x:' .. doc.message) end
  if redis.call('HEXISTS', KEYS[4], 'm:' .. doc.message) == 0 then return {'closed'} end
  if redis.call('HEXISTS', KEYS[4], 'd:' .. doc.message) == 1 then return {'lost'} end
  if redis.call('HGET', KEYS[4], 'k:' .. doc.message) ~= doc.token then return {'lost'} end
else
  local by = redis.call('HGET', KEYS[11], 'token')
  if by == doc.token then return again(KEYS[11], 'token') end
  if by then return {'exists'} end
end
for _, fire in ipairs(doc.fires) do
  local repos = fire.session == '' and KEYS[2] or KEYS[3]
  local stored = redis.call('HGET', repos, fire.repository) or ''
  if string.match(stored, '^%S+') ~= fire.revision then return {'stale'} end
end
if doc.message == '' then
  local over = overRate(KEYS[1], KEYS[others - 1], doc.session ~= '' and KEYS[others] or nil,
    {messages = doc.frontEnd and 1 or 0, triggers = 1, bytes = #doc.fires[1].record})
  if over then return over end
end
for i, fire in ipairs(doc.fires) do
  local key = KEYS[10 + i]
  redis.call('HSET', key, 'record', fire.record, 'fire', fire.fire, 'token', doc.token, 'open', fire.open, 'dead', 0,
    'until', at + doc.lease, 'session', doc.session)
  for part, state in pairs(fire.states) do redis.call('HSET', key, part, state) end
  redis.call('ZADD', KEYS[8], micros(), fire.id)
  if doc.session ~= '' then redis.call('ZADD', KEYS[9], micros(), fire.id) end
  redis.call('ZADD', KEYS[10], micros(), fire.id)
  if fire.once then
    if fire.session == '' then
      redis.call('HDEL', KEYS[2], fire.repository)
      redis.call('HSET', KEYS[1], 'version', doc.version)
    else
      redis.call('HDEL', KEYS[3], fire.repository)
    end
  end
end
for i, e in ipairs(doc.effects) do
  local ours = e.session == doc.session
  owe(KEYS[10 + #doc.fires + i], e, doc.app, ours and KEYS[6] or KEYS[7], ours and doc.token or '')
end
if doc.session ~= '' then redis.call('ZADD', KEYS[5], at + doc.ttl, doc.app .. '/' .. doc.session) end
if doc.message ~= '' then
  redis.call('HSET', KEYS[4], 'd:' .. doc.message, doc.decision, 'x:' .. doc.message, doc.token,
    'unfinished', doc.unfinished)
  redis.call('HDEL', KEYS[4], 'v:' .. doc.message)
  unschedule('turns', doc.member)
end
return reply()
`))

// commitment is a plan as the script reads it. The script looks into none of the
// strings that hold JSON.
type commitment struct {
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
	Fires      []committedFire  `json:"fires"`
	Effects    []keyspace.Entry `json:"effects"`
	// FrontEnd says that a direct trigger counts as a message as well.
	FrontEnd bool `json:"frontEnd"`
}

type committedFire struct {
	ID         string            `json:"id"`
	Fire       string            `json:"fire"`
	Record     string            `json:"record"`
	Repository string            `json:"repository"`
	Session    string            `json:"session"`
	Revision   string            `json:"revision"`
	Once       bool              `json:"once"`
	Open       int               `json:"open"`
	States     map[string]string `json:"states"`
}

// Statuses of commit.
const (
	commitOK      = "ok"
	commitStale   = "stale"
	commitLost    = "lost"
	commitClosed  = "closed"
	commitExists  = "exists"
	commitNoApp   = "noapp"
	commitLimited = "limited"
)

// commit runs the script, and notes in the plan who has the session's outbox.
func (e *Engine) commit(ctx context.Context, p *plan) (status string, err error) {
	doc, err := e.commitment(p)
	if err != nil {
		return "", err
	}
	text, err := exactjson.Encode(doc)
	if err != nil {
		return "", err
	}
	if crash.Planted(crash.EarlyPublish) {
		for _, effect := range p.effects {
			e.outcome(ctx, e.events, effect.Effect) // which refuses calls
		}
	}
	crash.At(crash.CommitBefore)
	found, err := commit.RunSafely(ctx, e.db, p.commitKeys(), text)
	crash.At(crash.CommitReply)
	if p.few = errors.Is(err, keyspace.ErrReplicas); err != nil && !p.few {
		return "", err
	}
	reply := keyspace.Texts(found)
	switch reply[0] {
	case commitNoApp:
		return "", fmt.Errorf("app %q: %w", p.app, store.ErrNotFound)
	case commitLimited:
		return "", readLimited(reply)
	}
	p.holder = strings.Join(reply[1:], "")
	return reply[0], nil
}

func (p *plan) commitKeys() []string {
	k := p.keys()
	keys := []string{
		k.App(), k.Repos(""), k.Repos(p.session), k.Turns(p.session), k.Idle(),
		k.Outbox(p.session), k.Outbox(""), k.Triggers(""), k.Triggers(p.session), k.InState(StatePending),
	}
	for _, fire := range p.fires {
		keys = append(keys, k.Trigger(fire.triggerID))
	}
	for _, effect := range p.effects {
		keys = append(keys, k.Effect(effect.ID))
	}
	return append(append(keys, k.Rates(""), k.Rates(p.session)), k.Ledger()...)
}

func (e *Engine) commitment(p *plan) (commitment, error) {
	decision, err := exactjson.Encode(p.answer)
	if err != nil {
		return commitment{}, err
	}
	doc := commitment{
		App: p.app, Session: p.session, Message: p.message, Member: p.member(), Box: keyspace.Box(p.session), Token: p.token,
		Unfinished: p.unfinished, Decision: string(decision), Version: e.newID(), TTL: e.store.SessionTTL().Milliseconds(),
		Lease: p.answerWithin(e.lease).Milliseconds(), Fires: []committedFire{}, Effects: []keyspace.Entry{}, FrontEnd: p.frontEnd,
	}
	for i, fire := range p.fires {
		committed, err := p.committedFire(i, fire)
		if err != nil {
			return commitment{}, err
		}
		doc.Fires = append(doc.Fires, committed)
	}
	for _, effect := range p.effects {
		doc.Effects = append(doc.Effects, effect.owed)
	}
	return doc, nil
}

// answerWithin is how long the replica that fires may take to its answer, while it
// lives: the lease of a turn, or the longest of its calls.
func (p *plan) answerWithin(lease time.Duration) time.Duration {
	for _, delivery := range p.effects {
		if delivery.Kind == effect.KindCall {
			lease = max(lease, time.Duration(delivery.owed.Lease)*time.Millisecond)
		}
	}
	return lease
}

func (p *plan) committedFire(i int, fire plannedFire) (committedFire, error) {
	record, err := exactjson.Encode(fire.record)
	if err != nil {
		return committedFire{}, err
	}
	states := map[string]string{}
	for part, state := range p.answer.Matches[i].parts() {
		text, err := exactjson.Encode(state)
		if err != nil {
			return committedFire{}, err
		}
		states[part] = string(text)
	}
	return committedFire{
		ID: fire.triggerID, Fire: fire.id, Record: string(record), Repository: fire.repository.ID, Session: fire.repository.SessionID,
		Revision: fire.repository.Revision, Once: fire.repository.Options.TriggerOnce, Open: len(states), States: states,
	}, nil
}

// parts are the states of the match's effects by their names.
func (m Match) parts() map[string]any {
	parts := map[string]any{}
	if m.Event != nil {
		parts[partEvent] = m.Event
	}
	if m.Emitter != nil {
		parts[partEmitter] = m.Emitter
	}
	if m.Call != nil {
		parts[partCall] = m.Call
	}
	return parts
}
