package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"earshot/deploy/monitoring"
	"earshot/deploy/testbed"
	"earshot/emitter"
	"earshot/matcher/llm/llmtest"
	"earshot/repositories/files"
)

// watched is a replica with an endpoint, both of which can be disturbed. The rules of deploy/monitoring run on
// its /metrics: seconds here are stretched to the minutes that an alert waits.
type watched struct {
	*world
	desk   *endpoint
	status atomic.Int64 // the endpoint's status
	late   atomic.Int64 // how far the replica's clock has jumped, in ns
}

// newWatched starts a service whose NATS user may not publish on app.clinic.secret.>, with a small stream.
func newWatched(t *testing.T) *watched {
	w := &watched{world: newWorld(t, func(o *server.Options) {
		o.Username, o.Password = "operator", "o"
		denied := &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"app.clinic.secret.>"}}}
		o.Users = []*server.User{{Username: "operator", Password: "o"}, {Username: "earshot", Password: "p", Permissions: denied}}
	})}
	w.status.Store(http.StatusOK)
	w.desk = newEndpoint(t, func(out http.ResponseWriter, _ received) { out.WriteHeader(int(w.status.Load())) })
	w.env["NATS_URL"] = strings.Replace(w.nats.URL(), "nats://", "nats://earshot:p@", 1)
	w.env["EARSHOT_STREAM_MAX_BYTES"] = "256KiB"
	w.env["EARSHOT_NATS_INGRESS"] = "on" // which has its own metrics
	w.env["EARSHOT_METRICS_APPS"] = "10"
	w.env["EARSHOT_MAX_TURNS"], w.env["EARSHOT_MAX_WAITING"] = "2", "2"
	w.clock = func() time.Time { return time.Now().Add(time.Duration(w.late.Load())) }
	w.serve()
	w.put("/v1/apps/clinic", `{"settings":{"limits":null}}`)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","url":"`+w.desk.URL+`"},
		{"name":"note","schema":[{"parameter":"text","type":"string"}]},{"name":"tell","emitter":"secret.request"}]}`)
	w.calls(http.StatusOK)
	return w
}

// scrape returns the replica's metrics after a probe. Results cached for some seconds have expired.
func (w *watched) scrape() string {
	w.late.Add(int64(time.Minute))
	w.ask(w.replicas[0], "GET", "/readyz", "")
	return w.call(200, "GET", "/metrics", "").Body
}

func (w *watched) metric(series string) string {
	_, rest, _ := strings.Cut(w.call(200, "GET", "/metrics", "").Body, "\n"+series+" ")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// fires requires that these alerts fire, as Firing does, after a quarter of an hour with trouble since its
// first minute. The trouble is made twice.
func (w *watched) fires(trouble func(), alerts ...string) {
	h := &monitoring.History{}
	h.At(w.t, 0, w.scrape())
	trouble()
	h.At(w.t, 1, w.scrape())
	trouble()
	h.At(w.t, 16, w.scrape())
	h.Firing(w.t, alerts...)
}

func (w *watched) calls(status int) {
	w.status.Store(int64(status))
	w.say("s1", "", "call book {}")
}

func (w *watched) notes(bytes int) matched {
	return w.fire("s1", "note", fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", bytes)))
}

func (w *watched) retries() {
	const retried = `earshot_effects_total{kind="event",outcome="retry"}`
	before := w.metric(retried)
	w.until("an event is tried again", func() bool { return w.metric(retried) != before })
}

func TestAlertsFireOnWhatAServiceInTroubleSays(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.fires(func() { w.calls(http.StatusOK); w.rest() })
	w.fires(func() { w.calls(http.StatusNotFound); w.rest() }, "EarshotGivenUp")
	w.fires(func() { w.nats.Stop(); w.notes(1); w.retries() }, "EarshotEventsNotPublished", "EarshotNotReady")
	w.nats.Start()
	w.rest()

	w.fires(func() {
		w.until("the stream is full", func() bool { return w.notes(9000).Event.State == "pending" })
		w.retries()
	}, "EarshotStreamFull", "EarshotStreamFilling", "EarshotEventsNotPublished", "EarshotNotReady")
	w.nats.Purge(emitter.Stream)
	w.rest()

	w.fires(func() {
		w.fill()
		w.call(503, "POST", messagesPath("s1"), messageBody("", "call book {}"))
		w.until("it is seen", func() bool { return w.metric("earshot_redis_full") == "1" })
	}, "EarshotRedisFull", "EarshotRedisFilling", "EarshotErrors", "EarshotNotReady")
	w.drain()
	w.until("there is room", func() bool { return w.metric("earshot_redis_full") == "0" })

	w.fires(func() { w.calls(http.StatusServiceUnavailable) }, "EarshotCallsFailing") // last, as the retries take long
}

func TestAlertsFireWhereTheModelIsInTrouble(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.llm.Handle(func(llmtest.Request) llmtest.Reply { return llmtest.Status(http.StatusInternalServerError, nil, "{}") })
	w.fires(func() { w.call(502, "POST", messagesPath("s1"), messageBody("", "call book {}")) }, "EarshotUndecided", "EarshotErrors")

	w.llm.Handle(func(request llmtest.Request) llmtest.Reply {
		w.late.Add(int64(8 * time.Second))
		return obey(request)
	})
	w.fires(func() { w.calls(http.StatusOK) }, "EarshotModelSlow")

	answers := make(chan struct{})
	w.llm.Handle(func(request llmtest.Request) llmtest.Reply {
		<-answers
		return obey(request)
	})
	var asking sync.WaitGroup
	defer asking.Wait()
	defer close(answers)
	w.fires(func() {
		before := w.metric(`earshot_http_refused_total{kind="turn"}`)
		for i := range 3 { // one request of the app runs, one waits
			asking.Go(func() {
				w.ask(w.replicas[0], "POST", messagesPath(fmt.Sprint("s", i)), messageBody("", "call book {}"))
			})
		}
		w.until("one is refused", func() bool { return w.metric(`earshot_http_refused_total{kind="turn"}`) != before })
	}, "EarshotRefuses", "EarshotErrors")
}

func TestAlertsFireWhereNATSDeniesAndWhereNobodyAnswers(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.env["OPENAI_BASE_URL"] = "http://127.0.0.1:1/v1"
	w.replicas = []*replica{w.serve()}
	w.fires(func() {
		w.call(502, "POST", "/v1/apps/clinic/openai/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hello"}]}`)
	}, "EarshotRelayFails", "EarshotErrors")
	w.fires(func() {
		w.fire("s1", "tell", "{}")
		w.until("it is seen", func() bool { return w.metric("earshot_publish_denied") == "1" })
	}, "EarshotPublishDenied", "EarshotNotReady", "EarshotEventsNotPublished?")

	h := &monitoring.History{}
	h.At(t, 0, w.scrape())
	require.Zero(t, w.replicas[0].stop())
	h.At(t, 1, "")
	h.At(t, 16, "")
	h.Firing(t, "EarshotReplicaDown", "EarshotGone")
}

