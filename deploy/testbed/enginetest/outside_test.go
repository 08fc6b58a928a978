package enginetest_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/enginetest"
	"earshot/trigger/effect"
)

// TestWhatFailsIsNotTaken: a test that counts what was taken would prove nothing otherwise.
func TestWhatFailsIsNotTaken(t *testing.T) {
	outside := &enginetest.Outside{}
	deliver := func() effect.Verdict {
		return outside.Deliver(t.Context(), effect.Effect{Kind: effect.KindCall}).Verdict
	}
	for _, step := range []struct {
		answer func(effect.Effect) effect.Outcome
		want   effect.Verdict
		taken  int
	}{{nil, effect.Done, 1}, {enginetest.Down, effect.Retry, 1}, {enginetest.Refuse, effect.Dead, 1}, {nil, effect.Done, 2}} {
		outside.Answer(step.answer)
		require.Equal(t, step.want, deliver())
		_, taken := outside.Count()
		require.Equal(t, step.taken, taken)
	}
	hung := false
	outside.Hang(func(context.Context) { hung = true })
	require.Equal(t, effect.Retry, deliver())
	require.True(t, hung)
	require.Equal(t, effect.Done, deliver(), "it hangs once")
	attempts, taken := outside.Count()
	require.Equal(t, [2]int{6, 3}, [2]int{attempts, taken})
}

func TestScriptsAreKnownByTheirArguments(t *testing.T) {
	argument := "book"
	command := redis.NewCmd(t.Context(), "evalsha", "digest", 0, &argument)
	require.True(t, enginetest.RunsScript(command, "book"))
	require.False(t, enginetest.RunsScript(command, "other"))
	require.False(t, enginetest.RunsScript(redis.NewCmd(t.Context(), "set", "book", "x"), "book"), "no script")
}
