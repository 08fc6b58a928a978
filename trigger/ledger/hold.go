package ledger

import (
	"context"
	"strings"

	"earshot/repositories/keyspace"
)

// Move is the change of a trigger that is not due at once: one held from the beginning, a duplicate of
// another's values, or an existing one that changes its state. Times are in milliseconds. The script reads it
// as JSON; Held, Result and all ids are opaque to it.
type Move struct {
	// New reports that the trigger does not exist yet. Else it must be in the state From. A move by the clock
	// requires that its time is over; any other that releases it must come before.
	New     bool   `json:"new"`
	From    string `json:"from"`
	ByClock bool   `json:"byClock"`
	// State is its new state; empty if its effects become due.
	State string `json:"state"`
	// Held are effects (JSON) kept until it is due. Wait is how long it stays held unless it is moved; negative
	// for no wait.
	Held string `json:"held"`
	Wait int64  `json:"wait"`
	// OnNext reports that the user's next message takes it back.
	OnNext bool `json:"onNext"`
	// Fence names the fence of its values, empty for none. Own reports that it is the session's: a trigger of an earlier
	// session of that id does not hold it. First is the trigger known to hold it, Within how long this one holds it.
	Fence  string `json:"fence"`
	Own    bool   `json:"own"`
	First  string `json:"first"`
	Within int64  `json:"within"`
	// Unless is a digest that must not be confirmed in the session, Confirmed one that is from now on.
	Unless    string `json:"unless"`
	Confirmed string `json:"confirmed"`
	// Message is the message that set it off, Result the outcome that its session keeps (JSON).
	Message string `json:"message"`
	Result  string `json:"result"`
	// Line is the move's line in the record (JSON), empty for none.
	Line string `json:"line"`
	// Keep is how long the record of an ended trigger is kept.
	Keep int64 `json:"keep"`
}

// ended is the state of a trigger that ended without an effect, unless it is a duplicate.
const ended = "cancelled"

// Besides turnFields, the hash of a session has asked: the triggers whose question was asked last, followed by
// a + if the user has since written about something else; onnext: those that the user's next message takes
// back; and a field with the prefix sessionConfirmed for each confirmed digest.
const sessionConfirmed = "y:"

