package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/api/admission"
	"earshot/api/ratelimit"
	"earshot/deploy/testbed"
	"earshot/deploy/testbed/apitest"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher/chain"
	"earshot/matcher/llm"
	"earshot/matcher/llm/llmtest"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

const sessionSocket = "/v1/apps/clinic/sessions/s1/socket"

// frame is a frame from the service: an answer or an event.
type frame struct {
	ID          string            `json:"id"`
	Status      int               `json:"status"`
	Headers     map[string]string `json:"headers"`
	Body        json.RawMessage   `json:"body"`
	Event       string            `json:"event"`
	LastEventID string            `json:"lastEventId"`
	Data        json.RawMessage   `json:"data"`
}

// noEvents is a stream without events.
type noEvents struct{ apitest.QuietEvents }

func (noEvents) Follow(context.Context, string, string, uint64) (<-chan effect.Published, error) {
	return make(chan effect.Published), nil
}

// socket is an open socket of the session s1.
type socket struct {
	*websocket.Conn
	t     testing.TB
	first string // where its events start
}

func dial(s *apitest.Service, credential, query string, headers ...string) (*socket, int) {
	s.T.Helper()
	header := http.Header{}
	for _, one := range append([]string{apitest.Bearer(credential)}, headers...) {
		name, value, _ := strings.Cut(one, ": ")
		header.Set(name, value)
	}
	conn, response, err := websocket.Dial(s.T.Context(), strings.Replace(s.URL, "http", "ws", 1)+sessionSocket+query, &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		return nil, response.StatusCode
	}
	conn.SetReadLimit(-1)
	s.T.Cleanup(func() { _ = conn.CloseNow() })
	opened := &socket{Conn: conn, t: s.T}
	begin := opened.next()
	require.Equal(s.T, "open", begin.Event)
	opened.first = begin.LastEventID
	return opened, response.StatusCode
}

func (s *socket) send(text string) {
	s.t.Helper()
	require.NoError(s.t, s.Write(s.t.Context(), websocket.MessageText, []byte(text)))
}

func (s *socket) next() (got frame) {
	s.t.Helper()
	_, text, err := s.Read(s.t.Context())
	require.NoError(s.t, err)
	require.NoError(s.t, json.Unmarshal(text, &got))
	return got
}

// ask sends a request, and returns the next frame, which answers it.
func (s *socket) ask(request, rest string) frame {
	s.t.Helper()
	s.send(`{"id":"` + request + `","request":"` + request + `"` + rest + `}`)
	got := s.next()
	require.Equal(s.t, request, got.ID, "%s", got.Body)
	return got
}

// ends checks the close status of the socket, after pending frames.
func (s *socket) ends(code websocket.StatusCode) {
	s.t.Helper()
	for {
		if _, _, err := s.Read(s.t.Context()); err != nil {
			require.Equal(s.t, code, websocket.CloseStatus(err), err)
			return
		}
	}
}

func saying(id, text string, final bool) string {
	return fmt.Sprintf(`,"body":{"messageId":%q,"actor":"user","text":%q,"final":%t}`, id, text, final)
}

// hangs lets the model leave its next request unanswered, and tells when that has come.
func hangs(model *llmtest.Server) (asked chan struct{}) {
	asked = make(chan struct{})
	model.Handle(func(llmtest.Request) llmtest.Reply {
		close(asked)
		return llmtest.Hang()
	})
	return asked
}

