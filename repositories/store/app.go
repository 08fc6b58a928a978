package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/lists"
)

type appReads struct {
	*core
	originCache *freshCache[[]string]            // by app
	chatCache   *freshCache[repositories.OpenAI] // by app
	grantCache  *freshCache[*repositories.App]   // by app
}

type appWrites struct {
	*core
	appReads     *appReads
	repositories *repositoryRecords
	sessions     *sessionRecords
}

// errConflict means that another writer came first; retry repeats the write on the new state.
var errConflict = errors.New("another client wrote it at the same time")

// asConflict turns the replies conflict and again of a script into errConflict.
func asConflict(reply any, err error) error {
	if err == nil && (reply == "conflict" || reply == "again") {
		return errConflict
	}
	return err
}

// maxRetries bounds how often a write is repeated. Each failed round means that another write succeeded.
const maxRetries = 200

func retry(ctx context.Context, write func() error) error {
	for range maxRetries {
		if err := write(); !errors.Is(err, errConflict) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %d other writers were faster", keyspace.ErrUnavailable, maxRetries)
}

// App returns an app, or repositories.ErrNotFound.
func (a *appReads) App(ctx context.Context, appID string) (*repositories.App, error) {
	fields, err := a.db.HMGet(ctx, keyspace.KeysOf(appID).App(), "rev", "record").Result()
	if err != nil {
		return nil, keyspace.Unavailable(err)
	}
	revision, _ := fields[0].(string)
	record, exists := fields[1].(string)
	if !exists {
		return nil, &repositories.NotFoundError{Kind: "app", ID: appID}
	}
	return a.LoadApp(appID, revision, record)
}

// putApp writes an app.
//
//	KEYS as named, then the hash and the resends of each webhook
//	ARGV was is the present revision ('' for none), chat '1' if messages are events; then for each of count
//	     webhooks its name, its state ('1' enabled, '0' disabled, '' removed) and a digest of its URL; then
//	     appId/source of each source to refresh now
//	=>   ok, or conflict
//
// The first revision of an app is its generation.
var putApp = keyspace.NewScript(`
KEYS app apps refreshes due webhooks
ARGV app was revision record limits chat count
local there = redis.call('HGET', @app, 'rev') or ''
if there == $revision then return 'ok' end
if there ~= $was then return 'conflict' end
if there == '' then redis.call('HSET', @app, 'generation', $revision, 'created', now()) end
redis.call('HSET', @app, 'rev', $revision, 'record', $record, 'version', $revision, 'limits', $limits, 'chat', $chat)
redis.call('ZADD', @apps, 0, $app)
local count = tonumber($count)
for i = 1, count do
  local hook, resends = KEYS[4 + 2 * i], KEYS[5 + 2 * i]
  local name, enabled, url = ARGV[5 + 3 * i], ARGV[6 + 3 * i], ARGV[7 + 3 * i]
  if enabled == '' then
    redis.call('DEL', hook, resends)
  else
    redis.call('HSETNX', hook, 'since', now())
    if enabled == '0' or redis.call('HGET', hook, 'url') ~= url then
      redis.call('HDEL', hook, 'disabled', 'reason', 'streak', 'failing')
    end
    redis.call('HSET', hook, 'url', url)
  end
  if enabled == '1' and redis.call('HEXISTS', hook, 'disabled') == 0 then
    redis.call('ZADD', @webhooks, now(), name)
    redis.call('ZADD', @due, 'LT', now(), '` + string(keyspace.LaneWebhooks) + `/' .. $app)
  else
    redis.call('ZREM', @webhooks, name)
  end
end
for i = 8 + 3 * count, #ARGV do redis.call('ZADD', @refreshes, now(), ARGV[i]) end
return 'ok'
`)

// PutApp creates or replaces an app. Masked credentials keep their stored values.
func (w *appWrites) PutApp(ctx context.Context, app *repositories.App) (created bool, err error) {
	put := func(*repositories.App) (*repositories.App, error) { return app.Clone(), nil }
	_, created, err = w.ChangeApp(ctx, AppChange{AppID: app.ID, Next: put})
	return created, err
}

// ChangeApp writes the next state of an app and returns it as stored, with its Revision. Masked credentials keep
// their stored values.
func (w *appWrites) ChangeApp(ctx context.Context, change AppChange) (app *repositories.App, created bool, err error) {
	err = retry(ctx, func() error {
		current, next, err := w.nextApp(ctx, change)
		if err != nil {
			return err
		}
		app, created = next, current.Revision == ""
		app.Revision = w.newID()
		record, err := w.sealer.sealRecord(app.ID, app, app.Credentials())
		if err != nil {
			return err
		}
		k := keyspace.KeysOf(app.ID)
		keys := []string{k.App(), k.Apps(), k.Refreshes(), k.Due(), k.Lane(keyspace.LaneWebhooks)}
		hooks := webhookChanges(current, app)
		args := []any{app.ID, current.Revision, app.Revision, record, app.Settings.Rates(), app.Settings.ChatEvents, len(hooks)}
		for _, hook := range hooks {
			webhook, resends := keyspace.Webhook(k, hook.name)
			keys = append(keys, webhook, resends)
			args = append(args, hook.name, hook.enabled, hook.url)
		}
		for _, source := range app.Sources {
			old, _ := current.Source(source.Name)
			if source.Type == repositories.SourceMCP && !reflect.DeepEqual(old, source) {
				args = append(args, app.ID+"/"+source.Name)
			}
		}
		reply, err := putApp.Run(ctx, w.db, keys, args...)
		w.appReads.originCache.forget(app.ID)
		w.appReads.chatCache.forget(app.ID)
		return asConflict(reply, err)
	})
	return app, created, err
}

// webhookChange is one webhook's arguments of putApp.
type webhookChange struct{ name, enabled, url string }

func webhookChanges(current, next *repositories.App) (changes []webhookChange) {
	for _, webhook := range next.Settings.Webhooks {
		enabled := "0"
		if webhook.Enabled() {
			enabled = "1"
		}
		digest := sha256.Sum256([]byte(webhook.URL))
		changes = append(changes, webhookChange{webhook.Name, enabled, hex.EncodeToString(digest[:8])})
	}
	for _, webhook := range current.Settings.Webhooks {
		if _, kept := next.Webhook(webhook.Name); !kept {
			changes = append(changes, webhookChange{name: webhook.Name})
		}
	}
	return changes
}

// nextApp reads an app and makes its next state. A missing app is read as an empty one without a revision.
func (w *appWrites) nextApp(ctx context.Context, change AppChange) (current, next *repositories.App, err error) {
	if current, err = w.appReads.App(ctx, change.AppID); errors.Is(err, repositories.ErrNotFound) {
		current, err = &repositories.App{ID: change.AppID}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if err := change.If.check(current.Revision); err != nil {
		return nil, nil, err
	}
	if next, err = change.Next(current); err != nil {
		return nil, nil, err
	}
	if !change.Force {
		if err := w.checkInUse(ctx, current, next); err != nil {
			return nil, nil, err
		}
	}
	return current, next, repositories.KeepMasked(next, next.Credentials(), current.Credentials())
}

// checkInUse returns a *repositories.InUseError if the app would lose modules or sources that tools of its
// repositories or its sessions' repositories name. Concurrent writes are not seen, and an unreadable repository
// does not count.
func (w *appWrites) checkInUse(ctx context.Context, current, next *repositories.App) error {
	dropped := current.Drops(next)
	if dropped == nil {
		return nil
	}
	sessions, err := w.appReads.membersOf(ctx, keyspace.KeysOf(next.ID).Idle(), next.ID)
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(append([]string{""}, sessions...), 100) {
		if dropped.Enough() {
			break
		}
		pipe := w.db.Pipeline()
		for _, session := range batch {
			pipe.HVals(ctx, keyspace.KeysOf(next.ID).Repos(session))
		}
		replies, err := pipe.Exec(ctx)
		if err != nil {
			return keyspace.Unavailable(err)
		}
		for _, reply := range replies {
			for _, text := range reply.(*redis.StringSliceCmd).Val() {
				if !dropped.MayBeIn(text) {
					continue
				}
				if repository, err := w.Load(next.ID, text); err == nil {
					dropped.Look(repository)
				}
			}
		}
	}
	return dropped.Err()
}

// Apps lists up to limit apps by id, beginning after the given id.
func (a *appReads) Apps(ctx context.Context, after string, limit int) ([]*repositories.App, string, error) {
	ids, err := a.appIDs(ctx, after, limit+1)
	if err != nil {
		return nil, "", err
	}
	ids, next := pageOf(ids, limit)
	items, budget := make([]*repositories.App, 0, len(ids)), &repositories.PageBudget{}
	for i, id := range ids {
		app, err := a.App(ctx, id)
		if errors.Is(err, repositories.ErrNotFound) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, "", err
		}
		if !budget.Fits(app) {
			return items, ids[i-1], nil
		}
		items = append(items, app)
	}
	return items, next, nil
}

func (a *appReads) appIDs(ctx context.Context, after string, limit int) ([]string, error) {
	pipe := a.db.Pipeline()
	for _, key := range keyspace.AllApps() {
		pipe.ZRangeByLex(ctx, key, idsAfter(after, limit))
	}
	replies, err := pipe.Exec(ctx)
	if err != nil {
		return nil, keyspace.Unavailable(err)
	}
	var ids []string
	for _, reply := range replies {
		ids = append(ids, reply.(*redis.StringSliceCmd).Val()...)
	}
	slices.Sort(ids)
	return ids[:min(len(ids), limit)], nil
}

// idsAfter selects up to limit ids, beginning after the given one, or with the first.
func idsAfter(after string, limit int) *redis.ZRangeBy {
	from := "-"
	if after != "" {
		from = "(" + after
	}
	return &redis.ZRangeBy{Min: from, Max: "+", Count: int64(limit)}
}

// pageOf shortens a list that was read with one item more than the page. It returns the cursor of the next page, empty
// on the last one.
func pageOf(ids []string, limit int) ([]string, string) {
	if len(ids) <= limit {
		return ids, ""
	}
	return ids[:limit], ids[limit-1]
}

// pageAfter sorts ids and returns the page that begins after one of them, and the cursor of the next page.
func pageAfter(ids []string, after string, limit int) ([]string, string) {
	slices.Sort(ids)
	return pageOf(slices.DeleteFunc(ids, func(id string) bool { return id <= after }), limit)
}

// dropApp removes an app that has no sessions, repositories and triggers left.
//
//	KEYS app, apps, repos, triggers, pending, failed, dead, keys, uses of keys, rate, parts of explanations,
//	     sessions, recent, users, sourced, asked, audit, tests, versioned, then uses of tools and of the app,
//	     webhooks, the keys of each webhook, versions of repositories, and ends of keys
//	ARGV appId, the app's revision when its webhooks were read
//	=>   ok, or again if the app is in use or has another revision
var dropApp = keyspace.NewFreeingScript(`
if (redis.call('HGET', KEYS[1], 'rev') or '') ~= ARGV[2] then return 'again' end
if redis.call('HLEN', KEYS[3]) > 0 or redis.call('ZCARD', KEYS[4]) > 0 or redis.call('ZCARD', KEYS[12]) > 0 then return 'again' end
for _, id in ipairs(redis.call('HKEYS', KEYS[8])) do redis.call('ZREM', KEYS[#KEYS], ARGV[1] .. '/' .. id) end
redis.call('DEL', KEYS[1], KEYS[5], KEYS[6], KEYS[8], KEYS[9])
for i = 10, #KEYS - 1 do redis.call('DEL', KEYS[i]) end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[7], ARGV[1])
return 'ok'
`)

// DeleteApp removes an app with its sessions, its trigger records and its repositories, and queues tool.changed for
// each repository. Events in the ledger are still published, and calls that wait for another attempt are dropped when
// they are due. When it returns, no replica accepts a key or a session token of the app. Once begun it goes on without its
// caller; a deletion that a crash has ended is finished by the next one.
func (w *appWrites) DeleteApp(ctx context.Context, appID string, preconditions ...Precondition) error {
	if err := w.appReads.claimForDeletion(ctx, appID, preconditions); err != nil {
		return err
	}
	ctx, keys := context.WithoutCancel(ctx), keyspace.KeysOf(appID)
	err := retry(ctx, func() error {
		if err := w.sessions.closeAll(ctx, appID); err != nil {
			return err
		}
		if err := w.repositories.deleteAll(ctx, repositories.Scope{AppID: appID}); err != nil {
			return err
		}
		if err := w.dropTriggers(ctx, appID); err != nil {
			return err
		}
		app, err := w.appReads.App(ctx, appID)
		if errors.Is(err, repositories.ErrNotFound) {
			app, err = &repositories.App{}, nil // deleted by another
		}
		if err != nil {
			return err
		}
		names := append([]string{keys.App(), keys.Apps(), keys.Repos(""),
			keys.Triggers(""), keys.InState(keyspace.Pending), keys.InState(keyspace.Failed), keys.Dead(),
			keys.AppKeys(), keys.KeyUses(), keys.Rates(""), keys.ExplainedParts(), keys.Sessions(), keyspace.Recent(keys), keys.Users(), keys.Sourced(), keys.Asked(""), keyspace.Audit(keys), keyspace.Tests(keys), keyspace.Versioned(keys)}, keyspace.AllUses(keys, w.now())...)
		names = append(names, keyspace.AllUsage(keys, w.now())...)
		names = append(names, keys.Lane(keyspace.LaneWebhooks))
		for _, hook := range app.Settings.Webhooks {
			webhook, resends := keyspace.Webhook(keys, hook.Name)
			names = append(names, webhook, resends)
		}
		versioned, err := w.db.ZRange(ctx, keyspace.Versioned(keys), 0, -1).Result()
		if err != nil {
			return keyspace.Unavailable(err)
		}
		for _, id := range versioned {
			names = append(names, keyspace.Versions(keys, id))
		}
		return asConflict(dropApp.Run(ctx, w.db, append(names, keyspace.KeyEnds(keys)), appID, app.Revision))
	})
	if err != nil {
		return err
	}
	if err := w.appReads.dropExplained(ctx, keys, appID); err != nil {
		return err
	}
	return awaitRevocation(ctx)
}

// dropExplained removes the index entries of explanations of an app, or of a session (prefix is appId/sessionId).
func (a *appReads) dropExplained(ctx context.Context, k keyspace.Keys, prefix string) error {
	names, err := a.membersOf(ctx, k.Explained(), prefix)
	for batch := range slices.Chunk(names, 1000) {
		members := lists.Map(batch, func(name string) any { return prefix + "/" + name })
		err = cmp.Or(err, a.db.ZRem(ctx, k.Explained(), members...).Err())
	}
	return keyspace.Unavailable(err)
}

// membersOf lists the sorted set's members that begin with a prefix and a slash, without them.
func (a *appReads) membersOf(ctx context.Context, key, prefix string) (names []string, err error) {
	members := a.db.ZScan(ctx, key, 0, prefix+"/*", 100).Iterator()
	for members.Next(ctx) {
		if name, ok := strings.CutPrefix(members.Val(), prefix+"/"); ok { // every second value is a score
			names = append(names, name)
		}
	}
	return names, keyspace.Unavailable(members.Err())
}

// AllowsOrigin reports whether the app's settings allow calls from pages of the origin. A missing app allows none.
// The settings may be freshTTL old.
func (a *appReads) AllowsOrigin(ctx context.Context, appID, origin string) (bool, error) {
	allowed, err := a.originCache.get(appID, func() ([]string, error) {
		app, err := a.App(context.WithoutCancel(ctx), appID)
		if err != nil {
			return nil, err
		}
		return app.Settings.AllowedOrigins, nil
	})
	if errors.Is(err, repositories.ErrNotFound) {
		return false, nil
	}
	return slices.Contains(allowed, origin) || slices.Contains(allowed, "*"), err
}

// ChatSettings returns the app's settings.openai, which may be freshTTL old.
func (a *appReads) ChatSettings(ctx context.Context, appID string) (repositories.OpenAI, error) {
	return a.chatCache.get(appID, func() (repositories.OpenAI, error) {
		app, err := a.App(context.WithoutCancel(ctx), appID)
		if err != nil {
			return repositories.OpenAI{}, err
		}
		return app.Settings.OpenAI, nil
	})
}

const sessionsPerRead = 1000

// ScopesOf lists the scopes of an app that contain the repository, the app's own first. It searches all sessions.
// Without the app it returns repositories.ErrNotFound.
func (a *appReads) ScopesOf(ctx context.Context, appID, repositoryID string) ([]repositories.Scope, error) {
	if _, err := a.App(ctx, appID); err != nil {
		return nil, err
	}
	sessions, after := []string{""}, ""
	var found []repositories.Scope
	for {
		scopes, err := a.scopesAmong(ctx, appID, sessions, repositoryID)
		if err != nil {
			return nil, err
		}
		found = append(found, scopes...)
		sessions, err = a.db.ZRangeByLex(ctx, keyspace.KeysOf(appID).Sessions(), idsAfter(after, sessionsPerRead)).Result()
		if err != nil || len(sessions) == 0 {
			return found, keyspace.Unavailable(err)
		}
		after = sessions[len(sessions)-1]
	}
}

func (a *appReads) scopesAmong(ctx context.Context, appID string, sessions []string, repositoryID string) (found []repositories.Scope, err error) {
	pipe, keys := a.db.Pipeline(), keyspace.KeysOf(appID)
	exists := lists.Map(sessions, func(session string) *redis.BoolCmd { return pipe.HExists(ctx, keys.Repos(session), repositoryID) })
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("repository %q: %w", repositoryID, keyspace.Unavailable(err))
	}
	for i, session := range sessions {
		if exists[i].Val() {
			found = append(found, repositories.Scope{AppID: appID, SessionID: session})
		}
	}
	return found, nil
}

