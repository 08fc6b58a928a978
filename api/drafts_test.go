package api_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/apitest"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/matcher/llm/llmtest"
	"earshot/trigger"
	"earshot/trigger/explain"
	"earshot/trigger/query"
)

const (
	draftPath = apitest.MessagesPath + "/m1"
	interim   = `{"messageId":"m1","actor":"user","text":"hel","final":false}`
)

func TestADraftIsWhatTheBodySays(t *testing.T) {
	for body, method := range map[string]string{
		interim: "Draft",
		`{"messageId":"m1","actor":"user","text":"hello","final":true}`: "Post",
		`{"messageId":"m1","actor":"user","text":"hello","final":null}`: "Post",
		apitest.HelloBody: "Post",
	} {
		s := start(t)
		s.engine.answer = json.RawMessage(apitest.NoMatch)
		s.Call("POST", apitest.MessagesPath, body).Is(200, apitest.NoMatch)
		require.Equal(t, method, s.engine.last().Method, body)
	}
	s := start(t)
	s.engine.answer, s.engine.why = json.RawMessage(apitest.NoMatch), explain.Unmatched("m1", time.Now())
	s.Call("POST", apitest.MessagesPath+"?explain=true", interim).Is(200, "")
	require.Equal(t, "ExplainDraft", s.engine.last().Method)
	s.Call("POST", apitest.MessagesPath+"?dryRun=true", interim).Is(200, "")
	require.Equal(t, "DryRun", s.engine.last().Method)
	got := s.Call("POST", apitest.MessagesPath, interim, "Prefer: respond-async").Is(200, apitest.NoMatch)
	require.Empty(t, got.Header.Get("Preference-Applied"))
}

func TestWhatIsNoDraftIsRefused(t *testing.T) {
	s := start(t)
	require.Equal(t, map[string]string{"/final": "what an agent says is matched against nothing, so that it has no draft"},
		s.Call("POST", apitest.MessagesPath, `{"messageId":"m1","actor":"agent","text":"hello","final":false}`).Problem(400))
	require.Equal(t, map[string]string{"/final": `"no" is not a boolean or null`},
		s.Call("POST", apitest.MessagesPath, `{"messageId":"m1","actor":"user","text":"hello","final":"no"}`).Problem(400))
	require.Zero(t, s.engine.count())
	s.engine.err = trigger.ErrSuperseded
	s.Call("POST", apitest.MessagesPath, interim).Problem(409, "was replaced by a newer text")
	s.engine.err = &matcher.Unavailable{Reason: "it answered 500"}
	s.Call("POST", apitest.MessagesPath, interim).Problem(502, "it answered 500", "the draft is not matched")
	s.engine.err = trigger.ErrNoDraft
	s.Call("POST", draftPath+"/commit", "").Problem(404, "there is no draft of that id")
	s.Call("POST", draftPath+"/commit", "", "Prefer: respond-async").Problem(404, "there is no draft of that id")
	s.Call("DELETE", draftPath, "").Problem(404, "there is no draft of that id")
}

func TestACommitAnswersAsAMessageDoes(t *testing.T) {
	s := start(t)
	s.engine.answer, s.engine.why = json.RawMessage(apitest.NoMatch), explain.Unmatched("m1", time.Now())
	s.Call("POST", draftPath+"/commit", "").Is(200, apitest.NoMatch)
	require.Equal(t, asked{"CommitDraft", []any{"clinic", "s1", "m1"}}, s.engine.last())
	s.Call("POST", draftPath+"/commit?explain=true", "").Is(200, "")
	require.Equal(t, "Explain", s.engine.last().Method)
	got := s.Call("POST", draftPath+"/commit", "", "Prefer: respond-async").Is(202, `{"messageId":"m1"}`)
	require.Equal(t, "respond-async", got.Header.Get("Preference-Applied"))
	require.Equal(t, "CommitDraftAsync", s.engine.last().Method)
	s.Call("DELETE", draftPath, "").Is(204, "")
	require.Equal(t, "WithdrawDraft", s.engine.last().Method)
}

// TestAFrontEndSendsWhatItHearsAndDecides runs all steps with a session's token, with a model that is slow at
// first.
func TestAFrontEndSendsWhatItHearsAndDecides(t *testing.T) {
	s, model := asking(t, redistest.Mini(t))
	s.Call("PUT", apitest.BookingPath, apitest.BookingBody).Is(201, "")
	browser := apitest.Bearer(s.Call("POST", "/v1/apps/clinic/sessions/s1/token", "").Made().Token)
	asked := make(chan struct{})
	model.Handle(func(llmtest.Request) llmtest.Reply {
		close(asked)
		return llmtest.Hang()
	})
	first := make(chan int)
	go func() { first <- s.Post(apitest.MessagesPath, interimOf("a table"), apitest.AdminKey).StatusCode }()
	<-asked
	model.Queue(llmtest.Call("book", `{"date":"2026-12-01"}`))
	const whole = "a table on 2026-12-01"
	var draft, decided query.Answer
	require.NoError(t, json.Unmarshal(s.Call("POST", apitest.MessagesPath, interimOf(whole), browser).Is(200, "").Body, &draft))
	require.Equal(t, 409, <-first, "its request to the model is cancelled")
	require.Equal(t, "draft", draft.Matches[0].State)
	s.Call("POST", apitest.MessagesPath+"?explain=true", interimOf(whole), browser).Problem(403)
	why := explained(s.Call("POST", apitest.MessagesPath+"?explain=true", interimOf(whole))).Explain
	require.Equal(t, "Fired booking/book.", why.Why)
	s.Call("GET", apitest.MessagesPath, "", browser).Is(200, `{"items":[]}`)

	require.NoError(t, json.Unmarshal(s.Call("POST", draftPath+"/commit", "", browser).Is(200, "").Body, &decided))
	require.Equal(t, draft.Matches[0].TriggerID, decided.Matches[0].TriggerID)
	require.Equal(t, query.StateDelivered, decided.Matches[0].State)
	require.Len(t, model.Requests(), 2, "one for each text")
	got := explained(s.Call("POST", draftPath+"/commit?explain=true", ""))
	require.Equal(t, "llm", got.Explain.Stage)
	require.Equal(t, why.Requests, got.Explain.Requests)
	require.Equal(t, why.Calls, got.Explain.Calls)

	refused := s.Call("DELETE", draftPath, "", browser)
	refused.Problem(409, "no draft any more")
	require.Contains(t, string(refused.Body), `"triggers":[{"triggerId":"`+decided.Matches[0].TriggerID)
	s.Call("POST", apitest.MessagesPath, interimOf("more"), browser).Problem(409, "no draft any more")
}

func interimOf(text string) string {
	body, _ := json.Marshal(map[string]any{"messageId": "m1", "actor": "user", "text": text, "final": false})
	return string(body)
}
