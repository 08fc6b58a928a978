package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed/apitest"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher/chain"
	"earshot/matcher/llm"
	"earshot/matcher/llm/llmtest"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/secret"
	"earshot/trigger/explain"
	"earshot/trigger/query"
)

type explainedAnswer struct {
	query.Answer
	Explain *explain.Explanation
}

func explained(a apitest.Answer) explainedAnswer {
	a.T.Helper()
	return bodyOf[explainedAnswer](a.Is(200, ""))
}

// asking is a service with a scripted model, and the app clinic.
func asking(t *testing.T, server *redistest.Server, change ...func(*api.Options)) (apitest.World, *llmtest.Server) {
	model := llmtest.New(t)
	w := apitest.LiveOn(t, server, chain.New(llm.Options{BaseURL: model.URL(), Key: secret.New("planted-llm-key")}), change...)
	w.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	return w, model
}

func said(id, text string) string {
	body, _ := json.Marshal(map[string]string{"messageId": id, "actor": "user", "text": text})
	return string(body)
}

func TestAMessageIsExplainedAtOnceAndLater(t *testing.T) {
	s, model := asking(t, redistest.Mini(t))
	s.Call("PUT", apitest.BookingPath, apitest.BookingBody).Is(201, "")
	s.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","description":"another"},{"name":"hours","description":"opening hours"}]}`).Is(201, "")
	model.Queue(
		llmtest.Calls([2]string{"book", `{}`}, [2]string{"hours", `{}`}, [2]string{"fly", `{"to":"Rome"}`}),
		llmtest.Calls([2]string{"book", `{"date":"2026-12-01",}`}, [2]string{"hours", `{}`}),
	)
	got := explained(s.Call("POST", apitest.MessagesPath+"?explain=true", said("m1", "a table on 2026-12-01")))
	require.Len(t, got.Matches, 2)
	why := got.Explain
	require.Equal(t, "llm", why.Stage)
	require.Equal(t, "Fired desk/hours, booking/book.", why.Why)
	require.Equal(t, []explain.Candidate{{RepositoryID: "booking", Session: true, Name: "book"}, {RepositoryID: "desk", Name: "hours"}}, why.Candidates)
	require.Equal(t, explain.Shadowed, why.NotInScope[0].Reason)
	require.Equal(t, "desk", why.NotInScope[0].RepositoryID)

	require.Len(t, why.Requests, 2)
	for i, sent := range model.Requests() {
		require.JSONEq(t, string(sent.Body), string(why.Requests[i].Request))
	}
	require.Contains(t, string(why.Requests[0].Response), `"fly"`)
	require.Equal(t, explain.Tokens{Prompt: 100, Cached: 64, Completion: 10}, why.Requests[1].Tokens)

	verdicts := map[string]string{}
	for _, call := range why.Calls {
		verdicts[fmt.Sprint(call.Round, " ", call.Name)] = call.Verdict
		require.NotEmpty(t, call.Why, call.Name)
	}
	require.Equal(t, map[string]string{"1 book": "dropped", "1 hours": "fired", "1 fly": "dropped", "2 book": "fired", "2 hours": "dropped"}, verdicts)
	first, mended := why.Calls[0], why.Calls[3]
	require.Equal(t, "date", first.Errors[0].Parameter)
	require.True(t, mended.Repaired)
	require.JSONEq(t, `{"date":"2026-12-01"}`, string(mended.Arguments))
	require.Equal(t, "m1", mended.Evidence["date"].MessageID)
	require.Equal(t, got.Matches[0].TriggerID, mended.TriggerID)

	later := s.Call("GET", apitest.MessagesPath+"/m1/explain", "").Is(200, "")
	again := explained(s.Call("POST", apitest.MessagesPath+"?explain=true", said("m1", "a table on 2026-12-01")))
	require.Equal(t, why, again.Explain)
	kept := bodyOf[explain.Explanation](later)
	require.Equal(t, *why, kept)
	require.Contains(t, string(s.Call("GET", apitest.MessagesPath+"/m1", "").Is(200, "").Body), `"state":"decided"`)
}