// TestTheDashboardAndTheRulesHaveDataOfAService evaluates each panel and recorded rule on a replica that has
// used and suffered a little of everything.
func TestTheDashboardAndTheRulesHaveDataOfAService(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	require.NoError(t, w.client().ConfigSet(t.Context(), "maxmemory", "1gb").Err())
	h := &monitoring.History{}
	do := func(minute int) {
		w.calls(http.StatusOK)
		w.nats.Stop()
		w.scrape() // a 503 of its probe, and one of a route
		w.call(503, "DELETE", "/v1/apps/clinic/sessions/s1?erase=true", "")
		w.nats.Start()
		w.rest()
		w.ready(w.replicas[0])
		h.At(t, minute, w.scrape())
	}
	do(0)
	do(10)
	h.Answered(t, append(monitoring.Queries(t), monitoring.Recorded(t)...)...)
}

func TestCapacityIsAskedForNowAndThen(t *testing.T) {
	at, asked := time.Unix(1_800_000_000, 0), 0
	used, limit, away := int64(80), int64(100), error(nil)
	m := newCapacityMetrics(func() time.Time { return at },
		func(ctx context.Context) (int64, int64, error) {
			_, bounded := ctx.Deadline()
			require.True(t, bounded, "a Redis that hangs must not hold /metrics up")
			asked++
			return used, limit, away
		},
		func(context.Context) (int64, int64, error) { return 7, 0, nil })
	full := map[string]float64{"earshot_redis_memory_bytes": 80, "earshot_redis_memory_limit_bytes": 100, "earshot_stream_bytes": 7}
	require.Equal(t, full, gathered(t, m), "a stream that nothing bounds has no limit, which a share of it could be told of")

	used, limit = 90, 0
	at = at.Add(4 * time.Second)
	require.Equal(t, full, gathered(t, m))
	require.Equal(t, 1, asked, "whoever reaches /metrics does not reach Redis each time")
	at = at.Add(time.Second)
	require.Equal(t, map[string]float64{"earshot_redis_memory_bytes": 90, "earshot_stream_bytes": 7}, gathered(t, m))

	away = errors.New("no answer")
	at = at.Add(time.Minute)
	require.Equal(t, map[string]float64{"earshot_stream_bytes": 7}, gathered(t, m), "what is not known is not said")
}

