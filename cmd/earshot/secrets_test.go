package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/matcher/llm/llmtest"
)

// planted are all credentials of a run. None may occur where it is not needed, plain, in base64, or in a URL.
var planted = map[string]string{
	"module":    "planted-module-secret",
	"basic":     "planted-basic-password",
	"client":    "planted-client-secret",
	"password":  "planted-user-password",
	"header":    "planted-x-api-key",
	"signing":   "planted-signing-secret",
	"admin":     "planted-admin-key",
	"wrong":     "planted-wrong-key",
	"llm":       "planted-llm-key",
	"nats":      "planted-nats-password",
	"redis":     "planted-redis-password",
	"token":     "planted-access-token",
	"refresh":   "planted-refresh-token",
	"mistaken":  "planted-in-the-wrong-place",
	"secretkey": "planted-secret-key-for-the-store",
}

// traces are the forms in which a credential may occur.
func traces() map[string]string {
	forms := map[string]string{
		"ann:basic":  base64.StdEncoding.EncodeToString([]byte("ann:" + planted["basic"])),
		"cli:client": base64.StdEncoding.EncodeToString([]byte("cli:" + planted["client"])),
	}
	for name, credential := range planted {
		forms[name] = credential
		forms[name+" in base64"] = base64.RawStdEncoding.EncodeToString([]byte(credential))
	}
	return forms
}

func clean(t *testing.T, where, text string) {
	t.Helper()
	for name, trace := range traces() {
		if at := strings.Index(text, trace); at >= 0 {
			t.Errorf("%s shows the credential %q: …%s…", where, name, text[max(0, at-200):min(len(text), at+len(trace)+40)])
		}
	}
}

func echo(status int) func(http.ResponseWriter, received) {
	return func(out http.ResponseWriter, r received) {
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(status)
		_ = json.NewEncoder(out).Encode(map[string]any{
			"error": "invalid_client", "error_description": r.Body + " " + r.Header.Get("Authorization"), "received": r,
		})
	}
}

// withPasswords starts replicas on servers with passwords, with the app clinic.
func withPasswords(t *testing.T) *world {
	w := newWorld(t, func(options *server.Options) { options.Username, options.Password = "earshot", planted["nats"] })
	require.NoError(t, w.redis.Client().ConfigSet(t.Context(), "requirepass", planted["redis"]).Err())
	w.redisPassword = planted["redis"]
	w.env["REDIS_URL"] = "redis://:" + planted["redis"] + "@" + w.redis.Addr()
	w.env["NATS_URL"] = strings.Replace(w.nats.URL(), "//", "//earshot:"+planted["nats"]+"@", 1)
	w.env["EARSHOT_ADMIN_KEY"], w.env["OPENAI_API_KEY"] = planted["admin"], planted["llm"]
	w.env["EARSHOT_SECRET_KEY"] = base64.StdEncoding.EncodeToString([]byte(planted["secretkey"]))
	for range 2 {
		w.serve("--log-level", "debug", "--log-texts")
	}
	return w
}

// requests returns a tool's request for each way of authentication.
func requests(issuer string) map[string]string {
	const headers = `,"headers":{"X-Api-Key":"HEADER"}`
	list := map[string]string{
		"module":   `{"auth":"module","moduleId":"calendar"` + headers + `}`,
		"basic":    `{"auth":"basic","basic":{"username":"ann","password":"BASIC"}` + headers + `}`,
		"client":   `{"auth":"bearer","bearer":{"clientType":"client_credentials","clientId":"cli","clientSecret":"CLIENT","tokenUrl":"ISSUER"}` + headers + `}`,
		"password": `{"auth":"bearer","bearer":{"clientType":"password","clientId":"cli","clientSecret":"CLIENT","username":"ann","password":"PASSWORD","tokenUrl":"ISSUER","refreshUrl":"ISSUER"}` + headers + `}`,
		"header":   `{"auth":"none"` + headers + `}`,
	}
	fill := strings.NewReplacer("HEADER", planted["header"], "BASIC", planted["basic"], "CLIENT", planted["client"], "PASSWORD", planted["password"], "ISSUER", issuer)
	for way, request := range list {
		list[way] = fill.Replace(request)
	}
	return list
}

