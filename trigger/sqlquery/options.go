package sqlquery

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"earshot/repositories"
)

// Apps finds the app that a call belongs to. Its errors wrap store.ErrNotFound
// where there is none.
type Apps interface {
	App(ctx context.Context, appID string) (*repositories.App, error)
}

// ErrRefused is wrapped by the error of a Dial that does not open a connection because
// the address is one that must not be reached. Such a call is given up.
var ErrRefused = errors.New("the address must not be reached")

// Options of a Runner. Only Apps is needed; what is zero has the default that stands
// with it.
type Options struct {
	Apps Apps
	// Dial opens the connections to databases; a plain dialer's. Addresses are IP
	// addresses with a port, as names are looked up before.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// SQLiteDir is the folder that SQLite files must be in; none, and then there are
	// no SQLite sources.
	SQLiteDir string
	// SourceLimit is how many statements may be under way on one source; 8.
	SourceLimit int
	// SlotWait is how long a call waits for one of these; 1 s.
	SlotWait time.Duration
	// Idle is how long a database stays open that nobody asks; 5 min.
	Idle time.Duration
	// Databases is how many are open at a time; 256.
	Databases int
	// Logger gets one line for every attempt, at debug level; slog.Default().
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	setDefault(&o.SourceLimit, 8)
	setDefault(&o.SlotWait, time.Second)
	setDefault(&o.Idle, 5*time.Minute)
	setDefault(&o.Databases, 256)
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

func setDefault[T comparable](value *T, fallback T) {
	var zero T
	if *value == zero {
		*value = fallback
	}
}
