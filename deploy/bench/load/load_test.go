package load_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/bench/load"
)

func TestClosedLoopHasAsManyUnderWayAsConnections(t *testing.T) {
	var sent atomic.Int64
	together := make(chan struct{})
	result, err := load.Run(t.Context(), load.Plan{Connections: 8, Requests: 8, First: 100}, func(_ context.Context, i int) error {
		if i < 100 || i >= 108 {
			return errors.New("a number that nobody asked for")
		}
		if sent.Add(1) == 8 {
			close(together)
		}
		<-together
		return nil
	})
	require.NoError(t, err)
	require.EqualValues(t, 8, result.Done)
	require.EqualValues(t, 8, result.Times.TotalCount())
	require.Positive(t, result.Rate())
}

func TestFailuresAndWhatIsPendingAreCountedApart(t *testing.T) {
	broken := errors.New("broken")
	result, err := load.Run(t.Context(), load.Plan{Connections: 2, Requests: 9}, func(_ context.Context, i int) error {
		return []error{nil, load.ErrPending, broken}[i%3]
	})
	require.NoError(t, err)
	require.Equal(t, []int64{6, 3, 3}, []int64{result.Done, result.Pending, result.Failed})
	require.ErrorIs(t, result.Failure, broken)
}

// A request that waits because another is slow has waited, and a closed loop would not say so.
func TestOpenLoopCountsFromWhenARequestWasDue(t *testing.T) {
	result, err := load.Run(t.Context(), load.Plan{Connections: 1, Rate: 1e6, Requests: 3}, func(_ context.Context, i int) error {
		if i == 0 {
			time.Sleep(20 * time.Millisecond) // a slow answer
		}
		return nil
	})
	require.NoError(t, err)
	require.GreaterOrEqual(t, result.Times.Min(), int64(19_000))
}

func TestPlanWithoutAnEndIsRefused(t *testing.T) {
	_, err := load.Run(t.Context(), load.Plan{Connections: 1}, nil)
	require.ErrorContains(t, err, "an end")
}
