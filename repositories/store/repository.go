package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories"
	"earshot/repositories/cloudevent"
	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/repositories/fault"
	"earshot/repositories/keyspace"
	"earshot/repositories/lists"
	"earshot/repositories/tracing"
)

type repositoryRecords struct {
	*core
	appReads *appReads
}

// writeRepository writes or removes a repository and queues its event.
//
//	ARGV expected is the present revision, stored the new form ('' removes it), appVersion the app's new
//	     one, ttl the session's (ms; 0 if the write does not extend it), event an Entry (JSON), writtenTTL
//	     how long the write is recorded (ms), limit that of repositories in the scope (0 for none), write
//	     the write's id, mark its value in Sourced ('' for none), every the refresh interval of its source
//	     (ms), and the arguments of versionLua
//	=>   ok, conflict, noapp, full, or erasing
//
// A repeated run finds the write's id and answers as the first one did. By then the event may be published, and the
// repository fired and gone.
var (
	writeRepository = keyspace.NewScript(keyspace.EffectLua, keyspace.ErasingLua, keyspace.SessionLua, keyspace.SourcedLua, versionLua, writeRepositoryLua)
	dropRepository  = keyspace.NewFreeingScript(keyspace.EffectLua, keyspace.ErasingLua, keyspace.SessionLua, keyspace.SourcedLua, versionLua, writeRepositoryLua)
)

const writeRepositoryLua = `
KEYS app repos idle outbox effect written closed turns sessions sourced refreshes recent versions versioned evicted
ARGV id expected stored appVersion app session ttl event writtenTTL limit write mark every version permanent evict maxVersions maxBytes versionTTL
local exists = redis.call('HEXISTS', @app, 'version') == 1 -- else it is being deleted, with its repositories
if redis.call('EXISTS', @app) == 0 or not exists and $stored ~= '' then return 'noapp' end
local event = cjson.decode($event)
if redis.call('GET', @written) == $write then return 'ok' end
if erasing(@closed) then return 'erasing' end
local stored = redis.call('HGET', @repos, $id) or ''
local revision = string.match(stored, '^%S+') or ''
if revision ~= $expected then return 'conflict' end
local limit = tonumber($limit)
if revision == '' and limit > 0 and redis.call('HLEN', @repos) >= limit then return 'full' end
if $stored == '' then
  redis.call('HDEL', @repos, $id)
else
  redis.call('HSET', @repos, $id, $stored)
end
if $session == '' then
  if exists then redis.call('HSET', @app, 'version', $appVersion) end
  keepVersion(@versions, @versioned, @evicted, $id, stored, $stored, $version, $permanent, $evict, $maxVersions, $maxBytes, $versionTTL)
elseif tonumber($ttl) > 0 then
  useSession(@turns, @idle, @sessions, @recent, $app, $session, tonumber($ttl))
end
source(@sourced, @refreshes, $app, $session .. '/' .. $id, $mark, tonumber($every))
enqueue(@effect, event, $app, @outbox, '')
redis.call('SET', @written, $write, 'PX', $writtenTTL)
return 'ok'
`

// writeTTL is how long a write is recorded: far longer than the few seconds within which the Redis client
// repeats an unanswered command.
const writeTTL = 10 * time.Minute

