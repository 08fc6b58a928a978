package gateway_test

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/api/gateway"
	"earshot/deploy/testbed/apitest"
	"earshot/httpcall"
	"earshot/matcher"
	"earshot/matcher/llm"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/secret"
	"earshot/repositories/store"
	"earshot/trigger/query"
)

// chatModel is a scripted upstream model that records its requests.
type chatModel struct {
	answer http.HandlerFunc
	url    string
	stored map[string]string // responses by id

	mu    sync.Mutex
	asked []*http.Request
	sent  [][]byte
}

const modelKey = "sk-of-the-service"

const completion = `{"id":"chatcmpl-1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}` + "\n"

func newChatModel(t *testing.T, answer http.HandlerFunc) *chatModel {
	m := &chatModel{answer: answer}
	if answer == nil {
		m.answer = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, completion)
		}
	}
	serving := httptest.NewServer(m)
	t.Cleanup(serving.Close)
	m.url = serving.URL + "/v1"
	return m
}

func (m *chatModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if id, asked := strings.CutPrefix(r.URL.Path, "/v1/responses/"); asked {
		if m.stored[id] == "" || r.Method != http.MethodGet || r.Header.Get("Authorization") != "Bearer "+modelKey || r.Header.Get("Accept-Encoding") != "" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, m.stored[id])
		return
	}
	body, _ := io.ReadAll(r.Body)
	m.mu.Lock()
	m.asked, m.sent = append(m.asked, r), append(m.sent, body)
	m.mu.Unlock()
	m.answer(w, r)
}

func (m *chatModel) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.asked)
}

// behind configures the model as a service's upstream.
func (m *chatModel) behind(o *api.Options) {
	o.Model = gateway.Model{BaseURL: m.url, Key: secret.New(modelKey), Redact: httpcall.Redacting(secret.New(modelKey)), Transport: llm.NewHTTPClient(8).Transport}
}

const (
	chatPath        = "/v1/apps/clinic/openai/v1/chat/completions"
	sessionChatPath = "/v1/apps/clinic/sessions/s1/openai/v1/chat/completions"
)

// listening is a clinic with a booking tool for all sessions, and an upstream model.
func listening(t *testing.T, match apitest.Scripted, model *chatModel) apitest.World {
	w := apitest.Live(t, match, model.behind)
	w.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	w.Call("PUT", "/v1/apps/clinic/repositories/booking", apitest.BookingBody).Is(201, "")
	return w
}

// relaying is a clinic that listens, and its model.
func relaying(t *testing.T) (apitest.World, *chatModel) {
	model := newChatModel(t, nil)
	return listening(t, apitest.Everything, model), model
}

// sends sends a request whose answer may break off, or is read as it comes.
func sends(w apitest.World, path, body string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(w.T.Context(), "POST", w.URL+path, strings.NewReader(body))
	require.NoError(w.T, err)
	request.Header.Set("Authorization", "Bearer "+apitest.AdminKey)
	return http.DefaultTransport.RoundTrip(request)
}

// firedTexts waits until a session has n triggers, and returns their texts, newest first.
func firedTexts(w apitest.World, session string, n int) (texts []string) {
	w.T.Helper()
	require.Eventually(w.T, func() bool {
		texts = nil
		for _, one := range w.Triggers(session) {
			texts = append(texts, one.Text)
		}
		return len(texts) == n
	}, time.Minute, 5*time.Millisecond)
	return texts
}

// settled waits until all messages of a session are decided, and returns them.
func settled(w apitest.World, session string, n int) []query.Entry {
	w.T.Helper()
	var list struct{ Items []query.Entry }
	require.Eventually(w.T, func() bool {
		list.Items = nil
		require.NoError(w.T, json.Unmarshal(w.Call("GET", "/v1/apps/clinic/sessions/"+session+"/messages", "").Is(200, "").Body, &list))
		for _, one := range list.Items {
			if one.State != query.EntryDecided {
				return false
			}
		}
		return len(list.Items) == n
	}, time.Minute, 5*time.Millisecond)
	return list.Items
}

// saying is a request with the user's texts, and the assistant's "Yes?" between them.
func saying(texts ...string) string {
	var messages []string
	for _, text := range texts {
		quoted, _ := json.Marshal(text)
		messages = append(messages, `{"role":"user","content":`+string(quoted)+`}`)
	}
	return `{"model":"m","messages":[{"role":"system","content":"Be kind."},` + strings.Join(messages, `,{"role":"assistant","content":"Yes?"},`) + `]}`
}

