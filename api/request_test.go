package api_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/api/answer"
	"earshot/deploy/testbed"
	"earshot/deploy/testbed/apitest"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher/chain"
	"earshot/matcher/llm"
)

func TestAnUnknownPathIsA404Problem(t *testing.T) {
	s := start(t)
	for _, path := range []string{"/nothing", "/v1", "/v2/apps", "/v1/apps/clinic/nothing", "/healthz/x", "/v1/apps/clinic/sessions/s1/messages/m1/x"} {
		s.Call("GET", path, "").Problem(404)
	}
	s.Call("GET", "/nothing", "", "Authorization: ").Problem(404)
}

func TestAWrongMethodIsA405ProblemWithAllow(t *testing.T) {
	cases := map[string][2]string{
		"/v1/apps":                          {"POST", "GET, HEAD, OPTIONS"},
		"/v1/apps/clinic":                   {"POST", "DELETE, GET, HEAD, OPTIONS, PATCH, PUT"},
		apitest.MessagesPath:                {"DELETE", "GET, HEAD, OPTIONS, POST"},
		"/v1/apps/clinic/sessions/s1":       {"POST", "DELETE, GET, HEAD, OPTIONS, PUT"},
		"/v1/apps/clinic/repositories/r":    {"POST", "DELETE, GET, HEAD, OPTIONS, PATCH, PUT"},
		"/v1/apps/clinic/triggers/t/retry":  {"PUT", "OPTIONS, POST"},
		"/v1/apps/clinic/triggers/t/answer": {"GET", "OPTIONS, POST"},
		"/v1/apps/clinic/triggers/t/cancel": {"DELETE", "OPTIONS, POST"},
		"/healthz":                          {"POST", "GET, HEAD, OPTIONS"},
	}
	s := start(t)
	for path, c := range cases {
		got := s.Call(c[0], path, "")
		got.Problem(405, c[0])
		require.ElementsMatch(t, strings.Split(c[1], ", "), strings.Split(got.Header.Get("Allow"), ", "), path)
	}
	s.Call("BREW", "/v1/apps", "").Problem(405)
}

