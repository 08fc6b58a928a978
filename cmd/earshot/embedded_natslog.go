package main

import (
	"fmt"
	"log/slog"
	"sync"

	"github.com/nats-io/nats-server/v2/server"
)

// natsLog passes on what the embedded NATS server has to say, quieter: its notices
// are for somebody who runs that server, and are debug lines here.
type natsLog struct {
	logger *slog.Logger

	mu    sync.Mutex
	fault error
}

var _ server.Logger = (*natsLog)(nil)

func newNATSLog(logger *slog.Logger) *natsLog {
	return &natsLog{logger: logger.With("server", "nats")}
}

// Noticef logs a line of the server's normal life.
func (l *natsLog) Noticef(format string, args ...any) { l.logger.Debug(fmt.Sprintf(format, args...)) }

// Warnf logs a warning.
func (l *natsLog) Warnf(format string, args ...any) { l.logger.Warn(fmt.Sprintf(format, args...)) }

// Errorf logs an error.
func (l *natsLog) Errorf(format string, args ...any) { l.logger.Error(fmt.Sprintf(format, args...)) }

// Debugf logs a line of the server's debugging, which we leave off.
func (l *natsLog) Debugf(format string, args ...any) { l.logger.Debug(fmt.Sprintf(format, args...)) }

// Tracef logs a line of the server's tracing, which we leave off.
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

// fatal returns the first reason why the server cannot run, nil where there is none.
func (l *natsLog) fatal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault
}
