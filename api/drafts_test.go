package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/matcher/llm/llmtest"
	"earshot/trigger"
	"earshot/trigger/explain"
	"earshot/trigger/query"
)

const (
	draftPath = messagesPath + "/m1"
	interim   = `{"messageId":"m1","actor":"user","text":"hel","final":false}`
)

func TestADraftIsWhatTheBodySays(t *testing.T) {
	for body, method := range map[string]string{
		interim: "Draft",
		`{"messageId":"m1","actor":"user","text":"hello","final":true}`: "Post",
		`{"messageId":"m1","actor":"user","text":"hello","final":null}`: "Post",
		hello: "Post",
	} {
		s := start(t)
		s.engine.answer = json.RawMessage(noMatch)
		s.call("POST", messagesPath, body).is(200, noMatch)
		require.Equal(t, method, s.engine.last().Method, body)
	}
	s := start(t)
	s.engine.answer, s.engine.why = json.RawMessage(noMatch), explain.Unmatched("m1", time.Now())
	s.call("POST", messagesPath+"?explain=true", interim).is(200, "")
	require.Equal(t, "ExplainDraft", s.engine.last().Method)
	s.call("POST", messagesPath+"?dryRun=true", interim).is(200, "")
	require.Equal(t, "DryRun", s.engine.last().Method)
	got := s.call("POST", messagesPath, interim, "Prefer: respond-async").is(200, noMatch)
	require.Empty(t, got.Header.Get("Preference-Applied"))
}

func TestWhatIsNoDraftIsRefused(t *testing.T) {
	s := start(t)
	require.Equal(t, map[string]string{"/final": "what an agent says is matched against nothing, so that it has no draft"},
		s.call("POST", messagesPath, `{"messageId":"m1","actor":"agent","text":"hello","final":false}`).problem(400))
	require.Equal(t, map[string]string{"/final": `"no" is not a boolean or null`},
		s.call("POST", messagesPath, `{"messageId":"m1","actor":"user","text":"hello","final":"no"}`).problem(400))
	require.Zero(t, s.engine.count())
	s.engine.err = trigger.ErrSuperseded
	s.call("POST", messagesPath, interim).problem(409, "was replaced by a newer text")
	s.engine.err = &matcher.Unavailable{Reason: "it answered 500"}
	s.call("POST", messagesPath, interim).problem(502, "it answered 500", "the draft is not matched")
	s.engine.err = trigger.ErrNoDraft
	s.call("POST", draftPath+"/commit", "").problem(404, "there is no draft of that id")
	s.call("POST", draftPath+"/commit", "", "Prefer: respond-async").problem(404, "there is no draft of that id")
	s.call("DELETE", draftPath, "").problem(404, "there is no draft of that id")
}

func TestACommitAnswersAsAMessageDoes(t *testing.T) {
	s := start(t)
	s.engine.answer, s.engine.why = json.RawMessage(noMatch), explain.Unmatched("m1", time.Now())
	s.call("POST", draftPath+"/commit", "").is(200, noMatch)
	require.Equal(t, asked{"CommitDraft", []any{"clinic", "s1", "m1"}}, s.engine.last())
	s.call("POST", draftPath+"/commit?explain=true", "").is(200, "")
	require.Equal(t, "Explain", s.engine.last().Method)
	got := s.call("POST", draftPath+"/commit", "", "Prefer: respond-async").is(202, `{"messageId":"m1"}`)
	require.Equal(t, "respond-async", got.Header.Get("Preference-Applied"))
	require.Equal(t, "CommitDraftAsync", s.engine.last().Method)
	s.call("DELETE", draftPath, "").is(204, "")
	require.Equal(t, "RetractDraft", s.engine.last().Method)
}

// TestAFrontEndSendsWhatItHearsAndDecides has a session's token go the whole way, with a model
// that is slow at first.
func TestAFrontEndSendsWhatItHearsAndDecides(t *testing.T) {
	s, model := asking(t, redistest.Mini(t))
	s.call("PUT", "/v1/apps/clinic", clinicBody).is(201, "")
	s.call("PUT", bookingPath, bookingBody).is(201, "")
	browser := bearer(s.call("POST", "/v1/apps/clinic/sessions/s1/token", "").made().Token)
	asked := make(chan struct{})
	model.Handle(func(llmtest.Request) llmtest.Reply {
		close(asked)
		return llmtest.Hang()
	})
	first := make(chan int)
	go func() {
		request, _ := http.NewRequestWithContext(t.Context(), "POST", s.url+messagesPath, strings.NewReader(interimOf("a table")))
		request.Header.Set("Authorization", "Bearer "+adminKey)
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			first <- 0
			return
		}
		_ = response.Body.Close()
		first <- response.StatusCode
	}()
	<-asked
	model.Queue(llmtest.Call("book", `{"date":"2026-12-01"}`))
	const whole = "a table on 2026-12-01"
	var draft, decided query.Answer
	require.NoError(t, json.Unmarshal(s.call("POST", messagesPath, interimOf(whole), browser).is(200, "").body, &draft))
	require.Equal(t, 409, <-first, "its request to the model is cancelled")
	require.Equal(t, "draft", draft.Matches[0].State)
	s.call("POST", messagesPath+"?explain=true", interimOf(whole), browser).problem(403)
	why := s.call("POST", messagesPath+"?explain=true", interimOf(whole)).explained().Explain
	require.Equal(t, "Fired booking/book.", why.Why)
	s.call("GET", messagesPath, "", browser).is(200, `{"items":[]}`)

	require.NoError(t, json.Unmarshal(s.call("POST", draftPath+"/commit", "", browser).is(200, "").body, &decided))
	require.Equal(t, draft.Matches[0].TriggerID, decided.Matches[0].TriggerID)
	require.Equal(t, query.StateDelivered, decided.Matches[0].State)
	require.Len(t, model.Requests(), 2, "one for each text")
	got := s.call("POST", draftPath+"/commit?explain=true", "").explained()
	require.Equal(t, "llm", got.Explain.Stage)
	require.Equal(t, why.Requests, got.Explain.Requests)
	require.Equal(t, why.Calls, got.Explain.Calls)

	refused := s.call("DELETE", draftPath, "", browser)
	refused.problem(409, "no draft any more")
	require.Contains(t, string(refused.body), `"triggers":[{"triggerId":"`+decided.Matches[0].TriggerID)
	s.call("POST", messagesPath, interimOf("more"), browser).problem(409, "no draft any more")
}

func interimOf(text string) string {
	body, _ := json.Marshal(map[string]any{"messageId": "m1", "actor": "user", "text": text, "final": false})
	return string(body)
}
