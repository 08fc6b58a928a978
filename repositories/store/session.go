package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"earshot/repositories"
	"earshot/repositories/failpoint"
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
//	KEYS turns, order, repos, triggers, idle, turns that are due, closed, explained, sessions,
//	     calls that lack values
//	ARGV app/session, '1' to spare one in which a message is not decided, how long it is
//	     remembered that it was closed (ms), the generation of its next life, sessionId
//	=>   ok, again where it has repositories, or used
var dropSession = keyspace.NewFreeingScript(undecidedLua, `
if redis.call('HLEN', KEYS[3]) > 0 then return 'again' end
if ARGV[2] == '1' and undecided(KEYS[2], KEYS[6], ARGV[1]) then return 'used' end
for _, id in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do redis.call('ZREM', KEYS[8], ARGV[1] .. '/' .. id) end
redis.call('DEL', KEYS[1], KEYS[2], KEYS[4], KEYS[10])
redis.call('ZREM', KEYS[5], ARGV[1])
redis.call('ZREM', KEYS[9], ARGV[5])
redis.call('HSET', KEYS[7], 'generation', ARGV[4], 'at', now())
redis.call('PEXPIRE', KEYS[7], ARGV[3])
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
			keys.Repos(sessionID), keys.Triggers(sessionID), keys.Idle(), keys.Lane(keyspace.LaneTurns), keys.Closed(sessionID), keys.Explained(), keys.Sessions(), keys.Asked(sessionID)},
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
		return Generation{}, fmt.Errorf("app %q: %w", appID, repositories.ErrNotFound)
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
