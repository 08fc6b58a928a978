package repositories_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/parameters"
)

func TestDecodeAppReadsEveryField(t *testing.T) {
	app, err := repositories.DecodeApp("clinic", []byte(`{"appId":"clinic","name":"Clinic",
	  "modules":[{"moduleId":"calendar","secret":"s","clientId":"c","tokenUrl":"https://id.example.org/token","audience":"a","scopes":["read"]}],
	  "authServices":[{"name":"google","type":"google","clientId":"x"},{"name":"acme","type":"oidc","issuer":"https://acme.example.org","audience":"y"}],
	  "sources":[],
	  "settings":{"chatModeEnabled":true,"skipToolResponse":true,"prompt":{"text":"Be kind."},"llm":{"tools":"openai/meta-llama/Llama-3","when":"unsure","mostTools":128},"openai":{"mode":"act"},"offline":{"bar":"likely"},
	    "allowedOrigins":["https://clinic.example.org","http://localhost:3000","*"],
	    "limits":{"messagesPerMinute":1,"sessionMessagesPerMinute":2,"toolsPerRepository":3,"repositoriesPerSession":4}},
	  "signingSecret":"***"}`))
	require.NoError(t, err)
	require.Equal(t, "clinic", app.ID)
	require.Equal(t, "s", app.Modules[0].Secret.Reveal())
	require.Equal(t, repositories.AuthService{Name: "acme", Type: "oidc", Issuer: "https://acme.example.org", Audience: "y"}, app.AuthServices[1])
	require.Equal(t, repositories.LLM{Tools: "openai/meta-llama/Llama-3", When: repositories.LLMUnsure, MostTools: 128}, app.Settings.LLM)
	require.Equal(t, repositories.Limits{MessagesPerMinute: 1, SessionMessagesPerMinute: 2, ToolsPerRepository: 3, RepositoriesPerSession: 4}, app.Settings.Limits)
	require.Equal(t, repositories.ChatAct, app.Settings.OpenAI.Mode)
	require.Equal(t, repositories.BarLikely, app.Settings.Offline.Bar)
	require.True(t, app.SigningSecret.IsMasked())

	read, err := json.Marshal(app)
	require.NoError(t, err)
	again, err := repositories.DecodeApp("clinic", read)
	require.NoError(t, err, "what is read can be sent back")
	require.True(t, again.Modules[0].Secret.IsMasked())
}

func TestDecodeAppOfNothingIsAnAppWithDefaults(t *testing.T) {
	app, err := repositories.DecodeApp("a", []byte(`{}`))
	require.NoError(t, err)
	require.Equal(t, &repositories.App{ID: "a"}, app)
}

