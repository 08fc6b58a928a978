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

// ErrSecretKey is wrapped by errors about data in Redis that another secret key encrypted.
var ErrSecretKey = errors.New("its credentials were encrypted with another secret key")

// The known text of the marks is sealed under an app id that no app can have.
const (
	markApp, markField, markText = "", "secret key", "earshot"
)

// marks are known texts in Redis, sealed with the current secret key and with its predecessor.
type marks struct{ current, before string }

// opens reports whether one of the keys made a mark.
func (s *Sealer) opens(mark string) bool {
	text, err := s.open(markApp, markField, "", mark)
	return err == nil && text.Reveal() == markText
}

// setMark replaces a mark if it is unchanged.
//
//	KEYS 1 marks
//	ARGV present mark ('' for none), new mark, its predecessor
//	=>   ok, or conflict
var setMark = keyspace.NewScript(`
local current = redis.call('HGET', KEYS[1], 'current') or ''
if current == ARGV[2] then return 'ok' end
if current ~= ARGV[1] then return 'conflict' end
redis.call('HSET', KEYS[1], 'current', ARGV[2], 'before', ARGV[3])
return 'ok'
`)

func (k *secretKeys) marks(ctx context.Context) (marks, error) {
	fields, err := k.db.HGetAll(ctx, keyspace.SecretKeyMarks).Result()
	return marks{fields["current"], fields["before"]}, keyspace.Unavailable(err)
}

// replaceMark makes a mark of the current key the newest in place of present, with a predecessor.
func (k *secretKeys) replaceMark(ctx context.Context, present, before string) error {
	mark := k.sealer.seal(markApp, markField, secret.New(markText))
	return asConflict(setMark.Run(ctx, k.db, []string{keyspace.SecretKeyMarks}, present, mark, before))
}

// AdoptSecretKey runs when a process starts. It returns an error that wraps ErrSecretKey if Redis belongs to
// another secret key. Otherwise it marks Redis as belonging to the current key; from then on a process with only
// the old key cannot start. A Redis without a mark is judged by a stored credential. persistent is false for a
// key that ends with the process and leaves no mark.
func (k *secretKeys) AdoptSecretKey(ctx context.Context, persistent bool) error {
	return retry(ctx, func() error {
		stored, err := k.marks(ctx)
		switch {
		case err != nil:
			return err
		case stored.current == "":
			if err := k.tryCredential(ctx); err != nil {
				return err
			}
		case !k.sealer.opens(stored.current):
			return ErrSecretKey
		case k.sealer.seals(stored.current):
			return nil
		}
		if !persistent {
			return nil
		}
		err = k.replaceMark(ctx, stored.current, stored.current)
		if errors.Is(err, keyspace.ErrMemory) {
			return nil // another start sets the mark
		}
		return err
	})
}

// ReplaceLostKey marks Redis as belonging to the current key, whichever it belonged to. Credentials of the lost key stay
// sealed until they are given again.
func (k *secretKeys) ReplaceLostKey(ctx context.Context) error {
	return retry(ctx, func() error {
		stored, err := k.marks(ctx)
		if err != nil || k.sealer.seals(stored.current) && k.sealer.opens(stored.current) {
			return err
		}
		return k.replaceMark(ctx, stored.current, "")
	})
}

// CheckSecretKey checks a running process. It returns an error that wraps ErrSecretKey if Redis belongs to neither
// the secret key nor an old one. During a rotation, a replica that only has the predecessor still passes.
func (k *secretKeys) CheckSecretKey(ctx context.Context) error {
	stored, err := k.marks(ctx)
	if err == nil && stored.current != "" && !k.sealer.opens(stored.current) && !k.sealer.opens(stored.before) {
		err = ErrSecretKey
	}
	return err
}

// errNotAdopted means that the replicas do not use the secret key yet.
var errNotAdopted = errors.New("no replica was started with it as EARSHOT_SECRET_KEY yet")

// dropMark drops the predecessor's mark if the newest mark is unchanged.
//
//	KEYS 1 marks
//	ARGV current mark
//	=>   ok, or conflict
var dropMark = keyspace.NewFreeingScript(`
if redis.call('HGET', KEYS[1], 'current') ~= ARGV[1] then return 'conflict' end
redis.call('HDEL', KEYS[1], 'before')
return 'ok'
`)

// Adopted returns an error if Redis is not marked as belonging to the current key: replicas could not open what
// this process encrypts.
func (k *secretKeys) Adopted(ctx context.Context) error {
	stored, err := k.marks(ctx)
	if err == nil && !(k.sealer.seals(stored.current) && k.sealer.opens(stored.current)) {
		err = errNotAdopted
	}
	return err
}

// RetireSecretKey ends a rotation: credentials are now encrypted with the newest key alone, and a process that only
// has its predecessor becomes not ready.
func (k *secretKeys) RetireSecretKey(ctx context.Context) error {
	return retry(ctx, func() error {
		stored, err := k.marks(ctx)
		if err != nil || stored.before == "" || k.sealer.seals(stored.before) {
			return err
		}
		if !k.sealer.seals(stored.current) {
			return errNotAdopted
		}
		return asConflict(dropMark.Run(ctx, k.db, []string{keyspace.SecretKeyMarks}, stored.current))
	})
}

// Bounds of the search for a credential in a Redis without a mark.
const (
	maxAppsTried      = 10_000 // apps
	appsPerRead       = 100
	repositoriesTried = 20 // of each app
)

// tryCredential opens the first credential of an app or its tools that it finds.
func (k *secretKeys) tryCredential(ctx context.Context) error {
	after := ""
	for range maxAppsTried / appsPerRead {
		ids, err := k.appReads.appIDs(ctx, after, appsPerRead)
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

// tryApp reports whether the app holds a credential, and fails if it does not open.
func (k *secretKeys) tryApp(ctx context.Context, appID string) (found bool, err error) {
	app, err := k.appReads.App(ctx, appID)
	var credentials []repositories.Credential
	if err == nil {
		credentials = app.Credentials()
	}
	if err == nil && !anySet(credentials) {
		var repos []*repositories.Repository
		repos, _, err = k.repositories.Repositories(ctx, repositories.Scope{AppID: appID}, "", repositoriesTried)
		for _, repository := range repos {
			credentials = append(credentials, repository.Credentials()...)
		}
	}
	if errors.Is(err, keyspace.ErrUnavailable) {
		return false, err
	}
	// Another error tells nothing of the key: it was deleted meanwhile, or written by another version.
	for _, c := range credentials {
		if c.Get().IsSealed() {
			return false, fmt.Errorf("%w: that of app %s, %s", ErrSecretKey, appID, c.Name)
		}
	}
	return anySet(credentials), nil
}

func anySet(credentials []repositories.Credential) bool {
	for _, c := range credentials {
		if !c.Get().Empty() {
			return true
		}
	}
	return false
}
