package ledger

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
)

// maxClaims bounds the claims of an effect or a turn that end without an outcome, so that one that crashes its
// workers is given up.
const maxClaims = 5

// accept stores a message or finds its outcome, and takes the lease of its turn if it is free. With an empty
// message it claims an existing turn. The same round trip reads all that the matcher needs.
// matcher.HistoryStart defines where the history begins.
//
// Times are in ms. message, answer, verified and the events are JSON; empty means none:
//
//	message, wordsHash  '' to claim, and of a draft
//	history         how many messages to read, cached those that the caller has (see historyLua),
//	                version the app version that it has
//	answer          of a message that is not matched
//	generationTTL   how long the generation of the session is kept
//	acceptedLines   the event of the stored message in batch form, acceptedEvent as an Entry
//	asksFor         the trigger that an agent's message names in its question, words its words
//	user            the session's user, as the message names it
//	=>   a Status, with
//	     answered  answer; also decision and reply if it is AsDecided
//	     decided   decision
//	     nodraft   no message and no draft has that id
//	     limited   limit, most, pause (ms)
//	     outdated  message, app and session (generations) and profile: its events must be built
//	               from these; nothing was stored
//	     erasing   the session is being erased; nothing was stored
//	     notuser   the session belongs to another user than this one; nothing was stored
//	     taken     publish (see Accepted), message, age and at (ms), version of the app, defined (if the caller has
//	               another version: the places of the first and last common text with its revision, record
//	               and own repositories), the repositories of the session, the history (see historyLua), unfinished calls, claims,
//	               the triggers whose question was asked last, the other waiting triggers,
//	               those that the message takes back, the generations of app and session, the session's profile,
//	               and match, explained and matching of a draft with the same words
//
// A draft's match stays until it expires, so that a turn resumed after a crash finds it again. The verified
// claims of the user are stored with the message. A draft with other words is deleted.
//
// The time of the session's last use is stored beside its messages. Only the first message adds the session to
// those that may be idle; the sweep then reads the time of its last use.
var accept = keyspace.NewGroupScript(keyspace.Items{Shared: `
KEYS app appRepos idle appRate sessions users recent
ARGV app
local at = now()
local stamp, leased, begun, idle, recent, plain = whole(at), {}, {}, {}, {}, noneOf(7, 1, {1, 5}) -- no repositories of a session, none that was closed
local app = redis.call('HMGET', @app, 'version', 'generation', 'limits', 'chat', 'drafts')
local run, grown, defined = newRun(), {}, ''
local function definition() -- its places among the common texts, for a caller that does not have it
  if defined == '' then defined = define(run, @app, @appRepos) end
  return defined
end
`, Each: `
ITEMKEYS sessionRepos turns order sessionRate closed draft chatOutbox acceptedEffect failedEffect
ITEMARGV id message token lease history cached version ttl member mostClaims answer verified generationTTL wordsHash idleMember
ITEMARGV mostMessages ofDraft session precondition acceptedLines acceptedEvent failedEvent chatBox outboxLease asksFor words user
local turns, order, id, token, member = @turns, @order, $id, $token, $member
local ofDraft = $ofDraft == '1'
local new, newHash, newClaims, claiming = $message, $wordsHash, $verified, $message == '' and not ofDraft
local version = app[1]
if not version then
  if claiming then unschedule('turns', member) end
  return {'noapp'}
end
local read = redis.call('HMGET', turns, turn.message .. id, 'used', 'left', 'unfinished', 'asked', 'onnext', 'since', 'expires', 'session', 'questions', 'user', 'late')
local message, used, left, unfinished, asked, onNext, since, expires, profile, questions, sessionUser, late =
  read[1], read[2], tonumber(read[3]) or 0, read[4] or '', read[5] or '', read[6] or '', read[7], read[8], read[9] or '', read[10], read[11], read[12] or ''
local had = not message and {} or redis.call('HMGET', turns, turn.says .. id, turn.answer .. id, turn.ends .. id, turn.lease .. id,
  turn.decision .. id, turn.arrived .. id, turn.verified .. id, turn.claims .. id, turn.failure .. id, turn.retracted .. id)
local wordsHash, answer, decision = hashOf(had[6], had[1]), had[4] == '` + AsDecided + `' and had[4] or had[2], had[5]
local holder, ends = leaseOf(had[4], had[3])
local arrived, verified, claims, failed, retracted = had[6], had[7], tonumber(had[8]) or holder and 1 or 0, had[9], had[10] or ''
if claiming and (not message or not redis.call('ZSCORE', ledger.turns, member)) then
  unschedule('turns', member)
  return {'gone'}
end
if not claiming and not ofDraft and wordsHash and wordsHash ~= newHash then return {'reused'} end
local closed = plain and {} or redis.call('HMGET', @closed, 'generation', 'erasing', 'user')
local generation = closed[1]
if (tonumber(closed[2]) or 0) > at then return {claiming and 'gone' or 'erasing'} end
local draft = {}
if ofDraft or app[5] and $answer == '' then draft = redis.call('HMGET', @draft, 'says', 'life', 'message', 'verified', 'kept', 'explained', 'token', 'ends', 'user') end
if draft[2] ~= generationsOf(app[2], generation) then draft = {} end
if ofDraft and not message then
  if not draft[1] then return {'nodraft'} end
  newHash, new, newClaims = draft[1], draft[3], draft[4]
end
local named = ofDraft and not message and draft[9] or $user
if named ~= '' then
  local user = sessionUser or closed[3] or named
  if user ~= named then return {'notuser', 'user', named} end
  if sessionUser then named = '' end
end
local changed = {'used', stamp}
local function change(field, value)
  changed[#changed + 1] = field
  changed[#changed + 1] = value
end
local function write()
  if not since then
    change('since', stamp)
    begun[#begun + 1], begun[#begun + 2] = 0, $session
  end
  redis.call('HSET', turns, unpack(changed))
  recent[#recent + 1], recent[#recent + 2] = stamp, $session
  if named ~= '' then nameUser(turns, @users, $session, named) end
  if not used then idle[#idle + 1], idle[#idle + 2] = expires or whole(at + tonumber($ttl)), $idleMember end
end
local function queueAccepted()
  if redis.call('EXISTS', @chatOutbox) == 0 then
    batched(@chatOutbox, $session, token, $acceptedLines)
    schedule($app, 'outboxes', $chatBox, at + tonumber($outboxLease))
    redis.call('INCRBY', ledger.owed, 1)
    return '1'
  end
  enqueue(@acceptedEffect, cjson.decode($acceptedEvent), $app, @chatOutbox, '')
end
if generation then redis.call('PEXPIRE', @closed, $generationTTL) end
if answer then
  unschedule('turns', member)
  write()
  if answer ~= '` + AsDecided + `' then return {'answered', 'answer', answer} end
  return {'answered', 'answer', answer, 'decision', decision, 'reply', redis.call('HGET', turns, turn.reply .. id) or ''}
end
if holder ~= token and ends > at then
  if claiming then redis.call('ZADD', ledger.turns, 'XX', ends, member) end
  write()
  return {'busy'}
end
if decision then
  unschedule('turns', member)
  write()
  return {'decided', 'decision', decision}
end
local length, publish, floor
local chat, precondition = app[4] == '1', generationsOf(app[2], generation) .. '\n' .. profile
if chat and $precondition ~= precondition and (not message or claims >= tonumber($mostClaims)) then
  return {'outdated', 'message', message or new, 'app', app[2] or '', 'session', generation or '', 'profile', profile}
end
if not message then
  local over = overRate(app[3], @appRate, @sessionRate, {messages = 1, bytes = #new + #newClaims, agent = $answer ~= ''})
  if over then return over end
  message, wordsHash, verified, arrived = new, newHash, newClaims, at
  change(turn.message .. id, message)
  change(turn.arrived .. id, stamp .. ' ' .. wordsHash)
  if verified ~= '' then change(turn.verified .. id, verified) end
  length = redis.call('RPUSH', order, id)
  local of = grown[turns] or {new = 0}
  of.order, of.turns, of.session, of.most = order, turns, string.sub(member, 1, -#id - 1), tonumber($mostMessages)
  of.length, of.new, grown[turns] = length, of.new + 1, of
  floor = left + math.max(0, length - of.most)
  if chat then publish = queueAccepted() end
  if $answer ~= '' and questions then
    local now = askedBy(questions, $asksFor, $words)
    if now ~= '' then change('asked', now) else redis.call('HDEL', turns, 'asked') end
  end
  if $answer == '' and onNext ~= '' then
    retracted = onNext
    redis.call('HDEL', turns, 'onnext')
    change(turn.retracted .. id, retracted)
  end
elseif holder == token then -- it has run before
  publish = begins(redis.call('LINDEX', @chatOutbox, 0), token) and '1'
end
if draft[1] and draft[1] ~= wordsHash then
  redis.call('DEL', @draft)
  draft = {}
elseif draft[3] then
  redis.call('HDEL', @draft, 'message', 'verified')
end
if $answer ~= '' then
  change(turn.answer .. id, $answer)
  write()
  return {'answered', 'answer', $answer, 'publish', publish or ''}
end
if holder ~= token then
  claims = claims + 1
  if claims > tonumber($mostClaims) then
    unschedule('turns', member)
    redis.call('HDEL', turns, turn.claims .. id)
    change(turn.failure .. id, '{"error":"crashed_worker"}')
    write()
    if chat then enqueue(@failedEffect, cjson.decode($failedEvent), $app, @chatOutbox, '') end
    return {'dead'}
  end
end
if claims > 1 then change(turn.claims .. id, claims) end
change(turn.lease .. id, leaseText(token, at + tonumber($lease)))
write()
if failed then redis.call('HDEL', turns, turn.failure .. id) end
leased[#leased + 1], leased[#leased + 2] = at + tonumber($lease), member
length = length or redis.call('LLEN', order)
local epoch = generationsOf(app[2], generation) .. ' ' .. (since or stamp) .. ' ' .. late
local first, history = readHistory(turns, order, id, left, floor or left, left + length - 1, tonumber($history), epoch, $cached, run)
return {'taken', 'publish', publish or '', 'message', message, 'age', tostring(at - arrivedAt(arrived)), 'at', stamp,
  'version', version, 'defined', version ~= $version and definition() or '',
  'repositories', plain and {} or redis.call('HVALS', @sessionRepos), 'epoch', epoch, 'first', first, 'history', history,
  'unfinished', unfinished, 'profile', profile, 'asked', asked, 'questions', questions or '', 'retracted', retracted, 'claims', verified or '',
  'app', app[2] or '', 'session', generation or '',
  'match', draft[5] or '', 'explained', draft[6] or '', 'matching', not draft[5] and draft[7] and tonumber(draft[8]) > at and '1' or ''}
`, End: `
for _, of in pairs(grown) do trim(of) end
scheduleAll($app, 'turns', leased)
if #begun > 0 then redis.call('ZADD', @sessions, unpack(begun)) end
if #idle > 0 then redis.call('ZADD', @idle, unpack(idle)) end
if #recent > 0 then redis.call('ZADD', @recent, unpack(recent)) end
`, Common: "run.common"}, keyspace.EffectLua, keyspace.UserLua, TurnLua, rateLua, trimLua, generationsLua, batchLua, askedLua, historyLua, noneLua)

