package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
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
	"earshot/repositories/tracing"
)

// undecidedLua defines undecided(order, turns, session): whether a message of the session (named as in Keys.Idle)
// waits for its decision.
const undecidedLua = `
local function undecided(order, turns, session)
  local name = string.match(session, '/(.*)')
  for _, id in ipairs(redis.call('LRANGE', order, 0, -1)) do
    if redis.call('ZSCORE', turns, name .. '/' .. id) then return true end
  end
  return false
end
`

// dropSession removes all of a session except its repositories.
//
//	ARGV member is app/session, keepUsed '1' to keep a session with an undecided message, ttl how long the
//	     closure is recorded (ms), generation the session's next one
//	=>   ok, or again if it has repositories or is in use
var dropSession = keyspace.NewFreeingScript(keyspace.UserLua, undecidedLua, `
KEYS turns order repos triggers idle dueTurns closed explained sessions asked ended recent
ARGV member keepUsed ttl generation session
if redis.call('HLEN', @repos) > 0 then return 'again' end
if $keepUsed == '1' and undecided(@order, @dueTurns, $member) then return 'used' end
for _, id in ipairs(redis.call('LRANGE', @order, 0, -1)) do redis.call('ZREM', @explained, $member .. '/' .. id) end
keepUser(@turns, @closed, @ended, $member, tonumber($ttl))
redis.call('DEL', @turns, @order, @triggers, @asked)
redis.call('ZREM', @idle, $member)
redis.call('ZREM', @sessions, $session)
redis.call('ZREM', @recent, $session)
redis.call('HSET', @closed, 'generation', $generation, 'at', now())
redis.call('PEXPIRE', @closed, $ttl)
return 'ok'
`)

// recentClose exceeds the time for which an accepted message is worked on.
const recentClose = 10 * time.Minute

// wasClosed tells whether a session was closed recently.
//
//	KEYS closed
//	ARGV span (ms)
//	=>   1 or 0
var wasClosed = keyspace.NewFreeingScript(`
local at = redis.call('HGET', KEYS[1], 'at')
return at and now() - at < tonumber(ARGV[1]) and 1 or 0
`)

// Closed reports whether a session was closed in the last ten minutes. Missing data alone does not prove it: a
// failover of Redis loses the old master's last writes.
func (s *sessionRecords) Closed(ctx context.Context, appID, sessionID string) (bool, error) {
	found, err := wasClosed.Run(ctx, s.db, []string{keyspace.KeysOf(appID).Closed(sessionID)}, recentClose.Milliseconds())
	return found == int64(1), err
}

// CloseSession removes a session with its history and its repositories, and queues tool.changed for each
// repository. Effects in the ledger are still delivered. A missing session is no error. When it returns, no replica
// accepts a token of the session.
func (s *sessionRecords) CloseSession(ctx context.Context, appID, sessionID string) error {
	if _, err := s.appReads.App(ctx, appID); err != nil {
		return err
	}
	if err := s.closeSession(ctx, appID, sessionID, ""); err != nil {
		return err
	}
	return awaitRevocation(ctx)
}

// closeSession removes a session. If keepUsed is '1', a session in use stays.
func (s *sessionRecords) closeSession(ctx context.Context, appID, sessionID, keepUsed string) error {
	keys, generation := keyspace.KeysOf(appID), s.newID()
	return retry(ctx, func() error {
		if err := s.repositories.deleteAll(ctx, repositories.Scope{AppID: appID, SessionID: sessionID}); err != nil {
			return err
		}
		failpoint.At(failpoint.SessionHalf)
		return asConflict(dropSession.Run(ctx, s.db, []string{keys.Turns(sessionID), keys.Order(sessionID),
			keys.Repos(sessionID), keys.Triggers(sessionID), keys.Idle(), keys.Lane(keyspace.LaneTurns), keys.Closed(sessionID), keys.Explained(), keys.Sessions(), keys.Asked(sessionID), keys.Ended(), keyspace.Recent(keys)},
			appID+"/"+sessionID, keepUsed, s.GenerationTTL().Milliseconds(), generation, sessionID))
	})
}