func TestAChatIsRelayedByteForByte(t *testing.T) {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	_, _ = io.WriteString(zipped, "data: [DONE]\n\n")
	require.NoError(t, zipped.Close())
	for name, test := range map[string]struct {
		kind, encoding string
		status         int
		pieces         []string
	}{
		"events":                  {kind: "text/event-stream; charset=utf-8", pieces: []string{"data: {\"choices\":[]}\n\n", "data: [DONE]\n\n"}},
		"CRLF and comments":       {kind: "text/event-stream", pieces: []string{": ping\r\n\r\n", "data: a\r\ndata: b\r\n\r\n", "event: x\r\nid: 1\r\nretry: 3\r\n\r\n"}},
		"a split letter":          {kind: "text/event-stream", pieces: []string{"data: \xe2\x82", "\xac\n\n", "data: \xff\n\n"}},
		"no JSON":                 {kind: "text/event-stream", pieces: []string{"data: {\"choices\":[", "\x00\n\n"}},
		"gzip":                    {kind: "text/event-stream", encoding: "gzip", pieces: []string{packed.String()[:9], packed.String()[9:]}},
		"whole":                   {kind: "application/json", pieces: []string{completion}},
		"nothing":                 {kind: "application/json", status: 204},
		"its own error":           {kind: "application/json", status: 429, pieces: []string{`{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`}},
		"a server that is broken": {kind: "text/html", status: 500, pieces: []string{"<h1>no"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := newChatModel(t, func(w http.ResponseWriter, _ *http.Request) {
				for name, value := range map[string]string{
					"Content-Type": test.kind, "Content-Encoding": test.encoding, "Retry-After": "7", "X-Request-Id": "r1", "Openai-Processing-Ms": "12",
					"Set-Cookie": "a=b", "Access-Control-Allow-Origin": "*", "Connection": "X-Hop", "X-Hop": "1", "Keep-Alive": "timeout=5",
				} {
					if value != "" {
						w.Header().Set(name, value)
					}
				}
				w.WriteHeader(cmp.Or(test.status, 200))
				for _, piece := range test.pieces {
					_, _ = io.WriteString(w, piece)
					w.(http.Flusher).Flush()
				}
			})
			w := listening(t, apitest.Everything, model)
			body := ` {"x":1, "x":2, "n":12345678901234567890.10, "messages":[{"role":"user","content":"Fri\u0064ay","x":null}],` + "\n" + `"tools":[],"odd":"\ud800"}  `
			got := w.Ask("POST", sessionChatPath, body, "Accept-Encoding: "+cmp.Or(test.encoding, "identity"), "Cookie: c=d", "X-Earshot-Session: s1",
				"Corp_token: of-the-user", "X-Stainless-Lang: kept", "User-Agent: someone/1", "Connection: X-Mine", "X-Mine: 1", "Idempotency-Key: k1")
			require.Equal(t, cmp.Or(test.status, 200), got.StatusCode)
			require.Equal(t, strings.Join(test.pieces, ""), string(got.Body))
			require.Equal(t, "7 r1 12", strings.Join([]string{got.Header.Get("Retry-After"), got.Header.Get("X-Model-Request-Id"), got.Header.Get("Openai-Processing-Ms")}, " "))
			require.NotEqual(t, "r1", got.Header.Get("X-Request-Id"), "that names the request to this service")
			for _, gone := range []string{"Set-Cookie", "Access-Control-Allow-Origin", "X-Hop", "Keep-Alive"} {
				require.Empty(t, got.Header.Get(gone), gone)
			}
			require.Equal(t, test.encoding, got.Header.Get("Content-Encoding"))
			require.Equal(t, "k1", got.Header.Get("X-Earshot-Message-Id"))

			require.Equal(t, body, string(model.sent[0]))
			asked := model.asked[0]
			require.Equal(t, "/v1/chat/completions", asked.URL.Path)
			require.Equal(t, "Bearer "+modelKey, asked.Header.Get("Authorization"))
			require.Equal(t, cmp.Or(test.encoding, "identity"), asked.Header.Get("Accept-Encoding"))
			require.Equal(t, "kept someone/1", asked.Header.Get("X-Stainless-Lang")+" "+asked.Header.Get("User-Agent"))
			for _, gone := range []string{"Cookie", "X-Earshot-Session", "Corp_token", "X-Mine"} {
				require.Empty(t, asked.Header.Get(gone), gone)
			}
			require.NotContains(t, fmt.Sprint(asked.Header), apitest.AdminKey)
			require.NotContains(t, fmt.Sprint(got.Header, w.Log.String()), modelKey)
			require.Equal(t, []string{"Friday"}, firedTexts(w, "s1", 1))
		})
	}
}

