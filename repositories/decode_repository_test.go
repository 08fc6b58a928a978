package repositories_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/annotations"
	"earshot/repositories/fault"
	"earshot/repositories/lists"
)

var clinic = repositories.Scope{AppID: "clinic", SessionID: "s1"}

func faultsOf(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var faults fault.List
	require.True(t, errors.As(err, &faults), "not Faults but %T: %v", err, err)
	return lists.Map(faults, func(fault fault.Fault) string { return fault.Pointer + ": " + fault.Detail })
}

func decodeTool(t *testing.T, tool string) (*repositories.Tool, []string) {
	t.Helper()
	repository, err := repositories.DecodeRepository(clinic, "booking", fmt.Appendf(nil, `{"tools":[%s]}`, tool))
	if err != nil {
		return nil, faultsOf(t, err)
	}
	return &repository.Tools[0], nil
}

const booking = `{"appId":"clinic","sessionId":"s1","repositoryId":"booking",
 "options":{"triggerOnce":true,"exclusive":false},
 "tools":[{"name":"request-for-appointment","description":"User needs an appointment",
   "schema":[{"parameter":"date","type":"string","description":"wished day","required":true},
             {"parameter":"desk","type":"string","value":"A","ignore":true}],
   "url":"https://example.org/book/:date","request":{"auth":"module","moduleId":"calendar","headers":{"X-Desk":"A"}},
   "emitter":"calendar.request","returnDirect":true,"skipResponse":true,
   "examples":["I want an appointment"]}]}`

func TestDecodeRepositoryReadsEveryField(t *testing.T) {
	r, err := repositories.DecodeRepository(clinic, "booking", []byte(booking))
	require.NoError(t, err)
	require.Equal(t, "clinic", r.AppID)
	require.Equal(t, "s1", r.SessionID)
	require.Equal(t, "booking", r.ID)
	require.Equal(t, repositories.Options{TriggerOnce: true}, r.Options)
	require.Len(t, r.Tools, 1)
	tool := r.Tools[0]
	require.Equal(t, "https://example.org/book/:date", tool.URL)
	require.Equal(t, repositories.AuthModule, tool.Request.Auth)
	require.Equal(t, "A", tool.Request.Headers["X-Desk"].Reveal())
	require.Equal(t, []string{"date", "desk"}, tool.Params().Names())
	require.True(t, tool.ReturnDirect && tool.SkipResponse)
	require.Equal(t, []string{"I want an appointment"}, tool.Examples)
}

func TestDecodeRepositoryTakesBackWhatWasRead(t *testing.T) {
	r, err := repositories.DecodeRepository(clinic, "booking", []byte(booking))
	require.NoError(t, err)
	read := marshalled(t, r)
	withTimes := strings.Replace(read, `"tools"`, `"created":"2026-01-01T00:00:00Z","updated":"2026-01-02T00:00:00Z","tools"`, 1)
	again, err := repositories.DecodeRepository(clinic, "booking", []byte(withTimes))
	require.NoError(t, err)
	require.True(t, again.Created.IsZero(), "the times are not the client's to set")
	rewritten := marshalled(t, again)
	require.JSONEq(t, read, rewritten)
}

