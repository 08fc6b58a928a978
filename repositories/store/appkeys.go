package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/secret"
)

// Permission is a scope of an app key: a group of REST calls that the key may make.
type Permission string

// The permissions of section 9 of the contract.
const (
	PermitTools    Permission = "tools"    // repositories
	PermitMessages Permission = "messages" // messages, sessions, session tokens and events
	PermitTriggers Permission = "triggers" // direct triggers, records, retries and events
	PermitApp      Permission = "app"      // the app and its keys
)

// ReadOnly returns the read-only variant of the scope.
func (p Permission) ReadOnly() Permission { return p + ":read" }

// AppKey is the listed form of an app's API key. The key is shown once, on creation, and stored as a hash.
type AppKey struct {
	ID     string       `json:"keyId"`
	Name   string       `json:"name,omitempty"`
	Scopes []Permission `json:"scopes"`
	// Parent is the key that requested this one and that it ends with; empty for the admin.
	Parent   string    `json:"madeBy,omitempty"`
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expiresAt,omitzero"`
	LastUsed time.Time `json:"lastUsed,omitzero"` // exact to a minute, so that most uses cost no write

	root string
}

// Root returns the id of the first key in the chain that created this one; the admin created that key.
func (k AppKey) Root() string { return cmp.Or(k.root, k.ID) }

// AppKeyPrefix begins every app key, so that scanners for leaked credentials find it.
const AppKeyPrefix = "ek_"

// keySecret is the number of random bytes in a key. 256 bits cannot be guessed, so a plain hash suffices in place
// of a slow password hash.
const keySecret = 32

// splitKey returns the app and the id in a key, by which its record is found: ek_APP.ID.SECRET, in the alphabet of
// bearer tokens (RFC 6750).
func splitKey(key secret.Secret) (appID, keyID string, ok bool) {
	text, ours := strings.CutPrefix(key.Reveal(), AppKeyPrefix)
	parts := strings.Split(text, ".")
	if !ours || len(parts) != 3 || !repositories.IsID(parts[0]) || !repositories.IsID(parts[1]) {
		return "", "", false
	}
	return parts[0], parts[1], true
}

// hashKey covers the whole text: the same secret under another app or id is another key.
func hashKey(key secret.Secret) string {
	sum := sha256.Sum256([]byte(key.Reveal()))
	return hex.EncodeToString(sum[:])
}

const maxAncestors = 16

// NewKey is a request for an app key.
type NewKey struct {
	ID       string // empty: generated
	Name     string
	Scopes   []Permission
	Lifetime time.Duration // how long the key is valid; zero means until it is revoked
	Parent   string        // the app's key that requests this one; empty for the admin
}

// ScopeError reports that a key requested a key with more permissions than its own.
type ScopeError struct {
	Excess []int // indexes of the requested scopes that the key lacks
	Has    []Permission
}

// Error names the scopes of the requesting key.
func (e *ScopeError) Error() string {
	return "a key makes none that may do more than itself: it has " + strings.ReplaceAll(strings.Trim(fmt.Sprint(e.Has), "[]"), " ", ", ")
}

// addKey adds a key to an app.
//
//	KEYS app, keys, ends of keys
//	ARGV keyId, stored key, maximum number of keys, appId/keyId, when it expires (ms, 0 for never), the ids of its
//	     ancestors …
//	=>   ok, noapp, orphan if an ancestor is gone, or full
var addKey = keyspace.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 'noapp' end
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 1 then return 'ok' end
for i = 6, #ARGV do
  if redis.call('HEXISTS', KEYS[2], ARGV[i]) == 0 then return 'orphan' end
