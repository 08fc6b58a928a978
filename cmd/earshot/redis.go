package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories"
)

// Limits of the connections to Redis. Commands take under a millisecond; a server that
// needs seconds is as good as away, and clients are better told so.
const (
	redisDial = 2 * time.Second
	redisRead = 2 * time.Second
	redisPool = 128
)

// openRedis makes a client; it does not connect yet. Several hosts are a cluster.
func openRedis(list string) (redis.UniversalClient, error) {
	urls := strings.Split(list, ",")
	options, err := redis.ParseURL(strings.TrimSpace(urls[0]))
	if err != nil {
		return nil, errors.New("REDIS_URL (--redis-url) is no URL of Redis, as in redis://user:password@host:6379/0")
	}
	addresses := []string{options.Addr}
	for _, text := range urls[1:] {
		addresses = append(addresses, addressOf(strings.TrimSpace(text)))
	}
	return redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs: addresses, DB: options.DB, Username: options.Username, Password: options.Password, TLSConfig: options.TLSConfig,
		DialTimeout: redisDial, ReadTimeout: redisRead, WriteTimeout: redisRead, PoolSize: redisPool,
		ContextTimeoutEnabled: true, ClientName: "earshot",
	}), nil
}

// addressOf takes further hosts of a cluster as URLs or as host:port.
func addressOf(text string) string {
	if options, err := redis.ParseURL(text); err == nil {
		return options.Addr
	}
	return text
}

// quiet passes the client's own log on as debug lines: what matters of it comes back
// as errors as well.
type quiet struct{ log *slog.Logger }

// Printf implements the logger of go-redis.
func (q quiet) Printf(_ context.Context, format string, args ...any) {
	q.log.Debug("redis", "says", fmt.Sprintf(format, args...))
}

// errRefused means that Redis answers but is not one that the ledger may be kept in.
var errRefused = errors.New("this Redis cannot be used")

// partitionsKey holds the number of partitions that the data is laid out in.
const partitionsKey = "earshot:partitions"

// admit checks a Redis at start. Where its configuration may not be read, as with many
// hosted ones, it is taken on trust.
func admit(ctx context.Context, db *repositories.DB, strict bool, log *slog.Logger) error {
	if err := checkPartitions(ctx, db); err != nil {
		return err
	}
	if db.Embedded {
		return nil
	}
	return errors.Join(checkVersion(ctx, db), checkEviction(ctx, db), checkPersistence(ctx, db, strict, log))
}

func checkPartitions(ctx context.Context, db *repositories.DB) error {
	stored, err := db.SetArgs(ctx, partitionsKey, repositories.Partitions, redis.SetArgs{Mode: "NX", Get: true}).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return repositories.Unavailable(err)
	}
	if stored = cmp.Or(stored, strconv.Itoa(repositories.Partitions)); stored != strconv.Itoa(repositories.Partitions) {
		return fmt.Errorf("%w: its data is laid out in %s partitions, this version uses %d", errRefused, stored, repositories.Partitions)
	}
	return nil
}

// oldestRedis is the first version whose scripts declare what they are (#!lua).
const oldestRedis = 7

func checkVersion(ctx context.Context, db *repositories.DB) error {
	info, err := db.Info(ctx, "server").Result()
	if err != nil {
		return nil //nolint:nilerr // may not be read
	}
	_, rest, _ := strings.Cut(info, "redis_version:")
	major, _, _ := strings.Cut(rest, ".")
	if n, err := strconv.Atoi(major); err == nil && n < oldestRedis {
		return fmt.Errorf("%w: it is version %s, and %d is the oldest that can be used", errRefused, strings.Fields(rest)[0], oldestRedis)
	}
	return nil
}

func checkEviction(ctx context.Context, db *repositories.DB) error {
	policy := setting(ctx, db, "maxmemory-policy")
	if policy == "" || policy == "noeviction" {
		return nil
	}
	return fmt.Errorf("%w: its maxmemory-policy is %s, under which it drops what is owed; set it to noeviction", errRefused, policy)
}

func checkPersistence(ctx context.Context, db *repositories.DB, strict bool, log *slog.Logger) error {
	if setting(ctx, db, "appendonly") != "no" {
		return nil
	}
	const text = "it keeps no append-only file: what is accepted is lost when it restarts; set appendonly yes and appendfsync always"
	if strict {
		return fmt.Errorf("%w: %s", errRefused, text)
	}
	log.Warn("redis.volatile", "warning", text)
	return nil
}

// setting reads a setting of the server; empty where it may not be read.
func setting(ctx context.Context, db *repositories.DB, name string) string {
	found, err := db.ConfigGet(ctx, name).Result()
	if err != nil {
		return ""
	}
	return found[name]
}
