package llm_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/llm"
	"earshot/matcher/llm/llmtest"
	"earshot/matcher/matchertest"
	"earshot/repositories/secret"
)

// unavailable matches one message and returns the error that must come of it.
func unavailable(t *testing.T, options llm.Options) *matcher.Unavailable {
	t.Helper()
	result, err := llm.New(options).Match(t.Context(), matchertest.Request(t, "book monday", matchertest.BookTool))
	var failed *matcher.Unavailable
	require.ErrorAs(t, err, &failed)
	require.Empty(t, result)
	require.NotContains(t, err.Error(), matchertest.Key)
	require.NotContains(t, err.Error(), "\n")
	require.Less(t, len(err.Error()), 400)
	return failed
}

func TestEveryAnswerThatIsNoneIsUnavailable(t *testing.T) {
	page := "<!DOCTYPE html><html><body>Bad gateway</body></html>"
	whole := `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"1","function":{"name":"book","arguments":"{\"day\":\"mon\"}"}}]},"finish_reason":"%s"}]}`
	for name, c := range map[string]struct {
		reply llmtest.Reply
		says  string
	}{
		"400":               {llmtest.Status(400, nil, `{"error":{"message":"context too long"}}`), "HTTP 400 Bad Request: context too long"},
		"400 text":          {llmtest.Status(400, nil, `{"error":"bad model"}`), "bad model"},
		"400 code":          {llmtest.Status(400, nil, `{"error":{"code":"no_such_thing"}}`), "no_such_thing"},
		"400 on lines":      {llmtest.Status(400, nil, `{"error":{"message":"one\n\ttwo\u001b[31m `+strings.Repeat("long ", 200)+`"}}`), "one two [31m long"},
		"400 without words": {llmtest.Status(400, nil, `{"error":{"message":""}}`), "HTTP 400 Bad Request"},
		"401":               {llmtest.Status(401, nil, `{"error":{"message":"Incorrect API key provided"}}`), "HTTP 401 Unauthorized: check the API key"},
		"403":               {llmtest.Status(403, nil, ""), "HTTP 403"},
		"404":               {llmtest.Status(404, nil, `{"object":"error","message":"model x not found"}`), "HTTP 404 Not Found: model x not found"},
		"413":               {llmtest.Status(413, nil, ""), "HTTP 413"},
		"422":               {llmtest.Status(422, nil, `{"detail":"no tools"}`), "no tools"},
		"429":               {llmtest.Status(429, nil, `{"error":{"message":"slow down"}}`), "HTTP 429 Too Many Requests: slow down"},
		"500":               {llmtest.Status(500, nil, page), "HTTP 500 Internal Server Error"},
		"503":               {llmtest.Status(503, nil, ""), "HTTP 503"},
		"529":               {llmtest.Status(529, nil, ""), "HTTP 529"},
		"redirect":          {llmtest.Status(307, http.Header{"Location": {"http://127.0.0.1:1/"}}, ""), "HTTP 307"},
		"HTML":              {llmtest.Raw(page), "HTML"},
		"empty":             {llmtest.Raw(""), "empty"},
		"blank":             {llmtest.Raw(" \n "), "empty"},
		"half a JSON":       {llmtest.Raw(`{"choices":[{"message":{"tool_ca`), "part of it"},
		"another JSON":      {llmtest.Raw(`[1,2]`), "not the JSON of a completion"},
		"no choices":        {llmtest.Raw(`{"choices":[]}`), "no choices"},
		"null choices":      {llmtest.Raw(`{"id":"x","choices":null}`), "no choices"},
		"no message":        {llmtest.Raw(`{"choices":[{"finish_reason":"stop"}]}`), "no choices"},
		"error with 200":    {llmtest.Raw(`{"error":{"message":"upstream is gone","code":502}}`), "upstream is gone"},
		"unreadable calls":  {llmtest.Raw(`{"choices":[{"message":{"tool_calls":"book"}}]}`), "tool calls cannot be read"},
		"nameless call":     {llmtest.Raw(`{"choices":[{"message":{"tool_calls":[{"id":"1","function":{"arguments":"{}"}}]}}]}`), "tool calls cannot be read"},
		"refusal":           {llmtest.Raw(`{"choices":[{"message":{"content":null,"refusal":"I cannot help"}}]}`), "refused"},
		"length":            {llmtest.Raw(fmt.Sprintf(whole, "length")), "cut short"},
		"Mistral's length":  {llmtest.Raw(fmt.Sprintf(whole, "model_length")), "cut short"},
		"Gemini's length":   {llmtest.Raw(fmt.Sprintf(whole, "MAX_TOKENS")), "cut short"},
		"content filter":    {llmtest.Raw(fmt.Sprintf(whole, "content_filter")), "content filter"},
		"error as a finish": {llmtest.Raw(fmt.Sprintf(whole, "error")), "finish_reason"},
		"too large":         {llmtest.Raw(`{"choices":[` + strings.Repeat(" ", 5<<20) + `]}`), "larger than 4 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t)
			server.Queue(c.reply)
			failed := unavailable(t, llmOptions(server))
			require.Contains(t, failed.Reason, c.says)
			require.Zero(t, failed.RetryAfter, "the server named none")
			require.Equal(t, 1, server.Count(), "trying again is the caller's business")
		})
	}
}