func TestOptionsTellsTheMethodsWithoutAKey(t *testing.T) {
	s := start(t)
	got := s.Call("OPTIONS", "/v1/apps/clinic", "", "Authorization: ").Is(204, "")
	require.ElementsMatch(t, []string{"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "PUT"}, strings.Split(got.Header.Get("Allow"), ", "))
	require.Empty(t, got.Header.Get("Access-Control-Allow-Origin"))
}

func TestHeadAnswersAsGetDoesWithoutTheBody(t *testing.T) {
	s := atClinic(t)
	for _, path := range append(openPaths, "/v1/apps", "/v1/apps/clinic") {
		get, head := s.Call("GET", path, ""), s.Call("HEAD", path, "")
		require.Equal(t, 200, head.StatusCode, path)
		require.Empty(t, head.Body)
		require.Equal(t, get.Header.Get("Content-Type"), head.Header.Get("Content-Type"), path)
	}
	require.Equal(t, 404, s.Call("HEAD", "/v1/apps/none", "").StatusCode)
}

func TestIDsOfThePathAreCheckedAndNamed(t *testing.T) {
	s := atClinic(t)
	long := strings.Repeat("x", 129)
	cases := map[string][]string{
		"/v1/apps/-x":                                 {`appId "-x"`},
		"/v1/apps/a.b/sessions/*/messages":            {`appId "a.b"`, `sessionId "*"`},
		"/v1/apps/a%20b/repositories":                 {`appId "a b"`},
		"/v1/apps/a%2Fb/repositories":                 {`appId "a/b"`},
		"/v1/apps/a/sessions/%3E/triggers":            {`sessionId ">"`},
		"/v1/apps/a/repositories/" + long:             {"repositoryId"},
		"/v1/apps/a/triggers/%2E%2E":                  {`triggerId ".."`},
		"/v1/apps/a/sessions/%00/repositories/%F0%9F": {"sessionId", "repositoryId"},
		"/v1/apps//repositories":                      {`appId ""`},
	}
	for path, words := range cases {
		s.Call("GET", path, "").Problem(400, words...)
	}
	s.Call("DELETE", "/v1/apps/%63linic", "").Is(204, "")
	s.Call("GET", "/v1/apps/clinic", "").Problem(404) // an encoded id is the same id
}

func TestQueryParametersAreKnownOrRefused(t *testing.T) {
	s := start(t)
	cases := map[string][]string{
		"/v1/apps?dryRun=true":                                  {`"dryRun" is not known here`, "this version takes limit, after"},
		"/v1/apps?limit=1&limit=2":                              {`"limit" is given more than once`},
		"/v1/apps?limit=0":                                      {`limit "0" is not a whole number from 1 to 200`},
		"/v1/apps?limit=201":                                    {"from 1 to 200"},
		"/v1/apps?limit=-1":                                     {"from 1 to 200"},
		"/v1/apps?limit=ten":                                    {"from 1 to 200"},
		"/v1/apps?limit=99999999999999999":                      {"from 1 to 200"},
		"/v1/apps?after=%2A":                                    {"after is not a cursor"},
		"/v1/apps?after=" + strings.Repeat("x", 1100):           {"after is not a cursor"},
		"/v1/apps?%zz":                                          {"not well-formed"},
		"/v1/apps/clinic?a=1&b=2":                               {`"a"`, `"b"`, "takes none"},
		"/v1/apps/clinic/triggers?" + strings.Repeat("x", 1000): {"xxx…", "takes limit, after, state"},
	}
	for path, words := range cases {
		s.Call("GET", path, "").Problem(400, words...)
	}
	s.Call("GET", "/healthz?probe=1", "").Is(200, "") // probes take any
}

// TestARouteWithoutABodyRefusesOne: a filter in the body of a retry was ignored, and everything was sent again.
func TestARouteWithoutABodyRefusesOne(t *testing.T) {
	const (
		query = "the request takes no body; put this into the query: ?"
		plain = "the request takes no body; leave it out"
		all   = "/v1/apps/clinic/triggers"
		draft = apitest.MessagesPath + "/m1"
	)
	s := start(t)
	for _, c := range []struct {
		method, path, body string
		faults             map[string]string
	}{
		{"POST", all + "/retry", `{"name":"x","sessionId":"y"}`, map[string]string{"/name": query + "name=…", "/sessionId": query + "session=…"}},
		{"DELETE", all + "?state=failed", `{"name":"x","colour":1}`, map[string]string{"/name": query + "name=…", "/colour": plain}},
		{"GET", all, `{"state":"failed"}`, map[string]string{"/state": query + "state=…"}},
		{"POST", all + "/t1/retry", "not json", map[string]string{"": plain}},
		{"POST", all + "/t1/cancel", strings.Repeat(" ", 1<<19) + `{"digest":"d"}`, map[string]string{"": plain}},
		{"POST", draft + "/commit", `{"metadata":{"a":"b"}}`, map[string]string{"/metadata": plain}},
		{"DELETE", draft, `[]`, map[string]string{"": plain}},
		{"POST", "/v1/apps/clinic/repositories/booking/versions/1/restore", `{"x":1}`, map[string]string{"/x": plain}},
		{"DELETE", "/v1/apps/clinic", "name=x", map[string]string{"": plain}},
	} {
		require.Equal(t, c.faults, s.Call(c.method, c.path, c.body).Problem(400), "%s %s %.20s", c.method, c.path, c.body)
		require.Equal(t, c.faults, s.Call(c.method, c.path, c.body, "Expect: 100-continue").Problem(400), "%s %s asks first", c.method, c.path)
	}
	for path, item := range s.Description.At("/paths") {
		for method, operation := range item.(map[string]any) {
			described, is := operation.(map[string]any)
			if !is || described["requestBody"] != nil || len(described["security"].([]any)) == 0 || strings.Contains(path, "/openai/") || path == "/v1/apps/{appId}/sessions/{sessionId}/socket" {
				continue
			}
			filled := strings.NewReplacer("{version}", "1", "{", "", "}", "").Replace(path)
			require.Equal(t, map[string]string{"/xyzzy": plain}, s.Call(strings.ToUpper(method), filled, `{"xyzzy":1}`).Problem(400), path)
		}
	}
}

func TestNoFieldsAreNoBody(t *testing.T) {
	s := apitest.Live(t, apitest.Everything)
	for _, body := range []string{"", " \n", "{}", "{ }\n", "null"} {
		s.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
		s.Call("DELETE", "/v1/apps/clinic", body).Is(204, "")
	}
	s.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	s.Call("GET", "/healthz", "who asks").Is(200, "")
	s.Call("GET", "/v1/apps/clinic/openai/v1/models", "any").Is(501, "") // which has no model here
}

func TestNothingIsCachedOrSniffedOrFramed(t *testing.T) {
	s := atClinic(t)
	for _, path := range []string{"/v1/apps", "/nothing", "/docs", "/healthz"} {
		header := s.Call("GET", path, "").Header
		for name, value := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		} {
			require.Equal(t, value, header.Get(name), path+" "+name)
		}
	}
	require.Equal(t, "application/json", s.Call("GET", "/v1/apps", "").Header.Get("Content-Type"))
}

func TestRoutesOfOtherHostsAreTheSame(t *testing.T) {
	s := start(t)
	request, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/healthz", nil)
	require.NoError(t, err)
	request.Host = "earshot.example.org"
	require.Equal(t, 200, s.Send(request).StatusCode)
}

const mib = 1 << 20

func TestABodyIsReadUpToOneMiB(t *testing.T) {
	s := start(t)
	s.Call("POST", apitest.MessagesPath, strings.Repeat(" ", mib+1)).Problem(413, "1048576 bytes")
	s.engine.answer = json.RawMessage(apitest.NoMatch)
	s.Call("POST", apitest.MessagesPath, apitest.HelloBody+strings.Repeat(" ", mib-len(apitest.HelloBody))).Is(200, apitest.NoMatch)
}

func TestOnlyPlainJSONIsRead(t *testing.T) {
	s := start(t)
	s.engine.answer = json.RawMessage(apitest.NoMatch)
	for kind, status := range map[string]int{
		"application/json": 200, "application/json; charset=utf-8": 200, "Application/JSON;charset=UTF-8": 200, "application/problem+json": 200, "": 200,
		"text/plain": 415, "application/x-www-form-urlencoded": 415, "application/json; charset=utf-16": 415, "application/xml": 415, "json": 415, ";;": 415, "text/x+json": 415,
	} {
		got := s.Call("POST", apitest.MessagesPath, apitest.HelloBody, "Content-Type: "+kind)
		require.Equal(t, status, got.StatusCode, kind)
		if status == 415 {
			got.Problem(415, "send application/json")
			require.Equal(t, "application/json", got.Header.Get("Accept"))
		}
	}
}

func TestACompressedBodyIsRefused(t *testing.T) {
	s := start(t)
	s.Call("POST", apitest.MessagesPath, apitest.HelloBody, "Content-Encoding: gzip").Problem(415, `Content-Encoding "gzip"`)
	s.engine.answer = json.RawMessage(apitest.NoMatch)
	s.Call("POST", apitest.MessagesPath, apitest.HelloBody, "Content-Encoding: identity").Is(200, apitest.NoMatch)
}

func TestAMissingBodyIsA400(t *testing.T) {
	s := start(t)
	for path, method := range map[string]string{apitest.MessagesPath: "POST", "/v1/apps/clinic/triggers": "POST", "/v1/apps/clinic": "PUT", "/v1/apps/clinic/repositories": "POST"} {
		faults := s.Call(method, path, "").Problem(400, "a JSON body is needed")
		require.Equal(t, map[string]string{"": "a JSON body is needed and there is none"}, faults)
	}
}

func TestABodyThatBreaksOffIsNotTakenForAWhole(t *testing.T) {
	s := start(t)
	connection := dialed(t, strings.TrimPrefix(s.URL, "http://"), false)
	_, err := io.WriteString(connection, "POST "+apitest.MessagesPath+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+apitest.AdminKey+"\r\nContent-Length: 500\r\n\r\n"+apitest.HelloBody)
	require.NoError(t, err)
	require.NoError(t, connection.(*net.TCPConn).CloseWrite())
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, 400, response.StatusCode)
}

