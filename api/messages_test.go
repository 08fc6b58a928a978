package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/apitest"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/matcher/llm/llmtest"
	"earshot/repositories/keyspace"
	"earshot/trigger"
	"earshot/trigger/query"
)

func TestPostMessageAnswersWhatTheEngineStoredByteForByte(t *testing.T) {
	s := start(t)
	s.engine.answer = json.RawMessage(`{"messageId":"m1", "matches":[],"rejected":[], "reply":9007199254740993,"skipResponse":false}`)
	got := s.Call("POST", apitest.MessagesPath, apitest.HelloBody).Is(200, "")
	require.Equal(t, string(s.engine.answer)+"\n", string(got.Body))

	message := s.engine.posted()
	message.TraceParent = ""
	require.Equal(t, trigger.Message{AppID: "clinic", SessionID: "s1", ID: "m1", Actor: "user", Text: "hello"}, message)
}

func TestRespondAsyncAnswersAsSoonAsTheMessageIsStored(t *testing.T) {
	for _, prefer := range []string{"respond-async", "wait=10, Respond-Async", "return=minimal,respond-async; x=1"} {
		s := start(t)
		got := s.Call("POST", apitest.MessagesPath, apitest.HelloBody, "Prefer: "+prefer).Is(202, `{"messageId":"m1"}`)
		require.Equal(t, "respond-async", got.Header.Get("Preference-Applied"))
		require.Equal(t, "PostAsync", s.engine.method)
	}
	s := start(t)
	s.engine.answer = json.RawMessage(apitest.NoMatch)
	got := s.Call("POST", apitest.MessagesPath, apitest.HelloBody, "Prefer: wait=10").Is(200, apitest.NoMatch)
	require.Empty(t, got.Header.Get("Preference-Applied"))
}

func TestAMessageBodyNamesAllItsFaultsAtOnce(t *testing.T) {
	const badID = "must be 1 to 128 printable characters without spaces"
	cases := map[string]map[string]string{
		`{}`: {"/actor": `is missing: "user" or "agent"`, "/text": "is missing"},
		`{"txt":"hi","actor":1}`: {
			"/actor": `1 is not one of "user", "agent"`, "/text": "is missing", "/txt": `unknown field "txt"; did you mean "text"?`},
		`{"actor":"usr","text":" \n","messageId":"a b"}`: {
			"/actor": `"usr" is not one of "user", "agent"; did you mean "user"?`, "/text": "must not be empty", "/messageId": badID},
		`{"actor":"user","text":["hi"],"messageId":"a b"}`: {"/text": `["hi"] is not a string`, "/messageId": badID},
		`{"actor":"user","text":"hi","text":"ho"}`:         {"/text": "is given more than once"},
		`{"actor":"user","text":"hi","a/b~c":1}`:           {"/a~1b~0c": `unknown field "a/b~c"; the fields here are actor, final, history, language, messageId, metadata, now, text, timeZone, user`},
		`[]`:                                               {"": "[] is not an object; its fields are actor, final, history, language, messageId, metadata, now, text, timeZone, user"},
		`null`:                                             {"": "null is not an object; its fields are actor, final, history, language, messageId, metadata, now, text, timeZone, user"},
	}
	s := start(t)
	for body, want := range cases {
		require.Equal(t, want, s.Call("POST", apitest.MessagesPath, body).Problem(400), body)
	}
}

func TestABodyThatIsNoJSONIsOneFaultOfTheWhole(t *testing.T) {
	s := start(t)
	for _, body := range []string{`{"actor":"user","text":"hi"} x`, `{"actor":"user"`, "hello", " "} {
		faults := s.Call("POST", apitest.MessagesPath, body).Problem(400)
		require.Len(t, faults, 1)
		require.Regexp(t, "malformed JSON|the body is empty", faults[""])
	}
}