func TestRetryAfterIsWhatTheServerNamed(t *testing.T) {
	now := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	for given, want := range map[string]time.Duration{
		"7": 7 * time.Second, "0": 0, " 12 ": 12 * time.Second, "1.5": 1500 * time.Millisecond,
		"Fri, 20 Nov 2026 09:31:30 GMT":  90 * time.Second,
		"Friday, 20-Nov-26 09:30:05 GMT": 5 * time.Second,
		"Fri, 20 Nov 2026 09:00:00 GMT":  0,
		"soon":                           0, "-5": 0, "": 0, "1m": 0, "1e9": 0,
		"999999999": 24 * time.Hour, "99999999999999999999": 0,
	} {
		t.Run(given, func(t *testing.T) {
			server := llmtest.New(t)
			server.Queue(llmtest.Status(429, http.Header{"Retry-After": {given}}, ""), llmtest.Status(503, http.Header{"Retry-After": {given}}, ""))
			options := llmOptions(server)
			options.Now = func() time.Time { return now }
			require.Equal(t, want, unavailable(t, options).RetryAfter)
			require.Equal(t, want, unavailable(t, options).RetryAfter)
		})
	}
	server := llmtest.New(t)
	server.Queue(llmtest.Status(429, http.Header{"Retry-After-Ms": {"250"}, "Retry-After": {"1"}}, ""))
	require.Equal(t, 250*time.Millisecond, unavailable(t, llmOptions(server)).RetryAfter)
}

func TestKeyIsInNoErrorThoughTheServerEchoesIt(t *testing.T) {
	echoes := []string{
		matchertest.Key, "Incorrect API key provided: " + matchertest.Key + ".", "key=" + matchertest.Key[:12] + "****", "…" + matchertest.Key[len(matchertest.Key)-8:],
		`\"Bearer ` + matchertest.Key + `\"`, strings.ReplaceAll(matchertest.Key, "-", "%2D"),
	}
	for _, echo := range echoes {
		for _, code := range []int{200, 400, 401, 403, 429, 500} {
			server := llmtest.New(t)
			server.Queue(llmtest.Status(code, nil, `{"error":{"message":"no: `+echo+` (see the manual)"}}`))
			reason := unavailable(t, llmOptions(server)).Reason
			for i := 0; i+6 <= len(matchertest.Key); i++ {
				require.NotContains(t, reason, matchertest.Key[i:i+6])
			}
		}
	}
}

func TestShortKeyIsInNoErrorEither(t *testing.T) {
	server := llmtest.New(t)
	server.Queue(llmtest.Status(500, nil, `{"error":{"message":"no: <k3y> is bad"}}`))
	options := llmOptions(server)
	options.Key = secret.New("k3y")
	require.Contains(t, unavailable(t, options).Reason, "no: *** is bad")
}

func TestKeyGoesToTheEndpointAndNowhereElse(t *testing.T) {
	_, server := matchOne(t, matchertest.Request(t, "x", matchertest.BookTool), llmtest.Text("none"))
	request := server.Requests()[0]
	require.Equal(t, "Bearer "+matchertest.Key, request.Header.Get("Authorization"))
	require.NotContains(t, string(request.Body), matchertest.Key)
	require.Empty(t, request.Header.Get("Api-Key"), "only Azure wants it under this name")

	server.Queue(llmtest.Text("none"))
	_, err := llm.New(llm.Options{BaseURL: server.URL()}).Match(t.Context(), matchertest.Request(t, "x", matchertest.BookTool))
	require.NoError(t, err)
	require.Empty(t, server.Requests()[1].Header.Get("Authorization"), "a local server needs no key")
}

// recorder keeps the request that it is given, and fails it.
type recorder struct {
	header http.Header
	path   string
}

func (r *recorder) client() *http.Client { return &http.Client{Transport: r} }

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	r.header, r.path = request.Header, request.URL.Path
	return nil, fmt.Errorf("refused by the test of %s", request.Header.Get("Api-Key"))
}

func TestAzureGetsTheKeyUnderItsOwnName(t *testing.T) {
	recorded := &recorder{}
	reason := unavailable(t, llm.Options{
		BaseURL: "https://clinic.openai.azure.com/openai/v1", Key: secret.New(matchertest.Key),
		HTTPClient: recorded.client(),
	}).Reason
	require.Equal(t, matchertest.Key, recorded.header.Get("Api-Key"))
	require.Equal(t, "refused by the test of ***", reason)
}

