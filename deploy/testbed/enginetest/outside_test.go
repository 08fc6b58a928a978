package enginetest_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/enginetest"
	"earshot/matcher"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
)

func TestWordsFireTheToolsThatTheyName(t *testing.T) {
	request := matcher.Request{}
	for _, name := range []string{"book", "other"} {
		tool := effecttest.Tool(t, `"schema":[{"parameter":"day","type":"string","required":true}]`)
		tool.Name = name
		request.Candidates = append(request.Candidates, matcher.Candidate{Tool: tool})
	}
	words := &enginetest.Words{}
	for text, want := range map[string][2]int{ // matches and rejections
		`book {"day":"monday"}`:                           {1, 0},
		`book {"day":"monday"}; other {"day":"friday"}`:   {2, 0},
		`book {"day":"monday"}; other {}`:                 {1, 1},
		`book`:                                            {0, 1},
		`book {"day":`:                                    {0, 0},
		`cancel {"day":"monday"}`:                         {0, 0},
		`please book {"day":"monday"}, or whatever it is`: {0, 0},
	} {
		request.Text = text
		result, err := words.Match(t.Context(), request)
		require.NoError(t, err)
		require.Equal(t, want, [2]int{len(result.Matches), len(result.Rejected)}, text)
	}
	require.Equal(t, 7, words.Requests())
	words.Intercept(func(context.Context, matcher.Request) error { return context.Canceled })
	_, err := words.Match(t.Context(), request)
	require.ErrorIs(t, err, context.Canceled)
}

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

func TestIceHoldsCommandsUntilItThaws(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ice, sent := &enginetest.Ice{}, 0
		hook := ice.Hook()
		one := hook.ProcessHook(func(context.Context, redis.Cmder) error { sent++; return nil })
		many := hook.ProcessPipelineHook(func(context.Context, []redis.Cmder) error { sent++; return nil })
		require.NoError(t, one(t.Context(), nil))
		require.Equal(t, 1, sent)
		ice.Freeze()
		go func() {
			_ = one(t.Context(), nil)
			_ = many(t.Context(), nil)
		}()
		synctest.Wait()
		require.Equal(t, 1, sent)
		ice.Thaw()
		synctest.Wait()
		require.Equal(t, 3, sent)
	})
}

func TestScriptsAreKnownByTheirArguments(t *testing.T) {
	argument := "book"
	command := redis.NewCmd(t.Context(), "evalsha", "digest", 0, &argument)
	require.True(t, enginetest.RunsScript(command, "book"))
	require.False(t, enginetest.RunsScript(command, "other"))
	require.False(t, enginetest.RunsScript(redis.NewCmd(t.Context(), "set", "book", "x"), "book"), "no script")
}
