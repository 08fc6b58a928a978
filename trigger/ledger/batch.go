package ledger

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
)

// A batch holds all events of one decision as one member of an empty outbox. Its first line has #, the token of
// the decision, the session and the time (ms); then each event has a line with id, trigger, part and body. Tabs
// separate the fields: JSON has no raw tab or line break, and no effect id begins with #. If the first attempts
// succeed, the batch is settled and its events are never written one by one. Else it is unpacked, and each
// event becomes an effect. Calls are effects from the beginning, which the settlement ends if they are delivered.
//
// Its token is the outbox's lease token while the lease lasts. Its triggers become pending only when it is
// unpacked: until then a publisher has it.

// AsDecided is the stored answer of a turn that was answered as decided, with all events published, so that the
// answer is not stored twice. For a turn it replaces the lease, which has ended by then.
const AsDecided = "="

// packed returns the lines of a batch's events.
func packed(events []keyspace.Entry) string {
	var lines strings.Builder
	size := 0
	for _, e := range events {
		size += len(e.ID) + len(e.Trigger) + len(e.Part) + len(e.Body) + 4
	}
	lines.Grow(size)
	for _, e := range events {
		for _, field := range []string{e.ID, "\t", e.Trigger, "\t", e.Part, "\t", e.Body, "\n"} {
			lines.WriteString(field)
		}
	}
	return lines.String()
}

// batchLua defines batchOf(token), the beginning of the batch of a token; begins(batch, token), whether the
// batch begins so; unpacked(lines), the events of a batch as enqueue takes them, without their outbox; and
// batched(outbox, session, token, lines), which puts events as a batch into an outbox, which should be empty,
// and returns its number of members. The caller schedules the outbox and counts the batch as outstanding. It
// needs DueLua.
const batchLua = `
local function batchOf(token) return '#' .. token .. '\t' end
local function begins(batch, token)
  return batch and string.sub(batch, 1, #token + 2) == batchOf(token)
end
local function unpacked(lines)
  local events = {}
  for id, trigger, part, body in string.gmatch(lines, '([^\t\n]*)\t([^\t\n]*)\t([^\t\n]*)\t([^\n]*)\n') do
    events[#events + 1] = {id = id, kind = 'event', body = body, trigger = trigger, part = part, order = '1'}
  end
  return events
end
local function batched(outbox, session, token, lines)
  return redis.call('RPUSH', outbox, batchOf(token) .. session .. '\t' .. whole(now()) .. '\n' .. lines)
end
`

