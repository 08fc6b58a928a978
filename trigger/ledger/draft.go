package ledger

import (
	"context"
	"time"

	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
)

// A draft is a message that may still change. It is stored apart from the messages of its session, in an
// expiring hash with the fields
//
//	says                     the hash of its words
//	message, verified        as in a turn
//	user                     the session's user, if the message names one
//	life                     generations of the app and of the session
//	token, ends              lease of the current or last match, and its end (ms)
//	kept, explained, answer  its match, the explanation, and the answer
//	taken                    token that withdrew it; then it has no other fields
//
// The newest draft wins: its matcher continues while it has the token. Once accepted, a message of its id
// replaces the draft.

// draftLife is how long a draft is kept after it was written, and after it was matched.
const draftLife = time.Minute

// draftMost exceeds the life of a draft with all renewals of its lease: no model takes so long.
const draftMost = time.Hour

// generationsLua defines generationsOf(app, session), both generations as one text. Each may be missing.
const generationsLua = `
local function generationsOf(app, session) return (app or '') .. ' ' .. (session or '') end
`

// beginDraft stores a draft in place of an older one, before its match.
//
//	ARGV ttl is its life (ms), mostTTL its life with all renewals
//	=>   a Status, with
//	     answered  the same draft is matched; answer
//	     busy      the same draft is being matched
//	     decided   the message is accepted already
//	     erasing   the session is being erased
//	     notuser   the session belongs to another user
//	     limited   limit, most, pause (ms)
//	     taken     the caller must match it; since (µs)
var beginDraft = keyspace.NewScript(TurnLua, rateLua, generationsLua, keyspace.ErasingLua, keyspace.UserLua, `
KEYS app turns draft closed appRate sessionRate drafts
ARGV id message wordsHash verified token lease ttl mostTTL user
local key, token, at = @draft, $token, now()
local app = redis.call('HMGET', @app, 'version', 'generation', 'limits', 'drafts')
if not app[1] then return {'noapp'} end
if erasing(@closed) then return {'erasing'} end
if redis.call('HEXISTS', @turns, turn.message .. $id) == 1 then return {'decided'} end
if $user ~= '' and (userOf(@turns, @closed) or $user) ~= $user then return {'notuser'} end
local generations = generationsOf(app[2], redis.call('HGET', @closed, 'generation'))
local had = redis.call('HMGET', key, 'says', 'verified', 'life', 'token', 'ends', 'answer', 'since')
if $user ~= '' and had[1] then redis.call('HSET', key, 'user', $user) end
if had[1] == $wordsHash and had[2] == $verified and had[3] == generations then
  if had[6] then return {'answered', 'answer', had[6]} end
  if had[4] == token then return {'taken', 'since', had[7]} end
  if had[4] and tonumber(had[5]) > at then return {'busy'} end
end
local over = overRate(app[3], @appRate, @sessionRate, {drafts = 1, bytes = #$message + #$verified})
if over then return over end
if not app[4] then redis.call('HSET', @app, 'drafts', 1) end -- its messages may have been drafts from now on
local since = string.format('%.0f', micros())
redis.call('DEL', key)
redis.call('HSET', key, 'says', $wordsHash, 'message', $message, 'verified', $verified, 'life', generations,
  'token', token, 'ends', at + tonumber($lease), 'since', since)
if $user ~= '' then redis.call('HSET', key, 'user', $user) end
redis.call('PEXPIRE', key, $ttl)
redis.call('ZADD', @drafts, at, $id)
redis.call('ZREMRANGEBYSCORE', @drafts, '-inf', at - tonumber($mostTTL))
redis.call('PEXPIRE', @drafts, $mostTTL)
return {'taken', 'since', since}
`)

// Draft is a message that may still change, for matching. All fields but the lease are as in an Acceptance.
type Draft struct {
	Turn
	Token                      string
	Lease                      time.Duration
	Message, WordsHash, Claims string
	User                       string
}

// BegunDraft is the reply of BeginDraft.
type BegunDraft struct {
	// Status is NoApp, Erasing, OtherUser, Answered, Busy, Decided (accepted already) or Taken.
	Status
	Answer string // of Answered
	// Since orders the drafts of an id: a newer one has a higher value.
	Since int64
}

// BeginDraft stores a draft in place of an older one, and discards the older one's match. A *RateError means
// that a limit is reached.
func (l *Ledger) BeginDraft(ctx context.Context, d Draft) (BegunDraft, error) {
	k := d.keys()
	failpoint.At(failpoint.DraftBefore)
	r, err := l.run(ctx, beginDraft, []string{
		k.App(), k.Turns(d.Session), d.draft(), k.Closed(d.Session), k.Rates(""), k.Rates(d.Session), k.Drafts(d.Session),
	}, d.Turn.Message, d.Message, d.WordsHash, d.Claims, d.Token, d.Lease.Milliseconds(), draftLife.Milliseconds(), draftMost.Milliseconds(), d.User)
	failpoint.At(failpoint.DraftReply)
	if err != nil {
		return BegunDraft{}, err
	}
	return BegunDraft{r.Status, r.text("answer"), int64(r.number("since"))}, nil
}

// extendDraft renews the lease of a draft's match.
//
//	KEYS draft
//	ARGV token, lease (ms), its life (ms)
//	=>   ok, or lost if it is replaced, withdrawn or gone
var extendDraft = keyspace.NewFreeingScript(`
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 'lost' end
redis.call('HSET', KEYS[1], 'ends', now() + tonumber(ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 'ok'
`)

