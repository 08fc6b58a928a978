package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
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
			got := s.Call("PUT", owner+"/repositories/info", hoursBody).Is(status, "")
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
		got := s.Call("POST", owner+"/repositories", hoursBody).Is(201, "")
		require.Equal(t, owner+"/repositories/made-1", got.Header.Get("Location"))
		require.Equal(t, scope, s.store.calls[0].Args[0].(*repositories.Repository).Scope())
		require.Contains(t, string(got.Body), `"repositoryId":"made-1"`)
	}
}

func TestPostRepositoryRefusesAnIDOfTheClients(t *testing.T) {
	s := start(t)
	faults := s.Call("POST", "/v1/apps/clinic/repositories", `{"repositoryId":"mine","tools":[]}`).Problem(400)
	require.Contains(t, faults["/repositoryId"], "PUT the repository under the id")
	require.Zero(t, s.store.count())
}

func TestPatchRepositoryAnswersTheWhole(t *testing.T) {
	for owner, scope := range owners {
		for created, status := range map[bool]int{true: 201, false: 200} {
			s := start(t)
			s.store.created, s.store.repositories = created, []*repositories.Repository{hours(scope)}
			got := s.Call("PATCH", owner+"/repositories/info", hoursBody).Is(status, "")
			require.Contains(t, string(got.Body), `"opening-hours"`)
			put := s.store.last().Args[0].(*repositories.Repository)
			require.Equal(t, []any{scope, "info"}, []any{put.Scope(), put.ID})
		}
	}
}

func TestGetListAndDeleteKeepToTheirScope(t *testing.T) {
	for owner, scope := range owners {
		s := start(t)
		s.store.repositories = []*repositories.Repository{hours(scope)}
		s.Call("GET", owner+"/repositories/info", "").Is(200, "")
		require.Equal(t, asked{"Repository", []any{scope, "info"}}, s.store.last())
		s.Call("GET", owner+"/repositories?limit=7&after=aWQ6YQ", "").Is(200, "")
		require.Equal(t, asked{"Repositories", []any{scope, "a", 7}}, s.store.last())
		s.Call("DELETE", owner+"/repositories/info", "").Is(204, "")
		require.Equal(t, asked{"DeleteRepository", []any{scope, "info"}}, s.store.last())
	}
}

func TestARepositoryWithoutToolsHasAnEmptyList(t *testing.T) {
	s := start(t)
	s.store.repositories = []*repositories.Repository{{AppID: "clinic", ID: "info"}}
	s.Call("GET", "/v1/apps/clinic/repositories/info", "").Is(200,
		`{"appId":"clinic","repositoryId":"info","options":{"triggerOnce":false,"exclusive":false},"tools":[]}`)
}

func TestFaultsOfABodyAndOfItsReferencesAreOneAnswer(t *testing.T) {
	s := start(t)
	s.store.apps = []*repositories.App{{ID: "clinic"}}
	const body = `{"tools":[{"name":"ring","description":7,"url":"https://h/","request":{"moduleId":"phone"}}]}`
	for method, path := range map[string]string{"PUT": "/v1/apps/clinic/repositories/desk", "POST": "/v1/apps/clinic/sessions/s1/repositories"} {
		faults := s.Call(method, path, body).Problem(400, "2 errors")
		require.Contains(t, faults["/tools/0/description"], "is a number")
		require.Contains(t, faults["/tools/0/request/moduleId"], `the app has no module "phone"`)
	}
}

func TestHeadersOfACallAreMasked(t *testing.T) {
	s := start(t)
	repository := hours(repositories.Scope{AppID: "clinic"})
	repository.Tools[0].Request = &repositories.Request{Headers: repositories.Headers{"Authorization": secret.New("planted")}}
	s.store.repositories = []*repositories.Repository{repository}
	got := s.Call("GET", "/v1/apps/clinic/repositories/info", "").Is(200, "")
	require.NotContains(t, string(got.Body), "planted")
}

func TestCloseSession(t *testing.T) {
	s := start(t)
	s.Call("DELETE", "/v1/apps/clinic/sessions/s1", "").Is(204, "")
	require.Equal(t, asked{"CloseSession", []any{"clinic", "s1"}}, s.store.last())
	s.store.err = repositories.ErrNotFound
	s.Call("DELETE", "/v1/apps/clinic/sessions/s1", "").Problem(404)
}

func TestAPutNotesACallThatOnlyHeadersAuthenticate(t *testing.T) {
	t.Parallel()
	w := atClinic(t)
	const path, tool = "/v1/apps/clinic/repositories/r", `{"tools":[{"name":"desk","url":"https://x.example/","request":{%s"headers":{"X-Desk":"A"}}}]}`
	noted := w.Call("PUT", path, fmt.Sprintf(tool, "")).Is(201, "").Body
	require.Contains(t, string(noted), `"notes":["tool \"desk\": request has headers and no auth`)
	require.NotContains(t, string(w.Call("PUT", path, fmt.Sprintf(tool, `"auth":"none",`)).Is(200, "").Body), "notes")
}

// A parameter in braces would be called literally, and count as delivered.
func TestParametersInBracesAreRefusedByEveryWrite(t *testing.T) {
	const tools = `{"tools":[{"name":"a","url":"https://h/{day}","schema":[{"parameter":"day","type":"string"}]},
		{"name":"b","request":{"url":"https://h/{appId}"}},{"name":"c","url":"https://h/:day","schema":[{"parameter":"day","type":"string"}]}]}`
	for owner := range owners {
		for _, write := range []string{"PUT " + owner + "/repositories/info", "PATCH " + owner + "/repositories/info", "POST " + owner + "/repositories"} {
			s := start(t)
			method, path, _ := strings.Cut(write, " ")
			faults := s.Call(method, path, tools).Problem(400)
			require.Len(t, faults, 2, write)
			require.Contains(t, faults["/tools/0/url"], "{day} is not filled in: write :day", write)
			require.Contains(t, faults["/tools/1/request/url"], "{appId} is not filled in: write :appId", write)
			for _, one := range s.store.calls {
				require.Equal(t, "App", one.Method, write)
			}
		}
	}
}