func gathered(t *testing.T, m prometheus.Collector) map[string]float64 {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	families := testbed.Got(registry.Gather())(t)
	found := map[string]float64{}
	for _, family := range families {
		found[family.GetName()] = family.GetMetric()[0].GetGauge().GetValue()
	}
	return found
}

func TestHealthIsThatOfTheReplica(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	where := testbed.Got(url.Parse(w.serve().url))(t)
	for _, addr := range []string{where.Host, ":" + where.Port(), "0.0.0.0:" + where.Port(), "localhost:" + where.Port()} {
		got := command(t, map[string]string{"EARSHOT_ADDR": addr, "HTTP_PROXY": "http://127.0.0.1:1"}, "health")
		require.Equal(t, commandResult{0, "ready\n", ""}, got, addr)
	}
	require.Zero(t, command(t, nil, "health", "--server", where.String()+"/").code)

	w.nats.Stop()
	w.until("it is not ready", func() bool { return command(t, nil, "health", "--addr", where.Host).code == 1 })
	got := command(t, map[string]string{"EARSHOT_URL": where.String()}, "health")
	require.Equal(t, commandResult{1, "", "earshot: the service answers 503 Service Unavailable: not ready: no answer from nats\n"}, got)
}

func TestSchemaIsWhatEditorsRead(t *testing.T) {
	t.Parallel()
	got := command(t, nil, "schema").good(t)
	require.Empty(t, got.err)
	require.JSONEq(t, string(files.Schema()), got.out)
	require.Contains(t, got.out, "https://json-schema.org/draft/2020-12/schema")
	require.Contains(t, got.out, "A tool that a user's words can fire.")
}

func TestHealthSaysInOneLineWhyItIsNotKnown(t *testing.T) {
	t.Parallel()
	closed := testbed.Address(t)
	silent := testbed.Got(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer silent.Close()
	moved := httptest.NewServer(http.RedirectHandler("https://example.org", http.StatusFound))
	defer moved.Close()
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"--addr", closed}, "no Earshot answers at http://" + closed},
		{[]string{"--addr", silent.Addr().String(), "--timeout", "50ms"}, "http://" + silent.Addr().String() + " does not answer within 50ms"},
		{[]string{"--server", moved.URL}, "answers 302 Found, and is not an Earshot service"},
		{[]string{"--addr", "127.0.0.1:0"}, "its port is not known"},
		{[]string{"--addr", "8080"}, "missing port in address"},
		{[]string{"--server", "earshot"}, "it must be a URL"},
		{[]string{"--timeout", "0s"}, "it must be more than 0"},
	} {
		got := failing(t, nil, append([]string{"health"}, test.args...)...)
		require.Regexp(t, `^earshot: [^\n]+\n$`, got.err)
		require.Contains(t, got.err, test.says)
	}
}

// TestHealthOfAReplicaWithTLS has an untrusted certificate, as for any service called by 127.0.0.1.
func TestHealthOfAReplicaWithTLS(t *testing.T) {
	t.Parallel()
	ready := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" || r.Header.Get("Authorization") != "" {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	defer ready.Close()
	env := map[string]string{"EARSHOT_ADDR": ready.Listener.Addr().String(), "EARSHOT_TLS_CERT": "cert.pem", "EARSHOT_ADMIN_KEY": "k"}
	require.Equal(t, commandResult{0, "ready\n", ""}, command(t, env, "health"))

	got := command(t, nil, "health", "--server", ready.URL, "--timeout", time.Minute.String())
	require.Equal(t, 1, got.code, "the certificate of another server is looked at")
	require.Contains(t, got.err, "certificate")
}

