package keyspace

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Kind is the part of a key's name that tells its purpose. The method of Keys that builds the name documents its
// content.
type Kind string

// The kinds of keys. Some belong to an app, some with a further name to a session; those of a partition have no
// app.
const (
	KindApp       Kind = "app"
	KindRepos     Kind = "repos"
	KindSourced   Kind = "sourced"
	KindRefreshes Kind = "refreshes"
	KindTurns     Kind = "turns" // a lane of the app; with a name, the hash of that session
	KindOrder     Kind = "order"
	KindDraft     Kind = "draft"
	KindDrafts    Kind = "drafts"
	KindAsked     Kind = "asked"
	KindOutbox    Kind = "outbox"
	KindEffect    Kind = "effect"
	KindWritten   Kind = "written"
	KindTrigger   Kind = "trigger"
	KindFence     Kind = "fence"
	KindTriggers  Kind = "triggers"
	KindPending   Kind = Pending
	KindFailed    Kind = Failed
	KindOver      Kind = "over"
	KindExplained Kind = "explained" // a sorted set of the partition; with an app, the hash of its parts
	KindAppKeys   Kind = "keys"
	KindLineage   Kind = "lineage"
	KindKeyUses   Kind = "keyuses"
	KindKeyEnds   Kind = "keyends"
	KindAudit     Kind = "audit"
	KindTests     Kind = "tests"
	KindVersions  Kind = "versions"
	KindVersioned Kind = "versioned"
	KindCompared  Kind = "compared"
	KindUses      Kind = "uses"
	KindUsage     Kind = "usage"
	KindRates     Kind = "rates"
	KindApps      Kind = "apps"
	KindSessions  Kind = "sessions"
	KindRecent    Kind = "recent"
	KindUsers     Kind = "users"
	KindEnded     Kind = "ended"
	KindIdle      Kind = "idle"
	KindClosed    Kind = "closed"
	KindVector    Kind = "vector"
	KindConfirm   Kind = "confirm"
	KindDead      Kind = "dead"
	KindDue       Kind = "due"
	KindCalls     Kind = Kind(LaneCalls)
	KindOutboxes  Kind = Kind(LaneOutboxes)
	KindHeld      Kind = Kind(LaneHeld)
	KindWebhooks  Kind = Kind(LaneWebhooks)
	KindWebhook   Kind = "webhook"
	KindResends   Kind = "resends"
	KindHolders   Kind = "holders"
	KindOwed      Kind = "owed"
)

// KeyName is the parsed name of a key.
type KeyName struct {
	Partition int
	Kind      Kind
	App       string // empty for a key of the partition
	Name      string // the part after the app: a session, an id, an outbox; may be empty
}

// Key returns the name that ParseKey parsed.
func (p KeyName) Key() string {
	key := partition(p.Partition) + string(p.Kind)
	for _, part := range []string{p.App, p.Name} {
		if part != "" {
			key += ":" + part
		}
	}
	return key
}

// tagPrefix begins the name of each key of a partition; tagLength is the length of the whole tag in bytes.
const tagPrefix = "earshot:{p"

var tagLength = len(partition(0))

// ParseKey parses the name of a key; false for a key outside the partitions.
func ParseKey(key string) (KeyName, bool) {
	if len(key) < tagLength || !strings.HasPrefix(key, tagPrefix) {
		return KeyName{}, false
	}
	n, err := strconv.Atoi(key[len(tagPrefix) : tagLength-2])
	if err != nil || n < 0 || n >= len(tags) || key[:tagLength] != partition(n) {
		return KeyName{}, false
	}
	kind, rest, _ := strings.Cut(key[tagLength:], ":")
	app, name, _ := strings.Cut(rest, ":")
	return KeyName{Partition: n, Kind: Kind(kind), App: app, Name: name}, true
}

const scanCount = 1000

// EachKey passes the names of all keys of partitions to visit, in batches, from each master of a cluster. A key that
// exists throughout is passed at least once; one that is created or removed meanwhile may be missed. The error
// wraps that of visit, or ErrUnavailable.
func (db *DB) EachKey(ctx context.Context, visit func(keys []string) error) error {
	cluster, ok := db.UniversalClient.(*redis.ClusterClient)
	if !ok {
		return scan(ctx, db, visit)
	}
	var mutex sync.Mutex // masters are scanned concurrently
	return Unavailable(cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		mutex.Lock()
		defer mutex.Unlock()
		return scan(ctx, master, visit)
	}))
}

func scan(ctx context.Context, server redis.Cmdable, visit func(keys []string) error) error {
	for cursor := uint64(0); ; {
		keys, next, err := server.Scan(ctx, cursor, tagPrefix+"*", scanCount).Result()
		if err != nil {
			return Unavailable(err)
		}
		if err := visit(keys); err != nil {
			return err
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}
