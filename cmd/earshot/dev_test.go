package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/certtest"
)

func TestDemoShowsAMessageSetOffATool(t *testing.T) {
	t.Parallel()
	r := launch(t, map[string]string{"COLUMNS": "80"}, "dev", "--demo", "--addr", "127.0.0.1:0")
	for _, shown := range []string{
		`message +demo/s1 +match \(offline\)  "Good morning, I want an appo…`,
		`trigger +demo/s1 +request-for-appointment  desk=B people=2`,
		`emitter +demo/s1 +request-for-appointment  calendar\.request`,
		`endpoint +demo +is called: POST /book/B as user "demo"`,
		`call +demo/s1 +POST 127\.0\.0\.1:\d+/book/:desk  200`,
		`result +demo/s1 +request-for-appointment  200 {"booked":true}`,
		`earshot chat --app demo --server http://127\.0\.0\.1:\d+\n`, `  curl http://127\.0\.0\.1:\d+/v1/apps/demo/sessions/s1/messages`, `When are you open\?`,
	} {
		r.log.Await(t, shown)
	}
	require.NotContains(t, r.log.String(), "demo-password")
	require.NotContains(t, r.log.String(), "error")
	shown := strings.Split(r.log.String(), "\n")
	require.LessOrEqual(t, len(shown), 24, "it fits one screen")
	for _, line := range shown {
		require.LessOrEqual(t, len([]rune(line)), 80, line)
	}
	require.Zero(t, r.stop())
}

func TestDevAsksForNoKeyAndMatchesWithoutAnLLM(t *testing.T) {
	t.Parallel()
	w := atDev(t, nil)
	w.put("/v1/apps/clinic", `{}`)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"opening-hours","description":"Tell when the clinic is open","examples":["When are you open?"]}]}`)
	require.Equal(t, "opening-hours", w.say("s1", "m1", "when are you open").Matches[0].Name)
	require.Empty(t, w.say("s1", "m2", "my cat is asleep").Matches)
	require.Contains(t, w.replicas[0].log.String(), "matching: no LLM is configured")
}

func TestDemoRunsOnServersThatAreNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	delete(w.env, "OPENAI_API_KEY")
	delete(w.env, "OPENAI_BASE_URL")
	r := launch(t, w.env, "dev", "--demo")
	r.log.Await(t, `result +demo/s1 +request-for-appointment`)
	require.Zero(t, r.stop())
	require.Len(t, w.events("tool.trigger.demo.s1.request-for-appointment"), 1)
}

func TestDevRunsOnServersThatAreNamed(t *testing.T) {
	t.Parallel()
	servers := newWorld(t)
	w := atDev(t, map[string]string{"REDIS_URL": servers.redis.URL(), "NATS_URL": servers.nats.URL(), "OPENAI_BASE_URL": servers.llm.URL()}, "--no-keys")
	w.put("/v1/apps/clinic", `{}`)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book"}]}`)
	require.Len(t, w.say("s1", "m1", "call book {}").Matches, 1)
	require.Equal(t, 1, servers.llm.Count())
	require.Len(t, servers.events("tool.trigger.clinic.s1.book"), 1)
	require.NotContains(t, w.replicas[0].log.String(), servers.nats.URL(), "it may hold a password")
}

func TestDevAsksForTheKeyThatItIsGiven(t *testing.T) {
	t.Parallel()
	servers := newWorld(t)
	for name, env := range map[string]map[string]string{
		"its own store": {}, "the Redis of others": {"REDIS_URL": servers.redis.URL(), "NATS_URL": servers.nats.URL()},
	} {
		env["EARSHOT_ADMIN_KEY"] = "given"
		w := atDev(t, env)
		w.env["EARSHOT_ADMIN_KEY"] = "another"
		w.call(http.StatusUnauthorized, "GET", "/v1/apps", "")
		w.env["EARSHOT_ADMIN_KEY"] = "given"
		w.call(http.StatusOK, "GET", "/v1/apps", "")
		require.Contains(t, w.replicas[0].log.String(), "the EARSHOT_ADMIN_KEY is asked for", name)

		w = atDev(t, env, "--no-keys")
		w.env["EARSHOT_ADMIN_KEY"] = ""
		w.call(http.StatusOK, "GET", "/v1/apps", "")
	}
}

