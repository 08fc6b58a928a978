package trigger

import (
	"context"
	"strconv"
	"strings"
	"time"

	"earshot/repositories"
)

// mostClaims is how often an effect or a turn may be claimed without an outcome. One
// that takes its workers down with it must not do so for ever.
const mostClaims = 5

// claim takes the lease of an effect that is due.
//
//	KEYS effect, due, outbox
//	ARGV 1 id, 2 member of due, 3 token, 4 most claims
//	=>   {status, ...}
//	     gone     it is not owed any more
//	     leased   another has it
//	     early    it is not due yet
//	     behind   an earlier event of the session is not published yet
//	     crashed  claimed too often without an outcome; leased all the same
//	     ok
//	     both last with kind, body, session, trigger, part, attempt, fails, age (ms),
//	     how often it was revived, lease (ms)
//
// The claim is counted before the work, so that a crash in it is counted as well.
var claim = repositories.NewScript(`
local found = redis.call('HMGET', KEYS[1], 'kind', 'body', 'session', 'trigger', 'part', 'order', 'token', 'until', 'created', 'state', 'fails', 'lease', 'revived')
local at, token = now(), ARGV[3]
if not found[1] or found[10] == 'dead' then
  redis.call('ZREM', KEYS[2], ARGV[2])
  return {'gone'}
end
local status = 'ok'
if found[7] ~= token then
  local ends = tonumber(found[8])
  if ends > at then
    redis.call('ZADD', KEYS[2], ends, ARGV[2])
    return {'leased'}
  end
  local due = tonumber(redis.call('ZSCORE', KEYS[2], ARGV[2]) or '0')
  if due > at then return {'early'} end
  if found[6] == '1' and redis.call('LINDEX', KEYS[3], 0) ~= ARGV[1] then
    redis.call('ZADD', KEYS[2], at + 1000, ARGV[2])
    return {'behind'}
  end
  redis.call('HINCRBY', KEYS[1], 'claims', 1)
  redis.call('HSET', KEYS[1], 'token', token, 'until', at + tonumber(found[12]))
  redis.call('HINCRBY', KEYS[1], 'tries', 1)
  redis.call('ZADD', KEYS[2], at + tonumber(found[12]), ARGV[2])
end
if tonumber(redis.call('HGET', KEYS[1], 'claims')) > tonumber(ARGV[4]) then status = 'crashed' end
return {status, found[1], found[2], found[3], found[4], found[5],
  redis.call('HGET', KEYS[1], 'tries'), found[11], tostring(at - tonumber(found[9])),
  found[13] or '0', found[12]}
`)

// claimed is an effect that this process has the lease of.
type claimed struct {
	Effect
	owed    repositories.Owed
	fails   int
	revived int
	lease   time.Duration
	age     time.Duration // since it is owed, by the clock of Redis
	// crashed says that its claims ended without an outcome too often.
	crashed bool
}

// claim takes the lease of an effect by its name in the ledger; nil where it is not to
// be had.
func (e *Engine) claim(ctx context.Context, member, token string) (*claimed, error) {
	appID, sessionID, id := splitMember(member)
	k := repositories.KeysOf(appID)
	reply, err := claim.Strings(ctx, e.db,
		[]string{k.Effect(id), k.Due(), k.Outbox(sessionID)}, id, member, token, mostClaims)
	if err != nil || reply[0] != "ok" && reply[0] != "crashed" {
		return nil, err
	}
	return e.readClaimed(appID, id, reply)
}

func (e *Engine) readClaimed(appID, id string, reply []string) (*claimed, error) {
	c := &claimed{
		owed:  repositories.Owed{ID: id, Kind: reply[1], Body: reply[2], Session: reply[3], Trigger: reply[4], Part: reply[5]},
		fails: number(reply[7]), age: millis(reply[8]), revived: number(reply[9]), lease: millis(reply[10]), crashed: reply[0] == "crashed",
	}
	c.Effect = Effect{
		ID: id, Kind: Kind(c.owed.Kind), AppID: appID, SessionID: c.owed.Session,
		TriggerID: c.owed.Trigger, Attempt: number(reply[6]),
	}
	return c, c.readBody(e.store)
}

// readBody fills the effect from what the ledger keeps of it.
func (c *claimed) readBody(store *repositories.Store) error {
	if c.Kind == KindEvent {
		c.Event = &Event{}
		err := decode(c.owed.Body, c.Event)
		c.TraceParent = c.Event.TraceParent
		return err
	}
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
	c.Call = newCall(tool, payload.Values, body.Event)
	return nil
}

// splitMember reads the name of an effect or of a turn in the ledger: a letter, the app,
// the session and the id, which may hold slashes.
func splitMember(member string) (appID, sessionID, id string) {
	words := strings.SplitN(member, "/", 4)
	if len(words) < 4 {
		return "", "", ""
	}
	if words[2] == repositories.NoSession {
		words[2] = ""
	}
	return words[1], words[2], words[3]
}

func number(text string) int {
	n, _ := strconv.Atoi(text) // written by our scripts
	return n
}
