// Package ledger is the durable state of messages, triggers and their effects in Redis,
// with the scripts that change it: accept a message, decide it, claim its effects for
// delivery, record the outcomes. Each script stands beside the function that runs it, with
// its keys, arguments and reply; each is safe to run again by a client that lost the reply,
// and takes all of what it is asked for or nothing.
//
// The package knows no tool, no model and no transport: what it keeps of them is JSON that
// it does not look into.
package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"earshot/repositories"
	"earshot/repositories/keyspace"
)

// Ledger runs the scripts and reads the state that all replicas share. It is safe for
// concurrent use.
type Ledger struct{ db *keyspace.DB }

// New returns the ledger of a Redis.
func New(db *keyspace.DB) *Ledger { return &Ledger{db: db} }

// DB is the database that it is in.
func (l *Ledger) DB() *keyspace.DB { return l.db }

// Turn names what a message sets off: its match, decision and answer. A direct trigger has
// no message.
type Turn struct{ App, Session, Message string }

// Member is the turn's name among those of its app.
func (t Turn) Member() string { return t.Session + "/" + t.Message }

func (t Turn) keys() keyspace.Keys { return keyspace.KeysOf(t.App) }

// Shard names the part of the store that an app is on. Apps on one may be written together;
// those on another one are to be written when it is away.
func (l *Ledger) Shard(appID string) int {
	if _, cluster := l.db.UniversalClient.(*redis.ClusterClient); cluster {
		return keyspace.PartitionOf(appID)
	}
	return 0
}

// Confirm returns when enough replicas of Redis have all that was written for an app up to
// now; keyspace.ErrReplicas where they have not in time.
func (l *Ledger) Confirm(ctx context.Context, appID string) error { return l.db.Confirm(ctx, appID) }

// AppExists reports whether there is an app of that id.
func (l *Ledger) AppExists(ctx context.Context, appID string) (bool, error) {
	there, err := l.db.Exists(ctx, keyspace.KeysOf(appID).App()).Result()
	return there > 0, keyspace.Unavailable(err)
}

// AppFields are an app as it stands in Redis. All but the version are empty where the
// caller's version was the current one.
type AppFields struct {
	Version, Revision, Record string
	Repositories              []string
}

// SessionFields are a session as it stands in Redis.
type SessionFields struct {
	Record       string // JSON of what was put of it; empty where nothing was
	Repositories []string
}

// AppNotFound is the error of a request for an app that does not exist. It is
// repositories.ErrNotFound.
func AppNotFound(appID string) error {
	return fmt.Errorf("app %q: %w", appID, repositories.ErrNotFound)
}

// Hash returns 128 bits of SHA-256 over the parts, each with its length.
func Hash(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part)) // a hash.Hash never fails
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Definitions reads the version of an app, and what there is of a session; the app's
// record and its own repositories as well, in a second round trip, where the version is not
// the one that the caller has. The version is empty without the app.
func (l *Ledger) Definitions(ctx context.Context, appID, sessionID, version string) (app AppFields, session SessionFields, err error) {
	k := keyspace.KeysOf(appID)
	pipe := l.db.Pipeline()
	current, sessions, record := pipe.HMGet(ctx, k.App(), "version"), &redis.StringSliceCmd{}, &redis.SliceCmd{}
	if sessionID != "" {
		sessions, record = pipe.HVals(ctx, k.Repos(sessionID)), pipe.HMGet(ctx, k.Turns(sessionID), "session")
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return AppFields{}, SessionFields{}, keyspace.Unavailable(err)
	}
	if app.Version = keyspace.Fields(current.Val())[0]; app.Version != "" && app.Version != version {
		app, err = l.app(ctx, k)
	}
	session.Repositories = sessions.Val()
	if sessionID != "" {
		session.Record = keyspace.Fields(record.Val())[0]
	}
	return app, session, err
}

func (l *Ledger) app(ctx context.Context, k keyspace.Keys) (AppFields, error) {
	pipe := l.db.Pipeline()
	record, own := pipe.HMGet(ctx, k.App(), "version", "rev", "record"), pipe.HVals(ctx, k.Repos(""))
	if _, err := pipe.Exec(ctx); err != nil {
		return AppFields{}, keyspace.Unavailable(err)
	}
	fields := keyspace.Fields(record.Val())
	return AppFields{Version: fields[0], Revision: fields[1], Record: fields[2], Repositories: own.Val()}, nil
}

// keepAnswer stores an answer if there is none yet: all who ask get the same one.
// What was deleted since is not made again, nor is it kept beside what has its name now.
//
//	KEYS turns, or a trigger
//	ARGV field, answer, field and value of what it was made of
//	=>   the answer that holds
var keepAnswer = keyspace.NewScript(`
if redis.call('HGET', KEYS[1], ARGV[3]) ~= ARGV[4] then return ARGV[2] end
redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])
return redis.call('HGET', KEYS[1], ARGV[1])
`)

// KeepAnswer stores the answer of a turn that was made anew of what was decided, unless another
// was faster, and returns the one that holds.
func (l *Ledger) KeepAnswer(ctx context.Context, t Turn, decision, answer string) (string, error) {
	return l.keepAnswer(ctx, t.keys().Turns(t.Session), turnFields["answer"]+t.Message, answer, turnFields["decision"]+t.Message, decision)
}

// KeepTriggersAnswer is KeepAnswer for a direct trigger, whose effects are named after the
// firing.
func (l *Ledger) KeepTriggersAnswer(ctx context.Context, appID, triggerID, firing, answer string) (string, error) {
	return l.keepAnswer(ctx, keyspace.KeysOf(appID).Trigger(triggerID), "answer", answer, "fire", firing)
}

func (l *Ledger) keepAnswer(ctx context.Context, key, field, answer, of, made string) (string, error) {
	kept, err := keepAnswer.Run(ctx, l.db, []string{key}, field, answer, of, made)
	text, _ := kept.(string)
	return text, err
}
