package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/repositories/fault"
	"earshot/repositories/keyspace"
)

// undecidedLua defines undecided(order, turns, session): whether a message of the
// session, named as in Keys.Idle, waits for its decision.
const undecidedLua = `
local function undecided(order, turns, session)
  local name = string.match(session, '/(.*)')
  for _, id in ipairs(redis.call('LRANGE', order, 0, -1)) do
    if redis.call('ZSCORE', turns, name .. '/' .. id) then return true end
  end
  return false
end
`

// dropSession removes what a session has besides its repositories.
//
//	ARGV member is app/session, spare '1' to spare one in which a message is not decided, remembered
//	     how long it is that it was closed (ms), generation that of its next life
//	=>   ok, again where it has repositories, or used
var dropSession = keyspace.NewFreeingScript(keyspace.UserLua, undecidedLua, `
KEYS turns order repos triggers idle dueTurns closed explained sessions asked ended recent
ARGV member spare remembered generation session
if redis.call('HLEN', @repos) > 0 then return 'again' end
if $spare == '1' and undecided(@order, @dueTurns, $member) then return 'used' end
for _, id in ipairs(redis.call('LRANGE', @order, 0, -1)) do redis.call('ZREM', @explained, $member .. '/' .. id) end
keepUser(@turns, @closed, @ended, $member, tonumber($remembered))
redis.call('DEL', @turns, @order, @triggers, @asked)
redis.call('ZREM', @idle, $member)
redis.call('ZREM', @sessions, $session)
redis.call('ZREM', @recent, $session)
redis.call('HSET', @closed, 'generation', $generation, 'at', now())
redis.call('PEXPIRE', @closed, $remembered)
return 'ok'
`)

// justClosed is longer than a message that was accepted before is worked on.
const justClosed = 10 * time.Minute

// wasClosed tells whether a session was closed a short time ago.
//
//	KEYS closed
//	ARGV how long ago (ms)
//	=>   1 or 0
var wasClosed = keyspace.NewFreeingScript(`
local at = redis.call('HGET', KEYS[1], 'at')
return at and now() - at < tonumber(ARGV[1]) and 1 or 0
`)

// Closed reports whether a session was closed in the last ten minutes. The data of a
// session may be gone for another reason: a failover of Redis drops what the old master had
// taken last.
func (s *sessionRecords) Closed(ctx context.Context, appID, sessionID string) (bool, error) {
	found, err := wasClosed.Run(ctx, s.db, []string{keyspace.KeysOf(appID).Closed(sessionID)}, justClosed.Milliseconds())
	return found == int64(1), err
}

// CloseSession removes a session: its history and its repositories, each with its
// tool.changed event. Effects that are already in the ledger are still delivered. Closing a
// session that does not exist is no error. When it returns, no replica accepts a token of
// the session any more.
func (s *sessionRecords) CloseSession(ctx context.Context, appID, sessionID string) error {
	if _, err := s.appReads.App(ctx, appID); err != nil {
		return err
	}
	if err := s.closeSession(ctx, appID, sessionID, ""); err != nil {
		return err
	}
	return forgotten(ctx)
}

// closeSession removes a session; spare is '1' where it is to stay if it is in use.
func (s *sessionRecords) closeSession(ctx context.Context, appID, sessionID, spare string) error {
	keys, generation := keyspace.KeysOf(appID), s.newID()
	return retry(ctx, func() error {
		if err := s.repositories.deleteAll(ctx, repositories.Scope{AppID: appID, SessionID: sessionID}); err != nil {
			return err
		}
		failpoint.At(failpoint.SessionHalf)
		return conflicts(dropSession.Run(ctx, s.db, []string{keys.Turns(sessionID), keys.Order(sessionID),
			keys.Repos(sessionID), keys.Triggers(sessionID), keys.Idle(), keys.Lane(keyspace.LaneTurns), keys.Closed(sessionID), keys.Explained(), keys.Sessions(), keys.Asked(sessionID), keys.Ended(), keyspace.Recent(keys)},
			appID+"/"+sessionID, spare, s.Remembers().Milliseconds(), generation, sessionID))
	})
}

