package redisdb

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/finding"
	"earshot/repositories/keyspace"
)

// examine looks whether the ledger may be kept in a Redis: at the server, or at every master of a
// cluster. wait is how many replicas must have what was written. Its error is that of one that
// does not answer.
func examine(ctx context.Context, db *keyspace.DB, wait int) ([]finding.Finding, error) {
	return findings(ctx, db, func(ctx context.Context, server redis.Cmdable) ([]finding.Finding, error) {
		r := &reader{server: server}
		found := []finding.Finding{r.version(ctx), r.eviction(ctx), r.persistence(ctx)}
		found = append(found, r.replication(ctx, wait)...)
		return append(found, r.unchecked()), r.err
	})
}

// findings collects what look finds at each server, those of one together.
func findings(ctx context.Context, db *keyspace.DB, look func(context.Context, redis.Cmdable) ([]finding.Finding, error)) ([]finding.Finding, error) {
	var mu sync.Mutex
	var all []finding.Finding
	_, several := db.UniversalClient.(*redis.ClusterClient)
	err := eachMaster(ctx, db, func(ctx context.Context, server redis.Cmdable) error {
		found, err := look(ctx, server)
		mu.Lock()
		defer mu.Unlock()
		for _, one := range found {
			if master, is := server.(*redis.Client); is && several {
				one.At = master.Options().Addr
			}
			all = append(all, one)
		}
		return err
	})
	slices.SortStableFunc(all, func(a, b finding.Finding) int { return strings.Compare(a.At, b.At) })
	return all, err
}

// minVersion is the first version whose scripts declare what they are (#!lua).
const minVersion = 7

func (r *reader) version(ctx context.Context) finding.Finding {
	version := line(r.info(ctx, "server"), "redis_version")
	found := finding.Finding{Check: "version", Value: version}
	if version == "" {
		r.note("its version")
	}
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err == nil && n < minVersion {
		found.Grade, found.Advice = finding.Unusable, fmt.Sprintf("it is version %s, and %d is the oldest that can be used", version, minVersion)
	}
	return found
}

func (r *reader) eviction(ctx context.Context) finding.Finding {
	policy := r.setting(ctx, "maxmemory-policy")
	found := finding.Finding{Check: "eviction", Value: policy}
	if policy != "" && policy != "noeviction" {
		found.Grade, found.Advice = finding.Unusable, fmt.Sprintf("its maxmemory-policy is %s, under which it drops what is owed; set it to noeviction", policy)
	}
	return found
}

func (r *reader) persistence(ctx context.Context) finding.Finding {
	found := finding.Finding{Check: "append-only file", Value: r.setting(ctx, "appendonly"), Event: "redis.volatile"}
	if found.Value == "no" {
		found.Grade, found.Advice = finding.Doubtful, "it keeps no append-only file: what is accepted is lost when it restarts; set appendonly yes and appendfsync always"
	}
	return found
}

// replication looks at a master that a replica may replace, under sentinels or in a
// cluster. If it is cut off from its replicas and goes on taking writes, those are lost
// when it comes back, unless min-replicas-to-write stops it.
func (r *reader) replication(ctx context.Context, wait int) []finding.Finding {
	count := line(r.info(ctx, "replication"), "connected_slaves")
	if count == "" {
		r.note("its replicas")
		return nil
	}
	replicas, _ := strconv.Atoi(count)
	enough := finding.Finding{Check: "replicas", Value: count, Event: "redis.replicas"}
	if replicas < wait {
		enough.Grade, enough.Advice = finding.Told, fmt.Sprintf("it has %d replicas, and --redis-wait asks for %d: messages are answered 503 until it has them", replicas, wait)
	}
	if replicas == 0 {
		return []finding.Finding{enough}
	}
	cutoff := finding.Finding{Check: "min-replicas-to-write", Value: r.setting(ctx, "min-replicas-to-write"), Event: "redis.cutoff"}
	if cutoff.Value == "0" {
		cutoff.Grade, cutoff.Advice = finding.Doubtful, "it goes on writing when it is cut off from its replicas, and loses that when another is made the master; set min-replicas-to-write 1 and min-replicas-max-lag 10"
	}
	return []finding.Finding{enough, cutoff}
}
