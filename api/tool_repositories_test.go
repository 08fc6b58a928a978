package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/secret"
)

// owners are the two places where repositories live.
var owners = map[string]repositories.Scope{
	"/v1/apps/clinic":             {AppID: "clinic"},
	"/v1/apps/clinic/sessions/s1": {AppID: "clinic", SessionID: "s1"},
}

const hoursBody = `{"tools":[{"name":"opening-hours","description":"User asks when the clinic is open"}]}`

func hours(scope repositories.Scope) *repositories.Repository {
	return &repositories.Repository{
		AppID: scope.AppID, SessionID: scope.SessionID, ID: "info",
		Tools: []repositories.Tool{{Name: "opening-hours", Description: "User asks when the clinic is open"}},
	}
}

func TestPutRepositorySays201WhenItIsNewAnd200WhenItWasThere(t *testing.T) {
	for owner, scope := range owners {
		for created, status := range map[bool]int{true: 201, false: 200} {
			s := start(t)
			s.store.created, s.store.repositories = created, []*repositories.Repository{hours(scope)}
			got := s.call("PUT", owner+"/repositories/info", hoursBody).is(status, "")
			require.Equal(t, created, got.Header.Get("Location") == owner+"/repositories/info")
			put := s.store.calls[0].Args[0].(*repositories.Repository)
			require.Equal(t, scope, put.Scope())
			require.Equal(t, "info", put.ID)
			require.Equal(t, "opening-hours", put.Tools[0].Name)
		}
	}
}

func TestPostRepositoryMakesAnID(t *testing.T) {
	for owner, scope := range owners {
		s := start(t)
		s.store.created = true
		got := s.call("POST", owner+"/repositories", hoursBody).is(201, "")
		require.Equal(t, owner+"/repositories/made-1", got.Header.Get("Location"))
		require.Equal(t, scope, s.store.calls[0].Args[0].(*repositories.Repository).Scope())
		require.Contains(t, string(got.body), `"repositoryId":"made-1"`)
	}
}

func TestPostRepositoryRefusesAnIDOfTheClients(t *testing.T) {
	s := start(t)
	faults := s.call("POST", "/v1/apps/clinic/repositories", `{"repositoryId":"mine","tools":[]}`).problem(400)
	require.Contains(t, faults["/repositoryId"], "PUT the repository under the id")
	require.Zero(t, s.store.count())
}

func TestPatchRepositoryAnswersTheWhole(t *testing.T) {
	for owner, scope := range owners {
		for created, status := range map[bool]int{true: 201, false: 200} {
			s := start(t)
			s.store.created, s.store.repositories = created, []*repositories.Repository{hours(scope)}
			got := s.call("PATCH", owner+"/repositories/info", hoursBody).is(status, "")
			require.Contains(t, string(got.body), `"opening-hours"`)
			put := s.store.last().Args[0].(*repositories.Repository)
			require.Equal(t, []any{scope, "info"}, []any{put.Scope(), put.ID})
		}
	}
}

func TestGetListAndDeleteKeepToTheirScope(t *testing.T) {
	for owner, scope := range owners {
		s := start(t)
		s.store.repositories = []*repositories.Repository{hours(scope)}
		s.call("GET", owner+"/repositories/info", "").is(200, "")
		require.Equal(t, asked{"Repository", []any{scope, "info"}}, s.store.last())
		s.call("GET", owner+"/repositories?limit=7&after=a", "").is(200, "")
		require.Equal(t, asked{"Repositories", []any{scope, "a", 7}}, s.store.last())
		s.call("DELETE", owner+"/repositories/info", "").is(204, "")
		require.Equal(t, asked{"DeleteRepository", []any{scope, "info"}}, s.store.last())
	}
}

func TestARepositoryWithoutToolsHasAnEmptyList(t *testing.T) {
	s := start(t)
	s.store.repositories = []*repositories.Repository{{AppID: "clinic", ID: "info"}}
	s.call("GET", "/v1/apps/clinic/repositories/info", "").is(200,
		`{"appId":"clinic","repositoryId":"info","options":{"triggerOnce":false,"exclusive":false},"tools":[]}`)
}

func TestWhatTheAppLacksIsAFaultOfTheBody(t *testing.T) {
	s := start(t)
	s.store.err = fault.List{{Pointer: "/tools/0/request/moduleId", Detail: "the app has no module calendar"}}
	faults := s.call("PUT", "/v1/apps/clinic/repositories/info", hoursBody).problem(400, "1 fault")
	require.Equal(t, map[string]string{"/tools/0/request/moduleId": "the app has no module calendar"}, faults)
}

func TestHeadersOfACallAreMasked(t *testing.T) {
	s := start(t)
	repository := hours(repositories.Scope{AppID: "clinic"})
	repository.Tools[0].Request = &repositories.Request{Headers: repositories.Headers{"Authorization": secret.New("planted")}}
	s.store.repositories = []*repositories.Repository{repository}
	got := s.call("GET", "/v1/apps/clinic/repositories/info", "").is(200, "")
	require.NotContains(t, string(got.body), "planted")
}

func TestCloseSession(t *testing.T) {
	s := start(t)
	s.call("DELETE", "/v1/apps/clinic/sessions/s1", "").is(204, "")
	require.Equal(t, asked{"CloseSession", []any{"clinic", "s1"}}, s.store.last())
	s.store.err = repositories.ErrNotFound
	s.call("DELETE", "/v1/apps/clinic/sessions/s1", "").problem(404)
}

func TestAPutNotesACallThatOnlyHeadersAuthenticate(t *testing.T) {
	t.Parallel()
	w := live(t, everything)
	w.call("PUT", "/v1/apps/clinic", `{}`).is(201, "")
	const path, tool = "/v1/apps/clinic/repositories/r", `{"tools":[{"name":"desk","url":"https://x.example/","request":{%s"headers":{"X-Desk":"A"}}}]}`
	noted := w.call("PUT", path, fmt.Sprintf(tool, "")).is(201, "").body
	require.Contains(t, string(noted), `"notes":["tool \"desk\": request has headers and no auth`)
	require.NotContains(t, string(w.call("PUT", path, fmt.Sprintf(tool, `"auth":"none",`)).is(200, "").body), "notes")
}

// A parameter in braces would be called as it stands, and counted as delivered.
func TestParametersInBracesAreRefusedByEveryWrite(t *testing.T) {
	const tools = `{"tools":[{"name":"a","url":"https://h/{day}","schema":[{"parameter":"day","type":"string"}]},
		{"name":"b","request":{"url":"https://h/{appId}"}},{"name":"c","url":"https://h/:day","schema":[{"parameter":"day","type":"string"}]}]}`
	for owner := range owners {
		for _, write := range []string{"PUT " + owner + "/repositories/info", "PATCH " + owner + "/repositories/info", "POST " + owner + "/repositories"} {
			s := start(t)
			method, path, _ := strings.Cut(write, " ")
			faults := s.call(method, path, tools).problem(400)
			require.Len(t, faults, 2, write)
			require.Contains(t, faults["/tools/0/url"], "{day} is not filled in: write :day", write)
			require.Contains(t, faults["/tools/1/request/url"], "{appId} is not filled in: write :appId", write)
			require.Zero(t, s.store.count(), write)
		}
	}
}
