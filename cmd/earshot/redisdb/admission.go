package redisdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"earshot/repositories/certfiles"
	"earshot/repositories/finding"
	"earshot/repositories/format"
	"earshot/repositories/keyspace"
	"earshot/repositories/outages"

	"github.com/cenkalti/backoff/v5"
	"github.com/redis/go-redis/v9"
)

// ErrRefused means that Redis answers but cannot hold the ledger.
var ErrRefused = errors.New("this Redis cannot be used")

const partitionsKey = "earshot:partitions"

const maxPause = 5 * time.Second

// Admission checks Redis before the service uses it.
type Admission struct {
	URL      string
	TLS      certfiles.Files
	Strict   bool // refuse a Redis that may lose data, instead of a warning
	Replicas int  // that must acknowledge writes; 0 for none
	// Also checks and upgrades the stored data after the other checks.
	Also  func(ctx context.Context, db *keyspace.DB) error
	Pause func(ctx context.Context, d time.Duration) error // waits before the next attempt, or until ctx ends
	Log   *slog.Logger
}

// Open checks Redis over its own connection as soon as it answers, and opens the gate. It returns nil if ctx
// ends before, and an ErrRefused if Redis must not be used.
func (a Admission) Open(ctx context.Context, gate *Gate) error {
	client, err := Open(a.URL, a.TLS)
	if err != nil {
		return err
	}
	defer client.Close()
	db := &keyspace.DB{UniversalClient: client}
	pauses := backoff.NewExponentialBackOff()
	pauses.MaxInterval = maxPause
	troubles := outages.New(a.Log)
	for {
		err := a.check(ctx, db, troubles)
		if err == nil {
			troubles.Over(ctx, "redis", "redis.available")
			gate.Open()
			return nil
		}
		gate.Fail(err)
		if errors.Is(err, ErrRefused) {
			return err
		}
		// Error texts do not identify an outage: they name varying ports and nodes.
		event, how := "redis.unavailable", "no answer"
		if refusal, is := errors.AsType[*keyspace.Refusal](err); is {
			how = refusal.Public()
		}
		switch {
		case errors.Is(err, format.ErrWait):
			event, how = "format.waiting", err.Error() // it says how far it is
		case errors.Is(err, format.ErrStep):
			event, how = "format.failed", err.Error()
		}
		troubles.Trouble(ctx, "redis", how, event, "error", err.Error())
		if a.Pause(ctx, pauses.NextBackOff()) != nil {
			return nil // the service ends
		}
	}
}