// TestASocketTakesWhatAFrontEndHears runs all steps with a session's token over one connection, with a model
// that is slow at first.
func TestASocketTakesWhatAFrontEndHears(t *testing.T) {
	s, model := asking(t, redistest.Mini(t), func(o *api.Options) { o.Events = noEvents{} })
	s.Call("PUT", apitest.BookingPath, `{"tools":[{"name":"book","settle":"30s","cancelOnNext":true,"schema":[{"parameter":"date","type":"string"}]}]}`).Is(201, "")
	page, _ := dial(s.Service, "none", "?access_token="+s.Call("POST", "/v1/apps/clinic/sessions/s1/token", "").Made().Token, "Authorization: none")
	asked := hangs(model)
	page.send(`{"id":"1","request":"message"` + saying("u1", "a table", false) + `}`)
	<-asked
	model.Queue(llmtest.Call("book", `{"date":"2026-12-01"}`))
	page.send(`{"id":"2","request":"message"` + saying("u1", "a table on 2026-12-01", false) + `}`)
	both := []frame{page.next(), page.next()}
	slices.SortFunc(both, func(a, b frame) int { return strings.Compare(a.ID, b.ID) })
	require.Equal(t, []int{409, 200}, []int{both[0].Status, both[1].Status})
	require.Contains(t, string(both[0].Body), `"code":"draft_replaced"`)
	require.Contains(t, string(both[1].Body), `"state":"draft"`)

	var decided, next query.Answer
	got := page.ask("commit", `,"messageId":"u1"`)
	require.Equal(t, 200, got.Status)
	require.NotEmpty(t, got.Headers["X-Request-Id"])
	require.NoError(t, json.Unmarshal(got.Body, &decided))
	require.Len(t, model.Requests(), 2, "one for each text")
	model.Queue(llmtest.Text("no"), llmtest.Text("no"))
	require.NoError(t, json.Unmarshal(page.ask("message", saying("u2", "no, wait", true)).Body, &next))
	require.Equal(t, []query.Retracted{{TriggerID: decided.Matches[0].TriggerID, Name: "book"}}, next.Retracted)
	require.Equal(t, 200, page.ask("get-message", `,"messageId":"u2"`).Status)
	require.Contains(t, string(s.Call("GET", "/v1/apps/clinic/triggers/"+decided.Matches[0].TriggerID, "").Body), `"state":"cancelled"`, "the record says what the answer did")
	got = page.ask("cancel", `,"triggerId":"`+decided.Matches[0].TriggerID+`"`)
	require.Equal(t, 409, got.Status)
	require.Contains(t, string(got.Body), `"code":"trigger_ended"`)
	got = page.ask("withdraw", `,"messageId":"absent","body":null`)
	require.Equal(t, 404, got.Status)
	require.Contains(t, string(page.ask("withdraw", `,"messageId":"absent","body":{"x":1}`).Body), "the request takes no body")
	require.Equal(t, 202, page.ask("message", `,"headers":{"prefer":"respond-async"}`+saying("u3", "hello", true)).Status)
	require.Contains(t, string(page.ask("messages", `,"query":"limit=1&order=desc"`).Body), `"messageId":"u3"`)
}

func TestASocketTellsTheEventsOfItsSession(t *testing.T) {
	s := apitest.OnStage(t)
	mine, _ := dial(s.Service, apitest.AdminKey, "")
	s.Publish("tool.trigger.clinic.s2.book", "s2", `{"n":1}`)
	require.Equal(t, 201, mine.ask("repository", `,"repositoryId":"desk","body":{"tools":[{"name":"ring"}]}`).Status)
	fired := mine.ask("trigger", `,"body":{"name":"ring","source":"agent"}`)
	require.Equal(t, 201, fired.Status, "of the session, and not of the app, which has no such tool: %s", fired.Body)
	for _, event := range s.Sink.All() {
		if strings.HasPrefix(event.Subject, "tool.trigger.") {
			s.Publish(event.Subject, "s1", string(event.Data))
		}
	}
	told := mine.next()
	require.Equal(t, []string{"tool.trigger", "2"}, []string{told.Event, told.LastEventID})
	require.Contains(t, string(told.Data), `"name":"ring"`)
	s.Publish("app.clinic.calendar.request", "s1", "no JSON")
	require.Equal(t, `"no JSON"`, string(mine.next().Data), "others publish as well")

	again, _ := dial(s.Service, apitest.AdminKey, "?lastEventId=1")
	require.Equal(t, []string{"1", "2", "3"}, []string{again.first, again.next().LastEventID, again.next().LastEventID})
	_, status := dial(s.Service, apitest.AdminKey, "?lastEventId=x")
	require.Equal(t, 400, status)
}

