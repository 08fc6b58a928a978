package main

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/natstest"
	"earshot/deploy/testbed/redistest"
	"earshot/emitter"
	"earshot/repositories/keyspace"
)

func TestServiceStartsBeforeItsServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.redis.Stop()
	w.nats.Stop()
	r := w.start()
	w.call(200, "GET", "/healthz", "")
	require.Regexp(t, "redis.*nats", w.call(503, "GET", "/readyz", "").Body)
	r.log.Await(t, `"msg":"redis.unavailable"`)
	require.NotContains(t, r.log.String(), "service.started")
	w.call(503, "PUT", "/v1/apps/clinic", `{}`)
	w.redis.Start()
	w.nats.Start()
	r.log.Await(t, `"msg":"service.started"`)
	w.ready(r)
	w.call(201, "PUT", "/v1/apps/clinic", `{}`)
	require.Zero(t, r.stop())
}

// TestFailoverUnderLoadFiresNothingTwice promotes the replica while messages are posted. The last writes of the
// old master are lost and repeated under the same ids, which the stream drops.
func TestFailoverUnderLoadFiresNothingTwice(t *testing.T) {
	t.Parallel()
	leaveOutWhenShort(t)
	for name, promote := range map[string]func(*redistest.Sentinel){
		"an operator asks for it": (*redistest.Sentinel).Failover,
		"the master dies":         func(sentinel *redistest.Sentinel) { sentinel.Master().Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failOver(t, promote)
		})
	}
}

func failOver(t *testing.T, promote func(*redistest.Sentinel)) {
	sentinel := redistest.RunSentinel(t)
	w := newWorld(t)
	w.redis = sentinel.Server
	w.env["REDIS_URL"] = sentinel.URL()
	w.serve()
	w.serve()
	const once = 60
	w.put("/v1/apps/clinic", `{"name":"Clinic","settings":{"limits":null}}`)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","schema":[{"parameter":"day","type":"string"}]}]}`)
	for i := range once {
		w.put(fmt.Sprintf("/v1/apps/clinic/sessions/o%d/repositories/once", i), `{"options":{"triggerOnce":true},"tools":[{"name":"one"}]}`)
	}
	w.rest()
	sentinel.Replicate()

	l := pressed(w)
	for c := range 4 { // for the same triggerOnce repositories in the same order
		l.clients.Go(func() {
			for i := range once {
				l.post(fmt.Sprint("o", i), fmt.Sprintf("o%d-%d", i, c), "call one {}")
			}
		})
	}
	l.more(100)
	before := sentinel.Master().Addr()
	promote(sentinel)
	w.until("the replica is the master", func() bool { return sentinel.Master().Addr() != before })
	l.more(200)
	l.end()
	for _, r := range w.replicas {
		w.ready(r)
	}
	w.rest()
	t.Logf("%d messages decided, %d requests refused", l.answered.Load(), l.refused.Load())

	for i := range once {
		require.Len(t, w.events(fmt.Sprintf("tool.trigger.clinic.o%d.one", i)), 1, "session o%d", i)
	}
	l.requireStored(w.events("tool.trigger.clinic.>"))
}

// requireStored checks that the stream has everything in the clients' answers, once each.
func (l *load) requireStored(events []storedEvent) {
	ids, triggers := map[string]bool{}, map[string]bool{}
	for _, one := range events {
		id := one.Header.Get("Nats-Msg-Id")
		require.False(l.t, ids[id], "%s is there twice", id)
		ids[id] = true
		trigger := one.Payload["id"].(string)
		require.False(l.t, triggers[trigger], "%s fired twice", trigger)
		triggers[trigger] = true
	}
	for message, answer := range l.answers {
		for _, match := range answer.Matches {
			require.True(l.t, triggers[match.TriggerID], "%s of message %s is lost", match.TriggerID, message)
		}
	}
}

func leaveOutWhenShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("several servers need seconds to find each other")
	}
}

// clustered returns a world of two replicas on a Redis Cluster, and the names of one app per node.
func clustered(t *testing.T, arguments ...string) (*world, *redistest.Cluster, []string) {
	t.Helper()
	leaveOutWhenShort(t)
	cluster := redistest.RunCluster(t, arguments...)
	w := newWorld(t)
	w.redis = cluster.Server
	w.env["REDIS_URL"] = cluster.URL()
	w.serve("--strict-redis")
	w.serve("--strict-redis")
	var apps []string
	held := map[*redistest.Server]bool{}
	for n := 0; len(apps) < len(cluster.Nodes); n++ {
		app := fmt.Sprint("app-", n)
		if node := cluster.Holding(keyspace.KeysOf(app).Due()); !held[node] {
			held[node] = true
			apps = append(apps, app)
		}
	}
	return w, cluster, apps
}

