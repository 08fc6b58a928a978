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
// clients only see masked. by is the root of the requesting key, empty for the admin. Too many comparisons return a
// *CompareError.
func (w *appWrites) PreviewApp(ctx context.Context, asked AppChange, by string) (string, error) {
	to := asked.To
	asked.To = func(current *repositories.App) (*repositories.App, error) {
		given, err := to(current)
		if err == nil {
			err = w.mayCompare(ctx, asked.AppID, by, given.Credentials())
		}
		return given, err
	}
	current, next, err := w.nextApp(ctx, asked)
	if err != nil {
		return "", err
	}
	return effectOf(current.Revision, next, current, next.Credentials(), current.Credentials())
}

// PreviewRepository returns the effect that ChangeRepository would have, as PreviewApp does.
func (w *appWrites) PreviewRepository(ctx context.Context, asked RepositoryChange, by string) (string, error) {
	app, current, next, err := w.repositories.forChange(ctx, asked)
	if err != nil {
		return "", err
	}
	if err := w.mayCompare(ctx, asked.Scope.AppID, by, next.Credentials()); err != nil {
		return "", err
	}
	if err := settle(next, app, current); err != nil {
		return "", err
	}
	next.Created, next.Updated = current.Created, current.Updated
	return effectOf(current.Revision, next, current, next.Credentials(), current.Credentials())
}

func effectOf(revision string, next, current any, given, stored []repositories.Credential) (string, error) {
	if revision == "" {
		return WouldCreate, nil
	}
	nextText, err := exactjson.Encode(next)
	if err != nil {
		return "", err
	}
	thereText, err := exactjson.Encode(current)
	if err != nil {
		return "", err
	}
	if bytes.Equal(nextText, thereText) && maps.Equal(byName(given), byName(stored)) {
		return WouldLeave, nil
	}
	return WouldUpdate, nil
}

// byName lists credentials by name. The same text for another destination is another credential.
func byName(list []repositories.Credential) map[string]secret.Secret {
	texts := map[string]secret.Secret{}
	for _, c := range list {
		texts[c.Name] = c.Get()
	}
	return texts
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
//	ARGV most, span (ms)
//	=>   0, or the time (ms) until one more is allowed
var countCompare = keyspace.NewScript(`
local most, span, at = tonumber(ARGV[1]), tonumber(ARGV[2]), now()
local first = tonumber(redis.call('LINDEX', KEYS[1], most - 1) or '')
if first and at - first < span then return span - (at - first) end
redis.call('LPUSH', KEYS[1], at)
redis.call('LTRIM', KEYS[1], 0, most - 1)
redis.call('PEXPIRE', KEYS[1], span)
return 0
`)

// mayCompare counts a preview of a definition with credentials. A key counts as the root of its line, so that
// creating more keys does not raise the limit.
func (w *appWrites) mayCompare(ctx context.Context, appID, by string, given []repositories.Credential) error {
	for _, c := range given {
		if c.Shown || c.Kept() || c.Get().Empty() || c.Get().IsMasked() {
			continue
		}
		pause, err := countCompare.Run(ctx, w.db, []string{keyspace.KeysOf(appID).Compared(by)}, maxCompares, compareSpan.Milliseconds())
		if ms, _ := pause.(int64); err == nil && ms > 0 {
			return &CompareError{RetryAfter: time.Duration(ms) * time.Millisecond}
		}
		return err
	}
	return nil
}
