//go:build !nodev

package embedded

import (
	"bytes"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func startNATS(t *testing.T, port int) (url string) {
	url, stop, err := StartNATS(port, MinNATSBytes, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stop()) })
	return url
}

func TestEmbeddedNATSAnswersOnLoopbackWithLargeMessages(t *testing.T) {
	url := startNATS(t, -1)
	require.True(t, strings.HasPrefix(url, "nats://127.0.0.1:"), url)
	js := natstest.JetStream(t, url)
	require.EqualValues(t, 8<<20, js.Conn().MaxPayload())
	require.EqualValues(t, 1, storeEvent(t, js))
}

func TestEmbeddedStoreAnswersOnLoopbackAndForgetsKeysWhenTheirTimeIsUp(t *testing.T) {
	url, stop, err := StartStore()
	require.NoError(t, err)
	defer stop()
	require.True(t, strings.HasPrefix(url, "redis://127.0.0.1:"), url)
	options := testbed.Got(redis.ParseURL(url))(t)
	client := redis.NewClient(options)
	defer client.Close()
	require.NoError(t, client.Set(t.Context(), "stays", "value", 0).Err())
	require.NoError(t, client.Set(t.Context(), "goes", "value", 20*time.Millisecond).Err())
	require.Eventually(t, func() bool {
		return client.Get(t.Context(), "goes").Err() == redis.Nil
	}, time.Minute, 5*time.Millisecond)
	require.Equal(t, "value", client.Get(t.Context(), "stays").Val())
}

func TestEmbeddedNATSUsesThePortThatItIsGivenUnlessItIsTaken(t *testing.T) {
	listener := testbed.Got(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := listener.Addr().(*net.TCPAddr)
	other := startNATS(t, address.Port)
	require.NotEqual(t, "nats://"+address.String(), other)
	natstest.JetStream(t, other)
	require.NoError(t, listener.Close())
	require.Equal(t, "nats://"+address.String(), startNATS(t, address.Port))
}

func TestEmbeddedNATSServersThatStartAtOnceGetPortsOfTheirOwn(t *testing.T) {
	wanted := testbed.Ports(t, 1)[0]
	urls := make([]string, 6)
	var starting sync.WaitGroup
	for i := range urls {
		starting.Go(func() { urls[i] = startNATS(t, wanted) })
	}
	starting.Wait()
	slices.Sort(urls)
	require.Len(t, slices.Compact(urls), 6)
}

// TestEmbeddedNATSIsQuietAndLeavesNothing logs nothing for a normal start and stop.
func TestEmbeddedNATSIsQuietAndLeavesNothing(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	var log bytes.Buffer
	url, stop, err := StartNATS(-1, MinNATSBytes, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	storeEvent(t, natstest.JetStream(t, url))
	require.NoError(t, stop())
	require.Empty(t, testbed.Got(os.ReadDir(folder))(t))
	require.Empty(t, log.String())
}

func TestEmbeddedNATSThatCannotStartSaysWhy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := start(file, -1, MinNATSBytes, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "start the embedded NATS server in "+file)
	require.ErrorContains(t, err, "JetStream")
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

func storeEvent(t *testing.T, js jetstream.JetStream) uint64 {
	testbed.Got(js.CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}))(t)
	ack := testbed.Got(js.Publish(t.Context(), "s", []byte("event")))(t)
	return ack.Sequence
}