func TestTheExampleBodiesAreTakenAsTheyStand(t *testing.T) {
	w := apitest.LiveOn(t, redistest.Mini(t), chain.New(llm.Options{}))
	const body = "/requestBody/content/application~1json"
	app := testbed.Got(json.Marshal(w.Description.At("/paths/~1v1~1apps~1{appId}/put" + body)["example"]))(t)
	w.Call("PUT", "/v1/apps/clinic", string(app)).Is(201, "") // it has what the others name
	w.Call("PUT", "/v1/apps/clinic/repositories/booking", `{"options":{"template":true},"tools":[]}`).Is(201, "")
	for n := range 3 { // versions
		w.Call("PUT", "/v1/apps/clinic/repositories/front-desk", fmt.Sprintf(`{"tools":[{"name":"tool-%d"}]}`, n))
	}
	tried := 0
	for _, path := range slices.Backward(slices.Sorted(maps.Keys(w.Description.At("/paths")))) { // sessions before what they copy is replaced
		for method := range w.Description.At("/paths/" + apitest.Escape(path)) {
			media := w.Description.At("/paths/" + apitest.Escape(path) + "/" + method + body)
			if media == nil || method == "patch" || strings.Contains(path, "/openai/") { // without an upstream model
				continue
			}
			example := testbed.Got(json.Marshal(media["example"]))(t)
			place := strings.NewReplacer("{appId}", "clinic", "{sessionId}", "s1", "{repositoryId}", "booking", "{triggerId}", "t1", "{webhookName}", "desk", "{testName}", "t").Replace(path)
			tried++
			got := w.Call(strings.ToUpper(method), place, string(example), "Prefer: respond-async")
			require.NotContains(t, []int{400, 415, 422, 500}, got.StatusCode, "%s %s: %s", method, path, got.Body) // the trigger that it is for need not be there
		}
	}
	require.Equal(t, 23, tried)
}

