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

// Bounds of what is kept of repositories that were written.
const (
	// mostVersions and mostVersionBytes are how many versions of a repository are kept, and what they may take; the
	// newest stays in any case.
	mostVersions     = 50
	mostVersionBytes = 2 << 20
	// versionsKept is how long the versions stay of a repository that is gone, and mostGone of how many.
	versionsKept = 30 * 24 * time.Hour
	mostGone     = 100
)

// Version is a state of a repository as it was written. Its number is above that of each earlier one.
type Version struct {
	Number    int       `json:"version"`
	Time      time.Time `json:"ts,omitzero"` // zero before versions were kept, as is the Author
	Operation string    `json:"operation"`   // created, updated, deleted or restored
	audit.Author
	// Restored is the version that was written again.
	Restored int `json:"restored,omitempty"`
	// Tools is how many it has.
	Tools int `json:"tools"`
}

// writing is what a write is: as its event names it, and the version that it writes again; 0 for none.
type writing struct {
	operation string
	restores  int
}

// keptVersion is what writeRepository is told of the version of a write.
type keptVersion struct {
	who   string // a Version (JSON); empty where none is kept
	stays string // 1 where the versions stay until the repository is deleted
	drop  string // a repository that is gone, whose versions make room; empty for none
}

// versionOf is the version that a write makes. Those of sessions' repositories are not kept, as these end with their
// conversation. One that fires once goes without a write, so that its versions expire from the first on.
func (r *repositoryRecords) versionOf(ctx context.Context, of *repositories.Repository, there bool, as writing) (kept keptVersion, err error) {
	if of.SessionID != "" {
		return kept, nil
	}
	version := Version{Time: r.now().UTC(), Operation: as.operation, Author: audit.AuthorOf(ctx), Restored: as.restores}
	if as.restores > 0 {
		version.Operation = "restored"
	}
	if there {
		version.Tools = len(of.Tools)
	}
	if kept.who, err = exactjson.Text(&version); err != nil {
		return kept, err
	}
	if there && !of.Options.TriggerOnce {
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

// versionLua defines keepVersion, which keeps a version of a repository: its stored form, was before it, who wrote it
// as a Version. Of one that was written before versions were, what was there is kept as the first one. Where stays is
// not 1 the versions expire after kept (ms). Those of the repository drop make room.
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

// Versions lists what is kept of a repository of an app, the newest first, the first limit before the number before; 0
// begins with the newest. next is the number to go on with; 0 on the last page.
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
	last, _ := strconv.Atoi(found[1]) // both are written by the script
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
			continue // it made room meanwhile
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

// Version returns a version with its definition; nil where the write has removed the repository.
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

// ErrDeleted means that a version has no definition, as the write has removed the repository.
var ErrDeleted = errors.New("this version is the deletion of the repository: name the one before it")

// ToVersion is the change that writes a version of a repository again, as DecodeRepository would read it with its
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
	again := definition.Clone()
	again.Generation, again.Revision, again.Created, again.Updated = "", "", time.Time{}, time.Time{}
	next := ToRepository(again)
	next.Restores = number
	return next, nil
}

// Granting is the change by whom may have modules used anywhere, if owner says so.
func (c RepositoryChange) Granting(owner bool) RepositoryChange {
	to := c.To
	if owner {
		c.To = func(there *repositories.Repository) (*repositories.Repository, error) {
			next, err := to(there)
			if err == nil {
				next.GrantModules()
			}
			return next, err
		}
	}
	return c
}
