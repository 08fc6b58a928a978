package ledger

import (
	"context"
	"slices"
	"time"

	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
)

// commit is the script that decides. It takes all firings of a plan or none. A firing is new,
// or a trigger that was held and moves on: see Move.
//
//	ITEMKEYS those that are named up to the rate of the session, then the trigger of each firing, then
//	     the fence of each that has one, then the other effects and the effect of each event
//	ITEMARGV those that are named, which are the fields of a Commitment: message is '' for a direct
//	     trigger, batch '1' where its events may be one, explained those of explanations that go when;
//	     then name and text of each part of the explanation, then of each firing what f has,
//	     then each other effect (JSON of an Entry)
//	=>   {status, ...}
//	     ok      with holder, the token of who has the outbox, if anybody: the plan's own
//	             where there was nothing in it; and batch, '1' where its events are one
//	     stale   a repository is not as it was matched; nothing was written
//	     changed what it rests on alone is not so; nothing was written
//	     lost    another has the turn, or has decided it
//	     closed  the session was closed meanwhile, or is being erased
//	     exists  a direct trigger of this id was fired before
//	     noapp   the app is gone
//	     limited with limit (on direct triggers), most and pause (ms); nothing was written
//	     differs of a firing (its triggerId), first has its values, or confirmed: they were;
//	             nothing was written
//	     moved   a trigger is not in the state, which is told, that it is to be moved from;
//	             early before its time, retracted where the user's next message took it back,
//	             notrigger without it; nothing was written
//
// A second run, by a client that lost the reply, finds the decision while the lease is still
// its own, and answers as the first did.
//
// While the app's version is the one that it was matched by, its repositories are as they
// were, and need not be read.
var commit = keyspace.NewGroupScript(keyspace.Items{Shared: `
KEYS app appRepos idle appOutbox triggers pending parts explained over sessions appRate recent
ARGV app
local app, at, fires, plain = $app, now(), 0, noneOf(12, 1, {5}) -- no session that was closed
local firings, explanations, boxes, decided, batches = {}, {}, {}, {}, 0
local of = redis.call('HMGET', @app, 'version', 'limits', 'generation')
local function holderOf(first, box)
  return first and string.match(first, '^#([^\t]*)') or redis.call('HGET', ledger.holders, box) or ''
end
`, Each: failpoint.Script(failpoint.CommitWithoutCAS, `
ITEMKEYS sessionRepos turns outbox sessionTriggers closed sessionRate firstTrigger
ITEMARGV session message member box token unfinished decision matched version ttl lease counts verified batch
ITEMARGV outboxLease events guessed explanation keep partCount firingCount questions heard profile size came
local session, message, box, token = $session, $message, $box, $token
local turns, parts = @turns, tonumber($partCount)
local list, argument, fences = {}, a + 26 + 2 * parts, 0
for i = 1, tonumber($firingCount) do
  local f = {key = KEYS[k + 6 + i]}
  for j, name in ipairs({'id', 'name', 'record', 'repository', 'session', 'revision', 'once', 'open', 'event', 'emitter', 'call', 'move'}) do
    f[name] = ARGV[argument + j]
  end
  f.move = f.move ~= '' and cjson.decode(f.move)
  if f.move and f.move.fence ~= '' then
    fences = fences + 1
    f.fence = KEYS[k + 6 + tonumber($firingCount) + fences]
  end
  f.new = not f.move or f.move.new
  list[i], argument = f, argument + 12
end
local function again(key, field, value)
  redis.call('HSET', key, field, value) -- so that replicas are waited for as they were the first time
  local first = redis.call('LINDEX', @outbox, 0)
  return {'ok', 'holder', holderOf(first, box), 'batch', begins(first, token) and '1' or '0'}
end
if not of[1] then return {'noapp'} end
local had = {}
if message ~= '' then
  had = redis.call('HMGET', turns, turn.decision .. message, turn.arrived .. message, turn.lease .. message, 'asked', 'unfinished', 'came')
  local ours = leaseOf(had[3]) == token
  if had[1] and ours then return again(turns, turn.lease .. message, had[3]) end
  if not had[2] then return {'closed'} end
  if had[1] or not ours then return {'lost'} end
else
  local by = redis.call('HGET', @firstTrigger, 'token')
  if by == token then return again(@firstTrigger, 'token', token) end
  if by and list[1].new then return {'exists'} end
end
local closed = plain and {} or redis.call('HMGET', @closed, 'generation', 'erasing')
if (tonumber(closed[2]) or 0) > at then return {'closed'} end
if $guessed == '1' and (of[1] ~= $matched or session ~= '' and (
    redis.call('EXISTS', @sessionRepos) == 1 or (redis.call('HGET', turns, 'session') or '') ~= $profile)) then
  return {'changed'}
end
for _, f in ipairs(list) do
  if f.new and (f.session ~= '' or of[1] ~= $matched) then
    local stored = redis.call('HGET', f.session == '' and @appRepos or @sessionRepos, f.repository) or ''
    if string.match(stored, '^%S+') ~= f.revision then return {'stale'} end
  end
  local cannot = f.move and unlike(f, f.move, f.fence, turns, of[3] or '', closed[1], at)
  if cannot then return cannot end
end
if message == '' and list[1].new then
  local over = $counts ~= '`+countedBefore+`' and overRate(of[2], @appRate, session ~= '' and @sessionRate or nil,
    {messages = $counts == '`+countedAsMessage+`' and 1 or 0, triggers = 1, bytes = tonumber($size)})
  if over then return over end
  if session ~= '' then useSession(turns, @idle, @sessions, @recent, app, session, tonumber($ttl)) end
end
for i, f in ipairs(list) do
  local trigger = {'open', f.open}
  if message == '' then trigger = {'open', f.open, 'token', token, 'until', at + tonumber($lease)} end
  for _, part in ipairs({'event', 'emitter', 'call'}) do
    if f[part] ~= '' then
      trigger[#trigger + 1] = part
      trigger[#trigger + 1] = f[part]
    end
  end
  if f.new then
    local since = micros() + fires
    fires = fires + 1
    firings[#firings + 1], firings[#firings + 2], firedAt[f.id] = since, f.id, since
    if session ~= '' then redis.call('ZADD', @sessionTriggers, since, f.id) end
    for _, field in ipairs({'record', f.record, 'fire', f.name, 'dead', '0', 'session', session}) do trigger[#trigger + 1] = field end
  end
  redis.call('HSET', f.key, unpack(trigger))
  if f.move then moved(f, f.move, f.fence, turns, of[3] or '', closed[1] or '', app, session, @over, @pending, at) end
  if f.once == '1' then
    if f.session == '' then
      redis.call('HDEL', @appRepos, f.repository)
      redis.call('HSET', @app, 'version', $version)
      of[1] = $version
    else
      redis.call('HDEL', @sessionRepos, f.repository)
    end
  end
end
if session ~= '' then ask(turns, $questions, $heard, had[4]) end
if message ~= '' then
  local fields = {turn.decision .. message, $decision}
  if $explanation ~= '' then fields[3], fields[4] = turn.explained .. message, $explanation end
  if $unfinished ~= (had[5] or '') then fields[#fields + 1], fields[#fields + 2] = 'unfinished', $unfinished end
  local came = had[6] or ''
  if string.sub(came, 1, 1) ~= $came then fields[#fields + 1], fields[#fields + 2] = 'came', $came .. string.gsub(came, $came, '') end
  redis.call('HSET', turns, unpack(fields))
  if $verified == '1' then redis.call('HDEL', turns, turn.verified .. message) end
  if $explanation ~= '' then
    local goes = at + tonumber($keep)
    explanations[#explanations + 1], explanations[#explanations + 2] = goes, app .. '/' .. $member
    for i = a + 27, a + 26 + 2 * parts, 2 do
      redis.call('HSET', @parts, ARGV[i], ARGV[i + 1])
      explanations[#explanations + 1], explanations[#explanations + 2] = goes + tonumber($keep), app .. '//' .. ARGV[i]
    end
  end
end
local effect = k + 6 + #list + fences -- the key of the last one that is written
for i = argument + 1, a + args do
  local e = cjson.decode(ARGV[i])
  effect = effect + 1
  enqueue(KEYS[effect], e, app, @appOutbox, e.order ~= '1' and token or '')
end
if $batch == '1' and $events ~= '' and batched(@outbox, session, token, $events) == 1 then
  boxes[#boxes + 1], boxes[#boxes + 2], batches = at + tonumber($outboxLease), box, batches + 1
  if message ~= '' then decided[#decided + 1] = $member end
  return {'ok', 'holder', token, 'batch', '1'}
elseif $batch == '1' and $events ~= '' then
  redis.call('LTRIM', @outbox, 0, -2) -- others are before it
end
local first = redis.call('LINDEX', @outbox, 0)
for i, e in ipairs(unpacked($events)) do
  e.session, e.box, e.lease = session, box, tonumber($outboxLease)
  enqueue(KEYS[effect + i], e, app, @outbox, token)
end
if message ~= '' then unschedule('turns', $member) end
for i, f in ipairs(list) do
  if not f.move or f.move.state == '' then redis.call('ZADD', @pending, fired(@triggers, f.id), f.id) end
end
return {'ok', 'holder', holderOf(first or redis.call('LINDEX', @outbox, 0), box), 'batch', '0'}
`), End: `
if #firings > 0 then redis.call('ZADD', @triggers, unpack(firings)) end
if #explanations > 0 then redis.call('ZADD', @explained, unpack(explanations)) end
scheduleAll(app, 'outboxes', boxes)
if #decided > 0 then batches = batches - redis.call('ZREM', ledger.turns, unpack(decided)) end
if batches ~= 0 then redis.call('INCRBY', ledger.owed, batches) end
`}, keyspace.EffectLua, keyspace.SessionLua, TurnLua, rateLua, batchLua, firedLua, askedLua, noneLua,
	failpoint.Script(failpoint.MoveWithoutState, failpoint.Script(failpoint.UnfencedFirst, holdLua)))

