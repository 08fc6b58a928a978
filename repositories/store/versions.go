package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories"
	"earshot/repositories/audit"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/repositories/secret"
)

// Limits of the stored versions of repositories.
const (
	// maxVersions and maxVersionBytes bound the versions of a repository in number and size. The newest one
	// always stays.
	maxVersions     = 50
	maxVersionBytes = 2 << 20
	// versionTTL is how long versions of a deleted repository stay, and maxDeleted of how many repositories.
	versionTTL = 30 * 24 * time.Hour
	maxDeleted = 100
)

// Version is a state of a repository as it was written. Numbers increase.
type Version struct {
	Number    int       `json:"version"`
	Time      time.Time `json:"ts,omitzero"` // zero before versions existed, like the Author
	Operation string    `json:"operation"`   // created, updated, deleted or restored
	audit.Author
	Restored int `json:"restored,omitempty"` // the number of the version that was restored
	Tools    int `json:"tools"`              // the number of tools
}

// writeOptions describe a write: its operation in the event, and the version that it restores; 0 for none.
type writeOptions struct {
	operation string
	restores  int
	removes   bool // nothing but that: even a full Redis takes it
}

// versionArgs are the version arguments of writeRepository.
type versionArgs struct {
	version   string // a Version (JSON); empty if none is kept
	permanent string // 1 if the versions stay until the repository is deleted
	evict     string // the deleted repository whose versions are dropped to make room; empty for none
}

// versionOf makes the version of a write. Versions of sessions' repositories are not kept, because these end with
// their session. A repository that fires once disappears without a write, so its versions expire from the first on.
func (r *repositoryRecords) versionOf(ctx context.Context, repository *repositories.Repository, exists bool, options writeOptions) (args versionArgs, err error) {
	if repository.SessionID != "" {
		return args, nil
	}
	version := Version{Time: r.now().UTC(), Operation: options.operation, Author: audit.AuthorOf(ctx), Restored: options.restores}
	if options.restores > 0 {
		version.Operation = "restored"
	}
	if exists {
		version.Tools = len(repository.Tools)
	}
	if args.version, err = exactjson.Text(&version); err != nil {
		return args, err
	}
	if exists && !repository.Options.TriggerOnce {
		args.permanent = "1"
		return args, nil
	}
	versioned := keyspace.Versioned(keyspace.KeysOf(repository.AppID))
	deleted, err := r.db.ZRangeByScore(ctx, versioned, &redis.ZRangeBy{Min: strconv.FormatInt(version.Time.UnixMilli(), 10), Max: "(+inf", Count: maxDeleted}).Result()
	if err != nil {
		return args, keyspace.Unavailable(err)
	}
	if len(deleted) == maxDeleted && deleted[0] != repository.ID {
		args.evict = deleted[0]
	}
	return args, nil
}

// versionLua defines keepVersion, which stores a version of a repository: its form stored, its previous form, and
// its Version. If no version exists yet, the previous form becomes the first. Unless permanent is 1, the versions
// expire after ttl (ms). The versions of the repository evict, in evicted, are removed.
const versionLua = `
local function keepVersion(versions, versioned, evicted, id, previous, stored, version, permanent, evict, maxVersions, maxBytes, ttl)
  if evict ~= '' and evict ~= id then
    redis.call('DEL', evicted)
    redis.call('ZREM', versioned, evict)
  end
  redis.call('ZREMRANGEBYSCORE', versioned, '-inf', now())
  local function add(form, author)
    local n = redis.call('HINCRBY', versions, 'last', 1)
    redis.call('HSET', versions, n, form, 'by:' .. n, author)
    return n, redis.call('HINCRBY', versions, 'bytes', #form + #author)
  end
  if previous ~= '' and redis.call('EXISTS', versions) == 0 then add(previous, '{"operation":"updated"}') end
  local last, size = add(stored, version)
  local first = tonumber(redis.call('HGET', versions, 'first') or 1)
  while first < last and (last - first >= tonumber(maxVersions) or size > tonumber(maxBytes)) do
    local form, author = unpack(redis.call('HMGET', versions, first, 'by:' .. first))
    size = redis.call('HINCRBY', versions, 'bytes', -(#(form or '') + #(author or '')))
    redis.call('HDEL', versions, first, 'by:' .. first)
    first = first + 1
  end
  redis.call('HSET', versions, 'first', first)
  if permanent == '1' then
    redis.call('PERSIST', versions)
    redis.call('ZADD', versioned, '+inf', id)
  else
    redis.call('PEXPIRE', versions, ttl)
    redis.call('ZADD', versioned, now() + tonumber(ttl), id)
  end
end
`

