package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/matcher/llm/llmtest"
)

// tool writes a repository of the app clinic with one tool.
func (w *world) tool(fields string) {
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book",`+fields+`}]}`)
}

func TestCallAndEventsCarryOneTriggerAndTheTraceOfTheMessage(t *testing.T) {
	t.Parallel()
	w, sink := serving(t, 1), newSink(t)
	w.tool(`"url":"` + sink.URL + `","emitter":"calendar.request","schema":[{"parameter":"day","type":"string","value":"monday"}]`)
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	match := w.say("s1", "m1", "call book {}", "traceparent", "00-"+trace+"-00f067aa0ba902b7-01").Matches[0]

	call := sink.requests()[0]
	require.Equal(t, match.TriggerID, call.Header.Get("Webhook-Id"))
	require.Equal(t, match.TriggerID, call.Header.Get("Idempotency-Key"))
	require.Regexp(t, "^00-"+trace+"-[0-9a-f]{16}-01$", call.Header.Get("Traceparent"))

	w.rest()
	ids := map[string]bool{}
	for _, subject := range []string{"tool.trigger.clinic.s1.book", "app.clinic.calendar.request", "tool.result.clinic.s1.book"} {
		stored := w.events(subject)
		require.Len(t, stored, 1, subject)
		header := stored[0].Header
		require.Equal(t, stored[0].Payload["id"], header.Get("ce-id"))
		require.Regexp(t, "^00-"+trace+"-", header.Get("traceparent"))
		ids[header.Get("Nats-Msg-Id")] = true
	}
	require.Len(t, ids, 3, "each event has an id of its own")
	require.JSONEq(t, string(w.events("tool.trigger.clinic.s1.book")[0].Data), call.Body, "the call's body is the event")
	result := w.events("tool.result.clinic.s1.book")[0].Payload
	require.Equal(t, match.TriggerID, result["triggerId"])
	require.Equal(t, 200.0, result["status"])
	require.Equal(t, map[string]any{"ok": true}, result["result"])
}

func TestPrivateAddressesAreClosedToCallsUnlessTheOperatorOpensThem(t *testing.T) {
	t.Parallel()
	w, sink := newWorld(t), newSink(t)
	delete(w.env, "EARSHOT_PRIVATE_URLS")
	w.serve()
	w.put("/v1/apps/clinic", `{}`)
	w.tool(`"url":"` + sink.URL + `"`)
	call := w.say("s1", "m1", "call book {}").Matches[0].Call
	require.Equal(t, []string{"failed", "blocked"}, []string{call.State, call.Reason})
	require.Empty(t, sink.requests())
	require.Zero(t, w.replicas[0].stop())

	w.env["EARSHOT_PRIVATE_URLS"] = "10.0.0.0/8,127.0.0.0/8"
	w.replicas = nil
	r := w.serve()
	trigger := w.events("tool.trigger.clinic.s1.book")[0].Payload["id"].(string)
	require.Equal(t, http.StatusAccepted, w.ask(r, "POST", "/v1/apps/clinic/triggers/"+trigger+"/retry", "").Status)
	w.rest()
	require.Len(t, sink.requests(), 1, "what had failed is delivered")
	require.Contains(t, w.call(200, "GET", "/v1/apps/clinic/triggers/"+trigger, "").Body, `"state":"delivered"`)
}

