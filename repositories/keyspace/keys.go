// Package keyspace is the layout of Earshot's state in Redis: the names of all keys, how Lua scripts run, and what
// all scripts of the ledger share: lanes of due work, outboxes, and effects. All keys of an app are in one hash
// slot. Errors wrap ErrUnavailable if Redis did not answer; times are in milliseconds.
package keyspace

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"earshot/repositories/lists"
)

// Partitions is the number of hash slots that apps are spread over. All keys of an app carry its partition's hash
// tag, so that every script stays within one slot of a Redis Cluster. The number is stored in Redis; a replica with
// another number cannot start.
const Partitions = 64

// NoSession stands for a missing session in subjects and in keys.
const NoSession = "_"

// Keys builds the names of one app's keys in Redis. No other code builds them.
type Keys struct {
	tag, app string
	buffer   *strings.Builder // see ManyKeysOf
}

// KeysOf returns the keys of an app.
func KeysOf(appID string) Keys { return Keys{tag: partition(PartitionOf(appID)), app: appID} }

// nameBufferSize is the approximate size in bytes of a script's key names.
const nameBufferSize = 1 << 10

// ManyKeysOf is KeysOf for callers that need many names at once, which share memory. The Keys are for one
// goroutine, and each name retains the memory of all.
func ManyKeysOf(appID string) Keys {
	k := KeysOf(appID)
	k.buffer = &strings.Builder{}
	return k
}

func (k Keys) named(parts ...string) string {
	length := len(k.tag)
	for _, part := range parts {
		length += len(part)
	}
	b := k.buffer
	switch {
	case b == nil:
		b = &strings.Builder{}
		b.Grow(length)
	case b.Cap()-b.Len() < length: // earlier names keep their memory
		b.Reset()
		b.Grow(max(nameBufferSize, length))
	}
	start := b.Len()
	b.WriteString(k.tag)
	for _, part := range parts {
		b.WriteString(part)
	}
	return b.String()[start:]
}

// scoped names a key of a session, or of the app itself without one.
func scoped(k Keys, kind, sessionID string) string {
	if sessionID == "" {
		return k.named(kind, k.app)
	}
	return k.named(kind, k.app, ":", sessionID)
}

// PartitionOf returns the partition of an app, from 0.
func PartitionOf(appID string) int {
	hash := uint32(2166136261) // FNV-1a of 32 bits
	for i := range len(appID) {
		hash = (hash ^ uint32(appID[i])) * 16777619
	}
	return int(hash % Partitions)
}

// tags begin the names of all keys of a partition. ParseKey also compares with those beyond Partitions.
var tags = func() (all [100]string) {
	for n := range all {
		all[n] = fmt.Sprintf("earshot:{p%02d}:", n)
	}
	return all
}()

func partition(n int) string { return tags[n] }

// SecretKeyMarks is a hash: current and before, known texts sealed with the secret key and with its predecessor. It
// belongs to no app.
const SecretKeyMarks = "earshot:secretkey"

// Format is a hash: the format of all data, and the progress of a migration (see package format). It belongs to no
// app.
const Format = "earshot:format"

// App is a hash: record, rev, version, generation and limits (Settings.Rates) of the app, created, the time (ms) when
// it was made, and chat, 1 if its messages are events.
func (k Keys) App() string { return k.named("app:", k.app) }

// Repos is a hash of a scope: repositoryId to the stored repository (see store/seal.go).
func (k Keys) Repos(sessionID string) string { return scoped(k, "repos:", sessionID) }

// Sourced is a hash of an app: the repositories of it and its sessions with tools from a source, as
// sessionId/repositoryId (/repositoryId of the app's own), to the source, the repository's revision and a digest of
// its tools. The source's next refresh removes entries of repositories that are gone.
func (k Keys) Sourced() string { return k.named("sourced:", k.app) }

// Refreshes is a sorted set of the partition: appId/source of the sources in use, by the time (ms) of their next
// refresh, or the end of a refresh's lease.
func (k Keys) Refreshes() string { return k.named("refreshes") }

// Turns is a hash of a session: all data of its messages, as field:messageId.
func (k Keys) Turns(sessionID string) string { return k.named("turns:", k.app, ":", sessionID) }

// Order is a list of a session: its messageIds in order of arrival.
func (k Keys) Order(sessionID string) string { return k.named("order:", k.app, ":", sessionID) }

// Draft is a hash: a message that may still change, with its matches. It expires within a minute, independent of
// its session and its app.
func (k Keys) Draft(sessionID, messageID string) string {
	return k.named("draft:", k.app, ":", sessionID, ":", messageID)
}