// Chat holds the events of a message, if the app wants them: one for its acceptance, one for giving it up. One
// script writes them with the message into an outbox of their own (keyspace.ChatBox). An event names the
// generations of its app and session and the session's profile. If these differ from the expected ones, the
// message is StalePrecondition, also for an empty Chat.
type Chat struct {
	Precondition               string // the one that they depend on (see Precondition.Text)
	AcceptedEvent, FailedEvent *keyspace.Entry
}

// Precondition is the state that the events of a message depend on.
type Precondition struct {
	Message string // JSON
	// Generations of the app and of the session, and the session's profile (JSON).
	AppGeneration, SessionGeneration, SessionProfile string
}

// Text returns the precondition as Chat.Precondition has it.
func (r Precondition) Text() string {
	return r.AppGeneration + " " + r.SessionGeneration + "\n" + r.SessionProfile
}

// effectKey returns the key of an entry's effect. No effect has the name used for nil.
func effectKey(k keyspace.Keys, e *keyspace.Entry) string {
	if e == nil {
		return k.Effect("")
	}
	return k.Effect(e.ID)
}

// Acceptance requests the lease of a turn: of a new message or of an existing turn.
type Acceptance struct {
	Turn
	Token string // of the lease
	Lease time.Duration
	// Message is JSON, or empty to claim an existing turn. WordsHash is a hash of its words, Claims the JSON of the
	// verified claims that its tools need.
	Message, WordsHash, Claims string
	// OfDraft requests the turn of a draft, which becomes its message, or of the message that the draft has
	// become.
	OfDraft bool
	// Answer is the answer of a message that is not matched.
	Answer string
	// AsksFor is the trigger that an agent's message names in its question. Words are the message's words, by
	// which a question is recognized. Both are empty for a user's message.
	AsksFor, Words string
	// History is how many messages the matcher reads, Version the app version that the caller has.
	History int
	Version string
	// Cached are the messages of the history that the caller has already read.
	Cached CachedMessages
	// SessionTTL is how long an unused session lives, and GenerationTTL how long its generation is
	// kept after that.
	SessionTTL, GenerationTTL time.Duration
	// Messages bounds the history of the session.
	Messages int
	// User is the session's user as the message names it; empty for none.
	User string
	Chat
}