// TestAStreamNeverWaitsForTheMatcher lets the model wait for the client between two events, and the matcher for
// the end.
func TestAStreamNeverWaitsForTheMatcher(t *testing.T) {
	for name, fails := range map[string]bool{"slow": false, "failing": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			taken, over := make(chan struct{}), make(chan struct{})
			model := newChatModel(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for i := range 3 {
					_, _ = fmt.Fprintf(w, "data: %d\n\n", i)
					w.(http.Flusher).Flush()
					<-taken
				}
			})
			w := listening(t, func(request matcher.Request) (matcher.Result, error) {
				if fails {
					return matcher.Result{}, &matcher.Unavailable{Reason: "down"}
				}
				<-over
				return apitest.Everything(request)
			}, model)
			response, err := sends(w, sessionChatPath, saying("Friday"))
			require.NoError(t, err)
			defer response.Body.Close()
			lines := bufio.NewScanner(response.Body)
			for i := range 3 {
				require.True(t, lines.Scan())
				require.Equal(t, fmt.Sprintf("data: %d", i), lines.Text())
				require.True(t, lines.Scan())
				taken <- struct{}{}
			}
			require.False(t, lines.Scan())
			require.NoError(t, lines.Err())
			close(over)
			if !fails {
				firedTexts(w, "s1", 1)
			}
		})
	}
}

func TestTheSameChatAgainFiresNothingAgain(t *testing.T) {
	w, model := relaying(t)
	ids := map[string]bool{}
	post := func(path, body string, headers ...string) string {
		got := w.Ask("POST", path, body, headers...).Is(200, completion)
		ids[got.Header.Get("X-Earshot-Message-Id")] = true
		return got.Header.Get("X-Earshot-Message-Id")
	}
	first := post(sessionChatPath, saying("Friday"))
	require.Equal(t, first, post(sessionChatPath, saying("Friday")), "a retry, or another answer")
	require.Equal(t, first, post(sessionChatPath, strings.Replace(saying("Friday"), "Be kind.", "It is noon.", 1)), "rules are not what is said")
	goesOn := strings.Replace(saying("Friday"), `"}]}`, `"},{"role":"assistant","tool_calls":[]},{"role":"tool","content":"4"}]}`, 1)
	require.Equal(t, first, post(sessionChatPath, goesOn), "the caller's own tools have answered")
	for _, written := range []string{`"Fri\u0064ay"`, ` "Friday" `, `[{"type":"text","text":"Friday"}]`, `[{"text":"Fr\u0069day","type":"text","cache_control":{"type":"ephemeral"}}]`} {
		require.Equal(t, first, post(sessionChatPath, strings.Replace(saying("Friday"), `"Friday"`, written, 1)), "the same, written otherwise")
	}
	shown := strings.Replace(saying("Friday"), `"Friday"`, `[{"type":"text","text":"Friday"},{"type":"image_url","image_url":{"url":"data:,"}}]`, 1)
	require.NotEqual(t, first, post(strings.Replace(sessionChatPath, "s1", "s3", 1), shown), "a picture means something")
	require.NotEqual(t, first, post(sessionChatPath, saying("Friday", "Friday")), "the user has said it again")
	firedTexts(w, "s1", 2)
	other := strings.Replace(sessionChatPath, "s1", "s2", 1)
	require.NotEqual(t, first, post(other, saying("Friday")), "another session")
	firedTexts(w, "s2", 1)
	require.Len(t, ids, 4)
	require.Equal(t, 11, model.count(), "the model is asked each time")

	require.Equal(t, "turn-1", post(other, saying("Monday"), "Idempotency-Key: turn-1"))
	require.Equal(t, "turn-1", post(other, saying("Monday"), "Idempotency-Key: turn-1"))
	require.Empty(t, post(other, goesOn, "Idempotency-Key: turn-2"), "it goes on with a message that has a name already")
	require.Regexp(t, "^h-[0-9a-f]{32}$", post(other, saying("Tuesday"), "Idempotency-Key: a key with spaces"))
	firedTexts(w, "s2", 3)
	for _, said := range settled(w, "s1", 3) {
		require.Equal(t, map[string]string{"Friday": "user", "Yes?": "agent"}[said.Text], said.Actor)
	}
}

