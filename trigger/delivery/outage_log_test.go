package delivery_test

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/redistest"
	"earshot/trigger/effect"
)

// logged is a world whose engines log to what is returned, all levels.
func logged(t *testing.T) (*world, *testbed.Lines) {
	out := &testbed.Lines{}
	w := idleWorld(t, redistest.Run(t), 0)
	w.Log = slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.Store, w.Engine = w.Replica()
	_, w.Keeper = w.Replica()
	w.Run(w.Keeper)
	return w, out
}

// linesOf counts the lines of an event at a level.
func linesOf(log *testbed.Lines, level, event string) int {
	return len(regexp.MustCompile(`(?m)level=`+level+` msg=`+regexp.QuoteMeta(event)+` `).FindAllString(log.String(), -1))
}

// TestAnOutageOfNATSIsAFewLogLines has many sessions try their events as often as in a minute: ten
// sessions once in a second.
func TestAnOutageOfNATSIsAFewLogLines(t *testing.T) {
	t.Parallel()
	w, out := logged(t)
	w.Put("", "desk", `{"tools":[{"name":"book"}]}`)
	w.Events.Answer(func(effect.Effect) effect.Outcome {
		return effect.Outcome{Verdict: effect.Retry, Deferred: true, Error: "NATS is not connected"}
	})
	for i := range 10 {
		_, err := w.SayOn(w.Engine, fmt.Sprint("s", i), "m1", "book {}")
		require.NoError(t, err)
	}
	w.Until("events were tried for a minute", func() bool { return linesOf(out, "DEBUG", "effect.attempted") >= 600 })
	w.Events.Answer(nil)
	w.Rest()
	_, err := w.SayOn(w.Engine, "s0", "m2", "book {}") // the first replica finds out as well
	require.NoError(t, err)
	w.Rest()
	require.LessOrEqual(t, linesOf(out, "WARN", "effect.attempted"), 2, "one for each replica")
	require.Positive(t, linesOf(out, "INFO", "effects.again"))
	require.LessOrEqual(t, linesOf(out, "INFO", "effects.again"), 2)
	held := 0
	for _, line := range regexp.MustCompile(`msg=effects.again kind=event held=(\d+)`).FindAllStringSubmatch(out.String(), -1) {
		var n int
		_, err := fmt.Sscan(line[1], &n)
		require.NoError(t, err)
		held += n
	}
	require.Equal(t, linesOf(out, "DEBUG", "effect.attempted"), held)
}

func TestDeferredCallsAreOneLogLineForEachApp(t *testing.T) {
	t.Parallel()
	w, out := logged(t)
	w.Put("", "desk", `{"tools":[{"name":"book","url":"http://desk.example"}]}`)
	w.Calls.Answer(func(effect.Effect) effect.Outcome {
		return effect.Outcome{Verdict: effect.Retry, Deferred: true, Error: "the store is not available"}
	})
	w.Say("m1", "book {}")
	w.Until("it was put off often", func() bool { return linesOf(out, "DEBUG", "effect.attempted") >= 20 })
	require.LessOrEqual(t, linesOf(out, "WARN", "effect.attempted"), 2, "one for each replica")

	w.Calls.Answer(func(effect.Effect) effect.Outcome {
		return effect.Outcome{Verdict: effect.Retry, Error: "500"}
	})
	before := linesOf(out, "WARN", "effect.attempted")
	w.Until("each attempt at an endpoint has its line", func() bool { return linesOf(out, "WARN", "effect.attempted") >= before+5 })
	w.Calls.Answer(nil)
	w.Rest()
}

func TestAnOutageOfRedisIsOneLogLine(t *testing.T) {
	t.Parallel()
	w, out := logged(t)
	w.Rest()
	w.Server.Stop()
	w.Until("the ledger was looked at often", func() bool { return linesOf(out, "DEBUG", "ledger.unreadable") >= 3 })
	w.Server.Start()
	w.Until("it is there again", func() bool { return linesOf(out, "INFO", "ledger.readable") == 1 })
	require.Equal(t, 1, linesOf(out, "WARN", "ledger.unreadable"))
	require.Equal(t, 1, strings.Count(out.String(), "ledger.readable held="))
	require.NotContains(t, out.String(), `refused\nthe store`, "each partition has the same error")
}

func TestARedisThatTakesNoWritesIsOneLogLine(t *testing.T) {
	t.Parallel()
	w, out := logged(t)
	w.Put("", "desk", `{"tools":[{"name":"book","url":"http://desk.example"}]}`)
	w.Calls.Answer(func(effect.Effect) effect.Outcome { return effect.Outcome{Verdict: effect.Retry, Error: "500"} })
	for i := range 5 {
		w.Say(fmt.Sprint("m", i), "book {}")
	}
	operator := w.Server.Client()
	require.NoError(t, operator.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	w.Until("they were claimed often", func() bool {
		return linesOf(out, "DEBUG", "ledger.unfinished")+linesOf(out, "WARN", "ledger.unfinished") >= 50
	})
	require.Equal(t, 1, linesOf(out, "WARN", "ledger.unfinished"))
	require.NoError(t, operator.ConfigSet(t.Context(), "min-replicas-to-write", "0").Err())
	w.Calls.Answer(nil)
	w.Rest()
	w.Until("it is over", func() bool { return linesOf(out, "INFO", "ledger.finished") == 1 })
}