// write writes a repository of the app; an empty stored form removes it. The session's expiry moves to ttl from
// now, unless ttl is 0.
func (r *repositoryRecords) write(ctx context.Context, app *repositories.App, repository *repositories.Repository, revision, stored string, options writeOptions, ttl time.Duration) error {
	scope := repository.Scope()
	entry, err := r.ChangeEntry(repository, options.operation, tracing.Of(ctx))
	if err != nil {
		return err
	}
	event, err := exactjson.Encode(entry)
	if err != nil {
		return err
	}
	keys := keyspace.KeysOf(scope.AppID)
	failpoint.At(failpoint.RepositoryBefore)
	version, err := r.versionOf(ctx, repository, stored != "", options)
	if err != nil {
		return err
	}
	script, limit, ref := writeRepository, 0, sourceRef{}
	if stored == "" || options.removes {
		script = dropRepository
	}
	if stored != "" {
		limit, ref = app.Settings.Limits.Repositories(scope), sourceRefOf(app, repository)
	}
	reply, err := script.Run(ctx, r.db,
		append([]string{keys.App(), keys.Repos(scope.SessionID), keys.Idle(), keys.Outbox(keyspace.Box(scope.SessionID, "")), keys.Effect(entry.ID), keys.Written(entry.ID), keys.Closed(scope.SessionID), keys.Turns(scope.SessionID), keys.Sessions(), keys.Sourced(), keys.Refreshes(), keyspace.Recent(keys), keyspace.Versions(keys, repository.ID), keyspace.Versioned(keys), keyspace.Versions(keys, cmp.Or(version.evict, repository.ID))}, keys.Ledger()...),
		repository.ID, revision, stored, r.newID(), scope.AppID, scope.SessionID, ttl.Milliseconds(), event, writeTTL.Milliseconds(), limit, r.newID(), ref.mark, ref.interval.Milliseconds(),
		version.version, version.permanent, version.evict, maxVersions, maxVersionBytes, versionTTL.Milliseconds())
	failpoint.At(failpoint.RepositoryReply)
	switch {
	case err != nil:
		return err
	case reply == "conflict":
		return errConflict
	case reply == "noapp":
		return &repositories.NotFoundError{Kind: "app", ID: scope.AppID}
	case reply == "erasing":
		return fmt.Errorf("session %q: %w", scope.SessionID, repositories.ErrErasing)
	case reply == "full":
		return &repositories.LimitError{Limit: "repositoriesPerSession", Most: limit}
	}
	r.onChange(scope.AppID)
	if stored != "" {
		r.onWrite(repository)
	}
	return nil
}

// PutRepository creates or replaces a repository, always with a new generation. Masked credentials keep their
// stored values. It returns a fault.List if the repository refers to something that its app lacks.
func (r *repositoryRecords) PutRepository(ctx context.Context, repository *repositories.Repository) (created bool, err error) {
	_, created, err = r.ChangeRepository(ctx, ReplaceChange(repository))
	return created, err
}

// PatchRepository adds tools to a repository, which it creates if needed. Concurrent patches are all applied.
func (r *repositoryRecords) PatchRepository(ctx context.Context, scope repositories.Scope, id string, patch *repositories.Patch) (*repositories.Repository, bool, error) {
	return r.ChangeRepository(ctx, RepositoryChange{Scope: scope, ID: id, Next: patch.Next})
}

// ChangeRepository writes the next state of a repository and returns it as stored. Masked credentials keep their
// stored values.
func (r *repositoryRecords) ChangeRepository(ctx context.Context, change RepositoryChange) (next *repositories.Repository, created bool, err error) {
	err = retry(ctx, func() error {
		app, current, changed, err := r.forChange(ctx, change)
		if err != nil {
			return err
		}
		if next = changed; next.Generation == "" {
			next.Generation = r.newID()
		}
		created = current.Revision == ""
		ttl := r.sessionTTL
		if change.background {
			ttl = 0
		}
		return r.replace(ctx, app, current, next, writeOptions{restores: change.Restores, removes: change.Removes}, ttl)
	})
	return next, created, err
}

// forChange returns the app, and the repository before and after a change, after checking the change's condition. A
// missing repository is returned empty, without a revision.
func (r *repositoryRecords) forChange(ctx context.Context, change RepositoryChange) (app *repositories.App, current, next *repositories.Repository, err error) {
	if app, err = r.appReads.App(ctx, change.Scope.AppID); err != nil {
		return nil, nil, nil, err
	}
	current, err = r.Repository(ctx, change.Scope, change.ID)
	if errors.Is(err, repositories.ErrNotFound) {
		current, err = &repositories.Repository{AppID: change.Scope.AppID, SessionID: change.Scope.SessionID, ID: change.ID}, nil
	}
	if err == nil {
		err = change.If.check(current.Revision)
	}
	if err == nil {
		next, err = change.Next(current)
	}
	if err == nil {
		keepTools(next, current)
	}
	return app, current, next, err
}

