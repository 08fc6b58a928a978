package trigger

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"earshot/repositories"
	"earshot/repositories/store"
	"earshot/trigger/ledger"
)

// Ids are deterministic: a decision that is made twice, because of whatever failure, gives
// its effects the same ids both times, so that JetStream and an idempotent receiver absorb
// the second. Values never enter, since a model may find others the second time.

// firingID is the id of the n-th firing of a tool by a turn. A triggerOnce repository has
// one id per generation, whoever fires it: two racing turns make the same id.
func firingID(of ledger.Turn, life store.Generation, repository *repositories.Repository, tool string, n int) string {
	if repository.Options.TriggerOnce {
		return hash("once", repository.AppID, repository.SessionID, repository.ID, repository.Generation)
	}
	return hash("fire", turnHash(of, life), repository.ID, repository.Generation, tool, strconv.Itoa(n))
}

// directID is the id of a firing for which the client has given a triggerId. A client's id
// is unique only within its app, but the ids of effects must be unique in the stream of all
// apps.
func directID(triggerID string, repository *repositories.Repository) string {
	return hash("direct", repository.AppID, triggerID, repository.Generation)
}

// turnHash is the turn's name in ids: a function of nothing that a resend after a failover
// of Redis would change. The generations tell it from a message of the same name in an
// earlier session, or app, of the same name.
func turnHash(t ledger.Turn, life store.Generation) string {
	return hash("turn", t.App, life.App, t.Session, life.Session, t.Message)
}

// hash returns 128 bits of SHA-256 over the parts, each with its length.
func hash(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part)) // a hash.Hash never fails
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Names of the effects of a trigger, which keyspace.EffectID joins to the firing's.
const (
	partEvent   = "event"
	partEmitter = "emitter"
	partCall    = "call"
	partResult  = "result"
)
