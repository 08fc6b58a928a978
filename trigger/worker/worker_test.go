package worker_test

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/enginetest"
	"earshot/deploy/testbed/redistest"
	"earshot/repositories/keyspace"
	"earshot/trigger/worker"
)

// TestGoroutinesAreReused runs more work than goroutines are kept, twice: the second time begins with those that
// were kept. The bubble fails the test if one is left after Stop.
func TestGoroutinesAreReused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := testbed.Got(worker.New(worker.Options{Log: slog.New(slog.NewJSONHandler(&log, nil))}))(t)
		run := func() (ran map[string]bool) {
			ran = map[string]bool{}
			var mu sync.Mutex
			begin := make(chan struct{})
			for range 200 {
				w.Go(func() {
					<-begin
					mu.Lock()
					defer mu.Unlock()
					ran[goroutine()] = true
				})
			}
			synctest.Wait()
			close(begin)
			synctest.Wait()
			return ran
		}
		first, second := run(), run()
		require.Len(t, first, 200)
		require.Len(t, second, 200)
		maps.DeleteFunc(first, func(id string, _ bool) bool { return !second[id] })
		require.NotEmpty(t, first, "no goroutine has run work of both times")
		done := false
		w.Go(func() { panic("faulty") })
		synctest.Wait()
		w.Go(func() { done = true })
		synctest.Wait()
		require.True(t, done)
		require.Contains(t, log.String(), "worker.panicked")
		require.NoError(t, w.Stop(context.Background()))
	})
}

func TestAWriteThatIsCutOffGivesTheReasonForWhichItWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testbed.Got(worker.New(worker.Options{Log: slog.New(slog.DiscardHandler)}))(t)
		ctx, cutOff := context.WithCancel(t.Context())
		attempts := 0
		err := w.Write(ctx, func() error {
			if attempts++; attempts == 1 {
				return keyspace.Unavailable(keyspace.ErrMemory)
			}
			cutOff()
			return keyspace.Unavailable(ctx.Err())
		})
		require.ErrorIs(t, err, keyspace.ErrMemory)
		require.Equal(t, 2, attempts)
		require.NoError(t, w.Stop(context.Background()))
	})
}

// goroutine returns the id of the goroutine that calls it, from the first line of its stack.
func goroutine() string {
	line := make([]byte, 32)
	return strings.Fields(string(line[:runtime.Stack(line, false)]))[1]
}

// BenchmarkGo measures work that needs a deep stack.
func BenchmarkGo(b *testing.B) {
	w := testbed.Got(worker.New(worker.Options{}))(b)
	done := make(chan byte)
	for b.Loop() {
		w.Go(func() { done <- deep(40) })
		<-done
	}
	require.NoError(b, w.Stop(b.Context()))
}

// canceling ends a context at the first command, which fails for it.
func canceling(end func()) enginetest.Hook {
	fail := func(commands ...redis.Cmder) error {
		end()
		for _, command := range commands {
			command.SetErr(context.Canceled)
		}
		return context.Canceled
	}
	return enginetest.Hook{
		Command: func(_ context.Context, command redis.Cmder, _ redis.ProcessHook) error { return fail(command) },
		Pipeline: func(_ context.Context, commands []redis.Cmder, _ redis.ProcessPipelineHook) error {
			return fail(commands...)
		},
	}
}

func TestEndOfAReplicaIsNoErrorOfTheLedger(t *testing.T) {
	var log testbed.Lines
	client := redistest.Run(t).Client()
	w, err := worker.New(worker.Options{DB: &keyspace.DB{UniversalClient: client}, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	client.AddHook(canceling(end))
	w.Run(ctx)
	require.NoError(t, w.Stop(t.Context()))
	require.NotContains(t, log.String(), "ledger.unreadable")
}

//go:noinline
func deep(calls int) byte {
	var frame [256]byte
	if calls > 0 {
		frame[calls] = deep(calls - 1)
	}
	return frame[calls/2] + 1
}
