package main

import (
	"fmt"

	"github.com/alicebob/miniredis/v2"
)

// embeddedStore keeps everything in memory. It reads no "#!lua" line in scripts, and
// has no persistence: what needs either belongs to a Redis server.
type embeddedStore struct {
	server *miniredis.Miniredis
}

func startStore() (*embeddedStore, error) {
	server := miniredis.NewMiniRedis()
	// Made for tests, it lets keys expire only when it is told that time has passed.
	server.ClockTTL(true)
	if err := server.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("start the embedded store: %w", err)
	}
	return &embeddedStore{server: server}, nil
}

// URL is where clients connect.
func (s *embeddedStore) URL() string { return "redis://" + s.server.Addr() }

// Close stops the store and drops what it holds.
func (s *embeddedStore) Close() { s.server.Close() }
