package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed/apitest"
	"earshot/repositories"
	"earshot/repositories/audit"
	"earshot/repositories/keyspace"
	"earshot/trigger/effect"
	unvalued "earshot/trigger/pendingcalls"
)

const (
	withTasks = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	withForms = `{"elicitation":{"form":{}}}`
	withBoth  = `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
)

const (
	asks    = `{"name":"measure","description":"Somebody measures","answer":{"within":"1h"},"request":{"timeout":"1ms"},"schema":[]}`
	refunds = `{"name":"refund","description":"Refunds an order","confirm":"always","url":"https://example.org/refund",
		"schema":[{"parameter":"order","type":"string","required":true},{"parameter":"amount","type":"integer","required":true,"minValue":1}]}`
)

func (a agent) task(id any) map[string]any {
	a.T.Helper()
	return a.gets("tasks/get", `"taskId":"`+id.(string)+`"`)
}

func (a agent) update(id any, responses string) {
	a.T.Helper()
	require.Equal(a.T, "complete", a.gets("tasks/update", `"taskId":"`+id.(string)+`","inputResponses":`+responses)["resultType"])
}

func TestWhatWaitsForAnAnswerIsATask(t *testing.T) {
	s := agents(t, asks)
	a := agentAt(s, agentsOfSession, withTasks)
	begun := a.calls("measure", `{}`)
	require.Equal(t, "task", begun["resultType"])
	require.Equal(t, "working", begun["status"])
	require.NotContains(t, begun, "result")
	require.EqualValues(t, 7*24*3600*1000, begun["ttlMs"])
	require.Equal(t, "working", a.task(begun["taskId"])["status"])

	answer := "/v1/apps/clinic/triggers/" + begun["taskId"].(string) + "/answer"
	s.Call("POST", answer, `{"ok":true,"result":{"cm":12}}`).Is(200, "")
	ended := a.task(begun["taskId"])
	require.Equal(t, "completed", ended["status"])
	require.Equal(t, `{"cm":12}`, text(ended["result"].(map[string]any)))
	require.Equal(t, ended["result"], agentAt(s, agentsOfApp, withTasks).task(begun["taskId"])["result"], "the app's server knows it as well")

	failing := a.calls("measure", `{}`)["taskId"]
	s.Call("POST", "/v1/apps/clinic/triggers/"+failing.(string)+"/answer", `{"ok":false,"error":"no ruler"}`).Is(200, "")
	failed := a.task(failing)
	require.Equal(t, "completed", failed["status"], "the model is to read why")
	require.Equal(t, true, failed["result"].(map[string]any)["isError"])
	require.Equal(t, "no ruler", text(failed["result"].(map[string]any)))

	pending := agentAt(s, agentsOfSession, `{}`).calls("measure", `{}`)
	require.Equal(t, "complete", pending["resultType"])
	require.Contains(t, text(pending), `"state":"pending"`, "a client without tasks is told so")
}

func TestATaskIsOfItsSessionAndOfClientsThatKnowTasks(t *testing.T) {
	s := agents(t, asks)
	id := agentAt(s, agentsOfSession, withTasks).calls("measure", `{}`)["taskId"].(string)
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		_, fault, status := agentAt(s, agentsOfSession, `{}`).rpc(method, `"taskId":"`+id+`"`)
		require.EqualValues(t, -32021, fault["code"])
		require.Equal(t, 400, status)
		for _, other := range []agent{agentAt(s, "/v1/apps/clinic/sessions/s2/mcp", withTasks), agentAt(s, agentsOfSession, withTasks, "Mcp-Name: "+id)} {
			params := `"taskId":"` + id + `"`
			if len(other.headers) > 0 {
				params = `"taskId":"none"`
			}
			_, fault, status = other.rpc(method, params)
			require.Equal(t, 400, status)
			require.Contains(t, []float64{-32602, -32020}, fault["code"])
		}
	}
	require.Equal(t, "working", agentAt(s, agentsOfSession, withTasks).task(id)["status"], "nobody has cancelled it")
}

// A session's id may be used again, by somebody else.
func TestATaskIsOfThePresentLifeOfATokensSession(t *testing.T) {
	s := agents(t, refunds)
	id := agentAt(s, agentsOfSession, withBoth).calls("refund", `{"order":"A1","amount":5}`)["taskId"].(string)
	s.Call("DELETE", "/v1/apps/clinic/sessions/s1", "").Is(204, "")
	a := agentAt(s, agentsOfSession, withBoth, apitest.Bearer(s.Call("POST", "/v1/apps/clinic/sessions/s1/token", "").Made().Token))
	for method, more := range map[string]string{
		"tasks/get": "", "tasks/cancel": "", "tasks/update": `,"inputResponses":{"confirm":{"action":"accept","content":{"confirm":true}}}`,
	} {
		_, fault, status := a.rpc(method, `"taskId":"`+id+`"`+more)
		require.Equal(t, 400, status, method)
		require.EqualValues(t, -32602, fault["code"], method)
	}
	require.Equal(t, "input_required", agentAt(s, agentsOfApp, withBoth).task(id)["status"], "it is left to the app")
}

func TestACancelledTaskHasNoEffectAndTakesNoAnswer(t *testing.T) {
	s := agents(t, asks+","+refunds+`,{"name":"slow","description":"Waits a while","settle":"60s","url":"https://example.org/slow","schema":[]}`)
	a := agentAt(s, agentsOfSession, withBoth)
	for _, call := range [][3]string{{"measure", `{}`, "trigger_ended"}, {"refund", `{"order":"A1","amount":5}`, "no_answer_awaited"}, {"slow", `{}`, "no_answer_awaited"}, {"refund", `{}`, "unknown_trigger"}} {
		id := a.calls(call[0], call[1])["taskId"]
		require.NotNil(t, id, "%v", call)
		for range 2 {
			require.Equal(t, "complete", a.gets("tasks/cancel", `"taskId":"`+id.(string)+`"`)["resultType"])
		}
		require.Equal(t, "cancelled", a.task(id)["status"], "%v", call)
		got := s.Ask("POST", "/v1/apps/clinic/triggers/"+id.(string)+"/answer", `{"ok":true,"result":1}`)
		require.Contains(t, string(got.Body), `"code":"`+call[2]+`"`, "%v", call)
		require.Equal(t, "cancelled", a.task(id)["status"], "%v", call)
		a.update(id, `{"confirm":{"action":"accept"},"order":{"action":"accept","content":{"order":"A2"}},"amount":{"action":"accept","content":{"amount":1}}}`)
		require.Equal(t, "cancelled", a.task(id)["status"], "%v", call)
	}
	fires(t, s, 1) // the one that asked for an answer
	listed := string(s.Call("GET", "/v1/apps/clinic/audit?action=trigger.cancel", "").Is(200, "").Body)
	require.Equal(t, 3, strings.Count(listed, `"via":"mcp"`), "once each that was a trigger, the one that waits for its answer as well: %s", listed)
}

func TestATaskIsConfirmedByWhoeverTheClientAsks(t *testing.T) {
	s := agents(t, refunds)
	a := agentAt(s, agentsOfSession, withBoth)
	for response, want := range map[string]string{
		`{"action":"accept","content":{"confirm":true}}`: "completed", `{"action":"accept","content":{"confirm":true,"note":1}}`: "completed",
		`{"action":"accept","content":{"confirm":false}}`: "cancelled", `{"action":"decline"}`: "cancelled", `{"action":"cancel"}`: "input_required",
	} {
		begun := a.calls("refund", `{"order":"A1","amount":5}`)
		require.Equal(t, "input_required", begun["status"])
		require.NotContains(t, begun, "inputRequests", "they are for tasks/get")
		asked := a.task(begun["taskId"])["inputRequests"].(map[string]any)["confirm"].(map[string]any)
		require.Equal(t, "elicitation/create", asked["method"])
		require.Contains(t, asked["params"].(map[string]any)["message"], "A1")
		a.update(begun["taskId"], `{"other":{"action":"accept"},"confirm":`+response+`}`)
		require.Equal(t, want, a.task(begun["taskId"])["status"], response)
	}
	fires(t, s, 2)
	for _, action := range []string{"confirm", "deny"} {
		var page struct{ Items []audit.Entry }
		require.NoError(t, json.Unmarshal(s.Call("GET", "/v1/apps/clinic/audit?action=trigger."+action, "").Is(200, "").Body, &page))
		require.Len(t, page.Items, 2)
		require.Equal(t, "mcp by admin", page.Items[0].Via+" by "+page.Items[0].By)
		require.NotEmpty(t, page.Items[0].TriggerID)
	}
	require.Equal(t, "working", agentAt(s, agentsOfSession, withTasks).calls("refund", `{"order":"A2","amount":5}`)["status"], "somebody else may say yes")
}

// TestAResponseThatDoesNotFitItsFormChangesNothing: only true is a yes, and only false and a decline are a no.
func TestAResponseThatDoesNotFitItsFormChangesNothing(t *testing.T) {
	s := agents(t, refunds)
	a := agentAt(s, agentsOfSession, withBoth)
	const wanted = `{"order":"A1","amount":5}`
	confirming, lacking := a.calls("refund", wanted)["taskId"], a.calls("refund", `{}`)["taskId"]
	forms := agentAt(s, agentsOfSession, withForms)
	first := forms.calls("refund", wanted)
	state := `"requestState":"` + first["requestState"].(string) + `"`
	for _, response := range []string{
		`{"action":"accept"}`, `{"action":"accept","content":{}}`, `{"action":"accept","content":null}`, `{"action":"accept","content":{"confirm":"true"}}`,
		`{"action":"accept","content":{"confirm":1}}`, `{"action":"accept","content":{"confirm":null}}`, `{"action":"accept","content":{"yes":true}}`, `{}`,
	} {
		a.update(confirming, `{"confirm":`+response+`}`)
		require.Equal(t, "input_required", a.task(confirming)["status"], response)
		again := forms.calls("refund", wanted, state, `"inputResponses":{"confirm":`+response+`}`)
		require.Equal(t, []any{"input_required", first["requestState"]}, []any{again["resultType"], again["requestState"]}, response)
	}
	for _, response := range []string{`{"action":"accept"}`, `{"action":"accept","content":{"amount":7}}`, `{"action":"accept","content":{"order":7}}`} {
		a.update(lacking, `{"order":`+response+`}`)
		require.Len(t, a.task(lacking)["inputRequests"], 2, response)
	}
	for _, response := range []string{`{"action":"bogus"}`, `{"action":"Accept","content":{"confirm":true}}`, `{"action":5}`, `{"action":"accept","content":[true]}`, `true`, `{"action":"accept","content":true}`,
		`{"action":"decline","Action":"accept","content":{"confirm":true}}`, `{"action":"accept","content":{"confirm":false,"confirm":true}}`} {
		for id, key := range map[any]string{confirming: "confirm", lacking: "order"} {
			_, fault, _ := a.rpc("tasks/update", `"taskId":"`+id.(string)+`","inputResponses":{"`+key+`":`+response+`}`)
			require.EqualValues(t, -32602, fault["code"], response)
			require.Contains(t, fault["message"], key, response)
			require.Equal(t, "input_required", a.task(id)["status"], response)
		}
		_, fault, _ := forms.rpc("tools/call", `"name":"refund","arguments":`+wanted+`,`+state+`,"inputResponses":{"confirm":`+response+`}`)
		require.EqualValues(t, -32602, fault["code"], response)
	}
	fires(t, s, 0)
	a.update(confirming, `{"confirm":{"action":"accept","content":{"confirm":true}}}`)
	require.Equal(t, "completed", a.task(confirming)["status"], "it may still be confirmed")
	a.update(lacking, `{"order":{"action":"decline"}}`)
	require.Equal(t, "cancelled", a.task(lacking)["status"])
	fires(t, s, 1)
}

// TestAResultThatWasCutSaysSo has a text that was cut, and a list.
func TestAResultThatWasCutSaysSo(t *testing.T) {
	s := agents(t, greets)
	for _, result := range []string{`"Hello, A"`, `[{"a":1}]`} {
		s.Sink.Answers(func(effect.Effect) effect.Outcome {
			return effect.Outcome{Verdict: effect.Done, Status: 200, Result: json.RawMessage(result), Truncated: true}
		})
		got := agentAt(s, agentsOfSession, `{}`).calls("greet", `{"name":"Ann"}`)
		require.Len(t, got["content"], 2)
		require.Equal(t, strings.Trim(result, `"`), text(got))
		require.Regexp(t, `^This is not the whole result: it was cut after [89] bytes\.`, got["content"].([]any)[1].(map[string]any)["text"])
		require.Equal(t, true, got["_meta"].(map[string]any)["earshot/truncated"])
		require.Contains(t, got["_meta"], "io.modelcontextprotocol/serverInfo")
	}
	older := s.Call("POST", agentsOfSession, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ann"}}}`).Is(200, "")
	require.Contains(t, string(older.Body), `"result":{"_meta":{"earshot/truncated":true},"content":[{"type":"text","text":"[{\"a\":1}]"},{"type":"text","text":"This is not the whole result`)

	s = slowly(t)
	goOn := make(chan struct{})
	s.Sink.Answers(func(effect.Effect) effect.Outcome {
		<-goOn
		return effect.Outcome{Verdict: effect.Done, Status: 200, Result: json.RawMessage(`"A"`), Truncated: true}
	})
	a := agentAt(s, agentsOfSession, withTasks)
	id := a.calls("report", `{}`)["taskId"]
	close(goOn)
	require.Eventually(t, func() bool { return a.task(id)["status"] == "completed" }, time.Minute, time.Millisecond)
	ended := a.task(id)["result"].(map[string]any)
	require.Equal(t, map[string]any{"earshot/truncated": true}, ended["_meta"])
	require.Len(t, ended["content"], 2)
	s.Sink.Answers(func(effect.Effect) effect.Outcome {
		return effect.Outcome{Verdict: effect.Done, Status: 200, Result: json.RawMessage(`"A"`)}
	})
	whole := agentAt(s, agentsOfSession, `{}`).calls("report", `{}`)
	require.Len(t, whole["content"], 1)
	require.NotContains(t, whole["_meta"], "earshot/truncated")
}

