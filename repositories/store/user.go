package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/lists"
)

// forgetUser removes the link from a session to its user, unless a new session with the user has begun.
//
//	ARGV user is the one to forget, '' for the one in the mark of the closed session
var forgetUser = keyspace.NewFreeingScript(`
KEYS turns closed users ended
ARGV member session user
local user = $user ~= '' and $user or redis.call('HGET', @closed, 'user')
if not user then return 'ok' end
if redis.call('HGET', @closed, 'user') == user then redis.call('HDEL', @closed, 'user') end
redis.call('ZREM', @ended, $member .. '/' .. user)
if redis.call('HGET', @turns, 'user') ~= user then redis.call('ZREM', @users, user .. '\0' .. $session) end
return 'ok'
`)

func (s *sessionRecords) forgetUser(ctx context.Context, appID, sessionID, user string) error {
	k := keyspace.KeysOf(appID)
	_, err := forgetUser.Run(ctx, s.db, []string{k.Turns(sessionID), k.Closed(sessionID), k.Users(), k.Ended()}, appID+"/"+sessionID, sessionID, user)
	return err
}

// Forget removes the link from the session to its user, once nothing else of the session is left. An empty user
// stands for the last known one.
func (e *erasure) Forget(ctx context.Context, user string) error {
	return e.sessions.forgetUser(ctx, e.app, e.id, user)
}

// SessionsOf lists up to limit sessions of a user by id, beginning after the given id. It includes ended sessions
// that may have data left.
func (s *sessionRecords) SessionsOf(ctx context.Context, appID, user, after string, limit int) (ids []string, next string, err error) {
	if _, err := s.appReads.App(ctx, appID); err != nil {
		return nil, "", err
	}
	return s.userSessionIDs(ctx, appID, user, after, limit)
}

func (s *sessionRecords) userSessionIDs(ctx context.Context, appID, user, after string, limit int) (ids []string, next string, err error) {
	by := &redis.ZRangeBy{Min: "(" + keyspace.OfUser(user, after), Max: "(" + user + "\x01", Count: int64(limit) + 1}
	names, err := s.db.ZRangeByLex(ctx, keyspace.KeysOf(appID).Users(), by).Result()
	if err != nil {
		return nil, "", keyspace.Unavailable(err)
	}
	for _, name := range names {
		_, id := keyspace.SessionOfUser(name)
		ids = append(ids, id)
	}
	ids, next = pageOf(ids, limit)
	return ids, next, nil
}

// forgetUsers removes the users of an app's sessions once the app has no session.
func (s *sessionRecords) forgetUsers(ctx context.Context, appID string) error {
	for {
		names, err := s.db.ZRange(ctx, keyspace.KeysOf(appID).Users(), 0, sessionBatch-1).Result()
		if err != nil || len(names) == 0 {
			return keyspace.Unavailable(err)
		}
		for _, name := range names {
			user, id := keyspace.SessionOfUser(name)
			if err := s.forgetUser(ctx, appID, id, user); err != nil {
				return err
			}
		}
	}
}

// SessionQuery selects the sessions that match all of its fields. An empty field matches all.
type SessionQuery struct {
	AppID, User string
	Metadata    map[string]string // members of the metadata with their values: a text, or another value as JSON
	// UsedSince (included) and UsedBefore (excluded) bound the last use.
	UsedSince, UsedBefore time.Time
	// Filter selects among the sessions that match all else; nil keeps them all.
	Filter      func(context.Context, []*repositories.Session) ([]bool, error)
	MaxExamined int // about how many sessions are examined for one page; 0 for the maximum
	// ByActivity orders sessions by last activity, the latest first, in place of by id.
	ByActivity bool
	After      string // the next of the previous page
	Limit      int
}

// Limits of sessions examined in one round trip and for one page, and of a user's sessions sorted by activity.
const (
	sessionBatch    = 500
	maxExamined     = 20_000
	maxUserSessions = 2000
)