func TestASocketLetsInWhomItsSessionDoes(t *testing.T) {
	s := apitest.OnStage(t)
	s.Call("PATCH", "/v1/apps/clinic", `{"settings":{"allowedOrigins":["https://clinic.example"]}}`).Is(200, "")
	token := s.Call("POST", "/v1/apps/clinic/sessions/s1/token", "").Made().Token
	other := s.Call("POST", "/v1/apps/clinic/sessions/s2/token", "").Made().Token
	for _, one := range []struct {
		credential, query, origin string
		status                    int
	}{
		{token, "", "", 101},
		{"none", "?access_token=" + token, "https://clinic.example", 101},
		{"none", "?access_token=" + token, s.URL, 101},
		{"none", "?access_token=" + token, "https://evil.example", 403},
		{apitest.AdminKey, "", "https://evil.example", 403},
		{"none", "?access_token=" + other, "", 403},
		{other, "", "", 403},
		{"none", "?access_token=" + apitest.AdminKey, "", 401},
		{"none", "", "", 401},
		{token, "?dryRun=true", "", 400},
	} {
		headers := []string{"Origin: " + one.origin}
		if one.credential == "none" {
			headers = append(headers, "Authorization: none")
		}
		_, status := dial(s.Service, one.credential, one.query, headers...)
		require.Equal(t, one.status, status, one)
	}
	s.Call("GET", sessionSocket, "").Problem(426, "ws://")

	page, _ := dial(s.Service, "none", "?access_token="+token, "Authorization: none")
	for request, status := range map[string]int{
		"get-session": 404, "sessions": 403, "repositories": 403, "close-session": 403, // as over REST
	} {
		require.Equal(t, status, page.ask(request, "").Status, request)
	}
	require.Equal(t, 403, page.ask("message", `,"body":{"actor":"agent","text":"hello"}`).Status)
	got := page.ask("message", `,"headers":{"Authorization":"Bearer `+apitest.AdminKey+`"},"body":{"actor":"agent","text":"hello"}`)
	require.Equal(t, 400, got.Status)
	require.Contains(t, string(got.Body), `"pointer":"/headers/Authorization"`)
	require.NotContains(t, s.Log.String(), token)
	page.ask("message", `,"body":{"actor":"agent","text":"hello"}`)
	traces := regexp.MustCompile(`"route":"/v1/apps/:appId/sessions/:sessionId/messages".*"trace":"(\w+)"`).FindAllStringSubmatch(s.Log.String(), -1)
	require.Len(t, traces, 2)
	require.NotEqual(t, traces[0][1], traces[1][1], "each request has its own")
}

func TestFramesAreToldAllTheirFaults(t *testing.T) {
	s := apitest.OnStage(t)
	page, _ := dial(s.Service, apitest.AdminKey, "")
	for text, parts := range map[string][]string{
		`{"id":"a","request":"mesage","to":1}`:                                   {`"suggestion":"message"`, `"pointer":"/to"`},
		`{"id":"a","request":"commit"}`:                                          {`"pointer":"/messageId"`, "is missing: commit needs it"},
		`{"id":"a","request":"message","messageId":"m","triggerId":"t"}`:         {`"pointer":"/messageId"`, `"pointer":"/triggerId"`, "is not allowed beside message"},
		`{"id":"a","request":"get-message","messageId":"..","body":{}}`:          {`unknown_message`},
		`{"id":"a","request":"delete-tool","repositoryId":"a/b","toolName":"x"}`: {`"code":"invalid_path"`},
		`{"id":"a","request":"message","query":"dry=true"}`:                      {`"code":"invalid_query"`},
		`{"id":"a","request":"message","body":{"actor":"user"}}`:                 {`"pointer":"/text"`},
	} {
		page.send(text)
		got := page.next()
		require.Equal(t, "a", got.ID, text)
		require.Contains(t, []int{400, 404}, got.Status, text)
		for _, part := range parts {
			require.Contains(t, string(got.Body), part, text)
		}
	}
	page.send(`{"request":`)
	got := page.next()
	require.Equal(t, []any{"", 400}, []any{got.ID, got.Status})
	require.NoError(t, page.Write(t.Context(), websocket.MessageBinary, []byte("{}")))
	page.ends(websocket.StatusUnsupportedData)
}