// closeAll closes all sessions of an app, and removes their users.
func (s *sessionRecords) closeAll(ctx context.Context, appID string) error {
	keys := keyspace.KeysOf(appID)
	idle, err := s.appReads.membersOf(ctx, keys.Idle(), appID)
	if err != nil {
		return err
	}
	listed, err := s.db.ZRange(ctx, keys.Sessions(), 0, -1).Result()
	if err != nil {
		return keyspace.Unavailable(err)
	}
	for _, session := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(idle, listed)))) {
		if err := s.closeSession(ctx, appID, session, ""); err != nil {
			return err
		}
	}
	return s.forgetUsers(ctx, appID)
}

// checkIdle tells whether a session is past its TTL by the clock of Redis. The last use is the later of the last
// message, which is not copied to idle each time, and the time in idle. A session with an undecided message is not
// idle. A session with a fixed end ends then, used or not.
//
//	KEYS idle, order, turns that are due, turns
//	ARGV app/session, session TTL (ms)
//	=>   yes or no
var checkIdle = keyspace.NewFreeingScript(undecidedLua, `
local at, ttl = redis.call('ZSCORE', KEYS[1], ARGV[1]), tonumber(ARGV[2])
if not at or tonumber(at) > now() then return 'no' end
local used, expires = unpack(redis.call('HMGET', KEYS[4], 'used', 'expires'))
local ends = tonumber(expires) or (tonumber(used) or 0) + ttl
if ends <= now() and undecided(KEYS[2], KEYS[3], ARGV[1]) then ends = now() + (expires and 1000 or ttl) end
if ends <= now() then return 'yes' end
redis.call('ZADD', KEYS[1], ends, ARGV[1])
return 'no'
`)

// ExpireSession closes a session, named as in Keys.Idle, unless it is in use or was used meanwhile.
func (s *sessionRecords) ExpireSession(ctx context.Context, member string) error {
	appID, sessionID, _ := strings.Cut(member, "/")
	keys := keyspace.KeysOf(appID)
	reply, err := checkIdle.Run(ctx, s.db, []string{keys.Idle(), keys.Order(sessionID), keys.Lane(keyspace.LaneTurns), keys.Turns(sessionID)}, member, s.sessionTTL.Milliseconds())
	if err != nil || reply != "yes" {
		return err
	}
	return s.closeSession(ctx, appID, sessionID, "1")
}

// maxEffectAge bounds how long after the close of its session an effect may end: a call is tried for at most 24 hours,
// and its record is kept from then on.
const maxEffectAge = 48 * time.Hour

// Generation distinguishes an app or a session from an earlier one with the same id. It is random, and part of the
// ids of the session's triggers and tokens.
//
// A session's generation is empty until its first close, and each close renews it. Thus a new session needs no
// write, and a failover that loses the last writes does not change a living session's generation.
type Generation struct {
	App     string `json:"app,omitempty"`
	Session string `json:"session,omitempty"`
}

// Generation reads the generations of an app and of a session, which may be unused yet. Without the app it returns
// repositories.ErrNotFound.
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
	found.App, _ = app.Val()[1].(string) // empty for apps made before generations existed
	found.Session, _ = session.Val()[0].(string)
	return found, nil
}

// CachedGeneration returns the Generation from a cache that is at most freshTTL old, to authenticate session tokens. A close
// of the session waits that long.
func (s *sessionRecords) CachedGeneration(ctx context.Context, appID, sessionID string) (Generation, error) {
	return s.generationCache.get(appID+" "+sessionID, func() (Generation, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyReadTimeout)
		defer cancel()
		return s.Generation(ctx, appID, sessionID)
	})
}

// LifeSince returns the time after which the present life of a session began, by the clock of Redis: when it was last
// closed, expired or erased, or when its app was made. Without a session it is that of the app. It is the zero time for
// a session that never ended, in an app that an earlier version made.
//
// The deletion of an app returns freshTTL after its end, so half of that lets the clock of a replica be behind.
func (s *sessionRecords) LifeSince(ctx context.Context, appID, sessionID string) (since time.Time, err error) {
	k, pipe := keyspace.KeysOf(appID), s.db.Pipeline()
	made, closed := pipe.HGet(ctx, k.App(), "created"), pipe.HGet(ctx, k.Closed(sessionID), "at")
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return since, keyspace.Unavailable(err)
	}
	if at, err := made.Float64(); err == nil {
		since = time.UnixMilli(int64(at)).Add(-freshTTL / 2)
	}
	if at, err := closed.Float64(); err == nil { // it is cut to milliseconds, and what came just before is of the earlier life
		if ended := time.UnixMilli(int64(at) + 1); ended.After(since) {
			since = ended
		}
	}
	return since, nil
}