func TestDevServesNobodysRedisWithoutAKey(t *testing.T) {
	t.Parallel()
	servers := newWorld(t)
	got := failing(t, map[string]string{"REDIS_URL": servers.redis.URL(), "EARSHOT_ADDR": "127.0.0.1:0"}, "dev")
	require.Contains(t, got.err, "give EARSHOT_ADMIN_KEY (--admin-key), or --no-keys where that is meant")
}

func TestDemoAndFilesUseTheKeyThatIsAskedFor(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "tools.yaml"), []byte("kind: tool\nname: one\n"), 0o600))
	r := launch(t, map[string]string{"EARSHOT_ADMIN_KEY": "given"}, "dev", "--demo", "--addr", "127.0.0.1:0", "-f", folder, "--app", "clinic")
	r.log.Await(t, `1 file loaded: created 2`)
	r.log.Await(t, `    -H "Authorization: Bearer \$EARSHOT_ADMIN_KEY" \\\n`)
	require.Zero(t, r.stop())
}

func TestDevLoadsItsFilesWhenRedisHasBeenChecked(t *testing.T) {
	t.Parallel()
	servers := newWorld(t)
	servers.redis.Stop() // so that the check waits for the test
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "tools.yaml"), []byte("kind: tool\nname: one\n"), 0o600))
	r := launch(t, map[string]string{"REDIS_URL": servers.redis.URL(), "NATS_URL": servers.nats.URL()},
		"dev", "--no-keys", "--addr", "127.0.0.1:0", "-f", folder, "--app", "clinic")
	r.log.Await(t, `"msg":"redis.unavailable"`)
	servers.redis.Start()
	r.log.Await(t, `1 file loaded: created 2`)
	require.Zero(t, r.stop())
}

func TestDevLoadsFilesAndLoadsThemAgainWhenTheyChange(t *testing.T) {
	inFolder(t)
	write(t, "tools.yaml", "kind: tool\nname: one\n---\nkind: toolset\nname: desk\ntools: [one]\n")
	w := atDev(t, nil, "-f", "tools.yaml")
	d := w.replicas[0].log
	d.Await(t, regexp.QuoteMeta("1 file loaded: created 2, updated 0, left 0, removed 0"))
	w.request("PUT", "/v1/apps/clinic/repositories/others", `{"tools":[{"name":"x"}]}`)

	write(t, "next.yaml", "kind: tool\nname: two\n")
	require.NoError(t, os.Rename("next.yaml", "tools.yaml"), "as editors replace a file")
	d.Await(t, regexp.QuoteMeta("- repository clinic/desk\n"))
	d.Await(t, regexp.QuoteMeta("  repository clinic/others is not in the files and stays"))
	require.Equal(t, "two", firstTool(w))

	write(t, "tools.yaml", "kind: tol\n")
	d.Await(t, regexp.QuoteMeta("tools.yaml:1:7: unknown kind \"tol\""))
	d.Await(t, regexp.QuoteMeta("the files were not loaded; what is running stays as it was"))
	require.Equal(t, "two", firstTool(w))

	write(t, "tools.yaml", "kind: tool\nname: three\n")
	d.Await(t, regexp.QuoteMeta("tools/three is new"))
	require.Equal(t, "three", firstTool(w))
}

func TestDevRemovesTheSettingsThatItsFilesNoLongerHave(t *testing.T) {
	inFolder(t)
	const tools = "---\nkind: tool\nname: one\n"
	write(t, "tools.yaml", "kind: app\nname: clinic\nsettings: {chatEvents: true, language: de}\n"+tools)
	w := atDev(t, nil, "-f", "tools.yaml")
	d := w.replicas[0].log
	d.Await(t, regexp.QuoteMeta("1 file loaded: created 2"))
	w.request("PATCH", "/v1/apps/clinic", `{"name":"The clinic"}`)
	language := func() any { return w.request("GET", "/v1/apps/clinic", "")["settings"].(map[string]any)["language"] }

	write(t, "tools.yaml", "kind: app\nname: clinic\nsettings: {language: de}\n"+tools)
	d.Await(t, "settings/chatEvents: true is gone")
	require.Equal(t, "de", language())
	write(t, "tools.yaml", "kind: app\nname: clinic\n"+tools)
	d.Await(t, "settings/language: \"de\" is gone")
	require.Nil(t, language())
	require.Equal(t, "The clinic", w.request("GET", "/v1/apps/clinic", "")["name"], "which no file has named")
}