func TestWhatIsNotExplainedSaysWhy(t *testing.T) {
	s, model := asking(t, redistest.Mini(t))
	s.Call("GET", apitest.MessagesPath+"/m1/explain", "").Problem(404, `message "m1"`, "history")
	s.Call("GET", apitest.MessagesPath+"/m1", "").Problem(404, `message "m1"`)
	s.Call("GET", "/v1/apps/other/sessions/s1/messages/m1/explain", "").Problem(404, `app "other"`)
	s.Call("POST", apitest.MessagesPath+"?explain=true", `{"messageId":"a1","actor":"agent","text":"hello"}`).Is(200, `{"messageId":"a1","matches":[],"rejected":[],"reply":null,"skipResponse":false}`)
	s.Call("GET", apitest.MessagesPath+"/a1/explain", "").Problem(404, "agent")

	s.Call("PUT", apitest.BookingPath, apitest.BookingBody).Is(201, "")
	model.Queue(llmtest.Status(500, nil, `{}`))
	s.Call("POST", apitest.MessagesPath+"?explain=true", apitest.HelloBody).Problem(502)
	s.Call("GET", apitest.MessagesPath+"/m1/explain", "").Problem(404, "not decided", "500")
	s.Call("GET", apitest.MessagesPath+"/"+strings.Repeat("m", 129)+"/explain", "").Problem(400, "messageId")
	s.Call("POST", apitest.MessagesPath+"?explain=yes", apitest.HelloBody).Problem(400, "explain")
}

// hiddenApp has values that must stay hidden: credentials, fixed values, and claims.
const hiddenApp = `{"name":"Clinic","authServices":[{"name":"corp","type":"oidc","issuer":"https://id.example.org","audience":"a"}],
	"modules":[{"moduleId":"calendar","secret":"planted-module","tokenUrl":"https://id.example.org/token"}],
	"settings":{"prompt":{"text":"The desk is planted-static and the password planted-header."}}}`

const hiddenTools = `{"tools":[
	{"name":"book","description":"Books at planted-static","url":"https://example.org/book","request":{"auth":"module","moduleId":"calendar","headers":{"X-Api-Key":"planted-header"}},
	 "schema":[{"parameter":"date","type":"string","required":true},
	  {"parameter":"desk","type":"string","value":"planted-static","ignore":true},
	  {"parameter":"room","type":"string","value":"A","ignore":true},
	  {"parameter":"number","type":"integer","value":987654321},
	  {"parameter":"quote","type":"string","value":"planted \"quoted\" one"},
	  {"parameter":"fallback","type":"string","default":"planted-default","ignore":true},
	  {"parameter":"who","type":"string","authServices":[{"name":"corp","field":"mail"}]}]}]}`

// claimsOf verifies every token.
type claimsOf map[string]any

func (c claimsOf) Verify(context.Context, repositories.AuthService, string, string) (map[string]any, error) {
	return c, nil
}

func TestNothingHiddenIsExplained(t *testing.T) {
	s, model := asking(t, redistest.Mini(t), func(o *api.Options) { o.Identities = claimsOf{"mail": "planted@claim.example", "sub": "x"} })
	s.Call("PUT", "/v1/apps/clinic", hiddenApp).Is(200, "")
	s.Call("PUT", apitest.BookingPath, hiddenTools).Is(201, "")
	call := llmtest.Call("book", `{"date":"planted-static","desk":"made-up","room":"B","who":"planted@claim.example","number":987654321,"quote":"planted \"quoted\" one"}`)
	model.Queue(call, call, llmtest.Text("the planted-llm-key and planted-module are secret"))
	for i, text := range []string{
		"I am planted@claim.example, 987654321, planted-static, planted-default, planted-module, planted \"quoted\" one", "and once more at planted-header",
	} {
		raw := s.Call("POST", apitest.MessagesPath+"?explain=true", said(fmt.Sprint("m", i), text), "corp_token: x").Is(200, "")
		_, why, found := strings.Cut(string(raw.Body), `"explain":`)
		require.True(t, found)
		for _, hidden := range []string{"planted", "987654321", "claim.example", `quoted`} {
			require.NotContains(t, why, hidden, text)
		}
		require.Contains(t, why, `"room":"***"`)
		require.Contains(t, why, `"verdict":"fired"`)
	}
	raw := s.Call("POST", apitest.MessagesPath+"?explain=true", said("m3", "bye"), "corp_token: x").Is(200, "")
	require.NotContains(t, string(raw.Body), "planted")
	require.Contains(t, string(raw.Body), "the *** and *** are secret")
}