// settle closes batches whose events are all published, and their turns or direct triggers, together with calls that
// were delivered.
//
//	ITEMKEYS closing is the hash of the turns, or the direct trigger; then the trigger of each firing,
//	     and the effect of each call
//	ITEMARGV next is the token that takes the outbox over ('' for any), replyEvent that of the
//	     reply (JSON of an Entry); then of each firing triggerId, the states (JSON) of event and
//	     emitter, attempts, and the id and state of its call: '' without one, and no state while the
//	     call is under way; then messageId and JSON of each result for the history
//	=>   ok, or lost if the batch or a call is gone or has another token, with holds, 1
//	     if the outbox holds more events and next has its lease
//
// The events of replies are queued last: their outbox may be among those emptied.
//
// A second run finds the batch gone, and changes nothing.
var settle = keyspace.NewFreeingGroupScript(keyspace.Items{Shared: `
KEYS over triggers pending
ARGV app
local app, settled, emptied, called, over, pending, replyEvents = $app, 0, {}, {}, {}, {}, {}
`, Each: `
ITEMKEYS outbox closing chatOutbox replyEffect
ITEMARGV box token next lease keep id answer reply replyEvent firingCount
local outbox, closing, box, token, id, answer = @outbox, @closing, $box, $token, $id, $answer
local firings, effect = tonumber($firingCount), k + 4 + tonumber($firingCount)
local function lost() return {'lost', 'holds', redis.call('HGET', ledger.holders, box) == $next and '1' or '0'} end
for i = 1, keys - 4 - firings do
  if redis.call('HGET', KEYS[effect + i], 'token') ~= token then return lost() end
end
local had = redis.call('LPOP', outbox, 2) or {}
if had[2] then redis.call('LPUSH', outbox, had[2]) end
if not begins(had[1], token) then
  if had[1] then redis.call('LPUSH', outbox, had[1]) end
  return lost()
end
settled = settled + 1
if had[2] then pass(app, true, box, $next, tonumber($lease)) else emptied[#emptied + 1] = box end
for i = 1, firings do
  local trigger, from, open = KEYS[k + 4 + i], a + 4 + 6 * i, 0
  local firing, emitter, call, state = ARGV[from + 1], ARGV[from + 3], ARGV[from + 5], ARGV[from + 6]
  if call ~= '' then
    effect = effect + 1
    if state == '' then open = 1 else called[#called + 1] = call; redis.call('DEL', KEYS[effect]) end
  end
  local fields = {'open', open, 'log', ARGV[from + 4], 'event', ARGV[from + 2]}
  if emitter ~= '' then fields[#fields + 1], fields[#fields + 2] = 'emitter', emitter end
  if state ~= '' then fields[#fields + 1], fields[#fields + 2] = 'call', state end
  if redis.call('HSET', trigger, unpack(fields)) == #fields / 2 then -- there was none, which would have had open
    redis.call('DEL', trigger)
  elseif open > 0 then
    pending[#pending + 1], pending[#pending + 2] = fired(@triggers, firing), firing
  else
    over[#over + 1], over[#over + 2] = whole(now() + tonumber($keep)), app .. '/' .. firing
  end
end
for i = a + 11 + 6 * firings, a + args, 2 do addResult(closing, ARGV[i], ARGV[i + 1]) end
if answer ~= '' and id == '' then
  if redis.call('EXISTS', closing) == 1 then redis.call('HSETNX', closing, 'answer', answer) end
elseif answer ~= '' then
  local of = redis.call('HMGET', closing, turn.lease .. id, turn.answer .. id, turn.claims .. id, turn.ends .. id)
  if leaseOf(of[1]) == token then
    if not of[2] and $replyEvent ~= '' then replyEvents[#replyEvents + 1] = {@replyEffect, $replyEvent, @chatOutbox} end
    local fields, decided = {}, answer == '` + AsDecided + `'
    if not of[2] then fields[1], fields[2] = (decided and turn.lease or turn.answer) .. id, answer end
    if $reply ~= '' then fields[#fields + 1], fields[#fields + 2] = turn.reply .. id, $reply end
    if #fields > 0 then redis.call('HSET', closing, unpack(fields)) end
    if of[2] or not decided then redis.call('HDEL', closing, turn.lease .. id) end
    if of[3] or of[4] then redis.call('HDEL', closing, turn.claims .. id, turn.ends .. id) end
  end
end
return {'ok', 'holds', had[2] and $next ~= '' and '1' or '0'}
`, End: `
if #called > 0 then settled = settled + redis.call('ZREM', ledger.calls, unpack(called)) end
if settled > 0 then redis.call('INCRBY', ledger.owed, -settled) end
if #emptied > 0 then redis.call('ZREM', ledger.outboxes, unpack(emptied)) end
if #pending > 0 then redis.call('ZADD', @pending, unpack(pending)) end
for _, one in ipairs(replyEvents) do enqueue(one[1], cjson.decode(one[2]), app, one[3], '') end
if #over > 0 then redis.call('ZADD', @over, unpack(over)) end
`}, keyspace.EffectLua, TurnLua, passLua, batchLua, firedLua)

// passLua defines pass(app, left, box, next, lease), which hands an outbox over: to next, or to any worker if
// that is empty, or to none if the outbox is empty. It needs DueLua.
const passLua = `
local function pass(app, left, box, next, lease)
  if left and next ~= '' then
    redis.call('HSET', ledger.holders, box, next)
    schedule(app, 'outboxes', box, now() + lease)
    return
  end
  redis.call('HDEL', ledger.holders, box)
  if left then
    schedule(app, 'outboxes', box, now())
  else
    unschedule('outboxes', box)
  end
end
`

// Settlement records that all events of a batch are published, and which of its calls are delivered.
type Settlement struct {
	Turn
	Box   string
	Token string // of the commitment
	Next  string // token that takes over an outbox that holds more
	Keep  time.Duration
	// Answer closes the turn or direct trigger: JSON, or AsDecided. It is empty if that comes later. Reply (JSON)
	// goes with it.
	Answer     string
	Reply      string
	ReplyEvent *keyspace.Entry // the event of the reply; nil for none
	Trigger    string          // the direct trigger, if there is no message
	Firings    []Settled
	Results    []Result
}

// Result is what a call brings into the history of the message that set it off.
type Result struct{ Message, JSON string }

// Settled is a firing whose events are published.
type Settled struct {
	ID string
	// States are those of its effects. While its call is under way, Call is empty.
	States   States
	Attempts string // a line of JSON each
	Call     string // id of its call; empty without one
}

// Flushed is what became of a settlement.
type Flushed struct {
	// Holds reports that Next has the outbox with more events.
	Holds bool
	// Lost reports that nothing was written: the batch or a call is gone or has another token, also after an
	// earlier run whose reply was lost.
	Lost bool
}

// Settle records settlements of one or several apps in one round trip. After an error it is unknown which were
// written; all may be written again.
func (l *Ledger) Settle(ctx context.Context, list []Settlement) (flushed []Flushed, err error) {
	items := make([]appItem, len(list))
	for i, s := range list {
		item, err := s.item()
		if err != nil {
			return nil, err
		}
		items[i] = appItem{s.App, s.shared, item, 1}
	}
	failpoint.At(failpoint.SettleBefore)
	replies, err := runTogether(ctx, l.db, settle, len(list), items)
	failpoint.At(failpoint.SettleReply)
	if err != nil {
		return nil, err
	}
	flushed = make([]Flushed, len(list))
	for i, raw := range replies {
		r, fault := readItem(raw)
		flushed[i], err = Flushed{Holds: r.is("holds"), Lost: r.Status == Lost}, errors.Join(err, fault)
	}
	return flushed, err
}