// Commitment is a decision as the script reads it, with all that it owes. The script looks
// into none of the strings that hold JSON. Times are in milliseconds.
type Commitment struct {
	Turn
	Box        string // the outbox of its events
	Token      string
	Unfinished string // JSON
	Decision   string // opaque
	Came       string // one of keyspace.CameTo, of a message
	// Matched is the version of the app that it was matched by, Version the one that
	// follows where a repository of the app goes.
	Matched, Version string
	TTL              int64
	Lease            int64 // of its answer
	Claims           bool  // the turn has verified claims
	Firings          []Firing
	Events           []keyspace.Entry // of its outbox, in their order
	Others           []keyspace.Entry // calls, and events of the app's outbox
	// Guessed says that nothing was read for it: it is refused, as Changed, unless Matched is
	// still the version of the app, the session has no repositories, and Put (JSON) is what
	// was put of it.
	Guessed bool
	Put     string
	// Questions are those of the triggers that begin to wait for a yes, and Heard says what the
	// last thing is that was put to the user.
	Questions []Question
	Heard     Heard
	// FrontEnd says that a direct trigger counts as a message as well, and Counted that it was
	// counted before.
	FrontEnd, Counted bool
	Explanation
}

// Heard says what a message leaves of the questions that were asked before it.
type Heard string