// TestChatsAtTheSameTimeFireOnce regenerates an answer many times concurrently.
func TestChatsAtTheSameTimeFireOnce(t *testing.T) {
	w := listening(t, apitest.Everything, newChatModel(t, nil))
	ids := make([]string, 24)
	var asking sync.WaitGroup
	for i := range ids {
		asking.Go(func() {
			ids[i] = w.Post(sessionChatPath, saying("Friday", "Monday"), apitest.AdminKey).Header.Get("X-Earshot-Message-Id")
		})
	}
	asking.Wait()
	for _, id := range ids {
		require.Equal(t, ids[0], id)
	}
	settled(w, "s1", 2)
	require.Equal(t, []string{"Monday"}, firedTexts(w, "s1", 1))
}

func TestTheSessionOfAChatIsTheFirstThatIsNamed(t *testing.T) {
	w := listening(t, apitest.Everything, newChatModel(t, nil))
	for i, test := range []struct{ path, body, header, session string }{
		{sessionChatPath, `"metadata":{"session_id":"m"},"call":{"id":"c"},"user":"u",`, "h", "s1"},
		{chatPath, `"metadata":{"session_id":"m"},"call":{"id":"c"},"user":"u",`, "h", "h"},
		{chatPath, `"metadata":{"session_id":"m"},"call":{"id":"c"},"user":"u",`, "", "m"},
		{chatPath, `"metadata":{"session_id":""},"call":{"id":"c"},"user":"u",`, "", "c"},
		{chatPath, `"metadata":null,"call":{"id":null},"user":"u",`, "", "u"},
		{chatPath, `"metadata":[],"call":"x","user":42,`, "", "42"},
		{chatPath, `"user":"ada@example.org",`, "", "h-"},
		{chatPath, `"user":null,`, "", ""},
		{chatPath, ``, "", ""},
	} {
		text := fmt.Sprintf("word %d", i)
		got := w.Ask("POST", test.path, strings.Replace(saying(text), `"model"`, test.body+`"model"`, 1), "X-Earshot-Session: "+test.header).Is(200, completion)
		if test.session == "" {
			require.Empty(t, got.Header.Get("X-Earshot-Message-Id"))
			continue
		}
		if strings.HasPrefix(test.session, "h-") {
			var list struct{ Items []struct{ SessionID string } }
			require.Eventually(t, func() bool {
				require.NoError(t, json.Unmarshal(w.Call("GET", "/v1/apps/clinic/triggers?limit=1", "").Is(200, "").Body, &list))
				return strings.HasPrefix(list.Items[0].SessionID, "h-")
			}, time.Minute, 5*time.Millisecond)
			test.session = list.Items[0].SessionID
			require.Len(t, test.session, 34)
		}
		require.Contains(t, firedTexts(w, test.session, 1), text)
	}
}

func TestWhatHasNoWordsIsRelayedAndNotMatched(t *testing.T) {
	w, model := relaying(t)
	for _, body := range []string{
		``, `no JSON`, `{"messages":"x"}`, `{"messages":[{"role":"system","content":"x"}]}`, `{"messages":[{"role":"user","content":"  "}]}`,
		`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:"}}]}]}`, `{"messages":[{"role":"user"}`, `[]`, `{"messages":[{"role":"user","content":"` + strings.Repeat("x", 65537) + `"}]}`,
	} {
		got := w.Ask("POST", sessionChatPath, body).Is(200, completion)
		require.Empty(t, got.Header.Get("X-Earshot-Message-Id"), body)
		require.Equal(t, body, string(model.sent[model.count()-1]))
	}
	parts := `{"messages":[{"role":"user","content":[{"type":"text","text":"on \"Friday\""},{"type":"image_url","image_url":{"url":"data:,]}"}},{"type":"text","text":"at \\ noon"}]}]}`
	w.Ask("POST", sessionChatPath, parts).Is(200, completion)
	require.Equal(t, []string{"on \"Friday\"\nat \\ noon"}, firedTexts(w, "s1", 1))
	settled(w, "s1", 1)
}

