package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// stranger is a server of somebody who wants to be sent a credential. It answers like a
// token endpoint, and keeps all that it is sent.
type stranger struct {
	*httptest.Server
	mu   sync.Mutex
	sent strings.Builder
}

func newStranger(t *testing.T) *stranger {
	s := &stranger{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		user, password, _ := r.BasicAuth()
		s.mu.Lock()
		fmt.Fprintf(&s.sent, "%s %s\n%v\n%s %s\n%s\n", r.Method, r.RequestURI, r.Header, user, password, body)
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"t0ken-of-the-module","token_type":"Bearer","expires_in":3600}`)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *stranger) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent.String()
}

const theirs = "pl4nted-s3cret"

// onlyTool is a repository of one tool.
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
			w.put(path, settled(strings.ReplaceAll(masked, "/x", "/y"))) // the same place
			moved := settled(strings.Replace(masked, c.from, c.to, 1))
			for _, method := range []string{"PUT", "PATCH"} {
				refused := w.call(400, method, path, moved)
				require.Contains(t, refused.Body, `"pointer":"`+c.pointer+`"`, c.since)
				require.Contains(t, refused.Body, "give it again, since "+c.since)
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

// databaseOf is where a client of PostgreSQL would show its password.
func databaseOf(t *testing.T) (port string, connected func() bool) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	var mu sync.Mutex
	any := false
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			any = true
			mu.Unlock()
			_ = conn.Close()
		}
	}()
	_, port, err = net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	return port, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return any
	}
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
			require.Contains(t, refused.Body, "give it again, since "+c.since)
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
		t.Helper()
		for _, name := range []string{"key", "basic"} {
			call := w.fire("s1", name, `{}`).Call
			require.Equal(t, "failed auth", call.State+" "+call.Reason)
			require.Contains(t, call.Error, `baseUrl changed since for the source "crm"; give it again`)
		}
	}
	refused()
	require.Equal(t, "delivered", w.fire("s1", "open", `{}`).Call.State, "what is no credential stops nothing")
	require.Contains(t, w.call(400, "PUT", path, tools("***")).Body, "give it again, since baseUrl changed")
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

// keyOf makes a key of the app clinic and returns the header that sends it.
func (w *world) keyOf(body string, headers ...string) []string {
	w.t.Helper()
	made := read[struct{ Key string }](w.t, w.call(201, "POST", "/v1/apps/clinic/keys", body, headers...))
	return []string{"Authorization", "Bearer " + made.Key}
}

// named is the server under another name.
func (s *stranger) named(host string) string { return strings.Replace(s.URL, "127.0.0.1", host, 1) }

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
	there := onlyTool(`"url":"` + evil.named("localhost") + `/x","request":{"auth":"module","moduleId":"calendar"}`)
	onSource := onlyTool(`"type":"http","source":"crm","method":"GET","path":"x","request":{"moduleId":"calendar"}`)
	const all, session = "/v1/apps/clinic/repositories", "/v1/apps/clinic/sessions/s1/repositories"
	refused := func(method, path, body, pointer string, key []string) {
		t.Helper()
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
	app(``, evil.named("localhost"))
	everywhere(onSource, "/tools/0/source")
	app(``, home.URL)

	w.call(201, "PUT", session+"/r", strings.ReplaceAll(there, evil.named("localhost"), home.URL), author...)
	require.Equal(t, "delivered", w.fire("s1", "t", `{}`).Call.State, "the host of tokenUrl needs no mention")
	require.Contains(t, home.all(), tokenOfTheModule, "the test can see it")
	app(`"localhost"`, home.URL)
	w.call(200, "PUT", session+"/r", there, author...)
	require.Equal(t, "delivered", w.fire("s1", "t", `{}`).Call.State)
	require.Equal(t, 1, strings.Count(evil.all(), tokenOfTheModule))

	app(``, home.URL)                                                            // the host is taken back
	w.call(200, "PATCH", session+"/r", `{"tools":[{"name":"more"}]}`, author...) // its tools are held to it as well
	call := w.fire("s1", "t", `{}`).Call
	require.Equal(t, "failed auth", call.State+" "+call.Reason)
	require.Contains(t, call.Error, `the hosts of module "calendar" do not name localhost`)
	w.call(200, "PUT", session+"/r", onSource, author...)
	app(``, evil.named("localhost")) // the source is moved below the tool
	require.Equal(t, "failed", w.fire("s1", "t", `{}`).Call.State)
	require.Equal(t, 1, strings.Count(evil.all(), tokenOfTheModule))
}

func TestWhatTheOwnerPointedElsewhereStaysAsLongAsItIsTheSame(t *testing.T) {
	w := serving(t, 1)
	home, other := newStranger(t), newStranger(t)
	w.put("/v1/apps/clinic", `{"modules":[{"moduleId":"calendar","secret":"s","tokenUrl":"`+home.URL+`/token"}]}`)
	author, owner := w.keyOf(`{"scopes":["tools"]}`), w.keyOf(`{"scopes":["tools","app"]}`)
	const path = "/v1/apps/clinic/sessions/s1/repositories/r"
	there := onlyTool(`"url":"` + other.named("localhost") + `/x","request":{"auth":"module","moduleId":"calendar"}`)
	for i, key := range [][]string{nil, owner} { // nil is the admin
		w.call(201, "PUT", path, there, key...)
		w.call(200, "PUT", path, strings.Replace(there, "/x", "/y", 1), author...)
		w.call(200, "PATCH", path, `{"tools":[{"name":"more"}]}`, author...)
		require.Equal(t, "delivered", w.fire("s1", "t", `{}`).Call.State)
		require.Equal(t, i+1, strings.Count(other.all(), tokenOfTheModule))
		w.call(400, "PUT", path, strings.Replace(there, "localhost", "ip6-localhost", 1), author...)
		w.call(204, "DELETE", path, "", author...)
		w.call(400, "PUT", path, there, author...)
	}
}
