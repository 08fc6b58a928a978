package evidence_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/evidence"
	"earshot/matcher/matchertest"
	"earshot/repositories"
	"earshot/repositories/parameters"
)

var evidenceNow = time.Date(2019, 3, 1, 9, 0, 0, 0, time.UTC)

// evidenceTool has one parameter, or the parameters of a whole list.
func evidenceTool(t testing.TB, parameters string) *repositories.Tool {
	t.Helper()
	return matchertest.InScope(t, matchertest.Scope, "r", `{"name":"book_trip","description":"Book a trip","schema":[`+parameters+`]}`)[0].Tool
}

func evidenceValues(t testing.TB, raw string) map[string]any {
	t.Helper()
	values, err := parameters.DecodeValues([]byte(raw))
	require.NoError(t, err)
	return values
}

const (
	evidenceUser  = matcher.ActorUser
	evidenceAgent = matcher.ActorAgent
)

func TestTheNewestPlaceIsTheEvidence(t *testing.T) {
	tool := evidenceTool(t, `{"parameter":"city","type":"string"},{"parameter":"date","type":"string"},{"parameter":"refundable","type":"boolean"}`)
	history := []matcher.Utterance{
		{ID: "m1", Actor: evidenceUser, Text: "A trip to Paris or Rome"},
		{ID: "m2", Actor: evidenceAgent, Text: "To Rome, on March 8th? Should it be refundable?"},
		{ID: "m3", Actor: evidenceUser, Text: "No thanks, ROME it is"},
		{ID: "m4", Actor: evidenceAgent, Text: "When?"},
	}
	for _, c := range []struct{ rule, text, values, want string }{
		{"the message itself comes first", "to rome, please", `{"city":"Rome"}`, `{"city":{"words":"rome"}}`},
		{"then the newest of the history", "please", `{"city":"Rome"}`, `{"city":{"messageId":"m3","words":"ROME"}}`},
		{"however old", "please", `{"city":"Paris"}`, `{"city":{"messageId":"m1","words":"Paris"}}`},
		{"the agent's words count", "yes", `{"date":"2019-03-08"}`, `{"date":{"messageId":"m2","words":"March 8th"}}`},
		{"date and time from two messages", "5 pm", `{"date":"2019-03-08T17:00"}`, `{"date":{"words":"March 8th … 5 pm"}}`},
		{"the answer to a question", "please", `{"refundable":false}`, `{"refundable":{"messageId":"m3","words":"No"}}`},
		{"and not the question", "please", `{"refundable":true}`, `{"refundable":null}`},
		{"nowhere", "please", `{"city":"Oslo"}`, `{"city":null}`},
	} {
		request := matcher.Request{Text: c.text, History: history, Now: evidenceNow}
		found := evidence.Find(request, evidenceValues(t, c.values), tool)
		require.JSONEq(t, c.want, asJSON(t, found), c.rule)
	}
}

func TestEveryPartOfAValueIsFound(t *testing.T) {
	tool := matchertest.InScope(t, matchertest.Scope, "r", `{"name":"plan","description":"d","parameters":{"type":"object","properties":{
		"stops":{"type":"array","items":{"type":"string"}},"counts":{"type":"object"},
		"legs":{"type":"array","items":{"type":"object"}}},"additionalProperties":true}}`)[0].Tool
	request := matcher.Request{
		History: []matcher.Utterance{{ID: "m1", Actor: evidenceUser, Text: "From Rome, with two bikes"}},
		Text:    "then Paris and Paris, without pets", Now: evidenceNow,
	}
	for _, c := range []struct{ rule, values, want string }{
		{"of a list", `{"stops":["Rome","Paris"]}`, `{"stops":{"words":"Rome … Paris"}}`},
		{"each place once", `{"stops":["Paris","paris"]}`, `{"stops":{"words":"Paris"}}`},
		{"of one message", `{"stops":["Rome"]}`, `{"stops":{"messageId":"m1","words":"Rome"}}`},
		{"not without one of them", `{"stops":["Rome","Oslo"]}`, `{"stops":null}`},
		{"of an object", `{"counts":{"bikes":2,"pets":false}}`, `{"counts":{"words":"two … without pets"}}`},
		{"of objects in a list", `{"legs":[{"from":"Rome","to":"Paris"}]}`, `{"legs":{"words":"Rome … Paris"}}`},
		{"not of an object that lacks one", `{"legs":[{"from":"Rome","to":"Oslo"}]}`, `{"legs":null}`},
		{"an empty list has none", `{"stops":[]}`, `{"stops":null}`},
		{"values that the schema does not name", `{"animal":"pets"}`, `{"animal":{"words":"pets"}}`},
	} {
		found := evidence.Find(request, evidenceValues(t, c.values), tool)
		require.JSONEq(t, c.want, asJSON(t, found), c.rule)
	}
}