func TestAChatThatBreaksOffBreaksOff(t *testing.T) {
	model := newChatModel(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	w := listening(t, apitest.Everything, model)
	response, err := sends(w, sessionChatPath, saying("Friday"))
	require.NoError(t, err)
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	require.Error(t, err, "half an answer is not a whole one")
	require.Equal(t, "data: 1\n\n", string(read))
	require.Equal(t, []string{"Friday"}, firedTexts(w, "s1", 1))
	require.Contains(t, string(w.Call("GET", "/metrics", "").Body), `earshot_openai_requests_total{outcome="broken"} 1`)
}

func TestAClientThatHangsUpIsHeardAllTheSame(t *testing.T) {
	left := make(chan struct{})
	model := newChatModel(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(left)
	})
	begun := make(chan struct{})
	w := listening(t, func(request matcher.Request) (matcher.Result, error) {
		close(begun)
		<-left
		return apitest.Everything(request)
	}, model)
	response, err := sends(w, sessionChatPath, saying("Friday"))
	require.NoError(t, err)
	<-begun
	require.NoError(t, response.Body.Close())
	<-left
	require.Equal(t, []string{"Friday"}, firedTexts(w, "s1", 1))
}

// openAIError checks an error in OpenAI's format.
func openAIError(a apitest.Answer, status int, kind, code string, words ...string) {
	a.T.Helper()
	var got struct {
		Error struct{ Message, Type, Code string }
	}
	require.Equal(a.T, status, a.StatusCode, string(a.Body))
	require.NoError(a.T, json.Unmarshal(a.Body, &got), string(a.Body))
	require.Equal(a.T, kind+" "+code, got.Error.Type+" "+got.Error.Code)
	for _, word := range words {
		require.Contains(a.T, got.Error.Message, word)
	}
}

func TestErrorsOfAChatAreInTheFormOfOpenAI(t *testing.T) {
	w := apitest.Live(t, apitest.Everything)
	openAIError(w.Call("POST", chatPath, `{}`, "Authorization: "), 401, "authentication_error", "key_missing", "a key is needed")
	openAIError(w.Call("POST", chatPath, `{}`, "Authorization: Bearer wrong"), 401, "authentication_error", "key_invalid")
	openAIError(w.Call("POST", chatPath, `{}`), 404, "invalid_request_error", "unknown_app", "clinic")
	w.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	openAIError(w.Call("POST", sessionChatPath, `{}`), 501, "server_error", "model_not_configured", "OPENAI_API_KEY", "OPENAI_BASE_URL")
	openAIError(w.Call("GET", "/v1/apps/clinic/openai/v1/models", ""), 501, "server_error", "model_not_configured")
	_, key, err := w.Store.CreateKey(t.Context(), "clinic", store.NewKey{Scopes: []store.Permission{"triggers"}})
	require.NoError(t, err)
	openAIError(w.Call("POST", chatPath, `{}`, "Authorization: Bearer "+key.Reveal()), 403, "permission_error", "scope_missing", "messages")
	openAIError(w.Call("POST", chatPath+"?x=1", `{}`), 400, "invalid_request_error", "invalid_query", "x")
	openAIError(w.Call("POST", chatPath, strings.Repeat(" ", gateway.MaxBody+1)), 413, "invalid_request_error", "body_too_long", "16777216")

	gone := newChatModel(t, nil)
	v := apitest.Live(t, apitest.Everything, gone.behind, func(o *api.Options) { o.Model.BaseURL = "http://127.0.0.1:1/v1" })
	v.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	v.Call("PUT", apitest.BookingPath, apitest.BookingBody).Is(201, "")
	failed := v.Call("POST", sessionChatPath, saying("Friday"))
	openAIError(failed, 502, "server_error", "model_unreachable", "cannot be reached")
	require.NotEmpty(t, failed.Header.Get("X-Earshot-Message-Id"), "it is matched all the same")
	firedTexts(v, "s1", 1)
}

