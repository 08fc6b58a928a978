package store

import (
	"context"
	"time"

	"earshot/repositories"
	"earshot/repositories/keyspace"
)

// erasingTTL is how long the mark of an erasure lasts without renewal. If the eraser dies, the session becomes
// usable again after it, and can be erased again at once.
const erasingTTL = time.Minute

// markErasing marks a session as being erased, or renews the mark.
//
//	ARGV ttl is the mark's (ms), generation the session's next one ('' to renew), closedTTL how long the
//	     closure is recorded (ms)
//	=>   ok, or noapp
//
// Of two concurrent erasures, the last to mark removes the mark.
var markErasing = keyspace.NewFreeingScript(`
KEYS app closed
ARGV token ttl generation closedTTL
if redis.call('EXISTS', @app) == 0 then return 'noapp' end
local ends = now() + tonumber($ttl)
if $generation ~= '' then redis.call('HSET', @closed, 'generation', $generation, 'at', now(), 'eraser', $token) end
if redis.call('HEXISTS', @closed, 'eraser') == 1 then redis.call('HSET', @closed, 'erasing', ends) end
redis.call('PEXPIRE', @closed, $closedTTL)
return 'ok'
`)

// endErasing removes the mark if it still belongs to the caller.
//
//	KEYS closed
//	ARGV token
var endErasing = keyspace.NewFreeingScript(`
if redis.call('HGET', KEYS[1], 'eraser') == ARGV[1] then redis.call('HDEL', KEYS[1], 'eraser', 'erasing') end
return 'ok'
`)

// erasure is the erasing of a session. Until it ends, nothing begins in the session, its tokens are invalid, and
// work under way has no effect.
type erasure struct {
	sessions       *sessionRecords
	app, id, token string
}

// BeginErasing marks a session as being erased. It returns repositories.ErrNotFound without the app; the session
// need not exist.
func (s *sessionRecords) BeginErasing(ctx context.Context, appID, sessionID string) (*erasure, error) {
	e := &erasure{s, appID, sessionID, s.newID()}
	return e, e.mark(ctx, s.newID())
}

// Renew renews the mark. Call it several times a minute.
func (e *erasure) Renew(ctx context.Context) error { return e.mark(ctx, "") }

func (e *erasure) mark(ctx context.Context, generation string) error {
	k := keyspace.KeysOf(e.app)
	reply, err := markErasing.Run(ctx, e.sessions.db, []string{k.App(), k.Closed(e.id)},
		e.token, erasingTTL.Milliseconds(), generation, e.sessions.GenerationTTL().Milliseconds())
	if err == nil && reply == "noapp" {
		return &repositories.NotFoundError{Kind: "app", ID: e.app}
	}
	return err
}

// End removes the mark, so that the session can begin anew. When it returns, no replica accepts an earlier token.
func (e *erasure) End(ctx context.Context) error {
	if _, err := endErasing.Run(ctx, e.sessions.db, []string{keyspace.KeysOf(e.app).Closed(e.id)}, e.token); err != nil {
		return err
	}
	return awaitRevocation(ctx)
}

// dropErased removes all of a session except its triggers and its outboxes.
//
// The user stays until the end, because the remaining data is found by it.
//
//	KEYS turns, order, repos, idle, sessions, explained, sourced, closed, ended, recent, rates of the
//	     session, drafts, asked, then each draft, then the ledger
//	ARGV app, session, how long the closure is recorded (ms)
var dropErased = keyspace.NewFreeingScript(keyspace.DueLua, keyspace.UserLua, `
local name = ARGV[1] .. '/' .. ARGV[2]
for _, id in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do
  unschedule('turns', ARGV[2] .. '/' .. id)
  redis.call('ZREM', KEYS[6], name .. '/' .. id)
end
keepUser(KEYS[1], KEYS[8], KEYS[9], name, tonumber(ARGV[3]))
redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
redis.call('ZREM', KEYS[4], name)
redis.call('ZREM', KEYS[5], ARGV[2])
redis.call('ZREM', KEYS[10], ARGV[2])
for _, member in ipairs(redis.call('HKEYS', KEYS[7])) do
  if string.match(member, '^(.-)/') == ARGV[2] then redis.call('HDEL', KEYS[7], member) end
end
for i = 11, others do redis.call('DEL', KEYS[i]) end
return 'ok'
`)

// Drop removes the session's messages, drafts and repositories. It queues no tool.changed, whose payload would
// contain erased data.
func (e *erasure) Drop(ctx context.Context) error {
	k, db := keyspace.KeysOf(e.app), e.sessions.db
	drafts, err := db.ZRange(ctx, k.Drafts(e.id), 0, -1).Result()
	if err != nil {
		return keyspace.Unavailable(err)
	}
	keys := []string{k.Turns(e.id), k.Order(e.id), k.Repos(e.id), k.Idle(), k.Sessions(), k.Explained(), k.Sourced(), k.Closed(e.id), k.Ended(), keyspace.Recent(k), k.Rates(e.id), k.Drafts(e.id), k.Asked(e.id)}
	for _, id := range drafts {
		keys = append(keys, k.Draft(e.id, id))
	}
	if _, err := dropErased.Run(ctx, db, append(keys, k.Ledger()...), e.app, e.id, e.sessions.GenerationTTL().Milliseconds()); err != nil {
		return err
	}
	return e.sessions.appReads.dropExplained(ctx, k, e.app+"/"+e.id) // of messages that had left the history
}
