package redisdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// ErrRefused means that Redis answers but is not one that the ledger may be kept in.
var ErrRefused = errors.New("this Redis cannot be used")

// partitionsKey holds the number of partitions that the data is laid out in.
const partitionsKey = "earshot:partitions"

// maxPause is the longest pause between two attempts to reach Redis.
const maxPause = 5 * time.Second

// Admission is the check of a Redis before the service uses it.
type Admission struct {
	URL      string
	TLS      certfiles.Files
	Strict   bool // refuse what may lose data, instead of warning of it
	Replicas int  // that must have what was written; 0 asks for none
	// Also checks what is stored there, after the rest, and brings it to the present format.
	Also func(ctx context.Context, db *keyspace.DB) error
	// Pause waits before the next attempt, or until ctx ends.
	Pause func(ctx context.Context, d time.Duration) error
	Log   *slog.Logger
}

// Open checks Redis as soon as it answers, over a connection of its own, and opens the
// gate. It returns nil if ctx ends before, and an ErrRefused if Redis must not be used.
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
		err := a.check(ctx, db)
		if err == nil {
			troubles.Over(ctx, "redis", "redis.available")
			gate.Open()
			return nil
		}
		gate.Fail(err)
		if errors.Is(err, ErrRefused) {
			return err
		}
		event, how := "redis.unavailable", howOf(err)
		if errors.Is(err, format.ErrWait) {
			event, how = "format.waiting", err.Error() // it says how far it is
		}
		troubles.Trouble(ctx, "redis", how, event, "error", err.Error())
		if a.Pause(ctx, pauses.NextBackOff()) != nil {
			return nil // the service ends
		}
	}
}

// howOf tells the ways apart in which Redis is unavailable. Texts of errors would not do: they name
// ports that are others each time, and of a cluster whichever node was first.
func howOf(err error) string {
	var refused *keyspace.Refusal
	if errors.As(err, &refused) {
		return refused.Public()
	}
	return "no answer"
}

// check looks at every master of a cluster, and says of all that it finds at once.
func (a Admission) check(ctx context.Context, db *keyspace.DB) error {
	if err := checkKind(ctx, db); err != nil {
		return err
	}
	if err := checkPartitions(ctx, db); err != nil {
		return err
	}
	found, err := examine(ctx, db, a.Replicas)
	if err != nil {
		return err
	}
	var faults []error
	for _, one := range found {
		faults = append(faults, a.judge(one))
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	return a.Also(ctx, db)
}

// judge refuses what cannot be used, and where the check is strict what is in doubt. It warns of
// the rest.
func (a Admission) judge(f finding.Finding) error {
	switch {
	case f.Grade == finding.Unusable, f.Grade == finding.Doubtful && a.Strict:
		return fmt.Errorf("%w: %s", ErrRefused, f.Text())
	case f.Grade != finding.Good:
		a.Log.Warn(f.Event, "server", cmp.Or(f.At, a.server()), "warning", f.Advice)
	}
	return nil
}

// eachMaster runs check on the server, or on all masters of a cluster at the same time.
func eachMaster(ctx context.Context, db *keyspace.DB, check func(context.Context, redis.Cmdable) error) error {
	cluster, several := db.UniversalClient.(*redis.ClusterClient)
	if !several {
		return check(ctx, db)
	}
	return cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		err := check(ctx, master)
		if err != nil {
			err = fmt.Errorf("%s: %w", master.Options().Addr, err)
		}
		return err
	})
}

// checkKind refuses a cluster that is configured as a server, and a server that is
// configured as a cluster: both would answer some commands.
func checkKind(ctx context.Context, db *keyspace.DB) error {
	info, err := db.Info(ctx, "cluster").Result()
	_, cluster := db.UniversalClient.(*redis.ClusterClient)
	switch {
	case cluster && err != nil && strings.Contains(err.Error(), "cluster support disabled"):
		return fmt.Errorf("%w: REDIS_URL (--redis-url) names several hosts, which are a cluster, but this is none; name one host, or use redis+sentinel", ErrRefused)
	case !cluster && strings.Contains(info, "cluster_enabled:1"):
		return fmt.Errorf("%w: it is a cluster; name several of its nodes in REDIS_URL (--redis-url), with commas between them", ErrRefused)
	default:
		return nil // a Redis that does not answer is found by the next check
	}
}

// Look checks, without a change to it, that what a Redis holds can be read by this program. Its
// error wraps ErrRefused where it cannot, and keyspace.ErrUnavailable without an answer.
func Look(ctx context.Context, db *keyspace.DB) error {
	if err := checkKind(ctx, db); err != nil {
		return err
	}
	stored, err := db.Get(ctx, partitionsKey).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return keyspace.Unavailable(err)
	}
	if err := comparePartitions(stored); err != nil {
		return err
	}
	if err = format.Check(ctx, db, format.Known(format.Steps())); errors.Is(err, format.ErrNewer) {
		err = fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

func checkPartitions(ctx context.Context, db *keyspace.DB) error {
	stored, err := db.Get(ctx, partitionsKey).Result() // first, as a Redis that is full refuses to set what is there
	if errors.Is(err, redis.Nil) {
		stored, err = db.SetArgs(ctx, partitionsKey, keyspace.Partitions, redis.SetArgs{Mode: "NX", Get: true}).Result()
	}
	if err != nil && !errors.Is(err, redis.Nil) {
		return keyspace.Unavailable(err)
	}
	return comparePartitions(stored)
}

// comparePartitions refuses another number of partitions than ours; none is as good.
func comparePartitions(stored string) error {
	if stored = cmp.Or(stored, strconv.Itoa(keyspace.Partitions)); stored != strconv.Itoa(keyspace.Partitions) {
		return fmt.Errorf("%w: its data is laid out in %s partitions, this version uses %d", ErrRefused, stored, keyspace.Partitions)
	}
	return nil
}

// server is where Redis is, for the log; a master behind sentinels goes by the name that they have for
// it, as it may be another server a moment later.
func (a Admission) server() string {
	options, err := ParseURL(a.URL)
	if err != nil {
		return ""
	}
	return cmp.Or(options.MasterName, options.Addrs[0])
}
