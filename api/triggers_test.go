package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/apitest"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

const fired = `{"triggerId":"click-1","repositoryId":"booking","name":"book","source":"ui","state":"delivered","values":{"n":9007199254740993},"returnDirect":false,"skipResponse":false}`

func recordsOfOne() []query.Record {
	return []query.Record{{
		Match: query.Match{TriggerID: "t1", RepositoryID: "booking", Name: "book", Source: "message", Values: map[string]any{}},
		AppID: "clinic", Schema: json.RawMessage(`[]`), State: query.StateFailed,
		Attempts: []query.Attempt{{Effect: "call", Number: 1, Reason: effect.ReasonTimeout}},
	}}
}

// places are the two paths that fire tools.
var places = map[string]string{"/v1/apps/clinic/triggers": "", "/v1/apps/clinic/sessions/s1/triggers": "s1"}

func TestFireAnswers201WithTheMatch(t *testing.T) {
	for path, session := range places {
		s := start(t)
		s.engine.answer = json.RawMessage(fired)
		got := s.Call("POST", path, `{"name":"book","repositoryId":"booking","values":{"n":9007199254740993},"source":"ui","triggerId":"click-1"}`).Is(201, "")
		require.Equal(t, fired+"\n", string(got.Body))
		require.Equal(t, "/v1/apps/clinic/triggers/click-1", got.Header.Get("Location"))
		direct := s.engine.asked.(trigger.Direct)
		require.NotEmpty(t, direct.TraceParent)
		direct.TraceParent = ""
		require.Equal(t, trigger.Direct{AppID: "clinic", SessionID: session, Name: "book", RepositoryID: "booking",
			Values: map[string]any{"n": json.Number("9007199254740993")}, Source: "ui", TriggerID: "click-1"}, direct)
	}
}

func TestNullAndTheEmptyTextAreNoneInATrigger(t *testing.T) {
	s := start(t)
	s.engine.answer = json.RawMessage(fired)
	s.Call("POST", "/v1/apps/clinic/triggers", `{"name":"book","source":"ui","values":null,"repositoryId":null,"triggerId":"","metadata":null}`).Is(201, "")
	direct := s.engine.asked.(trigger.Direct)
	direct.TraceParent = ""
	require.Equal(t, trigger.Direct{AppID: "clinic", Name: "book", Source: "ui"}, direct)
	require.Len(t, s.Call("POST", "/v1/apps/clinic/triggers", `{"name":null,"source":"","values":{}}`).Problem(400), 2)
}

func TestATriggerBodyNamesAllItsFaultsAtOnce(t *testing.T) {
	cases := map[string][]string{
		`{}`: {"/name", "/source"},
		`{"name":"no spaces","source":"message","repositoryId":"-x","triggerId":"-","values":[1],"vals":{}}`: {"/name", "/repositoryId", "/source", "/triggerId", "/vals", "/values"},
		`{"name":"book","source":"ui","values":"x"}`:                                                         {"/values"},
		`"book"`: {""},
	}
	s := start(t)
	for body, want := range cases {
		faults := s.Call("POST", "/v1/apps/clinic/triggers", body).Problem(400)
		for _, pointer := range want {
			require.Contains(t, faults, pointer, body)
		}
		require.Len(t, faults, len(want), body)
	}
}

func TestTriggersAreSearched(t *testing.T) {
	for path, session := range places {
		s := start(t)
		s.engine.records = recordsOfOne()
		want := query.Triggers{AppID: "clinic", SessionID: session, Page: query.Page{Limit: 50}}
		for _, state := range []string{"", "pending", "delivered", "failed", "confirming", "cancelled", "duplicate"} {
			s.Call("GET", path+"?state="+state, "").Is(200, "")
			want.State = state
			require.Equal(t, want, s.engine.asked)
		}
		s.Call("GET", path+"?limit=7&after=x&state=failed&name=book&source=ui&messageId=m%201&reason=timeout&value=%C3%9Cber&order=asc&since=2026-12-01T09:00:00Z&until=2026-12-01T10:00:00%2B01:00", "").Is(200, "")
		nine := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
		got := s.engine.asked.(query.Triggers)
		require.True(t, got.Since.Equal(nine) && got.Until.Equal(nine))
		got.Since, got.Until = time.Time{}, time.Time{}
		require.Equal(t, query.Triggers{AppID: "clinic", SessionID: session, State: "failed", Name: "book", Source: "ui", MessageID: "m 1",
			Reason: effect.ReasonTimeout, Value: "Über", Oldest: true, Page: query.Page{Limit: 7, After: "x"}}, got)
	}
	s := start(t)
	s.engine.records = recordsOfOne()
	s.Call("GET", "/v1/apps/clinic/triggers?session=s1", "").Is(200, "")
	require.Equal(t, query.Triggers{AppID: "clinic", SessionID: "s1", AllLives: true, Page: query.Page{Limit: 50}}, s.engine.asked)
	s.Call("GET", "/v1/apps/clinic/sessions/s1/triggers?session=s1", "").Problem(400, `"session" is not known here`)
}