// complete fills in the masked credentials from the stored repository, and checks the repository against its app. It
// returns the faults of all checks.
func complete(r *repositories.Repository, app *repositories.App, current *repositories.Repository) error {
	var faults fault.List
	for _, err := range []error{
		repositories.KeepMasked(app, r.Credentials(), current.Credentials()), r.Check(app), r.CheckModuleHosts(app, current),
	} {
		var found fault.List
		if err != nil && !errors.As(err, &found) {
			return err
		}
		faults.Join(found)
	}
	return cmp.Or(faults.Err(), app.Settings.Limits.CheckTools(r))
}

func (r *repositoryRecords) replace(ctx context.Context, app *repositories.App, current, next *repositories.Repository, options writeOptions, ttl time.Duration) error {
	if err := complete(next, app, current); err != nil {
		return err
	}
	options.operation = "updated"
	next.Created, next.Updated = current.Created, r.now().UTC()
	if current.Revision == "" {
		options.operation, next.Created = "created", next.Updated
	}
	next.Revision = r.newID()
	stored, err := r.sealer.encode(next)
	if err != nil {
		return err
	}
	if err := next.Compile(); err != nil {
		return err
	}
	return r.write(ctx, app, next, current.Revision, stored, options, ttl)
}

// NextRepository returns what ChangeRepository would write, ready for matching, or its error.
func (r *repositoryRecords) NextRepository(ctx context.Context, change RepositoryChange) (*repositories.Repository, error) {
	app, current, next, err := r.forChange(ctx, change)
	if err != nil {
		return nil, err
	}
	if err := complete(next, app, current); err != nil {
		return nil, err
	}
	next.Revision = r.newID() // keeps its compiled form apart from others in caches
	return next, next.Compile()
}

// Repository returns a repository, or repositories.ErrNotFound.
func (r *repositoryRecords) Repository(ctx context.Context, scope repositories.Scope, id string) (*repositories.Repository, error) {
	key := keyspace.KeysOf(scope.AppID).Repos(scope.SessionID)
	stored, err := r.db.HGet(ctx, key, id).Result()
	if errors.Is(err, redis.Nil) {
		known, _ := r.db.HKeys(ctx, key).Result() // only for the hint
		slices.Sort(known)
		return nil, &repositories.NotFoundError{Kind: "repository", ID: id, Known: known}
	}
	if err != nil {
		return nil, fmt.Errorf("repository %q: %w", id, keyspace.Unavailable(err))
	}
	return r.Load(scope.AppID, stored)
}

// Repositories lists up to limit repositories of a scope by id, beginning after the given id.
func (r *repositoryRecords) Repositories(ctx context.Context, scope repositories.Scope, after string, limit int) ([]*repositories.Repository, string, error) {
	keys := keyspace.KeysOf(scope.AppID)
	pipe := r.db.Pipeline()
	exists := pipe.Exists(ctx, keys.App())
	all := pipe.HKeys(ctx, keys.Repos(scope.SessionID))
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, "", keyspace.Unavailable(err)
	}
	if exists.Val() == 0 {
		return nil, "", &repositories.NotFoundError{Kind: "app", ID: scope.AppID}
	}
	ids, next := pageAfter(all.Val(), after, limit)
	items, err := r.page(ctx, scope, ids)
	if n := len(items); n > 0 && items[n-1].ID != ids[len(ids)-1] {
		next = items[n-1].ID
	}
	return items, next, err
}