func TestDecodeRepositoryNamesAllFaultsAtOnce(t *testing.T) {
	body := `{"appId":"other","repositoryId":"booking","option":{},"options":{"exclusive":1},
	 "tools":[
	  {"name":"a b","descripton":"x","url":"ftp://example.org","emitter":"one"},
	  {"name":"book","schema":[{"parameter":"day","type":"strin"},{"type":"string"},{"parameter":"n","type":"integer","default":"5"}],
	   "url":"https://u:p@example.org/"},
	  {"name":"book","url":"https://example.org/:dayy","schema":[{"parameter":"day","type":"string"}],
	   "request":{"auth":"bearer","timeout":"2m","retryFor":"soon","method":"fetch","headers":{"Host":"x","X-A":"a\r\nb"},
	    "bearer":{"clientType":"password","tokenUrl":"mailto:x"}}},
	  7
	 ]}`
	_, err := repositories.DecodeRepository(clinic, "booking", []byte(body))
	require.Equal(t, []string{
		`/appId: is "other", but the path says "clinic"`,
		`/option: unknown field "option"; did you mean "options"?`,
		`/options/exclusive: is a number, not a boolean`,
		`/tools/0/descripton: unknown field "descripton"; did you mean "description"?`,
		`/tools/0/emitter: "one" is not resource.scope: two words of A-Z a-z 0-9 _ - with a dot between them`,
		`/tools/0/name: name "a b" is not a tool name: 1 to 64 of A-Z a-z 0-9 _ -`,
		`/tools/0/url: "ftp" is not a supported scheme: http or https`,
		`/tools/1/schema/0/type: "strin" is not one of "string", "number", "integer", "float", "boolean", "object", "array", "map"; did you mean "string"?`,
		`/tools/1/schema/1/parameter: is missing`,
		`/tools/1/schema/2/default: "5" is not an integer`,
		`/tools/1/url: a URL does not carry credentials; use auth basic`,
		`/tools/2/name: "book" is the name of tool 1 as well; each has its own`,
		`/tools/2/request/bearer/password: is missing: the password grant needs it`,
		`/tools/2/request/bearer/tokenUrl: "mailto" is not a supported scheme: http or https`,
		`/tools/2/request/bearer/username: is missing: the password grant needs it`,
		`/tools/2/request/headers/Host: the header Host belongs to the connection and cannot be set`,
		`/tools/2/request/headers/X-A: the value of a header cannot hold line breaks or NUL`,
		`/tools/2/request/method: "fetch" is not a method of a call: GET, POST, PUT, PATCH or DELETE; did you mean "PATCH"?`,
		`/tools/2/request/retryFor: "soon" is not a duration as "15m": a number with a unit, of ms, s, m and h`,
		`/tools/2/request/timeout: "2m" is out of range: more than 0 and at most 1m`,
		`/tools/2/url: :dayy is not a parameter of the tool; did you mean "day"?`,
		`/tools/3: is a number, not an object`,
	}, faultsOf(t, err))
}

func TestDecodeRepositoryRefusesWhatIsNoJSONObject(t *testing.T) {
	for body, want := range map[string]string{
		``:                        `: the body is empty; a JSON object is wanted`,
		`{"tools":[}`:             `: malformed JSON at line 1, column 11: invalid character '}' looking for beginning of value`,
		"{\n \"tools\": [],\n x}": `: malformed JSON at line 3, column 2: invalid character 'x'`,
		`{"tools":[]`:             `: malformed JSON at line 1, column 11: unexpected end of JSON input`,
		`{"tools":[]} {}`:         `: malformed JSON at line 1, column 14: invalid character '{' after top-level value`,
		`[]`:                      `: is an array, not an object`,
		`null`:                    `: is null, not an object`,
		`{}`:                      `/tools: is missing`,
		`{"tools":[],"tools":[]}`: `/tools: is given more than once`,
		strings.Repeat(`[`, 70) + strings.Repeat(`]`, 70):                                             `nested more than 64 deep`,
		`{"tools":[{"name":"a","schema":[{"parameter":"n","type":"number","default":1e999999999}]}]}`: `/tools/0/schema/0/default: 1e999999999 is out of the range of a number`,
	} {
		_, err := repositories.DecodeRepository(clinic, "booking", []byte(body))
		lines := faultsOf(t, err)
		require.Len(t, lines, 1, body)
		require.Contains(t, lines[0], want, body)
	}
}

func TestDecodeRepositoryTakesIdsFromThePath(t *testing.T) {
	app := repositories.Scope{AppID: "clinic"}
	r, err := repositories.DecodeRepository(app, "", []byte(`{"tools":[]}`))
	require.NoError(t, err)
	require.Empty(t, r.ID, "the caller makes one up")
	require.NotNil(t, r.Tools, "an empty list reads as one")

	r, err = repositories.DecodeRepository(app, "", []byte(`{"repositoryId":"mine","tools":[]}`))
	require.NoError(t, err)
	require.Equal(t, "mine", r.ID)

	_, err = repositories.DecodeRepository(app, "a", []byte(`{"repositoryId":"b","sessionId":"s","tools":[]}`))
	require.Equal(t, []string{
		`/repositoryId: is "b", but the path says "a"`,
		`/sessionId: is "s", but the path names none`,
	}, faultsOf(t, err))
}

