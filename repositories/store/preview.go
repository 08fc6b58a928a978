package store

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"time"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/repositories/secret"
)

// The effects that a write would have on the stored definition.
const (
	WouldCreate = "created"
	WouldUpdate = "updated"
	WouldLeave  = "unchanged"
)

// PreviewApp returns the effect that ChangeApp would have, or its error. It also compares credentials, which
// clients only see masked. rootKey is the root of the requesting key, empty for the admin. Too many comparisons return a
// *CompareError.
func (w *appWrites) PreviewApp(ctx context.Context, change AppChange, rootKey string) (string, error) {
	nextApp := change.Next
	change.Next = func(current *repositories.App) (*repositories.App, error) {
		next, err := nextApp(current)
		if err == nil {
			err = w.countComparisons(ctx, change.AppID, rootKey, next.Credentials())
		}
		return next, err
	}
	current, next, err := w.nextApp(ctx, change)
	if err != nil {
		return "", err
	}
	return effectOf(current.Revision, next, current, next.Credentials(), current.Credentials())
}

// PreviewRepository returns the effect that ChangeRepository would have, as PreviewApp does.
func (w *appWrites) PreviewRepository(ctx context.Context, change RepositoryChange, rootKey string) (string, error) {
	app, current, next, err := w.repositories.forChange(ctx, change)
	if err != nil {
		return "", err
	}
	if err := w.countComparisons(ctx, change.Scope.AppID, rootKey, next.Credentials()); err != nil {
		return "", err
	}
	if err := complete(next, app, current); err != nil {
		return "", err
	}
	next.Created, next.Updated = current.Created, current.Updated
	return effectOf(current.Revision, next, current, next.Credentials(), current.Credentials())
}

func effectOf(revision string, next, current any, credentials, stored []repositories.Credential) (string, error) {
	if revision == "" {
		return WouldCreate, nil
	}
	nextText, err := exactjson.Encode(next)
	if err != nil {
		return "", err
	}
	currentText, err := exactjson.Encode(current)
	if err != nil {
		return "", err
	}
	if bytes.Equal(nextText, currentText) && maps.Equal(secretsByName(credentials), secretsByName(stored)) {
		return WouldLeave, nil
	}
	return WouldUpdate, nil
}

// secretsByName lists credentials by name. The same text for another destination is another credential.
func secretsByName(credentials []repositories.Credential) map[string]secret.Secret {
	secrets := map[string]secret.Secret{}
	for _, c := range credentials {
		secrets[c.Name] = c.Get()
	}
	return secrets
}

const (
	// maxCompares is how many previews with credentials a key may request per compareSpan. Each preview tells a
	// guesser whether a guess is right.
	maxCompares = 120
	compareSpan = time.Minute
)

// CompareError is a rate limit error: a key has compared too many credentials in the last minute. Nothing was
// compared.
type CompareError struct{ RetryAfter time.Duration }

// Error names the limit and the pause.
func (e *CompareError) Error() string {
	return fmt.Sprintf("a key may compare credentials by dry run %d times a minute; try again in %s, or leave them out as %q",
		maxCompares, e.RetryAfter.Round(time.Second), secret.Masked)
}

// countCompare counts a comparison unless the limit is reached in the span that ends now. A request that is
// repeated because its reply was lost counts twice.
//
//	KEYS compared
//	ARGV limit, span (ms)
//	=>   0, or the time (ms) until one more is allowed
var countCompare = keyspace.NewScript(`
local limit, span, at = tonumber(ARGV[1]), tonumber(ARGV[2]), now()
local first = tonumber(redis.call('LINDEX', KEYS[1], limit - 1) or '')
if first and at - first < span then return span - (at - first) end
redis.call('LPUSH', KEYS[1], at)
redis.call('LTRIM', KEYS[1], 0, limit - 1)
redis.call('PEXPIRE', KEYS[1], span)
return 0
`)

// countComparisons counts a preview of a definition with credentials. A key counts as its root, so that
// creating more keys does not raise the limit.
func (w *appWrites) countComparisons(ctx context.Context, appID, keyID string, credentials []repositories.Credential) error {
	for _, c := range credentials {
		if c.Shown || c.Kept() || c.Get().Empty() || c.Get().IsMasked() {
			continue
		}
		pause, err := countCompare.Run(ctx, w.db, []string{keyspace.KeysOf(appID).Compared(keyID)}, maxCompares, compareSpan.Milliseconds())
		if ms, _ := pause.(int64); err == nil && ms > 0 {
			return &CompareError{RetryAfter: time.Duration(ms) * time.Millisecond}
		}
		return err
	}
	return nil
}