// dump returns the content of Redis, byte for byte, with expiry times.
func dump(t *testing.T, server *redistest.Server) map[string]string {
	client, held := server.Client(), map[string]string{}
	for _, key := range server.Keys() {
		if !server.Embedded() {
			text, err := client.Dump(t.Context(), key).Result()
			require.NoError(t, err)
			held[key] = fmt.Sprintf("%x %s", text, client.PExpireTime(t.Context(), key))
			continue
		}
		switch client.Type(t.Context(), key).Val() { // miniredis dumps only strings
		case "hash":
			held[key] = fmt.Sprint(client.HGetAll(t.Context(), key))
		case "zset":
			held[key] = fmt.Sprint(client.ZRangeWithScores(t.Context(), key, 0, -1))
		case "list":
			held[key] = fmt.Sprint(client.LRange(t.Context(), key, 0, -1))
		default:
			held[key] = fmt.Sprint(client.Get(t.Context(), key))
		}
	}
	return held
}

// both runs a test on miniredis and on a real server.
func both(t *testing.T, test func(t *testing.T, server *redistest.Server)) {
	t.Run("miniredis", func(t *testing.T) { test(t, redistest.Mini(t)) })
	t.Run("redis", func(t *testing.T) { test(t, redistest.Run(t)) })
}

func TestADryRunLeavesNoTrace(t *testing.T) {
	both(t, func(t *testing.T, server *redistest.Server) {
		s, model := asking(t, server)
		s.Call("PUT", "/v1/apps/clinic/repositories/once", `{"options":{"triggerOnce":true},"tools":[{"name":"book","url":"https://example.org","emitter":"calendar.request","schema":[{"parameter":"date","type":"string","required":true}]}]}`).Is(201, "")
		model.Handle(func(llmtest.Request) llmtest.Reply { return llmtest.Call("book", `{"date":"2026-12-01"}`) })
		require.Eventually(t, func() bool { return len(s.Sink.All()) == 1 }, time.Minute, time.Millisecond) // tool.changed
		quiet(s)
		before := dump(t, server)
		for _, body := range []string{said("m1", "a table on 2026-12-01"), said("m1", "a table on 2026-12-01"), said("", "2026-12-01")} {
			body = strings.Replace(body, `"messageId":"",`, "", 1)
			got := explained(s.Call("POST", apitest.MessagesPath+"?dryRun=true&explain=true", body))
			require.Len(t, got.Matches, 1)
			match := got.Matches[0]
			require.EqualValues(t, map[string]any{"date": "2026-12-01"}, match.Values)
			require.Equal(t, "dry", match.Event.State)
			require.Equal(t, "dry", match.Emitter.State)
			require.Equal(t, query.CallState{State: "dry"}, *match.Call)
			require.Equal(t, "fired", got.Explain.Calls[0].Verdict)
			require.NotContains(t, string(s.Call("POST", apitest.MessagesPath+"?dryRun=true", body).Is(200, "").Body), "explain")
		}
		model.Queue(llmtest.Call("book", `{}`), llmtest.Call("book", `{}`), llmtest.Text("none"))
		require.Len(t, explained(s.Call("POST", apitest.MessagesPath+"?dryRun=true", said("m2", "a table"))).Rejected, 1)
		require.Empty(t, explained(s.Call("POST", apitest.MessagesPath+"?dryRun=true", said("m3", "hello"))).Matches)
		s.Call("POST", apitest.MessagesPath+"?dryRun=true", `{"messageId":"a1","actor":"agent","text":"hello"}`).Is(200, "")
		model.Queue(llmtest.Status(500, nil, `{}`))
		s.Call("POST", apitest.MessagesPath+"?dryRun=true", said("m4", "hello")).Problem(502, "dry run", "nothing is kept")
		after := dump(t, server)
		require.Equal(t, "9", server.Client().HGet(t.Context(), keyspace.KeysOf("clinic").Rates(""), "messages").Val(), "they count to the app's limit, which ends with its minute")
		delete(after, keyspace.KeysOf("clinic").Rates(""))
		require.Equal(t, before, after)
		require.Len(t, s.Sink.All(), 1)
	})
}

// quiet waits until no work is pending.
func quiet(w apitest.World) {
	w.T.Helper()
	client := w.Redis.Client()
	require.Eventually(w.T, func() bool {
		for _, key := range w.Redis.Keys() {
			if strings.HasSuffix(key, ":due") || strings.Contains(key, ":outbox:") || strings.Contains(key, ":holders") {
				return false
			}
			if strings.HasSuffix(key, ":owed") && client.Get(w.T.Context(), key).Val() != "0" {
				return false
			}
		}
		return true
	}, time.Minute, 5*time.Millisecond)
}