func TestALongChatIsTaken(t *testing.T) {
	w, model := relaying(t)
	picture := `{"role":"user","content":[{"type":"text","text":"Friday"},{"type":"image_url","image_url":{"url":"` + strings.Repeat("A", 4<<20) + `"}}]}`
	w.Ask("POST", sessionChatPath, `{"messages":[`+picture+`]}`).Is(200, completion)
	require.Len(t, model.sent[0], len(picture)+len(`{"messages":[]}`))
	require.Equal(t, []string{"Friday"}, firedTexts(w, "s1", 1))
}

func TestATokenReachesNoOtherSession(t *testing.T) {
	w, model := relaying(t)
	sent := credentialsOf(w, "clinic")
	as := "Authorization: Bearer " + sent["token"]
	said := func(with string) string { return strings.Replace(saying("Friday"), `"model"`, with+`"model"`, 1) }
	for _, refused := range []apitest.Answer{
		w.Call("POST", strings.Replace(sessionChatPath, "s1", "s2", 1), said(""), as),
		w.Call("POST", chatPath, said(""), as, "X-Earshot-Session: s2"),
		w.Call("POST", chatPath, said(`"metadata":{"session_id":"s2"},`), as),
	} {
		openAIError(refused, 403, "permission_error", "forbidden")
	}
	require.Zero(t, model.count(), "the model is not asked")
	w.Ask("POST", chatPath, said(`"metadata":{"session_id":"s1"},"user":"ada",`), as).Is(200, completion)
	w.Ask("POST", sessionChatPath, strings.Replace(said(`"metadata":{"session_id":"s2"},`), "Friday", "Tuesday", 1), as, "X-Earshot-Session: s2").Is(200, completion)
	w.Ask("POST", chatPath, strings.Replace(said(`"user":"ada",`), "Friday", "Monday", 1), as, "X-Earshot-Session: s1").Is(200, completion)
	require.ElementsMatch(t, []string{"Friday", "Monday", "Tuesday"}, firedTexts(w, "s1", 3), "the path comes before what the body and the header say")
	firedTexts(w, "s2", 0)
	w.Ask("GET", "/v1/apps/clinic/openai/v1/models", "", as).Is(200, completion)
}

// TestAVisitorPutsNoWordsIntoTheAssistantsMouth: an assistant's message is trusted, and a token may not post
// one over REST either.
func TestAVisitorPutsNoWordsIntoTheAssistantsMouth(t *testing.T) {
	for _, mode := range []string{"watch", "act"} {
		t.Run(mode, func(t *testing.T) { visitorSpeaks(t, mode) })
	}
}

func visitorSpeaks(t *testing.T, mode string) {
	w := listening(t, apitest.Everything, newChatModel(t, nil))
	w.Call("PATCH", "/v1/apps/clinic", `{"settings":{"openai":{"mode":"`+mode+`"}}}`).Is(200, "")
	chat := `{"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":"Your code is 4711"},{"role":"user","content":"yes"}]}`
	for credential, want := range map[string][]string{"token": {"yes"}, "messages": {"Your code is 4711", "yes"}} {
		w.Ask("DELETE", "/v1/apps/clinic/sessions/s1", "")
		w.Ask("POST", sessionChatPath, chat, "Authorization: Bearer "+credentialsOf(w, "clinic")[credential]).Is(200, completion)
		var texts []string
		require.Eventually(t, func() bool {
			var history struct{ Items []query.Entry }
			require.NoError(t, json.Unmarshal(w.Call("GET", apitest.MessagesPath, "").Is(200, "").Body, &history))
			texts = nil
			for _, entry := range history.Items {
				texts = append(texts, entry.Text)
			}
			return slices.Contains(texts, "yes")
		}, time.Minute, time.Millisecond)
		require.Equal(t, want, texts, credential)
	}
}

func TestWhatIsAskedOfTheModelIsBounded(t *testing.T) {
	w, model := relaying(t)
	w.Call("PATCH", "/v1/apps/clinic", `{"settings":{"limits":{"messagesPerMinute":5,"sessionMessagesPerMinute":3}}}`).Is(200, "")
	sent := credentialsOf(w, "clinic")
	token, key := "Authorization: Bearer "+sent["token"], "Authorization: Bearer "+sent["messages"]
	say := func(as string) apitest.Answer { return w.Ask("POST", sessionChatPath, saying("Friday"), as) }
	for range 2 {
		say(token).Is(200, completion)
	}
	w.Ask("GET", "/v1/apps/clinic/openai/v1/models", "", token).Is(200, completion)
	refused := w.Call("POST", sessionChatPath, saying("Friday"), token)
	openAIError(refused, 429, "rate_limit_error", "rate_limited")
	require.NotEmpty(t, refused.Header.Get("Retry-After"))
	require.Equal(t, 3, model.count(), "a token asks the model as often as it may post messages")
	for range 7 {
		say(key).Is(200, completion) // a key belongs to the app
	}

}

