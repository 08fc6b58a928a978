package main

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

const (
	// readyWithin is how long systemd waits for Redis and NATS. Afterwards the service counts as started: it
	// accepts requests and reconnects by itself.
	readyWithin = 10 * time.Second
	// The pause between readiness checks doubles, as each failure logs lines.
	firstUnitPause, longestUnitPause = 100 * time.Millisecond, 2 * time.Second
	watchdogAsks                     = 4 // how often the service is checked within the watchdog's time
)

type systemdUnit struct {
	alive, ready func(context.Context) error // ask the service over its listener, as clients do
	pause        func(context.Context, time.Duration) error
	log          *slog.Logger

	started atomic.Bool
	stopped chan struct{} // closed once systemd was notified of stopping
}

// supervised notifies systemd until ctx ends; it returns nil without systemd.
func (s *service) supervised(ctx context.Context) *systemdUnit {
	if socket, _ := s.env.lookup("NOTIFY_SOCKET"); socket == "" {
		return nil
	}
	ask := func(path string) func(context.Context) error {
		return func(ctx context.Context) error {
			itself, err := thisMachine(s.listener.Addr().String(), s.config.TLSCert != "")
			if err == nil {
				_, err = itself.Call(ctx, http.MethodGet, path, nil)
			}
			return err
		}
	}
	u := &systemdUnit{alive: ask("/healthz"), ready: ask("/readyz"), pause: s.env.pause, log: s.log, stopped: make(chan struct{})}
	go func() {
		defer close(u.stopped)
		u.run(ctx)
	}()
	return u
}

// wait returns once systemd was notified of stopping. u may be nil.
func (u *systemdUnit) wait() {
	if u != nil {
		<-u.stopped
	}
}

// run notifies systemd of the start, then of liveness while the service answers, and of stopping when ctx ends.
// systemd restarts a service that hangs.
func (u *systemdUnit) run(ctx context.Context) {
	patient, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for wait := firstUnitPause; u.ready(patient) != nil; wait = min(2*wait, longestUnitPause) {
		if u.pause(patient, wait) != nil {
			break
		}
	}
	for ctx.Err() == nil && u.alive(ctx) != nil {
		_ = u.pause(ctx, firstUnitPause) // or until ctx ends
	}
	if ctx.Err() == nil {
		u.started.Store(true)
		u.notify(daemon.SdNotifyReady)
		u.watch(ctx)
	}
	<-ctx.Done()
	u.notify(daemon.SdNotifyStopping)
}

func (u *systemdUnit) watch(ctx context.Context) {
	within, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		u.log.Warn("systemd.watchdog", "error", err.Error())
	}
	if within <= 0 {
		return
	}
	silent := false
	for {
		asked, cancel := context.WithTimeout(ctx, within/watchdogAsks)
		err := u.alive(asked)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			u.notify(daemon.SdNotifyWatchdog)
		} else if !silent {
			u.log.Warn("systemd.unanswered", "error", err.Error(), "killed_after", within.String())
		}
		silent = err != nil
		if u.pause(ctx, within/watchdogAsks) != nil {
			return
		}
	}
}

func (u *systemdUnit) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		u.log.Warn("systemd.untold", "state", state, "error", err.Error())
	}
}

// reload runs read between the notifications of a reload. u may be nil.
func (u *systemdUnit) reload(read func()) {
	notify := u != nil && u.started.Load() // not before the service has started
	if notify {
		u.notify(daemon.SdNotifyReloading + "\n" + daemon.SdNotifyMonotonicUsec())
	}
	read()
	if notify {
		u.notify(daemon.SdNotifyReady)
	}
}

// takeHangups reloads the certificate on each SIGHUP until stop is called. SIGHUP never ends the service.
func (s *service) takeHangups(u *systemdUnit) (stop func()) {
	if s.env.hangups == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	came, forget := s.env.hangups()
	go func() {
		for {
			select {
			case <-came:
				u.reload(func() {
					s.log.Info("service.reload", "certificate", s.certificate != nil)
					if s.certificate != nil {
						s.certificate.reload()
					}
				})
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { forget(); cancel() }
}
