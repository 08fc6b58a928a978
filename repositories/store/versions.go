package store

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories"
	"earshot/repositories/audit"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
)

// Limits of the stored versions of repositories.
const (
	// mostVersions and mostVersionBytes bound the versions of a repository in number and size. The newest one
	// always stays.
	mostVersions     = 50
	mostVersionBytes = 2 << 20
	// versionsKept is how long versions of a deleted repository stay, and mostGone of how many repositories.
	versionsKept = 30 * 24 * time.Hour
	mostGone     = 100
)

// Version is a state of a repository as it was written. Numbers increase.
type Version struct {
	Number    int       `json:"version"`
	Time      time.Time `json:"ts,omitzero"` // zero before versions existed, like the Author
	Operation string    `json:"operation"`   // created, updated, deleted or restored
	audit.Author
	// Restored is the number of the version that was restored.
	Restored int `json:"restored,omitempty"`
	// Tools is the number of tools.
	Tools int `json:"tools"`
}

// writing describes a write: its operation in the event, and the version that it restores; 0 for none.
type writing struct {
	operation string
	restores  int
	removes   bool // nothing but that: even a full Redis takes it
}

// keptVersion holds the version arguments of writeRepository.
type keptVersion struct {
	who   string // a Version (JSON); empty if none is kept
	stays string // 1 if the versions stay until the repository is deleted
	drop  string // the deleted repository whose versions are dropped to make room; empty for none
}

// versionOf makes the version of a write. Versions of sessions' repositories are not kept, because these end with
// their session. A repository that fires once disappears without a write, so its versions expire from the first on.
func (r *repositoryRecords) versionOf(ctx context.Context, of *repositories.Repository, exists bool, as writing) (kept keptVersion, err error) {
	if of.SessionID != "" {
		return kept, nil
	}
	version := Version{Time: r.now().UTC(), Operation: as.operation, Author: audit.AuthorOf(ctx), Restored: as.restores}
	if as.restores > 0 {
		version.Operation = "restored"
	}
	if exists {
		version.Tools = len(of.Tools)
	}
	if kept.who, err = exactjson.Text(&version); err != nil {
		return kept, err
	}
	if exists && !of.Options.TriggerOnce {
		kept.stays = "1"
		return kept, nil
	}
	versioned := keyspace.Versioned(keyspace.KeysOf(of.AppID))
	gone, err := r.db.ZRangeByScore(ctx, versioned, &redis.ZRangeBy{Min: strconv.FormatInt(version.Time.UnixMilli(), 10), Max: "(+inf", Count: mostGone}).Result()
	if err != nil {
		return kept, keyspace.Unavailable(err)
	}
	if len(gone) == mostGone && gone[0] != of.ID {
		kept.drop = gone[0]
	}
	return kept, nil
}

// versionLua defines keepVersion, which stores a version of a repository: its form stored, its previous form was,
// and its Version who. If no version exists yet, the previous form becomes the first. Unless stays is 1, the
// versions expire after kept (ms). The versions of the repository drop are removed.
const versionLua = `
local function keepVersion(versions, versioned, oldest, id, was, stored, who, stays, drop, most, bytes, kept)
  if drop ~= '' and drop ~= id then
    redis.call('DEL', oldest)
    redis.call('ZREM', versioned, drop)
  end
  redis.call('ZREMRANGEBYSCORE', versioned, '-inf', now())
  local function add(text, by)
    local n = redis.call('HINCRBY', versions, 'last', 1)
    redis.call('HSET', versions, n, text, 'by:' .. n, by)
    return n, redis.call('HINCRBY', versions, 'bytes', #text + #by)
  end
  if was ~= '' and redis.call('EXISTS', versions) == 0 then add(was, '{"operation":"updated"}') end
  local last, size = add(stored, who)
  local first = tonumber(redis.call('HGET', versions, 'first') or 1)
  while first < last and (last - first >= tonumber(most) or size > tonumber(bytes)) do
    local gone = redis.call('HMGET', versions, first, 'by:' .. first)
    size = redis.call('HINCRBY', versions, 'bytes', -(#(gone[1] or '') + #(gone[2] or '')))
    redis.call('HDEL', versions, first, 'by:' .. first)
    first = first + 1
  end
  redis.call('HSET', versions, 'first', first)
  if stays == '1' then
    redis.call('PERSIST', versions)
    redis.call('ZADD', versioned, '+inf', id)
  else
    redis.call('PEXPIRE', versions, kept)
    redis.call('ZADD', versioned, now() + tonumber(kept), id)
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
		one, err := readVersion(last-i, text)
		if err != nil {
			return nil, 0, err
		}
		items = append(items, one)
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

// ToVersion returns the change that restores a version of a repository, as DecodeRepository would read it with its
// credentials.
//
// Errors: those of Version, and ErrDeleted.
func (r *repositoryRecords) ToVersion(ctx context.Context, appID, repositoryID string, number int) (RepositoryChange, error) {
	_, definition, err := r.Version(ctx, appID, repositoryID, number)
	if err == nil && definition == nil {
		err = ErrDeleted
	}
	if err != nil {
		return RepositoryChange{}, err
	}
	restored := definition.Clone()
	restored.Generation, restored.Revision, restored.Created, restored.Updated = "", "", time.Time{}, time.Time{}
	next := ToRepository(restored)
	next.Restores = number
	return next, nil
}

// By returns the change as its author may make it: an owner of the app grants all its modules any host. The grants of
// the version that is restored were those of its author, so another one keeps only those that the repository has
// now.
func (c RepositoryChange) By(owner bool) RepositoryChange {
	to := c.To
	c.To = func(current *repositories.Repository) (*repositories.Repository, error) {
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
