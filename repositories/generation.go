package repositories

import (
	"context"
	"fmt"
	"time"
)

// lateEnd is how long after its session was closed an effect may come to its end: a
// call is tried for at most 24 hours, and its record is kept from then on.
const lateEnd = 48 * time.Hour

// Generation tells what lives under a name now from what lived under it before. It is
// random, and stands in the ids of what a session sets off and in its tokens.
//
// A session's is empty until it is closed for the first time, and renewed each time it
// is. Thus nothing needs to be written when a session begins, and a failover that loses
// the last writes leaves the generation of a living session as it was.
type Generation struct {
	App     string `json:"app,omitempty"`
	Session string `json:"session,omitempty"`
}

// Generation reads the generation of an app and of a session, which need not have been
// used yet. Without the app it fails with ErrNotFound.
func (s *Store) Generation(ctx context.Context, appID, sessionID string) (Generation, error) {
	keys := KeysOf(appID)
	pipe := s.db.Pipeline()
	app, session := pipe.HMGet(ctx, keys.App(), "rev", "generation"), pipe.HMGet(ctx, keys.Closed(sessionID), "generation")
	if _, err := pipe.Exec(ctx); err != nil {
		return Generation{}, Unavailable(err)
	}
	if app.Val()[0] == nil {
		return Generation{}, fmt.Errorf("app %q: %w", appID, ErrNotFound)
	}
	found := Generation{}
	found.App, _ = app.Val()[1].(string) // none in apps that were made before there were any
	found.Session, _ = session.Val()[0].(string)
	return found, nil
}

// LifeOf is Generation as it was at most KeyFresh ago: what a request with a session token
// is let in by. Whoever ends a life waits for that long.
func (s *Store) LifeOf(ctx context.Context, appID, sessionID string) (Generation, error) {
	return s.lives.get(appID+" "+sessionID, func() (Generation, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyTime)
		defer cancel()
		return s.Generation(ctx, appID, sessionID)
	})
}

// forgotten waits until no replica lets anybody in by what is over now.
func forgotten(ctx context.Context) error {
	select {
	case <-time.After(KeyFresh):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Remembers is how long the generation of a session is kept after it was closed, or
// used since: until nothing of its earlier lives is left.
func (s *Store) Remembers() time.Duration { return s.keep.longest() + lateEnd }