func TestASearchNamesAllItsFaultsAtOnce(t *testing.T) {
	s := start(t)
	faulty := "state=dead&name=no+spaces&source=bot&reason=tired&order=up&since=today&until=tomorrow&session=-x&limit=0&value=%FF&messageId=" + strings.Repeat("m", 129)
	s.Call("GET", "/v1/apps/clinic/triggers?"+faulty, "").Problem(400, `state "dead" is none of pending, delivered, failed`, `did you mean "failed"?`, `name "no spaces"`,
		`source "bot"`, `reason "tired"`, `order "up"`, `since "today"`, `until "tomorrow"`, `session "-x"`, `limit "0"`, "value must be a text", "messageId must be a text of up to 128")
	s.Call("GET", "/v1/apps/clinic/triggers?since=2026-12-02T00:00:00Z&until=2026-12-01T00:00:00Z", "").Problem(400, "until is before since")
	s.Call("POST", "/v1/apps/clinic/triggers/retry?state=pending&source=bot&dryRun=yes", "").Problem(400, `state "pending" is not failed`, `source "bot"`, `dryRun "yes"`)
}

func TestBodiesThatEndATriggerNameAllTheirFaultsAtOnce(t *testing.T) {
	s := start(t)
	for way, bodies := range map[string]map[string][]string{
		"answer": {
			`{}`: {"/ok"}, `{"ok":"yes","error":7}`: {"/error", "/ok"}, `{"ok":false,"result":1}`: {"/error", "/result"},
			`{"ok":true,"error":"no","page":7}`: {"/error", "/page"}, `[]`: {""},
		},
		"confirm": {
			`{}`: {"/digest"}, `{"digest":null}`: {"/digest"}, `{"digest":""}`: {"/digest"}, `{"digest":7,"diget":"d"}`: {"/digest", "/diget"}, `["d"]`: {""}, "": {""},
		},
		"deny": {`{"digest":["d"],"values":{}}`: {"/digest", "/values"}},
	} {
		for body, want := range bodies {
			faults := s.Call("POST", "/v1/apps/clinic/triggers/t1/"+way, body).Problem(400)
			require.ElementsMatch(t, want, slices.Collect(maps.Keys(faults)), "%s %s", way, body)
		}
	}
}

