// Package keyspace is the layout of Earshot's state in Redis: the names of all keys, how
// Lua scripts run on them, and what all scripts that write the ledger share: lanes of due
// work, outboxes, and the effects in them. All keys of an app are in one hash slot. Errors
// wrap ErrUnavailable if Redis did not answer; times are in milliseconds.
package keyspace

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Partitions is the number of hash slots that apps are spread over. All keys of an
// app carry its partition's hash tag, so that every script stays within one slot of a
// Redis Cluster. The number is stored in Redis; a replica with another is refused.
const Partitions = 64

// NoSession stands for the session if there is none, in subjects and in keys.
const NoSession = "_"

// Keys builds the names of one app's keys in Redis. No other code builds names of keys.
type Keys struct {
	tag, app string
	together *strings.Builder // see ManyKeysOf
}

// KeysOf returns the keys of an app.
func KeysOf(appID string) Keys { return Keys{tag: partition(PartitionOf(appID)), app: appID} }

// manyKeys are the bytes of the names that a script takes, about.
const manyKeys = 1 << 10

// ManyKeysOf is KeysOf for who needs many names at once: they share memory. The Keys are for one goroutine, and each
// name keeps the memory of all.
func ManyKeysOf(appID string) Keys {
	k := KeysOf(appID)
	k.together = &strings.Builder{}
	return k
}

// named is the name of a key.
func (k Keys) named(parts ...string) string {
	length := len(k.tag)
	for _, part := range parts {
		length += len(part)
	}
	b := k.together
	switch {
	case b == nil:
		b = &strings.Builder{}
		b.Grow(length)
	case b.Cap()-b.Len() < length: // names that are there keep the memory that they are in
		b.Reset()
		b.Grow(max(manyKeys, length))
	}
	begins := b.Len()
	b.WriteString(k.tag)
	for _, part := range parts {
		b.WriteString(part)
	}
	return b.String()[begins:]
}

// PartitionOf returns the partition of an app, from 0.
func PartitionOf(appID string) int {
	hash := uint32(2166136261) // FNV-1a of 32 bits
	for i := range len(appID) {
		hash = (hash ^ uint32(appID[i])) * 16777619
	}
	return int(hash % Partitions)
}

// tags begin the names of all keys of a partition. PlaceOf also reads those of which there is none.
var tags = func() (all [100]string) {
	for n := range all {
		all[n] = fmt.Sprintf("earshot:{p%02d}:", n)
	}
	return all
}()

func partition(n int) string { return tags[n] }

// SecretKeyMarks is a hash: current and before, known texts that are sealed with the
// secret key and with the one before it. It belongs to no app.
const SecretKeyMarks = "earshot:secretkey"

// Format is a hash: which format everything here is in, and how far a change of it has come
// (see package format). It belongs to no app.
const Format = "earshot:format"

// App is a hash: record, rev, version, generation and limits (Settings.Rates) of the app, and
// chat, 1 where its messages are events.
func (k Keys) App() string { return k.named("app:", k.app) }

// Repos is a hash of a scope: repositoryId to the stored repository (see store/seal.go).
func (k Keys) Repos(sessionID string) string {
	if sessionID == "" {
		return k.named("repos:", k.app)
	}
	return k.named("repos:", k.app, ":", sessionID)
}

// Sourced is a hash of an app: those of its and its sessions' repositories whose tools are those
// of a source, as sessionId/repositoryId (/repositoryId of the app's own), to the source, the
// revision of the repository and a digest of its tools. One that fired or was erased since is
// taken out by the next look at the source.
func (k Keys) Sourced() string { return k.named("sourced:", k.app) }

// Refreshes is a sorted set of the partition: appId/source of the sources that repositories
// have their tools from, by the time (ms) when they are to be looked at again, or when the lease
// of who looks at them ends.
func (k Keys) Refreshes() string { return k.named("refreshes") }

// Turns is a hash of a session: everything about its messages, as field:messageId.
func (k Keys) Turns(sessionID string) string { return k.named("turns:", k.app, ":", sessionID) }

// Order is a list of a session: its messageIds in the order of their arrival.
func (k Keys) Order(sessionID string) string { return k.named("order:", k.app, ":", sessionID) }

// Draft is a hash: a message that may still change, with what it was matched to. It expires
// within a minute, whatever becomes of its session and its app.
func (k Keys) Draft(sessionID, messageID string) string {
	return k.named("draft:", k.app, ":", sessionID, ":", messageID)
}

