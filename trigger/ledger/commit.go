package ledger

import (
	"context"
	"slices"
	"strconv"
	"time"

	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
)

// commit decides: it takes all firings of a plan or none. A firing is new, or a held trigger that moves on (see
// Move).
//
//	ITEMKEYS those that are named up to the rate of the session, then the trigger of each firing, then
//	     the fence of each that has one, then the other effects and the effect of each event
//	ITEMARGV those that are named, the fields of a Commitment: message is '' for a direct
//	     trigger, batch '1' if its events may form one, explained when explanations expire;
//	     then name and text of each part of the explanation, then the fields of f for each firing,
//	     then each other effect (JSON of an Entry)
//	=>   {status, ...}
//	     ok      with holder, the token that has the outbox, if any: the plan's own
//	             if it was empty; and batch, '1' if its events form one
//	     stale   a repository has changed since the match; nothing was written
//	     changed its precondition does not hold; nothing was written
//	     lost    another token has the turn, or has decided it
//	     closed  the session was closed meanwhile, or is being erased; or app or session have another generation
//	     exists  a direct trigger of this id was fired before
//	     noapp   the app is gone
//	     limited with limit (on direct triggers), most and pause (ms); nothing was written
//	     differs a firing (triggerId): first has its values, or confirmed: they were confirmed;
//	             nothing was written
//	     moved   a trigger is not in the state to move from; state has the actual one;
//	             early before its time, retracted if the user's next message took it back,
//	             notrigger without it; nothing was written
//
// A second run, by a client that lost the reply, finds the decision while it still has the lease, and answers
// as the first did.
//
// While the app still has the version of the match, its repositories are unchanged and need not be read.
//
// end is the same script, which even a full Redis runs: it decides what only ends triggers (see Commitment.ends).
var (
	commit = keyspace.NewGroupScript(commitItems, commitParts...)
	end    = keyspace.NewFreeingGroupScript(commitItems, commitParts...)
)