// newEmbedder starts a model that embeds: what speaks of taxis points one way, all else another.
func newEmbedder(t *testing.T) *endpoint {
	return newEndpoint(t, func(w http.ResponseWriter, r received) {
		asked := read[struct{ Input []string }](t, r.Body)
		data := []map[string]any{}
		for i, text := range asked.Input {
			vector := []float64{0, 1}
			if strings.Contains(text, "taxi") || strings.Contains(text, "cab") {
				vector = []float64{1, 0}
			}
			data = append(data, map[string]any{"index": i, "embedding": vector})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	})
}

func TestToolsAreFoundByWhatTheTextMeans(t *testing.T) {
	t.Parallel()
	e := newEmbedder(t)
	w := serving(t, 2, "--openai-embedding-model", "small", "--openai-embedding-base-url", e.URL+"/v1")
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"transport","description":"Order a taxi"},
		{"name":"book","description":"Book an appointment"},{"name":"hours","description":"Tell when we are open"}]}`)
	w.until("the vectors of the tools are made by the write", func() bool {
		return slices.ContainsFunc(e.requests(), func(r received) bool { return strings.Contains(r.Body, `transport\nOrder a taxi`) })
	})
	for _, r := range w.replicas {
		w.until("the tool is found of which no word was said", func() bool { // a slow embedding is skipped after 100 ms
			found := w.ask(r, "POST", "/v1/apps/clinic/tools/search", `{"text":"cab!"}`)
			return found.Status == http.StatusOK && strings.Contains(found.Body, `"name":"transport"`)
		})
	}
	for _, one := range e.requests() {
		require.Equal(t, "/v1/embeddings", one.URI)
		require.NotContains(t, one.Header.Get("Authorization"), "llm-key-of-the-tests", "it is another's")
	}
}

func TestAModelThatEmbedsNeedsAnEndpoint(t *testing.T) {
	refused := failing(t, nil, "dev", "--openai-embedding-model", "small")
	require.Contains(t, refused.err, `OPENAI_EMBEDDING_MODEL (--openai-embedding-model) is "small", but no endpoint is configured: set OPENAI_API_KEY, OPENAI_BASE_URL or OPENAI_EMBEDDING_BASE_URL`)
	refused = command(t, nil, "dev", "--openai-embedding-base-url", "http://127.0.0.1:1/v1")
	require.Contains(t, refused.err, "but no model: set OPENAI_EMBEDDING_MODEL")
}

// toolServer is a real MCP server, with or without sessions, that may be unavailable.
type toolServer struct {
	*httptest.Server
	tools *mcp.Server
	down  atomic.Bool
	mu    sync.Mutex
	keys  []string // Idempotency-Keys of all calls, including refused ones
}

func newToolServer(t *testing.T, stateless bool) *toolServer {
	s := &toolServer{tools: mcp.NewServer(&mcp.Implementation{Name: "crm", Version: "1"}, nil)}
	serving := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.tools }, &mcp.StreamableHTTPOptions{Stateless: stateless})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key := r.Header.Get("Idempotency-Key"); key != "" {
			s.mu.Lock()
			s.keys = append(s.keys, key)
			s.mu.Unlock()
		}
		if s.down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		serving.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { // replicas listen to it, and stop later
		_ = s.Listener.Close()
		s.CloseClientConnections()
		s.Close()
	})
	s.add("find_customer")
	s.add("drop_customer")
	return s
}

func (s *toolServer) add(name string) {
	s.tools.AddTool(&mcp.Tool{
		Name: name, Description: "Customers: " + name,
		InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","minLength":2}},"required":["name"]}`),
	}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"asked":` + string(r.Params.Arguments) + `}`)}, nil
	})
}

func (s *toolServer) called() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.keys...)
}

// source is the app with the server as its source.
func (s *toolServer) source(more string) string {
	return `{"settings":{"limits":null},"sources":[{"name":"crm","type":"mcp","url":"` + s.URL + `","allow":["find_*"],"refresh":"5s"` + more + `}]}`
}

func (w *world) names(path string) (names []string) {
	for _, tool := range read[struct{ Tools []struct{ Name string } }](w.t, w.call(200, "GET", path, "").Body).Tools {
		names = append(names, tool.Name)
	}
	return names
}

func TestToolsOfAnMCPServerAreToolsLikeOthers(t *testing.T) {
	t.Parallel()
	for _, stateless := range []bool{true, false} {
		w, s := serving(t, 2), newToolServer(t, stateless)
		w.put("/v1/apps/clinic", s.source(`,"headers":{"X-Api-Key":"planted-key"}`))
		const path = "/v1/apps/clinic/sessions/s1/repositories/customers"
		made := w.call(201, "PUT", path, `{"from":"crm","options":{"exclusive":true}}`)
		require.Contains(t, made.Body, `"find_customer"`)
		require.NotContains(t, made.Body, "drop_customer")
		require.Contains(t, w.call(200, "GET", "/v1/apps/clinic/sessions/s1/tools", "").Body, `"minLength":2`)

		match := w.say("s1", "m1", `call find_customer {"name":"Ann"}`).Matches[0]
		require.Equal(t, "delivered", match.Call.State, match.Call)
		require.Equal(t, map[string]any{"asked": map[string]any{"name": "Ann"}}, match.Call.Result)
		require.Equal(t, []string{match.TriggerID}, s.called())
		require.Empty(t, w.say("s1", "m2", `call find_customer {"name":"A"}`).Matches, "values are held against the server's schema")

		s.down.Store(true)
		match = w.say("s1", "m3", `call find_customer {"name":"Bob"}`).Matches[0]
		require.Equal(t, "pending", match.Call.State)
		require.Contains(t, w.call(201, "PUT", "/v1/apps/clinic/repositories/later", `{"from":"crm"}`).Body, "could not be read: POST http://127.0.0.1:")
		require.Empty(t, w.names("/v1/apps/clinic/repositories/later"))
		sent := w.call(200, "GET", path, "").Body
		w.call(200, "PUT", path, sent)
		require.Equal(t, []string{"find_customer"}, w.names(path), "what is read can be sent back")
		s.down.Store(false)
		w.rest()
		record := read[struct{ State string }](t, w.call(200, "GET", "/v1/apps/clinic/triggers/"+match.TriggerID, "").Body)
		require.Equal(t, "delivered", record.State)
		require.Equal(t, match.TriggerID, s.called()[len(s.called())-1])

		w.until("its server is asked again", func() bool { return len(w.names("/v1/apps/clinic/repositories/later")) == 1 })
		before := len(w.events("tool.changed.clinic.customers"))
		s.add("find_order")
		w.until("the new tool is there", func() bool { return len(w.names(path)) == 2 })
		w.until("both follow", func() bool { return len(w.names("/v1/apps/clinic/repositories/later")) == 2 })
		w.rest()
		require.Len(t, w.events("tool.changed.clinic.customers"), before+1)
		for _, replica := range w.replicas {
			require.NotContains(t, replica.log.String(), "planted-key")
		}
	}
}

func TestFilesNameAnMCPServer(t *testing.T) {
	w, s := devInFolder(t), newToolServer(t, true)
	files := func(more string) {
		write(t, "tools.yaml", "kind: app\nname: clinic\n---\nkind: source\nname: crm\ntype: mcp\nurl: "+s.URL+"\nallow: [find_*]\nheaders: {X-Api-Key: k3y-of-ours}\n"+
			"---\nkind: repository\nname: customers\nfrom: crm\n"+more)
	}
	files("")
	require.Contains(t, w.ok("validate", "-f", "tools.yaml"), "")
	require.Contains(t, w.ok("apply", "-f", "tools.yaml"), "created 2")
	require.Equal(t, []string{"find_customer"}, w.names("/v1/apps/clinic/repositories/customers"))
	require.Contains(t, w.ok("apply", "-f", "tools.yaml"), "created 0, updated 0, left 2, removed 0", "what the server has is no change")
	files("options: {exclusive: true}\n")
	plan := w.ok("apply", "-f", "tools.yaml", "--dry-run")
	require.Contains(t, plan, "options/exclusive: false → true")
	require.NotContains(t, plan, "find_customer")

	write(t, "wrong.yaml", "kind: app\nname: clinic\n---\nkind: repository\nname: customers\nfrom: crn\n")
	refused := failing(t, w.env, "apply", "-f", "wrong.yaml")
	require.Contains(t, refused.err, `wrong.yaml:`)
	require.Contains(t, refused.err, `the app has no source "crn"`)
	require.True(t, strings.Contains(refused.err, `did you mean "crm"?`), refused.err)
}

type received struct {
	Method, URI string
	Header      http.Header
	Body        string
}

type endpoint struct {
	*httptest.Server
	mu     sync.Mutex
	got    []received
	status atomic.Int64 // of a sink, if not 200
}

// newEndpoint starts an endpoint that answers with handle, after recording the request; handle may read the
// body.
func newEndpoint(t *testing.T, handle func(w http.ResponseWriter, r received)) *endpoint {
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		one := received{r.Method, r.RequestURI, r.Header.Clone(), string(body)}
		e.mu.Lock()
		e.got = append(e.got, one)
		e.mu.Unlock()
		handle(w, one)
	}))
	t.Cleanup(e.Close)
	return e
}

// newSink starts an endpoint that accepts everything until answer changes its status.
func newSink(t *testing.T) *endpoint {
	var e *endpoint
	e = newEndpoint(t, func(w http.ResponseWriter, _ received) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(cmp.Or(int(e.status.Load()), http.StatusOK))
		_, _ = io.WriteString(w, `{"ok":true}`)
	})
	return e
}

func (e *endpoint) answer(status int) { e.status.Store(int64(status)) }

func (e *endpoint) lastPassword() string {
	list := e.requests()
	_, password, _ := (&http.Request{Header: list[len(list)-1].Header}).BasicAuth()
	return password
}

func (e *endpoint) requests() []received {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]received(nil), e.got...)
}

func TestAModelIsWaitedForAsLongAsTheFlagSays(t *testing.T) {
	t.Parallel()
	w := serving(t, 1, "--llm-timeout", "300ms")
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book"}]}`)
	w.llm.Queue(llmtest.Hang())
	require.Contains(t, w.call(502, "POST", messagesPath("s1"), messageBody("m1", "call book {}")).Body, "no answer within 300ms")
	require.Len(t, w.say("s1", "m1", "call book {}").Matches, 1, "the model is well again")
}

