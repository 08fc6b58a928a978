package trigger

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
)

// Ids are deterministic: a decision that is made twice, by whatever failure, names its
// effects the same both times, so that JetStream and an idempotent receiver absorb
// the second. Values never enter, since a model may find others the second time.

// fireID names the n-th fire of a tool by a turn. A triggerOnce repository has one
// name per generation, whoever fires it: two racing turns make the same id.
func fireID(turn turnID, life store.Generation, repository *repositories.Repository, tool string, n int) string {
	if repository.Options.TriggerOnce {
		return hash("once", repository.AppID, repository.SessionID, repository.ID, repository.Generation)
	}
	return hash("fire", turn.named(life), repository.ID, repository.Generation, tool, strconv.Itoa(n))
}

// directID names the fire of a trigger whose client has named it. Such a name is
// unique in its app only, and those of effects have to be in the stream of all apps.
func directID(triggerID string, repository *repositories.Repository) string {
	return hash("direct", repository.AppID, triggerID, repository.Generation)
}

// named is the turn's name in ids: a function of nothing that a resend after a failover
// of Redis would change. The generations tell it from a message of the same name in an
// earlier session, or app, of the same name.
func (t turnID) named(life store.Generation) string {
	return hash("turn", t.app, life.App, t.session, life.Session, t.message)
}

// hash returns 128 bits of SHA-256 over the parts, each with its length.
func hash(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part)) // a hash.Hash never fails
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Names of the effects of a trigger. An effect's id is the fire's id with the name.
const (
	partEvent   = "event"
	partEmitter = "emitter"
	partCall    = "call"
	partResult  = "result"
)

func effectID(fire, part string) string { return fire + "." + part }

// turnID names the turn that a message is.
type turnID struct{ app, session, message string }

// member is the turn's name among those of its app.
func (t turnID) member() string { return t.session + "/" + t.message }

func (t turnID) keys() keyspace.Keys { return keyspace.KeysOf(t.app) }
