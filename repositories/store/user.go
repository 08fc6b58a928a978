package store

import (
	"cmp"
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories"
	"earshot/repositories/keyspace"
)

// forgetUser takes away that a session had a user, unless it has begun anew with one.
//
//	ARGV user is the one to forget, '' for whom the mark of the closed session names
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

// Forget takes away whose the session was, when nothing else of it is left. user is known to have had it; empty for
// whoever had.
func (e *erasing) Forget(ctx context.Context, user string) error {
	return e.sessions.forgetUser(ctx, e.app, e.id, user)
}

// SessionsOf lists the ids of the sessions of a user, the first limit after the given one: those that are there, and
// those that have ended and of which something may be left.
func (s *sessionRecords) SessionsOf(ctx context.Context, appID, user, after string, limit int) (ids []string, next string, err error) {
	if _, err := s.appReads.App(ctx, appID); err != nil {
		return nil, "", err
	}
	return s.ofUser(ctx, appID, user, after, limit)
}

func (s *sessionRecords) ofUser(ctx context.Context, appID, user, after string, limit int) (ids []string, next string, err error) {
	by := &redis.ZRangeBy{Min: "(" + keyspace.OfUser(user, after), Max: "(" + user + "\x01", Count: int64(limit) + 1}
	names, err := s.db.ZRangeByLex(ctx, keyspace.KeysOf(appID).Users(), by).Result()
	if err != nil {
		return nil, "", keyspace.Unavailable(err)
	}
	for _, name := range names {
		_, id := keyspace.SessionOfUser(name)
		ids = append(ids, id)
	}
	ids, next = cut(ids, limit)
	return ids, next, nil
}

// forgetUsers takes away whose the sessions of an app were, which has none left.
func (s *sessionRecords) forgetUsers(ctx context.Context, appID string) error {
	for {
		names, err := s.db.ZRange(ctx, keyspace.KeysOf(appID).Users(), 0, sessionsAtOnce-1).Result()
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
	// Metadata are members of the metadata, each with its value: a text, or another value as JSON has it.
	Metadata map[string]string
	// UsedSince and UsedBefore bound the last use. UsedBefore itself is not included.
	UsedSince, UsedBefore time.Time
	// Among is asked about those that match all else; nil for all of them.
	Among func(context.Context, *repositories.Session) (bool, error)
	After string // the id of the session before
	Limit int
}

// So many sessions are looked at together, and for one page.
const (
	sessionsAtOnce     = 500
	mostSessionsLooked = 20_000
	mostSessionsAsked  = 1000 // about, where the query is to ask
)

// Sessions lists the sessions of an app that match a query, by id. One that an earlier version began is listed from its
// next message on. A page may have fewer sessions than its limit, even none, and more behind it: where few match, it
// ends when many were looked at.
func (s *sessionRecords) Sessions(ctx context.Context, q SessionQuery) (items []*repositories.Session, next string, err error) {
	if there, err := s.db.Exists(ctx, keyspace.KeysOf(q.AppID).App()).Result(); err != nil || there == 0 {
		return nil, "", cmp.Or(keyspace.Unavailable(err), error(&repositories.NotFoundError{Kind: "app", ID: q.AppID}))
	}
	items, room, after := []*repositories.Session{}, &repositories.Room{}, q.After
	some, most := q.Limit, mostSessionsLooked
	if q.Among != nil {
		most = mostSessionsAsked
	}
	for looked := 0; looked < most; looked += some {
		if looked > 0 {
			some = sessionsAtOnce
		}
		ids, more, err := s.listed(ctx, q, after, some)
		if err != nil {
			return nil, "", err
		}
		read, err := s.readSessions(ctx, q.AppID, ids)
		if err == nil && q.Among != nil {
			err = s.readAsked(ctx, read)
		}
		if err != nil {
			return nil, "", err
		}
		for i, session := range read {
			matches := q.matches(session)
			if matches && q.Among != nil {
				if matches, err = q.Among(ctx, session); err != nil {
					return nil, "", err
				}
			}
			if matches && !room.Takes(session) {
				return items, after, nil
			}
			after = ids[i]
			if !matches {
				continue
			}
			items = append(items, session)
			if len(items) == q.Limit {
				if i == len(read)-1 && more == "" {
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

// listed lists ids of sessions, those of the user where the query names one.
func (s *sessionRecords) listed(ctx context.Context, q SessionQuery, after string, limit int) (ids []string, next string, err error) {
	if q.User != "" {
		return s.ofUser(ctx, q.AppID, q.User, after, limit)
	}
	from := "-"
	if after != "" {
		from = "(" + after
	}
	ids, err = s.db.ZRangeByLex(ctx, keyspace.KeysOf(q.AppID).Sessions(), &redis.ZRangeBy{Min: from, Max: "+", Count: int64(limit) + 1}).Result()
	if err != nil {
		return nil, "", keyspace.Unavailable(err)
	}
	ids, next = cut(ids, limit)
	return ids, next, nil
}

// readSessions reads sessions. One that has ended was never created.
func (s *sessionRecords) readSessions(ctx context.Context, appID string, ids []string) ([]*repositories.Session, error) {
	k, hashes := keyspace.KeysOf(appID), make([]string, 2*len(ids))
	for i, id := range ids {
		hashes[i], hashes[len(ids)+i] = k.Turns(id), k.Closed(id)
	}
	read, err := s.db.HashFields(ctx, hashes[:len(ids)], sessionFields...)
	if err != nil {
		return nil, err
	}
	before, err := s.db.HashFields(ctx, hashes[len(ids):], "user")
	if err != nil {
		return nil, err
	}
	sessions := make([]*repositories.Session, len(ids))
	for i, fields := range read {
		if sessions[i], err = readSession(appID, ids[i], append(fields, before[i]...)); err != nil {
			return nil, err
		}
	}
	return sessions, nil
}

// readAsked reads whether agents have begun calls in sessions that lack values.
func (s *sessionRecords) readAsked(ctx context.Context, sessions []*repositories.Session) error {
	pipe, there := s.db.Pipeline(), make([]*redis.IntCmd, len(sessions))
	for i, session := range sessions {
		there[i] = pipe.Exists(ctx, keyspace.KeysOf(session.AppID).Asked(session.ID))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return keyspace.Unavailable(err)
	}
	for i, session := range sessions {
		session.Unfinished = session.Unfinished || there[i].Val() > 0
	}
	return nil
}

func (q SessionQuery) matches(session *repositories.Session) bool {
	used := session.LastUse()
	switch {
	case q.User != "" && (session.User != q.User || session.Created.IsZero()):
		return false
	case !q.UsedSince.IsZero() && used.Before(q.UsedSince), !q.UsedBefore.IsZero() && !used.Before(q.UsedBefore):
		return false
	}
	for name, value := range q.Metadata {
		if found, has := session.Metadata.Text(name); !has || found != value {
			return false
		}
	}
	return true
}
