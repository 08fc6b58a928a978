package emitter

import (
	"fmt"
	"log/slog"
	"time"
)

const (
	// DefaultMaxAge is how long the stream keeps an event: a week lets a consumer
	// that failed on a Friday evening catch up on Monday.
	DefaultMaxAge = 7 * 24 * time.Hour
	// DefaultTimeout is the time for one delivery. An acknowledgement takes under a
	// millisecond, or some 20 where the server syncs every write under load; two
	// seconds outlast the election of a new leader in a healthy cluster.
	DefaultTimeout = 2 * time.Second
	// DuplicateWindow is how long the stream remembers the ids of its messages. Five
	// tries with the ledger's longest pauses fit into it.
	DuplicateWindow = 10 * time.Minute
)

// Options of an Emitter. The zero value is good for one NATS server.
type Options struct {
	// MaxAge is how long the stream keeps events, a second or more; DefaultMaxAge where
	// it is zero. One that is less than DuplicateWindow shortens that.
	MaxAge time.Duration
	// MaxBytes bounds the stream. A full stream refuses events, and they wait in the
	// ledger. Zero leaves the bound that the stream has, none for a new one.
	MaxBytes int64
	// Replicas is how many servers of a cluster hold the stream, 1 to 5. Zero leaves
	// what the stream has, 1 for a new one.
	Replicas int
	// Timeout is the time for one delivery, and for the answer to Ready;
	// DefaultTimeout where it is zero.
	Timeout time.Duration
	// Login is what Connect shows the servers beside what stands in their URLs.
	Login Login
	// Logger is slog.Default() where it is nil.
	Logger *slog.Logger
	// Now is the clock by which denials are forgotten and outages measured; time.Now
	// where it is nil.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	if o.MaxAge == 0 {
		o.MaxAge = DefaultMaxAge
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func (o Options) check() error {
	switch {
	case o.MaxAge < time.Second:
		return fmt.Errorf("the events' MaxAge of %s is too short: at least a second", o.MaxAge)
	case o.MaxBytes < 0:
		return fmt.Errorf("the stream's MaxBytes of %d is no size: a number of bytes, or 0 for no bound", o.MaxBytes)
	case o.Replicas < 0 || o.Replicas > 5:
		return fmt.Errorf("%d replicas of the stream are not possible: 1 to 5, 3 in a cluster of three", o.Replicas)
	case o.Timeout < 0:
		return fmt.Errorf("the Timeout of %s for a delivery is no time: more than 0, 2s is usual", o.Timeout)
	}
	return nil
}