func TestDecodeAppNamesAllFaultsAtOnce(t *testing.T) {
	_, err := repositories.DecodeApp("clinic", []byte(`{"appId":"other","nam":"x","description":"d",
	  "modules":[{"moduleId":"a","secret":"s","tokenUrl":"https://id/"},{"moduleId":"a","secret":"s","tokenUrl":"id"},{"moduleId":"b c"},{"moduleId":"d","secret":"","tokenUrl":"https://u:p@id/"}],
	  "authServices":[{"name":"g","type":"google"},{"name":"g","type":"oidc","issuer":"acme"},{"name":"h","type":"saml"}],
	  "sources":[{"name":"pg","type":"postgres"},{}],
	  "settings":{"chatmodeEnabled":true,"llm":{"tools":"gpt-4","when":"never","mostTools":129},"openai":{"mode":"read"},"offline":{"bar":"sure"},"allowedOrigins":["https://a/b","clinic"],"limits":{"messagesPerMinute":-1,"toolsPerRepository":1.5}}}`))
	require.Equal(t, []string{
		`/appId: is "other", but the path says "clinic"`,
		`/authServices/0/clientId: is missing: google needs it`,
		`/authServices/1/audience: is missing: oidc needs it`,
		`/authServices/1/issuer: "acme" is not an absolute URL, as https://example.org/path`,
		`/authServices/1/name: "g" is the name of service 0 as well`,
		`/authServices/2/type: "saml" is not one of "google", "oidc"`,
		`/description: unknown field "description"; the fields here are appId, authServices, modules, name, notes, settings, signingSecret, sources`,
		`/modules/1/moduleId: "a" is the id of module 0 as well`,
		`/modules/1/tokenUrl: "id" is not an absolute URL, as https://example.org/path`,
		`/modules/2/moduleId: the id "b c" is not an id: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit`,
		`/modules/2/secret: is missing`,
		`/modules/3/secret: is empty; leave it out, or send *** to keep what is stored`,
		`/modules/3/tokenUrl: a URL does not carry credentials; use auth basic`,
		`/nam: unknown field "nam"; did you mean "name"?`,
		`/settings/allowedOrigins/0: "https://a/b" is not an origin: scheme://host or scheme://host:port without a path, or *`,
		`/settings/allowedOrigins/1: "clinic" is not an origin: scheme://host or scheme://host:port without a path, or *`,
		`/settings/chatmodeEnabled: unknown field "chatmodeEnabled"; did you mean "chatModeEnabled"?`,
		`/settings/limits/messagesPerMinute: -1 is under the minimum of 0`,
		`/settings/limits/toolsPerRepository: is a number, not an integer or null`,
		`/settings/llm/mostTools: 129 is above the maximum of 128`,
		`/settings/llm/tools: "gpt-4" is not provider/model, as in openai/gpt-4o-mini`,
		`/settings/llm/when: "never" is not one of "always", "unsure"`,
		`/settings/offline/bar: "sure" is not one of "certain", "likely"`,
		`/settings/openai/mode: "read" is not one of "watch", "act"`,
		`/sources/0/database: is missing: postgres needs it`,
		`/sources/0/host: is missing: postgres needs it`,
		`/sources/0/user: is missing: postgres needs it`,
		`/sources/1/name: is missing`,
		`/sources/1/type: is missing`,
	}, faultsOf(t, err))
}

func TestFieldsOfAnApp(t *testing.T) {
	model := func(name string) string { return `{"settings":{"llm":{"tools":"` + name + `"}}}` }
	for body, want := range map[string]string{
		`{"nmae":"x"}`:              `/nmae: unknown field "nmae"; did you mean "name"?`,
		`{"Name":"x"}`:              `/Name: unknown field "Name"; did you mean "name"?`,
		`{"moduls":[]}`:             `/moduls: unknown field "moduls"; did you mean "modules"?`,
		`{"zzzzzz":1}`:              `/zzzzzz: unknown field "zzzzzz"; the fields here are appId, authServices, modules, name, notes, settings, signingSecret, sources`,
		model("openai/gpt-4o-mini"): ``,
		model("anthropic/claude"):   ``,
		model("gemini/pro"):         ``,
		model("cohere/command"):     ``,
		model("opneai/gpt"):         `/settings/llm/tools: "opneai" is not a known provider: openai, anthropic, gemini or cohere; did you mean "openai"?`,
		model("mistral/tin"):        `/settings/llm/tools: "mistral" is not a known provider: openai, anthropic, gemini or cohere`,
		model("openai/"):            `/settings/llm/tools: "openai/" is not provider/model, as in openai/gpt-4o-mini`,
		`{"sources":[{"name":"a","type":"sqlite","database":"x"},{"name":"a","type":"sqlite","database":"y"}]}`: `/sources/1/name: "a" is the name of source 0 as well`,
	} {
		_, err := repositories.DecodeApp("a", []byte(body))
		require.Equal(t, want, strings.Join(faultsOf(t, err), "; "), body)
	}
}

func TestDecodeAppFaultsNeverShowCredentials(t *testing.T) {
	for _, body := range []string{
		`{"signingSecret":["hunter2"]}`,
		`{"modules":[{"moduleId":"a","secret":{"x":"hunter2"},"tokenUrl":"https://id/"}]}`,
		`{"modules":["hunter2"]}`,
		`{"modules":{"secret":"hunter2"}}`,
		`"hunter2"`,
	} {
		_, err := repositories.DecodeApp("a", []byte(body))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "hunter2", body)
	}
}

func TestDefinitionSchemaIsOneThatOthersCanUse(t *testing.T) {
	raw := repositories.DefinitionSchema()
	var document any
	require.NoError(t, json.Unmarshal(raw, &document))
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("test:///definition", document))
	for _, name := range []string{
		"App", "Module", "AuthService", "Settings", "Repository", "Patch", "Options", "Tool", "Request", "Basic", "Bearer",
		"Parameter", "ToolboxParameter", "Items", "Claim",
	} {
		_, err := compiler.Compile("test:///definition#/$defs/" + name)
		require.NoError(t, err, name)
	}
	raw[0] = 'x'
	require.Equal(t, byte('{'), repositories.DefinitionSchema()[0], "a caller cannot spoil it for the others")
}

