package api_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/apitest"
)

func TestAPutSaysWithDryRunWhatItWouldDo(t *testing.T) {
	for path, method := range map[string]string{
		"/v1/apps/clinic": "PreviewApp", "/v1/apps/clinic/repositories/r": "PreviewRepository", "/v1/apps/clinic/sessions/s/repositories/r": "PreviewRepository",
	} {
		s := start(t)
		body := `{"tools":[]}`
		if method == "PreviewApp" {
			body = `{}`
		}
		s.Call("PUT", path+"?dryRun=true", body).Is(200, `{"operation":"unchanged"}`)
		require.Equal(t, method, s.store.last().Method)
		require.Equal(t, 1, s.store.count(), "and nothing is written")
		s.Call("PUT", path+"?dryRun=true", `{"nmae":1}`).Problem(400)
	}
}

func TestADryRunOfARepositoryShowsItsToolsAsAModelSeesThem(t *testing.T) {
	s := atClinic(t)
	const path = "/v1/apps/clinic/repositories/desk"
	body := `{"tools":[{"name":"book","description":"Books a table","url":"https://h.example/:day","examples":["a table for [two](people)","one","three","four"],
		"schema":[{"parameter":"day","type":"string","description":"wished day","required":true,"ask":"Which day?"},
			{"parameter":"people","type":"integer","ask":"How many?"},{"parameter":"key","type":"string","value":"fixed"}]},{"name":"hours"}]}`
	s.Call("PUT", path+"?dryRun=true", body).Is(200, `{"operation":"created","tools":[
		{"name":"book","description":"Books a table\nA user may say: \"a table for two\", \"one\", \"three\"","asks":{"day":"Which day?"},
		 "inputSchema":{"type":"object","properties":{"day":{"type":"string","description":"wished day"},"people":{"type":"integer"}},"required":["day"]}},
		{"name":"hours","description":"","inputSchema":{"type":"object","properties":{}}}]}`)
	s.Call("GET", path, "").Problem(404)
	s.Call("PUT", path+"?dryRun=true", `{"tools":[{"name":"pay","description":"Pays the bill","url":"https://h.example/"}]}`).Is(200, `{"operation":"created",
		"notes":["tool \"pay\" moves money and fires without a question: set its confirm, or settings.offline.confirm of the app"],
		"tools":[{"name":"pay","description":"Pays the bill","inputSchema":{"type":"object","properties":{}}}]}`)
}

func TestADryRunThatIsNotUnderstoodWritesNothing(t *testing.T) {
	s := start(t)
	for _, query := range []string{"dryRun=yes", "dryRun", "dryRun=true&dryRun=false", "dryrun=true"} {
		s.Call("PUT", "/v1/apps/clinic?"+query, `{}`).Problem(400)
		s.Call("PUT", "/v1/apps/clinic/repositories/r?"+query, `{"tools":[]}`).Problem(400)
	}
	require.Zero(t, s.store.count())
	s.Call("PUT", "/v1/apps/clinic?dryRun=false", `{}`)
	require.Equal(t, "ChangeApp", s.store.last().Method)
}

func TestAKeyComparesSoManyCredentialsAMinuteOverAllReplicas(t *testing.T) {
	w := apitest.Live(t, apitest.Everything)
	w.Call("PUT", "/v1/apps/clinic", `{"modules":[{"moduleId":"m","secret":"right","tokenUrl":"https://id.example.org/"}]}`).Is(201, "")
	replicas := []*apitest.Service{w.Service, secondReplica(w)}
	key := w.Call("POST", keysPath, `{"scopes":["app","tools"]}`).Made()
	child := w.Call("POST", keysPath, `{"scopes":["app","tools"]}`, apitest.Bearer(key.Key)).Made()
	other := w.Call("POST", keysPath, `{"scopes":["app","tools"]}`).Made()
	app := func(secret string) string {
		return `{"modules":[{"moduleId":"m","secret":"` + secret + `","tokenUrl":"https://id.example.org/"}]}`
	}
	const path, repository = "/v1/apps/clinic?dryRun=true", "/v1/apps/clinic/repositories/r?dryRun=true"
	const tool = `{"tools":[{"name":"t","url":"https://x.example/","request":{"headers":{%q:"guess"}}}]}`
	for i := range 120 {
		replica, by := replicas[i%2], []string{key.Key, child.Key}[i%3/2]
		if i%2 == 0 {
			replica.Call("PUT", path, app(fmt.Sprint("guess", i)), apitest.Bearer(by)).Is(200, `{"operation":"updated"}`)
		} else {
			got := replica.Call("PUT", repository, fmt.Sprintf(tool, "X-Api-Key"), apitest.Bearer(by)).Is(200, "")
			require.Contains(t, string(got.Body), `"operation":"created"`)
		}
		replica.Call("PUT", path, app("***"), apitest.Bearer(by)).Is(200, `{"operation":"unchanged"}`) // no comparison
		replica.Call("PUT", repository, fmt.Sprintf(tool, "Accept"), apitest.Bearer(by)).Is(200, "")
	}
	for _, replica := range replicas {
		for _, by := range []string{key.Key, child.Key} {
			got := replica.Call("PUT", path, app("right"), apitest.Bearer(by))
			got.Problem(429, "120 times a minute")
			pause, err := strconv.Atoi(got.Header.Get("Retry-After"))
			require.NoError(t, err)
			require.True(t, 0 < pause && pause <= 60, pause)
			replica.Call("PUT", repository, fmt.Sprintf(tool, "X-Api-Key"), apitest.Bearer(by)).Problem(429)
		}
	}
	w.Call("PUT", path, app("right"), apitest.Bearer(other.Key)).Is(200, `{"operation":"unchanged"}`)
	w.Call("PUT", path, app("right")).Is(200, `{"operation":"unchanged"}`)
	w.Call("PUT", "/v1/apps/clinic", app("right"), apitest.Bearer(key.Key)).Is(200, "") // a write reveals nothing
}