// scripts counts the scripts that Redis has run, by hash or text. Polling for due work runs none if there is
// none.
func (w *world) scripts() int {
	info := testbed.Got(w.client().Info(w.t.Context(), "commandstats").Result())(w.t)
	total := 0
	for _, found := range regexp.MustCompile(`cmdstat_eval(?:sha)?:calls=(\d+)`).FindAllStringSubmatch(info, -1) {
		calls := testbed.Got(strconv.Atoi(found[1]))(w.t)
		total += calls
	}
	return total
}

func TestMessageCostsThreeScriptsOneRequestAndOnePublishAnEvent(t *testing.T) {
	w, sink := serving(t, 2), newSink(t)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[
		{"name":"book","url":"`+sink.URL+`","emitter":"calendar.request"},{"name":"note"}]}`)
	w.put("/v1/apps/clinic/sessions/s1/repositories/own", `{"tools":[{"name":"mine"}]}`)
	for what, test := range map[string]struct {
		text   string
		events int
	}{
		"event-and-call": {"call book {}", 3}, "event": {"call mine {}", 1}, "several": {"call book {}; note {}; mine {}", 5}, "none": {"hello", 1},
	} {
		t.Run(what, func(t *testing.T) {
			w.say("s1", "", test.text) // now the scripts and the app are cached
			w.rest()
			const posts = 21
			asked, published := w.llm.Count(), len(w.events(">"))
			each := make([]int, 0, posts)
			for i := range posts {
				before := w.scripts()
				w.say("s1", fmt.Sprint(what, "-", i), test.text)
				w.rest()
				each = append(each, w.scripts()-before)
			}
			require.Equal(t, posts, w.llm.Count()-asked)
			require.Equal(t, posts*test.events, len(w.events(">"))-published)
			// On a busy machine a first attempt may be late for some messages, or periodic work may run in
			// between.
			slices.Sort(each)
			require.LessOrEqual(t, each[posts/2], 3, "%v", each)
		})
	}
}

func together(count int, ask func(i int) httpAnswer) []httpAnswer {
	answers := make([]httpAnswer, count)
	begin := make(chan struct{})
	var group sync.WaitGroup
	for i := range answers {
		group.Go(func() {
			<-begin
			answers[i] = ask(i)
		})
	}
	close(begin)
	group.Wait()
	return answers
}

func TestMetricsAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	w.tool(`"url":"` + refusing(t, http.StatusNotFound).URL + `"`)
	require.Equal(t, "failed", w.say("s1", "m1", "call book {}").Matches[0].Call.State)
	var shown string
	w.until("the failed trigger is counted", func() bool {
		shown = w.call(200, "GET", "/metrics", "").Body
		return strings.Contains(shown, "\nearshot_dead 1\n") && strings.Contains(shown, "\nearshot_effects_due 0\n")
	})
	for _, line := range []string{
		`earshot_messages_total{outcome="matched"} 1`, `earshot_match_seconds_count 1`, `earshot_llm_seconds_count 1`,
		`earshot_llm_tokens_total{kind="prompt"} 100`, `earshot_llm_tokens_total{kind="cached"} 64`, `earshot_effects_total{kind="call",outcome="dead"} 1`, `earshot_effects_oldest_seconds 0`,
	} {
		require.Contains(t, shown, "\n"+line+"\n")
	}
}

func TestToolThatIsNotOfferedIsFoundFiresAndStaysOnOfferOnAllReplicas(t *testing.T) {
	t.Parallel()
	w := serving(t, 2)
	w.put("/v1/apps/clinic", `{"settings":{"llm":{"mostTools":8}}}`)
	tools := []string{`{"name":"unlock","description":"Open the gate of the yard","schema":[{"parameter":"gate","type":"string","required":true}]}`}
	for i := range 30 {
		tools = append(tools, fmt.Sprintf(`{"name":"job_%02d","description":"Run bitte job %d"}`, i, i))
	}
	w.put("/v1/apps/clinic/repositories/many", `{"tools":[`+strings.Join(tools, ",")+`]}`)
	w.llm.Queue(llmtest.Call("find_tools", `{"words":"open the gate"}`), llmtest.Call("unlock", `{"gate":"Nord"}`), llmtest.Text("none"))
	said := read[posted](t, w.ask(w.replicas[0], "POST", messagesPath("s1"), messageBody("m1", "bitte das Tor, Nord")).Body)
	require.Equal(t, "unlock", said.Matches[0].Name)
	w.ask(w.replicas[1], "POST", messagesPath("s1"), messageBody("m2", "danke"))

	asked := w.llm.Requests()
	require.Len(t, asked, 3)
	first := asked[0].ToolNames()
	require.NotContains(t, first, "unlock")
	require.Equal(t, "find_tools", first[0])
	for _, request := range asked {
		require.LessOrEqual(t, len(request.Tools), 8)
	}
	require.Contains(t, asked[1].ToolNames(), "unlock")
	require.Contains(t, asked[2].ToolNames(), "unlock")
	require.Equal(t, first[:4], asked[2].ToolNames()[:4], "what was offered before stands before what is new")
	require.Contains(t, w.call(200, "GET", "/metrics", "").Body, "earshot_llm_tokens_total{kind=\"cached\"} 128\n")
}