// holdLua defines, for the commit script,
//
//	moveConflict(f, m, fence, own, turns, appGeneration, sessionGeneration, at)   why a move cannot be made as planned, as the
//	    reply of the script; nil if it can
//	applyMove(f, m, fence, turns, appGeneration, sessionGeneration, app, session, over, pending, at)   makes the move
//	storeQuestions(turns, questions, change, asked, replyWords)   stores the last question; asked is the previous one
//
// f is the firing with its key, fence the key of its fence or nil, own the triggers of its session. A fence of an
// earlier app of that name does not count: it has another generation. A session closed since has taken nothing back. A trigger stores the name of its fence. It needs DueLua and TurnLua.
const holdLua = `
local function without(list, id)
  local kept = {}
  for other in string.gmatch(list or '', '%S+') do
    if other ~= id then kept[#kept + 1] = other end
  end
  return table.concat(kept, ' ')
end
local function contains(list, id) return list and list ~= '' and without(list, id) ~= list end
local function fenceHolder(fence, generation)
  local had = redis.call('GET', fence)
  return had and string.sub(had, 1, #generation + 1) == generation .. ' ' and string.sub(had, #generation + 2) or ''
end
local function moveConflict(f, m, fence, own, turns, appGeneration, sessionGeneration, at)
  if not m.new then
    local had = redis.call('HMGET', f.key, 'state', 'due', 'fire', 'life')
    if not had[3] then return {'notrigger'} end
    local state, due = had[1] or '', tonumber(had[2]) or 0
    if state ~= m.from then return {'moved', 'state', state} end
    if m.byClock then
      if at < due then return {'early'} end
    elseif m.state ~= 'cancelled' and at >= due then
      return {'moved', 'state', 'expired'}
    end
    local same = (had[4] or sessionGeneration or '') == (sessionGeneration or '')
    if m.byClock and m.state == '' and m.onNext and same and not contains(redis.call('HGET', turns, 'onnext'), f.id) then return {'retracted'} end
  end
  if m.unless ~= '' and redis.call('HEXISTS', turns, '` + sessionConfirmed + `' .. m.unless) == 1 then
    return {'differs', 'firing', f.id, 'confirmed', '1', 'first', ''}
  end
  if m.new and fence then
    local holder = fenceHolder(fence, appGeneration)
    if m.own and sessionGeneration and holder ~= '' and not redis.call('ZSCORE', own, holder) then holder = '' end
    if holder ~= m.first then return {'differs', 'firing', f.id, 'confirmed', '', 'first', holder} end
  end
end
local function applyMove(f, m, fence, turns, appGeneration, sessionGeneration, app, session, over, pending, at)
  local fields = {'state', m.state}
  if m.new then
    fields[3], fields[4] = 'held', m.held
    if fence and m.state ~= 'duplicate' then fields[#fields + 1], fields[#fields + 2] = 'fence', m.fence end
  elseif m.state == '' or m.state == 'cancelled' then
    redis.call('HDEL', f.key, 'held', 'due')
  end
  if m.wait >= 0 then
    fields[#fields + 1], fields[#fields + 2] = 'due', at + m.wait
    schedule(app, 'held', f.id, at + m.wait)
    redis.call('ZADD', pending, fired(@triggers, f.id), f.id)
  else
    unschedule('held', f.id)
    redis.call('ZREM', pending, f.id)
  end
  if m.state == 'cancelled' or m.state == 'duplicate' then
    fields[#fields + 1], fields[#fields + 2] = 'open', 0
    redis.call('ZADD', over, at + m.keep, app .. '/' .. f.id)
  end
  if m.onNext and m.state == 'settling' then fields[#fields + 1], fields[#fields + 2] = 'life', sessionGeneration end
  if m.line ~= '' then
    fields[#fields + 1], fields[#fields + 2] = 'moves', (redis.call('HGET', f.key, 'moves') or '') .. m.line .. '\n'
  end
  redis.call('HSET', f.key, unpack(fields))
  if fence and m.new and m.state ~= 'duplicate' then redis.call('SET', fence, appGeneration .. ' ' .. f.id, 'PX', m.within) end
  if fence and m.state == 'cancelled' and fenceHolder(fence, appGeneration) == f.id then redis.call('DEL', fence) end
  if session == '' or not m.new and redis.call('EXISTS', turns) == 0 then return end
  local onnext = redis.call('HGET', turns, 'onnext') or ''
  local now = without(onnext, f.id)
  if m.onNext and m.state == 'settling' then now = now .. ' ' .. f.id end
  if now ~= onnext then redis.call('HSET', turns, 'onnext', now) end
  if m.confirmed ~= '' then redis.call('HSET', turns, '` + sessionConfirmed + `' .. m.confirmed, 1) end
  if m.result ~= '' then addResult(turns, m.message, m.result) end
end
local function storeQuestions(turns, questions, change, asked, replyWords)
  local all
  if questions ~= '' then
    all = (redis.call('HGET', turns, 'questions') or '') .. questions
    local _, lines = string.gsub(all, '\n', '')
    for _ = 1, lines - 16 do all = string.match(all, '^[^\n]*\n(.*)$') end
    redis.call('HSET', turns, 'questions', all)
  end
  if change == '` + string(Asking) + `' then
    redis.call('HSET', turns, 'asked', idsOf(questions))
  elseif change == '` + string(Related) + `' and asked then
    local still = replyWords ~= '' and askedBy(all or redis.call('HGET', turns, 'questions') or '', '', replyWords) or ''
    if still ~= '' then redis.call('HSET', turns, 'asked', still) else redis.call('HDEL', turns, 'asked') end
  end
end
`