func TestAFailedCallHasWhatItsEndpointAnswered(t *testing.T) {
	s := agents(t, greets)
	fails := func(result string, truncated bool) {
		s.Sink.Answers(func(effect.Effect) effect.Outcome {
			return effect.Outcome{Verdict: effect.Dead, Status: 422, Reason: effect.ReasonRequest, Error: "it answered 422", Result: json.RawMessage(result), Truncated: truncated}
		})
	}
	for result, want := range map[string][]string{
		`{"message":"nobody has this name"}`: {"it answered 422", `{"message":"nobody has this name"}`}, `"no"`: {"it answered 422", "no"}, ``: {"it answered 422"},
	} {
		fails(result, false)
		got := agentAt(s, agentsOfSession, `{}`).calls("greet", `{"name":"Ann"}`)
		require.Equal(t, want, texts(got))
		require.Equal(t, true, got["isError"])
		require.NotContains(t, got, "structuredContent")
	}
	fails(`"no"`, true)
	got := agentAt(s, agentsOfSession, `{}`).calls("greet", `{"name":"Ann"}`)
	require.Equal(t, []string{"it answered 422", "no", "This is not the whole result: it was cut after 2 bytes. Ask for less, or for the rest of it."}, texts(got))
	require.Equal(t, true, got["_meta"].(map[string]any)["earshot/truncated"])
}

