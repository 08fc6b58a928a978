package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// defaultNATSPort is the port that the tools of NATS try by themselves.
	defaultNATSPort = 4222
	// natsStartLimit bounds the start; it takes some 20 ms with an empty directory,
	// longer where a week of events has to be indexed.
	natsStartLimit = 30 * time.Second
	// maxPayload is the largest event. A message of a chat has at most 1 MiB, and may
	// stand in its event more than once, and escaped.
	maxPayload = 8 << 20
	// leastStore bounds the files, so that a forgotten dev does not fill a disk, unless
	// the stream is meant to be larger.
	leastStore size = 1 << 30
)

// embeddedNATS is a NATS server with JetStream inside this process.
type embeddedNATS struct {
	server    *server.Server
	temporary string // removed at the end; empty where the caller gave a directory
}

// startNATS starts the server on the given port of loopback, or on a free one where
// that is taken. Its streams may hold so much in all.
func startNATS(dir string, port int, store size, logger *slog.Logger) (*embeddedNATS, error) {
	n := &embeddedNATS{}
	if dir == "" {
		temporary, err := os.MkdirTemp("", "earshot-nats-")
		if err != nil {
			return nil, fmt.Errorf("make a directory for the embedded NATS server: %w", err)
		}
		dir, n.temporary = temporary, temporary
	}
	err := n.start(dir, portOrFree(port, logger), store, logger)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the embedded NATS server in %s: %w", dir, err), n.Close())
	}
	return n, nil
}

// portOrFree looks whether the port is to be had before the server tries: a server
// that fails to listen has taken hold of its directory already.
func portOrFree(port int, logger *slog.Logger) int {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		logger.Info("the port of NATS is taken, the embedded server uses another", "port", port)
		return server.RANDOM_PORT
	}
	if err == nil {
		err = listener.Close()
	}
	if err != nil {
		return server.RANDOM_PORT
	}
	return port
}

func (n *embeddedNATS) start(dir string, port int, store size, logger *slog.Logger) error {
	running, err := server.NewServer(&server.Options{
		ServerName:        "earshot-dev",
		Host:              "127.0.0.1",
		Port:              port,
		JetStream:         true,
		StoreDir:          dir,
		JetStreamMaxStore: int64(store),
		MaxPayload:        maxPayload,
		NoSigs:            true, // signals are for the whole program
	})
	if err != nil {
		return err
	}
	n.server = running
	log := newNATSLog(logger)
	running.SetLogger(log, false, false)
	running.Start()
	if fault := log.fatal(); fault != nil {
		return fault // it would never be ready
	}
	if !running.ReadyForConnections(natsStartLimit) {
		return fmt.Errorf("it was not ready within %s", natsStartLimit)
	}
	return nil
}

// URL is where clients connect.
func (n *embeddedNATS) URL() string { return "nats://" + n.server.Addr().String() }

// Close stops the server and removes its temporary directory.
func (n *embeddedNATS) Close() error {
	if n.server != nil {
		n.server.Shutdown()
		n.server.WaitForShutdown()
	}
	if n.temporary == "" {
		return nil
	}
	if err := os.RemoveAll(n.temporary); err != nil {
		return fmt.Errorf("remove the files of the embedded NATS server: %w", err)
	}
	return nil
}
