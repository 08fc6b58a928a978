package repositories_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/lists"
)

func TestCheckFindsReferencesThatTheAppLacks(t *testing.T) {
	r, err := repositories.DecodeRepository(clinic, "r", []byte(`{"tools":[
	  {"name":"a","url":"https://h/","request":{"moduleId":"calender"}},
	  {"name":"b","authRequired":["google","acme"],
	   "schema":[{"parameter":"x","type":"string"},{"parameter":"user","type":"string","authServices":[{"name":"google","field":"sub"},{"name":"gogle","field":"sub"}]}]},
	  {"name":"c","parameters":{"type":"object","properties":{"user":{"authServices":[{"name":"other","field":"sub"}]}}}}]}`))
	require.NoError(t, err)
	app := &repositories.App{
		Modules:      []repositories.Module{{ID: "calendar"}},
		AuthServices: []repositories.AuthService{{Name: "google"}},
	}
	require.Equal(t, []string{
		`/tools/0/request/moduleId: the app has no module "calender"; did you mean "calendar"?`,
		`/tools/1/authRequired/1: the app has no authentication service "acme"; it has google`,
		`/tools/1/schema/1/authServices/1/name: the app has no authentication service "gogle"; did you mean "google"?`,
		`/tools/2/parameters/properties/user/authServices/0/name: the app has no authentication service "other"; it has google`,
	}, faultsOf(t, r.Check(app)))

	require.Contains(t, faultsOf(t, r.Check(&repositories.App{})), `/tools/0/request/moduleId: the app has no module "calender"; it has none: add one to the modules of the app`)
}

func TestUnresolvedFindsReferencesOfAFaultyBody(t *testing.T) {
	body := []byte(`{"tools":[
	  {"name":"a","description":7,"url":"https://h/","request":{"moduleId":"calender"}},
	  {"name":"b","authRequired":["acme"],"schema":[{"parameter":"x","type":"strin"},{"parameter":"user","type":"string","authServices":[{"name":"gogle","field":"sub"}]}]},
	  {"name":"c","type":"http","source":9,"method":"GET","path":"/"}]}`)
	_, err := repositories.DecodeRepository(clinic, "r", body)
	require.Len(t, faultsOf(t, err), 3)
	require.Equal(t, []string{
		`/tools/0/request/moduleId: the app has no module "calender"; it has none: add one to the modules of the app`,
		`/tools/1/authRequired/0: the app has no authentication service "acme"; it has google`,
	}, faultsOf(t, repositories.Unresolved(&repositories.App{AuthServices: []repositories.AuthService{{Name: "google"}}}, clinic, "r", body, nil)),
		"neither the source, which is faulty itself, nor parameters that cannot be compiled")
	require.Empty(t, repositories.Unresolved(&repositories.App{}, clinic, "r", []byte(`{`), nil))
}

func TestUnresolvedFindsMasksOfAFaultyBodyThatStandForNothing(t *testing.T) {
	const password = `"request":{"auth":"basic","basic":{"username":"u","password":"***"}}`
	body := []byte(`{"odd":1,"tools":[{"name":"a","url":"https://h/",` + password + `},{"name":"b","url":"https://h/",` + password + `},{"url":"https://h/",` + password + `}]}`)
	current, err := repositories.DecodeRepository(clinic, "r", []byte(`{"tools":[{"name":"a","url":"https://h/",`+strings.Replace(password, "***", "secret", 1)+`}]}`))
	require.NoError(t, err)
	require.Equal(t, []string{`/tools/1/request/basic/password: "***" stands for a stored credential, and none is stored here: give the credential itself`},
		faultsOf(t, repositories.Unresolved(&repositories.App{}, clinic, "r", body, current)), "a tool without a name may be any")
	require.Empty(t, repositories.Unresolved(&repositories.App{}, clinic, "r", body, nil))
}

