package store

import (
	"cmp"
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
	"earshot/repositories/lists"
)

// sourceRef tells which source a repository has its tools from; zero for tools that were given directly.
type sourceRef struct {
	mark     string // the value in Keys.Sourced
	interval time.Duration
}

func sourceRefOf(app *repositories.App, r *repositories.Repository) sourceRef {
	if r.From == "" {
		return sourceRef{}
	}
	source, _ := app.Source(r.From)
	return sourceRef{strings.Join([]string{r.From, r.Revision, digestOf(r.Tools)}, " "), source.RefreshEvery()}
}

func digestOf(tools []repositories.Tool) string {
	text, _ := exactjson.Encode(tools) // always encodable: decoded from JSON
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// keepTools keeps the tools of a repository with a source unless they were read anew.
func keepTools(next, current *repositories.Repository) {
	if next.From == "" || next.Tools != nil {
		return
	}
	if next.Tools = []repositories.Tool{}; next.From == current.From {
		next.Tools = append(next.Tools, current.Tools...)
	}
}

// Refresh is the lease for one read of a source's tools.
type Refresh struct {
	AppID, Source string
	leaseEnd      string // of the lease, as in Redis
}

// dueRefreshes leases the refreshes that are due.
//
//	KEYS refreshes
//	ARGV length of the leases (ms), maximum number
//	=>   appId/source and the end of the lease, for each
//
// A repeated run finds them leased; they are due again when the lease ends.
var dueRefreshes = keyspace.NewFreeingScript(`
local leased = {}
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now(), 'LIMIT', 0, ARGV[2])) do
  local ends = string.format('%.0f', now() + ARGV[1])
  redis.call('ZADD', KEYS[1], ends, name)
  leased[#leased + 1] = name
  leased[#leased + 1] = ends
end
return leased
`)

// DueRefreshes leases the refreshes that are due, at most a number in each partition. A refresh that is not ended
// within its lease becomes due for other replicas.
func (r *repositoryRecords) DueRefreshes(ctx context.Context, lease time.Duration, limit int) (due []Refresh, err error) {
	pipe := r.db.Pipeline()
	counts := lists.Map(keyspace.AllPartitions(), func(n int) *redis.IntCmd { return pipe.ZCard(ctx, keyspace.PartitionKeys(n).Refreshes()) })
	_, _ = pipe.Exec(ctx) // each command holds its own error
	var calls []keyspace.Call
	for n, count := range counts {
		if count.Err() != nil {
			err = keyspace.Unavailable(count.Err())
		}
		if count.Val() > 0 {
			calls = append(calls, keyspace.Call{Keys: []string{keyspace.PartitionKeys(n).Refreshes()}, Args: []any{lease.Milliseconds(), limit}})
		}
	}
	if len(calls) == 0 {
		return nil, err
	}

	replies, runErr := dueRefreshes.RunAll(ctx, r.db, calls) // refreshes of an unreachable node wait for it
	for _, reply := range replies {
		fields, _ := reply.([]any)
		for pair := range slices.Chunk(keyspace.Fields(fields), 2) {
			app, source, _ := strings.Cut(pair[0], "/")
			due = append(due, Refresh{app, source, pair[1]})
		}
	}
	return due, cmp.Or(err, runErr)
}

// endRefresh schedules the next refresh of a source, unless a change has rescheduled it meanwhile.
//
//	ARGV next is the time until the next refresh (ms; 0 for none, unless a repository uses the source)
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

// EndRefresh ends the lease and schedules the next refresh after next. 0 ends the refreshes of an unused source.
func (r *repositoryRecords) EndRefresh(ctx context.Context, refresh Refresh, next time.Duration) error {
	k := keyspace.KeysOf(refresh.AppID)
	_, err := endRefresh.Run(ctx, r.db, []string{k.Refreshes(), k.Sourced()}, refresh.AppID+"/"+refresh.Source, refresh.Source, refresh.leaseEnd, next.Milliseconds())
	return err
}

// Refreshed lists the sources with scheduled refreshes, at most a number in each partition.
func (r *repositoryRecords) Refreshed(ctx context.Context, limit int) (all []Refresh, err error) {
	pipe := r.db.Pipeline()
	found := lists.Map(keyspace.AllPartitions(), func(n int) *redis.StringSliceCmd {
		return pipe.ZRange(ctx, keyspace.PartitionKeys(n).Refreshes(), 0, int64(limit)-1)
	})
	_, _ = pipe.Exec(ctx) // each command holds its own error
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

// RefreshNow makes a source due at once, if a repository uses it. A refresh that is under way does not count,
// because its data may be older.
func (r *repositoryRecords) RefreshNow(ctx context.Context, appID, source string) error {
	k := keyspace.KeysOf(appID)
	return keyspace.Unavailable(r.db.ZAddXX(ctx, k.Refreshes(), redis.Z{Score: 1, Member: appID + "/" + source}).Err())
}

// Sourced is a repository with a source's tools, in the state that was read.
type Sourced struct {
	Scope            repositories.Scope
	ID               string
	revision, digest string
}

// unlistSourced removes a repository that no longer exists from the list of a source.
//
//	KEYS sourced, repos of its scope
//	ARGV its name in sourced, repositoryId
var unlistSourced = keyspace.NewFreeingScript(`
if redis.call('HEXISTS', KEYS[2], ARGV[2]) == 0 then redis.call('HDEL', KEYS[1], ARGV[1]) end
return 'ok'
`)

// SourcedFrom lists the repositories that have their tools from a source of an app.
func (r *repositoryRecords) SourcedFrom(ctx context.Context, appID, source string) ([]Sourced, error) {
	k := keyspace.KeysOf(appID)
	marksByMember, err := r.db.HGetAll(ctx, k.Sourced()).Result()
	if err != nil {
		return nil, keyspace.Unavailable(err)
	}
	var candidates []Sourced
	pipe := r.db.Pipeline()
	for member, mark := range marksByMember {
		words := append(strings.Fields(mark), "", "")
		if words[0] != source {
			continue
		}
		session, id, _ := strings.Cut(member, "/")
		candidates = append(candidates, Sourced{repositories.Scope{AppID: appID, SessionID: session}, id, words[1], words[2]})
		pipe.HExists(ctx, k.Repos(session), id)
	}
	current, err := pipe.Exec(ctx)
	if err != nil {
		return nil, keyspace.Unavailable(err)
	}
	var existing []Sourced
	for i, candidate := range candidates {
		if current[i].(*redis.BoolCmd).Val() {
			existing = append(existing, candidate)
			continue
		}
		_, unlistErr := unlistSourced.Run(ctx, r.db, []string{k.Sourced(), k.Repos(candidate.Scope.SessionID)}, candidate.Scope.SessionID+"/"+candidate.ID, candidate.ID)
		err = errors.Join(err, unlistErr)
	}
	return existing, err
}

var errSuperseded = errors.New("written meanwhile")

// ReplaceTools gives a repository the present tools of its source, and reports whether they differ. A repository
// that was written or removed since it was listed stays as it is.
func (r *repositoryRecords) ReplaceTools(ctx context.Context, listed Sourced, tools []repositories.Tool) (changed bool, err error) {
	if listed.digest == digestOf(tools) {
		return false, nil
	}
	_, _, err = r.ChangeRepository(ctx, RepositoryChange{Scope: listed.Scope, ID: listed.ID, background: true, Next: func(current *repositories.Repository) (*repositories.Repository, error) {
		if current.Revision != listed.revision {
			return nil, errSuperseded
		}
		next := current.Clone()
		next.Tools = slices.Clone(tools)
		if slices.ContainsFunc(current.Tools, func(t repositories.Tool) bool { return next.Tool(t.Name) == nil }) {
			next.Generation = "" // so that an earlier match does not fire a removed tool
		}
		return next, nil
	}})
	if errors.Is(err, errSuperseded) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("repository %q: %w", listed.ID, err)
	}
	return true, nil
}
