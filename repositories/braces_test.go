package repositories_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
)

const (
	dayList = `"schema":[{"parameter":"day","type":"string"}]`
	escape  = `; write %7B and %7D for braces that are meant as they are`
)

// OpenAPI, n8n and Zapier write {day} where a URL has :day. It would be called as it stands.
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
		`"request":{"url":"https://h/:days"},` + dayList:                                               `/request/url: :days names no parameter of the tool; did you mean "day"?`,
		`"url":"https://h/{a.b}","schema":[{"parameter":"a.b","type":"string"}]`:                       `/url: {a.b} is not filled in: a parameter is written :name, and its name has A-Z a-z 0-9 _ - alone` + escape,
		`"url":"https://{day}.example/",` + dayList:                                                    `/url: {day} stands in the scheme, host or port, which no value may fill`,
		`"url":"https://h:{port}/","schema":[{"parameter":"port","type":"integer"}]`:                   `/url: {port} stands in the scheme, host or port, which no value may fill`,
		`"url":"https://h/%7Bday%7D",` + dayList:                                                       ``,
		`"url":"https://h/:day?filter={}&also={other}",` + dayList:                                     ``,
		`"type":"http","source":"s","method":"GET","path":"/a/{day}",` + pathParam("day"):              `/path: {day} is not filled in: write {{.day}}` + escape,
		`"type":"http","source":"s","method":"GET","path":"/a/{pet-id}",` + pathParam("pet-id"):        `/path: {pet-id} is not filled in: write {{index . "pet-id"}}` + escape,
		`"type":"http","source":"s","method":"GET","path":"/a/{day}","query` + pathParam("day")[5:]:    `/path: {day} is not filled in: it is one of the queryParams, and a path has pathParams, as {{.name}}`,
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
	for _, fault := range []string{"/tools/0/url: {day} is not", "/tools/0/url: {desk} is not", "/tools/0/url: :dya names no", "/tools/0/emitter"} {
		require.Contains(t, faults[0]+faults[1]+faults[2]+faults[3], fault)
	}
}

// toolNotes decodes tools, each given as the fields beside its name, and compares the one note on
// each; an empty one means none.
func toolNotes(t *testing.T, cases map[string]string) {
	t.Helper()
	for fields, want := range cases {
		tool, faults := decodeTool(t, `{"name":"t",`+fields+`}`)
		require.Empty(t, faults, fields)
		notes := (&repositories.Repository{Tools: []repositories.Tool{*tool}}).Notes()
		require.Equal(t, want, strings.Join(faultsOf(t, notes.Err()), "; "), fields)
	}
}

// What is no parameter may be meant as it stands, hence it is noted alone.
func TestOtherNamesInBracesAreNoted(t *testing.T) {
	toolNotes(t, map[string]string{
		`"url":"https://h/{sessionId}"`:       `/tools/0/url: has {sessionId}, which is no parameter of the tool and is sent as it stands; a parameter is written :name`,
		`"url":"https://h/{days}",` + dayList: `/tools/0/url: has {days}, which is no parameter of the tool and is sent as it stands; a parameter is written :name; did you mean "day"?`,
		`"type":"http","source":"s","method":"GET","path":"/{{.day}}/{desk}",` + pathParam("day"): `/tools/0/path: has {desk}, which is no parameter of the tool and is sent as it stands; a parameter is written {{.name}}`,
		`"url":"https://h/%7Bday%7D/:day?filter={}",` + dayList:                                   ``,
	})
}

// Earlier versions stored such tools. They are read, and called as they were.
func TestStoredToolsWithBracesAreRead(t *testing.T) {
	stored := &repositories.Repository{Tools: []repositories.Tool{
		{Name: "t", URL: "https://h/{day}", Schema: json.RawMessage(`[{"parameter":"day","type":"string"}]`)},
		{Name: "u", Type: "http", Source: "s", Method: "GET", Path: "/{day}", PathParams: json.RawMessage(`[{"name":"day","type":"string","description":"d"}]`)},
	}}
	require.NoError(t, stored.Compile())
	require.Equal(t, []string{"day"}, stored.Tools[0].Params().Names())
	require.Empty(t, stored.Notes())
}
