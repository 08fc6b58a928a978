package repositories_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/lists"
	"earshot/repositories/secret"
)

func TestMCPSources(t *testing.T) {
	const mcp = `"type":"mcp","url":"https://crm.example/mcp"`
	sourceFaults(t, map[string][]string{
		mcp: nil,
		mcp + `,"headers":{"X-Api-Key":"k"},"allow":["find_*","crm.get?"],"refresh":"5s","timeout":"20s"`:    nil,
		mcp + `,"auth":{"basic":{"username":"u","password":"p"}}`:                                            nil,
		mcp + `,"auth":{"bearer":{"clientId":"c","clientSecret":"s","tokenUrl":"https://id.example/token"}}`: nil,
		`"type":"mcp"`:                          {"/url: is missing: mcp needs it"},
		mcp + `,"baseUrl":"https://h/"`:         {"/baseUrl: is for sources of type http, and this is of type mcp"},
		mcp + `,"refresh":"4s"`:                 {`/refresh: "4s" is too short: the tools of a server are refreshed at most every 5s`},
		mcp + `,"refresh":"25h"`:                {`/refresh: "25h" is out of range: more than 0 and at most 24h`},
		mcp + `,"allow":["a b"]`:                {`/allow/0: "a b" is not a pattern of tools' names: 1 to 128 of A-Z a-z 0-9 _ - . : / with * for any letters and ? for one`},
		mcp + `,"auth":{}`:                      {`/auth: needs one of basic, bearer and moduleId; put a token that never changes into headers, as Authorization`},
		mcp + `,"auth":{"moduleId":"calender"}`: {`/auth/moduleId: the app has no module "calender"; it has none: add one to the modules of the app`},
		mcp + `,"auth":{"bearer":{"clientId":"c","tokenUrl":"https://id.example/"}}`:              {`/auth/bearer/clientSecret: is missing: client_credentials needs it`},
		mcp + `,"headers":{"authorization":"x"},"auth":{"basic":{"username":"u","password":"p"}}`: {`/auth: conflicts with the header authorization, which it would replace; give one of them`},
		`"type":"http","baseUrl":"https://h/","url":"https://h/","allow":["x"],"refresh":"5m"`: {
			"/allow: is for sources of type mcp, and this is of type http", "/refresh: is for sources of type mcp, and this is of type http", "/url: is for sources of type mcp, and this is of type http"},
	})
}

func TestACredentialOfAnMCPSourceStaysWithItsServer(t *testing.T) {
	app := func(url, user, password string) *repositories.App {
		made, err := repositories.DecodeApp("clinic", []byte(`{"sources":[{"name":"crm","type":"mcp","url":"`+url+`",
		  "headers":{"X-Api-Key":"`+password+`","X-Desk":"A"},"auth":{"basic":{"username":"`+user+`","password":"`+password+`"}}}]}`))
		require.NoError(t, err)
		return made
	}
	stored := app("https://crm.example/mcp", "u", "hunter22")
	require.NoError(t, repositories.KeepMasked(stored, stored.Credentials(), nil))
	shown := marshalled(t, stored)
	require.NotContains(t, shown, "hunter22")

	moved := app("https://CRM.example:443/v2/mcp", "u", secret.Masked)
	require.NoError(t, repositories.KeepMasked(moved, moved.Credentials(), stored.Credentials()), "another path of the same server")
	require.Equal(t, "hunter22", moved.Sources[0].Auth.Basic.Password.Reveal())
	for _, elsewhere := range []*repositories.App{
		app("https://evil.example/mcp", "u", secret.Masked), app("http://crm.example/mcp", "u", secret.Masked), app("https://crm.example:8443/mcp", "u", secret.Masked),
	} {
		require.ErrorContains(t, repositories.KeepMasked(elsewhere, elsewhere.Credentials(), stored.Credentials()), "changed")
	}
	other := app("https://crm.example/mcp", "root", secret.Masked)
	require.ErrorContains(t, repositories.KeepMasked(other, other.Credentials(), stored.Credentials()), "username changed")
}