func TestNoAnswerWithinTheLimitIsUnavailable(t *testing.T) {
	server := llmtest.New(t)
	server.Queue(llmtest.Hang())
	options := llmOptions(server)
	options.Timeout = 30 * time.Millisecond
	require.Equal(t, "no answer within 30ms", unavailable(t, options).Reason)
}

func TestAnswerThatDripsIsUnavailable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"choices":[`))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})}
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	go func() { _ = server.Serve(listener) }()
	options := llm.Options{BaseURL: "http://" + listener.Addr().String(), Timeout: 50 * time.Millisecond}
	require.Contains(t, unavailable(t, options).Reason, "no answer within")
}

func TestBrokenConnectionIsUnavailable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	reason := unavailable(t, llm.Options{BaseURL: "http://user:" + matchertest.Key + "@" + address + "/v1?key=" + matchertest.Key}).Reason
	require.Contains(t, reason, "refused")
	require.NotContains(t, reason, base64.StdEncoding.EncodeToString([]byte("user:"+matchertest.Key)))

	server := llmtest.New(t)
	server.Queue(llmtest.Status(200, http.Header{"Content-Length": {"500"}}, `{"choices":[`))
	require.Contains(t, unavailable(t, llmOptions(server)).Reason, "broke off")
}

func TestWhereTheLLMIsStaysInTheLog(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	var log bytes.Buffer
	options := llm.Options{BaseURL: "http://localhost:" + port, Logger: slog.New(slog.NewJSONHandler(&log, nil))}
	said := unavailable(t, options).Error()
	require.Equal(t, "the LLM is not available: connection refused", said)
	require.Regexp(t, `llm\.unreached.*(127\.0\.0\.1|::1).*connection refused`, log.String())
}

func TestCallerWhoLeavesIsNoFailureOfTheLLM(t *testing.T) {
	server := llmtest.New(t)
	ctx, leave := context.WithCancel(t.Context())
	server.Handle(func(llmtest.Request) llmtest.Reply { leave(); return llmtest.Hang() })
	_, err := newLLM(server).Match(ctx, matchertest.Request(t, "x", matchertest.BookTool))
	require.ErrorIs(t, err, context.Canceled)
	var failed *matcher.Unavailable
	require.NotErrorAs(t, err, &failed)
}

func TestCallersDeadlineIsATimeLimitToo(t *testing.T) {
	server := llmtest.New(t)
	server.Queue(llmtest.Hang())
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err := newLLM(server).Match(ctx, matchertest.Request(t, "x", matchertest.BookTool))
	var failed *matcher.Unavailable
	require.ErrorAs(t, err, &failed)
}

func TestSettingsNameTheModel(t *testing.T) {
	for named, want := range map[string]string{
		"": "test-model", "openai/gpt-4o": "gpt-4o", "openai/meta-llama/Llama-3.3": "meta-llama/Llama-3.3", "qwen3": "qwen3",
	} {
		request := matchertest.Request(t, "x", matchertest.BookTool)
		request.App.Settings.LLM.Tools = named
		require.Equal(t, want, asked(t, request).Model)
	}
}

func TestProviderThatIsNotConfiguredIsUnavailable(t *testing.T) {
	for _, named := range []string{"acme/model-1", "openai/"} {
		server := llmtest.New(t)
		request := matchertest.Request(t, "x", matchertest.BookTool)
		request.App.Settings.LLM.Tools = named
		_, err := newLLM(server).Match(t.Context(), request)
		require.ErrorContains(t, err, "settings.llm.tools is \""+named)
		_, err = newLLM(server).Reply(t.Context(), request, nil)
		require.ErrorContains(t, err, "openai/MODEL")
		require.Zero(t, server.Count())
	}
}

func TestObserverIsToldOfEveryRequest(t *testing.T) {
	server := llmtest.New(t)
	server.Queue(llmtest.Call("book", `{}`), llmtest.Status(500, nil, ""))
	options := llmOptions(server)
	var seen []llm.Exchange
	options.Observe = func(exchange llm.Exchange) { seen = append(seen, exchange) }
	_, err := llm.New(options).Match(t.Context(), matchertest.Request(t, "x", matchertest.BookTool))
	require.NoError(t, err)
	require.Len(t, seen, 2)
	require.Equal(t, llm.Usage{Prompt: 100, Cached: 64, Completion: 10}, seen[0].Usage)
	require.Equal(t, "test-model", seen[0].Model)
	require.Positive(t, seen[0].Took)
	require.NoError(t, seen[0].Err)
	require.Error(t, seen[1].Err)
}