// clinic writes an app per issuer, with tools for all ways of authentication at each endpoint, and returns the
// tools' names.
func (w *world) clinic(say func(method, path, body string) httpAnswer, issuers, sinks map[string]*endpoint) (tools []string) {
	for good, issuer := range issuers {
		app := fmt.Sprintf(`{"signingSecret":"%s","settings":{"chatModeEnabled":true},"modules":[{"moduleId":"calendar","secret":"%s","tokenUrl":"%s"}]}`,
			"whsec_"+base64.StdEncoding.EncodeToString([]byte(planted["signing"])), planted["module"], issuer.URL)
		require.Less(w.t, say("PUT", "/v1/apps/"+good, app).Status, 300)
		for at, sink := range sinks {
			for way, request := range requests(issuer.URL) {
				name := way + "-" + at
				body := fmt.Sprintf(`{"tools":[{"name":"%s","description":"does it","url":"%s","emitter":"calendar.request","request":%s}]}`, name, sink.URL, request)
				got := say("PUT", "/v1/apps/"+good+"/repositories/"+name, body)
				require.Less(w.t, got.Status, 300, got.Body)
				tools = append(tools, name)
			}
		}
	}
	slices.Sort(tools)
	return slices.Compact(tools)
}

func TestCredentialsShowNowhere(t *testing.T) {
	t.Parallel()
	w := withPasswords(t)
	say := func(method, path, body string, headers ...string) httpAnswer {
		got := w.ask(w.replicas[0], method, path, body, headers...)
		require.NoError(t, got.Err)
		clean(t, method+" "+path, got.Body+fmt.Sprint(got.Header))
		return got
	}
	ask := func(method, path, body string) httpAnswer { return say(method, path, body) }
	issuers := map[string]*endpoint{
		"issued": newEndpoint(t, func(out http.ResponseWriter, _ received) {
			out.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(out, `{"access_token":"%s","refresh_token":"%s","token_type":"Bearer","expires_in":60}`, planted["token"], planted["refresh"])
		}),
		"refused": newEndpoint(t, echo(401)), "broken": newEndpoint(t, echo(503)),
	}
	sinks := map[string]*endpoint{
		"ok": newEndpoint(t, echo(200)), "unauthorized": newEndpoint(t, echo(401)), "failing": newEndpoint(t, echo(500)), "invalid": newEndpoint(t, echo(422)),
		"closed": newEndpoint(t, echo(200)), "garbage": newEndpoint(t, garbage),
	}
	sinks["closed"].Close()
	tools := w.clinic(ask, issuers, sinks)
	mistakes(t, ask)
	for app := range issuers {
		for _, name := range tools {
			got := say("POST", "/v1/apps/"+app+"/sessions/s1/messages", messageBody("", "call "+name+" {}"))
			require.Equal(t, http.StatusOK, got.Status, got.Body)
		}
	}
	require.NotEmpty(t, sinks["ok"].requests())
	require.Equal(t, planted["header"], sinks["ok"].requests()[0].Header.Get("X-Api-Key"), "the run has used them")
	failures(t, w, say, tools[0])
	for _, path := range []string{
		"/v1/apps", "/v1/apps/issued", "/v1/apps/issued/repositories?limit=100", "/v1/apps/issued/sessions/s1/messages?limit=100", "/v1/apps/issued/triggers?limit=100",
		"/v1/apps/refused/triggers?state=failed&limit=100", "/v1/apps/broken/triggers?state=pending&limit=100", "/metrics", "/openapi.json", "/readyz",
	} {
		require.Equal(t, http.StatusOK, say("GET", path, "").Status, path)
	}
	w.everythingIsClean()
}

// garbage answers with invalid HTTP that contains the request.
func garbage(out http.ResponseWriter, r received) {
	conn, _, err := http.NewResponseController(out).Hijack()
	if err == nil {
		_, _ = io.WriteString(conn, r.Header.Get("Authorization")+" "+r.Header.Get("X-Api-Key")+"\r\n\r\n")
		_ = conn.Close()
	}
}

