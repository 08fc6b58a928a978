package ledger

import (
	"context"

	"earshot/repositories/keyspace"
)

// peek reads what accept reads of a message, and writes nothing. Of a message that is in the
// history it is what was before it.
//
//	KEYS app, repos of the app, repos of the session, turns, order, closed
//	ARGV 1 messageId, 2 messages of history, 3 version of the app that the caller has
//	=>   noapp, or ok with
//	     message, where it is in the history, at (ms), version, revision and record of the
//	     app, its own repositories, those of the session, the history, unfinished calls
//	     the triggers whose question was asked last, and all questions, where it is not in the
//	     history, the generations of app and session, and the record of the session
var peek = keyspace.NewFreeingScript(TurnLua, `
local turns, order, id = KEYS[4], KEYS[5], ARGV[1]
local app = redis.call('HMGET', KEYS[1], 'version', 'generation')
local version = app[1]
if not version then return {'noapp'} end
local had = redis.call('HMGET', turns, turn.message .. id, 'left', 'unfinished', 'asked', 'session', 'questions')
local ids, left = redis.call('LRANGE', order, 0, -1), tonumber(had[2]) or 0
local before = #ids
if had[1] then
  for i, of in ipairs(ids) do
    if of == id then
      before = i - 1
      break
    end
  end
end
local earlier, most, from = left + before, tonumber(ARGV[2]), left
if earlier > most then
  local step = math.max(1, math.floor(most / 4))
  from = math.max(left, math.min(earlier, math.ceil((earlier - most) / step) * step))
end
local history = {}
for i = from - left + 1, before do
  local of = ids[i]
  local found = redis.call('HMGET', turns, turn.message .. of, turn.decision .. of, turn.results .. of, turn.reply .. of)
  history[#history + 1] = of
  for j = 1, 4 do history[#history + 1] = found[j] or '' end
end
local revision, record, own = '', '', {}
if version ~= ARGV[3] then
  revision, record = redis.call('HGET', KEYS[1], 'rev'), redis.call('HGET', KEYS[1], 'record')
  own = redis.call('HVALS', KEYS[2])
end
return {'ok', 'message', had[1] or '', 'at', tostring(now()), 'version', version, 'revision', revision, 'record', record, 'own', own,
  'repositories', redis.call('HVALS', KEYS[3]), 'history', history, 'unfinished', not had[1] and had[3] or '',
  'asked', not had[1] and had[4] or '', 'questions', not had[1] and had[6] or '', 'put', had[5] or '',
  'app', app[2] or '', 'session', redis.call('HGET', KEYS[6], 'generation') or ''}
`)

// Peek reads what is there of a message, or would be if it came now, and leaves all as it is.
// The message is empty where it is not in the history; else the history is that before it, and
// no unfinished calls are read, nor what was asked. It is nil without the app. version is the app's that the caller
// has.
func (l *Ledger) Peek(ctx context.Context, t Turn, history int, version string) (*TakenTurn, error) {
	k := t.keys()
	raw, err := peek.Run(ctx, l.db, []string{
		k.App(), k.Repos(""), k.Repos(t.Session), k.Turns(t.Session), k.Order(t.Session), k.Closed(t.Session),
	}, t.Message, history, version)
	if err != nil {
		return nil, err
	}
	r := readReply(raw)
	if Status(r.status) == NoApp {
		return nil, nil
	}
	return readTaken(r.values), nil
}
