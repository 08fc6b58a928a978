package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

// TestMain runs the program itself where a test has started it so.
func TestMain(m *testing.M) {
	if os.Getenv("EARSHOT_TEST_RUNS_MAIN") != "" {
		main()
	}
	testbed.Main(m)
}

// A pipe into which nobody writes is no file to wait for.
func TestFilesAreRegularOrStandardInput(t *testing.T) {
	folder := t.TempDir()
	fifo := filepath.Join(folder, "tools.yaml")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	for _, path := range []string{fifo, "/dev/zero"} {
		for _, args := range [][]string{{"validate", "-f", path}, {"migrate", "-f", path}, {"import", "openapi", path}} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			said, err := program(ctx, args...).CombinedOutput()
			require.NoError(t, ctx.Err(), "%v did not end", args)
			cancel()
			require.Error(t, err)
			require.Contains(t, string(said), path+": is no regular file; what a program writes is read from standard input", args)
		}
	}
}

// program is a process that runs a command line.
func program(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), "EARSHOT_TEST_RUNS_MAIN=yes")
	return cmd
}

// A command that speaks to nobody ends at a signal, whatever it waits for.
func TestOfflineCommandsEndAtSIGTERM(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for _, args := range [][]string{{"validate", "-f", "-"}, {"migrate", "-f", "-"}, {"import", "openapi", "-"}} {
		cmd := program(ctx, args...)
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = in.Write(bytes.Repeat([]byte("# a comment\n"), 20_000)) // more than a pipe holds: it has begun to read
		require.NoError(t, err)
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		var ended *exec.ExitError
		require.ErrorAs(t, cmd.Wait(), &ended, args)
		require.Equal(t, syscall.SIGTERM, ended.Sys().(syscall.WaitStatus).Signal(), args)
	}
}

// TestSIGHUPReadsTheCertificateAndEndsNothing sends the signal to a process, with and without a
// certificate.
func TestSIGHUPReadsTheCertificateAndEndsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, secure := range []bool{false, true} {
		cert, key, _ := newCertificate(t)
		var settings []string
		for name, value := range w.env {
			settings = append(settings, name+"="+value)
		}
		if secure {
			settings = append(settings, "EARSHOT_TLS_CERT="+cert, "EARSHOT_TLS_KEY="+key)
		}
		cmd := program(t.Context(), "serve")
		said := &testbed.Lines{}
		cmd.Env, cmd.Stderr = append(cmd.Env, settings...), said
		require.NoError(t, cmd.Start())
		said.Await(t, `"msg":"(service.started)"`)
		require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
		said.Await(t, `"msg":"(service.reload)"`)
		if secure {
			said.Await(t, `"msg":"(certificate.read)"`)
		}
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		require.NoError(t, cmd.Wait(), "%s", said)
	}
}
