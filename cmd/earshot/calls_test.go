package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
)

// tool writes a repository of the app clinic with one tool.
func (w *world) tool(fields string) {
	w.t.Helper()
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book",`+fields+`}]}`)
}

func TestCallCarriesTheTokenOfItsWayOfAuthentication(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		request string
		fields  map[string]string // of the token request; none without one
		want    string            // Authorization of the call
	}{
		"client credentials": {
			`"auth":"bearer","bearer":{"clientType":"client_credentials","clientId":"cli","clientSecret":"s3cret","audience":"calendar","scopes":["read","write"],"tokenUrl":"ISSUER"}`,
			map[string]string{"grant_type": "client_credentials", "client_id": "cli", "client_secret": "s3cret", "audience": "calendar", "scope": "read write"}, "Bearer token-1",
		},
		"password": {
			`"auth":"bearer","bearer":{"clientType":"password","clientId":"cli","username":"ann","password":"s3cret&=+","tokenUrl":"ISSUER"}`,
			map[string]string{"grant_type": "password", "client_id": "cli", "username": "ann", "password": "s3cret&=+"}, "Bearer token-1",
		},
		"module": {
			`"auth":"module","moduleId":"calendar"`,
			map[string]string{"grant_type": "client_credentials", "client_id": "calendar-client", "client_secret": "module-s3cret", "audience": "all"}, "Bearer token-1",
		},
		"basic": {`"auth":"basic","basic":{"username":"ann","password":"s3cret"}`, nil, "Basic YW5uOnMzY3JldA=="},
		"none":  {`"auth":"none"`, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			issuer, sink := newIssuer(t, "token"), newSink(t)
			w := serving(t, 1)
			w.put("/v1/apps/clinic", `{"modules":[{"moduleId":"calendar","clientId":"calendar-client","secret":"module-s3cret","audience":"all","tokenUrl":"`+issuer.URL+`"}]}`)
			w.tool(`"url":"` + sink.URL + `","request":{` + strings.ReplaceAll(test.request, "ISSUER", issuer.URL) + `}`)
			for _, got := range together(12, func(int) httpAnswer {
				return w.ask(w.replicas[0], "POST", messagesPath("s1"), messageBody("", "call book {}"))
			}) {
				require.Equal(t, "delivered", read[posted](t, got).Matches[0].Call.State, got.Body)
			}
			require.Len(t, sink.requests(), 12)
			for _, call := range sink.requests() {
				require.Equal(t, test.want, call.Header.Get("Authorization"))
			}
			if test.fields == nil {
				require.Empty(t, issuer.requests())
				return
			}
			require.Len(t, issuer.requests(), 1, "one token is enough for many calls")
			fields := map[string]string{}
			for field, values := range issuer.requests()[0].form(t) {
				fields[field] = strings.Join(values, "|")
			}
			require.Equal(t, test.fields, fields)
		})
	}
}

func TestWithoutATokenThereIsNoCall(t *testing.T) {
	t.Parallel()
	w, sink := serving(t, 1), newSink(t)
	issuer := newEndpoint(t, func(out http.ResponseWriter, _ received) {
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(http.StatusUnauthorized)
		_, _ = out.Write([]byte(`{"error":"invalid_client"}`))
	})
	w.put("/v1/apps/clinic", `{"modules":[{"moduleId":"calendar","secret":"wrong","tokenUrl":"`+issuer.URL+`"}]}`)
	w.tool(`"url":"` + sink.URL + `","request":{"auth":"module","moduleId":"calendar"}`)
	call := w.say("s1", "m1", "call book {}").Matches[0].Call
	require.Equal(t, []string{"failed", "auth"}, []string{call.State, call.Reason})
	require.Contains(t, call.Error, "invalid_client")
	w.rest()
	results := w.events("tool.result.clinic.s1.book")
	require.Len(t, results, 1)
	require.Equal(t, false, results[0].Payload["ok"])
	require.Equal(t, "auth", results[0].Payload["reason"])
	require.Empty(t, sink.requests())
	require.Contains(t, w.call(200, "GET", "/v1/apps/clinic/triggers?state=failed", "").Body, `"book"`)
}

