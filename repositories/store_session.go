package repositories

import (
	"context"
	"strings"
)

// dropSession removes what a session has besides its repositories.
//
//	KEYS turns, order, repos, triggers, idle
//	ARGV app/session
//	=>   ok, or again where it has repositories
var dropSession = NewScript(`
if redis.call('HLEN', KEYS[3]) > 0 then return 'again' end
redis.call('DEL', KEYS[1], KEYS[2], KEYS[4])
redis.call('ZREM', KEYS[5], ARGV[1])
return 'ok'
`)

// CloseSession removes a session: its history and its repositories, each of which owes
// its tool.changed. Effects that are owed already are still delivered. Closing a
// session that is not there is no error.
func (s *Store) CloseSession(ctx context.Context, appID, sessionID string) error {
	if _, err := s.App(ctx, appID); err != nil {
		return err
	}
	keys := KeysOf(appID)
	return again(ctx, func() error {
		if err := s.deleteAll(ctx, Scope{AppID: appID, SessionID: sessionID}); err != nil {
			return err
		}
		reply, err := dropSession.Run(ctx, s.db, []string{keys.Turns(sessionID), keys.Order(sessionID),
			keys.Repos(sessionID), keys.Triggers(sessionID), keys.Idle()}, appID+"/"+sessionID)
		if err == nil && reply == "again" {
			err = errConflict
		}
		return err
	})
}

// stillIdle tells whether a session is still past its time by the clock of Redis.
//
//	KEYS idle
//	ARGV app/session
//	=>   yes or no
var stillIdle = NewScript(`
local at = redis.call('ZSCORE', KEYS[1], ARGV[1])
if at and tonumber(at) <= now() then return 'yes' end
return 'no'
`)

// ExpireSession closes a session, named as in Keys.Idle, unless it was used since.
func (s *Store) ExpireSession(ctx context.Context, member string) error {
	appID, sessionID, _ := strings.Cut(member, "/")
	reply, err := stillIdle.Run(ctx, s.db, []string{KeysOf(appID).Idle()}, member)
	if err != nil || reply != "yes" {
		return err
	}
	return s.CloseSession(ctx, appID, sessionID)
}