// Drafts is a sorted set of a session: the messageIds that may have a Draft, by the time (ms) of their last write.
// It expires after all drafts.
func (k Keys) Drafts(sessionID string) string { return k.named("drafts:", k.app, ":", sessionID) }

// Asked is a hash of a session, or of an app: triggerId to a call that lacks values, after the time (ms) when it
// ends. It expires.
func (k Keys) Asked(sessionID string) string {
	return k.named("asked:", k.app, ":", OrNone(sessionID))
}

// Outbox is a list: the unpublished events of an outbox, by its Box, in order of decision: the ids of effects,
// after a batch's id if there is one.
func (k Keys) Outbox(box string) string { return k.named("outbox:", k.app, ":", box) }

// Effect is a hash: one pending or dead effect.
func (k Keys) Effect(id string) string { return k.named("effect:", k.app, ":", id) }

// Effects returns the keys for all effects that a firing may have.
func Effects(k Keys, firing string) []string {
	return lists.Map(Parts, func(part string) string { return k.Effect(EffectID(firing, part)) })
}

// Parts are the names of a firing's effects. An effect's id is the firing's id, a dot and the name.
var Parts = []string{"event", "emitter", "call", "result"}

// EffectID returns the id of an effect of a firing.
func EffectID(firing, part string) string { return firing + "." + part }

// RetriedResult returns the id of a call's result after the nth manual retry.
func RetriedResult(firing string, n int) string {
	return EffectID(firing, "result") + "-" + strconv.Itoa(n)
}

// Webhook returns the keys of a webhook of an app.
//
// The first is a hash: since, the time (ms) when it was added; url, a digest of its URL; position, the last served
// place in the stream; hints, a counter of announced events; token and until (ms) of its lease; streak and failing,
// the number of consecutive failures, and since when (ms); disabled (ms) and reason, if Earshot disabled it;
// arrived, the time (ms) of the last delivery; the counts delivered, failed and gone; and a field for each member
// of the second, a WebhookDelivery of package ledger.
//
// The second is a sorted set: the places in the stream of undelivered events, by the time (ms) of their next
// attempt; +inf for none.
func Webhook(k Keys, name string) (webhook, resends string) {
	return k.named("webhook:", k.app, ":", name), k.named("resends:", k.app, ":", name)
}

// Written is a string: it records the write of a repository that queued the event with that id. It expires.
func (k Keys) Written(id string) string { return k.named("written:", k.app, ":", id) }

// Trigger is a hash: the record of a trigger and the states of its effects.
func (k Keys) Trigger(id string) string { return k.named("trigger:", k.app, ":", id) }

// Fence is a string for values that fire once within some time: the generation of the app and the id of the first
// trigger with them. It expires.
func (k Keys) Fence(name string) string { return k.named("fence:", k.app, ":", name) }

// Triggers is a sorted set of triggerIds by time (µs): a session's, or all of the app.
func (k Keys) Triggers(sessionID string) string { return scoped(k, "triggers:", sessionID) }

// States of triggers with their own lists.
const (
	Pending = "pending" // has pending effects
	Failed  = "failed"  // an effect was given up
)

// InState is a sorted set of the pending or failed triggerIds, by time (µs) as in Triggers.
func (k Keys) InState(state string) string { return k.named(state, ":", k.app) }

// Over is a sorted set of the partition: appId/triggerId of the triggers without pending effects, by the time (ms)
// when their records are removed.
func (k Keys) Over() string { return k.named("over") }

// ExplainedParts is a hash of an app: the shared parts of explanations of messages, by the hash of their content.
func (k Keys) ExplainedParts() string { return k.named("explained:", k.app) }

// Explained is a sorted set of the partition: appId/sessionId/messageId of explanations, and appId//name of
// ExplainedParts, by the time (ms) when they are removed.
func (k Keys) Explained() string { return k.named("explained") }

// AppKeys is a hash of an app: keyId to the stored key.
func (k Keys) AppKeys() string { return k.named("keys:", k.app) }

// Lineage is a string: the time (ms) when the newest of a series of renewed access tokens ends. It expires.
func (k Keys) Lineage(id string) string { return k.named("lineage:", k.app, ":", id) }

// KeyUses is a hash of an app: keyId to the time (ms) of its last use.
func (k Keys) KeyUses() string { return k.named("keyuses:", k.app) }

// KeyEnds is a sorted set of the partition: appId/keyId of the keys that expire, by the time (ms) when they do.
func KeyEnds(k Keys) string { return k.named("keyends") }