var commitItems = keyspace.Items{Shared: `
KEYS app appRepos idle appOutbox triggers pending parts explained over sessions appRate recent
ARGV app
local app, at, fires, states = $app, now(), 0, {'event', 'emitter', 'call'}
local empty = noneOf(12, 1, {3, 5}) -- no outbox with events, and no session that was closed
local plain = empty or noneOf(12, 1, {5})
local firings, pendings, explanations, boxes, decided, batches, filled = {}, {}, {}, {}, {}, 0, {}
local of = redis.call('HMGET', @app, 'version', 'limits', 'generation')
local heads, holders = {}, {} -- of outboxes to which this script has only appended
local function headOf(outbox)
  if empty and not filled[outbox] then return false end
  if heads[outbox] == nil then heads[outbox] = redis.call('LINDEX', outbox, 0) end
  return heads[outbox]
end
local function holderOf(first, box)
  local token = first and string.match(first, '^#([^\t]*)')
  if token then return token end
  holders[box] = holders[box] or redis.call('HGET', ledger.holders, box) or ''
  return holders[box]
end
`, Each: failpoint.Script(failpoint.CommitWithoutCAS, `
ITEMKEYS sessionRepos turns outbox sessionTriggers closed sessionRate firstTrigger
ITEMARGV session message member box token unfinished decision matchedVersion nextVersion ttl lease counts hasClaims batch
ITEMARGV outboxLease events optimistic explanation keep partCount firingCount questions questionChange profile size outcome
ITEMARGV chatMessage chatMatch replyWords generations
local session, message, box, token = $session, $message, $box, $token
local turns, parts = @turns, tonumber($partCount)
local list, argument, fences = {}, a + 30 + 2 * parts, 0
for i = 1, tonumber($firingCount) do
  local f = {
    key = KEYS[k + 6 + i], id = ARGV[argument + 1], name = ARGV[argument + 2], record = ARGV[argument + 3],
    repository = ARGV[argument + 4], session = ARGV[argument + 5], revision = ARGV[argument + 6], once = ARGV[argument + 7],
    open = ARGV[argument + 8], event = ARGV[argument + 9], emitter = ARGV[argument + 10], call = ARGV[argument + 11],
    move = ARGV[argument + 12] ~= '' and cjson.decode(ARGV[argument + 12]),
  }
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
if $generations ~= '' and $generations ~= (of[3] or '') .. ' ' .. (closed[1] or '') then return {'closed'} end
if $optimistic == '1' and (of[1] ~= $matchedVersion or session ~= '' and (
    redis.call('EXISTS', @sessionRepos) == 1 or (redis.call('HGET', turns, 'session') or '') ~= $profile)) then
  return {'changed'}
end
for _, f in ipairs(list) do
  if f.new and f.revision ~= '' and (f.session ~= '' or of[1] ~= $matchedVersion) then
    local stored = redis.call('HGET', f.session == '' and @appRepos or @sessionRepos, f.repository) or ''
    if string.match(stored, '^%S+') ~= f.revision then return {'stale'} end
  end
  local conflict = f.move and moveConflict(f, f.move, f.fence, @sessionTriggers, turns, of[3] or '', closed[1], at)
  if conflict then return conflict end
end
if message == '' and list[1].new then
  local over = $counts ~= '`+countedBefore+`' and overRate(of[2], @appRate, session ~= '' and @sessionRate or nil,
    {messages = $counts == '`+countedAsMessage+`' and 1 or 0, triggers = 1, bytes = tonumber($size)})
  if over then return over end
  if session ~= '' then useSession(turns, @idle, @sessions, @recent, app, session, tonumber($ttl)) end
  if $chatMessage ~= '' and redis.call('HEXISTS', turns, turn.message .. $chatMessage) == 1 then
    local before = redis.call('HMGET', turns, turn.called .. $chatMessage, 'came')
    redis.call('HSET', turns, turn.called .. $chatMessage, (before[1] or '') .. $chatMatch .. '\n', 'came', $outcome .. string.gsub(before[2] or '', $outcome, ''))
  end
end
for i, f in ipairs(list) do
  local trigger = {'open', f.open}
  if message == '' then trigger = {'open', f.open, 'token', token, 'until', at + tonumber($lease)} end
  for _, part in ipairs(states) do
    if f[part] ~= '' then
      trigger[#trigger + 1] = part
      trigger[#trigger + 1] = f[part]
    end
  end
  if f.new then
    local since = whole(micros() + fires)
    fires = fires + 1
    firings[#firings + 1], firings[#firings + 2], firedAt[f.id] = since, f.id, since
    if session ~= '' then redis.call('ZADD', @sessionTriggers, since, f.id) end
    local n = #trigger
    trigger[n + 1], trigger[n + 2], trigger[n + 3], trigger[n + 4] = 'record', f.record, 'fire', f.name
    trigger[n + 5], trigger[n + 6], trigger[n + 7], trigger[n + 8] = 'dead', '0', 'session', session
  end
  redis.call('HSET', f.key, unpack(trigger))
  if f.move then applyMove(f, f.move, f.fence, turns, of[3] or '', closed[1] or '', app, session, @over, @pending, at) end
  if f.once == '1' then
    if f.session == '' then
      redis.call('HDEL', @appRepos, f.repository)
      redis.call('HSET', @app, 'version', $nextVersion)
      of[1] = $nextVersion
    else
      redis.call('HDEL', @sessionRepos, f.repository)
    end
  end
end
if session ~= '' then storeQuestions(turns, $questions, $questionChange, had[4], $replyWords) end
if message ~= '' then
  local fields = {turn.decision .. message, $decision}
  if $explanation ~= '' then fields[3], fields[4] = turn.explained .. message, $explanation end
  if $unfinished ~= (had[5] or '') then fields[#fields + 1], fields[#fields + 2] = 'unfinished', $unfinished end
  local outcomes = had[6] or ''
  if string.sub(outcomes, 1, 1) ~= $outcome then fields[#fields + 1], fields[#fields + 2] = 'came', $outcome .. string.gsub(outcomes, $outcome, '') end
  redis.call('HSET', turns, unpack(fields))
  if $hasClaims == '1' then redis.call('HDEL', turns, turn.verified .. message) end
  if $explanation ~= '' then
    local goes, partsGo = whole(at + tonumber($keep)), whole(at + 2 * tonumber($keep))
    explanations[#explanations + 1], explanations[#explanations + 2] = goes, app .. '/' .. $member
    for i = a + 31, a + 30 + 2 * parts, 2 do
      redis.call('HSET', @parts, ARGV[i], ARGV[i + 1])
      explanations[#explanations + 1], explanations[#explanations + 2] = partsGo, app .. '//' .. ARGV[i]
    end
  end
end
local effect = k + 6 + #list + fences -- the key of the last one that is written
for i = argument + 1, a + args do
  local e = cjson.decode(ARGV[i])
  effect = effect + 1
  enqueue(KEYS[effect], e, app, @appOutbox, e.order ~= '1' and token or '')
  filled[@appOutbox], heads[@appOutbox] = true, nil
end
local function committed(batch, holder)
  if message ~= '' then decided[#decided + 1] = $member end
  return {'ok', 'holder', holder, 'batch', batch}
end
local first = headOf(@outbox)
filled[@outbox] = true
if $batch == '1' and $events ~= '' and not first then
  batched(@outbox, session, token, $events)
  heads[@outbox] = batchOf(token)
  boxes[#boxes + 1], boxes[#boxes + 2], batches = at + tonumber($outboxLease), box, batches + 1
  return committed('1', token)
end
local ids = {}
for i, e in ipairs(unpacked($events)) do
  e.session, e.box, e.lease, ids[i] = session, box, tonumber($outboxLease), e.id
  if first then write(KEYS[effect + i], e, at, '', 0) else enqueue(KEYS[effect + i], e, app, @outbox, token) end
end
if not first then
  heads[@outbox], holders[box] = nil, nil
elseif #ids > 0 then
  redis.call('RPUSH', @outbox, unpack(ids))
  batches = batches + #ids
end
for i, f in ipairs(list) do
  if not f.move or f.move.state == '' then pendings[#pendings + 1], pendings[#pendings + 2] = fired(@triggers, f.id), f.id end
end
return committed('0', holderOf(first or headOf(@outbox), box))
`), End: `
if #firings > 0 then redis.call('ZADD', @triggers, unpack(firings)) end
if #pendings > 0 then redis.call('ZADD', @pending, unpack(pendings)) end
if #explanations > 0 then redis.call('ZADD', @explained, unpack(explanations)) end
scheduleAll(app, 'outboxes', boxes)
if #decided > 0 then batches = batches - redis.call('ZREM', ledger.turns, unpack(decided)) end
if batches ~= 0 then redis.call('INCRBY', ledger.owed, batches) end
`}

