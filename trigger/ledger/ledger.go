// Package ledger is the durable state of messages, triggers and their effects in Redis, with the scripts that
// change it: accept a message, decide it, claim its effects, record their outcomes. Each script is declared
// beside the function that runs it, with its keys, arguments and reply. Each applies a request whole or not at
// all, and a client that lost the reply can run it again.
//
// The package knows no tool, model or transport: it stores their data as opaque JSON.
package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories"
	"earshot/repositories/keyspace"
)

// Ledger runs the scripts and reads the state that all replicas share. It is safe for concurrent use.
type Ledger struct {
	db                             *keyspace.DB
	accepts, commits, ends, admits *group
}

// New returns the ledger in a Redis.
func New(db *keyspace.DB) *Ledger {
	return &Ledger{db: db, accepts: newGroup(accept, true), commits: newGroup(commit, true), ends: newGroup(end, true), admits: newGroup(admit, false)}
}

// DB returns the ledger's database.
func (l *Ledger) DB() *keyspace.DB { return l.db }

// Turn names the processing of a message: its match, decision and answer. A direct trigger has no message.
type Turn struct{ App, Session, Message string }

// Member returns the turn's name among those of its app.
func (t Turn) Member() string { return t.Session + "/" + t.Message }

func (t Turn) keys() keyspace.Keys { return keyspace.ManyKeysOf(t.App) }

// Shard returns the number of the store's part that an app is on. Apps of one shard may be written together;
// the others must stay writable while a shard is unavailable.
func (l *Ledger) Shard(appID string) int {
	if _, cluster := l.db.UniversalClient.(*redis.ClusterClient); cluster {
		return keyspace.PartitionOf(appID)
	}
	return 0
}

// AppFields are an app as stored in Redis. If the caller had the current version, all other fields are empty.
type AppFields struct {
	Version, Revision, Record string
	Repositories              []string
}

// SessionFields are a session as stored in Redis.
type SessionFields struct {
	Record       string // profile (JSON); empty for none
	Repositories []string
}

// AppNotFound returns the error for an app that does not exist. It is repositories.ErrNotFound.
func AppNotFound(appID string) error {
	return &repositories.NotFoundError{Kind: "app", ID: appID}
}

// Hash returns 128 bits of SHA-256 over the parts, each with its length.
func Hash(parts ...string) string {
	text := make([]byte, 0, 256)
	for _, part := range parts {
		text = append(append(strconv.AppendInt(text, int64(len(part)), 10), ':'), part...)
	}
	digest := sha256.Sum256(text)
	return string(hex.AppendEncode(text[:0], digest[:16]))
}

// run runs a script that replies with a status and values. It returns a *RateError if the script refused for a
// limit.
func (l *Ledger) run(ctx context.Context, script *keyspace.Script, keys []string, args ...any) (reply, error) {
	raw, err := script.Run(ctx, l.db, keys, args...)
	return readReply(raw, err)
}

// runGrouped runs a script for an item, together with others of its app. underReplicated reports that too few
// replicas acknowledged the write of a safe group, which is no error here.
func (l *Ledger) runGrouped(ctx context.Context, g *group, appID string, shared func() keyspace.Part, item keyspace.Part) (r reply, underReplicated bool, err error) {
	found := g.run(ctx, l.db, appID, shared, item)
	underReplicated = errors.Is(found.err, keyspace.ErrReplicas)
	if found.err != nil && !underReplicated {
		return r, underReplicated, found.err
	}
	r, err = readItem(found.raw)
	r.common = found.common
	return r, underReplicated, err
}

// reply is the reply of a script: a status, then alternating names and values. A value is a text, a number as
// text, or a list of texts.
type reply struct {
	Status
	fields []replyField
	lists  map[string][]any // of a script that is not grouped
	common []string         // see keyspace.Items
}

// replyField is a named value. A list in the reply for a grouped item is a field for each of its texts.
type replyField struct{ name, text string }

// readItem reads the reply of a group script for one item.
func readItem(raw any) (r reply, _ error) {
	fields := make([]replyField, 0, 16)
	r.Status = Status(keyspace.ReadItem(raw, func(name, text string) { fields = append(fields, replyField{name, text}) }))
	r.fields = fields
	return r, r.fault()
}

// itemFailed is the status of a grouped item whose part of the script failed.
const itemFailed Status = "failed"

func readReply(raw any, err error) (r reply, _ error) {
	if err != nil {
		return r, err
	}
	switch raw := raw.(type) {
	case string:
		r.Status = Status(raw)
	case []any:
		status, _ := raw[0].(string)
		r.Status = Status(status)
		r.readFields(raw[1:])
	}
	return r, r.fault()
}

// fault returns the error of a failure status.
func (r reply) fault() error {
	switch r.Status {
	case itemFailed:
		return errors.New(r.text("error"))
	case Limited:
		return &RateError{Limit: r.text("limit"), Most: r.number("most"), RetryAfter: r.duration("pause")}
	}
	return nil
}