func TestDecodePatchReadsOptionsAndTools(t *testing.T) {
	p, err := repositories.DecodePatch(clinic, "booking", []byte(`{"tools":[{"name":"b","description":"new"},{"name":"c"}]}`))
	require.NoError(t, err)
	require.Nil(t, p.Options)

	r := &repositories.Repository{
		Options: repositories.Options{TriggerOnce: true, Exclusive: true},
		Tools:   []repositories.Tool{{Name: "a"}, {Name: "b", Description: "old"}},
	}
	before := r.Tools
	r, err = p.Next(r)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, []string{r.Tools[0].Name, r.Tools[1].Name, r.Tools[2].Name})
	require.Equal(t, "new", r.Tools[1].Description)
	require.Equal(t, "old", before[1].Description, "readers of the old list see the old list")
	require.True(t, r.Options.TriggerOnce, "options that are not given stay")

	p, err = repositories.DecodePatch(clinic, "booking", []byte(`{"options":{"exclusive":true}}`))
	require.NoError(t, err)
	r, err = p.Next(r)
	require.NoError(t, err)
	require.Equal(t, repositories.Options{Exclusive: true}, r.Options, "options that are given replace all of them")
	require.Len(t, r.Tools, 3)
}

func TestDecodePatchNamesFaults(t *testing.T) {
	_, err := repositories.DecodePatch(clinic, "booking", []byte(`{"appId":"x","toolz":[],"tools":[{"name":"a"},{"name":"a"}]}`))
	require.Equal(t, []string{
		`/appId: is "x", but the path says "clinic"`,
		`/tools/1/name: "a" is the name of tool 0 as well; each has its own`,
		`/toolz: unknown field "toolz"; did you mean "tools"?`,
	}, faultsOf(t, err))
}

func TestFaultsAreListedUpTo100AndTheOthersCounted(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		more int
	}{
		"unknown fields": {`{"tools":[],` + numbered(150, `"x#":1`) + `}`, 50},
		"again":          {`{"tools":[],` + numbered(150, `"x#":1,"x#":2`) + `}`, 200},
		"parameters":     {`{"tools":[{"name":"a","schema":[` + numbered(150, `{"parameter":"#","type":"x"}`) + `]}]}`, 50},
		"all at once":    {`{"tools":[` + numbered(99, `{"name":"a"}`) + `],"x":1}`, 0},
	} {
		_, err := repositories.DecodeRepository(clinic, "booking", []byte(c.body))
		var faults fault.List
		require.ErrorAs(t, err, &faults, name)
		listed, more := faults.Listed()
		require.Equal(t, c.more, more, name)
		if more > 0 {
			require.Len(t, listed, 100, name)
		}
		for _, fault := range listed {
			require.NotEmpty(t, fault.Detail, name)
		}
	}
}

func numbered(times int, part string) string {
	parts := make([]string, times)
	for i := range parts {
		parts[i] = strings.ReplaceAll(part, "#", fmt.Sprint(i))
	}
	return strings.Join(parts, ",")
}

func TestLargeBodiesAreCheckedAsSmallOnesAre(t *testing.T) {
	parameters := numbered(600, `{"parameter":"p#","type":"string","description":"d"}`)
	good := `{"tools":[` + numbered(20, `{"name":"t#","schema":[`+strings.ReplaceAll(parameters, "#", "-")+`]}`) + `]}`
	good = strings.ReplaceAll(good, "p-", "p") // names may repeat between tools
	bad := strings.Replace(good, `"type":"string"`, `"typ":"string"`, 1)
	bad = strings.Replace(bad, `{"name":"t9"`, `{"nam":"t9"`, 1)
	_, err := repositories.DecodeRepository(clinic, "booking", []byte(bad))
	lines := faultsOf(t, err)
	require.Contains(t, strings.Join(lines, "\n"), `/tools/9/nam: unknown field "nam"; did you mean "name"?`)
	require.Contains(t, strings.Join(lines, "\n"), "/tools/9/name: is missing")
	require.Contains(t, strings.Join(lines, "\n"), `/tools/0/schema/0/typ: unknown field "typ"; did you mean "type"?`)
}

const table = `"schema":[
	{"parameter":"people","type":"integer","minValue":1,"maxValue":20},
	{"parameter":"time","type":"string"},
	{"parameter":"room","type":"string","allowedValues":["garden","hall"],"aliases":{"garden":["outside"]}},
	{"parameter":"length","type":"number","unit":"minutes"},
	{"parameter":"code","type":"string","allowedValues":["[0-9]{4}"]},
	{"parameter":"dishes","type":"array","items":{"type":"string","allowedValues":["soup","fish"]}}]`

