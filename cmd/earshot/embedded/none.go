//go:build nodev

package embedded

// The tag nodev leaves out the servers that earshot dev brings along: packages and images are
// built with it, in which earshot serve runs on servers of its own.

import (
	"errors"
	"fmt"
	"log/slog"
)

const (
	// NATSPort is the port that the tools of NATS try by default.
	NATSPort = 4222
	// MinNATSBytes bounds the files of the server that is left out.
	MinNATSBytes = 1 << 30
)

// errNone says what is left out, and what to do.
var errNone = errors.New("it was built without (tag nodev), as packages and images are")

// Store is not part of this build.
type Store struct{}

// StartStore says that there is none.
func StartStore() (*Store, error) {
	return nil, fmt.Errorf("this earshot has no embedded store: %w; name a Redis with REDIS_URL (--redis-url), or take a release binary", errNone)
}

// URL is empty.
func (*Store) URL() string { return "" }

// Close does nothing.
func (*Store) Close() {}

// NATS is not part of this build.
type NATS struct{}

// StartNATS says that there is none.
func StartNATS(int, int64, *slog.Logger) (*NATS, error) {
	return nil, fmt.Errorf("this earshot has no embedded NATS server: %w; name one with NATS_URL (--nats-url), or take a release binary", errNone)
}

// URL is empty.
func (*NATS) URL() string { return "" }

// Close does nothing.
func (*NATS) Close() error { return nil }
