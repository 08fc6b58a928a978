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

// StartStore says that there is none.
func StartStore() (url string, stop func(), err error) {
	return "", nil, fmt.Errorf("this earshot has no embedded store: %w; name a Redis with REDIS_URL (--redis-url), or take a release binary", errNone)
}

// StartNATS says that there is none.
func StartNATS(int, int64, *slog.Logger) (url string, stop func() error, err error) {
	return "", nil, fmt.Errorf("this earshot has no embedded NATS server: %w; name one with NATS_URL (--nats-url), or take a release binary", errNone)
}