func TestDedupeOfAFaultyParameterIsChecked(t *testing.T) {
	for tool, faults := range map[string][]string{
		`"schema":[{"parameter":"id","type":"strng"}]`:                        {"/tools/0/dedupe/by/1", "/tools/0/schema/0/type"},
		`"parameters":{"type":"object","properties":{"id":{"type":"strng"}}}`: {"/tools/0/dedupe/by/1", "/tools/0/parameters/properties/id/type"},
		`"schema":[{"parameter":7,"type":"string"}]`:                          {"/tools/0/schema/0/parameter"},
		`"schema":"id"`: {"/tools/0/schema"},
	} {
		_, err := repositories.DecodeRepository(clinic, "r", []byte(`{"tools":[{"name":"a","dedupe":{"by":["id","amount"],"within":"10m"},`+tool+`}]}`))
		var found fault.List
		require.ErrorAs(t, err, &found, tool)
		pointers := lists.Map(found, func(one fault.Fault) string { return one.Pointer })
		require.ElementsMatch(t, faults, pointers, tool)
	}
}

func TestCheckPassesWhatTheAppHas(t *testing.T) {
	r, err := repositories.DecodeRepository(clinic, "booking", []byte(booking))
	require.NoError(t, err)
	require.NoError(t, r.Check(&repositories.App{Modules: []repositories.Module{{ID: "calendar", TokenURL: "https://id.example.org/"}}}))
	require.Equal(t, []string{`/tools/0/request/moduleId: module "calendar" has no tokenUrl, so that no token can be obtained; add tokenUrl to the module`},
		faultsOf(t, r.Check(&repositories.App{Modules: []repositories.Module{{ID: "calendar"}}})), "it is for clients alone")
}

func TestCompileGivesARecordItsParametersBack(t *testing.T) {
	decoded, err := repositories.DecodeRepository(clinic, "booking", []byte(booking))
	require.NoError(t, err)
	stored, err := json.Marshal(decoded)
	require.NoError(t, err)
	var record repositories.Repository
	require.NoError(t, json.Unmarshal(stored, &record))
	require.Empty(t, record.Tools[0].Params().Names(), "nothing is compiled yet")
	require.NoError(t, record.Compile())
	require.Equal(t, decoded.Tools[0].Params().ModelSchema(), record.Tools[0].Params().ModelSchema())
	require.Equal(t, decoded.Tools[0].Params().List(), record.Tools[0].Params().List())
}

func TestCompileNamesWhatThisVersionRefuses(t *testing.T) {
	record := repositories.Repository{Tools: []repositories.Tool{
		{Name: "a", Schema: json.RawMessage(`[{"parameter":"p","type":"unknown"}]`)},
		{Name: "b", Parameters: json.RawMessage(`{"type":5}`)},
		{Name: "c", Schema: json.RawMessage(`[`)},
		{Name: "d", Schema: json.RawMessage(`[{"parameter":5}]`)},
	}}
	lines := faultsOf(t, record.Compile())
	require.Len(t, lines, 4)
	require.Contains(t, lines[0], `/tools/0/schema/0/type: "unknown" is not a type`)
	require.Contains(t, lines[1], `/tools/1/parameters/type: is not JSON Schema: 5 is not`)
	require.Contains(t, lines[2], `/tools/2/schema: is not a list of parameters`)
	require.Contains(t, lines[3], `/tools/3/schema/0: is not the definition of a parameter`)
}

func TestHostsOfAModuleAreComparedAsCertificatesDo(t *testing.T) {
	module := repositories.Module{TokenURL: "https://Login.example:8443/token", Hosts: []string{"Calendar.example", "*.clinic.example", "192.0.2.7", "2001:db8::1"}}
	for _, host := range []string{"login.example", "calendar.example", "CALENDAR.example.", "a.clinic.example", "192.0.2.7", "2001:DB8:0::1"} {
		require.True(t, module.Reaches(host), host)
	}
	for _, host := range []string{"", "example", "clinic.example", "a.b.clinic.example", "evilclinic.example", "calendar.example.evil.example", "x.calendar.example", "7", "192.0.2.8"} {
		require.False(t, module.Reaches(host), host)
	}
}

func TestHostsOfAModuleThatAreNoneAreFaults(t *testing.T) {
	body := func(host string) []byte {
		return []byte(`{"modules":[{"moduleId":"m","secret":"s","tokenUrl":"https://x.example/","hosts":["a.example","` + host + `"]}]}`)
	}
	for _, host := range []string{"", "*", "*.", "**.example", "a.*.example", "a*.example", "https://a.example", "a.example:443", "a.example/x", "a b", "[::1]", "u@a.example", strings.Repeat("a", 300)} {
		_, err := repositories.DecodeApp("a", body(host))
		var faults fault.List
		require.ErrorAs(t, err, &faults, host)
		require.Equal(t, "/modules/0/hosts/1", faults[0].Pointer, host)
	}
	for _, host := range []string{"b.example", "*.example", "localhost", "::1", "10.0.0.1"} {
		_, err := repositories.DecodeApp("a", body(host))
		require.NoError(t, err, host)
	}
}

