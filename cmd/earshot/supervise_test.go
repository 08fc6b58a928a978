package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/certtest"
	"earshot/repositories/certfiles"
)

// notifySocket listens where a service notifies systemd.
func notifySocket(t *testing.T) (*net.UnixConn, string) {
	path := filepath.Join(t.TempDir(), "notify")
	socket := testbed.Got(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"}))(t)
	t.Cleanup(func() { _ = socket.Close() })
	return socket, path
}

// notified receives the service's notifications to systemd.
func notified(t *testing.T) <-chan string {
	t.Helper()
	socket, path := notifySocket(t)
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

func nextState(t *testing.T, told <-chan string) string {
	t.Helper()
	select {
	case said := <-told:
		return said
	case <-time.After(time.Minute):
		t.Fatal("systemd is told nothing")
		return ""
	}
}

// TestSystemdIsToldOfStartReloadAndEnd has a service that is ready at the third check.
func TestSystemdIsToldOfStartReloadAndEnd(t *testing.T) {
	told := notified(t)
	asked := atomic.Int64{}
	of := &systemdUnit{
		alive: func(context.Context) error { return nil },
		ready: func(context.Context) error {
			if asked.Add(1) < 3 {
				return errors.New("no answer from redis")
			}
			return nil
		},
		pause: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		log:   slog.New(slog.DiscardHandler),
	}
	of.reload(func() {}) // no notification: it has not started
	end := testbed.Background(t, of.run)
	require.Equal(t, "READY=1", nextState(t, told))
	require.EqualValues(t, 3, asked.Load())
	read := false
	go func() {
		of.reload(func() { read = true })
		end()
	}()
	require.Regexp(t, `^RELOADING=1\nMONOTONIC_USEC=\d+\n$`, nextState(t, told))
	require.Equal(t, "READY=1", nextState(t, told))
	require.Equal(t, "STOPPING=1", nextState(t, told))
	require.True(t, read)
}

// TestAServiceThatWaitsForOthersHasStarted is not ready within ten seconds, and is checked only a few times.
func TestAServiceThatWaitsForOthersHasStarted(t *testing.T) {
	told := notified(t)
	asked, waited := atomic.Int64{}, atomic.Int64{}
	of := &systemdUnit{
		alive: func(context.Context) error { return nil },
		ready: func(context.Context) error {
			asked.Add(1)
			return errors.New("no answer from redis")
		},
		pause: func(ctx context.Context, d time.Duration) error {
			if waited.Add(int64(d)) >= int64(10*time.Second) {
				return context.DeadlineExceeded
			}
			return ctx.Err()
		},
		log: slog.New(slog.DiscardHandler),
	}
	end := testbed.Background(t, of.run)
	require.Equal(t, "READY=1", nextState(t, told))
	require.LessOrEqual(t, asked.Load(), int64(10))
	end()
	require.Equal(t, "STOPPING=1", nextState(t, told), "and not to the socket of the next test")
}

// TestAServiceThatHangsIsNotCalledAlive hangs for three checks, without notifications and with one log line.
// The test steps through the checks.
func TestAServiceThatHangsIsNotCalledAlive(t *testing.T) {
	told, log := notified(t), &testbed.Lines{}
	t.Setenv("WATCHDOG_USEC", "40000") // each check has 10 ms
	hangs, paused, step := atomic.Bool{}, make(chan bool), make(chan bool)
	of := &systemdUnit{
		ready: func(context.Context) error { return nil },
		alive: func(ctx context.Context) error {
			if !hangs.Load() {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		},
		pause: func(ctx context.Context, _ time.Duration) error {
			for _, meet := range []chan bool{paused, step} {
				select {
				case meet <- true:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		},
		log: slog.New(slog.NewJSONHandler(log, nil)),
	}
	end := testbed.Background(t, of.run)
	require.Equal(t, "READY=1", nextState(t, told))
	require.Equal(t, "WATCHDOG=1", nextState(t, told))
	<-paused
	hangs.Store(true)
	for range 3 {
		<-step
		<-paused
	}
	require.Equal(t, 1, strings.Count(log.String(), "systemd.unanswered"), "%s", log)
	hangs.Store(false)
	<-step
	<-paused
	end()
	require.Equal(t, "WATCHDOG=1", nextState(t, told), "it answers again")
	require.Equal(t, "STOPPING=1", nextState(t, told), "there was one answer")
}

// served is a server with a certificate in files, and its own clock.
type served struct {
	*testing.T
	certificateFiles
	authority *certtest.Authority
	clock     *testbed.Clock
	log       *testbed.Lines
	current   *servedCertificate
	listener  net.Listener
}

// serveCertificate serves a certificate named "one" with 30 days left.
func serveCertificate(t *testing.T) *served {
	t.Helper()
	s := &served{T: t, authority: certtest.New(t, time.Now()), clock: testbed.NewClock(time.Now()), log: &testbed.Lines{}}
	folder := t.TempDir()
	s.certificateFiles = certificateFiles{cert: filepath.Join(folder, "tls.crt"), key: filepath.Join(folder, "tls.key")}
	s.renew("one", 30*24*time.Hour)
	var err error
	s.current = testbed.Got(openCertificate(s.certificateFiles, s.clock.Now, slog.New(slog.NewJSONHandler(s.log, nil))))(t)
	s.listener, err = tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetCertificate: s.current.get})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.listener.Close() })
	go func() {
		for {
			conn, err := s.listener.Accept()
			if err != nil {
				return
			}
			_ = conn.(*tls.Conn).Handshake() // the client reports the error
			_ = conn.Close()
		}
	}()
	return s
}

func (s *served) issue(name string, left time.Duration) certfiles.Files {
	s.Helper()
	return s.authority.Write(s.TempDir(), s.authority.IssueUntil(name, s.clock.Now().Add(left)))
}

// renew replaces both files atomically, as the renewal of a certificate does.
func (s *served) renew(name string, left time.Duration) {
	s.Helper()
	made := s.issue(name, left)
	require.NoError(s, os.Rename(made.Cert, s.cert))
	require.NoError(s, os.Rename(made.Key, s.key))
}

func (s *served) name() string {
	s.Helper()
	conn := testbed.Got(tls.Dial("tcp", s.listener.Addr().String(), &tls.Config{InsecureSkipVerify: true}))(s)
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName
}

func (s *served) notAfter() float64 {
	s.Helper()
	registry := prometheus.NewRegistry()
	require.NoError(s, registry.Register(s.current.expiry()))
	families := testbed.Got(registry.Gather())(s)
	require.Len(s, families, 1)
	require.Equal(s, "earshot_tls_not_after_seconds", families[0].GetName())
	return families[0].GetMetric()[0].GetGauge().GetValue()
}

func TestARenewedCertificateIsServedWithinTenSeconds(t *testing.T) {
	s := serveCertificate(t)
	require.Equal(t, "one", s.name())
	require.InDelta(t, s.clock.Now().Add(30*24*time.Hour).Unix(), s.notAfter(), 1)

	s.renew("two", 60*24*time.Hour)
	require.Equal(t, "one", s.name(), "the files are not looked at for each connection")
	s.clock.Advance(10 * time.Second)
	require.Equal(t, "two", s.name())
	require.InDelta(t, s.clock.Now().Add(60*24*time.Hour).Unix(), s.notAfter(), 11)
	require.Contains(t, s.log.String(), `"msg":"certificate.read","subject":"CN=two"`)

	s.renew("three", time.Hour)
	s.current.reload()
	require.Equal(t, "three", s.name(), "at once")
}

// TestAPairThatIsHalfWrittenLeavesTheOldOne has one warning for any number of checks, and uses the complete
// pair.
func TestAPairThatIsHalfWrittenLeavesTheOldOne(t *testing.T) {
	s := serveCertificate(t)
	made := s.issue("two", 60*24*time.Hour)
	cert := testbed.Read(t, made.Cert)
	write(t, s.cert, cert[:len(cert)/2])
	look := func() string {
		s.clock.Advance(10 * time.Second)
		return s.name()
	}
	warnings := func() int { return strings.Count(s.log.String(), `"msg":"certificate.unusable"`) }
	require.Equal(t, "one", look())
	require.Equal(t, "one", look())
	require.NoError(t, os.Rename(made.Cert, s.cert)) // another pair's key
	require.Equal(t, "one", look())
	require.NoError(t, os.Remove(s.key))
	require.Equal(t, "one", look())
	require.Equal(t, 1, warnings(), "%s", s.log)
	require.Contains(t, s.log.String(), "EARSHOT_TLS_CERT (--tls-cert) is")

	s.current.reload()
	require.Equal(t, 2, warnings(), "an administrator who asks is told again")
	require.NoError(t, os.Rename(made.Key, s.key))
	require.Equal(t, "two", look())
	s.renew("ended", -time.Hour)
	require.Equal(t, "two", look(), "one that has ended is served to nobody who has a better one")
	require.Equal(t, 3, warnings())
	require.Contains(t, s.log.String(), "expired on")
}

// A pipe without a writer would block.
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
			require.Contains(t, string(said), path+": is not a regular file; to read the output of a program, use standard input", args)
		}
	}
}