func TestSigningSecretThatNoReceiverCanVerifyWithIsAFault(t *testing.T) {
	bytes := func(n int) string { return base64.StdEncoding.EncodeToString(make([]byte, n)) }
	body := func(secret string) []byte { return []byte(`{"signingSecret":"` + secret + `"}`) }
	for _, secret := range []string{"hunter2", "a raw secret", "whsec_", "whsec_hunter2!", "whsec_x", bytes(23), bytes(65), "whsec_" + bytes(32) + " hunter2", " ", "*** whsec_" + bytes(32), "-_" + bytes(30)} {
		_, err := repositories.DecodeApp("a", body(secret))
		faults := faultsOf(t, err)
		require.Len(t, faults, 1, secret)
		require.Regexp(t, "^/signingSecret: is ", faults[0])
		require.NotContains(t, faults[0], "hunter2")
	}
	for _, secret := range []string{"***", bytes(24), bytes(64), "whsec_" + bytes(24), "whsec_" + bytes(14), "whsec_" + bytes(32) + "  " + bytes(32)} {
		app, err := repositories.DecodeApp("a", body(secret))
		require.NoError(t, err, secret)
		for _, one := range strings.Fields(strings.TrimPrefix(app.SigningSecret.Reveal(), "***")) {
			_, err := standardwebhooks.NewWebhook(one)
			require.NoError(t, err)
		}
	}
}

// sourceFaults decodes an app with one source with the given fields, and compares the faults; none if want is
// empty.
func sourceFaults(t *testing.T, cases map[string][]string) {
	t.Helper()
	for fields, want := range cases {
		_, err := repositories.DecodeApp("clinic", []byte(`{"sources":[{"name":"s",`+fields+`}]}`))
		if len(want) == 0 {
			require.NoError(t, err, fields)
			continue
		}
		for i := range want {
			want[i] = "/sources/0" + want[i]
		}
		require.Equal(t, want, faultsOf(t, err), fields)
	}
}