func TestParametersOfThePathAreRequired(t *testing.T) {
	const list, object = `"schema":[{"parameter":"day","type":"string"},{"parameter":"desk","type":"string"}]`, `"parameters":{"type":"object","properties":{"day":{"type":["string","null"]},"desk":{"type":"string"}}}`
	for fields, want := range map[string][]string{
		`"url":"https://h/book/:day",` + list:                                                     {"day"},
		`"url":"https://h/book/:day",` + object:                                                   {"day"},
		`"url":"https://h/:appId/:day-:desk",` + list:                                             {"day", "desk"},
		`"url":"https://h/:desk?of=:day#:day",` + list:                                            {"desk"},
		`"url":"https://h/at/10:30?of=:day",` + list:                                              nil,
		`"request":{"url":"https://h/:day","method":"GET"},` + list:                               {"day"},
		`"url":"https://h/:appId","schema":[{"parameter":"appId","type":"string"}]`:               nil,
		`"url":"https://h/:2nd","schema":[{"parameter":"2nd","type":"string"}]`:                   {"2nd"},
		`"url":"https://h/:day","schema":[{"parameter":"day","type":"string","required":false}]`:  {"day"},
		`"url":"https://h/:day","schema":[{"parameter":"day","type":"string","default":"today"}]`: nil,
		`"url":"https://h/:day","schema":[{"parameter":"day","type":"string","value":"today"}]`:   nil,
		`"type":"http","source":"s","method":"GET","path":"/a/{{.day}}?b={{.desk}}","pathParams":[{"name":"day","type":"string","description":"d","required":false},{"name":"desk","type":"string","description":"d","required":false}]`: {"day"},
	} {
		tool, faults := decodeTool(t, `{"name":"t",`+fields+`}`)
		require.Empty(t, faults, fields)
		var shown struct{ Required []string }
		require.NoError(t, json.Unmarshal(tool.Params().ModelSchema(), &shown))
		require.Equal(t, want, shown.Required, fields)
		_, missing := tool.Params().Check(map[string]any{})
		require.Len(t, missing, len(want), fields)
		for _, name := range want {
			reading := tool.Params().Read(map[string]any{name: ""})
			require.Contains(t, reading.Missing, name, "a path has no place for an empty text")
			_, refused := tool.Params().Check(map[string]any{name: nil})
			require.Len(t, refused, len(want), "nor for null: %s", fields)
		}
	}
}

func TestParametersOfThePathThatProgramsAloneFillAreNoted(t *testing.T) {
	const hides = `: hides from models a parameter in the path of the url: messages that match the tool are rejected, and only programs can fire it; to fire it by messages, give a value or a default`
	toolNotes(t, map[string]string{
		`"url":"https://h/:d","schema":[{"parameter":"d","type":"string","ignore":true}]`:               "/tools/0/schema/0/ignore" + hides,
		`"url":"https://h/:d","parameters":{"properties":{"d":{"type":"string","ignore":true}}}`:        "/tools/0/parameters/properties/d/ignore" + hides,
		`"url":"https://h/:d","schema":[{"parameter":"d","type":"string","value":""}]`:                  "",
		`"url":"https://h/?d=:d","schema":[{"parameter":"d","type":"string","ignore":true}]`:            "",
		`"url":"https://h/:d","schema":[{"parameter":"d","type":"string","ignore":true,"default":"x"}]`: "",
	})
}

// SERMAS writes empty values. In a path they count as none, and models are asked for them.
func TestEmptyValueOfAPathIsNone(t *testing.T) {
	tool, faults := decodeTool(t, `{"name":"t","url":"https://h/:d","schema":[{"parameter":"d","type":"string","value":""}]}`)
	require.Empty(t, faults)
	require.Contains(t, string(tool.Params().ModelSchema()), `"required":["d"]`)
	values, refused := tool.Params().Check(map[string]any{"d": "monday"})
	require.Empty(t, refused)
	require.Equal(t, map[string]any{"d": "monday"}, values)
}