func TestAStateIsHeldToWhatABodyMayHave(t *testing.T) {
	s := agents(t, `{"name":"note","description":"Notes something","url":"https://example.org/note","schema":[{"parameter":"about","type":"object","required":true}]}`)
	a := agentAt(s, agentsOfSession, withForms)
	of := func(about string) string {
		return `"name":"note","arguments":{},"requestState":"` + sealedState(`{"values":{"about":`+about+`}}`) + `"`
	}
	for what, about := range map[string]string{
		"deep": strings.Repeat(`{"a":`, 70) + `1` + strings.Repeat(`}`, 70), "no UTF-8": "{\"a\":\"\xff\"}", "half a pair": `{"a":"\ud800"}`,
		"twice": `{"a":1,"a":2}`, "no JSON number": `{"a":1e999}`,
	} {
		_, fault, _ := a.rpc("tools/call", of(about))
		require.EqualValues(t, -32602, fault["code"], what)
		require.Contains(t, fault["message"], "requestState", what)
	}
	require.Empty(t, triggered(s))
	require.Equal(t, "complete", a.gets("tools/call", of(`{"a":1}`))["resultType"])
}

func TestACallIsConfirmedInTheSecondRound(t *testing.T) {
	s := agents(t, refunds)
	a := agentAt(s, agentsOfSession, withForms)
	const wanted, yes = `{"order":"A1","amount":5}`, `"inputResponses":{"confirm":{"action":"accept","content":{"confirm":true}}}`
	first := a.calls("refund", wanted)
	require.Equal(t, "input_required", first["resultType"])
	require.NotContains(t, first, "taskId")
	state := `"requestState":"` + first["requestState"].(string) + `"`
	require.Empty(t, triggered(s))

	require.Equal(t, "input_required", a.calls("refund", `{"order":"A1","amount":500}`, yes, state)["resultType"], "other values are another call")
	require.Empty(t, triggered(s))
	require.Equal(t, "complete", a.calls("refund", wanted, yes, state)["resultType"])
	fires(t, s, 1)
	require.Equal(t, "complete", a.calls("refund", wanted, yes, state)["resultType"], "the client had lost the answer")
	fires(t, s, 1)

	state = `"requestState":"` + a.calls("refund", wanted)["requestState"].(string) + `"`
	no := a.calls("refund", wanted, `"inputResponses":{"confirm":{"action":"decline"}}`, state)
	require.Equal(t, true, no["isError"])
	require.Contains(t, text(no), "said no")
	_, fault, _ := a.rpc("tools/call", `"name":"refund","arguments":`+wanted+`,"requestState":"`+strings.Repeat("A", 40)+`"`)
	require.EqualValues(t, -32602, fault["code"])
	require.Contains(t, text(agentAt(s, agentsOfSession, `{}`).calls("refund", wanted)), `"state":"confirming"`)
}