func TestTheRequestsOfASocketAreThoseOverNATS(t *testing.T) {
	described := apitest.Serve(t).Document("/openapi.json")["components"].(map[string]any)["schemas"].(map[string]any)["SocketRequest"].(map[string]any)
	names := map[string]bool{}
	for _, one := range api.Requests() {
		names[strings.Split(one.Subject, ".")[2]] = true
	}
	delete(names, "retract") // an earlier name, only over NATS
	listed := described["properties"].(map[string]any)["request"].(map[string]any)["enum"].([]any)
	require.Len(t, listed, len(names))
	for _, name := range listed {
		require.True(t, names[name.(string)], name)
	}
}

func TestTheLimitsHoldForEachFrame(t *testing.T) {
	s, model := asking(t, redistest.Mini(t), func(o *api.Options) { o.Events, o.Streams = noEvents{}, 1 })
	s.Call("PUT", "/v1/apps/clinic", `{"settings":{"limits":{"sessionMessagesPerMinute":1}}}`).Is(200, "")
	s.Call("PUT", apitest.BookingPath, `{"tools":[{"name":"book"}]}`).Is(201, "")
	page, _ := dial(s.Service, apitest.AdminKey, "")
	_, status := dial(s.Service, apitest.AdminKey, "")
	require.Equal(t, 429, status)
	require.Equal(t, 429, s.Ask("GET", sessionEvents, "").StatusCode, "a socket is one of the event streams")

	release := make(chan llmtest.Reply, 1)
	defer close(release) // if the test fails
	model.Handle(func(llmtest.Request) llmtest.Reply { return <-release })
	for i := range 16 {
		page.send(fmt.Sprintf(`{"id":"d%d","request":"message"%s}`, i, saying(fmt.Sprint("u", i), "a table", false)))
	}
	page.send(`{"id":"later","request":"get-session"}`)
	require.Eventually(t, func() bool { return len(model.Requests()) == 16 }, time.Minute, time.Millisecond)
	for i := range 16 {
		release <- llmtest.Text("no")
		if i == 0 {
			require.Regexp(t, "^d", page.next().ID, "what is sent behind 16 requests is not read before one of them is answered")
		}
	}
	answered := map[string]bool{}
	for range 16 {
		answered[page.next().ID] = true
	}
	require.True(t, answered["later"])

	model.Queue(llmtest.Text("no"), llmtest.Text("no"))
	require.Equal(t, 200, page.ask("message", saying("m1", "hello", true)).Status)
	got := page.ask("message", saying("m2", "hello", true))
	require.Equal(t, 429, got.Status)
	require.NotEmpty(t, got.Headers["Retry-After"])
	require.Equal(t, 413, page.ask("message", `,"body":{"text":"`+strings.Repeat("x", 1<<20)+`"}`).Status)
	_ = page.Write(t.Context(), websocket.MessageText, []byte(`{"id":"`+strings.Repeat("x", 2<<20)+`"}`))
	_, _, err := page.Read(t.Context())
	require.Error(t, err, "what is longer than any body is not read to its end")
	require.Eventually(t, func() bool { _, status := dial(s.Service, apitest.AdminKey, ""); return status == 101 }, time.Minute, 10*time.Millisecond)
}

