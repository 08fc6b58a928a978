package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"earshot/cmd/earshot/redisdb"
	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
	"earshot/deploy/testbed/redistest"
	"earshot/emitter"
	"earshot/repositories/keyspace"
)

func (w *world) examined(flags ...string) (checks map[string]looked, code int) {
	got := w.run(append([]string{"doctor", "--json"}, flags...)...)
	checks = map[string]looked{}
	for _, one := range read[struct{ Checks []looked }](w.t, got.out).Checks {
		checks[one.Server+" "+one.Check] = one
	}
	return checks, got.code
}

func notOK(checks map[string]looked) (list []string) {
	for name, one := range checks {
		if one.State != stateOK {
			list = append(list, one.State+" "+name)
		}
	}
	return list
}

func TestDoctorFindsNothingWrongWithServersAsThePackageHasThem(t *testing.T) {
	t.Parallel()
	w := permitted(t, changed(t, redisACL, ">PASSWORD", ">p"), changed(t, natsRights, "$NATS_PASSWORD", "p"))
	require.NoError(t, w.client().ConfigSet(t.Context(), "maxmemory", "1gb").Err())
	require.NoError(t, w.client().ConfigSet(t.Context(), "appendfsync", "always").Err())
	for _, step := range []string{"before the first start", "after it"} {
		keys := w.redis.Keys()
		checks, code := w.examined("--strict-redis")
		if step == "after it" {
			require.Regexp(t, `^0 of 4294967296 bytes, max age 168h0m0s, replicas 1$`, checks["nats stream EARSHOT"].Found)
		} else {
			require.Equal(t, "not there yet: serve makes it", checks["nats stream EARSHOT"].Found)
		}
		delete(checks, "nats max_payload") // that of the test's server
		require.Empty(t, notOK(checks), "%s: %v", step, checks)
		require.Greater(t, len(checks), 15)
		require.Zero(t, code)
		require.Empty(t, w.denials())
		require.ElementsMatch(t, keys, w.redis.Keys(), "it writes nothing")
		if step == "before the first start" {
			r := w.serve()
			w.until("both streams are there", func() bool { return w.nats.StreamConfig(emitter.AnswerStream).Name != "" })
			require.Zero(t, r.stop())
		}
	}
	out := w.ok("doctor")
	require.Regexp(t, `(?m)^ok    redis  permissions             all \d+ commands, on earshot:\*$`, out)
	require.Regexp(t, `(?m)^ok    nats   permissions             all \d+ subjects$`, out)
}

// TestDoctorNamesEachLineOfThePermissionsThatIsTakenAway removes the first of each kind, and nightly each one.
func TestDoctorNamesEachLineOfThePermissionsThatIsTakenAway(t *testing.T) {
	t.Parallel()
	lines := regexp.MustCompile(`(?m)^        ("[^"]+")$`).FindAllStringSubmatch(testbed.Read(t, natsRights), -1)
	require.Len(t, lines, len(emitter.Needed(true).Publish)+len(emitter.Needed(true).Subscribe))
	publish := len(emitter.Needed(true).Publish)
	for n, line := range lines {
		subject := strings.Trim(line[1], `"`)
		if !testbed.Nightly && n != 0 && n != publish && subject != emitter.AskUser {
			continue
		}
		given := testbed.Got(server.ProcessConfigFile(changed(t, natsRights, "$NATS_PASSWORD", "p")))(t)
		rights := given.Users[0].Permissions
		of := rights.Subscribe
		if n < publish {
			of = rights.Publish
		}
		for i, one := range of.Allow {
			if one == subject {
				of.Allow = append(of.Allow[:i:i], of.Allow[i+1:]...)
				break
			}
		}
		s := natstest.Run(t, func(o *server.Options) { o.Users = given.Users })
		got := command(t, map[string]string{"NATS_URL": strings.Replace(s.URL(), "nats://", "nats://earshot:p@", 1), "EARSHOT_NATS_INGRESS": "on"}, "doctor")
		s.Stop()
		switch {
		case subject == emitter.AskUser, subject == "_INBOX.>" && n >= publish: // then no answer arrives
			require.Regexp(t, `(?m)^warn  nats   permissions  .*nats-permissions\.conf has$`, got.out, subject)
		default:
			require.Equal(t, 1, got.code)
			require.Regexp(t, `(?m)^fail  nats   permissions  .*its user may not (publish on|subscribe to) `+regexp.QuoteMeta(subject)+`; give it`, got.out)
		}
	}
}