func TestMissingValuesAreAskedFor(t *testing.T) {
	s := agents(t, refunds)
	a := agentAt(s, agentsOfSession, withForms)
	first := a.calls("refund", `{"order":"A1"}`)
	require.Equal(t, "input_required", first["resultType"])
	form := first["inputRequests"].(map[string]any)["amount"].(map[string]any)["params"].(map[string]any)["requestedSchema"].(map[string]any)
	require.Equal(t, map[string]any{"amount": map[string]any{"type": "integer", "title": "amount", "minimum": 1.0}}, form["properties"])
	state := `"requestState":"` + first["requestState"].(string) + `"`
	second := a.calls("refund", `{"order":"A1"}`, state, `"inputResponses":{"amount":{"action":"accept","content":{"amount":0}}}`)
	require.Equal(t, "input_required", second["resultType"], "0 is no amount")
	unclear := a.calls("refund", `{"order":"A1"}`, state, `"inputResponses":{"amount":{"action":"accept","content":{"sum":7,"tip":1}}}`)
	require.Contains(t, unclear["inputRequests"], "amount", "neither is the field")
	named := a.calls("refund", `{"order":"A1"}`, state, `"inputResponses":{"amount":{"action":"accept","content":{"sum":7}}}`)
	require.Contains(t, named["inputRequests"], "confirm", "the only value of a form with one field")
	third := a.calls("refund", `{"order":"A1"}`, state, `"inputResponses":{"amount":{"action":"accept","content":{"amount":7}}}`)
	require.Contains(t, third["inputRequests"], "confirm")
	const yes = `"inputResponses":{"confirm":{"action":"accept","content":{"confirm":true}},"of another":{}}`
	require.Equal(t, "complete", a.calls("refund", `{"order":"A1"}`, `"requestState":"`+third["requestState"].(string)+`"`, yes)["resultType"], "with the client's own arguments")
	require.Contains(t, string(fires(t, s, 1)[0].Data), `"values":{"amount":7,"order":"A1"}`)
	declined := a.calls("refund", `{"order":"A1"}`, state, `"inputResponses":{"amount":{"action":"decline"}}`)
	require.Contains(t, text(declined), "declined")
	_, fault, _ := a.rpc("tools/call", `"name":"refund","arguments":{},"inputResponses":{"amount":5}`)
	require.EqualValues(t, -32602, fault["code"])

	for _, wrong := range []string{`{"order":5}`, `{"ordr":"A1","amount":1}`} {
		got := a.calls("refund", wrong)
		require.Equal(t, true, got["isError"], "what is wrong is for the model to mend: %s", wrong)
	}
	require.Equal(t, true, agentAt(s, agentsOfSession, withTasks).calls("refund", `{}`)["isError"], "this client asks nobody")
}

