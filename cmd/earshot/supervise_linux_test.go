package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

// idOf is the device and inode of a file, or of one so many inodes behind it, as in JOURNAL_STREAM.
func idOf(t *testing.T, file *os.File, behind uint64) string {
	info := testbed.Got(file.Stat())(t)
	is := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%d:%d", is.Dev, is.Ino+behind)
}

// TestServeIsAUnitOfSystemd runs a process as systemd does: with a notify socket, a watchdog, and the journal
// as its error output.
func TestServeIsAUnitOfSystemd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env["EARSHOT_ADMIN_KEY"] = "change-me" // causes a warning
	socket, path := notifySocket(t)
	await := func(state string) {
		text := make([]byte, 4096)
		require.NoError(t, socket.SetReadDeadline(time.Now().Add(patience)))
		for {
			n, err := socket.Read(text)
			require.NoError(t, err, "systemd was not told %s", state)
			if strings.HasPrefix(string(text[:n]), state) {
				return
			}
		}
	}
	journal := testbed.Got(os.Create(filepath.Join(t.TempDir(), "journal")))(t)
	defer journal.Close()
	p := w.process(os.Args[0], "NOTIFY_SOCKET="+path, "WATCHDOG_USEC=20000000", "JOURNAL_STREAM="+idOf(t, journal, 0))
	p.Log = journal.Name()
	require.NoError(t, p.Start())
	await("READY=1")
	await("WATCHDOG=1")
	p.Signal(syscall.SIGHUP)
	await("RELOADING=1\nMONOTONIC_USEC=")
	await("READY=1")
	require.NoError(t, p.Stop(os.Interrupt))
	await("STOPPING=1")

	said := p.String()
	require.Regexp(t, `(?m)^<4>\{.*"msg":"admin_key\.weak"`, said)
	for line := range strings.Lines(said) {
		require.Regexp(t, `^<[346]>\{"time"`, line)
	}
}

// TestARefusedStartIsAnErrorInTheJournal is what journalctl -p err shows.
func TestARefusedStartIsAnErrorInTheJournal(t *testing.T) {
	t.Parallel()
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	defer reader.Close()
	cmd := program(t.Context(), "serve")
	cmd.Env = append(testbed.Environment(), "EARSHOT_TEST_RUNS_MAIN=yes", "JOURNAL_STREAM="+idOf(t, writer, 0))
	cmd.Stderr = writer
	require.NoError(t, cmd.Start())
	require.NoError(t, writer.Close())
	text := make([]byte, 1<<16)
	n := testbed.Got(reader.Read(text))(t)
	require.Error(t, cmd.Wait())
	for line := range strings.Lines(string(text[:n])) {
		require.True(t, strings.HasPrefix(line, "<3>"), line)
	}
	require.Contains(t, string(text[:n]), "<3>earshot: REDIS_URL is not set")
}

func TestLinesHaveThePriorityOfTheirLevelInTheJournal(t *testing.T) {
	for format, level := range map[string]string{"json": `"level":"%s"`, "text": "level=%s"} {
		out := &testbed.Lines{}
		log := (&config{LogLevel: "info", LogFormat: format}).logger(journal{out})
		log.Debug("left out")
		log.Info("one", "level", "ERROR")
		log.With("app", "clinic").WithGroup("g").Warn("two", "b", 2)
		log.Error("three")
		fmt.Fprint(faultsTo(journal{out}), "earshot: REDIS_URL is not set\nNATS_URL is not set\n")
		fmt.Fprint(journal{out}, "plain\n")
		want := ""
		for _, line := range [][2]string{{"<6>", "INFO"}, {"<4>", "WARN"}, {"<3>", "ERROR"}} {
			want += line[0] + ".*" + fmt.Sprintf(level, line[1]) + ".*\n"
		}
		require.Regexp(t, "^"+want+"<3>earshot: REDIS_URL is not set\n<3>NATS_URL is not set\nplain\n$", out.String())
	}
}

// TestOnlyTheJournalsOwnStreamHasPriorities sets the variable to this file, to another, and to nothing: a
// program with redirected errors inherits it.
func TestOnlyTheJournalsOwnStreamHasPriorities(t *testing.T) {
	file := testbed.Got(os.CreateTemp(t.TempDir(), "stderr"))(t)
	defer file.Close()
	for stream, want := range map[string]bool{
		idOf(t, file, 0): true, idOf(t, file, 1): false, "": false, "nonsense": false,
	} {
		out := standardError(file, func(name string) (string, bool) { return strings.TrimPrefix(stream, name), stream != "" })
		_, got := out.(journal)
		require.Equal(t, want, got, "%q", stream)
	}
}