func TestProgramFillsWhatIsHiddenInAPath(t *testing.T) {
	old := &repositories.Repository{Tools: []repositories.Tool{{
		Name: "t", URL: "https://h/:d", Schema: json.RawMessage(`[{"parameter":"d","type":"string","ignore":true}]`),
	}}}
	require.NoError(t, old.Compile())
	values, faults := old.Tools[0].Params().Check(map[string]any{"d": "monday"})
	require.Empty(t, faults)
	require.Equal(t, map[string]any{"d": "monday"}, values)
	require.Equal(t, []string{"d"}, old.Tools[0].Params().Read(map[string]any{"d": "monday"}).Missing)
}

const (
	dayList = `"schema":[{"parameter":"day","type":"string"}]`
	escape  = `; write %7B and %7D for braces that are meant as they are`
)

// OpenAPI, n8n and Zapier write {day} in place of :day. It would be sent unfilled.
func TestParametersInBracesAreNotFilledIn(t *testing.T) {
	toolFaults(t, map[string]string{
		`"url":"https://h/book/{day}",` + dayList:                                                      `/url: {day} is not filled in: write :day` + escape,
		`"url":"https://h/book?on={day}",` + dayList:                                                   `/url: {day} is not filled in: write :day` + escape,
		`"url":"https://h/{day}/:day/{day}",` + dayList:                                                `/url: {day} is not filled in: write :day` + escape,
		`"url":"https://h/{{day}}",` + dayList:                                                         `/url: {{day}} is not filled in: write :day` + escape,
		`"url":"https://h/{{ .day }}",` + dayList:                                                      `/url: {{ .day }} is not filled in: write :day` + escape,
		`"url":"https://h/${day}",` + dayList:                                                          `/url: ${day} is not filled in: write :day` + escape,
		`"url":"https://h/{appId}"`:                                                                    `/url: {appId} is not filled in: write :appId` + escape,
		`"url":"https://h/{day}","parameters":{"type":"object","properties":{"day":{}}}`:               `/url: {day} is not filled in: write :day` + escape,
		`"url":"https://h/{day}","inputSchema":{"type":"object","properties":{"day":{}}}`:              `/url: {day} is not filled in: write :day` + escape,
		`"url":"https://h/{day}","parameters":[{"name":"day","type":"string","description":"d"}]`:      `/url: {day} is not filled in: write :day` + escape,
		`"request":{"url":"https://h/{day}","method":"GET"},` + dayList:                                `/request/url: {day} is not filled in: write :day` + escape,
		`"request":{"url":"https://h/:days"},` + dayList:                                               `/request/url: :days is not a parameter of the tool; did you mean "day"?`,
		`"url":"https://h/{a.b}","schema":[{"parameter":"a.b","type":"string"}]`:                       `/url: {a.b} is not filled in: a parameter is written :name, and its name has A-Z a-z 0-9 _ - alone` + escape,
		`"url":"https://{day}.example/",` + dayList:                                                    `/url: {day} is in the scheme, host or port, which must not depend on a value`,
		`"url":"https://h:{port}/","schema":[{"parameter":"port","type":"integer"}]`:                   `/url: {port} is in the scheme, host or port, which must not depend on a value`,
		`"url":"https://h/%7Bday%7D",` + dayList:                                                       ``,
		`"url":"https://h/:day?filter={}&also={other}",` + dayList:                                     ``,
		`"type":"http","source":"s","method":"GET","path":"/a/{day}",` + pathParam("day"):              `/path: {day} is not filled in: write {{.day}}` + escape,
		`"type":"http","source":"s","method":"GET","path":"/a/{pet-id}",` + pathParam("pet-id"):        `/path: {pet-id} is not filled in: write {{index . "pet-id"}}` + escape,
		`"type":"http","source":"s","method":"GET","path":"/a/{day}","query` + pathParam("day")[5:]:    `/path: {day} is not filled in: it is one of the queryParams, but a path takes only pathParams, as {{.name}}`,
		`"type":"http","source":"s","method":"GET","path":"/a/%7Bday%7D/{{.day}}",` + pathParam("day"): ``,
		`"type":"http","source":"s","method":"GET","path":"/a/{x{{.day}}}",` + pathParam("day"):        ``,
	})
}

