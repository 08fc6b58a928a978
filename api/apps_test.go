package api_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed/apitest"
	"earshot/repositories"
	"earshot/repositories/secret"
)

func clinic() *repositories.App {
	return &repositories.App{
		ID: "clinic", Name: "Clinic", SigningSecret: secret.New("whsec_plantedA"),
		Modules: []repositories.Module{{ID: "calendar", Secret: secret.New("planted"), TokenURL: "https://id.example.org/token"}},
	}
}

func TestPutAppSays201WhenItIsNewAnd200WhenItWasThere(t *testing.T) {
	for created, status := range map[bool]int{true: 201, false: 200} {
		s := start(t)
		s.store.created = created
		got := s.Call("PUT", "/v1/apps/clinic", `{"name":"Clinic"}`)
		got.Is(status, `{"appId":"clinic","name":"Clinic","settings":{"chatModeEnabled":false,"skipToolResponse":false}}`)
		put := s.store.last()
		require.Equal(t, "ChangeApp", put.Method)
		require.Equal(t, "Clinic", put.Args[0].(*repositories.App).Name)
	}
}

func TestCredentialsOfAnAppAreNeverAnswered(t *testing.T) {
	s := start(t)
	s.store.apps = []*repositories.App{clinic()}
	body := `{"name":"Clinic","signingSecret":"whsec_plantedA","modules":[{"moduleId":"calendar","secret":"planted","tokenUrl":"https://id.example.org/token"}]}`
	for _, got := range []apitest.Answer{
		s.Call("PUT", "/v1/apps/clinic", body),
		s.Call("GET", "/v1/apps/clinic", ""),
		s.Call("GET", "/v1/apps", ""),
	} {
		require.Equal(t, 200, got.StatusCode, string(got.Body))
		require.Contains(t, string(got.Body), `"***"`)
		require.NotContains(t, string(got.Body), "planted")
	}
	require.NotContains(t, s.Log.String(), "planted")
}

func TestGetAppReadsTheAppOfThePath(t *testing.T) {
	s := start(t)
	s.store.apps = []*repositories.App{clinic()}
	s.Call("GET", "/v1/apps/clinic", "").Is(200, "")
	require.Equal(t, asked{"App", []any{"clinic"}}, s.store.last())
}

func TestListsArePagedAndNeverNull(t *testing.T) {
	s := start(t)
	s.Call("GET", "/v1/apps", "").Is(200, `{"items":[]}`)
	require.Equal(t, asked{"Apps", []any{"", 50}}, s.store.last())

	s.store.apps, s.store.next = []*repositories.App{{ID: "clinic"}}, "clinic"
	next := cursorIn("/v1/apps", "clinic")
	s.Call("GET", "/v1/apps?limit=1&after=aWQ6YmFrZXJ5", "").Is(200,
		`{"items":[{"appId":"clinic","settings":{"chatModeEnabled":false,"skipToolResponse":false}}],"next":"`+next+`"}`)
	require.Equal(t, asked{"Apps", []any{"bakery", 1}}, s.store.last(), "as it was before cursors named their list")
	s.Call("GET", "/v1/apps?after="+next, "").Is(200, "")
	require.Equal(t, asked{"Apps", []any{"clinic", 50}}, s.store.last())
}

// known are models that can be asked.
type known string

func (k known) CheckModel(named string) error {
	if named == string(k) {
		return nil
	}
	return errors.New("anthropic is not configured: set ANTHROPIC_API_KEY")
}

