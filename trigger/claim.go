package trigger

import (
	"context"
	"slices"
	"strconv"
	"time"

	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger/effect"
)

// mostClaims is how often an effect or a turn may be claimed without an outcome. One
// that takes its workers down with it must not do so for ever.
const mostClaims = 5

// claim takes the lease of a call that is due.
//
//	KEYS effect, then the ledger
//	ARGV 1 id, 2 appId, 3 token, 4 most claims
//	=>   {status, ...}
//	     gone     it is not owed any more
//	     leased   another has it
//	     early    it is not due yet
//	     crashed  claimed too often without an outcome; leased all the same
//	     begun    an attempt that must not be made twice has begun and not ended; leased
//	              all the same
//	     ok
//	     the last three with kind, body, session, trigger, part, attempt, fails, age (ms),
//	     how often it was revived, lease (ms)
//
// The claim is counted before the work, so that a crash in it is counted as well.
var claim = keyspace.NewFreeingScript(keyspace.DueLua, `
local found = redis.call('HMGET', KEYS[1], 'kind', 'body', 'session', 'trigger', 'part', 'token', 'until', 'created', 'state', 'fails', 'lease', 'revived', 'begun')
local at, token = now(), ARGV[3]
if not found[1] or found[9] == 'dead' then
  unschedule('calls', ARGV[1])
  return {'gone'}
end
local status = 'ok'
if found[6] ~= token then
  local ends = tonumber(found[7])
  if ends > at then
    schedule(ARGV[2], 'calls', ARGV[1], ends)
    return {'leased'}
  end
  local due = tonumber(redis.call('ZSCORE', ledger.calls, ARGV[1]) or '0')
  if due > at then return {'early'} end
  redis.call('HINCRBY', KEYS[1], 'claims', 1)
  redis.call('HSET', KEYS[1], 'token', token, 'until', at + tonumber(found[11]))
  if (found[13] or '') == '' then redis.call('HINCRBY', KEYS[1], 'tries', 1) end
  schedule(ARGV[2], 'calls', ARGV[1], at + tonumber(found[11]))
end
if tonumber(redis.call('HGET', KEYS[1], 'claims')) > tonumber(ARGV[4]) then status = 'crashed' end
if (found[13] or '') ~= '' and found[13] ~= token then
  status = 'begun'
elseif found[13] then
  redis.call('HSET', KEYS[1], 'begun', token)
end
return {status, found[1], found[2], found[3], found[4], found[5],
  redis.call('HGET', KEYS[1], 'tries'), found[10], tostring(at - tonumber(found[8])),
  found[12] or '0', found[11]}
`)

// claimed is an effect that this process has the lease of.
type claimed struct {
	effect.Effect
	owed    keyspace.Entry
	fails   int
	revived int
	lease   time.Duration
	age     time.Duration // since it is owed, by the clock of Redis
	// crashed says that its claims ended without an outcome too often.
	crashed bool
	// begun says that an attempt has begun that must not be made twice, and that nobody
	// knows what came of it.
	begun bool
}

// claim takes the lease of a call; nil where it is not to be had.
func (e *Engine) claim(ctx context.Context, appID, id, token string) (*claimed, error) {
	k := keyspace.KeysOf(appID)
	reply, err := claim.Strings(ctx, e.db, append([]string{k.Effect(id)}, k.Ledger()...), id, appID, token, mostClaims)
	if err != nil {
		e.giveUp(taken{turnID: turnID{app: appID}, token: token, calls: []string{id}}, err)
		return nil, err
	}
	if !slices.Contains([]string{"ok", "crashed", "begun"}, reply[0]) {
		return nil, nil
	}
	return e.readClaimed(appID, id, reply)
}

func (e *Engine) readClaimed(appID, id string, reply []string) (*claimed, error) {
	c := &claimed{
		owed:  keyspace.Entry{ID: id, Kind: reply[1], Body: reply[2], Session: reply[3], Trigger: reply[4], Part: reply[5]},
		fails: number(reply[7]), age: millis(reply[8]), revived: number(reply[9]), lease: millis(reply[10]), crashed: reply[0] == "crashed", begun: reply[0] == "begun",
	}
	c.Effect = effect.Effect{
		ID: id, Kind: effect.Kind(c.owed.Kind), AppID: appID, SessionID: c.owed.Session,
		TriggerID: c.owed.Trigger, Attempt: number(reply[6]),
	}
	return c, c.readBody(e.store)
}

// readBody fills the effect from what the ledger keeps of it.
func (c *claimed) readBody(store *store.Store) error {
	var body storedCall
	if err := decode(c.owed.Body, &body); err != nil {
		return err
	}
	var payload fired
	if err := decode(string(body.Event), &payload); err != nil {
		return err
	}
	tool, err := store.OpenTool(c.AppID, body.Tool)
	if err != nil {
		return err
	}
	c.TraceParent = body.TraceParent
	c.Call = effect.CallOf(tool, payload.Values, body.Event)
	return nil
}

func number(text string) int {
	n, _ := strconv.Atoi(text) // written by our scripts
	return n
}