func TestWhatABodyNeedsIsAskedForOnceThereIsABody(t *testing.T) {
	s := agents(t, refunds)
	app := strings.Replace(apitest.ClinicBody, "{", `{"sources":[{"name":"crm","type":"http","baseUrl":"https://api.example"}],`, 1)
	s.Call("PUT", "/v1/apps/clinic", app).Is(200, "")
	s.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"pet","description":"Change a pet","type":"http","source":"crm","method":"PUT","path":"pets","requestBody":"{{json .}}",
		"bodyParams":[{"name":"id","type":"integer","description":"d","required":false},{"name":"name","type":"string","description":"d","requiredInBody":true}]}]}`).Is(200, "")
	a := agentAt(s, agentsOfSession, withForms)
	first := a.calls("pet", `{"id":1}`)
	require.Equal(t, "input_required", first["resultType"])
	require.Contains(t, first["inputRequests"], "name")
	require.NotEqual(t, "input_required", a.calls("pet", `{}`)["resultType"])
}

func TestATaskTakesItsValuesOneAfterTheOtherOnAnyReplica(t *testing.T) {
	s := agents(t, `{"name":"move","description":"Moves a bed","url":"https://example.org/move",
		"schema":[{"parameter":"from","type":"string","required":true},{"parameter":"to","type":"string","required":true,"allowedValues":["A","B"],"ask":"Which ward?"}]}`)
	says(s, `"moved"`)
	here := agentAt(s, agentsOfSession, withBoth)
	there := agentAt(s.Replica(), agentsOfSession, withBoth)
	begun := here.calls("move", `{}`)
	require.Equal(t, "input_required", begun["status"])
	id := begun["taskId"]
	requires := func(a agent, names ...string) {
		t.Helper()
		asked := a.task(id)
		require.Equal(t, "input_required", asked["status"])
		require.Len(t, asked["inputRequests"], len(names))
		for _, name := range names {
			require.Contains(t, asked["inputRequests"], name)
		}
	}
	requires(there, "from", "to")
	open := func() []any {
		return s.Document("/v1/apps/clinic/sessions/s1")["open"].([]any)
	}
	require.Equal(t, map[string]any{}, open()[0].(map[string]any)["values"])
	there.update(id, `{"from":{"action":"accept","content":{"from":"ward 3"}}}`)
	requires(here, "to")
	here.update(id, `{"to":{"action":"accept","content":{"to":"C"}}}`)
	requires(here, "to")
	require.Empty(t, triggered(s))
	require.Len(t, open(), 1, "a page that is loaded again sees what waits")
	waits := open()[0].(map[string]any)
	require.Equal(t, []any{id, "asking", "move", []any{"to"}, map[string]any{"from": "ward 3"}}, []any{waits["triggerId"], waits["state"], waits["name"], waits["missing"], waits["values"]})
	require.Equal(t, []any{"Which ward?", "Which ward?"}, []any{waits["question"], waits["ask"]})
	require.NotEmpty(t, waits["expiresAt"])
	require.NotEmpty(t, waits["repositoryId"], "also where the call names none")

	var both sync.WaitGroup
	for _, a := range []agent{here, there, here, there} {
		both.Go(func() { a.update(id, `{"to":{"action":"accept","content":{"to":"B"}}}`) })
	}
	both.Wait()
	require.Equal(t, "completed", there.task(id)["status"])
	require.Equal(t, "moved", text(here.task(id)["result"].(map[string]any)))
	fired := fires(t, s, 1) // the last client fired it once
	require.Empty(t, open())
	var event struct {
		ID     string
		Values map[string]any
	}
	require.NoError(t, json.Unmarshal(fired[0].Data, &event))
	require.Equal(t, map[string]any{"from": "ward 3", "to": "B"}, event.Values)
	require.Contains(t, string(s.Call("GET", "/v1/apps/clinic/triggers/"+id.(string), "").Is(200, "").Body), `"source":"agent"`)
}

// overtaken keeps calls that lack values; after a read, another client acts first.
type overtaken struct {
	api.PendingCalls
	meanwhile *func()
}

func (o overtaken) Change(ctx context.Context, scope repositories.Scope, id string, change func(*unvalued.Call)) (unvalued.Call, error) {
	if do := *o.meanwhile; do != nil {
		*o.meanwhile = nil
		do()
	}
	return o.PendingCalls.Change(ctx, scope, id, change)
}

func TestATaskIsCancelledThatHasJustGotItsLastValue(t *testing.T) {
	s := agents(t, refunds)
	here := agentAt(s, agentsOfSession, withBoth)
	var meanwhile func()
	there := agentAt(s.Replica(func(o *api.Options) { o.PendingCalls = overtaken{o.PendingCalls, &meanwhile} }), agentsOfSession, withBoth)
	id := here.calls("refund", `{}`)["taskId"]
	meanwhile = func() {
		here.update(id, `{"order":{"action":"accept","content":{"order":"A2"}},"amount":{"action":"accept","content":{"amount":5}}}`)
	}
	require.Equal(t, "complete", there.gets("tasks/cancel", `"taskId":"`+id.(string)+`"`)["resultType"])
	require.Equal(t, "cancelled", here.task(id)["status"], "it waited for a yes")
	require.Empty(t, triggered(s))
}

func TestATaskEndsWithItsToolAndGoesWithItsSession(t *testing.T) {
	s := agents(t, refunds)
	a := agentAt(s, agentsOfSession, withBoth)
	id, other := a.calls("refund", `{}`)["taskId"], a.calls("refund", `{}`)["taskId"]
	s.Call("DELETE", "/v1/apps/clinic/repositories/desk", "").Is(204, "")
	a.update(id, `{"order":{"action":"accept","content":{"order":"A2"}}}`)
	for _, ended := range []map[string]any{a.task(id), a.task(other)} {
		require.Equal(t, "completed", ended["status"])
		require.Contains(t, text(ended["result"].(map[string]any)), `unknown tool "refund"`)
	}
	s.Call("DELETE", "/v1/apps/clinic/sessions/s1", "").Is(204, "")
	_, fault, _ := a.rpc("tasks/get", `"taskId":"`+id.(string)+`"`)
	require.EqualValues(t, -32602, fault["code"])
}

func TestATaskThatLacksValuesGoesWithItsApp(t *testing.T) {
	s := agents(t, refunds)
	begin := func() any {
		return agentAt(s, "/v1/apps/clinic/sessions/silent/mcp", withBoth).calls("refund", `{}`)["taskId"]
	}
	id := begin()
	require.Contains(t, string(s.Call("GET", "/v1/apps/clinic/sessions", "").Body), `"sessionId":"silent"`)
	s.Call("DELETE", "/v1/apps/clinic", "").Is(204, "")
	_, fault, _ := agentAt(s, "/v1/apps/clinic/sessions/silent/mcp", withBoth).rpc("tasks/get", `"taskId":"`+id.(string)+`"`)
	require.EqualValues(t, -32602, fault["code"], fault)
	s.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	_, fault, _ = agentAt(s, "/v1/apps/clinic/sessions/silent/mcp", withBoth).rpc("tasks/get", `"taskId":"`+id.(string)+`"`)
	require.EqualValues(t, -32602, fault["code"], "another app has the id")
}

func TestACallWithItsOwnIdFiresOnce(t *testing.T) {
	s := agents(t, greets)
	a := agentAt(s, agentsOfApp, `{}`)
	call := func(id, name string) (map[string]any, map[string]any) {
		result, fault, _ := a.rpcMeta("tools/call", `"name":"greet","arguments":{"name":"`+name+`"}`, `"earshot/triggerId":"`+id+`"`)
		return result, fault
	}
	first, _ := call("order-1", "Ann")
	again, _ := call("order-1", "Ann")
	require.Equal(t, first, again)
	fires(t, s, 1)
	_, fault := call("no id", "Ann")
	require.EqualValues(t, -32602, fault["code"])
	_, fault = call(fmt.Sprint("order-", 2), "Ann")
	require.Nil(t, fault)
	fires(t, s, 2)
}

// TestASlowCallIsATask has an endpoint that answers on demand, and one that fails first.
func TestASlowCallIsATask(t *testing.T) {
	s := slowly(t)
	goOn := make(chan struct{})
	finish := sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(finish)
	s.Sink.Answers(func(effect.Effect) effect.Outcome {
		<-goOn
		return effect.Outcome{Verdict: effect.Done, Status: 200, Result: json.RawMessage(`{"rows":7}`)}
	})
	token := "Authorization: Bearer " + s.Call("POST", "/v1/apps/clinic/sessions/s1/token", "").Made().Token
	begun, _, _ := agentAt(s, agentsOfSession, withTasks, token).rpcMeta("tools/call", `"name":"report","arguments":{}`, `"earshot/triggerId":"year"`)
	require.Equal(t, "task", begun["resultType"])
	require.Equal(t, "working", begun["status"])
	other := s.Replica()
	elsewhere := agentAt(other, agentsOfSession, withTasks)
	for _, replica := range []agent{agentAt(s, agentsOfSession, withTasks), elsewhere} {
		now := replica.task(begun["taskId"])
		require.Equal(t, []any{"working", "attempt 1 is under way"}, []any{now["status"], now["statusMessage"]})
	}
	finish()
	require.Eventually(t, func() bool { return elsewhere.task(begun["taskId"])["status"] == "completed" }, time.Minute, time.Millisecond)
	require.Equal(t, `{"rows":7}`, text(elsewhere.task(begun["taskId"])["result"].(map[string]any)))
	require.Len(t, s.Triggers("s1"), 1)
}

func TestAClientWithoutTasksWaitsForASlowCall(t *testing.T) {
	s := slowly(t)
	began, goOn := make(chan struct{}), make(chan struct{})
	s.Sink.Answers(func(effect.Effect) effect.Outcome {
		close(began)
		<-goOn
		return effect.Outcome{Verdict: effect.Done, Status: 200, Result: json.RawMessage(`{"rows":7}`)}
	})
	answered := make(chan map[string]any, 1)
	go func() { answered <- agentAt(s, agentsOfSession, `{}`).calls("report", `{}`) }()
	<-began
	select {
	case early := <-answered:
		t.Errorf("it was answered %v before its call has ended", early)
	default:
	}
	close(goOn)
	require.Equal(t, `{"rows":7}`, text(<-answered))
}

func TestATaskSaysWhenItIsTriedAgain(t *testing.T) {
	s := slowly(t)
	const pause = 10 * time.Minute // so long that the second attempt is not made while this test looks
	s.Sink.Answers(func(effect.Effect) effect.Outcome {
		return effect.Outcome{Verdict: effect.Retry, Status: 503, Reason: effect.ReasonRequest, Error: "it answered 503", After: pause}
	})
	a, began := agentAt(s, agentsOfSession, withTasks), time.Now().Truncate(time.Second)
	id, said := a.calls("report", `{}`)["taskId"], ""
	require.Eventually(t, func() bool { // until the outcome of the first attempt is written
		said = a.task(id)["statusMessage"].(string)
		return said != "attempt 1 is under way"
	}, time.Minute, time.Millisecond)
	require.Regexp(t, `^attempt 1 ended with status 503; attempt 2 is due at 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$`, said)
	due, err := time.Parse(time.RFC3339, said[len(said)-len("2026-11-23T08:00:00Z"):])
	require.NoError(t, err)
	require.WithinRange(t, due, began.Add(pause), time.Now().Add(pause))
}

// TestASlowConfirmationIsATask: a confirmed call takes its time.
func TestASlowConfirmationIsATask(t *testing.T) {
	s := slowly(t)
	goOn := make(chan struct{})
	finish := sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(finish)
	s.Sink.Answers(func(effect.Effect) effect.Outcome {
		<-goOn
		return effect.Outcome{Verdict: effect.Done, Status: 200}
	})
	a := agentAt(s, agentsOfSession, withBoth)
	id := a.calls("refund", `{}`)["taskId"]
	require.Equal(t, "input_required", a.task(id)["status"])
	a.update(id, `{"confirm":{"action":"accept","content":{"confirm":true}}}`)
	require.Equal(t, "working", a.task(id)["status"])
	finish()
	require.Eventually(t, func() bool { return a.task(id)["status"] == "completed" }, time.Minute, time.Millisecond)
}

// slowly is a clinic in which a call becomes a task as soon as it is stored.
func slowly(t *testing.T) apitest.World {
	s := apitest.Live(t, apitest.Everything, func(o *api.Options) { o.TaskAfter = time.Nanosecond })
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	s.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[
		{"name":"report","description":"Makes the report of a year","url":"https://example.org/report"},
		{"name":"refund","description":"Refunds","confirm":"always","url":"https://example.org/refund"}]}`).Is(201, "")
	return s
}

