// Package store keeps apps, repositories, app keys and sessions in Redis, which all replicas share. Credentials are
// encrypted at rest, each bound to its destination. Reads return repositories.ErrNotFound for missing data, and
// writes of invalid definitions return a fault.List. An error that wraps keyspace.ErrUnavailable means that Redis
// did not answer; the call can be repeated.
package store

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"earshot/repositories"
	"earshot/repositories/bounded"
	"earshot/repositories/keyspace"
)

// cacheSize bounds a cache in number, and cacheBytes one of definitions by their stored texts: read and compiled, they
// take some ten times as much. Each write makes a definition of its own.
const (
	cacheSize  = 8192
	cacheBytes = 32 << 20
)

// Options are the settings of a Store. Sealer is required if credentials are stored.
type Options struct {
	Sealer     *Sealer
	SessionTTL time.Duration // the idle time after which a session expires
	Retention  Retention     // used with its defaults filled in
	// Now and NewID are injected by tests. They default to time.Now and to random ids of 128 bits.
	Now   func() time.Time
	NewID func() string
}

// Store reads and writes definitions in Redis: apps, repositories, keys and sessions. It is safe for concurrent
// use. Its results are shared and must not be modified. Its errors wrap repositories.ErrNotFound or
// keyspace.ErrUnavailable, or are a fault.List.
//
// Its parts depend only on earlier ones in this order: core, reads of apps, repositories, sessions, writes of apps.
// The keys of apps depend on core alone, the secret key on reads of apps and repositories.
type Store struct {
	*core
	*appReads
	*repositoryRecords
	*sessionRecords
	*appWrites
	*accessKeys
	*secretKeys
	*testRecords
}

// core is shared by all parts of a Store.
type core struct {
	db              *keyspace.DB
	sealer          *Sealer
	sessionTTL      time.Duration
	retention       Retention
	now             func() time.Time
	newID           func() string
	repositoryCache *bounded.Cache[string, *repositories.Repository] // by revision
	appCache        *bounded.Cache[string, *repositories.App]        // by revision
	onChange        func(appID string)
	onWrite         func(*repositories.Repository)
}