// Versions lists up to limit versions of an app's repository with numbers below before, the newest first; before 0
// begins with the newest. next is the next page's before; 0 on the last page.
//
// Errors: repositories.ErrNotFound without any, keyspace.ErrUnavailable.
func (r *repositoryRecords) Versions(ctx context.Context, appID, repositoryID string, before, limit int) (items []Version, next int, err error) {
	key := keyspace.Versions(keyspace.KeysOf(appID), repositoryID)
	ends, err := r.db.HMGet(ctx, key, "first", "last").Result()
	if err != nil {
		return nil, 0, keyspace.Unavailable(err)
	}
	found := keyspace.Fields(ends)
	first, _ := strconv.Atoi(found[0])
	last, _ := strconv.Atoi(found[1]) // the script writes both
	if last == 0 {
		return nil, 0, &repositories.NotFoundError{Kind: "repository", ID: repositoryID}
	}
	if before > 0 {
		last = min(last, before-1)
	}
	var fields []string
	for n := last; n >= first && len(fields) < limit; n-- {
		fields = append(fields, "by:"+strconv.Itoa(n))
	}
	items = []Version{}
	if len(fields) == 0 {
		return items, 0, nil
	}
	stored, err := r.db.HMGet(ctx, key, fields...).Result()
	if err != nil {
		return nil, 0, keyspace.Unavailable(err)
	}
	for i, text := range keyspace.Fields(stored) {
		if text == "" {
			continue // dropped meanwhile
		}
		version, err := readVersion(last-i, text)
		if err != nil {
			return nil, 0, err
		}
		items = append(items, version)
	}
	if last-len(fields) >= first {
		next = last - len(fields) + 1
	}
	return items, next, nil
}

func readVersion(number int, stored string) (version Version, err error) {
	err = exactjson.Unmarshal([]byte(stored), &version)
	version.Number = number
	return version, err
}

// Version returns a version with its definition, which is nil for a deletion.
//
// Errors: repositories.ErrNotFound, keyspace.ErrUnavailable.
func (r *repositoryRecords) Version(ctx context.Context, appID, repositoryID string, number int) (Version, *repositories.Repository, error) {
	n := strconv.Itoa(number)
	found, err := r.db.HMGet(ctx, keyspace.Versions(keyspace.KeysOf(appID), repositoryID), n, "by:"+n).Result()
	if err != nil {
		return Version{}, nil, keyspace.Unavailable(err)
	}
	fields := keyspace.Fields(found)
	if fields[1] == "" {
		return Version{}, nil, &repositories.NotFoundError{Kind: "version", ID: n}
	}
	version, err := readVersion(number, fields[1])
	if err != nil || fields[0] == "" {
		return version, nil, err
	}
	definition, err := r.Load(appID, fields[0])
	return version, definition, err
}

// ErrDeleted means that the version is a deletion and has no definition.
var ErrDeleted = errors.New("this version is the deletion of the repository: name the one before it")

// RestoreChange returns the change that restores a version of a repository, as DecodeRepository would read it with its
// credentials.
//
// Errors: those of Version, and ErrDeleted.
func (r *repositoryRecords) RestoreChange(ctx context.Context, appID, repositoryID string, number int) (RepositoryChange, error) {
	_, definition, err := r.Version(ctx, appID, repositoryID, number)
	if err == nil && definition == nil {
		err = ErrDeleted
	}
	if err != nil {
		return RepositoryChange{}, err
	}
	restored := definition.Clone()
	restored.Generation, restored.Revision, restored.Created, restored.Updated = "", "", time.Time{}, time.Time{}
	next := ReplaceChange(restored)
	next.Restores = number
	return next, nil
}

// WithGrantsOf returns the change with the grants of its author: an owner of the app grants all its modules any host.
// The grants of the version that is restored were those of its author, so another one keeps only those that the
// repository has now.
func (c RepositoryChange) WithGrantsOf(owner bool) RepositoryChange {
	to := c.Next
	c.Next = func(current *repositories.Repository) (*repositories.Repository, error) {
		next, err := to(current)
		switch {
		case err != nil:
		case owner:
			next.GrantModules()
		default:
			next.RevokeModules()
		}
		return next, err
	}
	return c
}

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