func TestSourcesOfEachType(t *testing.T) {
	const pg = `"type":"postgres","host":"db.example","database":"d","user":"u"`
	const my = `"type":"mysql","host":"db.example","user":"u"`
	sourceFaults(t, map[string][]string{
		pg: nil,
		pg + `,"port":5433,"password":"p","readOnly":true,"timeout":"5s"`: nil,
		pg + `,"port":"5433"`: nil,
		pg + `,"queryParams":{"sslmode":"require","search_path":"app"}`: nil,
		`"type":"postgres"`:                                         {"/database: is missing: postgres needs it", "/host: is missing: postgres needs it", "/user: is missing: postgres needs it"},
		pg + `,"port":0`:                                            {`/port: "0" is not a port: 1 to 65535`},
		pg + `,"port":"http"`:                                       {`/port: "http" is not a port: 1 to 65535`},
		pg + `,"port":1.5`:                                          {`/port: is a number, not an integer or a string`},
		pg + `,"baseUrl":"https://h/"`:                              {`/baseUrl: is for sources of type http, and this is of type postgres`},
		pg + `,"headers":{"X-A":"b"}`:                               {`/headers: is for sources of type http or mcp, and this is of type postgres`},
		pg + `,"queryParams":{"sslmode":"requir"}`:                  {`/queryParams/sslmode: "requir" is not a value of sslmode: disable, allow, prefer, require, verify-ca or verify-full; did you mean "require"?`},
		pg + `,"queryParams":{"passfile":"/etc/passwd"}`:            {`/queryParams/passfile: is not a supported setting of a connection: application_name, search_path, sslmode or timezone`},
		pg + `,"queryExecMode":"exec"`:                              {`/queryExecMode: "queryExecMode" is not supported yet by this version; statements are always described by the database and run with bound values`},
		strings.Replace(pg, "db.example", "/var/run/postgresql", 1): {`/host: "/var/run/postgresql" is not a host: one name or one IP address, without a port`},
		strings.Replace(pg, "db.example", "a,b", 1):                 {`/host: "a,b" is not a host: one name or one IP address, without a port`},
		strings.Replace(pg, "db.example", "h:5432", 1):              {`/host: "h:5432" is not a host: one name or one IP address, without a port`},
		strings.Replace(pg, "db.example", "::1", 1):                 nil,
		`"type":"cloud-sql-postgres"`:                               {`/type: "cloud-sql-postgres" is not supported: it needs its vendor's own connector; a database that is reached by host and port is of type postgres`},
		my:                                                          nil,
		my + `,"database":"d","port":3307,"password":"p","readOnly":false,"queryTimeout":"30s"`:                                             nil,
		my + `,"queryParams":{"tls":"skip-verify","charset":"utf8mb4","collation":"utf8mb4_bin","time_zone":"'+01:00'","parseTime":"true"}`: nil,
		`"type":"mysql"`:                                      {"/host: is missing: mysql needs it", "/user: is missing: mysql needs it"},
		my + `,"queryParams":{"tls":"custom"}`:                {`/queryParams/tls: "custom" is not a value of tls: true, false, preferred or skip-verify`},
		my + `,"queryParams":{"time_zone":"'a', b='c"}`:       {`/queryParams/time_zone: "'a', b='c" is not a value of time_zone`},
		my + `,"queryParams":{"allowAllFiles":"true"}`:        {`/queryParams/allowAllFiles: is not a supported setting of a connection: charset, collation, parseTime, time_zone or tls`},
		my + `,"timeout":"5s","queryTimeout":"30s"`:           {`/queryTimeout: is Toolbox's name for timeout, which is also given; give one of them`},
		my + `,"queryTimeout":"90s"`:                          {`/queryTimeout: "90s" is out of range: more than 0 and at most 1m`},
		`"type":"postgre"`:                                    {`/type: "postgre" is not a supported type of source: postgres, mysql, sqlite, http or mcp; did you mean "postgres"?`},
		`"type":"sqlite","database":"a/b.db","readOnly":true`: nil,
		`"type":"sqlite"`:                                     {`/database: is missing: sqlite needs it`},
		`"type":"sqlite","database":""`:                       {`/database: is missing: sqlite needs it`},
		`"type":"sqlite","database":":memory:"`:               {`/database: ":memory:" is not the path of a file; a database in memory would be empty for every tool`},
		`"type":"sqlite","database":"file:x?mode=memory"`:     {`/database: "file:x?mode=memory" is not the path of a file; a database in memory would be empty for every tool`},
		`"type":"sqlite","database":"a\u0000b"`:               {`/database: holds a NUL`},
		`"type":"sqlite","database":"a.db","password":"p"`:    {`/password: is for sources of type postgres or mysql, and this is of type sqlite`},
		`"type":"http","baseUrl":"https://api.example/v1/","timeout":"30s","headers":{"X-Key":"k"},"queryParams":{"v":"1"},"returnFullError":true,"disableSslVerification":false`: nil,
		`"type":"http"`:                                                      {`/baseUrl: is missing: http needs it`},
		`"type":"http","baseUrl":"api.example"`:                              {`/baseUrl: "api.example" is not an absolute URL, as https://example.org/path`},
		`"type":"http","baseUrl":"https://h/?a=b"`:                           {`/baseUrl: has a query or a fragment; put parameters of every request into queryParams`},
		`"type":"http","baseUrl":"https://h/a/../b"`:                         {`/baseUrl: has a segment ".."; write the path without it`},
		`"type":"http","baseUrl":"https://h/","headers":{"Host":"x"}`:        {`/headers/Host: the header Host belongs to the connection and cannot be set`},
		`"type":"http","baseUrl":"https://h/","headers":{"X-A":"a\r\nB: c"}`: {`/headers/X-A: the value of a header cannot hold line breaks or NUL`},
		`"type":"http","baseUrl":"https://h/","disableSslVerification":true`: {`/disableSslVerification: is not supported: certificates are always verified; leave it out, or set it to false`},
		`"type":"http","baseUrl":"https://h/","allowPrivateNetworks":true`:   {`/allowPrivateNetworks: "allowPrivateNetworks" is not supported yet by this version; which addresses may be reached is the operator's decision (EARSHOT_PRIVATE_URLS)`},
		`"type":"http","baseUrl":"https://h/","timeout":"61s"`:               {`/timeout: "61s" is out of range: more than 0 and at most 1m`},
		`"type":"http","baseUrl":"https://h/","baseURL":"x"`:                 {`/baseURL: unknown field "baseURL"; did you mean "baseUrl"?`},
	})
}