// Status is the result of a script of the ledger.
type Status string

// Statuses of Accept.
const (
	NoApp    Status = "noapp"  // the app does not exist
	Gone     Status = "gone"   // no turn to claim, or it is no longer due
	Reused   Status = "reused" // the messageId belongs to a message with other words
	Answered Status = "answered"
	Busy     Status = "busy"    // another token has the lease
	Decided  Status = "decided" // decided before; its answer was lost in a crash
	// StalePrecondition means that the Chat of an Acceptance depends on an outdated state; nothing was stored.
	StalePrecondition Status = "outdated"
	NoDraft           Status = "nodraft" // no message and no draft has that id
	Crashed           Status = "dead"    // claimed too often without an outcome
	Erasing           Status = "erasing" // the session is being erased; nothing was stored
	OtherUser         Status = "notuser" // the session belongs to another user; nothing was stored
	Limited           Status = "limited" // a rate is reached; nothing was stored
	Taken             Status = "taken"   // the lease is the caller's
)

// Accepted is the reply of Accept.
type Accepted struct {
	Status
	Answer   string // of Answered
	Decision string // of Decided, and of an AsDecided answer: as committed
	Reply    string // of an AsDecided answer
	User     string // of OtherUser: the user that was named
	Taken    *TakenTurn
	// MustPublish reports that the event of the message is the batch of its outbox, for the caller to publish.
	MustPublish bool
	// Precondition is the current state, for the events of a StalePrecondition message.
	Precondition *Precondition
	// UnderReplicated reports that too few Redis replicas acknowledged the write.
	UnderReplicated bool
}

