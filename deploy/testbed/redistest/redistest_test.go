package redistest_test

import (
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
)

func TestServerKeepsItsDataOverStopAndStart(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		client := server.Client()
		require.NoError(t, client.Set(t.Context(), "key", "value", 0).Err())
		addr := server.Addr()

		server.Stop()
		require.Error(t, server.Connect(redis.UniversalOptions{MaxRetries: -1}).Ping(t.Context()).Err())
		server.Stop()

		server.Start()
		require.Equal(t, addr, server.Addr())
		require.Equal(t, "value", client.Get(t.Context(), "key").Val())
	})
}

func TestServerKeepsWhatItAnsweredWhenKilled(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		client := server.Client()
		for range 1000 {
			require.NoError(t, client.Incr(t.Context(), "count").Err())
		}
		server.Kill()
		server.Kill()
		server.Start()
		require.Equal(t, "1000", client.Get(t.Context(), "count").Val())
	})
}

func TestKeysExpireByTheClock(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		client := server.Client()
		require.NoError(t, client.Set(t.Context(), "key", "value", 20*time.Millisecond).Err())
		require.Eventually(t, func() bool {
			return client.Get(t.Context(), "key").Err() == redis.Nil
		}, time.Minute, 5*time.Millisecond)
	})
}

func TestURLNamesEveryServer(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		hosts, found := strings.CutPrefix(server.URL(), "redis://")
		require.True(t, found)
		require.Equal(t, server.Addr(), hosts)
		for _, addr := range strings.Split(hosts, ",") {
			host, _, err := net.SplitHostPort(addr)
			require.NoError(t, err)
			require.Equal(t, "127.0.0.1", host)
			require.NoError(t, redis.NewClient(&redis.Options{Addr: addr}).Ping(t.Context()).Err())
		}
		require.Equal(t, strings.HasSuffix(t.Name(), "/miniredis"), server.Embedded())
	})
}

func TestEveryTestFindsItsStoreEmpty(t *testing.T) {
	for range 2 {
		redistest.Each(t, func(t *testing.T, server *redistest.Server) {
			client := server.Client()
			for i := range 30 {
				require.True(t, client.SetNX(t.Context(), fmt.Sprint("key", i), "value", 0).Val(), "key%d is new", i)
			}
		})
	}
}

func TestRealServerIsAsEarshotAsksForIt(t *testing.T) {
	client := redistest.Run(t).Client()
	for name, want := range map[string]string{
		"appendonly": "yes", "appendfsync": "no", "maxmemory-policy": "noeviction", "save": "", "bind": "127.0.0.1",
	} {
		require.Equal(t, map[string]string{name: want}, client.ConfigGet(t.Context(), name).Val())
	}
}

func TestRealServerTakesArguments(t *testing.T) {
	client := redistest.Run(t, "--maxmemory", "4mb").Client()
	require.Equal(t, "4194304", client.ConfigGet(t.Context(), "maxmemory").Val()["maxmemory"])
}

func TestMissingProgramSkipsUnlessServersAreRequired(t *testing.T) {
	t.Setenv("EARSHOT_REDIS_SERVER", "/nowhere/redis-server")
	t.Setenv("EARSHOT_REQUIRE_SERVERS", "")
	got := observe(t, func(t testing.TB) { redistest.Run(t) })
	require.True(t, got.skipped)
	require.Contains(t, got.text, "install")

	t.Setenv("EARSHOT_REQUIRE_SERVERS", "1")
	got = observe(t, func(t testing.TB) { redistest.Run(t) })
	require.True(t, got.failed)
	require.Contains(t, got.text, "EARSHOT_REDIS_SERVER")
}

func TestProgramThatEndsAtOnceFailsTheTest(t *testing.T) {
	got := observe(t, func(t testing.TB) { redistest.Run(t, "--no-such-option", "1") })
	require.True(t, got.failed)
	require.Contains(t, got.text, "redis: it has ended")
	require.Contains(t, got.text, "no-such-option")
}

// observed is a test that may be skipped or fail without ours doing so.
type observed struct {
	testing.TB
	skipped, failed bool
	text            string
}

func observe(t *testing.T, test func(testing.TB)) *observed {
	o := &observed{TB: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		test(o)
	}()
	<-ended
	return o
}

func (o *observed) Skip(args ...any) { o.skipped, o.text = true, args[0].(string); runtime.Goexit() }

func (o *observed) Fatal(args ...any) { o.failed, o.text = true, args[0].(string); runtime.Goexit() }

func (o *observed) Fatalf(format string, args ...any) { o.Fatal(fmt.Sprintf(format, args...)) }