func TestARepositoryFromASource(t *testing.T) {
	scope := repositories.Scope{AppID: "clinic"}
	for body, want := range map[string][]string{
		`{"from":"crm"}`: nil,
		`{"from":"crm","options":{"exclusive":true},"tools":[{"name":"find","type":"mcp","source":"crm","parameters":{"type":"object"}}]}`: nil,
		`{}`: {"/tools: is missing"},
		`{"from":"crm","tools":[{"name":"book","url":"https://h/"}]}`: {`/tools/0: is not for a repository whose tools are those of source "crm": which of them it has is said by allow of the source, and others stand in another repository, also a tool of type mcp with options of its own`},
	} {
		read, err := repositories.DecodeRepository(scope, "r", []byte(body))
		if want != nil {
			require.Equal(t, want, faultsOf(t, err), body)
			continue
		}
		require.NoError(t, err, body)
		require.Equal(t, "crm", read.From)
		require.Nil(t, read.Tools, "what was read before is left")
	}
	current := &repositories.Repository{ID: "r", From: "crm", Tools: []repositories.Tool{{Name: "find"}}}
	_, err := (&repositories.Patch{Tools: []repositories.Tool{{Name: "x"}}}).Next(current)
	require.ErrorContains(t, err, `source "crm"`)
	_, err = current.Without("find")
	require.ErrorContains(t, err, `source "crm"`)
	next, err := (&repositories.Patch{Options: &repositories.Options{Exclusive: true}}).Next(current)
	require.NoError(t, err)
	require.Len(t, next.Tools, 1)

	app := &repositories.App{Sources: []repositories.Source{{Name: "crm", Type: "mcp"}, {Name: "web", Type: "http"}}}
	require.NoError(t, current.Check(app))
	current.From = "web"
	require.ErrorContains(t, current.Check(app), `"web" is of type http`)
	current.From = "crn"
	require.ErrorContains(t, current.Check(app), `the app has no source "crn"; did you mean "crm"?`)
}

func TestAToolOfAServerMayBeGivenByHand(t *testing.T) {
	_, err := repositories.DecodeRepository(repositories.Scope{AppID: "clinic"}, "r", []byte(`{"tools":[
	  {"name":"find","type":"mcp","source":"crm","remoteName":"crm.find","confirm":"always","request":{"idempotent":false,"retryFor":"1m"},
	   "schema":[{"parameter":"query","type":"string","required":true}]}]}`))
	require.NoError(t, err)
	_, err = repositories.DecodeRepository(repositories.Scope{AppID: "clinic"}, "r", []byte(`{"tools":[
	  {"name":"find","type":"mcp","statement":"SELECT 1","request":{"moduleId":"m"}},{"name":"a","remoteName":"b"}]}`))
	require.Equal(t, []string{
		`/tools/0/request/moduleId: is only for calls of a url; the source has the credentials`,
		`/tools/0/source: is missing: mcp needs it`,
		`/tools/0/statement: is not for tools of type mcp`,
		`/tools/1/remoteName: is for tools of type mcp`,
	}, faultsOf(t, err))
}

func offered(t *testing.T, list string) []repositories.OfferedTool {
	var tools []repositories.OfferedTool
	require.NoError(t, json.Unmarshal([]byte(list), &tools))
	return tools
}

func TestTheExactNameOfAServersToolWins(t *testing.T) {
	source := &repositories.Source{Name: "crm", Type: "mcp"}
	tools, notes := source.Offered(offered(t, `[{"name":"delete user"},{"name":"delete_user"},{"name":"add user"}]`), 0)
	names := lists.Map(tools, func(tool repositories.Tool) [2]string { return [2]string{tool.Name, tool.RemoteName} })
	require.Equal(t, [][2]string{{"add_user", "add user"}, {"delete_user", ""}}, names)
	require.Equal(t, []string{`the tool "delete user" of source "crm" is left out: its name is that of "delete_user" as well`}, notes)
}