// These stand in place of a space in the words of a message, where a sentence begins or ends.
const (
	SentenceEnd = "\v"
	QuotedEnd   = "\x0e" // within a quotation
	QuestionEnd = "\f"   // after a question
)

// askedLua defines idsOf(questions), the triggers of lines as linesOf writes them, and askedBy(questions, id,
// words), those that an agent's message asks about: it names one, or its words contain the question as sentences of
// their own, not as a quotation, and no other question after it. So "we cannot refund the order. Shall I go ahead
// with an exchange?" asks nothing. Both return ids separated by spaces.
const askedLua = `
local function idsOf(questions)
  local ids = {}
  for id in string.gmatch(questions, '([^\t\n]+)\t') do ids[#ids + 1] = id end
  return table.concat(ids, ' ')
end
local function asks(words, spaced, question)
  local first, last = 0, 0
  repeat
    first, last = string.find(spaced, question, first + 1, true)
  until not first or string.find(words, '^[` + SentenceEnd + QuestionEnd + `]', first) and string.sub(words, last, last) ~= ' '
    and not string.find(words, '` + QuestionEnd + `', last + 1, true)
  return first ~= nil
end
local function askedBy(questions, named, words)
  local ids, spaced = {}, string.gsub(words, '[` + SentenceEnd + QuotedEnd + QuestionEnd + `]', ' ')
  for id, of in string.gmatch(questions, '([^\t\n]+)\t([^\n]*)\n') do
    if id == named or string.find(of, '%S') and asks(words, spaced, of) then ids[#ids + 1] = id end
  end
  return table.concat(ids, ' ')
end
`

// Question is a trigger's question that waits for a yes.
type Question struct {
	Trigger string
	Words   string // by which an agent's message is recognized as the question, with a space at both ends
}

// linesOf returns questions as a session stores them, one line each; it keeps the last 16.
func linesOf(questions []Question) string {
	var lines strings.Builder
	for _, one := range questions {
		lines.WriteString(one.Trigger + "\t" + strings.NewReplacer("\t", " ", "\n", " ").Replace(one.Words) + "\n")
	}
	return lines.String()
}

// HeldTrigger is a trigger with its held effects.
type HeldTrigger struct {
	StoredTrigger
	Held    string // JSON
	Session string
}

// Held reads a trigger with its held effects; nil if it is gone.
func (l *Ledger) Held(ctx context.Context, appID, triggerID string) (*HeldTrigger, error) {
	found, err := l.db.HMGet(ctx, keyspace.KeysOf(appID).Trigger(triggerID), "record", "fire", "state", "held", "session", "due").Result()
	if err != nil {
		return nil, keyspace.Unavailable(err)
	}
	v := keyspace.Fields(found)
	if v[0] == "" {
		return nil, nil
	}
	return &HeldTrigger{StoredTrigger: StoredTrigger{ID: triggerID, Record: v[0], Name: v[1], State: v[2], Due: int64(number(v[5]))}, Held: v[3], Session: v[4]}, nil
}

// dropFromHeld removes a trigger that is no longer held from the lane of held ones.
//
//	KEYS trigger, then the ledger
//	ARGV triggerId
//	=>   1, or 0 if it is held
var dropFromHeld = keyspace.NewFreeingScript(keyspace.DueLua, `
local state = redis.call('HGET', KEYS[1], 'state')
if state == 'confirming' or state == 'settling' then return 0 end
unschedule('held', ARGV[1])
return 1
`)

// DropFromHeld removes a trigger that is gone or no longer held from the lane of held ones.
func (l *Ledger) DropFromHeld(ctx context.Context, appID, triggerID string) error {
	k := keyspace.KeysOf(appID)
	_, err := dropFromHeld.Run(ctx, l.db, append([]string{k.Trigger(triggerID)}, k.Ledger()...), triggerID)
	return err
}