func TestWhatIsAskedForCountsToTheLimitsOfWhatIsTriggered(t *testing.T) {
	const lacking = `{"name":"order","description":"Orders","schema":[{"parameter":"a","type":"string"},
		{"parameter":"b","type":"string","required":true},{"parameter":"c","type":"string","required":true}]}`
	s := agents(t, lacking)
	token := s.Call("POST", "/v1/apps/clinic/sessions/s1/token", "").Made().Token
	a := agentAt(s, agentsOfSession, withBoth, "Authorization: Bearer "+token)
	for i := range 120 {
		require.Equal(t, "task", a.calls("order", `{"a":"x"}`)["resultType"])
		if i == 0 { // on a slow machine the minute would be over
			require.True(t, s.Redis.Client().Persist(t.Context(), keyspace.KeysOf("clinic").Rates("s1")).Val())
		}
	}
	_, refused, status := a.rpc("tools/call", `"name":"order","arguments":{"a":"x"}`)
	require.Equal(t, 429, status)
	require.Contains(t, refused["message"], "sessionMessagesPerMinute")
	stored := s.Redis.Client().HLen(t.Context(), keyspace.KeysOf("clinic").Asked("s1")).Val()
	require.EqualValues(t, 120, stored, "what was refused stores nothing")

	// A key of the app has its own request limit, but the same limit of bytes.
	s.Call("PATCH", "/v1/apps/clinic", `{"settings":{"limits":{"sessionTriggersPerMinute":null,"bytesPerMinute":200000}}}`).Is(200, "")
	b := agentAt(s, "/v1/apps/clinic/sessions/s2/mcp", withBoth)
	long := b.calls("order", `{"a":"`+strings.Repeat("x", 70_000)+`"}`)
	require.Equal(t, true, long["isError"])
	require.Contains(t, text(long), "65536 bytes")
	for taken := 0; ; taken++ {
		require.Less(t, taken, 4)
		if _, refused, status = b.rpc("tools/call", `"name":"order","arguments":{"a":"`+strings.Repeat("x", 50_000)+`"}`); status == 429 {
			require.Contains(t, refused["message"], "bytesPerMinute")
			return
		}
	}
}

