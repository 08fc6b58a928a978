package main

import (
	"bytes"
	"encoding/base64"
	"maps"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/redistest"
	"earshot/repositories/format"
	"earshot/repositories/keyspace"
	"earshot/repositories/secret"

	"github.com/stretchr/testify/require"
)

func onRedis(t *testing.T, arguments ...string) *world {
	t.Helper()
	w := newWorld(t)
	w.redis = redistest.Run(t, arguments...)
	w.env["REDIS_URL"] = w.redis.URL()
	return w
}

// refused runs serve until it ends, and returns its output.
func (w *world) refused(flags ...string) string {
	r := launch(w.t, w.env, append([]string{"serve"}, flags...)...)
	require.Equal(w.t, 1, r.wait(), r.log)
	require.Contains(w.t, r.log.String(), "this Redis cannot be used")
	return r.log.String()
}

// asUser lets replicas use a Redis user with these rights.
func (w *world) asUser(rights ...any) {
	require.NoError(w.t, w.client().Do(w.t.Context(), append([]any{"ACL", "SETUSER", "earshot", "reset", "on", ">p", "~*", "&*"}, rights...)...).Err())
	w.env["REDIS_URL"] = strings.Replace(w.redis.URL(), "redis://", "redis://earshot:p@", 1)
}

// TestRedisThatMayNotBeAskedIsToldOf has users like those of hosted servers.
func TestRedisThatMayNotBeAskedIsToldOf(t *testing.T) {
	t.Parallel()
	w := onRedis(t, "--maxmemory-policy", "allkeys-lru", "--appendonly", "no")
	w.asUser("+@all", "-@dangerous", "-@admin")
	r := w.serve()
	r.log.Await(t, `"level":"WARN","msg":"redis.unchecked","server":"127.0.0.1:\d+","warning":"it does not let its user read its version, maxmemory-policy, appendonly, its replicas, .*\+config\|get \+info.*deploy/package/redis-acl.conf`)
	require.Zero(t, r.stop())
	require.Contains(t, w.refused("--strict-redis"), "it does not let its user read its version, maxmemory-policy, appendonly")

	w.asUser("+@all", "-@dangerous", "-@admin", "+info")
	require.Contains(t, w.refused(), "maxmemory-policy is allkeys-lru", "INFO says so")
	require.NoError(t, w.client().ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err())
	r = w.serve()
	r.log.Await(t, `"level":"WARN","msg":"redis.volatile"`)
	require.Zero(t, r.stop())
	require.NotContains(t, r.log.String(), "redis.unchecked")
	require.Contains(t, w.refused("--strict-redis"), "appendonly yes")
	require.NoError(t, w.client().ConfigSet(t.Context(), "appendonly", "yes").Err())
	require.Zero(t, w.serve("--strict-redis").stop())

	redistest.RunReplica(t, w.redis)
	r = w.serve()
	r.log.Await(t, `"level":"WARN","msg":"redis.cutoff","server":"`+w.redis.Addr()+`".*set min-replicas-to-write 1`)
	require.Zero(t, r.stop())
	require.Contains(t, w.refused("--strict-redis"), "set min-replicas-to-write 1")
	require.NoError(t, w.client().ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	require.Zero(t, w.serve("--strict-redis").stop())
}

func TestRedisWithoutTheCommandConfigIsReadByInfo(t *testing.T) {
	t.Parallel()
	w := onRedis(t, "--rename-command", "CONFIG", "", "--appendonly", "no")
	r := w.serve()
	r.log.Await(t, `"msg":"redis.volatile"`)
	require.Zero(t, r.stop())
	require.NotContains(t, r.log.String(), "redis.unchecked")
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
	r := w.start()
	r.log.Await(t, `"msg":"redis.unavailable"`)
	put := func() httpAnswer { return w.ask(r, "PUT", "/v1/apps/clinic", `{}`) }
	got := put()
	require.Equal(t, http.StatusServiceUnavailable, got.Status, got.Body)
	require.NotEmpty(t, got.Header.Get("Retry-After"))
	w.redis.Start()
	for put().Status == http.StatusServiceUnavailable {
		// It ends, and another test's server may take its port: the keys tell whether it has written.
	}
	require.Equal(t, 1, r.wait(), "%s\n%s", r.log, w.redis.Process())
	require.Contains(t, r.log.String(), "32 partitions")
	require.Equal(t, []string{"earshot:partitions"}, w.client().Keys(t.Context(), "*").Val())
}

func TestEveryMasterOfAClusterIsChecked(t *testing.T) {
	t.Parallel()
	cluster := redistest.RunCluster(t)
	w := newWorld(t)
	w.redis = cluster.Server

	w.env["REDIS_URL"] = cluster.Nodes[0].URL()
	require.Contains(t, w.refused(), "it is a Redis Cluster; name several of its nodes")

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
	require.Contains(t, w.refused(), "names several hosts, as of a Redis Cluster, but the server is not in cluster mode")
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

// TestMessageThatReplicasDoNotHaveIsAnswered503 requires a replica that does not exist at first.
func TestMessageThatReplicasDoNotHaveIsAnswered503(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env["EARSHOT_REDIS_WAIT"] = "1"
	r := w.start("--redis-wait-timeout", "100ms")
	r.log.Await(t, `"msg":"redis.replicas".*it has 0 replicas, and --redis-wait asks for 1`)
	w.until("it has checked Redis", func() bool { return w.ask(r, "PUT", "/v1/apps/clinic", `{"name":"Clinic"}`).Status < 300 })
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book"}]}`)
	got := w.call(http.StatusServiceUnavailable, "POST", messagesPath("s1"), messageBody("m1", "call book {}"))
	require.Equal(t, "1", got.Header.Get("Retry-After"))
	ready := w.ask(r, "GET", "/readyz?verbose", "")
	require.Equal(t, http.StatusServiceUnavailable, ready.Status, "%s", ready.Body)
	require.Contains(t, ready.Body, `"name":"redis","state":"away","says":"has too few replicas that follow it"`)
	redistest.RunReplica(t, w.redis)
	w.ready(r)
	w.until("it is answered", func() bool {
		return w.ask(r, "POST", messagesPath("s1"), messageBody("m1", "call book {}")).Status == http.StatusOK
	})
	require.Len(t, w.say("s1", "m1", "call book {}").Matches, 1)
	w.rest()
	require.Len(t, w.events("tool.trigger.clinic.s1.book"), 1)
	require.Contains(t, failing(t, w.env, "serve", "--redis-wait", "-1", "--redis-wait-timeout", "2s").err, "--redis-wait-timeout")
}

func secretKeyOf(letter string) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte(letter), 32))
}