// mistakes sends credentials in invalid bodies.
func mistakes(t *testing.T, say func(method, path, body string) httpAnswer) {
	p := planted["mistaken"]
	for _, body := range []string{
		`{"modules":[{"secret":"` + p + `"}]}`, `{"modules":[{"moduleId":"m","secret":["` + p + `"],"tokenUrl":"https://x.example"}]}`,
		`{"modules":[{"moduleId":"m","secret":"` + p + `","tokenUrl":"https://u:` + p + `@x.example"}]}`, `{"signingSecret":{"key":"` + p + `"}}`,
		`{"signingSecret":"` + p + `"`, `{"signingSecret":"***","name":1}`,
	} {
		require.Equal(t, http.StatusBadRequest, say("PUT", "/v1/apps/faulty", body).Status, body)
	}
	for _, request := range []string{
		`{"auth":"basic","basic":{"password":"` + p + `"}}`, `{"auth":"bearer","bearer":{"clientSecret":"` + p + `"}}`, `{"auth":"basic","basic":{"username":"a","password":{"x":"` + p + `"}}}`,
		`{"headers":{"X-Api-Key":"` + p + `\n"}}`, `{"headers":{"X-Api-Key":["` + p + `"]}}`, `{"headers":"` + p + `"}`, `{"basic":"ann:` + p + `"}`,
	} {
		got := say("PUT", "/v1/apps/issued/repositories/faulty", `{"tools":[{"name":"x","url":"https://x.example","request":`+request+`}]}`)
		require.Equal(t, http.StatusBadRequest, got.Status, request)
	}
	got := say("PUT", "/v1/apps/issued/repositories/faulty", `{"tools":[{"name":"x","url":"https://ann:`+p+`@x.example"}]}`)
	require.Equal(t, http.StatusBadRequest, got.Status)
}