// ExtendDraft renews the lease of a draft's match, and reports whether the token still has it.
func (l *Ledger) ExtendDraft(ctx context.Context, t Turn, token string, lease time.Duration) (held bool, err error) {
	raw, err := extendDraft.Run(ctx, l.db, []string{t.draft()}, token, lease.Milliseconds(), draftLife.Milliseconds())
	return raw == "ok", err
}

// storeDraftMatch stores the match of a draft if it is still the newest.
//
//	KEYS draft, parts of explanations, expiry of explanations
//	ARGV 1 token, 2 match, 3 explanation, 4 answer (JSON), 5 its life (ms),
//	     6 appId, 7 life of explanation parts (ms), then name and text of each
//	=>   ok, or lost
var storeDraftMatch = keyspace.NewScript(`
local key = KEYS[1]
if redis.call('HGET', key, 'token') ~= ARGV[1] then return 'lost' end
redis.call('HSET', key, 'kept', ARGV[2], 'explained', ARGV[3], 'answer', ARGV[4])
redis.call('PEXPIRE', key, ARGV[5])
for i = 8, #ARGV, 2 do
  redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
  redis.call('ZADD', KEYS[3], now() + tonumber(ARGV[7]), ARGV[6] .. '//' .. ARGV[i])
end
return 'ok'
`)

// MatchedDraft is the match of a draft, opaque to the scripts.
type MatchedDraft struct {
	Turn
	Token  string
	Match  string
	Answer string // JSON
	Explanation
}

// StoreDraftMatch stores the match of a draft, and reports whether the draft is still the newest.
func (l *Ledger) StoreDraftMatch(ctx context.Context, m MatchedDraft) (held bool, err error) {
	k := m.keys()
	args := []any{m.Token, m.Match, m.Body, m.Answer, draftLife.Milliseconds(), m.App, 2 * m.Keep.Milliseconds()}
	for name, text := range m.Parts {
		args = append(args, name, text)
	}
	raw, err := storeDraftMatch.Run(ctx, l.db, []string{m.draft(), k.ExplainedParts(), k.Explained()}, args...)
	failpoint.At(failpoint.DraftKept)
	return raw == "ok", err
}

// abandonDraft gives up a draft that could not be matched. Its words stay for the match when it is decided.
//
//	KEYS draft
//	ARGV token
var abandonDraft = keyspace.NewFreeingScript(`
if redis.call('HGET', KEYS[1], 'token') == ARGV[1] then redis.call('HDEL', KEYS[1], 'token', 'ends') end
return 'ok'
`)

// AbandonDraft gives up a draft that could not be matched.
func (l *Ledger) AbandonDraft(ctx context.Context, t Turn, token string) error {
	_, err := abandonDraft.Run(ctx, l.db, []string{t.draft()}, token)
	return err
}

// DraftMatch is the draft of a message with the same words.
type DraftMatch struct {
	// Match is its match and Explanation the explanation; both are empty before it is matched.
	Match, Explanation string
	// Matching reports that a replica is matching it.
	Matching bool
}

// readDraftMatch reads the draft of an accepted message.
//
//	KEYS draft
//	ARGV a hash of the message's words
//	=>   ok with match, explained and matching
var readDraftMatch = keyspace.NewReadingScript(`
local d = redis.call('HMGET', KEYS[1], 'says', 'kept', 'explained', 'token', 'ends')
if d[1] ~= ARGV[1] then return {'ok'} end
return {'ok', 'match', d[2] or '', 'explained', d[3] or '', 'matching', not d[2] and d[4] and tonumber(d[5]) > now() and '1' or ''}
`)

// Draft reads the draft of an accepted message with the same words.
func (l *Ledger) Draft(ctx context.Context, t Turn, says string) (DraftMatch, error) {
	r, err := l.run(ctx, readDraftMatch, []string{t.draft()}, says)
	return readDraft(r), err
}

func readDraft(r reply) DraftMatch {
	return DraftMatch{Match: r.text("match"), Explanation: r.text("explained"), Matching: r.is("matching")}
}

// withdraw takes a draft back. A second run by the same token succeeds too.
//
//	KEYS app, turns, draft, closed
//	ARGV messageId, token, how long the withdrawal is remembered (ms)
//	=>   ok, noapp, decided if the message is accepted, or gone if there is no draft
var withdraw = keyspace.NewFreeingScript(TurnLua, generationsLua, `
local app = redis.call('HMGET', KEYS[1], 'version', 'generation')
if not app[1] then return 'noapp' end
if redis.call('HEXISTS', KEYS[2], turn.message .. ARGV[1]) == 1 then return 'decided' end
local had = redis.call('HMGET', KEYS[3], 'taken', 'life', 'says')
if had[1] == ARGV[2] then return 'ok' end
if not had[3] or had[2] ~= generationsOf(app[2], redis.call('HGET', KEYS[4], 'generation')) then return 'gone' end
redis.call('DEL', KEYS[3])
redis.call('HSET', KEYS[3], 'taken', ARGV[2])
redis.call('PEXPIRE', KEYS[3], ARGV[3])
return 'ok'
`)

// WithdrawDraft takes a draft back. It returns NoApp, Decided if the message is already accepted, or Gone if
// there is no draft.
func (l *Ledger) WithdrawDraft(ctx context.Context, t Turn, token string) (Status, error) {
	k := t.keys()
	failpoint.At(failpoint.RetractBefore)
	r, err := l.run(ctx, withdraw, []string{k.App(), k.Turns(t.Session), t.draft(), k.Closed(t.Session)}, t.Message, token, draftLife.Milliseconds())
	failpoint.At(failpoint.RetractReply)
	return r.Status, err
}

func (t Turn) draft() string { return keyspace.KeysOf(t.App).Draft(t.Session, t.Message) }