func TestAFrontEndAnswersTheTriggersOfItsSessionAlone(t *testing.T) {
	w := atClinic(t)
	w.Call("PUT", "/v1/apps/clinic/repositories/r", `{"tools":[{"name":"turn-page","answer":{"within":"1h"},"request":{"timeout":"1ms"}}]}`).Is(201, "")
	sent := credentials(w)
	w.Call("POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"turn-page","source":"ui","triggerId":"t1"}`).Is(201, "")
	give := func(triggerID, who string) apitest.Answer {
		return w.Call("POST", "/v1/apps/clinic/triggers/"+triggerID+"/answer", `{"ok":true,"result":{"by":"`+who+`"}}`, "Authorization: Bearer "+sent[who])
	}
	for _, who := range []string{"other session", "token of other", "messages", "other app"} {
		give("t1", who).Problem(403)
		give("absent", who).Problem(403)
	}
	give("absent", "token").Problem(403) // the existence of other sessions' triggers is hidden
	require.Contains(t, string(give("t1", "token").Is(200, "").Body), `"result":{"by":"token"}`)
	require.Contains(t, string(give("t1", "triggers").Is(200, "").Body), `"result":{"by":"token"}`, "the first holds")
}

func TestAFrontEndDecidesTheTriggersOfItsSessionAlone(t *testing.T) {
	w := atClinic(t)
	w.Call("PUT", "/v1/apps/clinic/repositories/shop", `{"tools":[
		{"name":"refund","confirm":"always","url":"https://shop.example/refund","schema":[{"parameter":"order","type":"string","required":true}]},{"name":"lamp","settle":"1m"}]}`).Is(201, "")
	sent := credentials(w)
	fire := func(id, body string) query.Match {
		return bodyOf[query.Match](w.Call("POST", "/v1/apps/clinic/sessions/s1/triggers", `{"source":"ui","triggerId":"`+id+`",`+body+`}`).Is(201, ""))
	}
	ask := func(way, body, who string) apitest.Answer {
		return w.Call("POST", "/v1/apps/clinic/triggers/"+way, body, "Authorization: Bearer "+sent[who])
	}
	first, second := fire("t1", `"name":"refund","values":{"order":"A1"}`), fire("t2", `"name":"refund","values":{"order":"A2"}`)
	require.Equal(t, query.StateConfirming, first.State)
	require.NotNil(t, fire("t3", `"name":"lamp"`).DueAt)
	yes := func(of query.Match) string { return `{"digest":"` + of.Digest + `"}` }
	for _, who := range []string{"other session", "token of other", "messages", "other app"} {
		for _, id := range []string{"t1", "absent"} {
			ask(id+"/confirm", yes(first), who).Problem(403)
			ask(id+"/deny", "", who).Problem(403)
			ask(id+"/cancel", "", who).Problem(403)
		}
	}
	ask("absent/confirm", yes(first), "token").Problem(403)
	ask("absent/confirm", yes(first), "triggers").Problem(404, `"absent"`)

	fired := func() (count int) {
		for _, event := range w.Sink.All() {
			if event.Subject == "tool.trigger.clinic.s1.refund" {
				count++
			}
		}
		return count
	}
	require.NotEqual(t, first.Digest, second.Digest)
	ask("t1/confirm", yes(second), "token").Problem(409, "the digest is not that of the trigger") // values that were not asked about
	require.Zero(t, fired())
	done := string(ask("t1/confirm", yes(first), "token").Is(202, "").Body)
	require.Contains(t, done, `"state":"delivered"`)
	require.Contains(t, done, `"attempts":[]`, "what was sent to whom is not for a front-end")
	require.Equal(t, done, string(ask("t1/confirm", yes(first), "token").Is(200, "").Body), "a client that lost the answer asks again")
	ask("t1/confirm", yes(second), "token").Problem(409, "the digest is not that of the trigger")
	ask("t1/deny", "", "token").Problem(409, "was ended before")
	require.Contains(t, string(ask("t2/deny", "", "token").Is(202, "").Body), `"state":"cancelled"`)
	require.Contains(t, string(ask("t3/cancel", "", "token").Is(202, "").Body), `"state":"cancelled"`)
	require.Contains(t, string(ask("t3/cancel", "", "triggers").Is(200, "").Body), `"state":"cancelled"`)
	ask("t3/deny", "", "triggers").Problem(409, "it is cancelled")
	require.Eventually(t, func() bool { return fired() > 0 }, time.Minute, time.Millisecond, "the event of a call may follow its answer")
	require.Equal(t, 1, fired())
	for state, want := range map[string]string{"cancelled": `"triggerId":"t2"`, "delivered": `"triggerId":"t1"`} {
		require.Contains(t, string(w.Call("GET", "/v1/apps/clinic/triggers?state="+state, "").Is(200, "").Body), want)
	}
}

func TestFailedTriggersAreCountedRetriedAndPurged(t *testing.T) {
	w := atClinic(t)
	w.Sink.Answers(func(effect.Effect) effect.Outcome {
		return effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Error: "404 Not Found"}
	})
	w.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"ring","url":"https://desk.example/"},{"name":"knock","url":"https://desk.example/"},{"name":"nod"}]}`).Is(201, "")
	const all = "/v1/apps/clinic/triggers"
	for session, names := range map[string][]string{"s1": {"ring", "nod"}, "s2": {"ring", "knock"}} {
		for _, name := range names {
			w.Call("POST", "/v1/apps/clinic/sessions/"+session+"/triggers", `{"name":"`+name+`","source":"ui","triggerId":"`+session+name+`"}`).Is(201, "")
		}
	}
	w.Call("POST", all+"/s1nod/retry", "").Problem(409, "is delivered: nothing of it has failed")
	for method, path := range map[string]string{"POST": "/retry?", "DELETE": "?state=failed&"} {
		w.Call(method, all+path+"dryRun=true&name=ring&session=s2", "").Is(200, `{"triggers":1}`)
	}
	w.Call("DELETE", all+"?state=failed&session=s2", "").Is(200, `{"triggers":2}`)
	w.Call("GET", all+"/s2ring", "").Problem(404)
	w.Call("POST", all+"/retry?name=ring", "").Is(202, `{"triggers":1}`)
	for _, path := range []string{"", "?state=pending", "?name=book"} {
		w.Call("DELETE", all+path, "").Problem(400, "only failed triggers", "?state=failed")
	}
}

func TestUseOfToolsIsListedByName(t *testing.T) {
	s := start(t)
	for _, name := range []string{"a", "b", "c"} {
		s.engine.uses = append(s.engine.uses, query.ToolUse{Name: name, Fired: 1, Hours: []query.HourUse{}})
	}
	got := s.Call("GET", "/v1/apps/clinic/tools/usage?limit=2", "").Is(200, "")
	next := cursorIn("/v1/apps/:appId/tools/usage\nclinic", "b")
	require.JSONEq(t, `{"items":[{"name":"a","fired":1,"rejected":0,"hours":[]},{"name":"b","fired":1,"rejected":0,"hours":[]}],"next":"`+next+`"}`, string(got.Body))
	got = s.Call("GET", "/v1/apps/clinic/tools/usage?limit=2&after="+next, "").Is(200, "")
	require.JSONEq(t, `{"items":[{"name":"c","fired":1,"rejected":0,"hours":[]}]}`, string(got.Body))
}

func TestATokensTriggerIDIsItsSessionsOwn(t *testing.T) {
	w := atClinic(t)
	w.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"ring"}]}`).Is(201, "")
	long := strings.Repeat("x", 128)
	for _, chosen := range []string{"order-17", long} {
		ids := map[string]bool{}
		for _, session := range []string{"q1", "q2"} {
			of := "/v1/apps/clinic/sessions/" + session
			token := "Authorization: Bearer " + w.Call("POST", of+"/token", "").Made().Token
			fire := func(id string) string {
				match := bodyOf[query.Match](w.Call("POST", of+"/triggers", `{"name":"ring","source":"ui","triggerId":"`+id+`"}`, token).Is(201, ""))
				return match.TriggerID
			}
			id := fire(chosen)
			require.LessOrEqual(t, len(id), 128)
			require.Equal(t, id, fire(chosen), "the same again fires nothing")
			require.Equal(t, id, fire(id), "the id of the answer is the same trigger's")
			w.Call("GET", "/v1/apps/clinic/triggers/"+id, "").Is(200, "")
			agents := w.Call("POST", of+"/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ring","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
				"io.modelcontextprotocol/clientCapabilities":{},"earshot/triggerId":"`+chosen+`"}}}`, token, "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: ring")
			require.Contains(t, string(agents.Is(200, "").Body), id, "by MCP as well")
			ids[id] = true
		}
		require.Len(t, ids, 2, "of another session the token learns nothing")
	}
	require.Eventually(t, func() bool { return len(w.Sink.All()) >= 5 }, time.Minute, time.Millisecond) // tool.changed and four triggers
	w.Call("POST", "/v1/apps/clinic/sessions/q1/triggers", `{"name":"ring","source":"task","triggerId":"of-a-key"}`).Is(201, "")
	w.Call("GET", "/v1/apps/clinic/triggers/of-a-key", "").Is(200, "")
}

func TestAnswersAreReadAsTheyAreDescribed(t *testing.T) {
	text, err := os.ReadFile("bodies.schema.json")
	require.NoError(t, err)
	var described, read struct {
		Defs map[string]map[string]any `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(text, &described))
	require.NoError(t, json.Unmarshal([]byte(effect.AnswerSchema), &read))
	given := described.Defs["Given"]
	for _, one := range append([]any{given}, slices.Collect(maps.Values(given["properties"].(map[string]any)))...) {
		for _, words := range []string{"description", "x-doc", "x-default"} {
			delete(one.(map[string]any), words)
		}
	}
	require.Equal(t, given, read.Defs["Given"])
}