// An offline command ends at a signal, whatever it waits for.
func TestOfflineCommandsEndAtSIGTERM(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for _, args := range [][]string{{"validate", "-f", "-"}, {"migrate", "-f", "-"}, {"import", "openapi", "-"}} {
		cmd := program(ctx, args...)
		in := testbed.Got(cmd.StdinPipe())(t)
		require.NoError(t, cmd.Start())
		_, err := in.Write(bytes.Repeat([]byte("# a comment\n"), 20_000)) // more than a pipe holds: it has begun to read
		require.NoError(t, err)
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		var ended *exec.ExitError
		require.ErrorAs(t, cmd.Wait(), &ended, args)
		require.Equal(t, syscall.SIGTERM, ended.Sys().(syscall.WaitStatus).Signal(), args)
	}
}

// TestSIGHUPReadsTheCertificateAndEndsNothing signals a process with and without a certificate.
func TestSIGHUPReadsTheCertificateAndEndsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, secure := range []bool{false, true} {
		p := w.process(os.Args[0])
		if secure {
			cert, key, _ := newCertificate(t)
			p.Env = append(p.Env, "EARSHOT_TLS_CERT="+cert, "EARSHOT_TLS_KEY="+key)
		}
		require.NoError(t, p.Start())
		p.Await(t, `"msg":"(service.started)"`)
		p.Signal(syscall.SIGHUP)
		p.Await(t, `"msg":"(service.reload)"`)
		if secure {
			p.Await(t, `"msg":"(certificate.read)"`)
		}
		require.NoError(t, p.Stop(os.Interrupt))
	}
}
