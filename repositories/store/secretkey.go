package store

import (
	"context"
	"errors"
	"fmt"

	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/secret"
)

type secretKeys struct {
	*core
	appReads     *appReads
	repositories *repositoryRecords
}

// ErrSecretKey is wrapped by errors that say that what Redis holds was sealed with
// another secret key.
var ErrSecretKey = errors.New("its credentials were encrypted with another secret key")

// Names under which the known text of the marks is sealed, of an app that cannot be.
const (
	markApp, markField, markText = "", "secret key", "earshot"
)

// marks are known texts in Redis, sealed with the secret key that credentials are
// sealed with, and with the one before that.
type marks struct{ current, before string }

// opens reports whether one of the keys has made a mark.
func (s *Sealer) opens(mark string) bool {
	text, err := s.open(markApp, markField, "", mark)
	return err == nil && text.Reveal() == markText
}

// setMark writes a mark where the one before it is as it was.
//
//	KEYS 1 marks
//	ARGV current mark that is there ('' for none), new one, the one before it
//	=>   ok, or conflict
var setMark = keyspace.NewScript(`
local there = redis.call('HGET', KEYS[1], 'current') or ''
if there == ARGV[2] then return 'ok' end
if there ~= ARGV[1] then return 'conflict' end
redis.call('HSET', KEYS[1], 'current', ARGV[2], 'before', ARGV[3])
return 'ok'
`)

func (k *secretKeys) marks(ctx context.Context) (marks, error) {
	fields, err := k.db.HGetAll(ctx, keyspace.SecretKeyMarks).Result()
	return marks{fields["current"], fields["before"]}, keyspace.Unavailable(err)
}

// AdoptSecretKey is for the start of a process: it returns an error that wraps
// ErrSecretKey where Redis belongs to another secret key, and otherwise marks it as
// belonging to the current one, from which moment one who starts with the old key alone
// is refused. A Redis without a mark is judged by a credential that it holds. lasting is
// false for a key that ends with the process: it leaves no mark.
func (k *secretKeys) AdoptSecretKey(ctx context.Context, lasting bool) error {
	return retry(ctx, func() error {
		held, err := k.marks(ctx)
		switch {
		case err != nil:
			return err
		case held.current == "":
			if err := k.tryCredential(ctx); err != nil {
				return err
			}
		case !k.sealer.opens(held.current):
			return ErrSecretKey
		case k.sealer.seals(held.current):
			return nil
		}
		if !lasting {
			return nil
		}
		mark := k.sealer.seal(markApp, markField, secret.New(markText))
		err = conflicts(setMark.Run(ctx, k.db, []string{keyspace.SecretKeyMarks}, held.current, mark, held.current))
		if errors.Is(err, keyspace.ErrMemory) {
			return nil // it is marked at another start
		}
		return err
	})
}

// CheckSecretKey is for a process that runs: it returns an error that wraps ErrSecretKey
// where Redis belongs to neither the secret key nor the old one. While the others are
// started with a new one, one that has the key before it alone goes on.
func (k *secretKeys) CheckSecretKey(ctx context.Context) error {
	held, err := k.marks(ctx)
	if err == nil && held.current != "" && !k.sealer.opens(held.current) && !k.sealer.opens(held.before) {
		err = ErrSecretKey
	}
	return err
}

// errNotAdopted says that replicas do not seal with the secret key.
var errNotAdopted = errors.New("no replica was started with it as EARSHOT_SECRET_KEY yet")

// dropMark drops the mark of the key before the newest where the newest is as it was.
//
//	KEYS 1 marks
//	ARGV current mark
//	=>   ok, or conflict
var dropMark = keyspace.NewFreeingScript(`
if redis.call('HGET', KEYS[1], 'current') ~= ARGV[1] then return 'conflict' end
redis.call('HDEL', KEYS[1], 'before')
return 'ok'
`)

// Adopted returns an error where Redis is not marked as belonging to
// the key that seals: what it seals could not be opened by replicas.
func (k *secretKeys) Adopted(ctx context.Context) error {
	held, err := k.marks(ctx)
	if err == nil && !(k.sealer.seals(held.current) && k.sealer.opens(held.current)) {
		err = errNotAdopted
	}
	return err
}

// RetireSecretKey is for when credentials begin to be sealed with the newest key alone: a
// process that has the one before it alone is not ready any more.
func (k *secretKeys) RetireSecretKey(ctx context.Context) error {
	return retry(ctx, func() error {
		held, err := k.marks(ctx)
		if err != nil || held.before == "" || k.sealer.seals(held.before) {
			return err
		}
		if !k.sealer.seals(held.current) {
			return errNotAdopted
		}
		return conflicts(dropMark.Run(ctx, k.db, []string{keyspace.SecretKeyMarks}, held.current))
	})
}

// Bounds of the search for a credential in a Redis that has no mark yet.
const (
	maxTried  = 10_000 // apps
	someApps  = 100
	someRepos = 20 // of each app
)

// tryCredential opens the first credential that it finds, of an app or its tools.
func (k *secretKeys) tryCredential(ctx context.Context) error {
	after := ""
	for range maxTried / someApps {
		ids, err := k.appReads.appIDs(ctx, after, someApps)
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			if found, err := k.tryApp(ctx, id); err != nil || found {
				return err
			}
		}
		after = ids[len(ids)-1]
	}
	return nil
}

// tryApp reports whether the app holds a credential, and fails where that does not open.
func (k *secretKeys) tryApp(ctx context.Context, appID string) (found bool, err error) {
	app, err := k.appReads.App(ctx, appID)
	if err == nil && anySet(app.Credentials()) {
		return true, nil
	}
	if err == nil {
		var own []*repositories.Repository
		own, _, err = k.repositories.Repositories(ctx, repositories.Scope{AppID: appID}, "", someRepos)
		for _, repository := range own {
			found = found || anySet(repository.Credentials())
		}
	}
	switch {
	case errors.Is(err, errSealed):
		return false, fmt.Errorf("%w: %w", ErrSecretKey, err)
	case errors.Is(err, keyspace.ErrUnavailable):
		return false, err
	default: // deleted since, or written by another version: no word on the key
		return found, nil
	}
}

func anySet(credentials []repositories.Credential) bool {
	for _, c := range credentials {
		if !c.Get().Empty() {
			return true
		}
	}
	return false
}