// Audit is a stream of an app: the log of changes and their authors (see package audit). It expires.
func Audit(k Keys) string { return k.named("audit:", k.app) }

// Tests is a hash of an app: the name of a test to the stored test.
func Tests(k Keys) string { return k.named("tests:", k.app) }

// Versions is a hash of a repository of an app: a number to its stored form, empty for a deletion, and by:number to
// the version's author (JSON); first and last, the range of kept numbers; bytes, their size. It expires once the
// repository is deleted.
func Versions(k Keys, repositoryID string) string {
	return k.named("versions:", k.app, ":", repositoryID)
}

// Versioned is a sorted set of an app: the repositories that have Versions, by the time (ms) when these expire;
// +inf for never.
func Versioned(k Keys) string { return k.named("versioned:", k.app) }

// Compared is a list: the times (ms) when a key compared credentials in the last minute, the latest first. The
// admin, who has no keyId, has one too. It expires.
func (k Keys) Compared(keyID string) string { return k.named("compared:", k.app, ":", OrNone(keyID)) }

// Uses is a hash of an app: how often its tools fired in an hour (since 1970), or failed to. It expires.
func (k Keys) Uses(hour int64) string { return fmt.Sprintf("%suses:%s:%d", k.tag, k.app, hour) }

// AllUses returns the Uses of an app for the hours that may exist.
func AllUses(k Keys, now time.Time) []string {
	var names []string
	for hour := now.Unix()/3600 - 26; hour <= now.Unix()/3600+1; hour++ {
		names = append(names, k.Uses(hour))
	}
	return names
}

// Steps of Usage.
const (
	UsageMinute = "minute"
	UsageHour   = "hour"
	UsageDay    = "day"
)

// Usage is a hash of an app: its usage in a minute, an hour or a day (since 1970), see package usage. It expires.
func Usage(k Keys, step string, number int64) string {
	mark := map[string]string{UsageMinute: "m", UsageHour: "h"}[step]
	return fmt.Sprintf("%susage:%s:%s%d", k.tag, k.app, mark, number)
}

// AllUsage returns the Usage keys of an app that may exist.
func AllUsage(k Keys, now time.Time) []string {
	var names []string
	for _, step := range []struct {
		name         string
		length, kept int64
	}{{UsageMinute, 60, 182}, {UsageHour, 3600, 338}, {UsageDay, 86400, 402}} {
		for number := now.Unix()/step.length - step.kept; number <= now.Unix()/step.length+1; number++ {
			names = append(names, Usage(k, step.name, number))
		}
	}
	return names
}

// Rates is a hash of a session or an app: counts of posts in the minute. It expires.
func (k Keys) Rates(sessionID string) string { return scoped(k, "rates:", sessionID) }

// Apps is a sorted set of the partition: its appIds in lexical order.
func (k Keys) Apps() string { return k.named("apps") }

// Sessions is a sorted set of an app: its sessions in lexical order.
func (k Keys) Sessions() string { return k.named("sessions:", k.app) }

// Recent is a sorted set of an app: its sessions by the time (ms) of their last use.
func Recent(k Keys) string { return k.named("recent:", k.app) }

// Users is a sorted set of an app: its sessions that have a user, as OfUser in lexical order. An ended session
// stays until all its data is gone.
func (k Keys) Users() string { return k.named("users:", k.app) }

// OfUser returns a session's name in Users. The separator occurs neither in users nor in session ids.
func OfUser(user, sessionID string) string { return user + "\x00" + sessionID }

// SessionOfUser splits a name from Users.
func SessionOfUser(name string) (user, sessionID string) {
	user, sessionID, _ = strings.Cut(name, "\x00")
	return user, sessionID
}

// Ended is a sorted set of the partition: appId/sessionId/user of the ended sessions in Users, by the time (ms)
// when all their data is gone.
func (k Keys) Ended() string { return k.named("ended") }

// Idle is a sorted set of the partition: app/session by the time of their expiry.
func (k Keys) Idle() string { return k.named("idle") }

// Closed is a hash of a closed session: generation of its next life and at, the time (ms) of the close. It expires
// when all data of the earlier life is gone. During an erasure, eraser is the eraser's token, and erasing the time
// (ms) until which no script begins anything in the session (ErasingLua). user is the user of an earlier life, who
// stays (UserLua).
func (k Keys) Closed(sessionID string) string { return k.named("closed:", k.app, ":", sessionID) }

