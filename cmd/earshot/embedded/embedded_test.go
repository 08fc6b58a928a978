//go:build !nodev

package embedded

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// startNATS starts a server that ends with the test.
func startNATS(t *testing.T, port int) *NATS {
	t.Helper()
	n, err := StartNATS(port, MinNATSBytes, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n
}

func TestEmbeddedNATSAnswersOnLoopbackWithLargeMessages(t *testing.T) {
	n := startNATS(t, -1)
	require.True(t, strings.HasPrefix(n.URL(), "nats://127.0.0.1:"), n.URL())
	conn := dialNATS(t, n.URL())
	require.EqualValues(t, 8<<20, conn.MaxPayload())
	require.EqualValues(t, 1, storeEvent(t, conn, "one"))
}

func TestEmbeddedStoreAnswersOnLoopback(t *testing.T) {
	store, err := StartStore()
	require.NoError(t, err)
	defer store.Close()
	require.True(t, strings.HasPrefix(store.URL(), "redis://127.0.0.1:"), store.URL())
	client := dialStore(t, store.URL())
	require.NoError(t, client.Set(t.Context(), "key", "value", 0).Err())
	require.Equal(t, "value", client.Get(t.Context(), "key").Val())
}

func TestEmbeddedStoreForgetsKeysWhenTheirTimeIsUp(t *testing.T) {
	store, err := StartStore()
	require.NoError(t, err)
	defer store.Close()
	client := dialStore(t, store.URL())
	require.NoError(t, client.Set(t.Context(), "key", "value", 20*time.Millisecond).Err())
	require.Eventually(t, func() bool {
		return client.Get(t.Context(), "key").Err() == redis.Nil
	}, 10*time.Second, 5*time.Millisecond)
}

func TestEmbeddedNATSUsesThePortThatItIsGivenUnlessItIsTaken(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().(*net.TCPAddr)
	n := startNATS(t, address.Port)
	require.NotEqual(t, "nats://"+address.String(), n.URL())
	require.True(t, dialNATS(t, n.URL()).IsConnected())
	require.NoError(t, listener.Close())
	require.Equal(t, "nats://"+address.String(), startNATS(t, address.Port).URL())
}

func TestEmbeddedNATSServersThatStartAtOnceGetPortsOfTheirOwn(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	wanted := listener.Addr().(*net.TCPAddr).Port
	require.NoError(t, listener.Close())

	const servers = 6
	urls, faults := make(chan string, servers), make(chan error, servers)
	for range servers {
		go func() {
			n, err := StartNATS(wanted, MinNATSBytes, slog.New(slog.DiscardHandler))
			if err == nil {
				t.Cleanup(func() { require.NoError(t, n.Close()) })
				urls <- n.URL()
			}
			faults <- err
		}()
	}
	seen := map[string]bool{}
	for range servers {
		require.NoError(t, <-faults)
		seen[<-urls] = true
	}
	require.Len(t, seen, servers)
}

func TestEmbeddedNATSRemovesItsTemporaryDirectory(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	n, err := StartNATS(-1, MinNATSBytes, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	storeEvent(t, dialNATS(t, n.URL()), "event")
	require.DirExists(t, n.dir)
	require.NoError(t, n.Close())
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestEmbeddedNATSThatCannotStartSaysWhy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	err := (&NATS{dir: file}).start(-1, MinNATSBytes, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "start the embedded NATS server in "+file)
	require.ErrorContains(t, err, "JetStream")
}

func TestEmbeddedNATSIsQuiet(t *testing.T) {
	var log bytes.Buffer
	n, err := StartNATS(-1, MinNATSBytes, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	storeEvent(t, dialNATS(t, n.URL()), "event")
	require.NoError(t, n.Close())
	require.Empty(t, log.String(), "a start and a stop without trouble say nothing")
}

func TestNATSLogPassesTroubleOn(t *testing.T) {
	var log bytes.Buffer
	l := newNATSLog(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	l.Noticef("notice %d", 1)
	l.Warnf("warning %d", 2)
	l.Errorf("error %d", 3)
	l.Debugf("debug %d", 4)
	l.Tracef("trace %d", 5)
	for _, line := range []string{
		`level=DEBUG msg="notice 1" server=nats`, `level=WARN msg="warning 2" server=nats`, `level=ERROR msg="error 3" server=nats`,
		`level=DEBUG msg="debug 4" server=nats`, `level=DEBUG msg="trace 5" server=nats`,
	} {
		require.Contains(t, log.String(), line)
	}

	require.NoError(t, l.fatal())
	l.Fatalf("the first %s", "reason")
	l.Fatalf("what follows from it")
	require.EqualError(t, l.fatal(), "the first reason")
}

func dialNATS(t *testing.T, url string) *nats.Conn {
	t.Helper()
	conn, err := nats.Connect(url)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

func dialStore(t *testing.T, url string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(url)
	require.NoError(t, err)
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// storeEvent returns the event's sequence in the stream.
func storeEvent(t *testing.T, conn *nats.Conn, text string) uint64 {
	t.Helper()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}})
	require.NoError(t, err)
	ack, err := js.Publish(ctx, "s", []byte(text))
	require.NoError(t, err)
	return ack.Sequence
}
