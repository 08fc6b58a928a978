package repositories

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"earshot/repositories/secret"
)

// mostLine is how many keys may stand between a key and the admin.
const mostLine = 16

// NewKey is a key that is asked for.
type NewKey struct {
	Name   string
	Scopes []Permission
	// Lifetime is how long it is good; zero for until it is revoked.
	Lifetime time.Duration
	// By is the key of the same app that asks; empty for the admin.
	By string
}

// ScopeError means that a key asks for another that may do more than itself.
type ScopeError struct {
	Beyond []int // which of the scopes that were asked for
	Has    []Permission
}

// Error says what the key has.
func (e *ScopeError) Error() string {
	return "a key makes none that may do more than itself: it has " + strings.ReplaceAll(strings.Trim(fmt.Sprint(e.Has), "[]"), " ", ", ")
}

// addKey adds a key to an app.
//
//	KEYS app, keys
//	ARGV keyId, stored key, most keys, the keys that it ends with …
//	=>   ok, noapp, orphan where one of these is gone, or full
var addKey = NewScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 'noapp' end
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 1 then return 'ok' end
for i = 4, #ARGV do
  if redis.call('HEXISTS', KEYS[2], ARGV[i]) == 0 then return 'orphan' end
end
if redis.call('HLEN', KEYS[2]) >= tonumber(ARGV[3]) then return 'full' end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
return 'ok'
`)

// CreateKey makes a key of an app. One that was asked for by another key ends with that
// and may do no more than it; ErrKey and ErrKeyExpired mean that the other has ended. The
// Secret is the key: nothing else can show it again.
func (s *Store) CreateKey(ctx context.Context, appID string, asked NewKey) (AppKey, secret.Secret, error) {
	made := storedKey{AppKey: AppKey{ID: s.newID(), Name: asked.Name, Scopes: asked.Scopes, Created: s.now().UTC(), MadeBy: asked.By}, Line: "/"}
	if asked.Lifetime > 0 {
		made.Expires = made.Created.Add(asked.Lifetime)
	}
	if asked.By != "" {
		if err := s.descend(ctx, appID, &made); err != nil {
			return AppKey{}, secret.Secret{}, err
		}
	}
	text := newKeyText(appID, made.ID)
	made.Hash = hashKey(text)
	return made.AppKey, text, s.addKey(ctx, appID, made)
}

// descend puts a key below the one that asks for it.
func (s *Store) descend(ctx context.Context, appID string, made *storedKey) error {
	by, err := s.storedKey(ctx, appID, made.MadeBy)
	if err != nil {
		return err
	}
	if err := s.checkExpiry(by.AppKey); err != nil {
		return err
	}
	beyond := &ScopeError{Has: by.Scopes}
	for i, scope := range made.Scopes {
		if !slices.Contains(by.Scopes, scope) {
			beyond.Beyond = append(beyond.Beyond, i)
		}
	}
	if len(beyond.Beyond) > 0 {
		return beyond
	}
	if !by.Expires.IsZero() && (made.Expires.IsZero() || by.Expires.Before(made.Expires)) {
		made.Expires = by.Expires
	}
	made.Line = strings.TrimSuffix(by.Line, "/") + "/" + by.ID + "/"
	if len(made.line()) > mostLine {
		return fmt.Errorf("%w: a key may be made by a key %d times over; ask with one further up", ErrFull, mostLine)
	}
	return nil
}

// line lists the keys that the key ends with, the first one made by the admin.
func (k *storedKey) line() []string {
	return strings.FieldsFunc(k.Line, func(r rune) bool { return r == '/' })
}

func (s *Store) addKey(ctx context.Context, appID string, made storedKey) error {
	record, err := json.Marshal(made)
	if err != nil {
		return err
	}
	keys, args := KeysOf(appID), []any{made.ID, made.Line + string(record), mostKeys}
	for _, id := range made.line() {
		args = append(args, id)
	}
	switch reply, err := addKey.Run(ctx, s.db, []string{keys.App(), keys.AppKeys()}, args...); {
	case err != nil:
		return err
	case reply == "noapp":
		return fmt.Errorf("app %q: %w", appID, ErrNotFound)
	case reply == "orphan":
		return ErrKey
	case reply == "full":
		return fmt.Errorf("%w: app %q has %d keys, the most: revoke some", ErrFull, appID, mostKeys)
	}
	return nil
}