func TestWhatAServerOffersIsHeldAgainstTheRules(t *testing.T) {
	source := &repositories.Source{Name: "crm", Type: "mcp", Allow: []string{"*find*", "add", "collect*", "x*"}}
	tools, notes := source.Offered(offered(t, `[
	  {"name":"v1/find.customer","description":"Finds a customer","inputSchema":{"type":"object","properties":{"z":{"type":"integer","maximum":9007199254740993},"a":{"type":"string"}},"required":["z"]},"annotations":{"readOnlyHint":true,"idempotentHint":false}},
	  {"name":"find","title":"Find","annotations":{"idempotentHint":false}},
	  {"name":"add","description":"Adds","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"n":{"type":"number"}},"additionalProperties":false}},
	  {"name":"drop","inputSchema":{"type":"object"}},
	  {"name":"v1/find_customer","inputSchema":{"type":"object"}},
	  {"name":"collect-user-message","inputSchema":{"type":"object"}},
	  {"name":"x-task","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},
	  {"name":"x-list","inputSchema":[1]},
	  {"name":"x-type","inputSchema":{"type":"object","properties":{"a":{"type":"strin"}}}},
	  {"name":"x-ref","inputSchema":{"type":"object","properties":{"a":{"$ref":"https://evil.example/schema"}}}},
	  {"name":"x`+strings.Repeat("y", 64)+`","inputSchema":{"type":"object"}}]`), 0)
	names := lists.Map(tools, func(tool repositories.Tool) string { return tool.Name })
	require.Equal(t, []string{"add", "find", "v1_find_customer"}, names)
	require.Equal(t, "v1/find.customer", tools[2].RemoteName)
	require.Equal(t, `{"type":"object","properties":{"z":{"type":"integer","maximum":9007199254740993},"a":{"type":"string"}},"required":["z"]}`, string(tools[2].Parameters), "digits and order are kept")
	require.True(t, tools[2].Request.Repeatable(), "what only reads may be asked again")
	require.True(t, tools[0].Request.Repeatable(), "as it does not say otherwise")
	require.False(t, tools[1].Request.Repeatable())
	for i, readOnly := range []bool{false, false, true} {
		require.Equal(t, readOnly, (&repositories.App{}).ReadOnly(&tools[i]), tools[i].Name)
	}
	require.Equal(t, "Find", tools[1].Description)
	_, faults := tools[2].Params().Check(map[string]any{"z": json.Number("9007199254740994")})
	require.Len(t, faults, 1)
	said := strings.Join(notes, "\n")
	require.Len(t, notes, 7)
	for _, part := range []string{`"v1/find_customer" of source "crm" is left out: its name is that of "v1/find.customer" as well`, `"collect-user-message"`, `"x-list" of source "crm" is left out: its inputSchema is not an object`,
		`inputSchema/properties/a/type is not JSON Schema`, `the reference to "https://evil.example/schema" is refused`, "1 to 64 letters", `"x-task" of source "crm" is left out: its server runs it only as a task`} {
		require.Contains(t, said, part)
	}
	require.NotContains(t, said, "drop", "what is not allowed is no news")

	again := marshalled(t, repositories.Repository{From: "crm", Tools: tools})
	_, err := repositories.DecodeRepository(repositories.Scope{AppID: "a"}, "r", []byte(`{"tools":`+strings.SplitN(again, `"tools":`, 2)[1]))
	require.NoError(t, err, "they are tools as anybody could have given them")
}

func TestOffersAreBounded(t *testing.T) {
	source := &repositories.Source{Name: "crm", Type: "mcp"}
	list := make([]repositories.OfferedTool, 40)
	for i := range list {
		list[i] = repositories.OfferedTool{Name: "t" + strings.Repeat("x", i), Description: strings.Repeat("d", 100<<10)}
	}
	tools, notes := source.Offered(list, 0)
	require.Len(t, tools, 10)
	require.Len(t, notes, 21)
	require.Contains(t, notes[20], "and 10 more tools")
	tools, notes = source.Offered(list[:4], 3)
	require.Len(t, tools, 3)
	require.Contains(t, notes[0], "toolsPerRepository is limited to 3")
	require.Equal(t, 5*time.Minute, source.RefreshEvery())
	source.Refresh = repositories.Duration(time.Minute)
	require.Equal(t, time.Minute, source.RefreshEvery())
}

func TestWhatAServerOffersIsKeptWithoutWhatNobodySees(t *testing.T) {
	source := &repositories.Source{Name: "crm", Type: "mcp"}
	tools, notes := source.Offered(offered(t, `[{"name":"find","description":"Finds\u200b a \u202ecustomer\udb40\udc69","inputSchema":{"type":"object","properties":{"na\u200bme":{"type":"string","enum":["A\u2066"]}}}}]`), 0)
	require.Empty(t, notes)
	require.Equal(t, "Finds a customer", tools[0].Description)
	require.JSONEq(t, `{"type":"object","properties":{"name":{"type":"string","enum":["A"]}}}`, string(tools[0].Params().ModelSchema()))
	checked, faults := tools[0].Params().Check(map[string]any{"name": "A"})
	require.Empty(t, faults)
	require.Equal(t, map[string]any{"na\u200bme": "A\u2066"}, checked, "the server gets its own names and values")
}