func TestOnlyInferredValuesHaveEvidence(t *testing.T) {
	tool := evidenceTool(t, `{"parameter":"desk","type":"string","value":"A"},{"parameter":"note","type":"string","ignore":true},
		{"parameter":"class","type":"string","default":"economy","escape":"single-quotes"},{"parameter":"city","type":"string"}`)
	for _, c := range []struct{ rule, text, values, want string }{
		{"no static or ignored ones", "desk A, note it", `{"desk":"A","note":"it"}`, `{}`},
		{"no default that nobody said", "a trip", `{"class":"economy"}`, `{}`},
		{"a default that was said", "in economy", `{"class":"economy"}`, `{"class":{"words":"economy"}}`},
		{"another value that nobody said", "a trip", `{"class":"first"}`, `{"class":null}`},
		{"no parameter without a value", "Paris", `{}`, `{}`},
	} {
		found := evidence.Find(matcher.Request{Text: c.text, Now: evidenceNow}, evidenceValues(t, c.values), tool)
		require.JSONEq(t, c.want, asJSON(t, found), c.rule)
	}
}

func TestUngroundedValuesAreFaults(t *testing.T) {
	tool := evidenceTool(t, `{"parameter":"city","type":"string","grounded":true},{"parameter":"note","type":"string"},
		{"parameter":"stops","type":"array","grounded":true,"items":{"type":"string"}},
		{"parameter":"class","type":"string","default":"economy","grounded":true},
		{"parameter":"desk","type":"string","value":"A","grounded":true}`)
	for _, c := range []struct{ rule, values, want string }{
		{"what was said is none", `{"city":"rome"}`, `null`},
		{"what was not said is one", `{"city":"Paris"}`, `[{"parameter":"city","detail":"\"Paris\" was not said in the conversation"}]`},
		{"an empty string is one", `{"city":""}`, `[{"parameter":"city","detail":"\"\" was not said in the conversation"}]`},
		{"other parameters may be made up", `{"note":"hm"}`, `null`},
		{"a default is none", `{"class":"economy"}`, `null`},
		{"what is no default is one", `{"class":"first"}`, `[{"parameter":"class","detail":"\"first\" was not said in the conversation"}]`},
		{"a static value is none", `{"desk":"A"}`, `null`},
		{"the part is named", `{"stops":["Rome","Oslo"]}`, `[{"parameter":"stops","detail":"stops[1]: \"Oslo\" was not said in the conversation"}]`},
		{"an empty list claims nothing", `{"stops":[]}`, `null`},
	} {
		reading := parameters.Reading{Values: evidenceValues(t, c.values)}
		faults := evidence.Ungrounded(matcher.Request{Text: "a trip to Rome", Now: evidenceNow}, reading, tool)
		require.JSONEq(t, c.want, asJSON(t, faults), c.rule)
	}
}

// A model may convert the time to UTC, or keep the user's local time.
func TestATimeWithAnOffsetWasSaidByTheUsersClock(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	tool := evidenceTool(t, `{"parameter":"start","type":"string"}`)
	request := matcher.Request{Text: "tomorrow, at 0:30", Now: evidenceNow.In(berlin)}
	for value, want := range map[string]bool{
		"2019-03-02T00:30:00+01:00": true, "2019-03-01T23:30:00Z": true, "2019-03-02T00:30:00Z": true, "2019-03-02T01:30:00Z": false,
	} {
		found := evidence.Find(request, map[string]any{"start": value}, tool)
		require.Equal(t, want, found["start"] != nil, value)
	}
}

// In Havana, the clocks skip the midnight at which the day would begin.
func TestADayWithoutItsMidnightWasSaid(t *testing.T) {
	havana, err := time.LoadLocation("America/Havana")
	require.NoError(t, err)
	tool := evidenceTool(t, `{"parameter":"day","type":"string","format":"date"}`)
	request := matcher.Request{Text: "on March 8th", Now: time.Date(2026, 3, 2, 15, 0, 0, 0, time.UTC).In(havana)}
	require.NotNil(t, evidence.Find(request, map[string]any{"day": "2026-03-08"}, tool)["day"])
	require.Nil(t, evidence.Find(request, map[string]any{"day": "2026-03-07"}, tool)["day"])
}

func TestAFaultQuotesNoMoreThanALine(t *testing.T) {
	tool := evidenceTool(t, `{"parameter":"city","type":"string","grounded":true}`)
	reading := parameters.Reading{Values: map[string]any{"city": strings.Repeat("ü", 1<<16)}}
	faults := evidence.Ungrounded(matcher.Request{Text: "Rome"}, reading, tool)
	require.Len(t, faults, 1)
	require.Less(t, len(faults[0].Detail), 200)
	require.True(t, strings.HasPrefix(faults[0].Detail, `"üü`))
}

func asJSON(t testing.TB, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	require.NoError(t, err)
	return string(raw)
}
