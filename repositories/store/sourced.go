package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
)

// sourcing says of a repository that is written where its tools are from; the zero value of
// one that was given them.
type sourcing struct {
	mark  string // the value in Keys.Sourced
	every time.Duration
}

func sourcingOf(app *repositories.App, r *repositories.Repository) sourcing {
	if r.From == "" {
		return sourcing{}
	}
	source, _ := app.Source(r.From)
	return sourcing{strings.Join([]string{r.From, r.Revision, digestOf(r.Tools)}, " "), source.RefreshEvery()}
}

// digestOf tells lists of tools apart.
func digestOf(tools []repositories.Tool) string {
	text, _ := exactjson.Encode(tools) // came from JSON
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// keepTools lets a repository whose tools are those of a source keep them where they were not
// read anew.
func keepTools(next, there *repositories.Repository) {
	if next.From == "" || next.Tools != nil {
		return
	}
	if next.Tools = []repositories.Tool{}; next.From == there.From {
		next.Tools = append(next.Tools, there.Tools...)
	}
}

// Refresh is the lease of one look at the tools of a source.
type Refresh struct {
	AppID, Source string
	ends          string // of the lease, as Redis has it
}

// dueRefreshes takes the leases of the looks that are due.
//
//	KEYS refreshes
//	ARGV length of the leases (ms), how many at most
//	=>   appId/source and the end of its lease, of each
//
// A second run finds them leased; they are due again when that has ended.
var dueRefreshes = keyspace.NewFreeingScript(`
local taken = {}
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now(), 'LIMIT', 0, ARGV[2])) do
  local ends = string.format('%.0f', now() + ARGV[1])
  redis.call('ZADD', KEYS[1], ends, name)
  taken[#taken + 1] = name
  taken[#taken + 1] = ends
end
return taken
`)

// DueRefreshes takes the leases of looks at sources that are due now, of each partition so many
// at most. Whoever does not end one within its lease leaves it to others.
func (r *repositoryRecords) DueRefreshes(ctx context.Context, lease time.Duration, most int) (due []Refresh, err error) {
	pipe, counts := r.db.Pipeline(), make([]*redis.IntCmd, keyspace.Partitions)
	for n := range counts {
		counts[n] = pipe.ZCard(ctx, keyspace.PartitionKeys(n).Refreshes())
	}
	_, _ = pipe.Exec(ctx) // every command has its own error
	var calls []keyspace.Call
	for n, count := range counts {
		if count.Err() != nil {
			err = keyspace.Unavailable(count.Err())
		}
		if count.Val() > 0 {
			calls = append(calls, keyspace.Call{Keys: []string{keyspace.PartitionKeys(n).Refreshes()}, Args: []any{lease.Milliseconds(), most}})
		}
	}
	if len(calls) == 0 {
		return nil, err
	}

	replies, err := dueRefreshes.RunAll(ctx, r.db, calls) // those of a node that is down wait for it
	for _, reply := range replies {
		fields, _ := reply.([]any)
		for pair := range slices.Chunk(keyspace.Fields(fields), 2) {
			app, source, _ := strings.Cut(pair[0], "/")
			due = append(due, Refresh{app, source, pair[1]})
		}
	}
	return due, err
}

// endRefresh says when a source is looked at next, unless something was changed meanwhile: then
// it is due when that says.
//
//	ARGV next is the time until the next look (ms; 0 for none, unless a repository has its tools from
//	     the source)
var endRefresh = keyspace.NewFreeingScript(`
KEYS refreshes sourced
ARGV member source ends next
if tonumber(redis.call('ZSCORE', @refreshes, $member)) ~= tonumber($ends) then return 'ok' end
local next = tonumber($next)
if next > 0 then
  redis.call('ZADD', @refreshes, now() + next, $member)
  return 'ok'
end
for _, mark in ipairs(redis.call('HVALS', @sourced)) do
  if string.match(mark, '^%S+') == $source then return 'ok' end
end
redis.call('ZREM', @refreshes, $member)
return 'ok'
`)

// End gives the lease back: the source is looked at again after a time, or where that is 0 no
// more, as nothing is from it.
func (r *repositoryRecords) EndRefresh(ctx context.Context, of Refresh, next time.Duration) error {
	k := keyspace.KeysOf(of.AppID)
	_, err := endRefresh.Run(ctx, r.db, []string{k.Refreshes(), k.Sourced()}, of.AppID+"/"+of.Source, of.Source, of.ends, next.Milliseconds())
	return err
}

// Refreshed lists sources that are looked at from time to time, of each partition so many at most.
func (r *repositoryRecords) Refreshed(ctx context.Context, most int) (all []Refresh, err error) {
	pipe, found := r.db.Pipeline(), make([]*redis.StringSliceCmd, keyspace.Partitions)
	for n := range found {
		found[n] = pipe.ZRange(ctx, keyspace.PartitionKeys(n).Refreshes(), 0, int64(most)-1)
	}
	_, _ = pipe.Exec(ctx) // every command has its own error
	for _, names := range found {
		if names.Err() != nil {
			err = keyspace.Unavailable(names.Err())
		}
		for _, name := range names.Val() {
			app, source, _ := strings.Cut(name, "/")
			all = append(all, Refresh{AppID: app, Source: source})
		}
	}
	return all, err
}

// RefreshNow has a source looked at without waiting, if anything is from it. A look that is under way is not enough: what
// it reads may be older.
func (r *repositoryRecords) RefreshNow(ctx context.Context, appID, source string) error {
	k := keyspace.KeysOf(appID)
	return keyspace.Unavailable(r.db.ZAddXX(ctx, k.Refreshes(), redis.Z{Score: 1, Member: appID + "/" + source}).Err())
}

// Sourced is a repository whose tools are those of a source, as it was when it was read.
type Sourced struct {
	Scope            repositories.Scope
	ID               string
	revision, digest string
}

// unlistSourced takes a repository that is not there any more out of those of a source.
//
//	KEYS sourced, repos of its scope
//	ARGV its name in sourced, repositoryId
var unlistSourced = keyspace.NewFreeingScript(`
if redis.call('HEXISTS', KEYS[2], ARGV[2]) == 0 then redis.call('HDEL', KEYS[1], ARGV[1]) end
return 'ok'
`)

// SourcedFrom lists the repositories whose tools are those of a source of an app.
func (r *repositoryRecords) SourcedFrom(ctx context.Context, appID, source string) ([]Sourced, error) {
	k := keyspace.KeysOf(appID)
	listing, err := r.db.HGetAll(ctx, k.Sourced()).Result()
	if err != nil {
		return nil, keyspace.Unavailable(err)
	}
	var listed []Sourced
	pipe := r.db.Pipeline()
	for member, mark := range listing {
		words := append(strings.Fields(mark), "", "")
		if words[0] != source {
			continue
		}
		session, id, _ := strings.Cut(member, "/")
		listed = append(listed, Sourced{repositories.Scope{AppID: appID, SessionID: session}, id, words[1], words[2]})
		pipe.HExists(ctx, k.Repos(session), id)
	}
	there, err := pipe.Exec(ctx)
	if err != nil {
		return nil, keyspace.Unavailable(err)
	}
	var left []Sourced
	for i, one := range listed {
		if there[i].(*redis.BoolCmd).Val() {
			left = append(left, one)
			continue
		}
		_, away := unlistSourced.Run(ctx, r.db, []string{k.Sourced(), k.Repos(one.Scope.SessionID)}, one.Scope.SessionID+"/"+one.ID, one.ID)
		err = errors.Join(err, away)
	}
	return left, err
}

var errSuperseded = errors.New("written meanwhile")

// ReplaceTools gives a repository the tools that its source has now, and reports whether it had
// others. One that was written since it was listed, or is gone, stays as it is.
func (r *repositoryRecords) ReplaceTools(ctx context.Context, of Sourced, tools []repositories.Tool) (changed bool, err error) {
	if of.digest == digestOf(tools) {
		return false, nil
	}
	_, _, err = r.ChangeRepository(ctx, RepositoryChange{Scope: of.Scope, ID: of.ID, unasked: true, To: func(there *repositories.Repository) (*repositories.Repository, error) {
		if there.Revision != of.revision {
			return nil, errSuperseded
		}
		next := there.Clone()
		next.Tools = slices.Clone(tools)
		if slices.ContainsFunc(there.Tools, func(t repositories.Tool) bool { return next.Tool(t.Name) == nil }) {
			next.Generation = "" // what was matched before does not fire what is gone
		}
		return next, nil
	}})
	if errors.Is(err, errSuperseded) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("repository %q: %w", of.ID, err)
	}
	return true, nil
}