func pathParam(name string) string {
	return `"pathParams":[{"name":"` + name + `","type":"string","description":"d"}]`
}

func TestParametersInBracesAreAllNamedAtOnce(t *testing.T) {
	_, faults := decodeTool(t, `{"name":"t","url":"https://h/{day}/{desk}/:dya","emitter":"a","schema":[{"parameter":"day","type":"string"},{"parameter":"desk","type":"string"}]}`)
	require.Len(t, faults, 4, faults)
	for _, fault := range []string{"/tools/0/url: {day} is not", "/tools/0/url: {desk} is not", "/tools/0/url: :dya is not a parameter", "/tools/0/emitter"} {
		require.Contains(t, faults[0]+faults[1]+faults[2]+faults[3], fault)
	}
}

// toolNotes decodes tools with the given fields, and compares the one note on each; empty for none.
func toolNotes(t *testing.T, cases map[string]string) {
	t.Helper()
	for fields, want := range cases {
		tool, faults := decodeTool(t, `{"name":"t",`+fields+`}`)
		require.Empty(t, faults, fields)
		notes := (&repositories.Repository{Tools: []repositories.Tool{*tool}}).Notes()
		require.Equal(t, want, strings.Join(faultsOf(t, notes.Err()), "; "), fields)
	}
}

// Other names in braces may be intended, so they only cause a note.
func TestOtherNamesInBracesAreNoted(t *testing.T) {
	toolNotes(t, map[string]string{
		`"url":"https://h/{sessionId}"`:       `/tools/0/url: has {sessionId}, which is not a parameter of the tool and is sent unchanged; a parameter is written :name`,
		`"url":"https://h/{days}",` + dayList: `/tools/0/url: has {days}, which is not a parameter of the tool and is sent unchanged; a parameter is written :name; did you mean "day"?`,
		`"type":"http","source":"s","method":"GET","path":"/{{.day}}/{desk}",` + pathParam("day"): `/tools/0/path: has {desk}, which is not a parameter of the tool and is sent unchanged; a parameter is written {{.name}}`,
		`"url":"https://h/%7Bday%7D/:day?filter={}",` + dayList:                                   ``,
	})
}

// An entry that does not compile counts as text; one that was meant as an expression is noted.
func TestExpressionsThatDoNotCompileAreNoted(t *testing.T) {
	toolNotes(t, map[string]string{
		`"schema":[{"parameter":"p","type":"string","allowedValues":["a","(?!x).*"]}]`:                      "/tools/0/schema/0/allowedValues/1: \"(?!x).*\" counts as text: it does not compile as RE2: invalid or unsupported Perl syntax: `(?!`",
		`"schema":[{"parameter":"p","type":"array","items":{"type":"string","excludedValues":["^[a-z$"]}}]`: "/tools/0/schema/0/items/excludedValues/0: \"^[a-z$\" counts as text: it does not compile as RE2: missing closing ]: `[a-z$`",
		`"schema":[{"parameter":"p","type":"string","allowedValues":["[abc","*","a (b","[a-z]+"]}]`:         ``,
	})
}

// Tools that earlier versions stored are read, and called as before.
func TestStoredToolsWithBracesAreRead(t *testing.T) {
	stored := &repositories.Repository{Tools: []repositories.Tool{
		{Name: "t", URL: "https://h/{day}", Schema: json.RawMessage(`[{"parameter":"day","type":"string"}]`)},
		{Name: "u", Type: "http", Source: "s", Method: "GET", Path: "/{day}", PathParams: json.RawMessage(`[{"name":"day","type":"string","description":"d"}]`)},
	}}
	require.NoError(t, stored.Compile())
	require.Equal(t, []string{"day"}, stored.Tools[0].Params().Names())
	require.Empty(t, stored.Notes())
}

// coded lists faults as pointer, code, suggestion and allowed words.
func coded(t *testing.T, err error) []string {
	t.Helper()
	var found fault.List
	require.ErrorAs(t, err, &found)
	listed, _ := found.Coded()
	list := []string{}
	for _, one := range listed {
		list = append(list, strings.TrimSpace(fmt.Sprintln(one.Pointer, one.Code, one.Suggestion, one.Allowed)))
	}
	return list
}