// awaitRevocation waits until no replica accepts a credential that was just revoked.
func awaitRevocation(ctx context.Context) error {
	select {
	case <-time.After(freshTTL):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// GenerationTTL is how long a session's generation is kept after its close or last use: until all data of its earlier
// generations is gone.
func (c *core) GenerationTTL() time.Duration {
	return max(c.retention.Done, c.retention.Dead) + maxEffectAge
}

type sessionRecords struct {
	*core
	appReads        *appReads
	repositories    *repositoryRecords
	generationCache *freshCache[Generation] // by app and session
}

// putSession stores a session's settings and copies templates of its app into it, each once: a template that has
// fired or was removed does not return. A template whose id the session already has counts as copied.
//
//	KEYS as named, then the effect of each template, sourced, refreshes, closed, then the ledger
//	ARGV lifetime is its fixed one (ms, 0 for none), limit that of its repositories (0 for none), write the
//	     write's id, user its user ('' leaves it as it is); then of each template its id, its stored
//	     form, its Entry (JSON), its mark in Sourced and the refresh interval of its source (ms)
//	=>   ok with created (1 or 0) and the number copied; noapp; full; over, if its lifetime has passed;
//	     erasing; notuser, if it belongs to another user
//
// A repeated run finds the write's id and answers as the first one did.
var putSession = keyspace.NewScript(keyspace.EffectLua, keyspace.SessionLua, keyspace.UserLua, keyspace.ErasingLua, keyspace.SourcedLua, `
KEYS app repos turns idle sessions outbox users recent
ARGV app session record lifetime ttl limit write user
local repos, turns, app, session, at = @repos, @turns, $app, $session, now()
if redis.call('HEXISTS', @app, 'version') == 0 then return {'noapp'} end
local lastPut, since = unpack(redis.call('HMGET', turns, 'put', 'since'))
local lastWrite, created = string.match(lastPut or '', '^(%S+) (%d)$')
if lastWrite == $write then return {'ok', created, '1'} end
if erasing(KEYS[others]) then return {'erasing'} end
if $user ~= '' and (userOf(turns, KEYS[others]) or $user) ~= $user then return {'notuser'} end
created = redis.call('ZSCORE', @idle, app .. '/' .. session) and '0' or '1'
local lifetime, expires = tonumber($lifetime), nil
if lifetime > 0 then
  expires = (tonumber(since) or at) + lifetime
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
local limit = tonumber($limit)
if limit > 0 and #new > 0 and redis.call('HLEN', repos) + #new > limit then return {'full'} end
redis.call('HSET', turns, 'session', $record, 'put', $write .. ' ' .. created, unpack(marks))
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

// PutSession replaces the settings of a session and copies the templates that they name into it. Without a user in
// the settings, the session keeps its user. It returns a fault.List if a template is not the app's or the session's
// lifetime has passed, *repositories.UserError if the session belongs to another user, and *repositories.LimitError
// if it would have too many repositories.
func (s *sessionRecords) PutSession(ctx context.Context, session *repositories.Session) (created bool, err error) {
	app, err := s.appReads.App(ctx, session.AppID)
	if err != nil {
		return false, err
	}
	templates, err := s.readTemplates(ctx, session)
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
	limit, k := app.Settings.Limits.Repositories(scope), keyspace.KeysOf(session.AppID)
	keys := []string{k.App(), k.Repos(session.ID), k.Turns(session.ID), k.Idle(), k.Sessions(), k.Outbox(keyspace.Box(session.ID, "")), k.Users(), keyspace.Recent(k)}
	args := []any{session.AppID, session.ID, record, time.Duration(session.ExpiresIn).Milliseconds(), s.sessionTTL.Milliseconds(), limit, s.newID(), session.User}
	for _, template := range templates {
		entry, stored, ref, err := s.copyTemplate(ctx, app, template, scope)
		if err != nil {
			return false, err
		}
		text, err := exactjson.Encode(entry)
		if err != nil {
			return false, err
		}
		keys, args = append(keys, k.Effect(entry.ID)), append(args, template.ID, stored, text, ref.mark, ref.interval.Milliseconds())
	}
	raw, err := putSession.Run(ctx, s.db, append(append(keys, k.Sourced(), k.Refreshes(), k.Closed(session.ID)), k.Ledger()...), args...)
	if err != nil {
		return false, err
	}
	return s.readPutReply(session, raw, limit)
}

func (s *sessionRecords) readPutReply(session *repositories.Session, raw any, limit int) (created bool, err error) {
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
		return false, &repositories.LimitError{Limit: "repositoriesPerSession", Most: limit}
	case "over":
		var faults fault.List
		faults.Add(fault.Point("expiresIn"), "counts from the start of the session, so that the session would have expired already; give a longer time")
		return false, faults.Err()
	}
	if reply[2] != "0" {
		s.onChange(session.AppID)
	}
	return reply[1] == "1", nil
}

// CheckTemplates returns a fault.List if the session names repositories that are no templates of the app.
func (s *sessionRecords) CheckTemplates(ctx context.Context, session *repositories.Session) error {
	_, err := s.appReads.App(ctx, session.AppID)
	if err == nil {
		_, err = s.readTemplates(ctx, session)
	}
	return err
}

func (s *sessionRecords) readTemplates(ctx context.Context, session *repositories.Session) ([]*repositories.Repository, error) {
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
		field, id := fault.Point("repositories", i), session.Repositories[i]
		if slices.Contains(session.Repositories[:i], id) {
			faults.Add(field, "%q is named twice", id)
			continue
		}
		if text == "" {
			known, _ := s.db.HKeys(ctx, keyspace.KeysOf(session.AppID).Repos("")).Result() // only for the hint
			slices.Sort(known)
			faults.Add(field, "the app has no repository %q%s", id, fault.DidYouMean(id, known))
			continue
		}
		template, err := s.Load(session.AppID, text)
		if err != nil {
			return nil, err
		}
		if !template.Options.Template {
			faults.Add(field, "%q is not a template, and is in scope of every session already; set options.template to make it one", id)
		}
		found = append(found, template)
	}
	return found, faults.Err()
}

func (s *sessionRecords) copyTemplate(ctx context.Context, app *repositories.App, template *repositories.Repository, scope repositories.Scope) (entry keyspace.Entry, stored string, ref sourceRef, err error) {
	made := template.Clone()
	made.SessionID, made.Options.Template = scope.SessionID, false
	made.Generation, made.Revision, made.Created = s.newID(), s.newID(), s.now().UTC()
	made.Updated = made.Created
	if stored, err = s.sealer.encode(made); err != nil {
		return entry, "", ref, err
	}
	entry, err = s.ChangeEntry(made, "created", tracing.Of(ctx))
	return entry, stored, sourceRefOf(app, made), err
}

var sessionFields = []string{"since", "used", "expires", "session", "user", "unfinished", "came"}

// Session returns a session that was used or put, else repositories.ErrNotFound.
func (s *sessionRecords) Session(ctx context.Context, appID, sessionID string) (*repositories.Session, error) {
	k := keyspace.KeysOf(appID)
	pipe := s.db.Pipeline()
	exists, fields, used := pipe.Exists(ctx, k.App()), pipe.HMGet(ctx, k.Turns(sessionID), sessionFields...), pipe.ZScore(ctx, k.Idle(), appID+"/"+sessionID)
	earlier := pipe.HMGet(ctx, k.Closed(sessionID), "user")
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, keyspace.Unavailable(err)
	}
	if exists.Val() == 0 {
		return nil, &repositories.NotFoundError{Kind: "app", ID: appID}
	}
	if errors.Is(used.Err(), redis.Nil) {
		return nil, &repositories.NotFoundError{Kind: "session", ID: sessionID}
	}
	return readSession(appID, sessionID, append(keyspace.Fields(fields.Val()), keyspace.Fields(earlier.Val())...))
}

// readSession builds a session from its sessionFields and the user of its earlier life.
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
	session.Outcomes = fields[6]
	return session, nil
}

// timeOf reads a script's time (ms); the zero time if there is none.
func timeOf(text string) time.Time {
	ms, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}