func (s Settlement) shared() keyspace.Part {
	k := s.Turn.keys()
	return keyspace.Part{Keys: append([]string{k.Over(), k.Triggers(""), k.InState(keyspace.Pending)}, k.Ledger()...), Args: []string{s.App}}
}

func (s Settlement) item() (keyspace.Part, error) {
	replyEvent, err := s.ReplyEvent.Encode()
	if err != nil {
		return keyspace.Part{}, err
	}
	k := s.Turn.keys()
	box, closing := k.Outbox(s.Box), k.Turns(s.Session)
	if s.Trigger != "" {
		closing = k.Trigger(s.Trigger)
	}
	chatBox, replyEffect := box, box // neither is used without an event of a reply
	if s.ReplyEvent != nil {
		chatBox, replyEffect = k.Outbox(keyspace.ChatBox(s.Session)), k.Effect(s.ReplyEvent.ID)
	}
	item := keyspace.Part{
		Keys: append(make([]string, 0, 4+2*len(s.Firings)), box, closing, chatBox, replyEffect),
		Args: append(make([]string, 0, 10+6*len(s.Firings)+2*len(s.Results)),
			s.Box, s.Token, s.Next, eventLease, milliseconds(s.Keep), s.Message, s.Answer, s.Reply, replyEvent, strconv.Itoa(len(s.Firings))),
	}
	for _, f := range s.Firings {
		item.Keys, item.Args = append(item.Keys, k.Trigger(f.ID)), append(item.Args, f.ID, f.States.Event, f.States.Emitter, f.Attempts, f.Call, f.States.Call)
	}
	for _, f := range s.Firings {
		if f.Call != "" {
			item.Keys = append(item.Keys, k.Effect(f.Call))
		}
	}
	for _, r := range s.Results {
		item.Args = append(item.Args, r.Message, r.JSON)
	}
	return item, nil
}

// unpack replaces a batch by an effect for each of its events, and makes its triggers pending.
//
//	KEYS 1 outbox, 2 pending, 3 triggers of the app, then the effect of each event, then the
//	     ledger
//	ARGV 1 batch, 2 lease of an outbox (ms), 3 token that takes the outbox over, '' for
//	     any, 4 member of the outboxes
//	=>   1, or 0 if it is no longer the first of its outbox
var unpack = keyspace.NewFreeingScript(keyspace.EffectLua, batchLua, firedLua, `
local outbox, batch = KEYS[1], ARGV[1]
if redis.call('LINDEX', outbox, 0) ~= batch then return 0 end
local session, created, lines = string.match(batch, '^#[^\t]*\t([^\t]*)\t([^\n]*)\n(.*)$')
local events = unpacked(lines)
redis.call('LPOP', outbox)
for i = #events, 1, -1 do
  local e = events[i]
  e.session, e.lease = session, ARGV[2]
  write(KEYS[3 + i], e, created, '', 0)
  redis.call('LPUSH', outbox, e.id)
  if e.trigger ~= '' then redis.call('ZADD', KEYS[2], fired(KEYS[3], e.trigger), e.trigger) end
end
if ARGV[3] ~= '' then redis.call('HSET', ledger.holders, ARGV[4], ARGV[3]) end
redis.call('INCRBY', ledger.owed, #events - 1)
return 1
`)

// Unpack replaces the batch of a token by an effect for each of its events, unless it is settled or unpacked.
// The token keeps the outbox.
func (l *Ledger) Unpack(ctx context.Context, appID, box, token string) error {
	first, err := l.db.LIndex(ctx, keyspace.KeysOf(appID).Outbox(box), 0).Result()
	switch {
	case err != nil && !errors.Is(err, redis.Nil):
		return keyspace.Unavailable(err)
	case !strings.HasPrefix(first, "#"+token+"\t"):
		return nil
	}
	return l.unpack(ctx, appID, box, first, token)
}

func (l *Ledger) unpack(ctx context.Context, appID, box, batch, token string) error {
	k := keyspace.KeysOf(appID)
	keys := []string{k.Outbox(box), k.InState(keyspace.Pending), k.Triggers("")}
	_, events, _ := strings.Cut(batch, "\n")
	for line := range strings.Lines(events) {
		id, _, _ := strings.Cut(line, "\t")
		keys = append(keys, k.Effect(id))
	}
	failpoint.At(failpoint.UnpackBefore)
	_, err := unpack.Run(ctx, l.db, slices.Concat(keys, k.Ledger()), batch, keyspace.EventLease.Milliseconds(), token, box)
	failpoint.At(failpoint.UnpackReply)
	return err
}