// A session's id may be used again, by somebody else. What waited when the session was closed is left to the app.
func TestATokenActsOnThePresentLifeOfItsSession(t *testing.T) {
	s := apitest.OnStage(t)
	s.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"pay","description":"d","confirm":"always"},{"name":"lamp","description":"d","settle":"1m"},
		{"name":"ask","description":"d","answer":{"within":"1h"},"request":{"timeout":"1ms"}}]}`).Is(201, "")
	fire := func(name string) string {
		fired := s.Call("POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"`+name+`","source":"ui"}`).Is(201, "")
		return bodyOf[query.Match](fired).TriggerID
	}
	pay, lamp, ask := fire("pay"), fire("lamp"), fire("ask")
	s.Call("DELETE", "/v1/apps/clinic/sessions/s1", "").Is(204, "")
	token := s.Call("POST", "/v1/apps/clinic/sessions/s1/token", "").Made().Token
	move := func(id, how, body, credential string) apitest.Answer {
		return s.Call("POST", "/v1/apps/clinic/triggers/"+id+"/"+how, body, apitest.Bearer(credential))
	}
	move(pay, "confirm", `{"digest":"d"}`, token).Problem(403)
	move(pay, "deny", "", token).Problem(403)
	move(lamp, "cancel", "", token).Problem(403)
	move(ask, "answer", `{"ok":true}`, token).Problem(403)
	present := fire("pay")
	move(present, "deny", "", token).Is(202, "")
	move(pay, "deny", "", apitest.AdminKey).Is(202, "")

	chat := open(s, sessionEvents, token)
	for _, id := range []string{pay, present} { // an event of before tells later what became of it
		s.Publish("tool.trigger.clinic.s1.pay", "s1", `{"id":"`+id+`"}`)
		s.Publish("app.clinic.calendar.request", "s1", `{"id":"`+id+`"}`)
		s.Publish("tool.result.clinic.s1.pay", "s1", `{"id":"e","triggerId":"`+id+`"}`)
	}
	require.Equal(t, `{"id":"`+present+`"}`, chat.next().data)
	require.Equal(t, `{"id":"`+present+`"}`, chat.next().data)
	require.Equal(t, `{"id":"e","triggerId":"`+present+`"}`, chat.next().data)
}

