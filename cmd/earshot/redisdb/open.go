// Package redisdb opens the Redis with the service's state. It parses REDIS_URL, creates the client of a
// server, a cluster or a master behind sentinels, and blocks commands until that Redis is checked (see
// Admission).
package redisdb

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/certfiles"
	"earshot/repositories/format"
)

// Limits of connections. Commands take under a millisecond; a server that needs seconds counts as unavailable.
const (
	dialTimeout        = 2 * time.Second
	ReadTimeout        = 2 * time.Second // bounds the sending of a command, and its answer
	poolSize           = 128
	DefaultReplicaWait = 500 * time.Millisecond // how long to wait for replicas by default
	slotsAge           = 2 * time.Second        // bounds the age of a cluster's slot map, which shows replaced masters
)

// Open returns the client for a URL (see ParseURL) without connecting. Each TLS connection reads the files
// again.
func Open(url string, files certfiles.Files) (redis.UniversalClient, error) {
	options, err := ParseURL(url)
	if err != nil {
		return nil, err
	}
	if base := options.TLSConfig; base != nil && !files.Empty() {
		options.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) { // also for sentinels and nodes
			config, err := files.Config(base)
			if err != nil {
				return nil, err
			}
			ctx, cancel := context.WithTimeout(ctx, dialTimeout)
			defer cancel()
			return (&tls.Dialer{Config: config}).DialContext(ctx, network, address)
		}
	}
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = dialTimeout, ReadTimeout, ReadTimeout
	options.PoolSize, options.ContextTimeoutEnabled = poolSize, true
	options.ClientName = fmt.Sprintf("earshot-f%d", format.Known(format.Steps())) // see Older
	options.DisableIdentity = true                                                // CLIENT SETINFO, which ACLs of Redis 7.0 cannot name
	if options.MasterName != "" || len(options.Addrs) == 1 {
		return redis.NewUniversalClient(options), nil
	}
	cluster := options.Cluster()
	cluster.ClusterStateReloadInterval = slotsAge
	return redis.NewClusterClient(cluster), nil
}

// CheckFiles returns all faults of the TLS files for a valid URL.
func CheckFiles(url string, files certfiles.Files, now time.Time) error {
	const service = "REDIS" // begins the names of their settings
	faults := []error{files.Check(service, now)}
	switch options, err := ParseURL(url); {
	case err != nil || files.Empty():
	case options.TLSConfig == nil:
		faults = append(faults, errors.New("REDIS_URL (--redis-url) is without TLS, but REDIS_CA_FILE, REDIS_CERT_FILE or REDIS_KEY_FILE is set: begin the URL with rediss://"))
	case files.CA != "" && options.TLSConfig.InsecureSkipVerify:
		faults = append(faults, fmt.Errorf("REDIS_URL (--redis-url) has skip_verify, which trusts any certificate, and %s names the trusted authorities: leave one of them out", certfiles.Setting(service, "ca")))
	}
	return errors.Join(faults...)
}

// Gate is a client hook that blocks commands until Redis is checked. Commands wait for the first check, so that
// a starting replica refuses no request. If that fails, commands fail until a check succeeds.
type Gate struct {
	opened, tried chan struct{}
	trying        sync.Once
	failed        atomic.Pointer[error] // of the last attempt
}

// NewGate returns a closed gate for all commands of a client.
func NewGate(client redis.UniversalClient) *Gate {
	g := &Gate{opened: make(chan struct{}), tried: make(chan struct{})}
	client.AddHook(g)
	if cluster, is := client.(*redis.ClusterClient); is {
		cluster.OnNewNode(func(node *redis.Client) { node.AddHook(g) })
	}
	return g
}

// Open admits all commands from now on. Call it once.
func (g *Gate) Open() {
	close(g.opened)
	g.Tell()
}

// Tell ends the wait for the first check: commands proceed if it has succeeded, and fail if it has failed or
// takes too long.
func (g *Gate) Tell() { g.trying.Do(func() { close(g.tried) }) }

// Fail records a failed check: commands fail with its error.
func (g *Gate) Fail(err error) {
	g.failed.Store(&err)
	g.Tell()
}

// Await waits until the gate is open; false if ctx ends before.
func (g *Gate) Await(ctx context.Context) bool {
	select {
	case <-g.opened:
		return true
	case <-ctx.Done():
		return false
	}
}

func (g *Gate) check(ctx context.Context) error {
	select {
	case <-g.tried:
	case <-ctx.Done():
	}
	select {
	case <-g.opened:
		return nil
	default:
	}
	if why := g.failed.Load(); why != nil {
		return fmt.Errorf("%w: %w", errUnchecked, *why)
	}
	return errUnchecked
}

var errUnchecked = errors.New("redis is not checked yet")

// DialHook implements redis.Hook.
func (g *Gate) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (g *Gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := g.check(ctx); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (g *Gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := g.check(ctx)
		if err == nil {
			return next(ctx, cmds)
		}
		for _, cmd := range cmds {
			cmd.SetErr(err)
		}
		return err
	}
}

// Logger passes the log of go-redis on as debug lines: its problems also appear as errors.
type Logger struct{ Log *slog.Logger }

// Printf implements the logger of go-redis.
func (l Logger) Printf(_ context.Context, format string, args ...any) {
	l.Log.Debug("redis", "says", fmt.Sprintf(format, args...))
}