var commitParts = []string{
	keyspace.EffectLua, keyspace.SessionLua, TurnLua, rateLua, batchLua, firedLua, askedLua, noneLua,
	failpoint.Script(failpoint.MoveWithoutState, failpoint.Script(failpoint.UnfencedFirst, holdLua)),
}

// Commitment is a decision as the script reads it, with all its effects. The script treats the JSON strings as
// opaque.
type Commitment struct {
	Turn
	Box        string // the outbox of its events
	Token      string
	Unfinished string // JSON
	Decision   string // opaque
	Outcome    string // one of keyspace.OutcomeTo, of the message or the ChatMessage; empty if it is not known yet
	// ChatMessage is the message whose chat fires a direct trigger, and ChatMatch the match (JSON) that is kept with it.
	ChatMessage, ChatMatch string
	// Matched is the app version of the match, Version the next one, for when a repository of the app is
	// removed.
	Matched, Version string
	TTL              time.Duration
	Lease            time.Duration // of its answer
	HasClaims        bool          // the turn has verified claims
	Firings          []Firing
	Events           []keyspace.Entry // of its outbox, in their order
	Others           []keyspace.Entry // calls, and events of the app's outbox
	// Optimistic reports that nothing was read for it. It is refused as Changed unless Matched is still the app's
	// version, the session has no repositories, and Profile (JSON) is its profile.
	Optimistic bool
	Profile    string
	// Questions are those of the triggers that begin to wait for a yes. QuestionChange is how the message changes
	// the last question.
	Questions      []Question
	QuestionChange QuestionChange
	// ReplyWords are the words of the reply, by which an earlier question that it repeats is recognized.
	ReplyWords string
	// FrontEnd reports that a direct trigger also counts as a message, Counted that it is already counted.
	FrontEnd, Counted bool
	// Generations, if not nil, are those in which it may be made: it is refused as Closed in others.
	Generations *Generations
	Explanation
}