// Drafts is a sorted set of a session: the messageIds of which there may be a Draft, by the
// time (ms) when one was last written. It expires when none of them can be left.
func (k Keys) Drafts(sessionID string) string { return k.named("drafts:", k.app, ":", sessionID) }

// Asked is a hash of a session, or of an app: triggerId to a call that lacks values, behind the
// time (ms) when it goes. It expires.
func (k Keys) Asked(sessionID string) string {
	return k.named("asked:", k.app, ":", OrNone(sessionID))
}

// Outbox is a list: the unpublished events of an outbox, by its Box, in the order of
// decision; the ids of effects, behind a batch where there is one.
func (k Keys) Outbox(box string) string { return k.named("outbox:", k.app, ":", box) }

// Effect is a hash: one effect that is owed or dead.
func (k Keys) Effect(id string) string { return k.named("effect:", k.app, ":", id) }

// Effects are the keys of an app for all effects that a firing may have.
func Effects(k Keys, firing string) []string {
	keys := make([]string, len(Parts))
	for i, part := range Parts {
		keys[i] = k.Effect(EffectID(firing, part))
	}
	return keys
}

// Parts are the names of the effects of a firing. The id of an effect is that of the firing,
// a dot and the name.
var Parts = []string{"event", "emitter", "call", "result"}

// EffectID is the id of an effect of a firing.
func EffectID(firing, part string) string { return firing + "." + part }

// RetriedResult is the id of the result of a call after the nth retry of what had failed.
func RetriedResult(firing string, n int) string {
	return EffectID(firing, "result") + "-" + strconv.Itoa(n)
}

// Webhook are the keys of a webhook of an app. The first is a hash: since, the time (ms) when it was added; url, a digest
// of where it leads; position, the place in the stream up to which it was served; hints, how often somebody said that
// there is more; token and until (ms) of its lease; streak and failing, how many deliveries have failed since the last that
// arrived, and since when (ms); disabled (ms) and reason, where Earshot has ended it; arrived, the time (ms) of the last
// delivery; the counts delivered, failed and gone; and a field for each member of the second, as WebhookDelivery of
// package ledger has it. The second is a sorted set: the places in the stream of events that did not arrive, by the time
// (ms) when they are sent again; +inf where they are not.
func Webhook(k Keys, name string) (webhook, resends string) {
	return k.named("webhook:", k.app, ":", name), k.named("resends:", k.app, ":", name)
}

// Written is a string: the write of a repository that owes the event of that id took
// place. It expires.
func (k Keys) Written(id string) string { return k.named("written:", k.app, ":", id) }

// Trigger is a hash: the record of a trigger and the states of its effects.
func (k Keys) Trigger(id string) string { return k.named("trigger:", k.app, ":", id) }

// Fence is a string, of values that fire once within some time: the generation of the app and
// the id of the trigger that was the first to have them. It expires.
func (k Keys) Fence(name string) string { return k.named("fence:", k.app, ":", name) }

// Triggers is a sorted set of triggerIds by time (µs): a session's, or all of the app.
func (k Keys) Triggers(sessionID string) string {
	if sessionID == "" {
		return k.named("triggers:", k.app)
	}
	return k.named("triggers:", k.app, ":", sessionID)
}

// States of triggers that are listed apart.
const (
	Pending = "pending" // something is owed
	Failed  = "failed"  // an effect was given up
)

// InState is a sorted set of the triggerIds that are pending or failed, by the time (µs) as
// in Triggers.
func (k Keys) InState(state string) string { return k.named(state, ":", k.app) }

// Over is a sorted set of the partition: appId/triggerId of those triggers that owe
// nothing, by the time (ms) when their records go.
func (k Keys) Over() string { return k.named("over") }

// ExplainedParts is a hash of an app: what many explanations of messages share, by the hash
// of its content.
func (k Keys) ExplainedParts() string { return k.named("explained:", k.app) }

// Explained is a sorted set of the partition: appId/sessionId/messageId of what explains a
// message, and appId//name of an ExplainedParts, by the time (ms) when it goes.
func (k Keys) Explained() string { return k.named("explained") }

// AppKeys is a hash of an app: keyId to the stored key.
func (k Keys) AppKeys() string { return k.named("keys:", k.app) }