func TestPagesOfAllowedOriginsMayCall(t *testing.T) {
	w := apitest.Live(t, apitest.Everything)
	w.Call("PUT", "/v1/apps/clinic", `{"settings":{"allowedOrigins":["https://app.example","http://localhost:5173"]}}`).Is(201, "")
	w.Call("PUT", "/v1/apps/open", `{"settings":{"allowedOrigins":["*"]}}`).Is(201, "")
	preflight := func(app, origin string) apitest.Answer {
		return w.Call("OPTIONS", "/v1/apps/"+app+"/sessions/s1/messages", "", "Authorization: ", "Origin: "+origin,
			"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: Authorization, content-type,corp_token, x-other, bad name_token").Is(204, "")
	}
	for app, origin := range map[string]string{"clinic": "https://app.example", "open": "https://whoever.example"} {
		got := preflight(app, origin)
		require.Equal(t, origin, got.Header.Get("Access-Control-Allow-Origin"))
		require.Contains(t, got.Header.Get("Access-Control-Allow-Methods"), "POST")
		require.Equal(t, "authorization, content-type, corp_token", got.Header.Get("Access-Control-Allow-Headers"))
		require.NotEmpty(t, got.Header.Get("Access-Control-Max-Age"))
		require.Contains(t, got.Header.Values("Vary"), "Origin")
		require.Empty(t, got.Header.Get("Access-Control-Allow-Credentials"))
	}
	for _, status := range []string{apitest.AdminKey, "wrong"} {
		got := w.Call("POST", apitest.MessagesPath, apitest.HelloBody, "Origin: http://localhost:5173", apitest.Bearer(status))
		require.Equal(t, "http://localhost:5173", got.Header.Get("Access-Control-Allow-Origin"), "refusals can be read as well")
		require.Contains(t, got.Header.Get("Access-Control-Expose-Headers"), "Retry-After")
	}
	foreign, absent := preflight("clinic", "https://evil.example"), preflight("nobody", "https://evil.example")
	for _, its := range []http.Header{foreign.Header, absent.Header} {
		its.Del("Date")
		its.Del("X-Request-Id")
	}
	require.Equal(t, foreign.Header, absent.Header, "an app that does not exist is as one that allows nothing")
	for _, origin := range []string{"https://evil.example", "https://app.example.evil.example", "http://app.example", "https://app.example:8443", "null"} {
		require.Empty(t, preflight("clinic", origin).Header.Get("Access-Control-Allow-Origin"), origin)
		got := w.Call("POST", apitest.MessagesPath, apitest.HelloBody, "Origin: "+origin)
		require.Empty(t, got.Header.Get("Access-Control-Allow-Origin"), origin)
		require.Contains(t, got.Header.Values("Vary"), "Origin")
	}
}

func TestAChangedListOfOriginsHoldsAtOnce(t *testing.T) {
	w := apitest.Live(t, apitest.Everything)
	for _, c := range []struct{ list, want string }{{`[]`, ""}, {`["https://app.example"]`, "https://app.example"}, {`["https://other.example"]`, ""}} {
		w.Call("PUT", "/v1/apps/clinic", `{"settings":{"allowedOrigins":`+c.list+`}}`)
		got := w.Call("GET", "/v1/apps/clinic", "", "Origin: https://app.example")
		require.Equal(t, c.want, got.Header.Get("Access-Control-Allow-Origin"))
	}
}

// cursorIn is the cursor of a place in a list, which is named by its route and the values in its path.
func cursorIn(list, place string) string {
	sum := sha256.Sum256([]byte(list))
	return base64.RawURLEncoding.EncodeToString([]byte("of:" + hex.EncodeToString(sum[:4]) + ":" + place))
}