// QuestionChange is the effect of a message on the questions asked before it.
type QuestionChange string

// The values of QuestionChange.
const (
	NoMessage QuestionChange = ""  // unchanged: nothing was put to the user
	Unrelated QuestionChange = "0" // unchanged: the message concerned no tool
	Related   QuestionChange = "1" // no question is the last one any more
	Asking    QuestionChange = "2" // the Questions are the last ones
)

// Explanation is the reason for a decision, opaque to the script.
type Explanation struct {
	Body string // empty for none
	// Parts are stored apart by name, shared by all messages that name them, and kept twice as long.
	Parts map[string]string
	Keep  time.Duration
}

// Firing is one firing of a tool.
type Firing struct {
	ID         string
	Name       string // prefix of its effects' ids
	Record     string // opaque; empty if the trigger exists
	Size       int    // bytes counted against the limits, of a direct trigger
	Repository string
	Session    string // of the repository
	Revision   string // of the repository; empty if it was checked before (see Admit)
	Once       bool
	Open       int // number of its effects
	States     States
	// Move is its change of state; nil for a firing that is due at once.
	Move *Move
}

// States are the states of a trigger's effects as JSON; empty for those it lacks.
type States struct{ Event, Emitter, Call string }

// of returns the state of a part, as keyspace.Parts names it; a result has none.
func (s States) of(part string) string {
	return map[string]string{"event": s.Event, "emitter": s.Emitter, "call": s.Call}[part]
}

// Commit statuses.
const (
	Committed    Status = "ok"
	Stale        Status = "stale"   // a repository has changed since the match; nothing was written
	Changed      Status = "changed" // the guessed state is outdated; nothing was written
	Lost         Status = "lost"    // another token has the turn, or has decided it
	Closed       Status = "closed"  // the session was closed meanwhile, or is another by now
	AlreadyFired Status = "exists"  // a direct trigger of this id was fired before
	// Statuses of a Move: the known equal values or confirmation are outdated (Differs); the trigger has
	// another state or its time is not over (Moved, Early); the user took it back; or it is gone.
	Differs   Status = "differs"
	Moved     Status = "moved"
	Retracted Status = "retracted"
	NoTrigger Status = "notrigger"
)

// Decision is the reply to a Commitment.
type Decision struct {
	Status
	// Holder is the token that has the outbox, empty for none: the commitment's own token if the outbox was
	// empty.
	Holder string
	// Batch reports that its events form one batch, to be settled or unpacked.
	Batch bool
	// UnderReplicated reports that too few Redis replicas acknowledged the decision.
	UnderReplicated bool
	// Firing is the one that Differs: First has its values if not empty, and Confirmed reports that they were
	// confirmed.
	Firing, First string
	Confirmed     bool
	State         string // of a trigger that has Moved
}

// Commit decides. A *RateError means that a limit is reached. It returns the same each time for the same token.
func (l *Ledger) Commit(ctx context.Context, c Commitment) (Decision, error) {
	args, err := c.arguments()
	if err != nil {
		return Decision{}, err
	}
	failpoint.At(failpoint.CommitBefore)
	runs := l.commits
	if c.ends() {
		runs = l.ends
	}
	r, underReplicated, err := l.runGrouped(ctx, runs, c.App, c.shared, keyspace.Part{Keys: c.keys(), Args: args})
	failpoint.At(failpoint.CommitReply)
	if err != nil {
		return Decision{}, err
	}
	return Decision{
		Status: r.Status, Holder: r.text("holder"), Batch: r.is("batch"), UnderReplicated: underReplicated,
		Firing: r.text("firing"), First: r.text("first"), Confirmed: r.text("confirmed") != "", State: r.text("state"),
	}, nil
}