func TestAModelThatCannotBeAskedIsAFaultOfTheSettings(t *testing.T) {
	s := start(t, func(o *api.Options) { o.Models = known("openai/gpt-4o-mini") })
	const claude = `{"settings":{"llm":{"tools":"anthropic/claude-haiku-4-5"}}}`
	for _, path := range []string{"/v1/apps/clinic", "/v1/apps/clinic?dryRun=true"} {
		faults := s.Call("PUT", path, claude).Problem(400)
		require.Contains(t, faults["/settings/llm/tools"], "set ANTHROPIC_API_KEY")
	}
	require.Zero(t, s.store.count())
	s.Call("PUT", "/v1/apps/clinic", claude, "Prefer: handling=lenient").Is(200, "")
	s.Call("PUT", "/v1/apps/clinic", `{"settings":{"llm":{"tools":"openai/gpt-4o-mini"}}}`).Is(200, "")
	s.Call("PUT", "/v1/apps/clinic", `{}`).Is(200, "")
}

func TestAnAppKeepsWhatToolsNameUnlessForced(t *testing.T) {
	t.Parallel()
	w := apitest.Live(t, apitest.Everything)
	const module = `"modules":[{"moduleId":"calendar","secret":"s","tokenUrl":"https://id.example.org/token"},{"moduleId":"spare","secret":"s","tokenUrl":"https://id.example.org/token"}]`
	const sources = `"sources":[{"name":"slots","type":"sqlite","database":"a.db"},{"name":"spare","type":"sqlite","database":"b.db"}]`
	w.Call("PUT", "/v1/apps/clinic", `{`+module+`,`+sources+`}`).Is(201, "")
	w.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"free","description":"d","type":"sqlite-sql","source":"slots","statement":"SELECT 1"}]}`).Is(201, "")
	w.Call("PUT", apitest.BookingPath, apitest.BookingBody).Is(201, "")

	for method, body := range map[string]string{"PUT": `{}`, "PATCH": `{"modules":null,"sources":[]}`} {
		for _, query := range []string{"", "?dryRun=true", "?force=false"} {
			refused := w.Call(method, "/v1/apps/clinic"+query, body)
			refused.Problem(409)
			require.Contains(t, string(refused.Body), `{"pointer":"/modules","detail":"lacks the module \"calendar\", which is named by tool \"book\" of repository \"booking\" of session \"s1\"","code":"invalid_value"}`)
			require.Contains(t, string(refused.Body), `{"pointer":"/sources","detail":"lacks the source \"slots\", which is named by tool \"free\" of repository \"desk\"","code":"invalid_value"}`)
			require.NotContains(t, string(refused.Body), "spare")
		}
	}
	w.Call("PUT", "/v1/apps/clinic?force=yes", `{}`).Problem(400)
	w.Call("PATCH", "/v1/apps/clinic", `{"modules":[{"moduleId":"calendar","secret":"***","tokenUrl":"https://id.example.org/token"}],"sources":[{"name":"slots","type":"sqlite","database":"c.db"}]}`).Is(200, "")
	w.Call("DELETE", apitest.BookingPath, "").Is(204, "")
	w.Call("PATCH", "/v1/apps/clinic", `{"modules":null}`).Is(200, "")
	w.Call("PUT", "/v1/apps/clinic?force=true", `{}`).Is(200, "")
}

func TestAMaskThatStandsForNothingIsNamedBesideOtherFaults(t *testing.T) {
	w := atClinic(t)
	for _, call := range [][3]string{
		{"PUT", "/v1/apps/clinic", `{"name":"c","odd":1,"modules":[{"moduleId":"new","secret":"***","tokenUrl":"https://t.example"}]}`},
		{"PATCH", "/v1/apps/clinic", `{"odd":1,"signingSecret":"***"}`},
		{"PUT", "/v1/apps/clinic/repositories/new", `{"odd":1,"tools":[{"name":"a","url":"https://h.example","request":{"auth":"basic","basic":{"username":"u","password":"***"}}}]}`},
		{"POST", "/v1/apps/clinic/repositories", `{"odd":1,"tools":[{"name":"a","url":"https://h.example","request":{"headers":{"Authorization":"***"}}}]}`},
	} {
		got := string(w.Call(call[0], call[1], call[2]).Is(400, "").Body)
		require.Contains(t, got, `unknown field \"odd\"`, call)
		require.Contains(t, got, "none is stored here", call)
	}
}