// Precondition must hold for a change. It gets the present revision (empty for none); its error aborts the change
// before anything is written. After a conflict it runs again. Nil always holds.
type Precondition func(revision string) error

func (c Precondition) check(revision string) error {
	if c == nil {
		return nil
	}
	return c(revision)
}

func checkPreconditions(preconditions []Precondition, revision string) error {
	for _, precondition := range preconditions {
		if err := precondition.check(revision); err != nil {
			return err
		}
	}
	return nil
}

// AppChange creates or changes an app.
type AppChange struct {
	AppID string
	If    Precondition
	// Next makes the next state from the present one, which it must not modify: an empty app without a Revision if
	// there is none. After a conflict it runs again.
	Next func(current *repositories.App) (*repositories.App, error)
	// Force lets the app lose modules and sources that tools name.
	Force bool
}

// RepositoryChange creates or changes a repository.
type RepositoryChange struct {
	Scope repositories.Scope
	ID    string
	If    Precondition
	// Next is like AppChange.Next. A next state without a Generation gets a new one.
	Next     func(current *repositories.Repository) (*repositories.Repository, error)
	Restores int // the number of the version to restore; 0 for none
	// Removes marks a change that only removes something: even a full Redis takes it.
	Removes bool
	// background marks a change that no client of the session requested: it does not extend the session.
	background bool
}