func firstTool(w *world) string {
	tools := w.request("GET", "/v1/apps/clinic/repositories/default", "")["tools"].([]any)
	return tools[0].(map[string]any)["name"].(string)
}

func TestDevFindsNewFilesOfAFolder(t *testing.T) {
	inFolder(t)
	require.NoError(t, os.Mkdir("app", 0o700))
	write(t, filepath.Join("app", "tools.yaml"), "kind: tool\nname: one\n")
	d := atDev(t, nil, "-f", "app").replicas[0].log
	d.Await(t, regexp.QuoteMeta("1 file loaded"))
	write(t, filepath.Join("app", "more.yaml"), "kind: tool\nname: two\n")
	d.Await(t, regexp.QuoteMeta("2 files loaded: created 0, updated 1, left 1, removed 0"))
}

// A log that is written all the time may stand beside the files.
func TestDevLoadsFilesBesideAFileThatNeverRests(t *testing.T) {
	inFolder(t)
	write(t, "tools.yaml", "kind: tool\nname: one\n")
	w := atDev(t, nil, "-f", "tools.yaml")
	d := w.replicas[0].log
	d.Await(t, regexp.QuoteMeta("1 file loaded"))
	busy, err := os.Create("dev.log")
	require.NoError(t, err)
	stop := testbed.Background(t, func(ctx context.Context) {
		for ctx.Err() == nil {
			_, _ = busy.WriteString("a line\n")
			testbed.Wait(ctx, time.Millisecond)
		}
	})
	defer func() { stop(); require.NoError(t, busy.Close()) }()
	write(t, "tools.yaml", "kind: tool\nname: two\n")
	d.Await(t, regexp.QuoteMeta("tools/two is new"))
	require.Equal(t, "two", firstTool(w))
}

func TestDevIsReadyOnceItsFilesAreLoaded(t *testing.T) {
	inFolder(t)
	var tools strings.Builder
	for i := range 1000 { // so that it takes a while
		fmt.Fprintf(&tools, "---\nkind: tool\nname: t%d\nexamples: [number %d]\n", i, i)
	}
	write(t, "tools.yaml", tools.String())
	require.Equal(t, "t0", firstTool(atDev(t, nil, "-f", "tools.yaml")))
}

func TestDevEndsWhereTheFilesCannotBeLoadedAtStart(t *testing.T) {
	inFolder(t)
	write(t, "tools.yaml", "kind: tol\n")
	r := launch(t, nil, "dev", "--addr", "127.0.0.1:0", "-f", "tools.yaml")
	require.Equal(t, 1, r.wait())
	require.Contains(t, r.log.String(), "tools.yaml:1:7: unknown kind \"tol\"")
}

// newCertificate writes a certificate for 127.0.0.1 to files, and returns a pool that trusts it.
func newCertificate(t *testing.T) (certFile, keyFile string, trust *x509.CertPool) {
	authority := certtest.New(t, time.Now())
	made := authority.Write(t.TempDir(), authority.Issue("earshot"))
	return made.Cert, made.Key, authority.Pool()
}

func TestServesHTTPSAndEndsItsStreamsAtTheEnd(t *testing.T) {
	cert, key, trust := newCertificate(t)
	r := launch(t, nil, "dev", "--addr", "127.0.0.1:0", "--log-format", "json", "--log-level", "info", "--tls-cert", cert, "--tls-key", key)
	url := r.log.Await(t, `Earshot listens on (https://\S+)`)
	_, err := http.Get(url + "/healthz") //nolint:bodyclose // the certificate is not trusted: there is no answer
	require.ErrorContains(t, err, "certificate")
	r.log.Await(t, `(?m)^\{.*"level":"INFO","msg":"http: TLS handshake error from `)

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}}}
	request := testbed.Got(http.NewRequest(http.MethodPut, url+"/v1/apps/clinic", strings.NewReader("{}")))(t)
	response := testbed.Got(client.Do(request))(t)
	require.NoError(t, response.Body.Close())
	require.Equal(t, 201, response.StatusCode)
	var stream *http.Response
	require.Eventually(t, func() bool {
		stream = testbed.Got(client.Get(url + "/v1/apps/clinic/events"))(t)
		if stream.StatusCode != 200 {
			_ = stream.Body.Close()
		}
		return stream.StatusCode == 200
	}, patience, glance)

	r.end()
	testbed.Got(io.Copy(io.Discard, stream.Body))(t)
	require.NoError(t, stream.Body.Close())
	require.Zero(t, r.wait())
}

