package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/matcher/llm/llmtest"
)

// planted are all the credentials that a run uses. None of them may be found where it
// is not needed, be it as it is, in base64, or in a URL.
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

// traces are the forms in which a credential may show.
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

// clean checks that a text holds no credential.
func clean(t *testing.T, where, text string) {
	t.Helper()
	for name, trace := range traces() {
		if at := strings.Index(text, trace); at >= 0 {
			t.Errorf("%s shows the credential %q: …%s…", where, name, text[max(0, at-200):min(len(text), at+len(trace)+40)])
		}
	}
}

// echo answers with all that it was sent.
func echo(status int) func(http.ResponseWriter, received) {
	return func(out http.ResponseWriter, r received) {
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(status)
		_ = json.NewEncoder(out).Encode(map[string]any{
			"error": "invalid_client", "error_description": r.Body + " " + r.Header.Get("Authorization"), "received": r,
		})
	}
}

// withPasswords starts replicas on servers that ask for passwords, with the app clinic.
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

// requests writes the request of a tool for each way of authentication.
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

// clinic writes an app for each issuer, with tools that are called in every way, at each
// endpoint, and returns the names of the tools.
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

// garbage answers with what is no HTTP, and holds what it was sent.
func garbage(out http.ResponseWriter, r received) {
	conn, _, err := http.NewResponseController(out).Hijack()
	if err == nil {
		_, _ = io.WriteString(conn, r.Header.Get("Authorization")+" "+r.Header.Get("X-Api-Key")+"\r\n\r\n")
		_ = conn.Close()
	}
}

// mistakes sends credentials in bodies that are at fault.
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

// failures lets everything around the program fail with credentials in its mouth.
func failures(t *testing.T, w *world, say func(method, path, body string, headers ...string) httpAnswer, tool string) {
	require.Equal(t, http.StatusUnauthorized, say("GET", "/v1/apps", "", "Authorization", "Bearer "+planted["wrong"]).Status)
	w.llm.Queue(
		llmtest.Status(401, nil, `{"error":{"message":"Incorrect API key provided: `+planted["llm"]+`"}}`),
		llmtest.Status(500, nil, `{"error":{"message":"cannot use `+planted["llm"]+`"}}`), llmtest.Raw("<html>"+planted["llm"]),
	)
	for range 3 {
		require.Equal(t, http.StatusBadGateway, say("POST", "/v1/apps/issued/sessions/s2/messages", messageBody("m1", "hello")).Status)
	}
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
		w.until("it is ready again", func() bool { return w.ask(r, "GET", "/readyz", "").Status == http.StatusOK })
	}
}

// everythingIsClean looks into the stream, the requests to the model, Redis and the
// logs.
func (w *world) everythingIsClean() {
	// All five ways come to an end at once at three of the endpoints.
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

// held lists all keys of Redis with their values.
func (w *world) held() []string {
	w.t.Helper()
	client, ctx := w.client(), w.t.Context()
	var texts []string
	keys := client.Scan(ctx, 0, "*", 1000).Iterator()
	for keys.Next(ctx) {
		var cmd redis.Cmder
		switch kind := client.Type(ctx, keys.Val()).Val(); kind {
		case "string":
			cmd = client.Get(ctx, keys.Val())
		case "hash":
			cmd = client.HGetAll(ctx, keys.Val())
		case "list":
			cmd = client.LRange(ctx, keys.Val(), 0, -1)
		case "zset":
			cmd = client.ZRangeWithScores(ctx, keys.Val(), 0, -1)
		case "none":
			continue // gone since
		default:
			w.t.Fatalf("the key %s is a %s, which this test cannot read", keys.Val(), kind)
		}
		texts = append(texts, cmd.String())
	}
	require.NoError(w.t, keys.Err())
	return texts
}