// The values of Heard.
const (
	NoMessage Heard = ""  // they are as they were: nothing was put to the user
	Unrelated Heard = "0" // likewise: a message that was about nothing
	Related   Heard = "1" // none is the last thing that was put to the user any more
	Asking    Heard = "2" // the Questions are
)

// Explanation is why a message was decided so. The script looks into none of it.
type Explanation struct {
	Body string // empty for none
	// Parts are kept beside it, by their names, for all messages that name them, and for
	// twice as long.
	Parts map[string]string
	Keep  time.Duration
}

// Firing is one firing of a tool.
type Firing struct {
	ID         string
	Name       string // its effects are named after it
	Record     string // opaque; empty where there is one
	Size       int    // bytes that it counts for, of a direct trigger
	Repository string
	Session    string // of the repository
	Revision   string
	Once       bool
	Open       int // how many effects it has
	States     States
	// Move is what makes it other than one that is due at once; nil for nothing.
	Move *Move
}

// States are those of the effects of a trigger, as JSON; empty where it has none.
type States struct{ Event, Emitter, Call string }

// of is the state of a part, as keyspace.Parts names it; a result has none.
func (s States) of(part string) string {
	return map[string]string{"event": s.Event, "emitter": s.Emitter, "call": s.Call}[part]
}

// Commit statuses.
const (
	Committed    Status = "ok"
	Stale        Status = "stale"   // a repository is not as it was matched; nothing was written
	Changed      Status = "changed" // what was guessed is not so; nothing was written
	Lost         Status = "lost"    // another has the turn, or has decided it
	Closed       Status = "closed"  // the session was closed meanwhile
	AlreadyFired Status = "exists"  // a direct trigger of this id was fired before
	// Of a Move: what was known of equal values, or of a confirmation, is not so; the trigger
	// has another state, its time is not over (Early), the user took it back, or it is
	// gone.
	Differs   Status = "differs"
	Moved     Status = "moved"
	Retracted Status = "retracted"
	NoTrigger Status = "notrigger"
)