func TestASocketEndsWithItsToken(t *testing.T) {
	clock := testbed.NewClock(time.Now())
	s := apitest.OnStage(t, func(o *api.Options) { o.Now = clock.Now })
	token := s.Call("POST", "/v1/apps/clinic/sessions/s1/token", `{"expiresIn":"1h"}`).Made()
	page, _ := dial(s.Service, token.Token, "")
	backEnd, _ := dial(s.Service, apitest.AdminKey, "")
	clock.Advance(59*time.Minute + 5*time.Second)
	require.Equal(t, "token.expiring", page.next().Event)
	clock.Advance(time.Minute)
	require.Equal(t, "token.expired", page.next().Event)
	page.ends(websocket.StatusPolicyViolation)
	require.Equal(t, 204, backEnd.ask("close-session", "").Status)
	backEnd.ends(websocket.StatusPolicyViolation)
}

// TestAReplicaThatStopsAnswersWhatItHas stops while a model is asked.
func TestAReplicaThatStopsAnswersWhatItHas(t *testing.T) {
	closing := make(chan struct{})
	s, model := asking(t, redistest.Mini(t), func(o *api.Options) { o.Events, o.Closing = noEvents{}, closing })
	s.Call("PUT", "/v1/apps/clinic", `{}`).Is(200, "")
	s.Call("PUT", apitest.BookingPath, `{"tools":[{"name":"book"}]}`).Is(201, "")
	page, _ := dial(s.Service, apitest.AdminKey, "")
	asked, release := make(chan struct{}), make(chan llmtest.Reply)
	model.Handle(func(llmtest.Request) llmtest.Reply {
		close(asked)
		return <-release
	})
	page.send(`{"id":"1","request":"message"` + saying("m1", "hello", true) + `}`)
	<-asked
	close(closing)
	release <- llmtest.Text("no")
	require.Equal(t, 200, page.next().Status)
	page.ends(websocket.StatusGoingAway)
}

// TestWhatComesTooLateKeepsNoMemory sends a long request to a socket that is about to end, while another is answered.
func TestWhatComesTooLateKeepsNoMemory(t *testing.T) {
	closing, walls := make(chan struct{}), ratelimit.New(admission.Bounds{}, prometheus.NewRegistry(), time.Now)
	s, model := asking(t, redistest.Mini(t), func(o *api.Options) { o.Events, o.Closing, o.Walls = noEvents{}, closing, walls })
	s.Call("PUT", apitest.BookingPath, `{"tools":[{"name":"book"}]}`).Is(201, "")
	page, _ := dial(s.Service, apitest.AdminKey, "")
	asked := hangs(model)
	page.send(`{"id":"1","request":"message"` + saying("m1", "hello", true) + `}`)
	<-asked
	closing <- struct{}{}
	page.send(`{"id":"2","request":"message"` + saying("m2", strings.Repeat("x", 64<<10), true) + `}`)
	require.NoError(t, page.Write(t.Context(), websocket.MessageBinary, []byte("{}"))) // which ends it, once the other is read
	page.ends(websocket.StatusUnsupportedData)
	require.Eventually(t, func() bool { return walls.Memory.Taken() == 0 }, 10*time.Second, time.Millisecond)
}

func TestASocketWhoseEventsAreTakenTooSlowlyIsClosed(t *testing.T) {
	s := apitest.OnStage(t, func(o *api.Options) { o.Events = apitest.QuietEvents{} }) // these drop their reader
	page, _ := dial(s.Service, apitest.AdminKey, "")
	page.ends(websocket.StatusTryAgainLater)
}