// TakenTurn is a turn whose lease was taken, as the ledger has it.
type TakenTurn struct {
	Message    string
	Age, At    time.Duration // since its acceptance; now: by the clock of Redis
	App        AppFields
	Own        SessionFields
	History    Conversation // before the message: later messages must not influence its decision
	Unfinished string       // JSON of calls that lack values
	Claims     string       // JSON
	// LastQuestions are the triggers whose question was put to the user last, OtherQuestions others that may still
	// wait for a yes, and Retracted those that the message takes back.
	LastQuestions, OtherQuestions, Retracted []string
	// Generations of the app and of the session.
	AppGeneration, SessionGeneration string
	// Draft is the match that its draft already has.
	Draft DraftMatch
}

// Accept requests a turn. A *RateError means that a limit is reached. After an error that wraps
// keyspace.ErrUnavailable it is unknown whether the turn was taken.
func (l *Ledger) Accept(ctx context.Context, a Acceptance) (Accepted, error) {
	said, err := a.AcceptedEvent.Encode()
	if err != nil {
		return Accepted{}, err
	}
	failed, err := a.FailedEvent.Encode()
	if err != nil {
		return Accepted{}, err
	}
	lines := "" // the event of the stored message in batch form
	if a.AcceptedEvent != nil {
		lines = packed([]keyspace.Entry{*a.AcceptedEvent})
	}
	k, chatBox := a.keys(), keyspace.ChatBox(a.Session)
	item := keyspace.Part{
		Keys: []string{
			k.Repos(a.Session), k.Turns(a.Session), k.Order(a.Session), k.Rates(a.Session), k.Closed(a.Session), k.Draft(a.Session, a.Turn.Message),
			k.Outbox(chatBox), effectKey(k, a.AcceptedEvent), effectKey(k, a.FailedEvent),
		},
		Args: []string{
			a.Turn.Message, a.Message, a.Token, milliseconds(a.Lease), strconv.Itoa(a.History), a.Cached.text(), a.Version, milliseconds(a.SessionTTL),
			a.Member(), strconv.Itoa(maxClaims), a.Answer, a.Claims, milliseconds(a.GenerationTTL), a.WordsHash, a.App + "/" + a.Session, strconv.Itoa(a.Messages),
			flag(a.OfDraft), a.Session, a.Precondition, lines, said, failed, chatBox, eventLease, a.AsksFor, a.Words, a.User,
		},
	}
	failpoint.At(failpoint.AcceptBefore)
	var r reply
	underReplicated := false
	if a.Message == "" && !a.OfDraft { // a worker continues an accepted message, whichever replicas have it
		var replies []any
		var common []string
		if replies, common, err = accept.Run(ctx, l.db, false, a.shared(), []keyspace.Part{item}); err == nil {
			r, err = readItem(replies[0])
			r.common = common
		}
	} else {
		r, underReplicated, err = l.runGrouped(ctx, l.accepts, a.App, a.shared, item)
	}
	failpoint.At(failpoint.AcceptReply)
	found := Accepted{Status: r.Status, Answer: r.text("answer"), Decision: r.text("decision"), Reply: r.text("reply"), User: r.text("user"), MustPublish: r.is("publish"), UnderReplicated: underReplicated}
	switch found.Status {
	case StalePrecondition:
		found.Precondition = &Precondition{Message: r.text("message"), SessionProfile: r.text("profile"), AppGeneration: r.text("app"), SessionGeneration: r.text("session")}
	case Taken:
		found.Taken = readTaken(r, a.Cached)
	}
	return found, err
}