func TestTheCollectorRunsSeldomWhileLittleIsLive(t *testing.T) {
	percent := func() int64 {
		percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(percent)
		return int64(percent[0].Value.Uint64())
	}
	set := func(variables map[string]string) func(string) (string, bool) {
		return around(variables, nil, nil, "").lookup
	}
	before, limit := percent(), debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(limit) })
	bounded := cgroups("0::/\n", map[string]string{"memory.max": "1000000000"})
	paceCollector(set(map[string]string{"GOGC": "150", "GOMEMLIMIT": "1GiB"}), bounded)
	require.Equal(t, before, percent(), "whoever has set it knows better")
	require.Equal(t, limit, debug.SetMemoryLimit(-1))
	paceCollector(set(map[string]string{"GOGC": "150"}), bounded)
	require.Equal(t, before, percent())
	require.EqualValues(t, 900_000_000, debug.SetMemoryLimit(-1), "a container that has more is killed")

	paceCollector(set(nil), bounded)
	const spare = 900_000_000 / spareShare
	require.EqualValues(t, collectorPercent(spare, liveHeap()), percent())
	held := make([]byte, 2*spare)
	require.Eventually(t, func() bool {
		runtime.GC()
		return percent() == ownPercent
	}, time.Minute, time.Millisecond, "Go's own pace where much is live")
	runtime.KeepAlive(held)
	require.Eventually(t, func() bool {
		runtime.GC()
		return percent() > ownPercent
	}, time.Minute, time.Millisecond)
}

func TestTheCollectorsPaceFollowsWhatIsLiveAndWhatThereIs(t *testing.T) {
	for _, one := range []struct {
		limit, live int64
		percent     int
	}{
		{math.MaxInt64, 0, 3200}, {math.MaxInt64, 10 << 20, 1275}, {math.MaxInt64, 64 << 20, 200}, {math.MaxInt64, 1 << 30, 100},
		{128 << 20, 10 << 20, 150}, {128 << 20, 32 << 20, 100}, {1 << 30, 64 << 20, 200}, {64 << 30, 64 << 20, 400},
	} {
		require.Equal(t, one.percent, collectorPercent(spareHeap(one.limit), one.live), "%d bytes of %d", one.live, one.limit)
	}
}

// cgroups is a file system with this /proc/self/cgroup, and files below /sys/fs/cgroup.
func cgroups(list string, files map[string]string) fstest.MapFS {
	system := fstest.MapFS{"proc/self/cgroup": {Data: []byte(list)}}
	for name, text := range files {
		system["sys/fs/cgroup/"+name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	return system
}

func TestTheLeastOfTheCgroupsIsWhatTheProcessMayHave(t *testing.T) {
	for name, one := range map[string]struct {
		system fstest.MapFS
		most   int64
	}{
		"no Linux":              {fstest.MapFS{}, math.MaxInt64},
		"no bound":              {cgroups("0::/a\n", map[string]string{"a/memory.max": "max"}), math.MaxInt64},
		"a container":           {cgroups("0::/\n", map[string]string{"memory.max": "1000"}), 1000},
		"a service":             {cgroups("0::/system.slice/a.service\n", map[string]string{"system.slice/a.service/memory.max": "3000", "system.slice/memory.max": "2000"}), 2000},
		"the first version":     {cgroups("9:cpu:/b\n4:memory:/a\n0::/\n", map[string]string{"memory/a/memory.limit_in_bytes": "4000", "memory/memory.limit_in_bytes": "9223372036854771712"}), 4000},
		"a container of it":     {cgroups("4:memory:/docker/abc\n", map[string]string{"memory/memory.limit_in_bytes": "5000"}), 5000},
		"what cannot be read":   {cgroups("nothing\n0::/a\n", map[string]string{"a/memory.max": "much"}), math.MaxInt64},
		"a path with two steps": {cgroups("0::/a/../b\n", map[string]string{"b/memory.max": "6000"}), 6000},
	} {
		require.Equal(t, one.most, cgroupMemory(one.system), name)
	}
}