const marksKey = "earshot:secretkey"

const withSecret = `{"modules":[{"moduleId":"calendar","secret":"s","tokenUrl":"http://127.0.0.1:1/token"}]}`

func TestRedisOfAnotherSecretKeyIsRefused(t *testing.T) {
	t.Parallel()
	for _, app := range []string{withSecret, `{}`} { // a credential of the app, or only of a tool
		w := newWorld(t)
		w.env["EARSHOT_SECRET_KEY"] = secretKeyOf("a")
		w.serve()
		w.put("/v1/apps/clinic", app)
		if app != withSecret {
			w.put("/v1/apps/clinic/repositories/r", `{"tools":[{"name":"t","url":"http://127.0.0.1:1","request":{"auth":"basic","basic":{"username":"u","password":"p"}}}]}`)
		}
		require.Zero(t, w.replicas[0].stop())
		for _, step := range []string{"by its mark", "without one, by what it holds"} {
			w.env["EARSHOT_SECRET_KEY"] = secretKeyOf("b")
			fault := w.refused()
			require.Contains(t, fault, "were encrypted with another secret key", step)
			require.Contains(t, fault, "EARSHOT_SECRET_KEY (--secret-key)")
			require.Contains(t, fault, "EARSHOT_SECRET_KEY_OLD (--secret-key-old)")
			require.NotContains(t, fault, secretKeyOf("a"))
			require.NoError(t, w.client().Del(t.Context(), marksKey).Err(), "as an older version has left it")
		}
		require.Zero(t, w.client().Exists(t.Context(), marksKey).Val(), "who is refused leaves no mark")

		w.env["EARSHOT_SECRET_KEY"] = secretKeyOf("a")
		require.Zero(t, w.serve().stop())
		require.EqualValues(t, 1, w.client().Exists(t.Context(), marksKey).Val())
	}
}