func TestTimeOfAnAttemptIsTheToolsOrItsSources(t *testing.T) {
	app := &repositories.App{Sources: []repositories.Source{{Name: "slow", Timeout: repositories.Duration(30 * time.Second)}, {Name: "plain"}}}
	own := &repositories.Request{Timeout: repositories.Duration(time.Second)}
	require.Equal(t, 30*time.Second, app.AttemptTimeout(&repositories.Tool{Source: "slow"}))
	app.Sources = append(app.Sources, repositories.Source{Name: "toolbox", QueryTimeout: repositories.Duration(20 * time.Second)})
	require.Equal(t, 20*time.Second, app.AttemptTimeout(&repositories.Tool{Source: "toolbox"}))
	require.Equal(t, time.Second, app.AttemptTimeout(&repositories.Tool{Source: "slow", Request: own}))
	require.Equal(t, repositories.DefaultTimeout, app.AttemptTimeout(&repositories.Tool{Source: "plain"}))
	require.Equal(t, repositories.DefaultTimeout, app.AttemptTimeout(&repositories.Tool{}))
}

const whole = `{"name":"Clinic","signingSecret":"whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0",
	"modules":[{"moduleId":"calendar","secret":"planted","tokenUrl":"https://id.example.org/token"}],
	"sources":[{"name":"crm","type":"http","baseUrl":"https://crm.example.org/","headers":{"X-Desk":"A","X-Api-Key":"planted"}}],
	"settings":{"chatModeEnabled":true,"limits":{"messagesPerMinute":7,"toolsPerRepository":9007},"allowedOrigins":["https://a.example","https://b.example"]}}`

func patched(t *testing.T, app, patch string) (string, error) {
	t.Helper()
	current, err := repositories.DecodeApp("clinic", []byte(app))
	require.NoError(t, err)
	read, err := repositories.DecodeAppPatch("clinic", []byte(patch))
	if err != nil {
		return "", err
	}
	next, err := read.Next(current)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(next)
	require.NoError(t, err)
	return string(text), nil
}

func TestAMergePatchChangesWhatItNames(t *testing.T) {
	const (
		modules = `"modules":[{"moduleId":"calendar","secret":"***","tokenUrl":"https://id.example.org/token"}],`
		sources = `"sources":[{"name":"crm","type":"http","baseUrl":"https://crm.example.org/","headers":{"X-Desk":"A","X-Api-Key":"***"}}],`
		origins = `"allowedOrigins":["https://a.example","https://b.example"]`
		limits  = `"limits":{"messagesPerMinute":7,"toolsPerRepository":9007}`
		signing = `,"signingSecret":"***"`
		head    = `{"appId":"clinic","name":"Clinic",`
		chats   = `"settings":{"chatModeEnabled":true,"skipToolResponse":false,`
	)
	for name, test := range map[string][2]string{
		"nothing":              {`{}`, head + modules + sources + chats + limits + "," + origins + "}" + signing + "}"},
		"the same id":          {`{"appId":"clinic"}`, head + modules + sources + chats + limits + "," + origins + "}" + signing + "}"},
		"a field of an object": {`{"settings":{"limits":{"messagesPerMinute":8}}}`, head + modules + sources + chats + `"limits":{"messagesPerMinute":8,"toolsPerRepository":9007},` + origins + "}" + signing + "}"},
		"null":                 {`{"name":null,"signingSecret":null,"settings":{"limits":null}}`, `{"appId":"clinic",` + modules + sources + chats + origins + "}}"},
		"a limit is taken off": {`{"settings":{"limits":{"messagesPerMinute":0}}}`, head + modules + sources + chats + `"limits":{"messagesPerMinute":null,"toolsPerRepository":9007},` + origins + "}" + signing + "}"},
		"lists are whole":      {`{"modules":[],"sources":null,"settings":{"allowedOrigins":["https://c.example"]}}`, head + chats + limits + `,"allowedOrigins":["https://c.example"]}` + signing + "}"},
		"objects are made":     {`{"settings":{"prompt":{"text":"Be brief."}}}`, head + modules + sources + chats + `"prompt":{"text":"Be brief."},` + limits + "," + origins + "}" + signing + "}"},
	} {
		got, err := patched(t, whole, test[0])
		require.NoError(t, err, name)
		require.JSONEq(t, test[1], got, name)
	}
	got, err := patched(t, whole, `{"appId":null,"name":null,"modules":null,"authServices":null,"sources":null,"signingSecret":null,
		"settings":{"chatModeEnabled":null,"prompt":{"text":null},"llm":{"when":null,"tools":null,"mostTools":null},"openai":{"mode":null},"offline":{"bar":null},"limits":{"messagesPerMinute":null},"allowedOrigins":null}}`)
	require.NoError(t, err)
	require.JSONEq(t, `{"appId":"clinic","settings":{"chatModeEnabled":false,"skipToolResponse":false,"limits":{"toolsPerRepository":9007}}}`, got, "anything can be taken away")
	got, err = patched(t, `{"settings":{"limits":null}}`, `{"name":"Clinic"}`)
	require.NoError(t, err)
	require.Contains(t, got, `"limits":null`, "limits that are off stay so")
}