// Sessions lists the sessions of an app that match a query. Sessions from an earlier version appear from their next
// message on. A page may have fewer sessions than its limit, even none, before the last one: it ends when many
// sessions were examined.
func (s *sessionRecords) Sessions(ctx context.Context, q SessionQuery) (items []*repositories.Session, next string, err error) {
	if exists, err := s.db.Exists(ctx, keyspace.KeysOf(q.AppID).App()).Result(); err != nil || exists == 0 {
		return nil, "", cmp.Or(keyspace.Unavailable(err), error(&repositories.NotFoundError{Kind: "app", ID: q.AppID}))
	}
	items, budget, after := []*repositories.Session{}, &repositories.PageBudget{}, q.After
	batch, limit := q.Limit, cmp.Or(q.MaxExamined, maxExamined)
	for examined := 0; examined < limit; examined += batch {
		if examined > 0 {
			batch = sessionBatch
		}
		positions, more, err := s.sessionPage(ctx, q, after, batch)
		if err != nil {
			return nil, "", err
		}
		sessions, err := s.readSessions(ctx, q.AppID, positions)
		if err != nil {
			return nil, "", err
		}
		matching, err := s.matchingSessions(ctx, q, sessions)
		if err != nil {
			return nil, "", err
		}
		for i, session := range sessions {
			if matching[i] && !budget.Fits(session) {
				return items, after, nil
			}
			if after = positions[i].cursor(q); !matching[i] {
				continue
			}
			items = append(items, session)
			if len(items) == q.Limit {
				if i == len(sessions)-1 && more == "" {
					after = ""
				}
				return items, after, nil
			}
		}
		if more == "" {
			return items, "", nil
		}
	}
	return items, after, nil
}

func (s *sessionRecords) matchingSessions(ctx context.Context, q SessionQuery, sessions []*repositories.Session) ([]bool, error) {
	matching := make([]bool, len(sessions))
	var candidates []*repositories.Session
	var indexes []int
	for i, session := range sessions {
		if matching[i] = q.matches(session); matching[i] && q.Filter != nil {
			candidates, indexes = append(candidates, session), append(indexes, i)
		}
	}
	if len(candidates) == 0 {
		return matching, nil
	}
	if err := s.readCallStates(ctx, candidates); err != nil {
		return nil, err
	}
	kept, err := q.Filter(ctx, candidates)
	for i, ok := range kept {
		matching[indexes[i]] = ok
	}
	return matching, err
}

// sessionPosition is a session's position in a list. used is its last use (ms), in lists by activity.
type sessionPosition struct {
	id   string
	used int64
}

func (p sessionPosition) cursor(q SessionQuery) string {
	if !q.ByActivity {
		return p.id
	}
	return strconv.FormatInt(p.used, 10) + "/" + p.id
}

// follows reports whether the position is after a cursor of a list by activity.
func (p sessionPosition) follows(after string) bool {
	if after == "" {
		return true
	}
	text, id, _ := strings.Cut(after, "/")
	used, _ := strconv.ParseInt(text, 10, 64)
	return p.used < used || p.used == used && p.id < id
}

// recentSessions lists sessions by their last use, the latest first, after a position.
//
//	KEYS recent
//	ARGV time (ms) and id of the position (+inf and '' for the first), limit
//	=>   alternating ids and times, possibly a few more than limit
//
// Many sessions may share a time: those before the position are skipped.
var recentSessions = keyspace.NewReadingScript(`
local used, id, limit, found, offset = ARGV[1], ARGV[2], tonumber(ARGV[3]), {}, 0
while #found < 2 * limit do
  local batch = redis.call('ZRANGE', KEYS[1], used, '-inf', 'BYSCORE', 'REV', 'LIMIT', offset, limit, 'WITHSCORES')
  for i = 1, #batch, 2 do
    if id == '' or tonumber(batch[i + 1]) ~= tonumber(used) or batch[i] < id then
      found[#found + 1], found[#found + 2] = batch[i], batch[i + 1]
    end
  end
  if #batch < 2 * limit then break end
  offset = offset + limit
end
return found
`)

// byActivity lists sessions of the app, or of a user, by last activity, the latest first.
func (s *sessionRecords) byActivity(ctx context.Context, q SessionQuery, after string, limit int) (positions []sessionPosition, next string, err error) {
	if q.User == "" {
		used, id, _ := strings.Cut(after, "/")
		if used == "" && !q.UsedBefore.IsZero() {
			used, id = strconv.FormatInt(q.UsedBefore.UnixMilli(), 10), "-" // no id sorts before it
		}
		used = cmp.Or(used, "+inf")
		raw, err := recentSessions.Run(ctx, s.db, []string{keyspace.Recent(keyspace.KeysOf(q.AppID))}, used, id, limit+1)
		if err != nil {
			return nil, "", err
		}
		list, _ := raw.([]any)
		for pair := range slices.Chunk(keyspace.Fields(list), 2) {
			positions = append(positions, sessionPosition{pair[0], timeOf(pair[1]).UnixMilli()})
		}
	} else if positions, err = s.userSessionsByActivity(ctx, q, after); err != nil {
		return nil, "", err
	}
	if since := q.UsedSince; !since.IsZero() { // all later places are too old
		positions = slices.DeleteFunc(positions, func(p sessionPosition) bool { return p.used < since.UnixMilli() })
	}
	if len(positions) > limit {
		positions, next = positions[:limit], positions[limit-1].cursor(q)
	}
	return positions, next, nil
}