func TestTheSecretKeyIsChangedReplicaByReplica(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env["EARSHOT_SECRET_KEY"] = secretKeyOf("a")
	old := w.serve()
	w.put("/v1/apps/clinic", withSecret)
	w.env["EARSHOT_SECRET_KEY"], w.env["EARSHOT_SECRET_KEY_OLD"] = secretKeyOf("b"), secretKeyOf("a")
	w.serve()
	require.Equal(t, http.StatusOK, w.ask(old, "GET", "/readyz", "").Status, "it is still to be replaced")
	require.Zero(t, old.stop())

	w.env["EARSHOT_SECRET_KEY"], w.env["EARSHOT_SECRET_KEY_OLD"] = secretKeyOf("a"), ""
	require.Contains(t, w.refused(), "were encrypted with another secret key", "nobody starts with the old one any more")
	w.env["EARSHOT_SECRET_KEY"] = secretKeyOf("b")
	require.Zero(t, w.serve().stop())
}

// TestALostSecretKeyIsReplaced goes the way of the runbook.
func TestALostSecretKeyIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env["EARSHOT_SECRET_KEY"] = secretKeyOf("a")
	w.serve()
	w.put("/v1/apps/clinic", withSecret)
	w.put("/v1/apps/clinic/repositories/r", `{"tools":[{"name":"alarm"},{"name":"t","url":"http://127.0.0.1:1","request":{"auth":"module","moduleId":"calendar"}}]}`)
	require.Zero(t, w.replicas[0].stop())

	w.env["EARSHOT_SECRET_KEY"] = secretKeyOf("b")
	require.Contains(t, w.refused(), "were encrypted with another secret key")
	require.Contains(t, w.ok("reseal", "--lost"), "lost are the credentials of 1 app, 2 repositories: start the replicas")
	r := w.serve()
	require.Contains(t, w.ask(r, "GET", "/v1/apps/clinic", "").Body, `"secret":"***"`)
	require.Equal(t, http.StatusCreated, w.ask(r, "POST", "/v1/apps/clinic/triggers", `{"name":"alarm","values":{},"source":"ui"}`).Status)
	require.Equal(t, http.StatusOK, w.ask(r, "PUT", "/v1/apps/clinic", withSecret).Status)
}

func TestRedisThatBecomesAnothersIsNotReady(t *testing.T) {
	t.Parallel()
	w, other := serving(t, 1), newWorld(t)
	other.env["EARSHOT_SECRET_KEY"] = secretKeyOf("b")
	require.Zero(t, other.serve().stop())
	theirs := other.client().HGetAll(t.Context(), marksKey).Val()
	require.NoError(t, w.client().HSet(t.Context(), marksKey, theirs).Err(), "as a restored snapshot does")
	require.Contains(t, w.call(http.StatusServiceUnavailable, "GET", "/readyz", "").Body, "redis holds credentials that were encrypted with another secret key")
}

func TestDevWithAMadeUpKeySaysWhatItNeedsTheSecondTime(t *testing.T) {
	t.Parallel()
	servers := newWorld(t)
	env := map[string]string{"REDIS_URL": servers.redis.URL(), "NATS_URL": servers.nats.URL()}
	w := atDev(t, env, "--no-keys")
	w.put("/v1/apps/clinic", `{}`)
	require.Zero(t, w.replicas[0].stop())
	w = atDev(t, env, "--no-keys")
	w.put("/v1/apps/clinic", withSecret)
	require.Zero(t, w.replicas[0].stop())

	again := launch(t, env, "dev", "--no-keys", "--addr", "127.0.0.1:0")
	require.Equal(t, 1, again.wait())
	require.Contains(t, again.log.String(), "without EARSHOT_SECRET_KEY, dev makes a new key at each start: start with that key as EARSHOT_SECRET_KEY")

	given := maps.Clone(servers.env)
	given["EARSHOT_SECRET_KEY"] = secretKeyOf("a")
	require.NoError(t, servers.client().FlushAll(t.Context()).Err())
	for range 2 {
		w = atDev(t, given)
		w.env["EARSHOT_ADMIN_KEY"] = testAdminKey
		w.put("/v1/apps/clinic", withSecret)
		require.Zero(t, w.replicas[0].stop())
	}
}