// SameNames lists the tools whose name occurs in several repositories of the scope. With a repository id, only that
// repository's tools are considered.
func (r *repositoryRecords) SameNames(ctx context.Context, scope repositories.Scope, repositoryID string) ([]string, error) {
	stored, err := r.db.HVals(ctx, keyspace.KeysOf(scope.AppID).Repos(scope.SessionID)).Result()
	if err != nil {
		return nil, keyspace.Unavailable(err)
	}
	all := make([]*repositories.Repository, len(stored))
	for i, text := range stored {
		if all[i], err = r.Load(scope.AppID, text); err != nil {
			return nil, err
		}
	}
	return repositories.SameNames(all, repositoryID), nil
}

// page reads as many repositories as fit on a page, and skips those deleted meanwhile.
func (r *repositoryRecords) page(ctx context.Context, scope repositories.Scope, ids []string) ([]*repositories.Repository, error) {
	key := keyspace.KeysOf(scope.AppID).Repos(scope.SessionID)
	sizes, err := r.db.Sizes(ctx, len(ids), func(i int) (string, []string) { return key, ids[i : i+1] })
	items, budget := []*repositories.Repository{}, &repositories.PageBudget{}
	for err == nil && len(ids) > 0 {
		count := repositories.Fitting(sizes)
		stored, err := r.db.HMGet(ctx, key, ids[:count]...).Result()
		if err != nil {
			return nil, keyspace.Unavailable(err)
		}
		for _, item := range stored {
			text, current := item.(string)
			if !current {
				continue
			}
			repository, err := r.Load(scope.AppID, text)
			if err != nil {
				return nil, err
			}
			if !budget.Fits(repository) {
				return items, nil
			}
			items = append(items, repository)
		}
		ids, sizes = ids[count:], sizes[count:]
	}
	return items, err
}

// DeleteRepository removes a repository, or returns repositories.ErrNotFound.
func (r *repositoryRecords) DeleteRepository(ctx context.Context, scope repositories.Scope, id string, preconditions ...Precondition) error {
	return retry(ctx, func() error {
		current, err := r.Repository(ctx, scope, id)
		if err == nil {
			err = checkPreconditions(preconditions, current.Revision)
		}
		if err != nil {
			return err
		}
		return r.write(ctx, nil, current, current.Revision, "", writeOptions{operation: "deleted"}, r.sessionTTL)
	})
}

func (r *repositoryRecords) deleteAll(ctx context.Context, scope repositories.Scope) error {
	stored, err := r.db.HGetAll(ctx, keyspace.KeysOf(scope.AppID).Repos(scope.SessionID)).Result()
	if err != nil {
		return keyspace.Unavailable(err)
	}
	for _, id := range slices.Sorted(maps.Keys(stored)) {
		current, err := r.Load(scope.AppID, stored[id])
		if err != nil {
			return err
		}
		if err := r.write(ctx, nil, current, current.Revision, "", writeOptions{operation: "deleted"}, r.sessionTTL); err != nil {
			return err
		}
	}
	return nil
}

// SourceOf returns the CloudEvents source of events in a scope.
func SourceOf(scope repositories.Scope) string {
	return "/apps/" + scope.AppID + "/sessions/" + keyspace.OrNone(scope.SessionID)
}

// changeEvent is the payload of tool.changed.
type changeEvent struct {
	ID           string                   `json:"id"`
	Time         time.Time                `json:"ts"`
	AppID        string                   `json:"appId"`
	SessionID    string                   `json:"sessionId,omitempty"`
	RepositoryID string                   `json:"repositoryId"`
	Operation    string                   `json:"operation"` // created, updated or deleted
	Record       *repositories.Repository `json:"record"`
	// Omitted names the fields that were left out because the event would be too long.
	Omitted []string `json:"omitted,omitempty"`
}