func TestATriggerIDOfATokenAndEqualValuesAreOfThePresentLife(t *testing.T) {
	w := atClinic(t)
	w.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"lamp"},{"name":"order","dedupe":{"within":"10m"}},{"name":"ring","dedupe":{"within":"10m","scope":"app"}}]}`).Is(201, "")
	fire := func(name, id, credential string) query.Match {
		return bodyOf[query.Match](w.Call("POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"`+name+`","source":"ui","triggerId":"`+id+`"}`, apitest.Bearer(credential)).Is(201, ""))
	}
	var earlier []string
	for life := range 3 { // the first, the next, and one whose predecessor was closed as well
		token := w.Call("POST", "/v1/apps/clinic/sessions/s1/token", "").Made().Token
		pressed := fire("lamp", "b1", token).TriggerID
		require.NotContains(t, earlier, pressed)
		require.Equal(t, pressed, fire("lamp", "b1", token).TriggerID)
		require.Equal(t, pressed, fire("lamp", pressed, token).TriggerID)
		for _, id := range earlier {
			require.NotEqual(t, id, fire("lamp", id, token).TriggerID)
		}
		earlier = append(earlier, pressed)
		n := fmt.Sprint(life)
		require.Equal(t, "delivered", fire("order", "o"+n, apitest.AdminKey).State)
		require.Equal(t, "duplicate", fire("order", "p"+n, token).State)
		require.Equal(t, life > 0, fire("ring", "r"+n, token).State == "duplicate", "these are the whole app's")
		w.Call("DELETE", "/v1/apps/clinic/sessions/s1", "").Is(204, "")
	}
	require.Equal(t, earlier[0], fire("lamp", earlier[0], apitest.AdminKey).TriggerID, "the app's own ids are one for all")
}