// TestACursorIsOfItsListAlone asks every list for what no page of it said was next.
func TestACursorIsOfItsListAlone(t *testing.T) {
	w := apitest.Live(t, apitest.Everything)
	for _, app := range []string{"bakery", "clinic"} {
		w.Call("PUT", "/v1/apps/"+app, `{"sources":[{"name":"a","type":"http","baseUrl":"https://a.example"},{"name":"b","type":"http","baseUrl":"https://b.example"}]}`).Is(201, "")
		for _, id := range []string{"r1", "r2"} {
			w.Call("PUT", "/v1/apps/"+app+"/repositories/"+id, `{"tools":[{"name":"`+id+`"}]}`).Is(201, "")
			w.Call("PUT", "/v1/apps/"+app+"/repositories/"+id, `{"tools":[{"name":"`+id+`","description":"d"}]}`).Is(200, "")
			w.Call("PUT", "/v1/apps/"+app+"/sessions/"+id, `{}`).Is(201, "")
			w.Call("POST", "/v1/apps/"+app+"/keys", `{"name":"`+id+`","scopes":["triggers"]}`).Is(201, "")
			w.Call("POST", "/v1/apps/"+app+"/sessions/s1/messages", `{"text":"`+id+`","actor":"user"}`).Is(200, "")
			w.Call("POST", "/v1/apps/"+app+"/sessions/s1/triggers", `{"name":"`+id+`","source":"ui"}`).Is(201, "")
		}
	}
	paged := []string{
		"/v1/apps", "/v1/apps/clinic/keys", "/v1/apps/clinic/sessions", "/v1/apps/clinic/repositories", "/v1/apps/clinic/tools", "/v1/apps/clinic/tools/usage",
		"/v1/apps/clinic/sources", "/v1/apps/clinic/triggers", "/v1/apps/clinic/audit", "/v1/apps/clinic/sessions/s1/messages", "/v1/apps/clinic/repositories/r1/versions",
	}
	others := []string{
		"/v1/apps/clinic/tests", "/v1/apps/clinic/usage", "/v1/apps/clinic/usage/hosts", "/v1/apps/clinic/sessions/s1/tools",
		"/v1/apps/bakery/keys", "/v1/apps/bakery/repositories", "/v1/apps/bakery/triggers", "/v1/apps/bakery/sessions/s1/messages", "/v1/apps/bakery/audit",
	}
	next := map[string]string{}
	for _, list := range paged {
		next[list], _ = w.Document(list + "?limit=1")["next"].(string)
		require.NotEmpty(t, next[list], list)
		require.NotEmpty(t, w.Document(list + "?limit=1&after=" + next[list])["items"], list)
	}
	for _, list := range append(others, paged...) {
		for _, cursor := range []string{"zzz", "!!!", "r1", "1", "b2Y6", cursorIn("another", "r1")} {
			refused(w, list, cursor)
		}
		for other, cursor := range next {
			if other != list {
				refused(w, list, cursor)
			}
		}
	}
	w.Call("GET", "/v1/apps/clinic/triggers?after=b2Y6&state=gone", "").Problem(400, "state", "after is not a cursor")
}

func refused(w apitest.World, list, cursor string) {
	w.T.Helper()
	got := w.Call("GET", list+"?after="+url.QueryEscape(cursor), "").Is(400, "")
	require.Contains(w.T, string(got.Body), `"code":"`+string(answer.InvalidCursor)+`"`, "%s %s", list, cursor)
}

// TestAMissingAppIsNamedBeforeWhatIsMissingInIt expects the code by which a client makes the app first.
func TestAMissingAppIsNamedBeforeWhatIsMissingInIt(t *testing.T) {
	t.Parallel()
	s := apitest.Live(t, apitest.Everything)
	for _, call := range []string{
		"GET /repositories/r", "PATCH /repositories/r", "DELETE /repositories/r", "GET /sessions/s1/repositories/r", "GET /triggers/t",
		"POST /triggers/t/cancel", "POST /triggers/t/retry", "DELETE /keys/k", "GET /sessions/s1", "GET /sessions/s1/messages/m",
	} {
		method, path, _ := strings.Cut(call, " ")
		body := ""
		if method == "PATCH" {
			body = "{}"
		}
		got := s.Call(method, "/v1/apps/nobody"+path, body).Is(404, "")
		require.Contains(t, string(got.Body), `"code":"unknown_app"`, call)
	}
	s.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	require.Contains(t, string(s.Call("GET", "/v1/apps/clinic/repositories/r", "").Is(404, "").Body), `"code":"unknown_repository"`)
	require.Contains(t, string(s.Call("GET", "/v1/apps/clinic/triggers/t", "").Is(404, "").Body), `"code":"unknown_trigger"`)
}