// ReplaceChange returns the change that replaces whatever is stored with the repository.
func ReplaceChange(repository *repositories.Repository) RepositoryChange {
	next := func(*repositories.Repository) (*repositories.Repository, error) { return repository.Clone(), nil }
	return RepositoryChange{Scope: repository.Scope(), ID: repository.ID, Next: next}
}

// closeApp renews the revision of an app, so that writes based on the old one fail, and removes its version, without which
// nothing begins in it.
//
//	KEYS app
//	ARGV present revision, new revision
//	=>   ok, or conflict
var closeApp = keyspace.NewFreeingScript(`
local current = redis.call('HGET', KEYS[1], 'rev')
if current ~= ARGV[2] and current ~= ARGV[1] then return 'conflict' end
redis.call('HSET', KEYS[1], 'rev', ARGV[2])
redis.call('HDEL', KEYS[1], 'version')
return 'ok'
`)

// claimForDeletion checks the preconditions of a deletion, which takes many steps. From then on no conditional change can
// be based on the state that was read, and no message, trigger, session or repository is accepted.
func (a *appReads) claimForDeletion(ctx context.Context, appID string, preconditions []Precondition) error {
	return retry(ctx, func() error {
		app, err := a.App(ctx, appID)
		if err != nil {
			return err
		}
		if err := checkPreconditions(preconditions, app.Revision); err != nil {
			return err
		}
		return asConflict(closeApp.Run(ctx, a.db, []string{keyspace.KeysOf(appID).App()}, app.Revision, a.newID()))
	})
}