func TestDoctorSaysWhatToChangeInRedis(t *testing.T) {
	t.Parallel()
	w := onRedis(t, "--maxmemory-policy", "allkeys-lru", "--appendonly", "no", "--timeout", "10", "--busy-reply-threshold", "100")
	delete(w.env, "NATS_URL")
	checks, code := w.examined()
	require.Equal(t, 1, code)
	require.Equal(t, looked{Server: "redis", Check: "eviction", State: stateFail, Found: "allkeys-lru", Change: "its maxmemory-policy is allkeys-lru, under which it drops what is pending; set it to noeviction"}, checks["redis eviction"])
	for check, change := range map[string]string{
		"append-only file": "set appendonly yes and appendfsync always", "appendfsync": "set appendfsync always", "timeout": "set timeout 0", "busy-reply-threshold": "set busy-reply-threshold 5000", "maxmemory": "set maxmemory",
	} {
		require.Equal(t, stateWarn, checks["redis "+check].State, check)
		require.Contains(t, checks["redis "+check].Change, change)
	}
	checks, _ = w.examined("--strict-redis")
	require.Equal(t, stateFail, checks["redis append-only file"].State)

	w.asUser("+@all", "-zadd", "-@dangerous")
	checks, code = w.examined()
	require.Equal(t, 1, code)
	require.Equal(t, "its user may not +client|list, +config|get, +info, +zadd", checks["redis permissions"].Found)
	require.Equal(t, stateWarn, checks["redis settings"].State)
	for _, check := range []string{"version", "eviction", "append-only file"} {
		require.NotContains(t, checks, "redis "+check, "nobody has read it")
	}
	for _, check := range []string{"appendfsync", "timeout", "busy-reply-threshold"} {
		require.Equal(t, stateWarn, checks["redis "+check].State, check)
		require.Contains(t, checks["redis "+check].Change, "allow CONFIG GET")
	}
	w.asUser("resetkeys", "~other:*", "+@all")
	checks, code = w.examined()
	require.Equal(t, 1, code)
	require.Contains(t, checks["redis reach"].Change, "its user may not read earshot:partitions")
	require.Equal(t, "its user may not ~earshot:*", checks["redis permissions"].Found)

	w.env["REDIS_URL"] = w.redis.URL()
	require.NoError(t, w.client().ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err())
	used, _, err := redisdb.Memory(t.Context(), &keyspace.DB{UniversalClient: w.client()})
	require.NoError(t, err)
	require.NoError(t, w.client().ConfigSet(t.Context(), "maxmemory", strconv.FormatInt(used*11/10, 10)).Err())
	checks, code = w.examined("--redis-wait", "1")
	require.Zero(t, code, checks)
	require.Contains(t, checks["redis replicas"].Change, "it has 0 replicas, and --redis-wait asks for 1")
	require.Contains(t, checks["redis maxmemory"].Change, "it is nearly full")
	w.fill()
	checks, code = w.examined()
	require.Equal(t, 1, code)
	require.Equal(t, stateFail, checks["redis maxmemory"].State)
	require.Contains(t, checks["redis maxmemory"].Change, "it is full, and refuses messages")
	require.NoError(t, w.client().ConfigSet(t.Context(), "maxmemory", "0").Err())
	require.NoError(t, w.client().Set(t.Context(), "earshot:partitions", "32", 0).Err())
	checks, code = w.examined()
	require.Equal(t, 1, code)
	require.Contains(t, checks["redis reach"].Change, "32 partitions, this version uses 64")
	w.redis.Stop()
	require.Regexp(t, `^fail  redis  reach +it does not answer: .*connection refused; see REDIS_URL`, failing(t, w.env, "doctor").out)
}

// TestDoctorComparesClocks shifts this machine's clock.
func TestDoctorComparesClocks(t *testing.T) {
	t.Parallel()
	s := redistest.Run(t)
	var out strings.Builder
	env := around(map[string]string{"REDIS_URL": s.URL()}, &out, &out, "")
	env.now = func() time.Time { return time.Now().Add(time.Hour) }
	require.Zero(t, run(t.Context(), []string{"doctor"}, env))
	require.Regexp(t, `(?m)^warn  redis  clock .*-(1h0m|59m59)\S+ apart: its clock and that of this machine are .* have both follow NTP$`, out.String())
}

func TestDoctorLooksAtEachMasterOfACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.RunCluster(t, "--cluster-require-full-coverage", "no")
	w := newWorld(t)
	w.env = map[string]string{"REDIS_URL": cluster.URL()}
	last := cluster.Nodes[2]
	require.NoError(t, last.Client().ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err())
	require.NoError(t, last.Client().ConfigSet(t.Context(), "cluster-node-timeout", "15000").Err())
	got := failing(t, w.env, "doctor")
	require.Regexp(t, `(?m)^fail  redis  eviction +`+last.Addr()+`: allkeys-lru: `, got.out)
	require.Regexp(t, `(?m)^ok    redis  eviction +`+cluster.Nodes[0].Addr()+`: noeviction$`, got.out)
	require.Regexp(t, `(?m)^warn  redis  cluster-node-timeout +`+last.Addr()+`: 15000: .*set cluster-node-timeout 5000$`, got.out)
	require.Contains(t, got.out, "16384 of 16384 covered")
	require.NoError(t, cluster.Nodes[0].Client().ClusterDelSlots(t.Context(), 0, 1, 2).Err())
	w.until("it is seen", func() bool {
		return strings.Contains(w.run("doctor").out, "3 slots have no master, and their apps are answered 503")
	})
}