// TestNoTextIsAltered: decoders replace what is no character, and two ids would be one.
func TestNoTextIsAltered(t *testing.T) {
	const half = ", half of a surrogate pair; send both halves, or the character itself"
	s := start(t)
	for body, want := range map[string]map[string]string{
		"{\"messageId\":\"lat\",\"actor\":\"user\",\"text\":\"caf\xe9\"}":          {"": "the body is not UTF-8: byte 46 is 0xe9; send it in UTF-8"},
		"{\"actor\":\"user\",\"text\":\"\\ud800\xed\xa0\x80\"}":                    {"": "the body is not UTF-8: byte 31 is 0xed; send it in UTF-8"},
		`{"messageId":"\ud800","actor":"user","text":"a\uDFFFb"}`:                  {"/messageId": `has \ud800` + half, "/text": `has \uDFFF` + half},
		`{"actor":"user","text":"\ud83d\ud83d\ude00","metadata":{"a":"\ud83d\\"}}`: {"/text": `has \ud83d` + half, "/metadata/a": `has \ud83d` + half},
	} {
		require.Equal(t, want, s.Call("POST", apitest.MessagesPath, body).Problem(400), body)
	}
	require.Contains(t, s.Call("PUT", "/v1/apps/clinic/tests/t", `{"chat":[{"user":"\ud800"}]}`).Problem(400), "")
	require.Contains(t, s.Call("PUT", "/v1/apps/clinic/tests/t", "{\"chat\":[{\"user\":\"caf\xe9\"}]}").Problem(400), "")
	require.Contains(t, s.Call("POST", apitest.MessagesPath, `{"actor":"user","text":"hi","\udc00":1}`).Problem(400), "/\uFFFD")

	s.engine.answer = json.RawMessage(apitest.NoMatch)
	s.Call("POST", apitest.MessagesPath, `{"actor":"user","text":"\ud83d\uDE00 \ufffd \\ud800 é"}`).Is(200, "")
	require.Equal(t, "😀 \uFFFD \\ud800 é", s.engine.posted().Text)
}

func TestTextAndIDHaveTheirLengths(t *testing.T) {
	s := start(t)
	s.engine.answer = json.RawMessage(apitest.NoMatch)
	post := func(id, text string) apitest.Answer {
		body, err := json.Marshal(map[string]string{"messageId": id, "actor": "user", "text": text})
		require.NoError(t, err)
		return s.Call("POST", apitest.MessagesPath, string(body))
	}
	post(strings.Repeat("ü", 128), strings.Repeat("x", 65536)).Is(200, "")
	require.Contains(t, post("m1", strings.Repeat("x", 65537)).Problem(400)["/text"], "has 65537 bytes; the limit is 65536")
	require.Contains(t, post(strings.Repeat("x", 129), "hi").Problem(400), "/messageId")
	require.Contains(t, post("a\u0007b", "hi").Problem(400), "/messageId")
}

func TestAnUndecidedMessageSaysUnderWhichIDToTryAgain(t *testing.T) {
	cases := []struct {
		err    error
		status int
		after  string
		detail string
	}{
		{&matcher.Unavailable{Reason: "it answered 500"}, 502, "", "it answered 500"},
		{&matcher.Unavailable{Reason: "it answered 429", RetryAfter: 1500 * time.Millisecond}, 503, "2", "it answered 429"},
		{fmt.Errorf("%w: dial tcp 10.0.0.7:6379", keyspace.ErrUnavailable), 503, "1", "the store does not answer"},
	}
	for _, c := range cases {
		s := start(t)
		s.engine.err = c.err
		got := s.Call("POST", apitest.MessagesPath, `{"actor":"user","text":"hello"}`)
		got.Problem(c.status, c.detail)
		require.Equal(t, c.after, got.Header.Get("Retry-After"))
		require.Contains(t, string(got.Body), `"messageId":"made-1"`)
		require.NotContains(t, string(got.Body), "10.0.0.7")
	}
}

func TestAClosedSessionIsAConflict(t *testing.T) {
	s := start(t)
	s.engine.err = trigger.ErrClosed
	got := s.Call("POST", apitest.MessagesPath, apitest.HelloBody)
	got.Problem(409, "session was closed")
	require.NotContains(t, string(got.Body), "messageId")
}