// check checks every master of a cluster, and returns all faults at once. It warns once, however often it checks.
func (a Admission) check(ctx context.Context, db *keyspace.DB, warned *outages.Log) error {
	if err := checkKind(ctx, db); err != nil {
		return err
	}
	stored, err := db.Get(ctx, partitionsKey).Result() // before SET, which a full Redis refuses even for an existing key
	if errors.Is(err, redis.Nil) {
		stored, err = db.SetArgs(ctx, partitionsKey, keyspace.Partitions, redis.SetArgs{Mode: "NX", Get: true}).Result()
	}
	if err := comparePartitions(stored, err); err != nil {
		return err
	}
	found, err := examine(ctx, db, a.Replicas)
	if err != nil {
		return err
	}
	options, err := ParseURL(a.URL)
	if err != nil {
		return err
	}
	// A master behind sentinels is named, as its address may change.
	server := cmp.Or(options.MasterName, options.Addrs[0])
	var faults []error
	for _, f := range found {
		switch {
		case f.Grade == finding.Unusable, f.Grade == finding.Doubtful && a.Strict:
			faults = append(faults, fmt.Errorf("%w: %s", ErrRefused, f.Text()))
		case f.Grade != finding.Good:
			at := cmp.Or(f.At, server)
			warned.Trouble(ctx, f.Event+" "+at, f.Advice, f.Event, "server", at, "warning", f.Advice)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	return a.Also(ctx, db)
}

// checkKind refuses a cluster configured as a server, and the reverse.
func checkKind(ctx context.Context, db *keyspace.DB) error {
	info, err := db.Info(ctx, "cluster").Result()
	_, cluster := db.UniversalClient.(*redis.ClusterClient)
	switch {
	case cluster && err != nil && strings.Contains(err.Error(), "cluster support disabled"):
		return fmt.Errorf("%w: REDIS_URL (--redis-url) names several hosts, as of a Redis Cluster, but the server is not in cluster mode; name one host, or use redis+sentinel", ErrRefused)
	case !cluster && strings.Contains(info, "cluster_enabled:1"):
		return fmt.Errorf("%w: it is a Redis Cluster; name several of its nodes in REDIS_URL (--redis-url), separated by commas", ErrRefused)
	default:
		return nil // the next check reports a missing answer
	}
}

// Look checks without changes that this program can read the data in Redis. It fails with ErrRefused if not,
// and with keyspace.ErrUnavailable without an answer.
func Look(ctx context.Context, db *keyspace.DB) error {
	if err := checkKind(ctx, db); err != nil {
		return err
	}
	if err := comparePartitions(db.Get(ctx, partitionsKey).Result()); err != nil {
		return err
	}
	err := format.Check(ctx, db, format.Known(format.Steps()))
	if errors.Is(err, format.ErrNewer) {
		err = fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// comparePartitions refuses a different number of partitions; a missing number is accepted.
func comparePartitions(stored string, err error) error {
	if err != nil && !errors.Is(err, redis.Nil) {
		return keyspace.Unavailable(err)
	}
	if stored = cmp.Or(stored, strconv.Itoa(keyspace.Partitions)); stored != strconv.Itoa(keyspace.Partitions) {
		return fmt.Errorf("%w: its data is laid out in %s partitions, this version uses %d", ErrRefused, stored, keyspace.Partitions)
	}
	return nil
}

// minVersion is the first version with script flags (#!lua).
const minVersion = 7

// examine checks whether Redis can hold the ledger. wait is how many replicas must acknowledge writes. It fails
// only if a server does not answer.
func examine(ctx context.Context, db *keyspace.DB, wait int) ([]finding.Finding, error) {
	return findings(ctx, db, func(ctx context.Context, server redis.Cmdable) ([]finding.Finding, error) {
		r := &reader{server: server}
		version := finding.Finding{Check: "version", Value: field(r.info(ctx, "server"), "redis_version")}
		if version.Value == "" {
			r.unread = append(r.unread, "its version")
		}
		major, _, _ := strings.Cut(version.Value, ".")
		if n, err := strconv.Atoi(major); err == nil && n < minVersion {
			version.Grade, version.Advice = finding.Unusable, fmt.Sprintf("it is version %s, and %d is the oldest that can be used", version.Value, minVersion)
		}

		eviction := finding.Finding{Check: "eviction", Value: r.setting(ctx, "maxmemory-policy")}
		if eviction.Value != "" && eviction.Value != "noeviction" {
			eviction.Grade = finding.Unusable
			eviction.Advice = fmt.Sprintf("its maxmemory-policy is %s, under which it drops what is pending; set it to noeviction", eviction.Value)
		}

		file := finding.Finding{Check: "append-only file", Value: r.setting(ctx, "appendonly"), Event: "redis.volatile"}
		if file.Value == "no" {
			file.Grade = finding.Doubtful
			file.Advice = "Redis has no append-only file: accepted messages are lost when it restarts; set appendonly yes and appendfsync always"
		}

		found := append([]finding.Finding{version, eviction, file}, r.replication(ctx, wait)...)
		settings := finding.Finding{Check: "settings", Event: "redis.unchecked", Value: "all can be read"}
		if unread := strings.Join(r.unread, ", "); unread != "" {
			settings.Grade, settings.Value = finding.Doubtful, unread+" cannot be read"
			settings.Advice = fmt.Sprintf("it does not let its user read %s, so nothing is known of it; allow CONFIG GET and INFO (+config|get +info), as deploy/package/redis-acl.conf does, or ask who runs it", unread)
		}
		// One that was not read is not good: settings names it.
		found = slices.DeleteFunc(found, func(f finding.Finding) bool { return f.Value == "" })
		return append(found, settings), r.err
	})
}

// replication checks a master that a replica may replace. If the master is cut off from its replicas but
// accepts writes, these are lost when it returns, unless min-replicas-to-write prevents them.
func (r *reader) replication(ctx context.Context, wait int) []finding.Finding {
	count := field(r.info(ctx, "replication"), "connected_slaves")
	if count == "" {
		r.unread = append(r.unread, "its replicas")
		return nil
	}
	replicas, _ := strconv.Atoi(count)
	enough := finding.Finding{Check: "replicas", Value: count, Event: "redis.replicas"}
	if replicas < wait {
		enough.Grade, enough.Advice = finding.Notable, fmt.Sprintf("it has %d replicas, and --redis-wait asks for %d: messages are answered 503 until it has them", replicas, wait)
	}
	if replicas == 0 {
		return []finding.Finding{enough}
	}
	cutoff := finding.Finding{Check: "min-replicas-to-write", Value: r.setting(ctx, "min-replicas-to-write"), Event: "redis.cutoff"}
	if cutoff.Value == "0" {
		cutoff.Grade = finding.Doubtful
		cutoff.Advice = "it continues to write when it is cut off from its replicas, and loses that when another becomes the master; set min-replicas-to-write 1 and min-replicas-max-lag 10"
	}
	return []finding.Finding{enough, cutoff}
}