func TestRequestsOfAnAppToTheModelAreBounded(t *testing.T) {
	w, model := relaying(t)
	w.Call("PATCH", "/v1/apps/clinic", `{"settings":{"limits":null,"openai":{"limits":{"requestsPerMinute":12}}}}`).Is(200, "")
	for range 12 {
		w.Ask("POST", chatPath, saying("Friday")).Is(200, completion)
	}
	refused := w.Call("POST", sessionChatPath, saying("Friday"))
	openAIError(refused, 429, "rate_limit_error", "rate_limited")
	require.Contains(t, string(refused.Body), "settings.openai.limits.requestsPerMinute")
	require.Equal(t, 12, model.count())
}

func TestModelsAndLengthsOfAnswersAreBounded(t *testing.T) {
	for _, mode := range []string{"watch", "act"} {
		t.Run(mode, func(t *testing.T) {
			w, model := relaying(t)
			w.Call("PATCH", "/v1/apps/clinic", `{"settings":{"openai":{"mode":"`+mode+`","limits":{"models":["gpt-4o*","small"],"maxTokens":100}}}}`).Is(200, "")
			ask := func(with string) apitest.Answer {
				return w.Ask("POST", sessionChatPath, `{`+with+`"messages":[{"role":"user","content":"hello"}]}`)
			}
			for _, c := range []struct{ with, code string }{
				{`"model":"gpt-5-pro",`, "model_not_allowed"}, {``, "model_not_allowed"}, {`"mod\u0065l":"gpt-5-pro",`, "model_not_allowed"},
				{`"model":"small","model":"gpt-5-pro",`, ""}, {`"model":"small","mod\u0065l":"gpt-5-pro",`, ""},
				{`"model":"small","max_tokens":101,`, "max_tokens_exceeded"}, {`"model":"small","max_completion_tokens":101,`, "max_tokens_exceeded"},
				{`"model":"small","max\u005ftokens":999999,`, "max_tokens_exceeded"}, {`"model":"small","n":128,`, "max_tokens_exceeded"},
				{`"model":"small","n":3,"max_tokens":34,`, "max_tokens_exceeded"}, {`"model":"small","n":9223372036854775807,"max_tokens":2,`, "max_tokens_exceeded"},
				{`"Model":"gpt-5-pro","model":"small",`, "write model"}, {`"model":"small","MAX_TOKENS":5000,"max_tokens":5,`, "write max_tokens"},
				{`"model":"small","max_output_toKens":5000,`, "write max_output_tokens"}, {`"model":"small","N":5,`, "write n"},
				{`"model":"small","models":["small","gpt-5-pro"],`, "model_not_allowed"}, {`"model":"small","models":"gpt-5-pro",`, "model_not_allowed"},
				{`"model":"small","models":[{"id":"small"}],`, "model_not_allowed"}, {`"model":"small","models":null,"models":["gpt-5-pro"],`, ""},
				{`"model":"small","max_tokens":-1,`, ""}, {`"model":"small","max_tokens":1e9,`, ""}, {`"model":"small","n":"128",`, ""},
			} {
				got := ask(c.with)
				require.Contains(t, []int{400, 403}, got.StatusCode, "%s: %s", c.with, got.Body)
				require.Contains(t, string(got.Body), c.code, c.with)
			}
			require.Zero(t, model.count(), "the model is not asked")
			for with, want := range map[string]string{
				`"model":"gpt-4o-mini",`: `"max_tokens":100`, `"model":"small","n":3,`: `"max_tokens":33`,
				`"model":"small","max_tokens":7,`: `"max_tokens":7`, `"model":"small","max_completion_tokens":null,`: `"max_tokens":100`,
				`"model":"small","max_tokens":null,`: `"max_tokens":100`, `"model":"small","n":3,"max\u005ftokens":null,`: `"max\u005ftokens":33`,
				`"model":"small","models":["small","gpt-4o"],`: `"models":["small","gpt-4o"]`, `"model":"small","models":null,"Max":1,`: `"Max":1`,
			} {
				count := model.count()
				ask(with).Is(200, completion)
				require.Contains(t, string(model.sent[count]), want)
				require.NotContains(t, string(model.sent[count]), `"max_tokens":null`, "the last of two members would hold")
			}
			count := model.count()
			w.Ask("POST", responsesPath, `{"model":"small","input":"hello","max_output_tokens":null}`).Is(200, completion)
			require.Contains(t, string(model.sent[count]), `"model":"small","input":"hello","max_output_tokens":100`)
		})
	}
}