func TestDoctorSaysWhatToChangeInNATS(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	delete(w.env, "REDIS_URL")
	checks, code := w.examined()
	require.Zero(t, code)
	require.Contains(t, checks["nats max_payload"].Change, "set max_payload: 8MB")
	full := map[string]string{"NATS_URL": w.env["NATS_URL"], "EARSHOT_STREAM_MAX_BYTES": "64KiB", "REDIS_URL": w.redis.URL()}
	for name, value := range w.env {
		if full[name] == "" {
			full[name] = value
		}
	}
	w.env = full
	require.Zero(t, w.serve().stop())
	delete(w.env, "EARSHOT_STREAM_MAX_BYTES")
	checks, code = w.examined("--stream-max-age", "24h")
	require.Zero(t, code)
	require.Equal(t, stateWarn, checks["nats stream EARSHOT"].State)
	require.Contains(t, checks["nats stream EARSHOT"].Change, "(MaxBytes 65536, asked for 4294967296, MaxAge 168h0m0s, asked for 24h0m0s)")
	require.Equal(t, 7*24*time.Hour, w.nats.StreamConfig(emitter.Stream).MaxAge, "it changes nothing")
	byHand := w.nats.StreamConfig(emitter.Stream)
	byHand.MaxBytes = 1000
	w.nats.UpdateStream(byHand)
	checks, code = w.examined()
	require.Equal(t, 1, code)
	require.Contains(t, checks["nats stream EARSHOT"].Change, "is full: raise EARSHOT_STREAM_MAX_BYTES")

	w.nats.Stop()
	got := failing(t, map[string]string{"NATS_URL": strings.Replace(w.nats.URL(), "nats://", "nats://u:planted@", 1)}, "doctor")
	require.Regexp(t, `^fail  nats   reach +it does not answer: .*see NATS_URL`, got.out)
	require.NotContains(t, got.out+got.err, "planted")

	bare := natstest.Run(t, func(o *server.Options) { o.JetStream = false })
	got = failing(t, map[string]string{"NATS_URL": bare.URL()}, "doctor")
	require.Regexp(t, `(?m)^fail  nats   JetStream +off: NATS has no JetStream`, got.out)
	require.Contains(t, failing(t, nil, "doctor").err, "REDIS_URL (--redis-url) and NATS_URL (--nats-url) are not set")
}

// TestDoctorSeesAClusterOfNATSThatLosesServers stops one of three servers, and then another.
func TestDoctorSeesAClusterOfNATSThatLosesServers(t *testing.T) {
	leaveOutWhenShort(t)
	t.Parallel()
	cluster := natstest.RunCluster(t)
	w := newWorld(t)
	w.env["NATS_URL"] = cluster.URL()
	require.Zero(t, w.serve("--nats-replicas", "1").stop())
	var checks map[string]looked
	w.until("all servers have heard of the stream", func() bool {
		found, code := w.examined()
		checks = found
		return code == 0
	})
	require.Contains(t, checks["nats stream EARSHOT"].Change, "one server of the cluster holds it alone; give --nats-replicas 3")
	require.Contains(t, func() string {
		checks, _ := w.examined("--nats-replicas", "3")
		return checks["nats stream EARSHOT"].Change
	}(), "Replicas 1, asked for 3")
	require.Zero(t, w.serve("--nats-replicas", "3").stop())
	w.until("all hold it", func() bool {
		checks, _ := w.examined("--nats-replicas", "3")
		return checks["nats stream EARSHOT leader"].State == stateOK
	})
	leader := cluster.Leader(emitter.Stream)
	var others []*natstest.Server
	for _, one := range cluster.Servers {
		if one != leader {
			others = append(others, one)
		}
	}
	others[0].Stop()
	w.until("one is away", func() bool {
		checks, _ := w.examined()
		return checks["nats stream EARSHOT leader"].State == stateWarn && strings.Contains(checks["nats stream EARSHOT leader"].Change, "are away, or behind: ")
	})
	others[1].Stop()
	w.until("there is no quorum", func() bool {
		checks, code := w.examined()
		return code == 1 && (checks["nats stream EARSHOT"].State == stateFail || checks["nats stream EARSHOT leader"].State == stateFail)
	})
}