func TestMarksOfExamplesAreHeldAgainstTheirParameters(t *testing.T) {
	example := func(text string) string { return `"examples":["a table","` + text + `"],` + table }
	toolFaults(t, map[string]string{
		example(`a table for [two](people) at [noon](time)`):        ``,
		example(`[twenty](people) of us, [ 4 ](people) inside`):     ``,
		example(`[outside](room) for [two hours](length)`):          ``,
		example(`[Garden](room), [ninety](length), [fish](dishes)`): ``,
		example(`press [OK], see [1]`):                              ``,
		example(`see \\[here](https://example.org)`):                ``,
		example(`for [blue](people)`):                               `/examples/1: "blue" is marked as people: "blue" is not an integer`,
		example(`for [twenty one](people)`):                         `/examples/1: "twenty one" is marked as people: 21 is above the maximum of 20`,
		example(`for [99](people)`):                                 `/examples/1: "99" is marked as people: 99 is above the maximum of 20`,
		example(`for [two or three](people)`):                       `/examples/1: "two or three" is marked as people: "two or three" is not an integer`,
		example(`in the [cellar](room)`):                            `/examples/1: "cellar" is marked as room: "cellar" is not an allowed value; allowed: "garden", "hall"`,
		example(`for [3 kg](length)`):                               `/examples/1: "3 kg" is marked as length: "3 kg" does not convert to minutes`,
		example(`a table for [two](persons)`):                       `/examples/1: "two" is marked as "persons", which is not a parameter of the tool`,
		example(`a table for [two](peopel)`):                        `/examples/1: "two" is marked as "peopel", which is not a parameter of the tool; did you mean "people"?`,
		example(`see [here](https://example.org)`):                  `/examples/1: "here" is marked as "https://example.org", which is not a parameter of the tool; write \[ for a bracket that is meant as it is`,
		example(`[](people)`):                                       `/examples/1: has a mark without words for "people"`,
		`"examples":["[Rome](to) or [Oslo](to)"],"parameters":{"type":"object","properties":{"to":{"type":"string","enum":["Rome"]}}}`: `/examples/0: "Oslo" is marked as to: "Oslo" is not one of "Rome"`,
		`"examples":["[` + strings.Repeat(`x](time) [`, 1001) + `"],` + table:                                                          `/examples: mark 1001 values; a tool marks at most 1000`,
	})
}

func TestAllMarksAtFaultAreNamedAtOnce(t *testing.T) {
	_, faults := decodeTool(t, `{"name":"t","examples":["[x](a) [y](people)","[z](b)"],`+table+`}`)
	require.Len(t, faults, 3)
}

func TestExamplesAreKeptAsGivenAndReadInPlainWords(t *testing.T) {
	const given = `["a table","a table for [two](people) at [noon](time)","[outside](room), [ninety](length) long","code [four seven one one](time), [1234](code)"]`
	tool, faults := decodeTool(t, `{"name":"t","examples":`+given+`,`+table+`}`)
	require.Empty(t, faults)
	kept := marshalled(t, tool.Examples)
	require.JSONEq(t, given, kept)
	require.Equal(t, []string{"a table", "a table for two at noon", "outside, ninety long", "code four seven one one, 1234"}, tool.Spoken())
	require.Len(t, tool.Marked(), 3)
	require.Equal(t, annotations.Example{Text: "a table for two at noon", Marks: []annotations.Mark{
		{Parameter: "people", From: 12, To: 15, Value: json.Number("2")}, {Parameter: "time", From: 19, To: 23, Value: "noon"},
	}}, tool.Marked()[0])
	require.Equal(t, "garden", tool.Marked()[1].Marks[0].Value)
	require.Equal(t, json.Number("90"), tool.Marked()[1].Marks[1].Value)
}

// In a record from before marks existed, brackets have no meaning.
func TestAnOldRecordWithBracketsIsReadAsItIs(t *testing.T) {
	var record repositories.Repository
	require.NoError(t, json.Unmarshal([]byte(`{"tools":[{"name":"t","examples":["see [here](https://h) for [two](people)","[lots](people)","[1]"],`+table+`}]}`), &record))
	require.NoError(t, record.Compile())
	require.Equal(t, []string{"see [here](https://h) for two", "[lots](people)", "[1]"}, record.Tools[0].Spoken())
}