// dropTriggers removes trigger records with their dead effects. Pending effects are still tried, and end without a
// record.
//
//	KEYS over, triggers of the app, then record and effects of each
//	ARGV appId, keys of each, then the triggerIds
var dropTriggers = keyspace.NewFreeingScript(`
local step = tonumber(ARGV[2])
for i = 3, #ARGV do
  local first = 3 + (i - 3) * step
  for j = first + 1, first + step - 1 do
    if redis.call('HGET', KEYS[j], 'state') == 'dead' then redis.call('DEL', KEYS[j]) end
  end
  redis.call('DEL', KEYS[first])
  redis.call('ZREM', KEYS[1], ARGV[1] .. '/' .. ARGV[i])
  redis.call('ZREM', KEYS[2], ARGV[i])
end
return 'ok'
`)

// dropTriggers removes the trigger records of an app. They contain its users' words, which a new app with the same
// id must not see.
func (w *appWrites) dropTriggers(ctx context.Context, appID string) error {
	const chunk = 100 // keeps each run of the script short
	keys := keyspace.KeysOf(appID)
	for {
		ids, err := w.db.ZRange(ctx, keys.Triggers(""), 0, chunk-1).Result()
		if err != nil || len(ids) == 0 {
			return keyspace.Unavailable(err)
		}
		records := lists.Map(ids, keys.Trigger)
		firings, err := w.db.HashFields(ctx, records, "fire")
		if err != nil {
			return err
		}
		names, args := []string{keys.Over(), keys.Triggers("")}, []any{appID, 1 + len(keyspace.Parts)}
		for i, id := range ids {
			names, args = append(append(names, records[i]), keyspace.Effects(keys, firings[i][0])...), append(args, id)
		}
		if _, err := dropTriggers.Run(ctx, w.db, names, args...); err != nil {
			return err
		}
	}
}