// failures lets everything around the program fail with credentials in the errors.
func failures(t *testing.T, w *world, say func(method, path, body string, headers ...string) httpAnswer, tool string) {
	require.Equal(t, http.StatusUnauthorized, say("GET", "/v1/apps", "", "Authorization", "Bearer "+planted["wrong"]).Status)
	w.llm.Queue(
		llmtest.Status(401, nil, `{"error":{"message":"Incorrect API key provided: `+planted["llm"]+`"}}`),
		llmtest.Status(500, nil, `{"error":{"message":"cannot use `+planted["llm"]+`"}}`), llmtest.Raw("<html>"+planted["llm"]),
	)
	for range 3 {
		require.Equal(t, http.StatusBadGateway, say("POST", "/v1/apps/issued/sessions/s2/messages", messageBody("m1", "hello")).Status)
	}
	w.llm.Queue(llmtest.Status(401, nil, `{"error":{"message":"Incorrect API key provided: `+planted["llm"]+`"}}`))
	require.Equal(t, http.StatusUnauthorized, say("POST", "/v1/apps/issued/openai/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`).Status)
	w.nats.Stop()
	require.Equal(t, http.StatusOK, say("POST", "/v1/apps/issued/sessions/s1/messages", messageBody("", "call "+tool+" {}")).Status)
	require.Equal(t, http.StatusServiceUnavailable, say("GET", "/readyz", "").Status)
	w.nats.Start()
	client := w.client()
	require.NoError(t, client.ConfigSet(t.Context(), "requirepass", "another").Err())
	require.NoError(t, client.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err())
	require.Equal(t, http.StatusServiceUnavailable, say("POST", "/v1/apps/issued/sessions/s1/messages", messageBody("", "call "+tool+" {}")).Status)
	require.NoError(t, client.ConfigSet(t.Context(), "requirepass", planted["redis"]).Err())
	for _, r := range w.replicas {
		w.ready(r)
	}
}

// everythingIsClean checks the stream, the requests to the model, Redis and the logs.
func (w *world) everythingIsClean() {
	// All five ways end at once at three of the endpoints.
	w.until("the events are out", func() bool { return len(w.events("tool.result.issued.>")) >= 15 })
	stored := w.events(">")
	for _, one := range stored {
		clean(w.t, "event "+one.Subject, fmt.Sprint(one.Header)+string(one.Data))
	}
	require.NotEmpty(w.t, w.llm.Requests())
	for _, request := range w.llm.Requests() {
		clean(w.t, "LLM request", string(request.Body))
		require.Equal(w.t, "Bearer "+planted["llm"], request.Header.Get("Authorization"))
		request.Header.Del("Authorization")
		clean(w.t, "headers of an LLM request", fmt.Sprint(request.Header))
	}
	held := w.held()
	require.Greater(w.t, len(held), 100)
	for _, text := range held {
		clean(w.t, "Redis", text)
	}
	for _, r := range w.replicas {
		require.Zero(w.t, r.stop())
		require.Regexp(w.t, regexp.MustCompile(`"level":"DEBUG"`), r.log.String())
		clean(w.t, "log", r.log.String())
	}
}

func (w *world) held() []string {
	w.t.Helper()
	client, ctx := w.client(), w.t.Context()
	var texts []string
	keys := testbed.Got(client.Keys(ctx, "*").Result())(w.t)
	for _, key := range keys {
		var cmd redis.Cmder
		switch kind := client.Type(ctx, key).Val(); kind {
		case "string":
			cmd = client.Get(ctx, key)
		case "hash":
			cmd = client.HGetAll(ctx, key)
		case "list":
			cmd = client.LRange(ctx, key, 0, -1)
		case "zset":
			cmd = client.ZRangeWithScores(ctx, key, 0, -1)
		case "stream":
			cmd = client.XRange(ctx, key, "-", "+")
		case "none":
			continue // deleted since
		default:
			w.t.Fatalf("the key %s is a %s, which this test cannot read", key, kind)
		}
		texts = append(texts, cmd.String())
	}
	return texts
}

// newStranger starts a hostile server that wants credentials. It answers like a token endpoint.
func newStranger(t *testing.T) *endpoint {
	return newEndpoint(t, func(w http.ResponseWriter, _ received) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"t0ken-of-the-module","token_type":"Bearer","expires_in":3600}`)
	})
}

// all is what the endpoint was sent, with what basic authentication hides.
func (e *endpoint) all() string {
	var sent strings.Builder
	for _, one := range e.requests() {
		user, password, _ := (&http.Request{Header: one.Header}).BasicAuth()
		fmt.Fprintln(&sent, one, user, password)
	}
	return sent.String()
}

const theirs = "pl4nted-s3cret"

func onlyTool(fields string) string {
	return `{"tools":[{"name":"t","description":"d",` + fields + `}]}`
}

func TestMaskKeepsACredentialOnlyForWhereItWasGivenTo(t *testing.T) {
	w := serving(t, 1)
	home, evil := newStranger(t), newStranger(t)
	const crm = `"modules":[],"sources":[{"name":"crm","type":"http","baseUrl":"%s"},{"name":"erp","type":"http","baseUrl":"%[1]s"}]`
	w.put("/v1/apps/clinic", `{`+fmt.Sprintf(crm, home.URL)+`}`)
	bearer := `"url":"URL","request":{"auth":"bearer","bearer":{"clientId":"c","clientSecret":"SECRET","tokenUrl":"TOKEN/t","refreshUrl":"TOKEN/r"}}`
	basic := `"url":"URL/x","request":{"auth":"basic","basic":{"username":"ann","password":"SECRET"}}`
	header := `"url":"URL/x","request":{"headers":{"X-Api-Key":"SECRET"}}`
	own := `"type":"http","source":"crm","method":"GET","path":"x","headers":{"X-Api-Key":"SECRET"}`
	for _, path := range []string{"/v1/apps/clinic/repositories/r", "/v1/apps/clinic/sessions/s1/repositories/r"} {
		for _, c := range []struct{ given, from, to, pointer, since string }{
			{bearer, "TOKEN/t", evil.URL + "/t", "/tools/0/request/bearer/clientSecret", "tokenUrl changed"},
			{bearer, "TOKEN/r", evil.URL + "/r", "/tools/0/request/bearer/clientSecret", "refreshUrl changed"},
			{bearer, `"clientId":"c"`, `"clientId":"d"`, "/tools/0/request/bearer/clientSecret", "clientId changed"},
			{bearer, `"URL"`, `"` + evil.URL + `"`, "/tools/0/request/bearer/clientSecret", "port changed"},
			{basic, "URL", evil.URL, "/tools/0/request/basic/password", "port changed"},
			{basic, "ann", "eve", "/tools/0/request/basic/password", "username changed"},
			{basic, "URL/x", strings.Replace(home.URL, "127.0.0.1", "localhost", 1), "/tools/0/request/basic/password", "host changed"},
			{header, "URL", evil.URL, "/tools/0/request/headers/X-Api-Key", "port changed"},
			{header, "URL", strings.Replace(home.URL, "http:", "https:", 1), "/tools/0/request/headers/X-Api-Key", "scheme changed"},
			{own, `"source":"crm"`, `"source":"erp"`, "/tools/0/headers/X-Api-Key", "source changed"},
		} {
			settled := func(fields string) string {
				return onlyTool(strings.NewReplacer("TOKEN", home.URL, "URL", home.URL, "SECRET", theirs).Replace(fields))
			}
			w.put(path, settled(c.given))
			masked := strings.ReplaceAll(c.given, "SECRET", "***")
			w.put(path, settled(strings.ReplaceAll(masked, "/x", "/y"))) // the same address
			moved := settled(strings.Replace(masked, c.from, c.to, 1))
			for _, method := range []string{"PUT", "PATCH"} {
				refused := w.call(400, method, path, moved)
				require.Contains(t, refused.Body, `"pointer":"`+c.pointer+`"`, c.since)
				require.Contains(t, refused.Body, "give the credential again, since "+c.since)
			}
			w.call(400, "PUT", path+"?dryRun=true", moved)
			w.fire("s1", "t", `{}`)
			w.put(path, strings.ReplaceAll(moved, "***", "an0ther-s3cret"))
		}
		w.call(204, "DELETE", path, "")
	}
	require.Contains(t, home.all(), theirs, "the test can see it")
	require.NotContains(t, evil.all(), theirs)
}

// databaseOf is a server where a PostgreSQL client would reveal its password.
func databaseOf(t *testing.T) (port string, connected func() bool) {
	listener := testbed.Got(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = listener.Close() })
	var met atomic.Bool
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			met.Store(true)
			_ = conn.Close()
		}
	}()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	return port, met.Load
}

func TestMaskOfAnAppKeepsACredentialOnlyForWhereItWasGivenTo(t *testing.T) {
	w := serving(t, 1)
	home, evil := newStranger(t), newStranger(t)
	port, connected := databaseOf(t)
	const body = `{"modules":[{"moduleId":"m","secret":"SECRET","tokenUrl":"HOME/token"}],"sources":[
		{"name":"crm","type":"http","baseUrl":"HOME/v1/","headers":{"X-Api-Key":"SECRET"},"queryParams":{"token":"SECRET"}},
		{"name":"db","type":"postgres","host":"127.0.0.1","port":"1","user":"ann","password":"SECRET","database":"d","queryParams":{"sslmode":"verify-full"}}]}`
	settled := func(body, secret string) string {
		return strings.NewReplacer("HOME", home.URL, "SECRET", secret).Replace(body)
	}
	w.put("/v1/apps/clinic", settled(body, theirs))
	w.put("/v1/apps/clinic", settled(strings.Replace(body, `{"modules"`, `{"name":"New","modules"`, 1), "***"))
	w.put("/v1/apps/clinic/repositories/r", `{"tools":[{"name":"m","url":"`+home.URL+`","request":{"moduleId":"m"}},
		{"name":"crm","type":"http","source":"crm","method":"GET","path":"x"},
		{"name":"db","type":"postgres-sql","source":"db","statement":"SELECT 1"}]}`)
	for _, c := range []struct{ from, to, pointer, since string }{
		{"HOME/token", evil.URL + "/token", "/modules/0/secret", "tokenUrl changed"},
		{`"moduleId":"m"`, `"moduleId":"m","clientId":"other"`, "/modules/0/secret", "clientId changed"},
		{"HOME/v1/", evil.URL + "/v1/", "/sources/0/headers/X-Api-Key", "baseUrl changed"},
		{"HOME/v1/", evil.URL + "/v1/", "/sources/0/queryParams/token", "baseUrl changed"},
		{`"port":"1"`, `"port":"` + port + `"`, "/sources/1/password", "port changed"},
		{`"host":"127.0.0.1"`, `"host":"localhost"`, "/sources/1/password", "host changed"},
		{`"user":"ann"`, `"user":"eve"`, "/sources/1/password", "user changed"},
		{"verify-full", "disable", "/sources/1/password", "sslmode changed"},
	} {
		moved := settled(strings.Replace(body, c.from, c.to, 1), "***")
		for _, query := range []string{"", "?dryRun=true"} {
			refused := w.call(400, "PUT", "/v1/apps/clinic"+query, moved)
			require.Contains(t, refused.Body, `"pointer":"`+c.pointer+`"`)
			require.Contains(t, refused.Body, "give the credential again, since "+c.since)
		}
		for _, name := range []string{"m", "crm", "db"} {
			w.fire("s1", name, `{}`)
		}
	}
	require.Contains(t, home.all(), theirs, "the test can see it")
	require.Empty(t, evil.all())
	require.False(t, connected())
}

func TestCredentialsOfToolsDoNotGoAlongWhereTheirSourceMoves(t *testing.T) {
	w := serving(t, 1)
	home, evil := newStranger(t), newStranger(t)
	source := func(base string) {
		w.put("/v1/apps/clinic", `{"sources":[{"name":"crm","type":"http","baseUrl":"`+base+`"}]}`)
	}
	source(home.URL)
	const path = "/v1/apps/clinic/sessions/s1/repositories/r"
	tools := func(secret string) string {
		return strings.ReplaceAll(`{"tools":[
			{"name":"key","type":"http","source":"crm","method":"GET","path":"x","headers":{"X-Api-Key":"SECRET"}},
			{"name":"basic","type":"http","source":"crm","method":"GET","path":"x","request":{"basic":{"username":"u","password":"SECRET"}}},
			{"name":"open","type":"http","source":"crm","method":"GET","path":"x","headers":{"Accept":"text/plain"}}]}`, "SECRET", secret)
	}
	w.put(path, tools(theirs))
	for _, name := range []string{"key", "basic", "open"} {
		require.Equal(t, "delivered", w.fire("s1", name, `{}`).Call.State)
	}
	source(evil.URL)
	refused := func() {
		for _, name := range []string{"key", "basic"} {
			call := w.fire("s1", name, `{}`).Call
			require.Equal(t, "failed auth", call.State+" "+call.Reason)
			require.Contains(t, call.Error, `baseUrl of the source "crm" has changed; give the credential again`)
		}
	}
	refused()
	require.Equal(t, "delivered", w.fire("s1", "open", `{}`).Call.State, "what is no credential stops nothing")
	require.Contains(t, w.call(400, "PUT", path, tools("***")).Body, "give the credential again, since baseUrl changed")
	w.call(200, "PATCH", path, `{"tools":[{"name":"more"}]}`) // does not touch them
	w.call(200, "PATCH", path, `{"options":{"exclusive":false}}`)
	refused()
	require.NotContains(t, evil.all(), theirs)

	source(home.URL)
	require.Equal(t, "delivered", w.fire("s1", "key", `{}`).Call.State, "it is back where it was given for")
	source(evil.URL)
	require.Contains(t, w.call(200, "PUT", path+"?dryRun=true", tools(theirs)).Body, "updated", "the same credential, for another place")
	w.put(path, tools("f0r-the-new-place"))
	require.Equal(t, "delivered", w.fire("s1", "key", `{}`).Call.State)
	require.Contains(t, evil.all(), "f0r-the-new-place")
}

func TestApplyGivesTheCredentialsOfToolsAgainWhereTheirSourceMoves(t *testing.T) {
	w := devInFolder(t)
	before, after := newStranger(t), newStranger(t)
	files := func(base string) {
		write(t, "tools.yaml", "kind: app\nname: clinic\n---\nkind: source\nname: crm\ntype: http\nbaseUrl: "+base+
			"\n---\nkind: tool\nname: ask\ntype: http\nsource: crm\nmethod: GET\npath: x\ndescription: d\nheaders: {X-Api-Key: "+theirs+"}\n")
	}
	fire := func() any {
		return w.request("POST", "/v1/apps/clinic/triggers", `{"name":"ask","source":"ui"}`)["call"].(map[string]any)["state"]
	}
	files(before.URL)
	w.ok("apply", "-f", "tools.yaml")
	require.Equal(t, "delivered", fire())
	files(after.URL)
	require.Contains(t, w.ok("apply", "-f", "tools.yaml"), "tools/ask: its source moves, and its credentials are given again")
	require.Equal(t, "delivered", fire())
	require.Contains(t, after.all(), theirs)
	require.Contains(t, w.ok("apply", "-f", "tools.yaml"), "created 0, updated 0, left 2, removed 0")
}

// keyOf creates a key of the app clinic and returns its header.
func (w *world) keyOf(body string) []string {
	made := read[struct{ Key string }](w.t, w.call(201, "POST", "/v1/apps/clinic/keys", body).Body)
	return []string{"Authorization", "Bearer " + made.Key}
}

// named is the URL of the server by its name.
func (e *endpoint) named() string { return strings.Replace(e.URL, "127.0.0.1", "localhost", 1) }

const tokenOfTheModule = "t0ken-of-the-module"

func TestModuleIsUsedTowardsItsHostsAloneByWhomeverMayOnlyWriteTools(t *testing.T) {
	w := serving(t, 1)
	home, evil := newStranger(t), newStranger(t)
	app := func(hosts, base string) {
		w.put("/v1/apps/clinic", `{"modules":[{"moduleId":"calendar","secret":"s","tokenUrl":"`+home.URL+`/token","hosts":[`+hosts+`]}],
			"sources":[{"name":"crm","type":"http","baseUrl":"`+base+`"}]}`)
	}
	app(``, home.URL)
	author := w.keyOf(`{"scopes":["tools"]}`)
	there := onlyTool(`"url":"` + evil.named() + `/x","request":{"auth":"module","moduleId":"calendar"}`)
	onSource := onlyTool(`"type":"http","source":"crm","method":"GET","path":"x","request":{"moduleId":"calendar"}`)
	const all, session = "/v1/apps/clinic/repositories", "/v1/apps/clinic/sessions/s1/repositories"
	refused := func(method, path, body, pointer string, key []string) {
		got := w.call(400, method, path, body, key...).Body
		require.Contains(t, got, `"pointer":"`+pointer+`"`)
		require.Contains(t, got, `have \"localhost\" added to the hosts of the module`)
	}
	everywhere := func(body, pointer string) {
		t.Helper()
		for _, in := range []string{all, session} {
			for _, query := range []string{"", "?dryRun=true"} {
				refused("PUT", in+"/r"+query, body, pointer, author)
			}
			refused("PATCH", in+"/r", body, pointer, author)
			refused("POST", in, body, pointer, author)
		}
	}
	everywhere(there, "/tools/0/url")
	app(``, evil.named())
	everywhere(onSource, "/tools/0/source")
	app(``, home.URL)

	w.call(201, "PUT", session+"/r", strings.ReplaceAll(there, evil.named(), home.URL), author...)
	require.Equal(t, "delivered", w.fire("s1", "t", `{}`).Call.State, "the host of tokenUrl needs no mention")
	require.Contains(t, home.all(), tokenOfTheModule, "the test can see it")
	app(`"localhost"`, home.URL)
	w.call(200, "PUT", session+"/r", there, author...)
	require.Equal(t, "delivered", w.fire("s1", "t", `{}`).Call.State)
	require.Equal(t, 1, strings.Count(evil.all(), tokenOfTheModule))

	app(``, home.URL)                                                            // the host is removed
	w.call(200, "PATCH", session+"/r", `{"tools":[{"name":"more"}]}`, author...) // its tools are checked as well
	call := w.fire("s1", "t", `{}`).Call
	require.Equal(t, "failed auth", call.State+" "+call.Reason)
	require.Contains(t, call.Error, `the hosts of module "calendar" do not include localhost`)
	w.call(200, "PUT", session+"/r", onSource, author...)
	app(``, evil.named()) // the source of the tool moves
	require.Equal(t, "failed", w.fire("s1", "t", `{}`).Call.State)
	require.Equal(t, 1, strings.Count(evil.all(), tokenOfTheModule))
}

func TestWhatTheOwnerPointedElsewhereStaysAsLongAsItIsTheSame(t *testing.T) {
	w := serving(t, 1)
	home, other := newStranger(t), newStranger(t)
	w.put("/v1/apps/clinic", `{"modules":[{"moduleId":"calendar","secret":"s","tokenUrl":"`+home.URL+`/token"}]}`)
	author, owner := w.keyOf(`{"scopes":["tools"]}`), w.keyOf(`{"scopes":["tools","app"]}`)
	const path = "/v1/apps/clinic/sessions/s1/repositories/r"
	there := onlyTool(`"url":"` + other.named() + `/x","request":{"auth":"module","moduleId":"calendar"}`)
	for i, key := range [][]string{nil, owner} { // nil is the admin
		w.call(201, "PUT", path, there, key...)
		for _, other := range []string{`/y","request":{`, `/x","request":{"method":"DELETE",`, `/x","request":{"headers":{"X-A":"b"},`} {
			w.call(400, "PUT", path, strings.Replace(there, `/x","request":{`, other, 1), author...)
		}
		w.call(200, "PUT", path, strings.Replace(there, `"description":"d"`, `"description":"Rings there."`, 1), author...)
		w.call(200, "PATCH", path, `{"tools":[{"name":"more"}]}`, author...)
		require.Equal(t, "delivered", w.fire("s1", "t", `{}`).Call.State)
		require.Equal(t, i+1, strings.Count(other.all(), tokenOfTheModule))
		w.call(400, "PUT", path, strings.Replace(there, "localhost", "ip6-localhost", 1), author...)
		w.call(204, "DELETE", path, "", author...)
		w.call(400, "PUT", path, there, author...)
	}
}

func TestAVersionIsRestoredWithTheRightsOfItsRestorer(t *testing.T) {
	w := serving(t, 1)
	home, other := newStranger(t), newStranger(t)
	w.put("/v1/apps/clinic", `{"modules":[{"moduleId":"calendar","secret":"s","tokenUrl":"`+home.URL+`/token"}]}`)
	author := w.keyOf(`{"scopes":["tools"]}`)
	const path = "/v1/apps/clinic/repositories/r"
	there := onlyTool(`"url":"` + other.named() + `/x","request":{"auth":"module","moduleId":"calendar"}`)
	w.call(201, "PUT", path, there)
	w.call(200, "PATCH", path, `{"tools":[{"name":"more"}]}`)
	w.call(200, "POST", path+"/versions/1/restore", "", author...) // the repository still has the owner's grant
	require.Equal(t, "delivered", w.fire("s1", "t", `{}`).Call.State)
	w.call(200, "PUT", path, onlyTool(`"url":"`+home.URL+`/x","request":{"auth":"module","moduleId":"calendar"}`))
	w.call(400, "PUT", path, there, author...)
	w.call(400, "POST", path+"/versions/1/restore", "", author...)
	w.call(204, "DELETE", path, "")
	w.call(400, "POST", path+"/versions/1/restore", "", author...)
	require.Equal(t, 1, strings.Count(other.all(), tokenOfTheModule))
	w.call(201, "POST", path+"/versions/1/restore", "") // by the owner
	require.Equal(t, "delivered", w.fire("s1", "t", `{}`).Call.State)
}
