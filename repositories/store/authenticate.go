package store

import (
	"context"
	"crypto/subtle"
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

// accessKeys are the keys of apps.
type accessKeys struct {
	*core
	access *fresh[*storedKey] // by app and keyId
}

const (
	// keyFresh is the maximum age of the cached key that a request is authenticated with. A
	// revocation takes effect everywhere within it, and RevokeKey waits for that.
	keyFresh = 250 * time.Millisecond
	// maxKeys bounds the keys of an app.
	maxKeys = 1000
	// useStep is how exact the last use of a key is.
	useStep = time.Minute
	// keyTime bounds the reading of a key, which all requests with it wait for.
	keyTime = 5 * time.Second
)

var (
	// ErrKey means that there is no such key: it never was, or it was revoked.
	ErrKey = errors.New("the key is not valid")
	// ErrKeyExpired means that the key's time is up.
	ErrKeyExpired = errors.New("the key has expired")
)

// storedKey is a key as it stands in Redis: its line, then the record, which is opaque to
// scripts.
type storedKey struct {
	AppKey
	Hash string `json:"hash"`
	// Line are the keys that it ends with, the first one made by the admin, as /a/b/.
	Line string `json:"-"`
}

// AppKeys lists the keys of an app by id, the first limit after the given one.
func (k *accessKeys) AppKeys(ctx context.Context, appID, after string, limit int) ([]AppKey, string, error) {
	keys := keyspace.KeysOf(appID)
	pipe := k.db.Pipeline()
	exists := pipe.Exists(ctx, keys.App())
	all, uses := pipe.HGetAll(ctx, keys.AppKeys()), pipe.HGetAll(ctx, keys.KeyUses())
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, "", keyspace.Unavailable(err)
	}
	if exists.Val() == 0 {
		return nil, "", fmt.Errorf("app %q: %w", appID, repositories.ErrNotFound)
	}
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(all.Val())), func(id string) bool { return id <= after })
	ids, next := cut(ids, limit)
	list, room := make([]AppKey, len(ids)), &repositories.Room{}
	for i, id := range ids {
		stored, err := readKey(all.Val()[id])
		if err != nil {
			return nil, "", err
		}
		list[i] = stored.AppKey
		list[i].LastUsed = timeOf(uses.Val()[id])
		if !room.Takes(list[i]) {
			return list[:i], ids[i-1], nil
		}
	}
	return list, next, nil
}

func readKey(text string) (*storedKey, error) {
	begins := max(strings.IndexByte(text, '{'), 0)
	stored := &storedKey{Line: text[:begins]}
	if err := json.Unmarshal([]byte(text[begins:]), stored); err != nil {
		return nil, fmt.Errorf("a stored key cannot be read: %w", err)
	}
	if line := stored.line(); len(line) > 0 {
		stored.root = line[0]
	}
	return stored, nil
}

// dropKey revokes a key and all that were made by it, however far down.
//
//	KEYS keys, uses
//	ARGV keyId
//	=>   the ids of the keys that there were
var dropKey = keyspace.NewFreeingScript(`
local all, gone = redis.call('HGETALL', KEYS[1]), {}
for i = 1, #all, 2 do
  local line = string.match(all[i + 1], '^[^{]*')
  if all[i] == ARGV[1] or string.find(line, '/' .. ARGV[1] .. '/', 1, true) then gone[#gone + 1] = all[i] end
end
for _, id in ipairs(gone) do redis.call('HDEL', KEYS[1], id) redis.call('HDEL', KEYS[2], id) end
return gone
`)

// RevokeKey removes a key with those that it has made, or returns repositories.ErrNotFound. When it
// returns, no replica takes any of them: it waits for as long as others may have them in
// mind.
func (k *accessKeys) RevokeKey(ctx context.Context, appID, keyID string) error {
	keys := keyspace.KeysOf(appID)
	reply, err := dropKey.Run(ctx, k.db, []string{keys.AppKeys(), keys.KeyUses()}, keyID)
	if err != nil {
		return err
	}
	gone, _ := reply.([]any)
	for _, id := range gone {
		k.access.forget(fmt.Sprintf("%s %s", appID, id))
	}
	if len(gone) == 0 {
		return fmt.Errorf("key %q: %w", keyID, repositories.ErrNotFound)
	}
	return forgotten(ctx)
}

// CheckKey finds the app and the record of a key that a client sent. Its errors are
// ErrKey, ErrKeyExpired and ErrUnavailable; they tell nothing of apps that exist.
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

// KeyValid reports whether a key, named by its id, is there and not expired. Its errors
// are those of CheckKey.
func (k *accessKeys) KeyValid(ctx context.Context, appID, keyID string) (AppKey, error) {
	stored, err := k.storedKey(ctx, appID, keyID)
	if err != nil {
		return AppKey{}, err
	}
	return stored.AppKey, k.checkExpiry(stored.AppKey)
}

func (k *accessKeys) checkExpiry(key AppKey) error {
	if key.expired(k.now()) {
		return ErrKeyExpired
	}
	return nil
}

func (k *accessKeys) storedKey(ctx context.Context, appID, keyID string) (*storedKey, error) {
	return k.access.get(appID+" "+keyID, func() (*storedKey, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyTime)
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
		if err == nil && k.now().Sub(timeOf(use.Val())) > useStep {
			_, err = useKey.Run(ctx, k.db, []string{keys.AppKeys(), keys.KeyUses()}, keyID)
		}
		return stored, err
	})
}

// useKey notes that a key is used.
//
//	KEYS keys, uses
//	ARGV keyId
//	=>   1, or 0 where the key is gone
var useKey = keyspace.NewFreeingScript(`
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], now())
return 1
`)
