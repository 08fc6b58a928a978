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

// unavailable matches one message and returns its expected error.
func unavailable(t *testing.T, options llm.Options) *matcher.Unavailable {
	t.Helper()
	result, err := llm.New(options).Match(t.Context(), matchertest.Request(t, "book monday", book))
	var failed *matcher.Unavailable
	require.ErrorAs(t, err, &failed)
	require.Empty(t, result)
	for i := 0; i+6 <= len(matchertest.Key); i++ {
		require.NotContains(t, err.Error(), matchertest.Key[i:i+6])
	}
	require.NotContains(t, err.Error(), "\n")
	require.Less(t, len(err.Error()), 400)
	return failed
}

func TestEveryProvidersFailureIsUnavailableAfterOneRequest(t *testing.T) {
	page := "<!DOCTYPE html><html><body>Bad gateway</body></html>"
	every(t, func(t *testing.T, one spoken) {
		for name, c := range map[string]struct {
			reply answer
			says  string
		}{
			"400":               {answer{status: 400, body: `{"error":{"message":"context too long"}}`}, "HTTP 400 Bad Request: context too long"},
			"400 text":          {answer{status: 400, body: `{"error":"bad model"}`}, "bad model"},
			"400 code":          {answer{status: 400, body: `{"error":{"code":"no_such_thing"}}`}, "no_such_thing"},
			"400 on lines":      {answer{status: 400, body: `{"error":{"message":"one\n\ttwo\u001b[31m ` + strings.Repeat("long ", 200) + `"}}`}, "one two [31m long"},
			"400 without words": {answer{status: 400, body: `{"error":{"message":""}}`}, "HTTP 400 Bad Request"},
			"400 of Anthropic":  {answer{status: 400, body: `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: too large"},"request_id":"r"}`}, "400 Bad Request: max_tokens: too large"},
			"400 of Gemini":     {answer{status: 400, body: `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"@type":"x"}]}}`}, "API key not valid."},
			"400 of Cohere":     {answer{status: 400, body: `{"id":"x","message":"invalid request: tool"}`}, "invalid request: tool"},
			"401":               {answer{status: 401, body: `{"error":{"message":"Incorrect API key provided"}}`}, "HTTP 401 Unauthorized: check the API key"},
			"403":               {answer{status: 403}, "HTTP 403 Forbidden: check the API key"},
			"404":               {answer{status: 404, body: `{"object":"error","message":"model x not found"}`}, "HTTP 404 Not Found: model x not found"},
			"408":               {answer{status: 408}, "HTTP 408"},
			"409":               {answer{status: 409}, "HTTP 409"},
			"413":               {answer{status: 413}, "HTTP 413"},
			"422":               {answer{status: 422, body: `{"detail":"no tools"}`}, "no tools"},
			"429":               {answer{status: 429, body: `{"message":"slow down"}`}, "HTTP 429 Too Many Requests: slow down"},
			"498":               {answer{status: 498, body: `{"message":"invalid api token"}`}, "HTTP 498: check the API key"},
			"500":               {answer{status: 500, body: page}, "HTTP 500 Internal Server Error"},
			"502":               {answer{status: 502, body: page}, "HTTP 502"},
			"503":               {answer{status: 503}, "HTTP 503"},
			"504":               {answer{status: 504}, "HTTP 504"},
			"529":               {answer{status: 529, body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`}, "Overloaded"},
			"told to retry":     {answer{status: 500, header: http.Header{"X-Should-Retry": {"true"}}}, "HTTP 500"},
			"redirect":          {answer{status: 307, header: http.Header{"Location": {"http://127.0.0.1:1/"}}}, "HTTP 307"},
			"HTML":              {answer{body: page}, "HTML"},
			"empty":             {answer{}, "empty"},
			"blank":             {answer{body: " \n "}, "empty"},
			"half a JSON":       {answer{body: one.calls([2]string{"book", "{}"})[:50]}, "part of it"},
			"another JSON":      {answer{body: `[1,2]`}, "not the JSON of a completion"},
			"an empty object":   {answer{body: `{}`}, strings.Replace(one.says, "no ", "has no ", 1)},
			"nothing in it":     {answer{body: one.none}, one.says},
			"error with 200":    {answer{body: `{"type":"error","error":{"message":"upstream is gone","code":502}}`}, "it answered with an error: upstream is gone"},
			"nameless call":     {answer{body: one.bad}, "tool calls cannot be read"},
			"cut short":         {answer{body: fmt.Sprintf(one.whole, one.cut)}, "cut short"},
			"filtered":          {answer{body: fmt.Sprintf(one.whole, one.blocked)}, "content filter"},
			"too large":         {answer{body: `{"a":"` + strings.Repeat(" ", 5<<20) + `"}`}, "larger than 4 MiB"},
			"too large a page":  {answer{status: 500, body: strings.Repeat(" ", 5<<20)}, "larger than 4 MiB"},
			"broken off":        {answer{header: http.Header{"Content-Length": {"500"}}, body: `{"content":[`}, "broke off"},
		} {
			t.Run(name, func(t *testing.T) {
				e := newProvider(t, c.reply)
				failed := unavailable(t, one.options(e))
				require.Contains(t, failed.Reason, c.says)
				require.Zero(t, failed.RetryAfter, "none was named")
				require.Len(t, e.questions(), 1, "trying again is the caller's business")
			})
		}
	})
}

func TestEveryProvidersPauseIsPassedOn(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		now := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
		pause := func(reply answer) time.Duration {
			options := one.options(newProvider(t, reply))
			options.Now = func() time.Time { return now }
			return unavailable(t, options).RetryAfter
		}
		for given, want := range map[string]time.Duration{
			"7": 7 * time.Second, "0": 0, " 12 ": 12 * time.Second, "1.5": 1500 * time.Millisecond,
			"Fri, 20 Nov 2026 09:31:30 GMT": 90 * time.Second, "Friday, 20-Nov-26 09:30:05 GMT": 5 * time.Second,
			"Fri, 20 Nov 2026 09:00:00 GMT": 0, "soon": 0, "-5": 0, "": 0, "1m": 0, "1e9": 0,
			"999999999": 24 * time.Hour, "99999999999999999999": 0,
		} {
			for _, status := range []int{429, 503} {
				require.Equal(t, want, pause(answer{status: status, header: http.Header{"Retry-After": {given}}}), given)
			}
		}
		require.Equal(t, 250*time.Millisecond, pause(answer{status: 429, header: http.Header{"Retry-After-Ms": {"250"}, "Retry-After": {"1"}}}))
		for body, want := range map[string]time.Duration{
			`{"error":{"message":"quota","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}`: 34500 * time.Millisecond,
			`{"error":{"details":[{"retryDelay":"soon"},{"retryDelay":"-5s"},{"retryDelay":"999999999s"}]}}`:                      24 * time.Hour,
		} {
			require.Equal(t, want, pause(answer{status: 429, body: body}), body)
		}
	})
}

func TestNoProvidersErrorHoldsTheKey(t *testing.T) {
	key := matchertest.Key
	every(t, func(t *testing.T, one spoken) {
		for _, status := range []int{200, 400, 401, 403, 429, 498, 500} {
			for _, body := range []string{`{"error":{"message":"no: %s (see the manual)"}}`, `{"message":"invalid token %s"}`, `%s`} {
				for _, echo := range []string{
					key, "Incorrect API key provided: " + key + ".", "key=" + key[:12] + "****", "…" + key[len(key)-8:], `\"Bearer ` + key + `\"`, strings.ReplaceAll(key, "-", "%2D"),
				} {
					unavailable(t, one.options(newProvider(t, answer{status: status, body: fmt.Sprintf(body, echo)}))) // checks it
				}
			}
		}
		options := one.options(newProvider(t, answer{status: 500, body: `{"error":{"message":"no: <k3y> is bad"}}`}))
		base := options.BaseURL + options.Anthropic.BaseURL + options.Gemini.BaseURL + options.Cohere.BaseURL
		one.set(&options, llm.Config{Key: secret.New("k3y"), BaseURL: base, Model: "m"})
		require.Contains(t, unavailable(t, options).Reason, "no: *** is bad", "a short one neither")

		for _, url := range []string{
			"://" + key, "http://u:" + key + "@127.0.0.1:1/v1?key=" + key, key, "http://[" + key, "http://127.0.0.1:1/%zz" + key,
		} {
			var options llm.Options
			one.set(&options, llm.Config{BaseURL: url})
			require.NotContains(t, options.Describe(), key)
			unavailable(t, options) // checks it
		}
	})
}

func TestEveryProvidersKeyGoesIntoItsHeaderAlone(t *testing.T) {
	// Variables of vendors' SDKs are not ours to send.
	for _, variable := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GEMINI_API_KEY", "GOOGLE_API_KEY", "CO_API_KEY"} {
		t.Setenv(variable, "stray-key-of-the-environment")
	}
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Stray: stray-key-of-the-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
	every(t, func(t *testing.T, one spoken) {
		_, asked := one.match(t, matchertest.Request(t, "x", book), one.text("none"))
		require.Equal(t, matchertest.Key, strings.TrimPrefix(asked[0].header.Get(one.keyIn), "Bearer "))
		require.Equal(t, one.path, asked[0].path)
		require.NotContains(t, asked[0].path+asked[0].body, matchertest.Key)
		require.NotContains(t, fmt.Sprint(asked[0]), "stray-key")
		require.Empty(t, asked[0].header.Get("Api-Key"), "only Azure wants it under this name")

		e := newProvider(t, bodiesOf(one.text("none"))...)
		var options llm.Options
		one.set(&options, llm.Config{BaseURL: e.server.URL})
		_, err := llm.New(options).Match(t.Context(), matchertest.Request(t, "x", book))
		require.NoError(t, err)
		require.Empty(t, e.questions()[0].header.Get(one.keyIn), "an endpoint of one's own may need no key")
		require.NotContains(t, fmt.Sprint(e.questions()), "stray-key")
	})
}

func TestVersionAtTheEndOfABaseURLIsNotDoubled(t *testing.T) {
	for name, paths := range map[string]map[string]string{
		"anthropic": {"": "/v1/messages", "/": "/v1/messages", "/v1": "/v1/messages", "/proxy/v1/": "/proxy/v1/messages", "/proxy": "/proxy/v1/messages"},
		"gemini":    {"": "/v1beta/models/m:generateContent", "/v1beta": "/v1beta/models/m:generateContent", "/v1/": "/v1/models/m:generateContent", "/proxy/v1alpha": "/proxy/v1alpha/models/m:generateContent"},
		"cohere":    {"": "/v2/chat", "/v2": "/v2/chat", "/v1/": "/v2/chat", "/proxy/": "/proxy/v2/chat"},
	} {
		for suffix, want := range paths {
			one := called(name)
			e := newProvider(t, bodiesOf(one.text("none"))...)
			var options llm.Options
			one.set(&options, llm.Config{BaseURL: e.server.URL + suffix, Key: secret.New(matchertest.Key), Model: "m"})
			_, err := llm.New(options).Match(t.Context(), matchertest.Request(t, "x", book))
			require.NoError(t, err)
			require.Equal(t, want, e.questions()[0].path)
		}
	}
}

func TestEveryProviderIsHeldToTheTimeLimit(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		for _, dripping := range []string{"", `{"choices":[`} {
			e := newProvider(t, answer{hang: true, body: dripping})
			options := one.options(e)
			options.Timeout = 50 * time.Millisecond
			require.Equal(t, "no answer within 50ms", unavailable(t, options).Reason)
			require.Len(t, e.questions(), 1)
		}

		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		_, err := llm.New(one.options(newProvider(t, answer{hang: true}))).Match(ctx, matchertest.Request(t, "x", book))
		var failed *matcher.Unavailable
		require.ErrorAs(t, err, &failed, "the caller's deadline is a limit, too")
	})
}

// leaving cancels a context during a request.
type leaving struct{ leave func() }

func (l leaving) RoundTrip(request *http.Request) (*http.Response, error) {
	l.leave()
	<-request.Context().Done()
	return nil, request.Context().Err()
}

func TestCallerWhoLeavesIsNoFailureOfAnyProvider(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		ctx, leave := context.WithCancel(t.Context())
		options := one.options(newProvider(t))
		options.HTTPClient = &http.Client{Transport: leaving{leave}}
		_, err := llm.New(options).Match(ctx, matchertest.Request(t, "x", book))
		require.ErrorIs(t, err, context.Canceled)
		var failed *matcher.Unavailable
		require.NotErrorAs(t, err, &failed)
	})
}

func TestWhereTheLLMIsStaysInTheLog(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	var log bytes.Buffer
	key := matchertest.Key
	options := llm.Options{BaseURL: "http://user:" + key + "@localhost:" + port + "/v1?key=" + key, Logger: slog.New(slog.NewJSONHandler(&log, nil))}
	require.Equal(t, "the LLM is not available: connection refused", unavailable(t, options).Error())
	require.Regexp(t, `llm\.unreached.*(127\.0\.0\.1|::1).*connection refused`, log.String())
	require.NotContains(t, log.String(), key)
	require.NotContains(t, log.String(), base64.StdEncoding.EncodeToString([]byte("user:"+key)))
}

// refusing answers requests with the member by the refusal.
func refusing(member string, status int, refusal string) func(llmtest.Request) llmtest.Reply {
	return func(request llmtest.Request) llmtest.Reply {
		if strings.Contains(string(request.Body), `"`+member+`":`) {
			return llmtest.Status(status, nil, refusal)
		}
		return call("book", `{"day":"mon"}`)
	}
}

// requestOf returns a message of an app that names a model.
func requestOf(t *testing.T, model string) matcher.Request {
	request := matchertest.Request(t, "book monday", book)
	request.App.Settings.LLM.Tools = "openai/" + model
	return request
}

func TestWhatAModelRefusesIsLeftOutFromThenOn(t *testing.T) {
	for name, refusal := range map[string]string{
		"param":             `{"error":{"message":"That will not do.","type":"invalid_request_error","param":"stream","code":"unsupported_parameter"}}`,
		"path":              `{"error":{"message":"That will not do.","param":"stream.options"}}`,
		"parameter in text": `{"error":{"message":"Unsupported parameter: 'stream' is not supported with this model.","param":null}}`,
		"value in text":     `{"error":{"message":"Unsupported value: 'stream' does not support false with this model. Only the default is."}}`,
		"argument":          `{"error":{"message":"Unrecognized request argument supplied: stream"}}`,
		"bare error":        `{"error":"unknown field 'stream'"}`,
		"bare message":      `{"message":"property 'stream' is unsupported"}`,
	} {
		t.Run(name, func(t *testing.T) {
			server, status := llmtest.New(t), 400
			if name == "bare message" {
				status = 422
			}
			server.Handle(refusing("stream", status, refusal))
			model := newLLM(server)
			for i, sent := range []int{2, 3, 4} {
				ctx, trace := matcher.Recorded(t.Context())
				result, err := model.Match(ctx, requestOf(t, "o3"))
				require.NoError(t, err)
				require.Equal(t, []string{onMonday}, matchertest.Fired(result))
				require.Equal(t, sent, server.Count(), "message %d", i)
				require.Equal(t, []string{"stream"}, trace.Exchanges[0].LeftOut)
			}
			whole, left := server.Requests()[0], server.Requests()[1]
			require.Equal(t, strings.Replace(string(whole.Body), `,"stream":false`, "", 1), string(left.Body))
			_, err := model.Match(t.Context(), requestOf(t, "o4"))
			require.NoError(t, err)
			require.Equal(t, 6, server.Count(), "another model is asked with all of it")
		})
	}
}

func TestRefusalOfWhatARequestCannotDoWithoutIsFinal(t *testing.T) {
	for name, refusal := range map[string]string{
		"messages":       `{"error":{"message":"Unsupported value: 'messages' is too long","param":"messages"}}`,
		"model":          `{"error":{"message":"The model is not supported","param":"model"}}`,
		"a tool":         `{"error":{"message":"Invalid schema for function 'book': unknown keyword","param":"tools[0].function.parameters"}}`,
		"what is not in": `{"error":{"message":"Unsupported value: 'temperature' does not support 0.2","param":"temperature"}}`,
		"nothing named":  `{"error":{"message":"This is not supported"}}`,
		"no refusal":     `{"error":{"message":"The stream broke"}}`,
		"no JSON":        `stream is not supported`,
		"503":            `{"error":{"message":"Unsupported parameter: 'stream'","param":"stream"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			server, status := llmtest.New(t), 400
			if name == "503" { // a server error refuses no parameter
				status = 503
			}
			server.Queue(llmtest.Status(status, nil, refusal))
			require.Contains(t, unavailable(t, llmOptions(server)).Reason, fmt.Sprint("HTTP ", status))
			require.Equal(t, 1, server.Count())
		})
	}
	server, refusal := llmtest.New(t), llmtest.Status(400, nil, `{"error":{"message":"Unsupported parameter: 'stream'","param":"stream"}}`)
	server.Queue(refusal, refusal)
	require.Contains(t, unavailable(t, llmOptions(server)).Reason, "stream")
	require.Equal(t, 2, server.Count(), "a request that is refused twice is not sent a third time")

	server.Queue(refusal, llmtest.Hang())
	options := llmOptions(server)
	options.Timeout = 300 * time.Millisecond
	require.Contains(t, unavailable(t, options).Reason, "no answer within 300ms", "the second one has the time that is left")
}

// TestModelsThatRefuseAreForgotten asks more models than are remembered.
func TestModelsThatRefuseAreForgotten(t *testing.T) {
	const models = 300
	server := llmtest.New(t)
	server.Handle(refusing("stream", 400, `{"error":{"param":"stream"}}`))
	model := newLLM(server)
	sent := func(n int) int {
		before := server.Count()
		_, err := model.Match(t.Context(), requestOf(t, fmt.Sprint("model-", n)))
		require.NoError(t, err)
		return server.Count() - before
	}
	for n := range models {
		require.Equal(t, 2, sent(n))
	}
	require.Equal(t, 1, sent(models-1))
	require.Equal(t, 2, sent(0))
}
