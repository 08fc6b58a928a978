package httpcall

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"earshot/repositories"
)

// Apps finds the app that a call belongs to. Its errors wrap repositories.ErrNotFound
// where there is none. It is asked once for every attempt.
type Apps interface {
	App(ctx context.Context, appID string) (*repositories.App, error)
}

// Options of a Caller. Only Apps is needed; what is zero has the default that stands
// with it.
type Options struct {
	Apps Apps
	// Policy says which addresses that are not public may be called; none.
	Policy Policy
	// Resolver looks up the names of endpoints; the system's.
	Resolver *net.Resolver
	// UserAgent is "earshot". A tool's own header overrides it.
	UserAgent string
	// TokenTimeout bounds one token request; 10 s. Calls that wait for the token do
	// not wait longer than their own time.
	TokenTimeout time.Duration
	// Tokens is how many tokens are kept; 4096.
	Tokens int
	// HostLimit is how many calls of one app may be under way to one host; 8.
	HostLimit int
	// SlotWait is how long a call waits for one of these; 1 s.
	SlotWait time.Duration
	// BreakAfter is the number of failures in a row that close a host off; 10.
	BreakAfter int
	// BreakFor is how long it stays closed off before one call probes it; 30 s.
	BreakFor time.Duration
	// Now is time.Now. Time limits of requests and the pauses of closed-off hosts run
	// on the machine's clock.
	Now func() time.Time
	// Jitter spreads the pauses of deferred calls; by up to a fifth either way.
	Jitter func(time.Duration) time.Duration
	// Logger gets one line for every attempt, at debug level; slog.Default().
	Logger *slog.Logger
}

// Caller makes the calls of all apps. It is safe for concurrent use.
type Caller struct {
	apps      Apps
	client    *http.Client // its connections are used again
	fresh     *http.Client // a new connection for each call
	tokens    *tokens
	gate      *gate
	userAgent string
	now       func() time.Time
	log       *slog.Logger
}

// New returns a Caller. It panics without Apps, which is a fault of the program.
func New(options Options) *Caller {
	if options.Apps == nil {
		panic("httpcall.New: Options.Apps is missing")
	}
	o := options.withDefaults()
	shared, fresh := transport(o.Policy, o.Resolver), transport(o.Policy, o.Resolver)
	// net/http sends a request again by itself when a connection that it used before
	// breaks, which must not happen to a call that is not idempotent.
	fresh.DisableKeepAlives = true
	client := clientOver(shared)
	return &Caller{
		apps:      o.Apps,
		client:    client,
		fresh:     clientOver(fresh),
		tokens:    newTokens(client, o),
		gate:      newGate(o),
		userAgent: o.UserAgent,
		now:       o.Now,
		log:       o.Logger,
	}
}

// CloseIdleConnections closes the connections that no call uses at the moment.
func (c *Caller) CloseIdleConnections() { c.client.CloseIdleConnections() }

func (o Options) withDefaults() Options {
	o.UserAgent = or(o.UserAgent, "earshot")
	o.TokenTimeout = or(o.TokenTimeout, 10*time.Second)
	o.Tokens = or(o.Tokens, 4096)
	o.HostLimit = or(o.HostLimit, 8)
	o.SlotWait = or(o.SlotWait, time.Second)
	o.BreakAfter = or(o.BreakAfter, 10)
	o.BreakFor = or(o.BreakFor, 30*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Jitter == nil {
		o.Jitter = fifth
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

func or[T comparable](given, fallback T) T {
	var zero T
	if given == zero {
		return fallback
	}
	return given
}

// fifth returns a pause between four and six fifths of the given one.
func fifth(pause time.Duration) time.Duration {
	return time.Duration(float64(pause) * (0.8 + 0.4*rand.Float64()))
}