func TestACallThatWasAskedForIsCountedOnce(t *testing.T) {
	s := agents(t, `{"name":"order","schema":[{"parameter":"b","type":"string","required":true},{"parameter":"c","type":"string","required":true}]}`)
	token := "Authorization: Bearer " + s.Call("POST", "/v1/apps/clinic/sessions/s1/token", "").Made().Token
	for n, a := range []agent{agentAt(s, agentsOfSession, withBoth), agentAt(s, agentsOfSession, withBoth, token)} {
		id := a.calls("order", `{}`)["taskId"]
		a.update(id, `{"b":{"action":"accept","content":{"b":"x"}},"c":{"action":"accept","content":{"c":"y"}}}`)
		require.Equal(t, "completed", a.task(id)["status"])
		require.Equal(t, fmt.Sprint(n+1), s.Redis.Client().HGet(t.Context(), keyspace.KeysOf("clinic").Rates("s1"), "triggers").Val())
	}
}

func TestErrorsSayTheirCodes(t *testing.T) {
	s := agents(t, asks)
	codeOf := func(a agent, method, params string) string {
		_, fault, _ := a.rpc(method, params)
		return fmt.Sprint(fault["data"].(map[string]any)["code"])
	}
	a := agentAt(s, agentsOfSession, withTasks)
	require.Equal(t, "unknown_tool", codeOf(a, "tools/call", `"name":"nothing","arguments":{}`))
	require.Equal(t, "unknown_trigger", codeOf(a, "tasks/get", `"taskId":"nothing"`))
	require.Equal(t, "capability_missing", codeOf(agentAt(s, agentsOfSession, `{}`), "tasks/get", `"taskId":"nothing"`))
	require.Equal(t, "invalid_body", codeOf(a, "subscriptions/listen", `"x":1`))
	require.Equal(t, "unknown_app", codeOf(agentAt(s, "/v1/apps/nobody/mcp", withTasks), "tools/list", `"x":1`))
}

func TestAnIDOfATokensCallIsOfThePresentLifeOfItsSession(t *testing.T) {
	s := agents(t, greets)
	for n := range 2 {
		a := agentAt(s, agentsOfSession, `{}`, apitest.Bearer(s.Call("POST", "/v1/apps/clinic/sessions/s1/token", "").Made().Token))
		for range 2 {
			_, fault, _ := a.rpcMeta("tools/call", `"name":"greet","arguments":{"name":"Ann"}`, `"earshot/triggerId":"b1"`)
			require.Nil(t, fault)
		}
		fires(t, s, n+1)
		s.Call("DELETE", "/v1/apps/clinic/sessions/s1", "").Is(204, "")
	}
}
