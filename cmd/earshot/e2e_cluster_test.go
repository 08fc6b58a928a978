package main

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/emitter"
	"earshot/emitter/natstest"
	"earshot/repositories"
	"earshot/repositories/redistest"
)

func leaveOutWhenShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("several servers need seconds to find each other")
	}
}

// clustered returns a world of two replicas on a Redis Cluster, and the names of apps
// of which each node holds one.
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
		if node := cluster.Holding(repositories.KeysOf(app).Due()); !held[node] {
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
		w.put("/v1/apps/"+app+"/repositories/once", onceRepository(sink.URL))
	}
	fired := map[string]int{}
	for i, got := range together(24, func(i int) answer {
		return w.ask(w.replicas[i%2], "POST", "/v1/apps/"+apps[i%3]+"/sessions/s1/messages", message(fmt.Sprint("m", i), "call first {}"))
	}) {
		require.Equal(t, http.StatusOK, got.Status, got.Body)
		fired[apps[i%3]] += len(read[posted](t, got).Matches)
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
	post := func(app, id string) answer {
		return w.ask(w.replicas[0], "POST", "/v1/apps/"+app+"/sessions/s1/messages", message(id, "call book {}"))
	}
	node := cluster.Holding(repositories.KeysOf(apps[0]).Due())
	node.Kill()
	w.nats.Stop()
	got := post(apps[0], "m1")
	require.Equal(t, http.StatusServiceUnavailable, got.Status, got.Body)
	require.NotEmpty(t, got.Header.Get("Retry-After"))
	got = post(apps[1], "m1")
	require.Equal(t, http.StatusOK, got.Status, got.Body)
	require.Equal(t, "pending", read[posted](t, got).Matches[0].Event.State)
	require.Contains(t, w.call(503, "GET", "/readyz", "").Body, "redis")

	w.nats.Start()
	w.until("what is owed for the others is delivered", func() bool { return len(w.events("tool.trigger."+apps[1]+".>")) == 1 })
	node.Start()
	for _, r := range w.replicas {
		w.until("it is ready again", func() bool { return w.ask(r, "GET", "/readyz", "").Status == http.StatusOK })
	}
	w.until("its apps are back", func() bool { return post(apps[0], "m1").Status == http.StatusOK })
	w.rest()
	require.Len(t, w.events("tool.trigger."+apps[0]+".>"), 1)
}

func TestLeaderOfANATSClusterThatStopsUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	leaveOutWhenShort(t)
	cluster := natstest.RunCluster(t, 3)
	w := newWorld(t)
	w.env["NATS_URL"] = cluster.URL()
	w.serve("--nats-replicas", "3")
	w.serve("--nats-replicas", "3")
	w.put("/v1/apps/clinic", `{"settings":{"limits":null}}`)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","schema":[{"parameter":"day","type":"string"}]}]}`)
	w.rest()
	require.Equal(t, 3, cluster.StreamConfig(emitter.Stream).Replicas)

	l := pressed(w, 4)
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

// requireStoredInOrder checks that the stream holds what clients were told of, each
// once, and that of every session in the order of its messages.
func (l *load) requireStoredInOrder(streams natstest.Streams) {
	l.t.Helper()
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