// userSessionsByActivity lists the sessions of a user after a position.
func (s *sessionRecords) userSessionsByActivity(ctx context.Context, q SessionQuery, after string) (positions []sessionPosition, err error) {
	ids, _, err := s.userSessionIDs(ctx, q.AppID, q.User, "", maxUserSessions)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	pipe, recent := s.db.Pipeline(), keyspace.Recent(keyspace.KeysOf(q.AppID))
	scores := lists.Map(ids, func(id string) *redis.FloatCmd { return pipe.ZScore(ctx, recent, id) })
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, keyspace.Unavailable(err)
	}
	for i, id := range ids {
		if position := (sessionPosition{id, int64(scores[i].Val())}); position.used > 0 && position.follows(after) {
			positions = append(positions, position)
		}
	}
	slices.SortFunc(positions, func(a, b sessionPosition) int { return cmp.Or(cmp.Compare(b.used, a.used), cmp.Compare(b.id, a.id)) })
	return positions, nil
}

// sessionPage lists sessions, only the user's if the query names one.
func (s *sessionRecords) sessionPage(ctx context.Context, q SessionQuery, after string, limit int) (positions []sessionPosition, next string, err error) {
	var ids []string
	switch {
	case q.ByActivity:
		return s.byActivity(ctx, q, after, limit)
	case q.User != "":
		ids, next, err = s.userSessionIDs(ctx, q.AppID, q.User, after, limit)
	default:
		ids, err = s.db.ZRangeByLex(ctx, keyspace.KeysOf(q.AppID).Sessions(), idsAfter(after, limit+1)).Result()
		err = keyspace.Unavailable(err)
		ids, next = pageOf(ids, limit)
	}
	return lists.Map(ids, func(id string) sessionPosition { return sessionPosition{id: id} }), next, err
}

// readSessions reads sessions. An ended session has no creation time.
func (s *sessionRecords) readSessions(ctx context.Context, appID string, positions []sessionPosition) ([]*repositories.Session, error) {
	k := keyspace.KeysOf(appID)
	turns := lists.Map(positions, func(p sessionPosition) string { return k.Turns(p.id) })
	closed := lists.Map(positions, func(p sessionPosition) string { return k.Closed(p.id) })
	hashFields, err := s.db.HashFields(ctx, turns, sessionFields...)
	if err != nil {
		return nil, err
	}
	users, err := s.db.HashFields(ctx, closed, "user")
	if err != nil {
		return nil, err
	}
	sessions := make([]*repositories.Session, len(positions))
	for i, fields := range hashFields {
		if sessions[i], err = readSession(appID, positions[i].id, append(fields, users[i]...)); err != nil {
			return nil, err
		}
		if used := positions[i].used; used > 0 {
			sessions[i].LastActive = time.UnixMilli(used).UTC()
		}
	}
	return sessions, nil
}

// readCallStates reads which sessions have incomplete calls begun by agents, and which have triggers.
func (s *sessionRecords) readCallStates(ctx context.Context, sessions []*repositories.Session) error {
	pipe, unfinished, fired := s.db.Pipeline(), make([]*redis.IntCmd, len(sessions)), make([]*redis.IntCmd, len(sessions))
	for i, session := range sessions {
		k := keyspace.KeysOf(session.AppID)
		unfinished[i], fired[i] = pipe.Exists(ctx, k.Asked(session.ID)), pipe.Exists(ctx, k.Triggers(session.ID))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return keyspace.Unavailable(err)
	}
	for i, session := range sessions {
		session.Unfinished, session.Fired = session.Unfinished || unfinished[i].Val() > 0, fired[i].Val() > 0
	}
	return nil
}

func (q SessionQuery) matches(session *repositories.Session) bool {
	used := session.LastUse()
	switch {
	case (q.User != "" || q.ByActivity) && session.Created.IsZero(): // it has ended
		return false
	case q.User != "" && session.User != q.User:
		return false
	case !q.UsedSince.IsZero() && used.Before(q.UsedSince), !q.UsedBefore.IsZero() && !used.Before(q.UsedBefore):
		return false
	}
	for name, value := range q.Metadata {
		if found, ok := session.Metadata.Text(name); !ok || found != value {
			return false
		}
	}
	return true
}

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