// ends reports whether all that it decides is the end of triggers without an effect: a no, a cancellation, or what
// follows from the clock or the next message. A full Redis must take it, or an effect that somebody has taken back
// would happen once there is room.
func (c Commitment) ends() bool {
	for _, firing := range c.Firings {
		if firing.Move == nil || firing.Move.New || firing.Move.State != ended {
			return false
		}
	}
	return c.Message == "" && len(c.Firings) > 0
}

// shared returns the keys that all decisions of the app have in common.
func (c Commitment) shared() keyspace.Part {
	k := c.Turn.keys()
	return keyspace.Part{Args: []string{c.App}, Keys: append([]string{
		k.App(), k.Repos(""), k.Idle(), k.Outbox(keyspace.Box("", "")), k.Triggers(""), k.InState(keyspace.Pending),
		k.ExplainedParts(), k.Explained(), k.Over(), k.Sessions(), k.Rates(""), keyspace.Recent(k),
	}, k.Ledger()...)}
}

func (c Commitment) keys() []string {
	k := c.Turn.keys()
	keys := append(make([]string, 0, 6+2*len(c.Firings)+len(c.Others)+len(c.Events)),
		k.Repos(c.Session), k.Turns(c.Session), k.Outbox(c.Box), k.Triggers(c.Session), k.Closed(c.Session), k.Rates(c.Session))
	for _, firing := range c.Firings {
		keys = append(keys, k.Trigger(firing.ID))
	}
	for _, firing := range c.Firings {
		if firing.Move != nil && firing.Move.Fence != "" {
			keys = append(keys, k.Fence(firing.Move.Fence))
		}
	}
	for i := range c.Others {
		keys = append(keys, k.Effect(c.Others[i].ID))
	}
	for i := range c.Events {
		keys = append(keys, k.Effect(c.Events[i].ID))
	}
	return keys
}

// How a direct trigger counts against the limits of a minute.
const (
	countedAsTrigger = "0"
	countedAsMessage = "1" // and as trigger
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

func (c Commitment) generations() string {
	if c.Generations == nil {
		return ""
	}
	return c.Generations.App + " " + c.Generations.Session
}

// size returns the bytes that a direct trigger counts for.
func (c Commitment) size() int {
	if len(c.Firings) == 0 {
		return 0
	}
	return c.Firings[0].Size
}

func (c Commitment) arguments() ([]string, error) {
	// The worker that takes an answer records it, at any time: a settlement must not write the same trigger.
	answers := slices.ContainsFunc(c.Others, func(entry keyspace.Entry) bool { return entry.Wait > 0 })
	args := append(make([]string, 0, 30+2*len(c.Parts)+12*len(c.Firings)+len(c.Others)),
		c.Session, c.Message, c.Member(), c.Box, c.Token, c.Unfinished, c.Decision, c.Matched, c.Version,
		milliseconds(c.TTL), milliseconds(c.Lease), c.counts(), flag(c.HasClaims), flag(!answers), eventLease,
		packed(c.Events), flag(c.Optimistic), c.Body, milliseconds(c.Keep), strconv.Itoa(len(c.Parts)), strconv.Itoa(len(c.Firings)),
		linesOf(c.Questions), string(c.QuestionChange), c.Profile, strconv.Itoa(c.size()), c.Outcome, c.ChatMessage, c.ChatMatch, c.ReplyWords, c.generations())
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
		args = append(args, f.ID, f.Name, f.Record, f.Repository, f.Session, f.Revision, flag(f.Once), strconv.Itoa(f.Open), f.States.Event, f.States.Emitter, f.States.Call, move)
	}
	for _, entry := range c.Others {
		text, err := exactjson.Text(entry)
		if err != nil {
			return nil, err
		}
		args = append(args, text)
	}
	return args, nil
}