// stillIdle tells whether a session is past its time by the clock of Redis: the one of
// its last message, which is not noted among the idle ones each time, or a later one there.
// One in which a message waits for its decision is not idle, however long that takes. One that
// was told when to end does so, used or not.
//
//	KEYS idle, order, turns that are due, turns
//	ARGV app/session, session TTL (ms)
//	=>   yes or no
var stillIdle = keyspace.NewFreeingScript(undecidedLua, `
local at, ttl = redis.call('ZSCORE', KEYS[1], ARGV[1]), tonumber(ARGV[2])
if not at or tonumber(at) > now() then return 'no' end
local had = redis.call('HMGET', KEYS[4], 'used', 'expires')
local ends = tonumber(had[2]) or (tonumber(had[1]) or 0) + ttl
if ends <= now() and undecided(KEYS[2], KEYS[3], ARGV[1]) then ends = now() + (had[2] and 1000 or ttl) end
if ends <= now() then return 'yes' end
redis.call('ZADD', KEYS[1], ends, ARGV[1])
return 'no'
`)

// ExpireSession closes a session, named as in Keys.Idle, unless it was used since or is
// in use.
func (s *sessionRecords) ExpireSession(ctx context.Context, member string) error {
	appID, sessionID, _ := strings.Cut(member, "/")
	keys := keyspace.KeysOf(appID)
	reply, err := stillIdle.Run(ctx, s.db, []string{keys.Idle(), keys.Order(sessionID), keys.Lane(keyspace.LaneTurns), keys.Turns(sessionID)}, member, s.ttl.Milliseconds())
	if err != nil || reply != "yes" {
		return err
	}
	return s.closeSession(ctx, appID, sessionID, "1")
}

// lateEnd is how long after its session was closed an effect may come to its end: a
// call is tried for at most 24 hours, and its record is kept from then on.
const lateEnd = 48 * time.Hour

// Generation distinguishes an app or session from an earlier one with the same id. It is
// random, and is part of the ids of a session's triggers and of its tokens.
//
// A session's generation is empty until the session is closed for the first time, and is
// renewed each time it is closed. Thus nothing needs to be written when a session begins,
// and a failover that loses the last writes leaves the generation of a living session as it
// was.
type Generation struct {
	App     string `json:"app,omitempty"`
	Session string `json:"session,omitempty"`
}

// Generation reads the generation of an app and of a session, which need not have been
// used yet. Without the app it fails with repositories.ErrNotFound.
func (s *sessionRecords) Generation(ctx context.Context, appID, sessionID string) (Generation, error) {
	keys := keyspace.KeysOf(appID)
	pipe := s.db.Pipeline()
	app, session := pipe.HMGet(ctx, keys.App(), "rev", "generation"), pipe.HMGet(ctx, keys.Closed(sessionID), "generation")
	if _, err := pipe.Exec(ctx); err != nil {
		return Generation{}, keyspace.Unavailable(err)
	}
	if app.Val()[0] == nil {
		return Generation{}, &repositories.NotFoundError{Kind: "app", ID: appID}
	}
	found := Generation{}
	found.App, _ = app.Val()[1].(string) // none in apps that were made before there were any
	found.Session, _ = session.Val()[0].(string)
	return found, nil
}

// LifeOf returns the Generation from a cache that is at most keyFresh old; requests with a
// session token are authenticated by it. Whoever closes a session waits for that long.
func (s *sessionRecords) LifeOf(ctx context.Context, appID, sessionID string) (Generation, error) {
	return s.lives.get(appID+" "+sessionID, func() (Generation, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyTime)
		defer cancel()
		return s.Generation(ctx, appID, sessionID)
	})
}