// New returns a Store.
func New(db *keyspace.DB, options Options) *Store {
	c := &core{
		db: db, sealer: options.Sealer, sessionTTL: options.SessionTTL, retention: options.Retention.withDefaults(),
		now: options.Now, newID: options.NewID,
		repositoryCache: bounded.New[string, *repositories.Repository](cacheSize, cacheBytes), appCache: bounded.New[string, *repositories.App](cacheSize, cacheBytes),
		onChange: func(string) {}, onWrite: func(*repositories.Repository) {},
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.newID == nil {
		c.newID = rand.Text
	}
	reads := &appReads{
		core: c, originCache: newFreshCache[[]string](), chatCache: newFreshCache[repositories.OpenAI](), grantCache: newFreshCache[*repositories.App](),
	}
	records := &repositoryRecords{core: c, appReads: reads}
	sessions := &sessionRecords{core: c, appReads: reads, repositories: records, generationCache: newFreshCache[Generation]()}
	return &Store{
		core: c, appReads: reads, repositoryRecords: records, sessionRecords: sessions,
		appWrites:  &appWrites{core: c, appReads: reads, repositories: records, sessions: sessions},
		accessKeys: &accessKeys{core: c, keyCache: newFreshCache[*storedKey]()},
		secretKeys: &secretKeys{core: c, appReads: reads, repositories: records}, testRecords: &testRecords{core: c, appReads: reads},
	}
}

// OnChange sets a function that is called with the app's id after a change with an event, so that the event need
// not wait for the next poll of the ledger. Call it before using the Store.
func (c *core) OnChange(wake func(appID string)) { c.onChange = wake }

// OnWrite sets a function that is called with each written repository, which it must not modify. The write waits
// for it, so it must not block. Call it before using the Store.
func (c *core) OnWrite(written func(*repositories.Repository)) { c.onWrite = written }

// SessionTTL is the idle time after which a session expires.
func (c *core) SessionTTL() time.Duration { return c.sessionTTL }

// Load decodes the stored form of a repository, with a cache.
func (c *core) Load(appID, stored string) (*repositories.Repository, error) {
	revision, _, _ := strings.Cut(stored, " ")
	if repository, hit := c.repositoryCache.Get(revision); hit {
		return repository, nil
	}
	repository, err := c.sealer.decode(appID, stored)
	if err == nil {
		c.repositoryCache.Add(revision, repository, len(stored))
	}
	return repository, err
}

// LoadApp decodes the stored form of an app, with a cache.
func (c *core) LoadApp(appID, revision, stored string) (*repositories.App, error) {
	if app, hit := c.appCache.Get(revision); hit {
		return app, nil
	}
	app := &repositories.App{}
	if err := c.sealer.openInto(appID, stored, app, app.Credentials); err != nil {
		return nil, err
	}
	app.Revision = revision
	c.appCache.Add(revision, app, len(stored))
	return app, nil
}

// SealTool encodes a tool with its credentials sealed, for a call that may outlive the tool.
func (c *core) SealTool(appID string, tool *repositories.Tool) (string, error) {
	holder := &repositories.Repository{AppID: appID, Tools: []repositories.Tool{*tool}}
	return c.sealer.sealRecord(appID, holder, holder.Credentials())
}

// OpenTool decodes the output of SealTool. The tool's parameters are not compiled.
func (c *core) OpenTool(appID, sealed string) (*repositories.Tool, error) {
	holder := &repositories.Repository{}
	if err := c.sealer.openInto(appID, sealed, holder, holder.Credentials); err != nil {
		return nil, err
	}
	return &holder.Tools[0], nil
}

// freshCache saves reads of Redis for data that every request needs. A value counts as old freshTTL after its read
// began: after a change and a wait of freshTTL, no replica uses the old state.
type freshCache[V any] struct {
	values *lru.Cache[string, cacheEntry[V]]
	reads  singleflight.Group
}

type cacheEntry[V any] struct {
	value  V
	readAt time.Time
}

func newFreshCache[V any]() *freshCache[V] {
	values, _ := lru.New[string, cacheEntry[V]](cacheSize) // fails only for size 0
	return &freshCache[V]{values: values}
}

const freshReads = 3

func (f *freshCache[V]) get(key string, read func() (V, error)) (V, error) {
	if entry, hit := f.values.Get(key); hit && time.Since(entry.readAt) < freshTTL {
		return entry.value, nil
	}
	var none V
	for range freshReads {
		entry, err := f.read(key, read)
		if err != nil {
			return none, err
		}
		if time.Since(entry.readAt) < freshTTL {
			return entry.value, nil
		}
	}
	return none, fmt.Errorf("%w: its answers take longer than %s", keyspace.ErrUnavailable, freshTTL)
}

// read shares one read among concurrent callers. Errors are not cached: a new thing is found at once.
func (f *freshCache[V]) read(key string, read func() (V, error)) (cacheEntry[V], error) {
	entry, err, _ := f.reads.Do(key, func() (any, error) {
		readAt := time.Now()
		value, err := read()
		if err == nil {
			f.values.Add(key, cacheEntry[V]{value, readAt})
		}
		return cacheEntry[V]{value, readAt}, err
	})
	return entry.(cacheEntry[V]), err
}

func (f *freshCache[V]) forget(key string) {
	f.values.Remove(key)
	f.reads.Forget(key)
}

// Retention is how long records of triggers, and how many messages of a session, are kept. Zero fields have the
// defaults.
type Retention struct {
	// Done and Dead are how long trigger records are kept after full delivery and after failure.
	Done, Dead  time.Duration
	Explain     time.Duration // how long the explanation of a decision is kept
	Unexplained float64       // the share, from 0 to 1, of fully fired messages whose explanation is not kept
	Messages    int           // how many of a session's newest messages stay in its history
}

// Defaults of Retention.
const (
	DefaultRetention       = 7 * 24 * time.Hour
	DefaultDeadRetention   = 30 * 24 * time.Hour
	DefaultExplain         = 24 * time.Hour
	DefaultSessionMessages = 1000
)

func (r Retention) withDefaults() Retention {
	return Retention{
		Done: cmp.Or(r.Done, DefaultRetention), Dead: cmp.Or(r.Dead, DefaultDeadRetention), Explain: cmp.Or(r.Explain, DefaultExplain),
		Unexplained: r.Unexplained, Messages: cmp.Or(r.Messages, DefaultSessionMessages),
	}
}

// Retention returns the retention with its defaults filled in.
func (c *core) Retention() Retention { return c.retention }
