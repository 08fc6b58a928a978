package store

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"earshot/repositories"
	"earshot/repositories/keyspace"
)

// placesAtOnce is how many sessions are asked for a repository in one round trip.
const placesAtOnce = 1000

// Places lists the scopes of an app in which there is a repository of that id, the app's own
// first. It looks through all sessions of the app. The error is repositories.ErrNotFound
// without the app.
func (a *appReads) Places(ctx context.Context, appID, repositoryID string) ([]repositories.Scope, error) {
	if _, err := a.App(ctx, appID); err != nil {
		return nil, err
	}
	sessions, after := []string{""}, "-"
	var found []repositories.Scope
	for {
		places, err := a.placesAmong(ctx, appID, sessions, repositoryID)
		if err != nil {
			return nil, err
		}
		found = append(found, places...)
		sessions, err = a.db.ZRangeByLex(ctx, keyspace.KeysOf(appID).Sessions(), &redis.ZRangeBy{Min: after, Max: "+", Count: placesAtOnce}).Result()
		if err != nil || len(sessions) == 0 {
			return found, keyspace.Unavailable(err)
		}
		after = "(" + sessions[len(sessions)-1]
	}
}

// placesAmong asks some scopes of an app, "" for the app's own, whether they have a repository.
func (a *appReads) placesAmong(ctx context.Context, appID string, sessions []string, repositoryID string) (found []repositories.Scope, err error) {
	pipe, keys := a.db.Pipeline(), keyspace.KeysOf(appID)
	has := make([]*redis.BoolCmd, len(sessions))
	for i, session := range sessions {
		has[i] = pipe.HExists(ctx, keys.Repos(session), repositoryID)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("repository %q: %w", repositoryID, keyspace.Unavailable(err))
	}
	for i, session := range sessions {
		if has[i].Val() {
			found = append(found, repositories.Scope{AppID: appID, SessionID: session})
		}
	}
	return found, nil
}