// readFields reads alternating names and values.
func (r *reply) readFields(values []any) {
	r.fields, r.lists = make([]replyField, 0, len(values)/2), map[string][]any{}
	for pair := range slices.Chunk(values, 2) {
		name, _ := pair[0].(string)
		switch value := pair[1].(type) {
		case string:
			r.fields = append(r.fields, replyField{name, value})
		case []any:
			r.lists[name] = value
		}
	}
}

func (r reply) text(name string) string {
	for _, f := range r.fields {
		if f.name == name {
			return f.text
		}
	}
	return ""
}

func (r reply) texts(name string) []string {
	list := keyspace.Fields(r.lists[name])
	for _, f := range r.fields {
		if f.name == name {
			list = append(list, f.text)
		}
	}
	return list
}

func (r reply) is(name string) bool { return r.text(name) == "1" }

func (r reply) number(name string) int { return number(r.text(name)) }

// duration reads a number of milliseconds, which Lua may write with a fraction of zero.
func (r reply) duration(name string) time.Duration {
	return time.Duration(number(strings.TrimSuffix(r.text(name), ".0"))) * time.Millisecond
}

func (r reply) time(name string) time.Time { return time.UnixMilli(int64(r.number(name))) }

// milliseconds returns a duration as an argument of a script.
func milliseconds(d time.Duration) string {
	of := &spelled[uint64(d/time.Millisecond)%uint64(len(spelled))]
	if known := of.Load(); known != nil && known.duration == d {
		return known.text
	}
	text := strconv.FormatInt(d.Milliseconds(), 10)
	of.Store(&spelledDuration{d, text})
	return text
}

// spelled has durations as texts: they are settings, and each message has several. The number of places is a prime, since
// durations are round.
var spelled [61]atomic.Pointer[spelledDuration]

type spelledDuration struct {
	duration time.Duration
	text     string
}

// eventLease is the lease of an outbox as an argument of a script.
var eventLease = milliseconds(keyspace.EventLease)

// flag returns a bool as an argument of a script: 1 or 0.
func flag(set bool) string {
	if set {
		return "1"
	}
	return "0"
}

func number(text string) int {
	n, _ := strconv.Atoi(text) // written by our scripts
	return n
}

// Definitions reads the version of an app, and the profile and repositories of a session. If the version is not
// the caller's, a second round trip reads the app's record and own repositories. The version is empty if the
// app does not exist.
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
	session.Repositories = sessions.Val()
	if sessionID != "" {
		session.Record = keyspace.Fields(record.Val())[0]
	}
	if app.Version = keyspace.Fields(current.Val())[0]; app.Version == "" || app.Version == version {
		return app, session, nil
	}

	pipe = l.db.Pipeline()
	whole, own := pipe.HMGet(ctx, k.App(), "version", "rev", "record"), pipe.HVals(ctx, k.Repos(""))
	if _, err := pipe.Exec(ctx); err != nil {
		return AppFields{}, session, keyspace.Unavailable(err)
	}
	fields := keyspace.Fields(whole.Val())
	return AppFields{Version: fields[0], Revision: fields[1], Record: fields[2], Repositories: own.Val()}, session, nil
}

// storeAnswer stores an answer if there is none yet. It does not create a deleted turn or trigger again.
//
//	KEYS turns, or a trigger
//	ARGV field, answer, field and value of its source, and the field that has AsDecided if that is
//	     the answer
//	=>   the valid answer
var storeAnswer = keyspace.NewScript(`
if redis.call('HGET', KEYS[1], ARGV[3]) ~= ARGV[4] then return ARGV[2] end
if redis.call('HGET', KEYS[1], ARGV[5]) == '` + AsDecided + `' then return '` + AsDecided + `' end
redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])
return redis.call('HGET', KEYS[1], ARGV[1])
`)

// StoreAnswer stores the answer of a turn, rebuilt from its decision, unless another was stored first. It
// returns the valid one.
func (l *Ledger) StoreAnswer(ctx context.Context, t Turn, decision, answer string) (string, error) {
	kept, err := l.run(ctx, storeAnswer, []string{t.keys().Turns(t.Session)}, turnFields["answer"]+t.Message, answer, turnFields["decision"]+t.Message, decision, turnFields["lease"]+t.Message)
	return string(kept.Status), err
}

// StoreTriggerAnswer is StoreAnswer for a direct trigger, whose effects are named after the firing.
func (l *Ledger) StoreTriggerAnswer(ctx context.Context, appID, triggerID, firing, answer string) (string, error) {
	kept, err := l.run(ctx, storeAnswer, []string{keyspace.KeysOf(appID).Trigger(triggerID)}, "answer", answer, "fire", firing, "answer")
	return string(kept.Status), err
}