func TestTheProductionCommandMakesOneKeyForAllStarts(t *testing.T) {
	_, production, _ := strings.Cut(testbed.Read(t, "../../deploy/docs/operations.md"), "```sh server\n")
	production, _, _ = strings.Cut(production, "```")
	serve, _, err := newRoot(environment{}).Find([]string{"serve"})
	require.NoError(t, err)
	for _, typed := range []string{serve.Example, production} {
		shown := strings.NewReplacer("go run ./cmd/earshot serve", `printf %s "$EARSHOT_SECRET_KEY"`, "earshot serve", `printf %s "$EARSHOT_SECRET_KEY"`).Replace(typed)
		require.NotEqual(t, typed, shown)
		shown = strings.Replace(shown, `\`+"\n  printf", "; printf", 1) // variables are not the command's arguments
		shown = strings.Replace(shown, `\`+"\nprintf", "; printf", 1)
		folder := t.TempDir()
		var keys []string
		for range 2 {
			command := exec.Command("sh", "-ec", shown)
			command.Dir = folder
			key, err := command.Output()
			require.NoError(t, err, shown)
			keys = append(keys, string(key))
		}
		require.Equal(t, keys[0], keys[1], "a key for every start")
		testbed.Got(secretKey("it", secret.New(keys[0])))(t)
	}
}

func TestAReplicaStartsOnARedisThatIsFull(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	require.Zero(t, w.replicas[0].stop())
	require.NoError(t, w.client().Del(t.Context(), marksKey).Err())
	w.fill()
	r := w.start()
	w.until("it serves what it can", func() bool { return w.ask(r, "GET", "/v1/apps/clinic", "").Status == http.StatusOK })
	w.drain()
	require.Zero(t, r.stop())
}

func TestRedisThatALaterVersionHasChangedIsRefusedAndLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.serve()
	require.Equal(t, strconv.Itoa(format.Known(format.Steps())), w.client().HGet(t.Context(), keyspace.Format, "version").Val())
	require.NoError(t, w.client().HSet(t.Context(), keyspace.Format, "version", "99", "oldest", "1", "program", "v9").Err())
	require.Zero(t, w.serve().stop(), "one that this version finds its way in")

	require.NoError(t, w.client().HSet(t.Context(), keyspace.Format, "oldest", "99").Err())
	require.Equal(t, 1, r.wait(), "the one that runs has missed it, and ends")
	require.Contains(t, r.log.String(), "its format is 99, by earshot v9")
	require.Contains(t, w.refused(), "start that version or a later one")
	require.Equal(t, "99", w.client().HGet(t.Context(), keyspace.Format, "version").Val())
}

func TestDataThatAStepCannotChangeIsSaid(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	w.say("s1", "", "hello")
	require.Zero(t, w.replicas[0].stop())
	require.NoError(t, w.client().HSet(t.Context(), keyspace.Format, "version", "1").Err())
	sessions := keyspace.KeysOf("clinic").Sessions()
	require.NoError(t, w.client().Set(t.Context(), sessions, "no list", 0).Err())
	r := w.start()
	r.log.Await(t, `"level":"WARN","msg":"format.failed","error":"change the format of partition \d+: what it holds cannot be changed to the format of this version: WRONGTYPE`)
	require.Contains(t, w.ask(r, "GET", "/readyz", "").Body, "not ready: redis holds data that cannot be changed to the format of this version")
	require.NoError(t, w.client().Del(t.Context(), sessions).Err())
	w.ready(r)
	require.Zero(t, r.stop())
}