// FuzzFrames sends arbitrary frames over the admin's socket: each has one answer, never a 5xx, and no call is
// for another app or session.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		`{"id":"1","request":"message","body":{"actor":"user","text":"hello"}}`, `{"id":"1","request":"commit","messageId":"../../s2/messages/m1"}`,
		`{"id":"1","request":"get-message","messageId":"m%2f1?x=#","query":"a=%zz"}`, `{"id":"1","request":"confirm","triggerId":"\u0000","body":{"digest":"d"}}`,
		`{"id":"1","request":"delete-tool","repositoryId":"r","toolName":"t","headers":{"If-Match":"\r\nHost: x"}}`, `{"id":"1","request":"messages","query":"limit=1&&;"}`,
		`{"id":1,"request":null,"appId":"other"}`, `[{}]`, `{"id":"1","id":"2","request":"tools"}`, "\xff", "",
	} {
		f.Add(seed)
	}
	s := apitest.LiveOn(f, redistest.Mini(f), chain.New(llm.Options{}), func(o *api.Options) { o.Events = noEvents{} })
	s.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	s.Call("PUT", apitest.BookingPath, hoursBody).Is(201, "")
	elsewhere := regexp.MustCompile(`"appId":"([^"]*)"(?:,"sessionId":"([^"]*)")?`)
	f.Fuzz(func(t *testing.T, text string) {
		s.T = t
		page, _ := dial(s.Service, apitest.AdminKey, "")
		before := len(s.Log.String())
		page.send(text)
		if got := page.next(); got.Status < 200 || got.Status >= 500 {
			t.Fatalf("%q: %d %s", text, got.Status, got.Body)
		}
		for _, of := range elsewhere.FindAllStringSubmatch(s.Log.String()[before:], -1) {
			if of[1] != "clinic" || of[2] != "" && of[2] != "s1" {
				t.Fatalf("%q: %s", text, of[0])
			}
		}
		_ = page.CloseNow()
	})
}

// FuzzNoRequestIsAnInternalError sends arbitrary requests: the answer is never a 5xx, and every error is a
// problem.
func FuzzNoRequestIsAnInternalError(f *testing.F) {
	for _, seed := range [][3]string{
		{"POST", apitest.MessagesPath, apitest.HelloBody},
		{"POST", apitest.MessagesPath + "?dryRun=%zz", `{"actor":1e999,"text":"\ud800"}`},
		{"PUT", "/v1/apps/clinic", `{"modules":[{"moduleId":1}],"settings":null}`},
		{"PUT", "/v1/apps/a/repositories/r", `{"tools":[{"name":"a","schema":[{"parameter":"x","type":"array"}]}]}`},
		{"PATCH", "/v1/apps/a/sessions/s/repositories/r", `{"tools":[{"name":"a","parameters":{"type":"object","properties":{"a":{"$ref":"#"}}}}]}`},
		{"POST", "/v1/apps/a/repositories", `{"tools":[{"name":"a","url":"http://[::1","request":{"timeout":"-1s"}}]}`},
		{"POST", "/v1/apps/a/triggers", `{"name":"x","values":{"a":[[[[]]]]}}`},
		{"GET", "/v1/apps/%2e%2e/triggers?limit=%00&after=;", ""},
		{"DELETE", "//v1//apps/%ff", "\x00"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	s := apitest.LiveOn(f, redistest.Mini(f), chain.New(llm.Options{}))
	for _, app := range []string{"a", "clinic"} {
		s.Call("PUT", "/v1/apps/"+app, `{}`).Is(201, "")
	}
	f.Fuzz(func(t *testing.T, method, target, body string) {
		request, err := http.NewRequestWithContext(t.Context(), method, "http://x"+target, strings.NewReader(body))
		if err != nil {
			t.Skip("no client could send it")
		}
		recorder := httptest.NewRecorder()
		s.Handler.ServeHTTP(recorder, request)
		if recorder.Code >= 500 {
			t.Fatalf("%s %q %q: %d %s", method, target, body, recorder.Code, recorder.Body)
		}
		kind := recorder.Header().Get("Content-Type")
		if recorder.Code >= 400 && method != http.MethodHead && kind != "application/problem+json" {
			t.Fatalf("%s %q: %d is no problem but %q", method, target, recorder.Code, kind)
		}
	})
}
