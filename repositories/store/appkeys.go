package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/secret"
)

// Permission is one scope of an app key: a group of REST calls that the key may make.
type Permission string

// The permissions of section 9 of the contract.
const (
	PermitTools    Permission = "tools"    // repositories
	PermitMessages Permission = "messages" // messages, sessions, session tokens and events
	PermitTriggers Permission = "triggers" // direct triggers, records, retries and events
	PermitApp      Permission = "app"      // the app and its keys
)

// AppKey is the listed form of an app's API key. The key itself is shown once, when it is
// made, and stored as a hash.
type AppKey struct {
	ID     string       `json:"keyId"`
	Name   string       `json:"name,omitempty"`
	Scopes []Permission `json:"scopes"`
	// MadeBy is the key that asked for this one, and with which it ends; empty where it
	// was the admin.
	MadeBy  string    `json:"madeBy,omitempty"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expiresAt,omitzero"`
	// LastUsed is exact to a minute, so that a use costs no write.
	LastUsed time.Time `json:"lastUsed,omitzero"`

	root string
}

// Root is the id of the first key in the chain of keys that made this one; the admin has
// made it.
func (k AppKey) Root() string {
	if k.root == "" {
		return k.ID
	}
	return k.root
}

// expired reports whether the key's time is up.
func (k AppKey) expired(now time.Time) bool { return !k.Expires.IsZero() && !now.Before(k.Expires) }

// AppKeyPrefix begins every app key, so that scanners for leaked credentials find it.
const AppKeyPrefix = "ek_"

// keySecret is the number of random bytes in a key: nobody guesses 256 bits, hence a
// plain hash keeps them, without the cost of one made for passwords.
const keySecret = 32

// splitKey reads app and id out of what claims to be a key, by which its record is found:
// ek_APP.ID.SECRET, all of the alphabet of a bearer token (RFC 6750).
func splitKey(key secret.Secret) (appID, keyID string, ok bool) {
	text, ours := strings.CutPrefix(key.Reveal(), AppKeyPrefix)
	parts := strings.Split(text, ".")
	if !ours || len(parts) != 3 || !repositories.IsID(parts[0]) || !repositories.IsID(parts[1]) {
		return "", "", false
	}
	return parts[0], parts[1], true
}

// hashKey covers the whole text: a secret under another app or id is another key.
func hashKey(key secret.Secret) string {
	sum := sha256.Sum256([]byte(key.Reveal()))
	return hex.EncodeToString(sum[:])
}

// maxLine is the maximum number of keys between a key and the admin.
const maxLine = 16

// NewKey is a request for an app key.
type NewKey struct {
	Name   string
	Scopes []Permission
	// Lifetime is how long the key is valid; zero means until it is revoked.
	Lifetime time.Duration
	// By is the key of the same app that asks; empty for the admin.
	By string
}

// ScopeError is the error for a key that asks for another key with more permissions than
// its own.
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
var addKey = keyspace.NewScript(`
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
func (k *accessKeys) CreateKey(ctx context.Context, appID string, asked NewKey) (AppKey, secret.Secret, error) {
	made := storedKey{AppKey: AppKey{ID: k.newID(), Name: asked.Name, Scopes: asked.Scopes, Created: k.now().UTC(), MadeBy: asked.By}, Line: "/"}
	if asked.Lifetime > 0 {
		made.Expires = made.Created.Add(asked.Lifetime)
	}
	if asked.By != "" {
		if err := k.descend(ctx, appID, &made); err != nil {
			return AppKey{}, secret.Secret{}, err
		}
	}
	random := make([]byte, keySecret)
	rand.Read(random) // never fails (crypto/rand)
	text := secret.New(AppKeyPrefix + appID + "." + made.ID + "." + base64.RawURLEncoding.EncodeToString(random))
	made.Hash = hashKey(text)
	return made.AppKey, text, k.addKey(ctx, appID, made)
}

// descend puts a key below the one that asks for it.
func (k *accessKeys) descend(ctx context.Context, appID string, made *storedKey) error {
	by, err := k.storedKey(ctx, appID, made.MadeBy)
	if err != nil {
		return err
	}
	if err := k.checkExpiry(by.AppKey); err != nil {
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
	if len(made.line()) > maxLine {
		return fmt.Errorf("%w: a key may be made by a key %d times over; ask with one further up", repositories.ErrFull, maxLine)
	}
	return nil
}

// line lists the keys that the key ends with, the first one made by the admin.
func (k *storedKey) line() []string {
	return strings.FieldsFunc(k.Line, func(r rune) bool { return r == '/' })
}

func (k *accessKeys) addKey(ctx context.Context, appID string, made storedKey) error {
	record, err := json.Marshal(made)
	if err != nil {
		return err
	}
	keys, args := keyspace.KeysOf(appID), []any{made.ID, made.Line + string(record), maxKeys}
	for _, id := range made.line() {
		args = append(args, id)
	}
	switch reply, err := addKey.Run(ctx, k.db, []string{keys.App(), keys.AppKeys()}, args...); {
	case err != nil:
		return err
	case reply == "noapp":
		return fmt.Errorf("app %q: %w", appID, repositories.ErrNotFound)
	case reply == "orphan":
		return ErrKey
	case reply == "full":
		return fmt.Errorf("%w: app %q has %d keys, the most: revoke some", repositories.ErrFull, appID, maxKeys)
	}
	return nil
}