func TestHistoryIsPaged(t *testing.T) {
	w := atClinic(t)
	for _, id := range []string{"m1", "m2", "m3"} {
		w.Call("POST", apitest.MessagesPath, `{"messageId":"`+id+`","actor":"agent","text":"a <b> & c"}`).Is(200, "")
	}
	page := func(search string) pageOf[query.Entry] {
		return bodyOf[pageOf[query.Entry]](w.Call("GET", apitest.MessagesPath+"?"+search, "").Is(200, ""))
	}
	first := page("limit=2")
	require.Equal(t, "a <b> & c", first.Items[1].Text)
	second := page("limit=2&after=" + first.Next)
	require.Len(t, second.Items, 1)
	require.Equal(t, "m3", second.Items[0].MessageID)
	require.Equal(t, second.Items, page("order=desc&limit=1").Items)
	since := second.Items[0].Time.In(time.FixedZone("", 3600)).Format(time.RFC3339Nano)
	require.Equal(t, second.Items, page("since="+url.QueryEscape(since)).Items)
	w.Call("GET", apitest.MessagesPath+"?order=newest&since=yesterday&limit=0", "").Problem(400, "order", "since", "limit")
	w.Call("GET", apitest.MessagesPath+"?until=2026-12-01T09:00:00Z", "").Problem(400, "until")
}

func TestADryRunThatIsNotUnderstoodIsRefusedRatherThanFired(t *testing.T) {
	s := start(t)
	for _, query := range []string{"dryRun=1", "dryRun=", "explain=yes", "dryrun=true", "dryRun=true&dryRun=true"} {
		name, _, _ := strings.Cut(query, "=")
		s.Call("POST", apitest.MessagesPath+"?"+query, apitest.HelloBody).Problem(400, name)
	}
	s.Call("POST", apitest.MessagesPath+"?dryRun=true", apitest.HelloBody, "Prefer: respond-async").Is(200, apitest.NoMatch)
	require.Equal(t, "DryRun", s.engine.method)
}

func TestAnEngineWithoutAnAnswerIsNoSuccess(t *testing.T) {
	s := start(t)
	s.Call("POST", apitest.MessagesPath, apitest.HelloBody).Problem(500)
	s.Call("POST", "/v1/apps/clinic/triggers", `{"name":"book","source":"ui"}`).Problem(500)
}

const draftPath = apitest.MessagesPath + "/m1"

func TestWhatIsNoDraftIsRefused(t *testing.T) {
	s := start(t)
	require.Equal(t, map[string]string{"/final": "an agent's message is not matched, so that it cannot be a draft"},
		s.Call("POST", apitest.MessagesPath, `{"messageId":"m1","actor":"agent","text":"hello","final":false}`).Problem(400))
	require.Equal(t, map[string]string{"/final": `"no" is not a boolean or null`},
		s.Call("POST", apitest.MessagesPath, `{"messageId":"m1","actor":"user","text":"hello","final":"no"}`).Problem(400))
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
	refused.Problem(409, "not a draft any more")
	require.Contains(t, string(refused.Body), `"triggers":[{"triggerId":"`+decided.Matches[0].TriggerID)
	s.Call("POST", apitest.MessagesPath, interimOf("more"), browser).Problem(409, "not a draft any more")

	other := strings.Replace(draftPath, "m1", "m2", 1)
	s.Call("DELETE", other, "").Problem(404, "there is no draft and no message with this id")
	s.Call("POST", other+"/commit", "", "Prefer: respond-async").Problem(404, "there is no draft and no message with this id")
	model.Queue(llmtest.Status(500, nil, `{}`))
	s.Call("POST", apitest.MessagesPath, strings.Replace(interimOf(whole), "m1", "m2", 1)).Problem(502, "the draft was not matched")
	model.Queue(llmtest.Text("no"))
	unstored := s.Call("POST", apitest.MessagesPath, strings.Replace(interimOf(whole), "m1", "m2", 1), "Prefer: respond-async").Is(200, "")
	require.Empty(t, unstored.Header.Get("Preference-Applied"))
	require.Equal(t, "respond-async", s.Call("POST", other+"/commit", "", "Prefer: respond-async").Is(202, `{"messageId":"m2"}`).Header.Get("Preference-Applied"))
}

func interimOf(text string) string {
	body, _ := json.Marshal(map[string]any{"messageId": "m1", "actor": "user", "text": text, "final": false})
	return string(body)
}
