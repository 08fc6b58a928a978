package worker_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"earshot/trigger/worker"
)

// TestGoroutinesAreReused runs more work than goroutines are kept, twice. The bubble fails the test if one is
// left after Stop.
func TestGoroutinesAreReused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w, err := worker.New(worker.Options{Log: slog.New(slog.NewJSONHandler(&log, nil))})
		require.NoError(t, err)
		for range 2 {
			var done atomic.Int64
			begin := make(chan struct{})
			for range 200 {
				w.Go(func() {
					<-begin
					done.Add(1)
				})
			}
			synctest.Wait()
			close(begin)
			synctest.Wait()
			require.EqualValues(t, 200, done.Load())
		}
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

// BenchmarkGo measures work that needs a deep stack.
func BenchmarkGo(b *testing.B) {
	w, err := worker.New(worker.Options{})
	require.NoError(b, err)
	done := make(chan byte)
	for b.Loop() {
		w.Go(func() { done <- deep(40) })
		<-done
	}
	require.NoError(b, w.Stop(b.Context()))
}

//go:noinline
func deep(calls int) byte {
	var frame [256]byte
	if calls > 0 {
		frame[calls] = deep(calls - 1)
	}
	return frame[calls/2] + 1
}
