package repositories

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/redis/go-redis/v9"
)

// ErrNotFound means that there is no such app or repository.
var ErrNotFound = errors.New("not found")

// cached is how many compiled definitions a process keeps.
const cached = 8192

// StoreOptions are what a Store needs beside Redis.
type StoreOptions struct {
	Sealer *Sealer
	// SessionTTL is the idle time after which a session expires.
	SessionTTL time.Duration
	// Retention is how much is kept of what is over.
	Retention Retention
	// Now and NewID are injected by tests; they default to time.Now and to random
	// ids of 128 bits.
	Now   func() time.Time
	NewID func() string
}

// Store keeps apps and repositories in Redis. What it returns is shared and must not
// be changed. Its errors wrap ErrNotFound, ErrUnavailable, or are Faults.
type Store struct {
	db      *DB
	sealer  *Sealer
	ttl     time.Duration
	keep    Retention
	now     func() time.Time
	newID   func() string
	repos   *lru.Cache[string, *Repository] // by revision
	apps    *lru.Cache[string, *App]        // by revision
	changed func(appID string)
	access  *fresh[*storedKey] // by app and keyId
	origins *fresh[[]string]   // by app
	lives   *fresh[Generation] // by app and session
}

// NewStore returns a Store.
func NewStore(db *DB, options StoreOptions) *Store {
	repos, _ := lru.New[string, *Repository](cached) // fails for a size of 0 only
	apps, _ := lru.New[string, *App](cached)
	s := &Store{
		db: db, sealer: options.Sealer, ttl: options.SessionTTL, keep: options.Retention.withDefaults(),
		now: options.Now, newID: options.NewID,
		repos: repos, apps: apps, changed: func(string) {},
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.access, s.origins = newFresh[*storedKey](cached, KeyFresh, time.Now), newFresh[[]string](cached, KeyFresh, time.Now)
	s.lives = newFresh[Generation](cached, KeyFresh, time.Now)
	if s.newID == nil {
		s.newID = rand.Text
	}
	return s
}

// OnChange sets what is called, with the app's id, after a change that owes an event, so that the event
// need not wait for the next look at the ledger. Set it before the Store is used.
func (s *Store) OnChange(wake func(appID string)) { s.changed = wake }

// SessionTTL is the idle time after which a session expires.
func (s *Store) SessionTTL() time.Duration { return s.ttl }

// Ping reports whether Redis answers and takes writes, of a cluster for every partition:
// a node answers PING for itself when its cluster serves nobody. The error is ErrMemory
// as well where a node is full.
func (s *Store) Ping(ctx context.Context) error {
	pipe := s.db.Pipeline()
	for _, key := range AllDue() {
		if s.db.Embedded {
			pipe.Exists(ctx, key)
		} else {
			pipe.Eval(ctx, mayWrite, []string{key})
		}
	}
	_, err := pipe.Exec(ctx)
	return Unavailable(err)
}

// mayWrite writes nothing, and is refused wherever a script that writes is: by a Redis
// that is full, or a replica.
const mayWrite = "#!lua\nreturn 1"

// Load decodes the stored form of a repository, out of the cache where it can.
func (s *Store) Load(appID, stored string) (*Repository, error) {
	revision := revisionOf(stored)
	if repository, hit := s.repos.Get(revision); hit {
		return repository, nil
	}
	repository, err := s.sealer.decode(appID, stored)
	if err == nil {
		s.repos.Add(revision, repository)
	}
	return repository, err
}

// LoadApp decodes the stored form of an app, out of the cache where it can.
func (s *Store) LoadApp(appID, revision, stored string) (*App, error) {
	if app, hit := s.apps.Get(revision); hit {
		return app, nil
	}
	app := &App{}
	if err := s.sealer.openInto(appID, stored, app, app.credentials); err != nil {
		return nil, err
	}
	s.apps.Add(revision, app)
	return app, nil
}

// SealTool encodes a tool with its credentials sealed, for a call that the ledger
// owes after the tool itself is gone.
func (s *Store) SealTool(appID string, tool *Tool) (string, error) {
	alone := &Repository{AppID: appID, Tools: []Tool{*tool}}
	return s.sealer.sealRecord(appID, alone, alone.credentials())
}

// OpenTool decodes what SealTool made. The tool's parameters are not compiled.
func (s *Store) OpenTool(appID, sealed string) (*Tool, error) {
	alone := &Repository{}
	if err := s.sealer.openInto(appID, sealed, alone, alone.credentials); err != nil {
		return nil, err
	}
	return &alone.Tools[0], nil
}

// absent turns the error of a missing key into ErrNotFound.
func absent(err error) error {
	if errors.Is(err, redis.Nil) {
		return ErrNotFound
	}
	return Unavailable(err)
}
