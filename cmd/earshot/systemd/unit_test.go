package systemd_test

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

	"earshot/cmd/earshot/systemd"
	"earshot/deploy/devtest"
)

// listen has what a service tells systemd come by a channel.
func listen(t *testing.T) <-chan string {
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

func next(t *testing.T, told <-chan string) string {
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
	told := listen(t)
	ctx, end := context.WithCancel(t.Context())
	asked := atomic.Int64{}
	unit := &systemd.Unit{
		Alive: func(context.Context) error { return nil },
		Ready: func(context.Context) error {
			if asked.Add(1) < 3 {
				return errors.New("no answer from redis")
			}
			return nil
		},
		Pause: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Log:   slog.New(slog.DiscardHandler),
	}
	unit.Reload(func() {}) // says nothing: it has not started
	go unit.Run(ctx)
	require.Equal(t, "READY=1", next(t, told))
	require.EqualValues(t, 3, asked.Load())
	read := false
	go func() {
		unit.Reload(func() { read = true })
		end()
	}()
	require.Regexp(t, `^RELOADING=1\nMONOTONIC_USEC=\d+\n$`, next(t, told))
	require.Equal(t, "READY=1", next(t, told))
	require.Equal(t, "STOPPING=1", next(t, told))
	require.True(t, read)
}

// TestAServiceThatHangsIsNotCalledAlive has systemd told nothing more from the first question that
// is not answered, and one line in the log.
func TestAServiceThatHangsIsNotCalledAlive(t *testing.T) {
	told, log := listen(t), &devtest.Lines{}
	t.Setenv("WATCHDOG_USEC", "40000") // each question has 10 ms
	hangs, asked := atomic.Bool{}, make(chan bool)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	unit := &systemd.Unit{
		Ready: func(context.Context) error { return nil },
		Alive: func(ctx context.Context) error {
			if !hangs.Load() {
				return nil
			}
			<-ctx.Done()
			select {
			case asked <- true:
			case <-t.Context().Done():
			}
			return ctx.Err()
		},
		Pause: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Log:   slog.New(slog.NewJSONHandler(log, nil)),
	}
	go unit.Run(ctx)
	require.Equal(t, "READY=1", next(t, told))
	require.Equal(t, "WATCHDOG=1", next(t, told))
	hangs.Store(true)
	for answered := true; answered; {
		select {
		case said := <-told:
			require.Equal(t, "WATCHDOG=1", said) // of before
		case <-asked:
			answered = false
		}
	}
	for range 3 {
		select {
		case <-asked:
		case said := <-told:
			require.Equal(t, "WATCHDOG=1", said) // was on its way
		}
	}
	<-asked
	require.Equal(t, 1, strings.Count(log.String(), "systemd.unanswered"), "%s", log)
	hangs.Store(false)
	require.Equal(t, "WATCHDOG=1", next(t, told), "it answers again")
}