// Lineage is a string, of access tokens that were renewed one into the other: the time (ms)
// when the newest ends. It expires.
func (k Keys) Lineage(id string) string { return k.named("lineage:", k.app, ":", id) }

// KeyUses is a hash of an app: keyId to the time (ms) of its last use.
func (k Keys) KeyUses() string { return k.named("keyuses:", k.app) }

// Audit is a stream of an app: entries of who did what to it (see package audit). It expires.
func Audit(k Keys) string { return k.named("audit:", k.app) }

// Tests is a hash of an app: the name of a test to the stored test.
func Tests(k Keys) string { return k.named("tests:", k.app) }

// Versions is a hash of a repository of an app: a number to its stored form, empty where the write removed it, and
// by:number to who wrote that version (JSON); first and last, the numbers that are kept; bytes, what they take. It
// expires once the repository is gone.
func Versions(k Keys, repositoryID string) string {
	return k.named("versions:", k.app, ":", repositoryID)
}

// Versioned is a sorted set of an app: the repositories that have Versions, by the time (ms) when these expire; +inf
// where they do not.
func Versioned(k Keys) string { return k.named("versioned:", k.app) }

// Compared is a list: when (ms) a key, by its id, has compared credentials in the last
// minute, the latest first. The admin, who has no id, has one as well. It expires.
func (k Keys) Compared(keyID string) string { return k.named("compared:", k.app, ":", OrNone(keyID)) }

// Uses is a hash of an app: how often its tools were set off in an hour (since 1970), or
// called for in vain. It expires.
func (k Keys) Uses(hour int64) string { return fmt.Sprintf("%suses:%s:%d", k.tag, k.app, hour) }

// AllUses are the Uses of an app of the hours of which any may be there.
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

// Usage is a hash of an app: what it has used in a minute, an hour or a day (since 1970), see package usage. It expires.
func Usage(k Keys, step string, number int64) string {
	mark := map[string]string{UsageMinute: "m", UsageHour: "h"}[step]
	return fmt.Sprintf("%susage:%s:%s%d", k.tag, k.app, mark, number)
}

// AllUsage are the Usage of an app of which any may be there.
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

// Rates is a hash that counts what was posted in the minute: a session's, or all of the
// app. It expires.
func (k Keys) Rates(sessionID string) string {
	if sessionID == "" {
		return k.named("rates:", k.app)
	}
	return k.named("rates:", k.app, ":", sessionID)
}

// Apps is a sorted set of the partition: its appIds, in the order of their names.
func (k Keys) Apps() string { return k.named("apps") }

// Sessions is a sorted set of an app: its sessions, in the order of their names.
func (k Keys) Sessions() string { return k.named("sessions:", k.app) }

// Recent is a sorted set of an app: its sessions, by the time (ms) when each was used last.
func Recent(k Keys) string { return k.named("recent:", k.app) }

// Users is a sorted set of an app: its sessions that have a user, in the order of their names, as OfUser names them.
// A session that has ended stays there until nothing of it can be left.
func (k Keys) Users() string { return k.named("users:", k.app) }

// OfUser is the name of a session in Users. No user and no session has the byte between the two.
func OfUser(user, sessionID string) string { return user + "\x00" + sessionID }

// SessionOfUser is the session of a name in Users, and its user.
func SessionOfUser(name string) (user, sessionID string) {
	user, sessionID, _ = strings.Cut(name, "\x00")
	return user, sessionID
}

// Ended is a sorted set of the partition: appId/sessionId/user of the sessions in Users that have ended, by the time
// (ms) when nothing of them can be left.
func (k Keys) Ended() string { return k.named("ended") }

// Idle is a sorted set of the partition: app/session by the time of their expiry.
func (k Keys) Idle() string { return k.named("idle") }

// Closed is a hash, of a session that was closed: the generation of its next life and at, the
// time (ms) when it was. It expires when nothing of the earlier life is left. While the session
// is erased it has eraser, the token of who does, and erasing, the time (ms) until which it
// holds: no script that begins something in the session does so before that (ErasingLua). A user of
// an earlier life is that of later ones (UserLua).
func (k Keys) Closed(sessionID string) string { return k.named("closed:", k.app, ":", sessionID) }

// ErasingLua defines erasing(closed), whether a session is being erased now, by its Closed.
const ErasingLua = `
local function erasing(closed)
  local ends = redis.call('HGET', closed, 'erasing')
  return ends and tonumber(ends) > now()
end
`