func TestAppsOnAllNodesOfARedisCluster(t *testing.T) {
	t.Parallel()
	w, _, apps := clustered(t)
	sink := newSink(t)
	for _, app := range apps {
		w.put("/v1/apps/"+app, `{}`)
		w.put("/v1/apps/"+app+"/repositories/once", fmt.Sprintf(`{"options":{"triggerOnce":true},"tools":[{"name":"first","url":%[1]q},{"name":"second","url":%[1]q}]}`, sink.URL))
	}
	fired := map[string]int{}
	for i, got := range together(24, func(i int) httpAnswer {
		return w.ask(w.replicas[i%2], "POST", "/v1/apps/"+apps[i%3]+"/sessions/s1/messages", messageBody(fmt.Sprint("m", i), "call first {}"))
	}) {
		require.Equal(t, http.StatusOK, got.Status, got.Body)
		fired[apps[i%3]] += len(read[posted](t, got.Body).Matches)
	}
	w.rest()
	for _, app := range apps {
		require.Equal(t, 1, fired[app])
		require.Len(t, w.events("tool.trigger."+app+".>"), 1)
		require.Len(t, w.events("tool.changed."+app+".once"), 2)
		require.Contains(t, w.call(200, "GET", "/v1/apps/"+app+"/triggers", "").Body, `"delivered"`)
		require.Contains(t, w.call(200, "GET", "/v1/apps", "").Body, app)
	}
	require.Len(t, sink.requests(), 3)
}

func TestNodeOfARedisClusterThatIsDownStopsItsOwnAppsOnly(t *testing.T) {
	t.Parallel()
	w, cluster, apps := clustered(t, "--cluster-require-full-coverage", "no")
	for _, app := range apps {
		w.put("/v1/apps/"+app, `{}`)
		w.put("/v1/apps/"+app+"/repositories/desk", `{"tools":[{"name":"book"}]}`)
	}
	w.rest()
	post := func(app, id string) httpAnswer {
		return w.ask(w.replicas[0], "POST", "/v1/apps/"+app+"/sessions/s1/messages", messageBody(id, "call book {}"))
	}
	node := cluster.Holding(keyspace.KeysOf(apps[0]).Due())
	node.Kill()
	due := keyspace.AllDue()
	first := slices.IndexFunc(due, func(key string) bool { return cluster.Holding(key) == node })
	slot, err := w.client().ClusterKeySlot(t.Context(), due[first]).Result() // which names the node
	require.NoError(t, err)
	shard := fmt.Sprintf("shard of slot %d", slot)
	for _, r := range w.replicas {
		w.until("one shard is away", func() bool { return strings.Contains(w.ask(r, "GET", "/readyz?verbose", "").Body, shard) })
		require.JSONEq(t, `{"status":"ready"}`, w.ask(r, "GET", "/readyz", "").Body, "the others have their apps")
	}
	require.JSONEq(t, `{"status":"ready","services":[
		{"name":"redis","state":"partly","away":[{"name":"`+shard+`","says":"no answer"}]},
		{"name":"nats","state":"ready"},{"name":"this replica","state":"ready"}]}`, w.call(200, "GET", "/readyz?verbose", "").Body)
	health := command(t, map[string]string{"EARSHOT_URL": w.replicas[0].url}, "health")
	require.Equal(t, commandResult{0, "ready; redis " + shard + ": no answer\n", ""}, health)
	w.until("it is counted", func() bool {
		return strings.Contains(w.call(200, "GET", "/metrics", "").Body, "\nearshot_redis_shards_away 1\n")
	})
	require.Contains(t, w.replicas[0].log.String(), node.Addr(), "the log says where it is")

	w.nats.Stop()
	got := post(apps[0], "m1")
	require.Equal(t, http.StatusServiceUnavailable, got.Status, got.Body)
	require.NotEmpty(t, got.Header.Get("Retry-After"))
	got = post(apps[1], "m1")
	require.Equal(t, http.StatusOK, got.Status, got.Body)
	require.Equal(t, "pending", read[posted](t, got.Body).Matches[0].Event.State)
	require.Contains(t, w.call(503, "GET", "/readyz", "").Body, "not ready: no answer from nats")

	w.nats.Start()
	w.until("what is owed for the others is delivered", func() bool { return len(w.events("tool.trigger."+apps[1]+".>")) == 1 })
	node.Start()
	for _, r := range w.replicas {
		w.ready(r)
	}
	w.until("its apps are back", func() bool { return post(apps[0], "m1").Status == http.StatusOK })
	w.rest()
	require.Len(t, w.events("tool.trigger."+apps[0]+".>"), 1)
}