// shared returns the keys that all messages of the app have in common.
func (a Acceptance) shared() keyspace.Part {
	k := a.keys()
	return keyspace.Part{Args: []string{a.App}, Keys: append([]string{
		k.App(), k.Repos(""), k.Idle(), k.Rates(""), k.Sessions(), k.Users(), keyspace.Recent(k),
	}, k.Ledger()...)}
}

func readTaken(r reply, cached CachedMessages) *TakenTurn {
	t := &TakenTurn{
		Message: r.text("message"), Age: r.duration("age"), At: r.duration("at"), App: readDefinition(r),
		Own: SessionFields{Record: r.text("profile"), Repositories: r.texts("repositories")}, Unfinished: r.text("unfinished"), Claims: r.text("claims"),
		AppGeneration: r.text("app"), SessionGeneration: r.text("session"), Draft: readDraft(r),
		LastQuestions: strings.Fields(strings.TrimSuffix(r.text("asked"), "+")), Retracted: strings.Fields(r.text("retracted")),
		History: readConversation(r, cached),
	}
	for line := range strings.Lines(r.text("questions")) {
		if id, _, _ := strings.Cut(line, "\t"); !slices.Contains(t.LastQuestions, id) {
			t.OtherQuestions = append(t.OtherQuestions, id)
		}
	}
	return t
}

// readDefinition reads an app's version and, if the caller did not have it, its definition.
func readDefinition(r reply) AppFields {
	of := AppFields{Version: r.text("version")}
	first, last, defined := strings.Cut(r.text("defined"), " ")
	if defined {
		texts := r.common[number(first)-1 : number(last)]
		of.Revision, of.Record, of.Repositories = texts[0], texts[1], texts[2:]
	}
	return of
}

// peek reads what accept reads for a message, and writes nothing. For a message in the history it reads the
// state before it.
//
//	=>   noapp, or ok with the same values as accept's taken; unfinished, asked and
//	     questions only if the message is not in the history
var peek = keyspace.NewFreeingScript(TurnLua, historyLua, `
KEYS app appRepos sessionRepos turns order closed
ARGV id history version
local turns, order, id = @turns, @order, $id
local app = redis.call('HMGET', @app, 'version', 'generation')
local version = app[1]
if not version then return {'noapp'} end
local had = redis.call('HMGET', turns, turn.message .. id, 'left', 'unfinished', 'asked', 'session', 'questions')
local left = tonumber(had[2]) or 0
local before = had[1] and redis.call('LPOS', order, id) or redis.call('LLEN', order)
local run = newRun()
local _, history = readHistory(turns, order, id, left, left, left + before, tonumber($history), '', '', run)
return {'ok', 'message', had[1] or '', 'at', tostring(now()), 'version', version, 'defined', version ~= $version and define(run, @app, @appRepos) or '', 'common', run.common,
  'repositories', redis.call('HVALS', @sessionRepos), 'history', history, 'unfinished', not had[1] and had[3] or '',
  'asked', not had[1] and had[4] or '', 'questions', not had[1] and had[6] or '', 'profile', had[5] or '',
  'app', app[2] or '', 'session', redis.call('HGET', @closed, 'generation') or ''}
`)

// Peek reads the turn of a message, stored or new, and changes nothing. It returns nil if the app does not
// exist. If the message is not in the history, Message is empty; else the history is the one before it, without
// unfinished calls and asked triggers. version is the app version that the caller has.
func (l *Ledger) Peek(ctx context.Context, t Turn, history int, version string) (*TakenTurn, error) {
	k := t.keys()
	keys := []string{k.App(), k.Repos(""), k.Repos(t.Session), k.Turns(t.Session), k.Order(t.Session), k.Closed(t.Session)}
	r, err := l.run(ctx, peek, keys, t.Message, history, version)
	if err != nil || r.Status == NoApp {
		return nil, err
	}
	r.common = r.texts("common")
	return readTaken(r, CachedMessages{}), nil
}
