package systemd_test

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/cmd/earshot/systemd"
	"earshot/deploy/testbed"
)

func TestLinesHaveThePriorityOfTheirLevelInTheJournal(t *testing.T) {
	out := &testbed.Lines{}
	write := systemd.Journal{Writer: out}
	log := slog.New(write.Handler(func(of io.Writer) slog.Handler {
		return slog.NewJSONHandler(of, &slog.HandlerOptions{Level: slog.LevelInfo, ReplaceAttr: withoutTime})
	}))
	log.Debug("left out")
	log.Info("one", "a", 1)
	log.With("app", "clinic").WithGroup("g").Warn("two", "b", 2)
	log.Error("three")
	fmt.Fprint(systemd.Faults(write), "earshot: REDIS_URL is not set\nNATS_URL is not set\n")
	fmt.Fprint(write, "plain\n")
	require.Equal(t, `<6>{"level":"INFO","msg":"one","a":1}
<4>{"level":"WARN","msg":"two","app":"clinic","g":{"b":2}}
<3>{"level":"ERROR","msg":"three"}
<3>earshot: REDIS_URL is not set
<3>NATS_URL is not set
plain
`, out.String())
}

func withoutTime(_ []string, attr slog.Attr) slog.Attr {
	if attr.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return attr
}

// TestOnlyTheJournalsOwnStreamHasPriorities has the variable name a file, another one, and nothing:
// a program whose errors were sent elsewhere inherits it.
func TestOnlyTheJournalsOwnStreamHasPriorities(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "stderr")
	require.NoError(t, err)
	defer file.Close()
	info, err := file.Stat()
	require.NoError(t, err)
	is := info.Sys().(*syscall.Stat_t)
	for stream, journal := range map[string]bool{
		fmt.Sprintf("%d:%d", is.Dev, is.Ino): true, fmt.Sprintf("%d:%d", is.Dev, is.Ino+1): false, "": false, "nonsense": false,
	} {
		out := systemd.Stderr(file, func(name string) (string, bool) { return strings.TrimPrefix(stream, name), stream != "" })
		_, got := out.(systemd.Journal)
		require.Equal(t, journal, got, "%q", stream)
	}
}