func TestAMergePatchNamesItsFaultsWhereTheyStand(t *testing.T) {
	for patch, want := range map[string]fault.List{
		`{"name":null,"setings":null,"settings":{"limits":{"messagePerMinute":null}}}`: {
			{Pointer: "/setings", Detail: `unknown field "setings"; did you mean "settings"?`},
			{Pointer: "/settings/limits/messagePerMinute", Detail: `unknown field "messagePerMinute"; did you mean "messagesPerMinute"?`},
		},
		`{"appId":"other"}`: {{Pointer: "/appId", Detail: `is "other", but the path says "clinic"`}},
		`{"modules":[{"moduleId":"calendar"}]}`: {
			{Pointer: "/modules/0/secret", Detail: "is missing"},
		},
		`[]`:                      {{Pointer: "", Detail: "is an array, not an object; its fields are appId, authServices, modules, name, notes, settings, signingSecret, sources"}},
		`{"name":"a","name":"b"}`: {{Pointer: "/name", Detail: "is given more than once"}},
	} {
		_, err := patched(t, whole, patch)
		var found fault.List
		if errors.As(err, &found) {
			for i := range found {
				found[i].Meant = fault.Meant{} // see TestFaultsOfABodySayWhatWasMeant
			}
		}
		require.Equal(t, want, found, patch)
	}
}

func tool(t *testing.T, definition string) *repositories.Tool {
	t.Helper()
	decoded, faults := decodeTool(t, definition)
	require.Empty(t, faults)
	return decoded
}

func values(t testing.TB, text string) map[string]any {
	t.Helper()
	decoded, err := parameters.DecodeValues([]byte(text))
	require.NoError(t, err)
	return decoded
}

func marshalled(t testing.TB, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	require.NoError(t, err)
	return string(raw)
}

func claimsOf(t *testing.T, service, claims string) parameters.Claims {
	t.Helper()
	return parameters.Claims{service: values(t, claims)}
}

func TestClaimIsFoundByNameOrByDottedPath(t *testing.T) {
	claims := `{"sub":"s","a":{"b":{"c":"deep"},"b.c":"named"},"https://x.example/role":"admin","x.y":"whole","x":{"y":"part"},"n":null,"l":["one"]}`
	for field, want := range map[string]string{
		"sub": `"s"`, "a.b": `{"c":"deep"}`, "a.b.c": `"named"`, "https://x.example/role": `"admin"`, "x.y": `"whole"`,
		"sub.x": "", "a.x": "", "": "", ".": "", "a.": "", "n": "", "l.0": "",
	} {
		kind := "string"
		if field == "a.b" {
			kind = "object"
		}
		p := tool(t, `{"name":"n","schema":[{"parameter":"p","type":"`+kind+`","authServices":[{"name":"corp","field":"`+orDash(field)+`"}]}]}`).Params()
		filled, faults := p.Authenticate(claimsOf(t, "corp", claims))
		if want == "" {
			require.Len(t, faults, 1, field)
			require.Contains(t, faults[0].Detail, "has no claim", field)
			continue
		}
		require.Empty(t, faults, field)
		out, faults := filled.Check(nil)
		require.Empty(t, faults)
		require.JSONEq(t, want, marshalled(t, out["p"]), field)
	}
}