end
if redis.call('HLEN', KEYS[2]) >= tonumber(ARGV[3]) then return 'full' end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
if ARGV[5] ~= '0' then redis.call('ZADD', KEYS[3], ARGV[5], ARGV[4]) end
return 'ok'
`)

// CreateKey makes a key of an app. A key that another key requests ends with it and may do no more than it; ErrKey
// and ErrKeyExpired mean that the other has ended. The Secret is the key and cannot be shown again.
func (k *accessKeys) CreateKey(ctx context.Context, appID string, request NewKey) (AppKey, secret.Secret, error) {
	key := storedKey{AppKey: AppKey{ID: cmp.Or(request.ID, k.newID()), Name: request.Name, Scopes: request.Scopes, Created: k.now().UTC(), Parent: request.Parent}, Ancestors: "/"}
	if request.Lifetime > 0 {
		key.Expires = key.Created.Add(request.Lifetime)
	}
	if request.Parent != "" {
		if err := k.inherit(ctx, appID, &key); err != nil {
			return AppKey{}, secret.Secret{}, err
		}
	}
	random := make([]byte, keySecret)
	rand.Read(random) // never fails (crypto/rand)
	full := secret.New(AppKeyPrefix + appID + "." + key.ID + "." + base64.RawURLEncoding.EncodeToString(random))
	key.Hash = hashKey(full)
	return key.AppKey, full, k.addKey(ctx, appID, key)
}

// inherit makes a key the child of its Parent, whose scopes and expiry limit it.
func (k *accessKeys) inherit(ctx context.Context, appID string, key *storedKey) error {
	parent, err := k.storedKey(ctx, appID, key.Parent)
	if err != nil {
		return err
	}
	if err := k.checkExpiry(parent.AppKey); err != nil {
		return err
	}
	denied := &ScopeError{Has: parent.Scopes}
	for i, asked := range key.Scopes {
		covers := func(scope Permission) bool { return asked == scope || asked == scope.ReadOnly() }
		if !slices.ContainsFunc(parent.Scopes, covers) {
			denied.Excess = append(denied.Excess, i)
		}
	}
	if len(denied.Excess) > 0 {
		return denied
	}
	if !parent.Expires.IsZero() && (key.Expires.IsZero() || parent.Expires.Before(key.Expires)) {
		key.Expires = parent.Expires
	}
	key.Ancestors = strings.TrimSuffix(parent.Ancestors, "/") + "/" + parent.ID + "/"
	if len(key.ancestorIDs()) > maxAncestors {
		return fmt.Errorf("%w: a chain of keys that make keys has at most %d members; use a key earlier in the chain", repositories.ErrFull, maxAncestors)
	}
	return nil
}

// ancestorIDs lists the key's ancestors, the one that the admin made first.
func (k *storedKey) ancestorIDs() []string {
	return strings.FieldsFunc(k.Ancestors, func(r rune) bool { return r == '/' })
}

func (k *accessKeys) addKey(ctx context.Context, appID string, key storedKey) error {
	record, err := json.Marshal(key)
	if err != nil {
		return err
	}
	ends := int64(0)
	if !key.Expires.IsZero() {
		ends = key.Expires.UnixMilli() + 1 // it is cut to milliseconds
	}
	keys, args := keyspace.KeysOf(appID), []any{key.ID, key.Ancestors + string(record), maxKeys, appID + "/" + key.ID, ends}
	for _, id := range key.ancestorIDs() {
		args = append(args, id)
	}
	switch reply, err := addKey.Run(ctx, k.db, []string{keys.App(), keys.AppKeys(), keyspace.KeyEnds(keys)}, args...); {
	case err != nil:
		return err
	case reply == "noapp":
		return &repositories.NotFoundError{Kind: "app", ID: appID}
	case reply == "orphan":
		return ErrKey
	case reply == "full":
		return fmt.Errorf("%w: app %q has %d keys, which is the limit: revoke some", repositories.ErrFull, appID, maxKeys)
	}
	return nil
}

type accessKeys struct {
	*core
	keyCache *freshCache[*storedKey] // by app and keyId
}

const (
	// freshTTL is the maximum age of cached credentials. A revocation takes effect everywhere within it, and
	// RevokeKey waits for that.
	freshTTL = 250 * time.Millisecond
	// maxKeys bounds the keys of an app.
	maxKeys       = 1000
	useResolution = time.Minute // the precision of a key's last use
	// keyReadTimeout bounds the read of a key, which all requests with the key wait for.
	keyReadTimeout = 5 * time.Second
)

var (
	// ErrKey means that the key never existed or was revoked.
	ErrKey = errors.New("the key is not valid")
	// ErrKeyExpired means that the key has expired.
	ErrKeyExpired = errors.New("the key has expired")
)

// storedKey is a key as stored in Redis: its ancestors, then the record, which scripts do not read.
type storedKey struct {
	AppKey
	Hash      string `json:"hash"`
	Ancestors string `json:"-"` // lists the key's ancestors, the one that the admin made first, as /a/b/
}

// AppKeys lists up to limit keys of an app that have not expired, by id, beginning after the given id.
func (k *accessKeys) AppKeys(ctx context.Context, appID, after string, limit int) ([]AppKey, string, error) {
	keys := keyspace.KeysOf(appID)
	pipe := k.db.Pipeline()
	exists := pipe.Exists(ctx, keys.App())
	records, uses := pipe.HGetAll(ctx, keys.AppKeys()), pipe.HGetAll(ctx, keys.KeyUses())
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, "", keyspace.Unavailable(err)
	}
	if exists.Val() == 0 {
		return nil, "", &repositories.NotFoundError{Kind: "app", ID: appID}
	}
	valid := make(map[string]AppKey, len(records.Val()))
	for id, text := range records.Val() {
		stored, err := readKey(text)
		if err != nil {
			return nil, "", err
		}
		if k.checkExpiry(stored.AppKey) == nil {
			valid[id] = stored.AppKey
		}
	}
	ids, next := pageAfter(slices.Collect(maps.Keys(valid)), after, limit)
	items, budget := make([]AppKey, len(ids)), &repositories.PageBudget{}
	for i, id := range ids {
		items[i] = valid[id]
		items[i].LastUsed = timeOf(uses.Val()[id])
		if !budget.Fits(items[i]) {
			return items[:i], ids[i-1], nil
		}
	}
	return items, next, nil
}

func readKey(text string) (*storedKey, error) {
	start := max(strings.IndexByte(text, '{'), 0)
	stored := &storedKey{Ancestors: text[:start]}
	if err := json.Unmarshal([]byte(text[start:]), stored); err != nil {
		return nil, fmt.Errorf("a stored key cannot be read: %w", err)
	}
	if ancestors := stored.ancestorIDs(); len(ancestors) > 0 {
		stored.root = ancestors[0]
	}
	return stored, nil
}

// dropKey revokes a key and its descendants.
//
//	KEYS keys, uses, ends of keys
//	ARGV keyId, appId
//	=>   the ids of the revoked keys
var dropKey = keyspace.NewFreeingScript(`
local keys, revoked = redis.call('HGETALL', KEYS[1]), {}
for i = 1, #keys, 2 do
  local ancestors = string.match(keys[i + 1], '^[^{]*')
  if keys[i] == ARGV[1] or string.find(ancestors, '/' .. ARGV[1] .. '/', 1, true) then revoked[#revoked + 1] = keys[i] end
end
for _, id in ipairs(revoked) do
  redis.call('HDEL', KEYS[1], id)
  redis.call('HDEL', KEYS[2], id)
  redis.call('ZREM', KEYS[3], ARGV[2] .. '/' .. id)
end
return revoked
`)

// RevokeKey removes a key and its descendants, or returns repositories.ErrNotFound. It waits until no replica's
// cache can hold any of them.
func (k *accessKeys) RevokeKey(ctx context.Context, appID, keyID string) error {
	keys := keyspace.KeysOf(appID)
	reply, err := dropKey.Run(ctx, k.db, []string{keys.AppKeys(), keys.KeyUses(), keyspace.KeyEnds(keys)}, keyID, appID)
	if err != nil {
		return err
	}
	revoked, _ := reply.([]any)
	for _, id := range revoked {
		k.keyCache.forget(fmt.Sprintf("%s %s", appID, id))
	}
	if len(revoked) == 0 {
		return &repositories.NotFoundError{Kind: "key", ID: keyID}
	}
	return awaitRevocation(ctx)
}

// CheckKey finds the app and the record of a client's key. Its errors are ErrKey, ErrKeyExpired and ErrUnavailable;
// they do not reveal which apps exist.
func (k *accessKeys) CheckKey(ctx context.Context, key secret.Secret) (appID string, found AppKey, err error) {
	appID, keyID, ok := splitKey(key)
	if !ok {
		return "", AppKey{}, ErrKey
	}
	stored, err := k.storedKey(ctx, appID, keyID)
	if err != nil {
		return "", AppKey{}, err
	}
	if subtle.ConstantTimeCompare([]byte(stored.Hash), []byte(hashKey(key))) != 1 {
		return "", AppKey{}, ErrKey
	}
	return appID, stored.AppKey, k.checkExpiry(stored.AppKey)
}

// ValidKey returns the key with an id if it exists and has not expired. Its errors are those of CheckKey.
func (k *accessKeys) ValidKey(ctx context.Context, appID, keyID string) (AppKey, error) {
	stored, err := k.storedKey(ctx, appID, keyID)
	if err != nil {
		return AppKey{}, err
	}
	return stored.AppKey, k.checkExpiry(stored.AppKey)
}

func (k *accessKeys) checkExpiry(key AppKey) error {
	if !key.Expires.IsZero() && !k.now().Before(key.Expires) {
		return ErrKeyExpired
	}
	return nil
}

func (k *accessKeys) storedKey(ctx context.Context, appID, keyID string) (*storedKey, error) {
	return k.keyCache.get(appID+" "+keyID, func() (*storedKey, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyReadTimeout)
		defer cancel()
		pipe, keys := k.db.Pipeline(), keyspace.KeysOf(appID)
		record, use := pipe.HGet(ctx, keys.AppKeys(), keyID), pipe.HGet(ctx, keys.KeyUses(), keyID)
		if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
			return nil, keyspace.Unavailable(err)
		}
		if record.Val() == "" {
			return nil, ErrKey
		}
		stored, err := readKey(record.Val())
		if err == nil && k.now().Sub(timeOf(use.Val())) > useResolution {
			_, err = useKey.Run(ctx, k.db, []string{keys.AppKeys(), keys.KeyUses()}, keyID)
		}
		return stored, err
	})
}

// useKey records that a key is used.
//
//	KEYS keys, uses
//	ARGV keyId
//	=>   1, or 0 if the key is gone
var useKey = keyspace.NewFreeingScript(`
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], now())
return 1
`)
