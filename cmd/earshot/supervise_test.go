package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

// notified has what a service tells systemd come by a channel.
func notified(t *testing.T) <-chan string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = socket.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	told := make(chan string)
	go func() {
		defer close(told)
		text := make([]byte, 4096)
		for {
			n, err := socket.Read(text)
			if err != nil {
				return
			}
			told <- string(text[:n])
		}
	}()
	return told
}

func nextState(t *testing.T, told <-chan string) string {
	t.Helper()
	select {
	case said := <-told:
		return said
	case <-time.After(time.Minute):
		t.Fatal("systemd is told nothing")
		return ""
	}
}

// TestSystemdIsToldOfStartReloadAndEnd has a service that is ready at the third question.
func TestSystemdIsToldOfStartReloadAndEnd(t *testing.T) {
	told := notified(t)
	ctx, end := context.WithCancel(t.Context())
	asked := atomic.Int64{}
	of := &unit{
		alive: func(context.Context) error { return nil },
		ready: func(context.Context) error {
			if asked.Add(1) < 3 {
				return errors.New("no answer from redis")
			}
			return nil
		},
		pause: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		log:   slog.New(slog.DiscardHandler),
	}
	of.reload(func() {}) // says nothing: it has not started
	go of.run(ctx)
	require.Equal(t, "READY=1", nextState(t, told))
	require.EqualValues(t, 3, asked.Load())
	read := false
	go func() {
		of.reload(func() { read = true })
		end()
	}()
	require.Regexp(t, `^RELOADING=1\nMONOTONIC_USEC=\d+\n$`, nextState(t, told))
	require.Equal(t, "READY=1", nextState(t, told))
	require.Equal(t, "STOPPING=1", nextState(t, told))
	require.True(t, read)
}

// TestAServiceThatWaitsForOthersHasStarted is not ready in the ten seconds that it has, and asked
// a few times only.
func TestAServiceThatWaitsForOthersHasStarted(t *testing.T) {
	told := notified(t)
	asked, waited := atomic.Int64{}, atomic.Int64{}
	of := &unit{
		alive: func(context.Context) error { return nil },
		ready: func(context.Context) error {
			asked.Add(1)
			return errors.New("no answer from redis")
		},
		pause: func(ctx context.Context, d time.Duration) error {
			if waited.Add(int64(d)) >= int64(10*time.Second) {
				return context.DeadlineExceeded
			}
			return ctx.Err()
		},
		log: slog.New(slog.DiscardHandler),
	}
	go of.run(t.Context())
	require.Equal(t, "READY=1", nextState(t, told))
	require.LessOrEqual(t, asked.Load(), int64(10))
}

// TestAServiceThatHangsIsNotCalledAlive has a service hang for three questions: systemd is told
// nothing then, and the log has one line. The test goes from one question to the next.
func TestAServiceThatHangsIsNotCalledAlive(t *testing.T) {
	told, log := notified(t), &testbed.Lines{}
	t.Setenv("WATCHDOG_USEC", "40000") // each question has 10 ms
	hangs, paused, step := atomic.Bool{}, make(chan bool), make(chan bool)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	of := &unit{
		ready: func(context.Context) error { return nil },
		alive: func(ctx context.Context) error {
			if !hangs.Load() {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		},
		pause: func(ctx context.Context, _ time.Duration) error {
			for _, meet := range []chan bool{paused, step} {
				select {
				case meet <- true:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		},
		log: slog.New(slog.NewJSONHandler(log, nil)),
	}
	go of.run(ctx)
	require.Equal(t, "READY=1", nextState(t, told))
	require.Equal(t, "WATCHDOG=1", nextState(t, told))
	<-paused
	hangs.Store(true)
	for range 3 {
		<-step
		<-paused
	}
	require.Equal(t, 1, strings.Count(log.String(), "systemd.unanswered"), "%s", log)
	hangs.Store(false)
	<-step
	<-paused
	end()
	require.Equal(t, "WATCHDOG=1", nextState(t, told), "it answers again")
	require.Equal(t, "STOPPING=1", nextState(t, told), "there was one answer")
}