// ErasingLua defines erasing(closed): whether a session is being erased, by its Closed.
const ErasingLua = `
local function erasing(closed)
  local ends = redis.call('HGET', closed, 'erasing')
  return ends and tonumber(ends) > now()
end
`

// UserLua defines functions on the user of a session. The user is in Keys.Turns, and in Keys.Closed after an
// earlier life, so that requests for a user's data never return another user's.
//
//	userOf(turns, closed)  returns the user, false for none
//	nameUser(turns, users, session, user)  sets the session's user
//	keepUser(turns, closed, ended, session, ttl)  keeps the user of an ending session (named as in
//	    Keys.Idle) as long as its mark (ms). The session is examined a minute before that ends
const UserLua = `
local function userOf(turns, closed)
  return redis.call('HGET', turns, 'user') or redis.call('HGET', closed, 'user')
end
local function nameUser(turns, users, session, user)
  redis.call('HSET', turns, 'user', user)
  redis.call('ZADD', users, 0, user .. '\0' .. session)
end
local function keepUser(turns, closed, ended, session, ttl)
  local user = userOf(turns, closed)
  if not user then return end
  redis.call('HSET', closed, 'user', user)
  redis.call('ZADD', ended, now() + ttl - 60000, session .. '/' .. user)
end
`

// Vector is a string: a model's embedding of a tool's text, by a digest of both. It expires.
func (k Keys) Vector(digest string) string { return k.named("vector:", k.app, ":", digest) }

// Confirm is a string of the partition, written to wait for replicas. It expires.
func (k Keys) Confirm() string { return k.named("confirm") }

// Dead is a hash of the partition: appId to the number of its failed triggers, if any.
func (k Keys) Dead() string { return k.named("dead") }

// AllDue returns the Due keys of all partitions.
func AllDue() []string { return inPartitions(Keys.Due) }

// AllPendingCounts returns the PendingCount keys of all partitions.
func AllPendingCounts() []string { return inPartitions(Keys.PendingCount) }

// PartitionKeys returns the keys of a partition; keys of apps must not be used.
func PartitionKeys(n int) Keys { return Keys{tag: partition(n)} }

// AllPartitions lists the partitions by their numbers.
func AllPartitions() []int {
	all := make([]int, Partitions)
	for n := range all {
		all[n] = n
	}
	return all
}

// AllApps returns the Apps keys of all partitions.
func AllApps() []string { return inPartitions(Keys.Apps) }

func inPartitions(key func(Keys) string) []string {
	return lists.Map(AllPartitions(), func(n int) string { return key(PartitionKeys(n)) })
}

// OrNone returns the session, or NoSession if it is empty.
func OrNone(sessionID string) string {
	if sessionID == "" {
		return NoSession
	}
	return sessionID
}

// SourcedLua defines source(sourced, refreshes, app, member, mark, every). It records that the repository member in
// Sourced has its tools from a source, to be refreshed within every (ms); an empty mark removes the record. A
// refresh under way detects the change because the end of its lease has moved.
const SourcedLua = `
local function source(sourced, refreshes, app, member, mark, every)
  if mark == '' then
    redis.call('HDEL', sourced, member)
    return
  end
  redis.call('HSET', sourced, member, mark)
  local name = app .. '/' .. string.match(mark, '^%S+')
  local scheduled, due = redis.call('ZSCORE', refreshes, name), now() + every
  redis.call('ZADD', refreshes, scheduled and math.min(scheduled - 1, due) or due, name)
end
`

// SessionLua defines useSession(turns, idle, sessions, recent, app, session, ttl). It records the use of a session:
// a new session is listed in its app, and expires ttl (ms) after its last use, or at its fixed end.
//
// The fields of its hash, Keys.Turns, are since, the time (ms) of the first use; session, its settings (JSON);
// expires, its fixed end (ms); came, the letters of its messages' outcomes, the last one first (see OutcomeFired); put,
// the token of the last PUT; and copied/ with the name of each repository copied from its app.
const SessionLua = `
local function useSession(turns, idle, sessions, recent, app, session, ttl)
  local since, expires = unpack(redis.call('HMGET', turns, 'since', 'expires'))
  if not since then
    redis.call('HSET', turns, 'since', now())
    redis.call('ZADD', sessions, 0, session)
  end
  redis.call('ZADD', idle, expires or now() + ttl, app .. '/' .. session)
  redis.call('ZADD', recent, now(), session)
end
`

// The letters of messages' outcomes in Keys.Turns.
const (
	OutcomeFired     = "f"
	OutcomeRejected  = "r"
	OutcomeUnmatched = "u"
)