// Decision is the reply to a Commitment.
type Decision struct {
	Status
	// Holder has the outbox, empty where nobody does: the commitment's own token where there
	// was nothing in it.
	Holder string
	// Batch says that its events are one Batch, to be settled or unpacked.
	Batch bool
	// Few says that too few replicas of Redis have the decision.
	Few bool
	// Firing is the one that Differs: First has its values, unless that is empty, and
	// Confirmed says that they were.
	Firing, First string
	Confirmed     bool
	State         string // of a trigger that has Moved
}

// Commit decides. A *RateError says that a limit is reached. It answers the same each time
// that it is asked with the same token.
func (l *Ledger) Commit(ctx context.Context, c Commitment) (Decision, error) {
	args, err := c.arguments()
	if err != nil {
		return Decision{}, err
	}
	failpoint.At(failpoint.CommitBefore)
	r, few, err := l.runGrouped(ctx, l.commits, c.App, c.shared, keyspace.Part{Keys: c.keys(), Args: args})
	failpoint.At(failpoint.CommitReply)
	if err != nil {
		return Decision{}, err
	}
	return Decision{
		Status: r.Status, Holder: r.text("holder"), Batch: r.is("batch"), Few: few,
		Firing: r.text("firing"), First: r.text("first"), Confirmed: r.text("confirmed") != "", State: r.text("state"),
	}, nil
}

// shared are the keys that all decisions of the app have.
func (c Commitment) shared() keyspace.Part {
	k := c.Turn.keys()
	return keyspace.Part{Args: []string{c.App}, Keys: append([]string{
		k.App(), k.Repos(""), k.Idle(), k.Outbox(keyspace.Box("", "")), k.Triggers(""), k.InState(keyspace.Pending),
		k.ExplainedParts(), k.Explained(), k.Over(), k.Sessions(), k.Rates(""), keyspace.Recent(k),
	}, k.Ledger()...)}
}

func (c Commitment) keys() []string {
	k := c.Turn.keys()
	keys := []string{k.Repos(c.Session), k.Turns(c.Session), k.Outbox(c.Box), k.Triggers(c.Session), k.Closed(c.Session), k.Rates(c.Session)}
	for _, firing := range c.Firings {
		keys = append(keys, k.Trigger(firing.ID))
	}
	for _, firing := range c.Firings {
		if firing.Move != nil && firing.Move.Fence != "" {
			keys = append(keys, k.Fence(firing.Move.Fence))
		}
	}
	for _, owed := range slices.Concat(c.Others, c.Events) {
		keys = append(keys, k.Effect(owed.ID))
	}
	return keys
}

// How a direct trigger counts to the limits of a minute.
const (
	countedAsTrigger = "0"
	countedAsMessage = "1" // as well
	countedBefore    = "2"
)

func (c Commitment) counts() string {
	switch {
	case c.Counted:
		return countedBefore
	case c.FrontEnd:
		return countedAsMessage
	}
	return countedAsTrigger
}

// size is how many bytes a direct trigger counts for.
func (c Commitment) size() int {
	if len(c.Firings) == 0 {
		return 0
	}
	return c.Firings[0].Size
}

func (c Commitment) arguments() ([]string, error) {
	// The outcome of a call, which waits for nothing, is written with those of the events.
	calls := slices.ContainsFunc(c.Others, func(owed keyspace.Entry) bool { return owed.Order == "" })
	args := append(make([]string, 0, 26+2*len(c.Parts)+12*len(c.Firings)+len(c.Others)),
		c.Session, c.Message, c.Member(), c.Box, c.Token, c.Unfinished, c.Decision, c.Matched, c.Version,
		keyspace.Number(c.TTL), keyspace.Number(c.Lease), c.counts(), keyspace.Flag(c.Claims), keyspace.Flag(!calls), milliseconds(keyspace.EventLease),
		packed(c.Events), keyspace.Flag(c.Guessed), c.Body, milliseconds(c.Keep), keyspace.Number(len(c.Parts)), keyspace.Number(len(c.Firings)),
		linesOf(c.Questions), string(c.Heard), c.Put, keyspace.Number(c.size()), c.Came)
	for name, text := range c.Parts {
		args = append(args, name, text)
	}
	for _, f := range c.Firings {
		move := ""
		if f.Move != nil {
			var err error
			if move, err = exactjson.Text(f.Move); err != nil {
				return nil, err
			}
		}
		args = append(args, f.ID, f.Name, f.Record, f.Repository, f.Session, f.Revision, keyspace.Flag(f.Once), keyspace.Number(f.Open), f.States.Event, f.States.Emitter, f.States.Call, move)
	}
	for _, owed := range c.Others {
		text, err := exactjson.Text(owed)
		if err != nil {
			return nil, err
		}
		args = append(args, text)
	}
	return args, nil
}