// UserLua is about the user of a session. It stands as user in its hash, which is Keys.Turns, and in Keys.Closed where
// an earlier life had it: whoever asks for what is kept of a user is given no other's.
//
//	userOf(turns, closed)  is the user, false for none
//	nameUser(turns, users, session, user)  gives the session its user
//	keepUser(turns, closed, ended, session, remembered)  keeps the user of a session that ends, named as in
//	    Keys.Idle, for as long as its mark is there (ms). The session is looked at a minute before that goes
const UserLua = `
local function userOf(turns, closed)
  return redis.call('HGET', turns, 'user') or redis.call('HGET', closed, 'user')
end
local function nameUser(turns, users, session, user)
  redis.call('HSET', turns, 'user', user)
  redis.call('ZADD', users, 0, user .. '\0' .. session)
end
local function keepUser(turns, closed, ended, session, remembered)
  local user = userOf(turns, closed)
  if not user then return end
  redis.call('HSET', closed, 'user', user)
  redis.call('ZADD', ended, now() + remembered - 60000, session .. '/' .. user)
end
`

// Vector is a string: what a model makes of a text of a tool, by a digest of both. It expires.
func (k Keys) Vector(digest string) string { return k.named("vector:", k.app, ":", digest) }

// Confirm is a string of the partition, written to learn that replicas have what was
// written before. It expires.
func (k Keys) Confirm() string { return k.named("confirm") }

// Dead is a hash of the partition: how many triggers of an app are listed as failed, by
// its appId; apps without any are not in it.
func (k Keys) Dead() string { return k.named("dead") }

// AllDue names the sorted sets of lanes of all partitions.
func AllDue() []string { return every(Keys.Due) }

// AllOwed names the counters of what is owed of all partitions.
func AllOwed() []string { return every(Keys.Owed) }

// PartitionKeys returns keys of which only those of the partition as a whole can be
// used.
func PartitionKeys(n int) Keys { return Keys{tag: partition(n)} }

// AllApps names the sets of apps of all partitions.
func AllApps() []string { return every(Keys.Apps) }

func every(key func(Keys) string) []string {
	names := make([]string, Partitions)
	for n := range names {
		names[n] = key(PartitionKeys(n))
	}
	return names
}

// OrNone is the session, or NoSession if there is none.
func OrNone(sessionID string) string {
	if sessionID == "" {
		return NoSession
	}
	return sessionID
}

// SourcedLua defines source(sourced, refreshes, app, member, mark, every), which notes that the
// repository with the name member in Sourced has its tools from a source, which is to be looked
// at within every (ms). An empty mark says that it has not. Whoever looks at the source just now
// finds that something changed meanwhile, as the end of his lease has moved.
const SourcedLua = `
local function source(sourced, refreshes, app, member, mark, every)
  if mark == '' then
    redis.call('HDEL', sourced, member)
    return
  end
  redis.call('HSET', sourced, member, mark)
  local name = app .. '/' .. string.match(mark, '^%S+')
  local due, at = redis.call('ZSCORE', refreshes, name), now() + every
  redis.call('ZADD', refreshes, due and math.min(due - 1, at) or at, name)
end
`

// SessionLua defines useSession(turns, idle, sessions, recent, app, session, ttl), which notes that
// a session is used: one that is new is among those of its app from then on, and ends ttl (ms)
// after it was used last, or when it was told to.
//
// The fields of its hash, which is Keys.Turns, are since, when (ms) it was used first;
// session, what was put of it (JSON); expires, when (ms) it is to end, where that was put;
// came, the letters of what its messages came to, the last one first (see CameTo);
// put, the token of who has put it last; and copied/ with the name of a repository that it got
// from its app.
const SessionLua = `
local function useSession(turns, idle, sessions, recent, app, session, ttl)
  local had = redis.call('HMGET', turns, 'since', 'expires')
  if not had[1] then
    redis.call('HSET', turns, 'since', now())
    redis.call('ZADD', sessions, 0, session)
  end
  redis.call('ZADD', idle, had[2] or now() + ttl, app .. '/' .. session)
  redis.call('ZADD', recent, now(), session)
end
`

// CameTo are what a message came to, each as a letter.
const (
	CameFired     = "f"
	CameRejected  = "r"
	CameUnmatched = "u"
)