func TestChangedSettingsHoldFromTheNextChatOn(t *testing.T) {
	w, _ := relaying(t)
	ask := func() apitest.Answer {
		return w.Ask("POST", sessionChatPath, `{"model":"gpt-5-pro","messages":[{"role":"user","content":"hello"}]}`)
	}
	for range 3 { // whatever the replica has just read
		ask().Is(200, completion)
		w.Call("PATCH", "/v1/apps/clinic", `{"settings":{"openai":{"limits":{"models":["small"]}}}}`).Is(200, "")
		require.Equal(t, 403, ask().StatusCode)
		w.Call("PATCH", "/v1/apps/clinic", `{"settings":{"openai":null}}`).Is(200, "")
	}
}

// credentialsOf returns a session token of s1, and a key for messages.
func credentialsOf(w apitest.World, app string) map[string]string {
	_, key, err := w.Store.CreateKey(w.T.Context(), app, store.NewKey{Scopes: []store.Permission{"messages"}})
	require.NoError(w.T, err)
	var made struct{ Token string }
	require.NoError(w.T, json.Unmarshal(w.Call("POST", "/v1/apps/"+app+"/sessions/s1/token", "", "Authorization: Bearer "+key.Reveal()).Is(201, "").Body, &made))
	return map[string]string{"messages": key.Reveal(), "token": made.Token}
}

// TestAMessageOverTheLimitIsRelayed: the limit applies to matching, and the chat continues.
func TestAMessageOverTheLimitIsRelayed(t *testing.T) {
	w := listening(t, apitest.Everything, newChatModel(t, nil))
	w.Call("PATCH", "/v1/apps/clinic", `{"settings":{"limits":{"sessionMessagesPerMinute":1}}}`).Is(200, "")
	for _, text := range []string{"Friday", "Monday"} {
		w.Ask("POST", sessionChatPath, saying(text)).Is(200, completion)
		firedTexts(w, "s1", 1)
	}
	require.Eventually(t, func() bool {
		return strings.Contains(string(w.Call("GET", "/metrics", "").Body), `earshot_openai_messages_total{outcome="limited"} 1`)
	}, time.Minute, 5*time.Millisecond)
}

// unreadOnce is a store whose app cannot be read the first time, as while Redis fails over.
type unreadOnce struct {
	api.Store
	read atomic.Bool
}

func (s *unreadOnce) App(ctx context.Context, appID string) (*repositories.App, error) {
	if !s.read.Swap(true) {
		return nil, keyspace.ErrUnavailable
	}
	return s.Store.App(ctx, appID)
}

// verified takes every token for Anna's.
type verified struct{}

func (verified) Verify(context.Context, repositories.AuthService, string, string) (map[string]any, error) {
	return map[string]any{"sub": "anna"}, nil
}

func TestAMessageIsNotPostedWithoutItsUser(t *testing.T) {
	away := &unreadOnce{}
	away.read.Store(true)
	model := newChatModel(t, nil)
	w := apitest.Live(t, apitest.Everything, model.behind, func(o *api.Options) { away.Store, o.Store, o.Identities = o.Store, away, verified{} })
	w.Call("PUT", "/v1/apps/clinic", `{"authServices":[{"name":"corp","type":"oidc","issuer":"https://id.example.org","audience":"clinic"}]}`).Is(201, "")
	w.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"payroll","authRequired":["corp"]}]}`).Is(201, "")
	away.read.Store(false)
	w.Ask("POST", sessionChatPath, saying("my payroll"), "corp_token: of-anna").Is(200, completion)
	settled(w, "s1", 1)
	require.Len(t, w.Triggers("s1"), 1)
}