// forms returns the full payload, one with only the names of the tools, and one without tools.
func (c changeEvent) forms() []any {
	named, bare := c, c
	named.Omitted, bare.Omitted = []string{"record.tools"}, []string{"record.tools"}
	named.Record, bare.Record = c.Record.Clone(), c.Record.Clone()
	for i, tool := range c.Record.Tools {
		named.Record.Tools[i] = repositories.Tool{Name: tool.Name, Type: tool.Type}
	}
	bare.Record.Tools = []repositories.Tool{}
	return []any{c, named, bare}
}

// ChangeEntry makes the tool.changed event of a change, as an entry of the outbox. traceParent is the trace of the
// request that makes the change, or empty.
func (c *core) ChangeEntry(repository *repositories.Repository, operation, traceParent string) (keyspace.Entry, error) {
	payload := changeEvent{
		ID: changeID(repository, operation), Time: c.now().UTC(), Operation: operation, Record: public(repository),
		AppID: repository.AppID, SessionID: repository.SessionID, RepositoryID: repository.ID,
	}
	data, _, err := cloudevent.EncodeWithin(payload.forms()...)
	if err != nil {
		return keyspace.Entry{}, err
	}
	body, err := exactjson.Encode(cloudevent.Event{
		Subject: "tool.changed." + repository.AppID + "." + repository.ID,
		ID:      payload.ID, Type: "earshot.tool.changed", Source: SourceOf(repository.Scope()),
		Time: payload.Time, TraceParent: traceParent, Data: data,
	})
	return keyspace.EventEntry(payload.ID, repository.SessionID, "", string(body)), err
}

// changeID derives an event's id from the state that the change made or ended. Thus a triggerOnce repository that
// fires again, because a failover lost the first firing, ends with the same event.
func changeID(r *repositories.Repository, operation string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{r.AppID, r.SessionID, r.ID, r.Revision, operation}, " ")))
	return hex.EncodeToString(sum[:16])
}

// public returns a copy for events, without credentials and headers.
func public(r *repositories.Repository) *repositories.Repository {
	next := r.Clone()
	for i := range next.Tools {
		next.Tools[i].Headers = nil
		if path, query, hasQuery := strings.Cut(next.Tools[i].URL, "?"); hasQuery {
			next.Tools[i].URL = path + "?" + repositories.MaskQuery(query)
		}
		if request := next.Tools[i].Request; request != nil {
			request.Headers, request.Basic, request.Bearer = nil, nil, nil
		}
	}
	return next
}

// vectorTTL is how long a vector is kept after its last use. Vectors belong to texts, not to repositories, so
// nothing else removes them.
const vectorTTL = 30 * 24 * time.Hour

// vectorsAtOnce bounds one round trip: 256 vectors of 1,536 numbers are 1.5 MB.
const vectorsAtOnce = 256

// Vectors returns the stored vectors of an app's texts by digest, empty for unknown digests. Each is kept for
// another 30 days.
func (r *repositoryRecords) Vectors(ctx context.Context, appID string, digests []string) ([][]byte, error) {
	keys, found := keyspace.KeysOf(appID), make([][]byte, 0, len(digests))
	for some := range slices.Chunk(digests, vectorsAtOnce) {
		pipe := r.db.Pipeline()
		replies := lists.Map(some, func(digest string) *redis.StringCmd { return pipe.GetEx(ctx, keys.Vector(digest), vectorTTL) })
		_, _ = pipe.Exec(ctx) // each reply holds its own error
		for _, reply := range replies {
			vector, err := reply.Bytes()
			if err != nil && !errors.Is(err, redis.Nil) {
				return nil, keyspace.Unavailable(err)
			}
			found = append(found, vector)
		}
	}
	return found, nil
}

// KeepVectors stores vectors of an app under the digests of their texts.
func (r *repositoryRecords) KeepVectors(ctx context.Context, appID string, vectors map[string][]byte) error {
	keys, pipe := keyspace.KeysOf(appID), r.db.Pipeline()
	for digest, vector := range vectors {
		pipe.Set(ctx, keys.Vector(digest), vector, vectorTTL)
	}
	_, err := pipe.Exec(ctx)
	return keyspace.Unavailable(err)
}