// forgotten waits until no replica accepts a credential that has just been revoked.
func forgotten(ctx context.Context) error {
	select {
	case <-time.After(keyFresh):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Remembers is how long the generation of a session is kept after it was closed or last
// used: until nothing of its earlier generations is left.
func (c *core) Remembers() time.Duration { return max(c.keep.Done, c.keep.Dead) + lateEnd }

type sessionRecords struct {
	*core
	appReads     *appReads
	repositories *repositoryRecords
	lives        *fresh[Generation] // by app and session
}

// putSession writes what is said of a session in advance, and copies templates of its app
// into it, each once: one that has fired since, or was removed, does not come back. One whose
// id the session has already counts as copied.
//
//	KEYS those that are named, then the effect of each template, sourced, refreshes, closed, then the
//	     ledger
//	ARGV lives is how long it lives from its beginning (ms, 0 for as long as it is used), most how
//	     many repositories it may have (0 for any number), name that of this write, user whom the
//	     session is of ('' for nothing that is said of it); then of each
//	     template its id, its stored form, its Entry (JSON), its mark in Sourced and how often its
//	     source is looked at (ms)
//	=>   ok with created (1 or 0) and copied, how many; noapp; full; over, where its time
//	     would be over by now; erasing, where the session is being erased; notuser, where it is
//	     of another user
//
// A second run finds its name, and answers as the first did.
var putSession = keyspace.NewScript(keyspace.EffectLua, keyspace.SessionLua, keyspace.UserLua, keyspace.ErasingLua, keyspace.SourcedLua, `
KEYS app repos turns idle sessions outbox users recent
ARGV app session record lives ttl most name user
local repos, turns, app, session, name, at = @repos, @turns, $app, $session, $name, now()
if redis.call('EXISTS', @app) == 0 then return {'noapp'} end
local had = redis.call('HMGET', turns, 'put', 'since')
local put, created = string.match(had[1] or '', '^(%S+) (%d)$')
if put == name then return {'ok', created, '1'} end
if erasing(KEYS[others]) then return {'erasing'} end
if $user ~= '' and (userOf(turns, KEYS[others]) or $user) ~= $user then return {'notuser'} end
created = redis.call('ZSCORE', @idle, app .. '/' .. session) and '0' or '1'
local lives, expires = tonumber($lives), nil
if lives > 0 then
  expires = (tonumber(had[2]) or at) + lives
  if expires <= at then return {'over'} end
end
local new, marks = {}, {}
for i = 9, #ARGV, 5 do
  if redis.call('HEXISTS', turns, 'copied/' .. ARGV[i]) == 0 then
    marks[#marks + 1] = 'copied/' .. ARGV[i]
    marks[#marks + 1] = '1'
    if redis.call('HEXISTS', repos, ARGV[i]) == 0 then new[#new + 1] = i end
  end
end
local most = tonumber($most)
if most > 0 and #new > 0 and redis.call('HLEN', repos) + #new > most then return {'full'} end
redis.call('HSET', turns, 'session', $record, 'put', name .. ' ' .. created, unpack(marks))
if expires then redis.call('HSET', turns, 'expires', expires) else redis.call('HDEL', turns, 'expires') end
useSession(turns, @idle, @sessions, @recent, app, session, tonumber($ttl))
if $user ~= '' then nameUser(turns, @users, session, $user) end
for _, i in ipairs(new) do
  redis.call('HSET', repos, ARGV[i], ARGV[i + 1])
  source(KEYS[others - 2], KEYS[others - 1], app, session .. '/' .. ARGV[i], ARGV[i + 3], tonumber(ARGV[i + 4]))
  enqueue(KEYS[9 + (i - 9) / 5], cjson.decode(ARGV[i + 2]), app, @outbox, '')
end
return {'ok', created, tostring(#new)}
`)

// PutSession keeps what is said of a session in advance, in place of what was said before,
// and copies the templates that it names into it. The user stays where none is named. It returns a
// fault.List where one of the templates is none of the app, or the session would be over by now,
// *repositories.UserError where it is another user's, and *repositories.LimitError where it would
// have too many repositories.
func (s *sessionRecords) PutSession(ctx context.Context, session *repositories.Session) (created bool, err error) {
	app, err := s.appReads.App(ctx, session.AppID)
	if err != nil {
		return false, err
	}
	templates, err := s.templates(ctx, session)
	if err != nil {
		return false, err
	}
	record, err := exactjson.Encode(repositories.Session{
		Language: session.Language, TimeZone: session.TimeZone, Metadata: session.Metadata,
		ExpiresIn: session.ExpiresIn, Repositories: session.Repositories,
	})
	if err != nil {
		return false, err
	}
	scope := repositories.Scope{AppID: session.AppID, SessionID: session.ID}
	most, k := app.Settings.Limits.Repositories(scope), keyspace.KeysOf(session.AppID)
	keys := []string{k.App(), k.Repos(session.ID), k.Turns(session.ID), k.Idle(), k.Sessions(), k.Outbox(keyspace.Box(session.ID, "")), k.Users(), keyspace.Recent(k)}
	args := []any{session.AppID, session.ID, record, time.Duration(session.ExpiresIn).Milliseconds(), s.ttl.Milliseconds(), most, s.newID(), session.User}
	for _, template := range templates {
		owed, copied, from, err := s.copied(app, template, scope)
		if err != nil {
			return false, err
		}
		text, err := exactjson.Encode(owed)
		if err != nil {
			return false, err
		}
		keys, args = append(keys, k.Effect(owed.ID)), append(args, template.ID, copied, text, from.mark, from.every.Milliseconds())
	}
	raw, err := putSession.Run(ctx, s.db, append(append(keys, k.Sourced(), k.Refreshes(), k.Closed(session.ID)), k.Ledger()...), args...)
	if err != nil {
		return false, err
	}
	return s.putReply(session, raw, most)
}

func (s *sessionRecords) putReply(session *repositories.Session, raw any, most int) (created bool, err error) {
	fields, _ := raw.([]any)
	reply := keyspace.Fields(fields)
	switch reply[0] {
	case "erasing":
		return false, fmt.Errorf("session %q: %w", session.ID, repositories.ErrErasing)
	case "noapp":
		return false, &repositories.NotFoundError{Kind: "app", ID: session.AppID}
	case "notuser":
		return false, &repositories.UserError{SessionID: session.ID, User: session.User}
	case "full":
		return false, &repositories.LimitError{Limit: "repositoriesPerSession", Most: most}
	case "over":
		var faults fault.List
		faults.Add(fault.Point("expiresIn"), "counts from when the session began, which is longer ago: it would be over by now")
		return false, faults.Err()
	}
	if reply[2] != "0" {
		s.changed(session.AppID)
	}
	return reply[1] == "1", nil
}

func (s *sessionRecords) templates(ctx context.Context, session *repositories.Session) ([]*repositories.Repository, error) {
	if len(session.Repositories) == 0 {
		return nil, nil
	}
	stored, err := s.db.HMGet(ctx, keyspace.KeysOf(session.AppID).Repos(""), session.Repositories...).Result()
	if err != nil {
		return nil, keyspace.Unavailable(err)
	}
	var faults fault.List
	var found []*repositories.Repository
	for i, text := range keyspace.Fields(stored) {
		at, id := fault.Point("repositories", i), session.Repositories[i]
		if slices.Contains(session.Repositories[:i], id) {
			faults.Add(at, "%q is named twice", id)
			continue
		}
		if text == "" {
			faults.Add(at, "the app has no repository %q", id)
			continue
		}
		template, err := s.Load(session.AppID, text)
		if err != nil {
			return nil, err
		}
		if !template.Options.Template {
			faults.Add(at, "%q is no template, and in scope of every session as it is; options.template makes it one", id)
		}
		found = append(found, template)
	}
	return found, faults.Err()
}

func (s *sessionRecords) copied(app *repositories.App, template *repositories.Repository, to repositories.Scope) (owed keyspace.Entry, stored string, from sourcing, err error) {
	next := template.Clone()
	next.SessionID, next.Options.Template = to.SessionID, false
	next.Generation, next.Revision, next.Created = s.newID(), s.newID(), s.now().UTC()
	next.Updated = next.Created
	if stored, err = s.sealer.encode(next); err != nil {
		return owed, "", from, err
	}
	owed, err = s.ChangeEntry(next, "created")
	return owed, stored, sourcingOf(app, next), err
}

var sessionFields = []string{"since", "used", "expires", "session", "user", "unfinished", "came"}

// Session returns a session that is used or was put, else repositories.ErrNotFound.
func (s *sessionRecords) Session(ctx context.Context, appID, sessionID string) (*repositories.Session, error) {
	k := keyspace.KeysOf(appID)
	pipe := s.db.Pipeline()
	there, fields, used := pipe.Exists(ctx, k.App()), pipe.HMGet(ctx, k.Turns(sessionID), sessionFields...), pipe.ZScore(ctx, k.Idle(), appID+"/"+sessionID)
	before := pipe.HMGet(ctx, k.Closed(sessionID), "user")
	if _, err := pipe.Exec(ctx); err != nil && err != redis.Nil {
		return nil, keyspace.Unavailable(err)
	}
	if there.Val() == 0 {
		return nil, &repositories.NotFoundError{Kind: "app", ID: appID}
	}
	if used.Err() == redis.Nil {
		return nil, &repositories.NotFoundError{Kind: "session", ID: sessionID}
	}
	return readSession(appID, sessionID, append(keyspace.Fields(fields.Val()), keyspace.Fields(before.Val())...))
}

// readSession reads a session of its sessionFields and of the user that it had in an earlier life.
func readSession(appID, sessionID string, fields []string) (*repositories.Session, error) {
	session := &repositories.Session{}
	if fields[3] != "" {
		if err := json.Unmarshal([]byte(fields[3]), session); err != nil {
			return nil, fmt.Errorf("session %q of app %q cannot be read: %w", sessionID, appID, err)
		}
	}
	session.AppID, session.ID = appID, sessionID
	session.Created, session.LastMessage = timeOf(cmp.Or(fields[0], fields[1])), timeOf(fields[1])
	session.ExpiresAt = timeOf(fields[2])
	session.User, session.Unfinished = cmp.Or(fields[4], fields[7]), fields[5] != ""
	session.Came = fields[6]
	return session, nil
}

// timeOf reads a time (ms) that a script wrote; the zero time if there is none.
func timeOf(text string) time.Time {
	ms, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}
