//go:build !nodev

// Package embedded runs the servers of earshot dev in its process, on loopback only: a store instead of Redis,
// and NATS with JetStream.
package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/nats-io/nats-server/v2/server"
)

// StartStore starts an in-memory Redis server on a free port, which keeps its data until stop. It ignores the
// "#!lua" line of scripts and has no persistence.
func StartStore() (url string, stop func(), err error) {
	store := miniredis.NewMiniRedis()
	if err := store.StartAddr("127.0.0.1:0"); err != nil {
		return "", nil, fmt.Errorf("start the embedded store: %w", err)
	}
	stopped, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		expireKeys(store, stopped)
	}()
	return "redis://" + store.Addr(), func() {
		close(stopped)
		<-ended
		store.Close()
	}, nil
}

// expiryInterval is how often keys expire. Each time costs a look at all of them.
const expiryInterval = 200 * time.Millisecond

// expireKeys lets keys expire by the clock. ClockTTL does so as well, but looks at all keys with each command, also of a
// script: with some thousand keys, a message then takes 20 ms.
func expireKeys(store *miniredis.Miniredis, stopped <-chan struct{}) {
	ticks := time.NewTicker(expiryInterval)
	defer ticks.Stop()
	for last := time.Now(); ; {
		select {
		case <-stopped:
			return
		case now := <-ticks.C:
			store.FastForward(now.Sub(last))
			last = now
		}
	}
}

const (
	NATSPort         = 4222             // the default port of NATS tools
	natsStartTimeout = 30 * time.Second // bounds the start, which takes some 20 ms
	// maxPayload is the largest event. A chat message has at most 1 MiB, but its event may contain it twice,
	// and escaped.
	maxPayload   = 8 << 20
	MinNATSBytes = 1 << 30 // bounds the files by default, so that a forgotten dev does not fill a disk
)

// StartNATS starts a NATS server with JetStream on the given port, or on a free one if that is taken or -1. Its
// streams may use maxBytes in total, in a temporary directory that stop removes.
func StartNATS(port int, maxBytes int64, logger *slog.Logger) (url string, stop func() error, err error) {
	dir, err := os.MkdirTemp("", "earshot-nats-")
	if err != nil {
		return "", nil, fmt.Errorf("make a directory for the embedded NATS server: %w", err)
	}
	// The port is probed first: a server that fails to listen has already locked its directory.
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		logger.Info("the port of NATS is taken, the embedded server uses another", "port", port)
	}
	if err == nil {
		err = listener.Close()
	}
	if err != nil {
		port = server.RANDOM_PORT
	}
	running, err := start(dir, port, maxBytes, logger)
	if err != nil && strings.Contains(err.Error(), syscall.EADDRINUSE.Error()) { // another process took it in the meantime
		running, err = start(dir, server.RANDOM_PORT, maxBytes, logger)
	}
	stop = func() error {
		if running != nil {
			running.Shutdown()
			running.WaitForShutdown()
		}
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove the files of the embedded NATS server: %w", err)
		}
		return nil
	}
	if err != nil {
		return "", nil, errors.Join(err, stop())
	}
	return "nats://" + running.Addr().String(), stop, nil
}

// start returns a ready server; on error it is stopped.
func start(dir string, port int, maxBytes int64, logger *slog.Logger) (*server.Server, error) {
	running, err := server.NewServer(&server.Options{
		ServerName: "earshot-dev", Host: "127.0.0.1", Port: port,
		JetStream: true, StoreDir: dir, JetStreamMaxStore: maxBytes, MaxPayload: maxPayload,
		NoSigs: true, // the program handles signals
	})
	if err == nil {
		log := newNATSLog(logger)
		running.SetLogger(log, false, false)
		running.Start()
		if err = log.fatal(); err == nil && !running.ReadyForConnections(natsStartTimeout) { // after a fatal error it would never be ready
			err = fmt.Errorf("it was not ready within %s", natsStartTimeout)
		}
		if err != nil {
			running.Shutdown()
			running.WaitForShutdown()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("start the embedded NATS server in %s: %w", dir, err)
	}
	return running, nil
}

// natsLog is a logger for the embedded NATS server. It logs notices as debug lines.
type natsLog struct {
	logger *slog.Logger

	mu    sync.Mutex
	fault error
}

func newNATSLog(logger *slog.Logger) *natsLog { return &natsLog{logger: logger.With("server", "nats")} }

// Noticef logs a notice at debug level.
func (l *natsLog) Noticef(format string, args ...any) { l.logger.Debug(fmt.Sprintf(format, args...)) }

func (l *natsLog) Warnf(format string, args ...any) { l.logger.Warn(fmt.Sprintf(format, args...)) }

func (l *natsLog) Errorf(format string, args ...any) { l.logger.Error(fmt.Sprintf(format, args...)) }

// Debugf implements server.Logger. The server does not call it.
func (l *natsLog) Debugf(format string, args ...any) { l.logger.Debug(fmt.Sprintf(format, args...)) }

// Tracef implements server.Logger. The server does not call it.
func (l *natsLog) Tracef(format string, args ...any) { l.logger.Debug(fmt.Sprintf(format, args...)) }

// Fatalf keeps why the server cannot run. The server's own logger would end the
// process, which is not its to end here.
func (l *natsLog) Fatalf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault == nil {
		l.fault = fmt.Errorf(format, args...)
	}
}

func (l *natsLog) fatal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault
}