func TestADryRunOfAMessageInTheHistoryIsThatOfItsPlace(t *testing.T) {
	s, model := asking(t, redistest.Mini(t))
	s.Call("PUT", apitest.BookingPath, apitest.BookingBody).Is(201, "")
	model.Queue(
		llmtest.Text("none"), llmtest.Call("book", `{}`), llmtest.Call("book", `{}`),
		llmtest.Call("book", `{"date":"2026-12-01"}`), llmtest.Text("none"),
	)
	for i, text := range []string{"good morning", "a table", "2026-12-01", "thank you"} {
		body := said(fmt.Sprint("m", i), text)
		if i == 2 {
			body = strings.Replace(body, `{`, `{"language":"de","timeZone":"Asia/Tokyo",`, 1)
		}
		s.Call("POST", apitest.MessagesPath, body).Is(200, "")
	}
	asked := model.Requests()
	require.Contains(t, string(asked[3].Body), "The user's time zone: Asia/Tokyo. The user's language: de.")
	model.Queue(llmtest.Call("book", `{"date":"2026-12-01"}`))
	got := explained(s.Call("POST", apitest.MessagesPath+"?dryRun=true&explain=true", said("m2", "2026-12-01")))
	require.Equal(t, "2026-12-01", got.Matches[0].Values["date"])
	again := model.Requests()[len(asked)]
	require.Equal(t, asked[3].Messages, again.Messages, "what it was asked then, the clock, the zone, the language and what was begun included")

	model.Queue(llmtest.Text("none"))
	s.Call("POST", apitest.MessagesPath+"?dryRun=true", said("m1", "no table")).Is(200, "")
	changed := model.Requests()[len(asked)+1]
	require.Equal(t, "no table", changed.Last().Content)
	require.Len(t, changed.Messages, len(asked[1].Messages))
	model.Queue(llmtest.Text("none"))
	s.Call("POST", apitest.MessagesPath+"?dryRun=true", said("new", "and now")).Is(200, "")
	require.Contains(t, string(model.Requests()[len(asked)+2].Body), "thank you")
}

