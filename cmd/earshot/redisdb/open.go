// Package redisdb opens the Redis that the service keeps its state in: it reads
// REDIS_URL, makes the client of a server, a cluster or the master behind sentinels, and
// lets no command through before that Redis has been checked (see Admission).
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

// Limits of the connections. Commands take under a millisecond; a server that needs seconds is as
// good as away, and clients are better told so.
const (
	dialTimeout = 2 * time.Second
	// ReadTimeout is how long a command may take to be sent, and how long to be answered.
	ReadTimeout = 2 * time.Second
	poolSize    = 128
	// DefaultReplicaWait is how long replicas are waited for, where they are.
	DefaultReplicaWait = 500 * time.Millisecond
	// slotsAge bounds the age of a map of a cluster's slots: only a new one shows who replaced a dead master.
	slotsAge = 2 * time.Second
)

// Open makes the client of a URL (see ParseURL). Each of its connections by TLS reads the files
// anew. It does not connect yet.
func Open(url string, files certfiles.Files) (redis.UniversalClient, error) {
	options, err := ParseURL(url)
	if err != nil {
		return nil, err
	}
	if base := options.TLSConfig; base != nil && !files.Empty() {
		options.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) { // of sentinels and nodes as well
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
	options.DisableIdentity = true                                                // CLIENT SETINFO, which an ACL of Redis 7.0 cannot name
	if options.MasterName != "" || len(options.Addrs) == 1 {
		return redis.NewUniversalClient(options), nil
	}
	cluster := options.Cluster()
	cluster.ClusterStateReloadInterval = slotsAge
	return redis.NewClusterClient(cluster), nil
}

// CheckFiles returns all faults of the files for a URL, which was checked.
func CheckFiles(url string, files certfiles.Files, now time.Time) error {
	const service = "REDIS" // begins the names of their settings
	faults := []error{files.Check(service, now)}
	switch options, err := ParseURL(url); {
	case err != nil || files.Empty():
	case options.TLSConfig == nil:
		faults = append(faults, errors.New("REDIS_URL (--redis-url) is without TLS, and files for TLS are named (REDIS_CA_FILE, REDIS_CERT_FILE, REDIS_KEY_FILE): begin it with rediss"))
	case files.CA != "" && options.TLSConfig.InsecureSkipVerify:
		faults = append(faults, fmt.Errorf("REDIS_URL (--redis-url) has skip_verify, which trusts anybody, and %s says who is trusted: leave one of them out", certfiles.Setting(service, "ca")))
	}
	return errors.Join(faults...)
}

// Gate is a hook of a client that lets no command through before Redis has been checked. Commands
// wait for the first check, so that a replica that starts refuses nobody; if that has failed, Redis
// is as good as away until one succeeds.
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

// Open lets everything through from now on. It is called once.
func (g *Gate) Open() {
	close(g.opened)
	g.Tell()
}

// Tell ends the wait for the first check: commands go on to Redis if it has succeeded, and fail if it
// has failed or takes too long.
func (g *Gate) Tell() { g.trying.Do(func() { close(g.tried) }) }

// Fail is Tell for a check that has failed: commands fail with its error.
func (g *Gate) Fail(err error) {
	g.failed.Store(&err)
	g.Tell()
}

// Await waits until the gate is open, and returns false if ctx ends before.
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

// Logger is the logger of go-redis. It passes the client's own log on as debug lines:
// what matters of it comes back as errors as well.
type Logger struct{ Log *slog.Logger }

// Printf implements the logging of go-redis.
func (l Logger) Printf(_ context.Context, format string, args ...any) {
	l.Log.Debug("redis", "says", fmt.Sprintf(format, args...))
}