// TestNATSWithoutAQuorumIsNotReady stops two of three servers; the last still answers.
func TestNATSWithoutAQuorumIsNotReady(t *testing.T) {
	t.Parallel()
	leaveOutWhenShort(t)
	cluster := natstest.RunCluster(t)
	w := newWorld(t)
	w.env["NATS_URL"] = cluster.URL()
	r := w.serve("--nats-replicas", "3")
	w.put("/v1/apps/clinic", `{}`)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book"}]}`)
	w.rest()
	cluster.Servers[0].Stop()
	cluster.Servers[1].Stop()
	const leaderless = `{"name":"nats","state":"away","says":"takes no events: its stream has no leader"}`
	w.until("the stream has no leader", func() bool {
		got := w.ask(r, "GET", "/readyz?verbose", "")
		return got.Status == http.StatusServiceUnavailable && strings.Contains(got.Body, leaderless)
	})
	for range 3 { // it stays so
		require.Contains(t, w.call(503, "GET", "/readyz", "").Body, "not ready: nats takes no events: its stream has no leader")
	}
	require.Equal(t, "pending", w.say("s1", "m1", "call book {}").Matches[0].Event.State, "messages are decided all the same")
	cluster.Servers[1].Start()
	w.ready(r)
	w.rest()
}

// TestRedisThatTakesNoWritesIsToldByItsOwnWords has a master that requires a missing replica.
func TestRedisThatTakesNoWritesIsToldByItsOwnWords(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	operator := w.client()
	require.NoError(t, operator.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	require.Contains(t, w.call(503, "GET", "/readyz", "").Body, `"not ready: redis answers NOREPLICAS"`)
	require.Contains(t, w.call(503, "GET", "/readyz?verbose", "").Body, `{"name":"redis","state":"away","says":"NOREPLICAS Not enough good replicas to write."}`)
	require.Contains(t, w.call(503, "POST", messagesPath("s1"), messageBody("m1", "call book {}")).Body, "the store answers NOREPLICAS; send the request again")
	require.Contains(t, command(t, map[string]string{"EARSHOT_URL": w.replicas[0].url}, "health").err, "redis answers NOREPLICAS")
	require.NoError(t, operator.ConfigSet(t.Context(), "min-replicas-to-write", "0").Err())
	w.call(200, "GET", "/readyz", "")
	w.replicas[0].log.Await(t, `("msg":"ready.again","service":"redis","held":2)`) // health probed as well
	require.Len(t, regexp.MustCompile(`"msg":"ready.failed".*NOREPLICAS`).FindAllString(w.replicas[0].log.String(), -1), 1)
}

// TestAReplicaThatStartsTellsWhyRedisTakesNothing has a Redis that requires a missing replica from the start.
func TestAReplicaThatStartsTellsWhyRedisTakesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.client().ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	r := w.start()
	w.until("Redis was asked", func() bool {
		return strings.Contains(w.ask(r, "GET", "/readyz", "").Body, "redis answers NOREPLICAS")
	})
	require.Contains(t, w.ask(r, "PUT", "/v1/apps/clinic", `{}`).Body, "the store answers NOREPLICAS")
	require.NoError(t, w.client().ConfigSet(t.Context(), "min-replicas-to-write", "0").Err())
	w.ready(r)
}

func TestLeaderOfANATSClusterThatStopsUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	leaveOutWhenShort(t)
	cluster := natstest.RunCluster(t)
	w := newWorld(t)
	w.env["NATS_URL"] = cluster.URL()
	w.serve("--nats-replicas", "3")
	w.serve("--nats-replicas", "3")
	w.put("/v1/apps/clinic", `{"settings":{"limits":null}}`)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","schema":[{"parameter":"day","type":"string"}]}]}`)
	w.rest()
	require.Equal(t, 3, cluster.StreamConfig(emitter.Stream).Replicas)

	l := pressed(w)
	l.more(100)
	leader := cluster.Leader(emitter.Stream)
	leader.Stop()
	l.more(100)
	leader.Start()
	l.more(50)
	l.end()
	require.Zero(t, l.refused.Load(), "messages are decided without NATS")
	w.rest()
	l.requireStoredInOrder(cluster.Streams)
}

// requireStoredInOrder checks that the stream has everything in the clients' answers, once each and in each
// session's order.
func (l *load) requireStoredInOrder(streams natstest.Streams) {
	events := decodeEvents(l.t, streams.Stored(emitter.Stream, "tool.trigger.clinic.>"))
	l.requireStored(events)
	require.Len(l.t, events, len(l.answers))
	next := map[any]int{}
	for _, one := range events {
		session := one.Payload["sessionId"]
		require.Equal(l.t, fmt.Sprint(next[session]), one.Payload["values"].(map[string]any)["day"], "session %v", session)
		next[session]++
	}
}