func TestRefusedTokenIsRenewedOnce(t *testing.T) {
	t.Parallel()
	w, issuer := serving(t, 1), newIssuer(t, "token")
	sink := newEndpoint(t, func(out http.ResponseWriter, r received) {
		if r.Header.Get("Authorization") == "Bearer token-1" {
			out.WriteHeader(http.StatusUnauthorized)
		}
	})
	w.put("/v1/apps/clinic", `{"modules":[{"moduleId":"calendar","secret":"s","tokenUrl":"`+issuer.URL+`"}]}`)
	w.tool(`"url":"` + sink.URL + `","request":{"auth":"module","moduleId":"calendar"}`)
	require.Equal(t, "delivered", w.say("s1", "m1", "call book {}").Matches[0].Call.State)
	require.Len(t, sink.requests(), 2)
	require.Len(t, issuer.requests(), 2)
}

func TestValuesArriveEscapedWhereTheyStandInTheURL(t *testing.T) {
	t.Parallel()
	w, sink := serving(t, 1), newSink(t)
	w.tool(`"url":"` + sink.URL + `/v1/:appId/:id/:idCard/by-:who-x?q=:q&id=:id&none=:none","request":{"method":"PUT","headers":{"X-Desk":"A"}},
		"schema":[{"parameter":"id","type":"string"},{"parameter":"idCard","type":"integer"},{"parameter":"who","type":"string"},
			{"parameter":"q","type":"string"},{"parameter":"none","type":"string"}]`)
	match := w.fire("s1", "book", `{"id":"a/../b?c#d%2F","idCard":9007199254740993,"who":"Zoë & co","q":"1&admin=true#x +y"}`)
	require.Equal(t, "delivered", match.Call.State, match.Call.Error)
	require.Len(t, sink.requests(), 1)
	got := sink.requests()[0]
	require.Equal(t, "PUT", got.Method)
	require.Equal(t, "/v1/clinic/a%2F..%2Fb%3Fc%23d%252F/9007199254740993/by-Zo%C3%AB%20&%20co-x?q=1%26admin%3Dtrue%23x+%2By&id=a%2F..%2Fb%3Fc%23d%252F&none=", got.URI)
	require.Equal(t, "A", got.Header.Get("X-Desk"))
	require.Contains(t, got.Body, `"idCard":9007199254740993`, "a 64-bit integer is unharmed")

	w.call(201, "POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"book","source":"ui","values":{"id":"..","idCard":1,"who":"x"}}`)
	require.Len(t, sink.requests(), 1, "a value that would make the path another one calls nothing")
}

func TestCallAndEventsCarryOneTriggerAndTheTraceOfTheMessage(t *testing.T) {
	t.Parallel()
	w, sink := serving(t, 1), newSink(t)
	w.put("/v1/apps/clinic", `{"signingSecret":"whsec_c2lnbmluZy1zZWNyZXQ="}`)
	w.tool(`"url":"` + sink.URL + `","emitter":"calendar.request","schema":[{"parameter":"day","type":"string","value":"monday"}]`)
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	match := w.say("s1", "m1", "call book {}", "traceparent", "00-"+trace+"-00f067aa0ba902b7-01").Matches[0]

	call := sink.requests()[0]
	require.Equal(t, match.TriggerID, call.Header.Get("Webhook-Id"))
	require.Equal(t, match.TriggerID, call.Header.Get("Idempotency-Key"))
	require.Regexp(t, "^00-"+trace+"-[0-9a-f]{16}-01$", call.Header.Get("Traceparent"))
	require.Equal(t, "application/json", call.Header.Get("Content-Type"))
	verifier, err := standardwebhooks.NewWebhook("whsec_c2lnbmluZy1zZWNyZXQ=")
	require.NoError(t, err)
	require.NoError(t, verifier.Verify([]byte(call.Body), call.Header))

	w.rest()
	ids := map[string]bool{}
	for subject, kind := range map[string]string{
		"tool.trigger.clinic.s1.book": "earshot.tool.trigger", "app.clinic.calendar.request": "earshot.tool.trigger", "tool.result.clinic.s1.book": "earshot.tool.result",
	} {
		stored := w.events(subject)
		require.Len(t, stored, 1, subject)
		header := stored[0].Header
		require.Equal(t, "1.0", header.Get("ce-specversion"))
		require.Equal(t, kind, header.Get("ce-type"))
		require.Equal(t, "/apps/clinic/sessions/s1", header.Get("ce-source"))
		require.Equal(t, stored[0].Payload["id"], header.Get("ce-id"))
		require.NotEmpty(t, header.Get("ce-time"))
		require.Equal(t, "application/json", header.Get("content-type"))
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

func TestEventHasWhatSubscribersAreToldAndNothingElse(t *testing.T) {
	t.Parallel()
	w, sink := serving(t, 1), newSink(t)
	w.tool(`"url":"` + sink.URL + `","request":{"auth":"basic","basic":{"username":"ann","password":"s3cret"},"headers":{"X-Desk":"A"}},
		"schema":[{"parameter":"day","type":"string","description":"wished day"}]`)
	w.say("s1", "m1", `call book {"day":"monday"}`)
	payload := w.events("tool.trigger.clinic.s1.book")[0].Payload
	for field, want := range map[string]any{
		"messageId": "m1", "text": `call book {"day":"monday"}`, "appId": "clinic", "sessionId": "s1", "repositoryId": "desk",
		"source": "message", "name": "book", "values": map[string]any{"day": "monday"},
		"schema": []any{map[string]any{"parameter": "day", "type": "string", "description": "wished day"}},
	} {
		require.Equal(t, want, payload[field], field)
	}
	require.Len(t, payload, 11, "these, the id and the time")

	w.call(201, "POST", "/v1/apps/clinic/triggers", `{"name":"book","source":"task","values":{"day":"friday"}}`)
	w.rest()
	stored := w.events("tool.trigger.clinic._.book")
	require.Len(t, stored, 1)
	require.NotContains(t, stored[0].Payload, "sessionId")
	require.Equal(t, "task", stored[0].Payload["source"])
	require.Equal(t, "/apps/clinic/sessions/_", stored[0].Header.Get("ce-source"))
}

func TestFailingCallIsTriedAgainUnderTheSameID(t *testing.T) {
	t.Parallel()
	w := serving(t, 2)
	var sink *endpoint
	sink = newEndpoint(t, func(out http.ResponseWriter, _ received) {
		if len(sink.requests()) == 1 {
			out.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	w.tool(`"url":"` + sink.URL + `"`)
	match := w.say("s1", "m1", "call book {}").Matches[0]
	require.Equal(t, "pending", match.Call.State)
	w.rest()
	require.Len(t, sink.requests(), 2)
	for _, attempt := range sink.requests() {
		require.Equal(t, match.TriggerID, attempt.Header.Get("Idempotency-Key"))
	}
	var record struct {
		State    string
		Attempts []json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(w.call(200, "GET", "/v1/apps/clinic/triggers/"+match.TriggerID, "").Body), &record))
	require.Equal(t, "delivered", record.State)
	require.Len(t, w.events("tool.result.clinic.s1.book"), 1)
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

func TestMessageThatNobodyWaitsForIsAnsweredByItsEventsAndTheHistory(t *testing.T) {
	t.Parallel()
	w, sink := serving(t, 1), newSink(t)
	w.tool(`"url":"` + sink.URL + `"`)
	got := w.call(202, "POST", messagesPath("s1"), messageBody("m1", "call book {}"), "Prefer", "respond-async")
	require.JSONEq(t, `{"messageId":"m1"}`, got.Body)
	w.until("its result is told", func() bool { return len(w.events("tool.result.clinic.s1.book")) == 1 })
	w.rest()
	found := read[history](t, w.call(200, "GET", messagesPath("s1"), "")).Items[0]
	require.Equal(t, "decided", found.State)
	require.Equal(t, "delivered", found.Triggers[0].Call.State)
	require.Equal(t, found.Triggers[0].TriggerID, w.say("s1", "m1", "call book {}").Matches[0].TriggerID)
}

// newEmbedder starts a model that embeds: what speaks of taxis points one way, all else another.
func newEmbedder(t *testing.T) *endpoint {
	return newEndpoint(t, func(w http.ResponseWriter, r received) {
		var asked struct{ Input []string }
		require.NoError(t, json.Unmarshal([]byte(r.Body), &asked))
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
		w.until("the tool is found of which no word was said", func() bool { // what takes longer than 100 ms does not count
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
	require.Contains(t, refused.err, `OPENAI_EMBEDDING_MODEL (--openai-embedding-model) is "small", and there is no endpoint to ask: set OPENAI_API_KEY, OPENAI_BASE_URL or OPENAI_EMBEDDING_BASE_URL`)
	refused = command(t, nil, "dev", "--openai-embedding-base-url", "http://127.0.0.1:1/v1")
	require.Contains(t, refused.err, "no model is named: set OPENAI_EMBEDDING_MODEL")
}

// toolServer is a real MCP server, with sessions or without, that may be away.
type toolServer struct {
	*httptest.Server
	tools *mcp.Server
	mu    sync.Mutex
	down  bool
	keys  []string // Idempotency-Key of the calls, those that it did not take among them
}

func newToolServer(t *testing.T, stateless bool) *toolServer {
	s := &toolServer{tools: mcp.NewServer(&mcp.Implementation{Name: "crm", Version: "1"}, nil)}
	serving := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.tools }, &mcp.StreamableHTTPOptions{Stateless: stateless})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		if key := r.Header.Get("Idempotency-Key"); key != "" {
			s.keys = append(s.keys, key)
		}
		down := s.down
		s.mu.Unlock()
		if down {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		serving.ServeHTTP(w, r)
	}))
	t.Cleanup(s.CloseClientConnections)
	t.Cleanup(s.Close)
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

func (s *toolServer) away(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
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

// names lists the tools of a repository.
func (w *world) names(path string) (names []string) {
	w.t.Helper()
	for _, tool := range read[struct{ Tools []struct{ Name string } }](w.t, w.call(200, "GET", path, "")).Tools {
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

		s.away(true)
		match = w.say("s1", "m3", `call find_customer {"name":"Bob"}`).Matches[0]
		require.Equal(t, "pending", match.Call.State)
		require.Contains(t, w.call(201, "PUT", "/v1/apps/clinic/repositories/later", `{"from":"crm"}`).Body, "could not be read: POST http://127.0.0.1:")
		require.Empty(t, w.names("/v1/apps/clinic/repositories/later"))
		sent := w.call(200, "GET", path, "").Body
		w.call(200, "PUT", path, sent)
		require.Equal(t, []string{"find_customer"}, w.names(path), "what is read can be sent back")
		s.away(false)
		w.rest()
		var record struct{ State string }
		require.NoError(t, json.Unmarshal([]byte(w.call(200, "GET", "/v1/apps/clinic/triggers/"+match.TriggerID, "").Body), &record))
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

// received is a request as an endpoint got it.
type received struct {
	Method, URI string
	Header      http.Header
	Body        string
}

// endpoint is an HTTP endpoint outside of the program that keeps what it was sent.
type endpoint struct {
	*httptest.Server
	mu     sync.Mutex
	got    []received
	status int // of a sink, where not 200
}

// newEndpoint starts an endpoint that answers with handle, called after the request was
// kept; the body is at the handler's disposal as in any other.
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

// newSink starts an endpoint that takes everything, as long as it is not told to answer
// otherwise.
func newSink(t *testing.T) *endpoint {
	var e *endpoint
	e = newEndpoint(t, func(w http.ResponseWriter, _ received) {
		e.mu.Lock()
		defer e.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(cmp.Or(e.status, http.StatusOK))
		_, _ = io.WriteString(w, `{"ok":true}`)
	})
	return e
}

// answer sets the status of a sink's answers from now on.
func (e *endpoint) answer(status int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status = status
}

// lastPassword is that of basic authentication in the last request.
func (e *endpoint) lastPassword() string {
	list := e.requests()
	_, password, _ := (&http.Request{Header: list[len(list)-1].Header}).BasicAuth()
	return password
}

// newIssuer starts a token endpoint that gives a token of the given beginning, another
// for each request.
func newIssuer(t *testing.T, token string) *endpoint {
	var issued int
	var mu sync.Mutex
	return newEndpoint(t, func(w http.ResponseWriter, _ received) {
		mu.Lock()
		issued++
		number := issued
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"access_token":"%s-%d","token_type":"Bearer","expires_in":3600}`, token, number)
	})
}

// requests lists what the endpoint was sent so far.
func (e *endpoint) requests() []received {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]received(nil), e.got...)
}

// form reads a body that is form encoded, as RFC 6749 asks for in token requests.
func (r received) form(t *testing.T) url.Values {
	require.Equal(t, "application/x-www-form-urlencoded", r.Header.Get("Content-Type"))
	fields, err := url.ParseQuery(r.Body)
	require.NoError(t, err)
	return fields
}