func TestACertificateWithoutItsKeyIsAFaultAtStart(t *testing.T) {
	c := config{Addr: "127.0.0.1:0", LogLevel: "error", LogFormat: "json", SessionTTL: time.Hour, LLMTimeout: time.Second, TLSCert: "cert.pem"}
	require.ErrorContains(t, c.check(), "--tls-cert and --tls-key")
}

func TestToolsWorkOnTheSourcesOfTheirApp(t *testing.T) {
	dir := t.TempDir()
	db := testbed.Got(sql.Open("sqlite", filepath.Join(dir, "clinic.db")))(t)
	testbed.Got(db.Exec("create table slots (day text, free integer); insert into slots values ('friday', 3)"))(t)
	require.NoError(t, db.Close())
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"path": r.URL.Path, "key": r.Header.Get("X-Desk")})
	}))
	defer endpoint.Close()

	w := atDev(t, nil, "--sqlite-dir", dir)
	const app = "/v1/apps/clinic"
	w.put(app, `{"sources":[{"name":"file","type":"sqlite","database":"clinic.db","readOnly":true},
	  {"name":"outside","type":"sqlite","database":"/etc/passwd"},
	  {"name":"api","type":"http","baseUrl":"`+endpoint.URL+`/v1/","headers":{"X-Desk":"A","Authorization":"hunter2-header"}}]}`)
	require.NotContains(t, w.call(200, "GET", app, "").Body, "hunter2")
	w.put(app+"/repositories/desk", `{"tools":[
	  {"name":"free-slots","description":"Which slots are free","type":"sqlite-sql","source":"file","examples":["what is free?"],"statement":"select * from slots"},
	  {"name":"passwords","description":"Never","type":"sqlite-sql","source":"outside","statement":"select 1"},
	  {"name":"weather","description":"The weather","type":"http","source":"api","method":"GET","path":"weather/{{.city}}",
	   "pathParams":[{"name":"city","type":"string","description":"d"}]}]}`)

	answer := w.call(200, "POST", app+"/sessions/s1/messages", `{"messageId":"m1","actor":"user","text":"what is free?"}`).Body
	require.Contains(t, answer, `"call":{"state":"delivered","attempts":1,"result":[{"day":"friday","free":3}]}`)
	match := w.call(201, "POST", app+"/sessions/s1/triggers", `{"name":"weather","source":"ui","values":{"city":"Aix en Provence"}}`).Body
	require.Contains(t, match, `"result":{"key":"A","path":"/v1/weather/Aix en Provence"}`)
	require.Contains(t, w.call(201, "POST", app+"/sessions/s1/triggers", `{"name":"passwords","source":"ui"}`).Body, `"reason":"blocked"`)
	event := w.ok("listen", "tool.result.clinic.s1.free-slots", "--since", "1h", "--count", "1", "--json")
	require.Contains(t, event, `"result":[{"day":"friday","free":3}]`)
}

func TestDatabasesAreUnderThePolicyOfCalls(t *testing.T) {
	w := atDev(t, nil, "--private-urls", "deny")
	const app = "/v1/apps/clinic"
	w.put(app, `{"sources":[{"name":"pg","type":"postgres","host":"127.0.0.1","port":1,"database":"d","user":"u","password":"hunter2-pg"}]}`)
	w.put(app+"/repositories/desk", `{"tools":[{"name":"t","type":"postgres-sql","source":"pg","statement":"select 1"}]}`)
	match := w.call(201, "POST", app+"/triggers", `{"name":"t","source":"task"}`).Body
	require.Contains(t, match, `"reason":"blocked"`)
	require.Contains(t, match, "EARSHOT_PRIVATE_URLS=127.0.0.1/32")
	require.NotContains(t, match, "hunter2")
}

