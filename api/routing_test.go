package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/store"
)

func TestAnUnknownPathIsA404Problem(t *testing.T) {
	s := start(t)
	for _, path := range []string{"/", "/nothing", "/v1", "/v2/apps", "/v1/apps/clinic/nothing", "/v1/apps/clinic/sessions", "/healthz/x", "/v1/apps/clinic/sessions/s1/messages/m1"} {
		s.call("GET", path, "").problem(404)
	}
	s.call("GET", "/nothing", "", "Authorization: ").problem(404)
}

func TestAWrongMethodIsA405ProblemWithAllow(t *testing.T) {
	cases := map[string][2]string{
		"/v1/apps":                         {"POST", "GET, HEAD, OPTIONS"},
		"/v1/apps/clinic":                  {"POST", "DELETE, GET, HEAD, OPTIONS, PUT"},
		messagesPath:                       {"DELETE", "GET, HEAD, OPTIONS, POST"},
		"/v1/apps/clinic/sessions/s1":      {"GET", "DELETE, OPTIONS"},
		"/v1/apps/clinic/repositories/r":   {"POST", "DELETE, GET, HEAD, OPTIONS, PATCH, PUT"},
		"/v1/apps/clinic/triggers/t/retry": {"PUT", "OPTIONS, POST"},
		"/healthz":                         {"POST", "GET, HEAD, OPTIONS"},
	}
	s := start(t)
	for path, c := range cases {
		got := s.call(c[0], path, "")
		got.problem(405, c[0])
		require.ElementsMatch(t, strings.Split(c[1], ", "), strings.Split(got.Header.Get("Allow"), ", "), path)
	}
	s.call("BREW", "/v1/apps", "").problem(405)
}

func TestOptionsTellsTheMethodsWithoutAKey(t *testing.T) {
	s := start(t)
	got := s.call("OPTIONS", "/v1/apps/clinic", "", "Authorization: ").is(204, "")
	require.ElementsMatch(t, []string{"DELETE", "GET", "HEAD", "OPTIONS", "PUT"}, strings.Split(got.Header.Get("Allow"), ", "))
	require.Empty(t, got.Header.Get("Access-Control-Allow-Origin"))
	require.Zero(t, s.store.count())
}

func TestHeadAnswersAsGetDoesWithoutTheBody(t *testing.T) {
	s := start(t)
	s.store.apps = []*repositories.App{{ID: "clinic"}}
	for _, path := range append(openPaths, "/v1/apps", "/v1/apps/clinic") {
		get, head := s.call("GET", path, ""), s.call("HEAD", path, "")
		require.Equal(t, 200, head.StatusCode, path)
		require.Empty(t, head.body)
		require.Equal(t, get.Header.Get("Content-Type"), head.Header.Get("Content-Type"), path)
	}
	s.store.err = store.ErrNotFound
	require.Equal(t, 404, s.call("HEAD", "/v1/apps/clinic", "").StatusCode)
}

func TestIDsOfThePathAreCheckedAndNamed(t *testing.T) {
	s := start(t)
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
		s.call("GET", path, "").problem(400, words...)
	}
	require.Zero(t, s.store.count()+s.engine.count())
}

func TestAnEncodedIDIsTheSameID(t *testing.T) {
	s := start(t)
	s.call("DELETE", "/v1/apps/%63linic", "").is(204, "")
	require.Equal(t, asked{"DeleteApp", []any{"clinic"}}, s.store.last())
}

func TestQueryParametersAreKnownOrRefused(t *testing.T) {
	s := start(t)
	cases := map[string][]string{
		"/v1/apps?dryRun=true":                                  {`"dryRun" is not known here`, "this version takes limit, after"},
		"/v1/apps?limit=1&limit=2":                              {`"limit" is given more than once`},
		"/v1/apps?limit=0":                                      {`limit "0" is no whole number from 1 to 200`},
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
		s.call("GET", path, "").problem(400, words...)
	}
	require.Zero(t, s.store.count()+s.engine.count())
}

func TestProbesTakeAnyQuery(t *testing.T) {
	s := start(t)
	s.call("GET", "/healthz?probe=1", "").is(200, "")
}

func TestNothingIsCachedOrSniffedOrFramed(t *testing.T) {
	s := start(t)
	for _, path := range []string{"/v1/apps", "/nothing", "/docs", "/healthz"} {
		header := s.call("GET", path, "").Header
		for name, value := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		} {
			require.Equal(t, value, header.Get(name), path+" "+name)
		}
	}
	require.Equal(t, "application/json", s.call("GET", "/v1/apps", "").Header.Get("Content-Type"))
}

func TestRoutesOfOtherHostsAreTheSame(t *testing.T) {
	s := start(t)
	request, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/healthz", nil)
	require.NoError(t, err)
	request.Host = "earshot.example.org"
	require.Equal(t, 200, s.send(request).StatusCode)
}
