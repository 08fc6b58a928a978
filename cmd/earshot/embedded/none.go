//go:build nodev

package embedded

// The tag nodev omits the embedded servers of earshot dev. Packages and images, which run earshot serve, are
// built with it.

import (
	"errors"
	"fmt"
	"log/slog"
)

const (
	NATSPort     = 4222    // the default port of NATS tools
	MinNATSBytes = 1 << 30 // bounds the files of the omitted server
)

// errNone is the error of both omitted servers.
var errNone = errors.New("it was built without (tag nodev), as packages and images are")

// StartStore returns an error.
func StartStore() (url string, stop func(), err error) {
	return "", nil, fmt.Errorf("this earshot has no embedded store: %w; name a Redis with REDIS_URL (--redis-url), or take a release binary", errNone)
}

// StartNATS returns an error.
func StartNATS(int, int64, *slog.Logger) (url string, stop func() error, err error) {
	return "", nil, fmt.Errorf("this earshot has no embedded NATS server: %w; name one with NATS_URL (--nats-url), or take a release binary", errNone)
}