// orDash replaces an empty field, for definitions that require one.
func orDash(field string) string {
	if field == "" {
		return "-"
	}
	return field
}

func TestClaimIsCheckedAsAnyValueIs(t *testing.T) {
	for definition, claim := range map[string]string{
		`"type":"integer"`: `"5"`, `"type":"string"`: `5`, `"type":"boolean"`: `"true"`, `"type":"integer","maxValue":3`: `4`,
		`"type":"string","allowedValues":["a","b"]`: `"c"`, `"type":"string","excludedValues":["root"]`: `"root"`, `"type":"array","items":{"type":"string"}`: `[1]`,
	} {
		p := tool(t, `{"name":"n","schema":[{"parameter":"p",`+definition+`,"authServices":[{"name":"corp","field":"c"}]}]}`).Params()
		_, faults := p.Authenticate(claimsOf(t, "corp", `{"c":`+claim+`}`))
		require.Len(t, faults, 1, definition)
		require.Equal(t, "p", faults[0].Parameter)
	}
	schema := tool(t, `{"name":"n","parameters":{"type":"object","properties":{"p":{"type":"string","minLength":3,"authServices":[{"name":"corp","field":"c"}]}},"required":["p"]}}`).Params()
	_, faults := schema.Authenticate(claimsOf(t, "corp", `{"c":"ab"}`))
	require.Len(t, faults, 1)
	filled, faults := schema.Authenticate(claimsOf(t, "corp", `{"c":"abc"}`))
	require.Empty(t, faults)
	out, faults := filled.Check(map[string]any{"p": "sent"})
	require.Empty(t, faults)
	require.Equal(t, map[string]any{"p": "abc"}, out)
}

func TestClaimWinsOverWhatIsSentAndIsShownToNoModel(t *testing.T) {
	asked := tool(t, `{"name":"n","schema":[{"parameter":"p","type":"integer","default":7,"authServices":[{"name":"corp","field":"c"}]},{"parameter":"q","type":"string"}]}`)
	forUser, err := asked.For(claimsOf(t, "corp", `{"c":9007199254740993}`))
	require.NoError(t, err)
	reading := forUser.Params().Read(map[string]any{"p": json.Number("1"), "q": "x"})
	require.Empty(t, reading.Errors)
	require.Equal(t, map[string]any{"p": json.Number("9007199254740993"), "q": "x"}, reading.Values)
	require.True(t, forUser.Params().Hidden("p"))
	require.NotContains(t, string(forUser.Params().ModelSchema()), `"p"`)
	require.True(t, asked.Params().Hidden("p"), "the tool itself is as it was")
	_, err = asked.For(nil)
	require.Error(t, err, "neither is its default for nobody")
}

func TestToolThatAsksForNobodyIsTheSameForAll(t *testing.T) {
	open := tool(t, `{"name":"n","schema":[{"parameter":"p","type":"string"}]}`)
	got, err := open.For(claimsOf(t, "corp", `{"c":1}`))
	require.NoError(t, err)
	require.Same(t, open, got)
}

func TestOnlyTheClaimsThatToolsAskForAreNeeded(t *testing.T) {
	r, err := repositories.DecodeRepository(repositories.Scope{AppID: "a"}, "r", []byte(`{"tools":[{"name":"x","authRequired":["gate","absent"]},
		{"name":"y","schema":[{"parameter":"p","type":"string","authServices":[{"name":"first","field":"missing"},{"name":"corp","field":"a.b"}]}]}]}`))
	require.NoError(t, err)
	all := parameters.Claims{"gate": {"s": "x"}, "first": {"t": "x"}, "corp": {"a": map[string]any{"b": "kept", "c": "left"}, "d": "left"}, "idle": {"e": "x"}}
	needed := repositories.NeededClaims(all, []*repositories.Repository{r})
	require.Equal(t, parameters.Claims{"gate": {}, "first": {}, "corp": {"a.b": "kept"}}, needed)
	for i := range r.Tools {
		_, before := r.Tools[i].For(all)
		_, after := r.Tools[i].For(needed)
		require.Equal(t, before, after, "what is kept decides as the whole did")
	}
}
