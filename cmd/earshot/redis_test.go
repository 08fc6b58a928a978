package main

import (
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/redistest"
)

// onRedis returns a world on a Redis that was started with those arguments.
func onRedis(t *testing.T, arguments ...string) *world {
	t.Helper()
	w := newWorld(t)
	w.redis = redistest.Run(t, arguments...)
	w.env["REDIS_URL"] = w.redis.URL()
	return w
}

// refused runs serve until it ends by itself, and returns what it wrote.
func (w *world) refused(flags ...string) string {
	w.t.Helper()
	r := launch(w.t, w.env, append([]string{"serve"}, flags...)...)
	require.Equal(w.t, 1, r.wait(), r.log)
	require.Contains(w.t, r.log.String(), "this Redis cannot be used")
	return r.log.String()
}

func TestRedisThatIsLaidOutOtherwiseIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.client().Set(t.Context(), "earshot:partitions", "32", 0).Err())
	require.Contains(t, w.refused(), "32 partitions, this version uses 64")
	require.Equal(t, "32", w.client().Get(t.Context(), "earshot:partitions").Val())
}

func TestRedisThatMayDropWhatIsOwedIsRefused(t *testing.T) {
	t.Parallel()
	require.Contains(t, onRedis(t, "--maxmemory-policy", "allkeys-lru").refused(), "maxmemory-policy is allkeys-lru")
}

func TestRedisWithoutAppendOnlyFileIsWarnedOfOrRefused(t *testing.T) {
	t.Parallel()
	w := onRedis(t, "--appendonly", "no")
	r := w.serve()
	r.log.await(t, regexp.MustCompile(`"level":"WARN","msg":"redis.volatile"`))
	require.Zero(t, r.stop())
	require.Contains(t, w.refused("--strict-redis"), "appendonly yes")
}

func TestRedisThatIsAsItShouldBeIsTakenWithoutAWord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.serve("--strict-redis")
	require.Zero(t, r.stop())
	require.NotContains(t, r.log.String(), "redis.volatile")
	require.Equal(t, "64", w.client().Get(t.Context(), "earshot:partitions").Val())
	require.Zero(t, w.serve("--strict-redis").stop(), "as it does the second time")
}

func TestRedisThatComesUpIsCheckedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.client().Set(t.Context(), "earshot:partitions", "32", 0).Err())
	w.redis.Stop()
	r := launch(t, w.env, "serve")
	r.url = r.log.await(t, startedAt)
	r.log.await(t, regexp.MustCompile(`"msg":"redis.unavailable"`))
	w.redis.Start()
	for {
		got := w.ask(r, "PUT", "/v1/apps/clinic", `{}`)
		if got.Err != nil {
			break // it has ended
		}
		require.Equal(t, http.StatusServiceUnavailable, got.Status, got.Body)
		require.NotEmpty(t, got.Header.Get("Retry-After"))
	}
	require.Equal(t, 1, r.wait())
	require.Contains(t, r.log.String(), "32 partitions")
	require.Equal(t, []string{"earshot:partitions"}, w.client().Keys(t.Context(), "*").Val())
}

func TestEveryMasterOfAClusterIsChecked(t *testing.T) {
	t.Parallel()
	cluster := redistest.RunCluster(t)
	w := newWorld(t)
	w.redis = cluster.Server

	w.env["REDIS_URL"] = cluster.Nodes[0].URL()
	require.Contains(t, w.refused(), "it is a cluster; name several of its nodes")

	w.env["REDIS_URL"] = cluster.Nodes[1].URL() + "," + cluster.Nodes[2].Addr()
	require.Zero(t, w.serve("--strict-redis").stop())
	require.Equal(t, "64", w.client().Get(t.Context(), "earshot:partitions").Val())

	last := cluster.Nodes[2]
	require.NoError(t, last.Client().ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err())
	require.Regexp(t, last.Addr()+".*maxmemory-policy is allkeys-lru", w.refused())
	require.NoError(t, last.Client().ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err())
	require.NoError(t, last.Client().ConfigSet(t.Context(), "appendonly", "no").Err())
	require.Regexp(t, last.Addr()+".*no append-only file", w.refused("--strict-redis"))
}

func TestServerThatIsTakenForAClusterIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env["REDIS_URL"] = w.redis.URL() + "," + w.redis.Addr()
	require.Contains(t, w.refused(), "names several hosts, which are a cluster, but this is none")
}

func TestMasterBehindSentinelsIsChecked(t *testing.T) {
	t.Parallel()
	sentinel := redistest.RunSentinel(t)
	w := newWorld(t)
	w.redis = sentinel.Server
	w.env["REDIS_URL"] = sentinel.URL()
	require.NoError(t, sentinel.Master().Client().ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err())
	require.Contains(t, w.refused(), "maxmemory-policy is allkeys-lru")
	require.NoError(t, w.client().Set(t.Context(), "earshot:partitions", "32", 0).Err())
	require.Contains(t, w.refused(), "32 partitions, this version uses 64")
}

func TestMasterThatWritesWhenItIsCutOffIsWarnedOfOrRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	redistest.RunReplica(t, w.redis)
	r := w.serve()
	r.log.await(t, regexp.MustCompile(`"level":"WARN","msg":"redis.cutoff".*set min-replicas-to-write 1`))
	require.Zero(t, r.stop())
	require.Contains(t, w.refused("--strict-redis"), "set min-replicas-to-write 1")
	require.NoError(t, w.client().ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	require.Zero(t, w.serve("--strict-redis").stop())
}

// TestMessageThatReplicasDoNotHaveIsAnswered503 asks for a replica where there is none
// at first.
func TestMessageThatReplicasDoNotHaveIsAnswered503(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env["EARSHOT_REDIS_WAIT"] = "1"
	r := w.serve("--redis-wait-timeout", "100ms")
	r.log.await(t, regexp.MustCompile(`"msg":"redis.replicas".*it has 0 replicas, and --redis-wait asks for 1`))
	w.put("/v1/apps/clinic", `{"name":"Clinic"}`)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book"}]}`)
	got := w.call(http.StatusServiceUnavailable, "POST", messages("s1"), message("m1", "call book {}"))
	require.Equal(t, "1", got.Header.Get("Retry-After"))
	redistest.RunReplica(t, w.redis)
	w.until("it is answered", func() bool {
		return w.ask(r, "POST", messages("s1"), message("m1", "call book {}")).Status == http.StatusOK
	})
	require.Len(t, w.say("s1", "m1", "call book {}").Matches, 1)
	w.rest()
	require.Len(t, w.events("tool.trigger.clinic.s1.book"), 1)
	require.Contains(t, launchAndWait(t, w.env, "serve", "--redis-wait", "-1", "--redis-wait-timeout", "2s"), "--redis-wait-timeout")
}

// launchAndWait runs a command line that ends by itself, and returns what it wrote.
func launchAndWait(t *testing.T, env map[string]string, args ...string) string {
	t.Helper()
	r := launch(t, env, args...)
	require.NotZero(t, r.wait(), r.log)
	return r.log.String()
}