// TestFaultsSayForProgramsWhatIsMeant has a name that does not exist, or no value, at every place of a definition.
func TestFaultsSayForProgramsWhatIsMeant(t *testing.T) {
	app, err := repositories.DecodeApp("clinic", []byte(`{"modules":[{"moduleId":"calendar","secret":"an example of a secret","tokenUrl":"https://example.org/token"}],
		"sources":[{"name":"crm","type":"http","baseUrl":"https://example.org"},{"name":"far","type":"mcp","url":"https://example.org/mcp"}],
		"authServices":[{"name":"corp","type":"google","clientId":"c"}]}`))
	require.NoError(t, err)
	check := func(body string) error {
		r, err := repositories.DecodeRepository(repositories.Scope{AppID: "clinic"}, "desk", []byte(body))
		if err == nil {
			err = r.Check(app)
		}
		return err
	}
	require.Equal(t, []string{
		`/tools/0/request/moduleId not_allowed calendar [calendar]`,
		`/tools/1/source not_allowed crm [crm far]`,
		`/tools/2/authRequired/0 not_allowed corp [corp]`,
		`/tools/2/schema/0/authServices/0/name not_allowed corp [corp]`,
	}, coded(t, check(`{"tools":[{"name":"a","url":"https://example.org/","request":{"moduleId":"calender"}},
		{"name":"b","description":"d","type":"http","source":"crn","method":"GET","path":"/"},
		{"name":"c","authRequired":["crop"],"schema":[{"parameter":"who","type":"string","authServices":[{"name":"corpo","field":"sub"}]}]}]}`)))
	require.Equal(t, []string{`/from not_allowed far [crm far]`}, coded(t, check(`{"from":"fra"}`)))
	for body, want := range map[string]string{
		`{}`: `/tools missing  []`,
		`{"tools":[{"name":"a","url":"https://example.org/:dya","schema":[{"parameter":"day","type":"string"}]}]}`:                     `/tools/0/url not_allowed day [day appId]`,
		`{"tools":[{"name":"a","url":"https://example.org/","request":{"method":"PSOT"}}]}`:                                            `/tools/0/request/method not_allowed POST [GET POST PUT PATCH DELETE]`,
		`{"tools":[{"name":"a","examples":["on [monday](dya)"],"schema":[{"parameter":"day","type":"string"}]}]}`:                      `/tools/0/examples/0 not_allowed day [day]`,
		`{"tools":[{"name":"a","request":{"method":"POST"}}]}`:                                                                         `/tools/0/url missing  []`,
		`{"tools":[{"name":"a","schema":[{"parameter":"days","type":"array"}]}]}`:                                                      `/tools/0/schema/0/items missing  []`,
		`{"tools":[{"name":"a","url":"https://example.org/","request":{"auth":"basic"}}]}`:                                             `/tools/0/request/basic missing  []`,
		`{"tools":[{"name":"a","url":"https://example.org/","request":{"auth":"bearer"}}]}`:                                            `/tools/0/request/bearer missing  []`,
		`{"tools":[{"name":"a","url":"https://example.org/","request":{"auth":"module"}}]}`:                                            `/tools/0/request/moduleId missing  []`,
		`{"tools":[{"name":"a","url":"https://example.org/","request":{"bearer":{"tokenUrl":"https://example.org","clientId":"c"}}}]}`: `/tools/0/request/bearer/clientSecret missing  []`,
	} {
		require.Equal(t, []string{want}, coded(t, check(body)), body)
	}
	_, err = repositories.DecodeApp("clinic", []byte(`{"authServices":[{"name":"g","type":"google"},{"name":"o","type":"oidc"}],
		"sources":[{"name":"p","type":"postgres"},{"name":"h","type":"http"}],"settings":{"webhooks":[{"name":"w","url":"https://example.org"}]}}`))
	require.Equal(t, []string{
		`/authServices/0/clientId missing  []`, `/authServices/1/audience missing  []`, `/authServices/1/issuer missing  []`,
		`/settings/webhooks/0/secret missing  []`,
		`/sources/0/database missing  []`, `/sources/0/host missing  []`, `/sources/0/user missing  []`, `/sources/1/baseUrl missing  []`,
	}, coded(t, err))
}