func TestOriginsOfThisMachineAreKnown(t *testing.T) {
	for origin, is := range map[string]bool{
		"http://localhost": true, "http://localhost:5173": true, "https://localhost:8443": true, "http://127.0.0.1:3000": true, "http://127.8.8.8": true, "http://[::1]:3000": true,
		"http://localhost.evil.example": false, "http://127.0.0.1.evil.example": false, "http://evil.example#localhost": false, "http://localhost@evil.example": false,
		"http://localhost/": false, "ftp://localhost": false, "file://": false, "null": false, "": false, "localhost": false, "http://10.0.0.1": false, "http://[::ffff:10.0.0.1]": false, "http://0.0.0.0": false,
	} {
		require.Equal(t, is, isLocal(origin), origin)
	}
}

// asPage sends a request as a browser does for a page of an origin.
func asPage(t *testing.T, method, url, origin, body string, headers map[string]string) *http.Response {
	request := testbed.Got(http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body)))(t)
	request.Header.Set("Origin", origin)
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	if host := headers["Host"]; host != "" {
		request.Host = host
	}
	response := testbed.Got(http.DefaultClient.Do(request))(t)
	require.NoError(t, response.Body.Close())
	return response
}

var preflight = map[string]string{"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}

func TestPagesOfThisMachineMayCallDev(t *testing.T) {
	t.Parallel()
	w := atDev(t, nil)
	r := w.replicas[0]
	w.put("/v1/apps/clinic", `{}`)
	messages, text := r.url+"/v1/apps/clinic/sessions/s1/messages", `{"actor":"user","text":"hello"}`
	for _, origin := range []string{"http://localhost:5173", "http://127.0.0.1:3000", "http://[::1]:8000"} {
		asked := asPage(t, "OPTIONS", messages, origin, "", preflight)
		require.Equal(t, origin, asked.Header.Get("Access-Control-Allow-Origin"))
		require.Contains(t, asked.Header.Get("Access-Control-Allow-Methods"), "POST")
		posted := asPage(t, "POST", messages, origin, text, map[string]string{"Content-Type": "application/json"})
		require.Equal(t, http.StatusOK, posted.StatusCode)
		require.Equal(t, origin, posted.Header.Get("Access-Control-Allow-Origin"))
	}
	require.NotContains(t, r.log.String(), "origin.refused")

	elsewhere := "http://chat.example"
	for range 2 {
		require.Empty(t, asPage(t, "OPTIONS", messages, elsewhere, "", preflight).Header.Get("Access-Control-Allow-Origin"))
	}
	require.Equal(t, http.StatusForbidden, asPage(t, "POST", messages, elsewhere, text, map[string]string{"Content-Type": "application/json"}).StatusCode)
	require.Contains(t, r.log.Await(t, `(origin\.refused.+settings\.allowedOrigins)`), elsewhere)
	require.Equal(t, 1, strings.Count(r.log.String(), "origin.refused"), "a page that asks again and again is told of once")

	// A foreign name that resolves here is sent as host and origin.
	rebound := asPage(t, "POST", messages, "http://rebound.example", text, map[string]string{"Content-Type": "application/json", "Host": "rebound.example"})
	require.Equal(t, http.StatusForbidden, rebound.StatusCode)

	w.put("/v1/apps/clinic", `{"settings":{"allowedOrigins":["`+elsewhere+`"]}}`)
	require.Equal(t, elsewhere, asPage(t, "OPTIONS", messages, elsewhere, "", preflight).Header.Get("Access-Control-Allow-Origin"))
}

func TestPagesOfThisMachineNeedToBeAllowedByServe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.serve()
	w.put("/v1/apps/clinic", `{}`)
	require.Empty(t, asPage(t, "OPTIONS", r.url+"/v1/apps/clinic/sessions/s1/messages", "http://localhost:5173", "", preflight).Header.Get("Access-Control-Allow-Origin"))
}
