// Package systemd tells systemd how the service is, where that has started it (Type=notify), and
// gives log lines the priorities that its journal asks for. Elsewhere it does nothing.
package systemd

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

const (
	// readyWithin is how long systemd is left waiting for Redis and NATS. A service that waits
	// longer for them has started all the same: it takes requests, and goes on by itself.
	readyWithin = 10 * time.Second
	// readyPause is the time between the first two questions whether it is ready. It doubles up to
	// readyPauseMost: each answer that it is not is lines of log.
	readyPause     = 100 * time.Millisecond
	readyPauseMost = 2 * time.Second
	// asks is how often the service is asked within the time of the watchdog.
	asks = 4
)

// Unit is the service as systemd sees it.
type Unit struct {
	// Alive asks the service itself for an answer, by the way of its clients; Ready asks whether
	// it can do its work.
	Alive, Ready func(context.Context) error
	Pause        func(context.Context, time.Duration) error
	Log          *slog.Logger

	started atomic.Bool
}

// Supervised reports whether systemd, or what speaks its protocol, waits to be told.
func Supervised(lookup func(variable string) (string, bool)) bool {
	socket, _ := lookup("NOTIFY_SOCKET")
	return socket != ""
}

// Run says that the service has started, and from then on that it is alive for as long as it
// answers, until ctx ends: then, that it stops. A service that hangs is killed and started again.
func (u *Unit) Run(ctx context.Context) {
	if u.awaitStart(ctx) == nil {
		u.started.Store(true)
		u.tell(daemon.SdNotifyReady)
		u.watch(ctx)
	}
	<-ctx.Done()
	u.tell(daemon.SdNotifyStopping)
}

// Reload says that settings are read anew while read does so.
func (u *Unit) Reload(read func()) {
	told := u.started.Load() // nothing is ready before it has started
	if told {
		u.tell(daemon.SdNotifyReloading + "\n" + daemon.SdNotifyMonotonicUsec())
	}
	read()
	if told {
		u.tell(daemon.SdNotifyReady)
	}
}

// awaitStart returns when the service is ready, or answers at least, or with the error of ctx.
func (u *Unit) awaitStart(ctx context.Context) error {
	patient, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for pause := readyPause; u.Ready(patient) != nil; pause = min(2*pause, readyPauseMost) {
		if u.Pause(patient, pause) != nil {
			break
		}
	}
	for u.Alive(ctx) != nil {
		if err := u.Pause(ctx, readyPause); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// watch says that the service is alive each time it has answered, where systemd watches it.
func (u *Unit) watch(ctx context.Context) {
	within, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		u.Log.Warn("systemd.watchdog", "error", err.Error())
	}
	if within <= 0 {
		return
	}
	silent := false
	for {
		asked, cancel := context.WithTimeout(ctx, within/asks)
		err := u.Alive(asked)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			u.tell(daemon.SdNotifyWatchdog)
		} else if !silent {
			u.Log.Warn("systemd.unanswered", "error", err.Error(), "killed_after", within.String())
		}
		silent = err != nil
		if u.Pause(ctx, within/asks) != nil {
			return
		}
	}
}

func (u *Unit) tell(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		u.Log.Warn("systemd.untold", "state", state, "error", err.Error())
	}
}