// TestADryRunMayBeToldWhatCameBefore gives dry runs a conversation that the session does not have.
func TestADryRunMayBeToldWhatCameBefore(t *testing.T) {
	s, model := asking(t, redistest.Mini(t))
	s.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[
		{"name":"book","schema":[{"parameter":"date","type":"string","required":true}]},{"name":"pay","confirm":"once"}]}`).Is(201, "")
	s.Call("PUT", "/v1/apps/clinic/repositories/once", `{"options":{"triggerOnce":true},"tools":[{"name":"greet"}]}`).Is(201, "")
	dry := func(text, history string) explainedAnswer {
		return explained(s.Call("POST", apitest.MessagesPath+"?dryRun=true&explain=true", fmt.Sprintf(`{"actor":"user","text":%q,"now":"2031-02-03T04:05:06+09:00","history":[%s]}`, text, history)))
	}
	began := `{"actor":"user","text":"a table","rejected":[{"repositoryId":"desk","name":"book","values":{},"missing":["date"],"errors":[{"parameter":"date","detail":"is required"}]}]},{"actor":"agent","text":"When?"}`
	model.Queue(llmtest.Call("book", `{"date":"2031-02-04"}`))
	require.Equal(t, "2031-02-04", dry("tomorrow", began).Matches[0].Values["date"])
	asked := string(model.Requests()[0].Body)
	for _, part := range []string{"2031-02-03, 04:05", "Begun and not finished: book", "a table", "When?"} {
		require.Contains(t, asked, part)
	}

	pays := `{"actor":"user","text":"pay","matches":[{"repositoryId":"desk","name":"pay","values":{},"state":%q}]}`
	waits := fmt.Sprintf(pays, query.StateConfirming)
	require.Equal(t, "pay", dry("yes", waits+`,{"actor":"agent","text":"pay. Shall I go ahead?"}`).Matches[0].Name)
	require.Equal(t, query.StateCancelled, dry("no", waits).Matches[0].State)
	require.Equal(t, 1, model.Count(), "no model is asked for a plain yes or no")
	model.Queue(llmtest.Text("none"), llmtest.Text("none"), llmtest.Call("pay", `{}`), llmtest.Call("pay", `{}`), llmtest.Call("greet", `{}`), llmtest.Text("none"))
	require.Empty(t, dry("yes", waits+`,{"actor":"agent","text":"Really?"}`).Matches, "an agent has asked something else")
	require.Empty(t, dry("yes", waits+`,{"actor":"user","text":"hm"},{"actor":"agent","text":"Something else?"}`).Matches, "something else was said since")
	require.Equal(t, query.StateConfirming, dry("pay it", "").Matches[0].State)
	require.Equal(t, "dry", dry("pay it", fmt.Sprintf(pays, "")).Matches[0].State, "it was confirmed before")
	require.Empty(t, dry("hello", `{"actor":"user","text":"hi","matches":[{"repositoryId":"once","name":"greet","values":{}}]}`).Matches, "its repository has gone")

	refused := string(s.Call("POST", apitest.MessagesPath, `{"actor":"user","text":"a","now":"2031-02-03T04:05:06Z","history":[]}`).Is(400, "").Body)
	refused += string(s.Call("POST", apitest.MessagesPath+"?dryRun=true", `{"actor":"user","text":"a","now":"soon","history":[{"actor":"god","text":"x"}]}`).Is(400, "").Body)
	for _, part := range []string{`"/history"`, `"/now"`, "is only for dryRun=true", `"/history/0/actor"`} {
		require.Contains(t, refused, part)
	}
}

func TestATokenOfASessionTriesButDoesNotSeeWhy(t *testing.T) {
	s, model := asking(t, redistest.Mini(t))
	model.Handle(func(llmtest.Request) llmtest.Reply { return llmtest.Text("none") })
	s.Call("PUT", apitest.BookingPath, apitest.BookingBody).Is(201, "")
	made := s.Call("POST", "/v1/apps/clinic/sessions/s1/token", `{}`).Made()
	token := "Authorization: Bearer " + made.Token
	s.Call("POST", apitest.MessagesPath, said("m1", "hello"), token).Is(200, "")
	s.Call("GET", apitest.MessagesPath+"/m1", "", token).Is(200, "")
	s.Call("GET", apitest.MessagesPath+"/m1/explain", "", token).Problem(http.StatusForbidden)
	s.Call("POST", apitest.MessagesPath+"?explain=true", said("m2", "hello"), token).Problem(http.StatusForbidden)
	s.Call("POST", apitest.MessagesPath+"?dryRun=true&explain=true", said("m2", "hello"), token).Problem(http.StatusForbidden)
}

func TestDryRunsCountAsMessagesOfTheirApp(t *testing.T) {
	s, model := asking(t, redistest.Mini(t))
	asked := 0
	model.Handle(func(llmtest.Request) llmtest.Reply { asked++; return llmtest.Text("none") })
	s.Call("PUT", "/v1/apps/clinic", `{"settings":{"limits":{"messagesPerMinute":9,"sessionMessagesPerMinute":3}}}`).Is(200, "")
	s.Call("PUT", apitest.BookingPath, `{"tools":[{"name":"book"}]}`).Is(201, "")
	made := s.Call("POST", "/v1/apps/clinic/sessions/s1/token", `{}`).Made()
	token := "Authorization: Bearer " + made.Token
	try := func(headers ...string) apitest.Answer {
		return s.Call("POST", apitest.MessagesPath+"?dryRun=true", said("m2", "hello"), headers...)
	}
	s.Call("POST", apitest.MessagesPath, said("m1", "hello"), token).Is(200, "")
	try(token).Is(200, "")
	try(token).Is(200, "")
	got := try(token)
	got.Problem(http.StatusTooManyRequests, "sessionMessagesPerMinute", "3")
	require.NotEmpty(t, got.Header.Get("Retry-After"))
	for range 6 {
		try().Is(200, "") // a key may try without a session limit
	}
	try().Problem(http.StatusTooManyRequests, "messagesPerMinute", "9")
	require.Equal(t, 9, asked, "what was refused asks no model")
}

func TestAMessageSaysWhetherSomebodyAsksWhy(t *testing.T) {
	for wish, asks := range map[string]bool{"": false, "?explain=true": true} {
		s := start(t)
		s.Call("POST", apitest.MessagesPath+wish, apitest.HelloBody, "Prefer: respond-async").Is(202, "")
		require.Equal(t, asks, s.engine.posted().Explain)
	}
}
