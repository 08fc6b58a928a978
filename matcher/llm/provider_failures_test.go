package llm_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/chain"
	"earshot/matcher/llm"
	"earshot/matcher/matchertest"
	"earshot/repositories/secret"
)

// every runs a test for each provider.
func every(t *testing.T, test func(*testing.T, spoken)) {
	for _, one := range providers() {
		t.Run(one.name, func(t *testing.T) { test(t, one) })
	}
}

func TestEveryProvidersFailureIsUnavailableAfterOneRequest(t *testing.T) {
	page := "<!DOCTYPE html><html><body>Bad gateway</body></html>"
	every(t, func(t *testing.T, one spoken) {
		for name, c := range map[string]struct {
			reply answer
			says  string
		}{
			"400":              {answer{status: 400, body: `{"error":{"message":"context too long"}}`}, "HTTP 400 Bad Request: context too long"},
			"400 of Anthropic": {answer{status: 400, body: `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: too large"},"request_id":"r"}`}, "400 Bad Request: max_tokens: too large"},
			"400 of Gemini":    {answer{status: 400, body: `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"@type":"x"}]}}`}, "API key not valid."},
			"400 of Cohere":    {answer{status: 400, body: `{"id":"x","message":"invalid request: tool"}`}, "invalid request: tool"},
			"401":              {answer{status: 401, body: `{"message":"no"}`}, "HTTP 401 Unauthorized: check the API key"},
			"403":              {answer{status: 403}, "HTTP 403 Forbidden: check the API key"},
			"404":              {answer{status: 404, body: `{"error":{"message":"model m not found"}}`}, "model m not found"},
			"408":              {answer{status: 408}, "HTTP 408"},
			"409":              {answer{status: 409}, "HTTP 409"},
			"413":              {answer{status: 413}, "HTTP 413"},
			"422":              {answer{status: 422, body: `{"detail":"no tools"}`}, "no tools"},
			"429":              {answer{status: 429, body: `{"message":"slow down"}`}, "HTTP 429 Too Many Requests: slow down"},
			"498":              {answer{status: 498, body: `{"message":"invalid api token"}`}, "HTTP 498: check the API key"},
			"500":              {answer{status: 500, body: page}, "HTTP 500 Internal Server Error"},
			"502":              {answer{status: 502, body: page}, "HTTP 502"},
			"503":              {answer{status: 503}, "HTTP 503"},
			"504":              {answer{status: 504}, "HTTP 504"},
			"529":              {answer{status: 529, body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`}, "Overloaded"},
			"told to retry":    {answer{status: 500, header: http.Header{"X-Should-Retry": {"true"}}}, "HTTP 500"},
			"redirect":         {answer{status: 307, header: http.Header{"Location": {"http://127.0.0.1:1/"}}}, "HTTP 307"},
			"HTML":             {answer{body: page}, "HTML"},
			"empty":            {answer{}, "empty"},
			"blank":            {answer{body: " \n "}, "empty"},
			"half a JSON":      {answer{body: one.calls([2]string{"book", "{}"})[:50]}, "part of it"},
			"another JSON":     {answer{body: `[1,2]`}, "not the JSON of a completion"},
			"an empty object":  {answer{body: `{}`}, strings.Replace(one.says, "no ", "has no ", 1)},
			"nothing in it":    {answer{body: one.none}, one.says},
			"error with 200":   {answer{body: `{"type":"error","error":{"message":"upstream is gone"}}`}, "upstream is gone"},
			"nameless call":    {answer{body: one.bad}, "tool calls cannot be read"},
			"cut short":        {answer{body: fmt.Sprintf(one.whole, one.cut)}, "cut short"},
			"filtered":         {answer{body: fmt.Sprintf(one.whole, one.blocked)}, "content filter"},
			"too large":        {answer{body: `{"a":"` + strings.Repeat(" ", 5<<20) + `"}`}, "larger than 4 MiB"},
			"too large a page": {answer{status: 500, body: strings.Repeat(" ", 5<<20)}, "larger than 4 MiB"},
			"broken off":       {answer{header: http.Header{"Content-Length": {"500"}}, body: `{"content":[`}, "broke off"},
		} {
			t.Run(name, func(t *testing.T) {
				e := newEndpoint(t)
				e.replies = []answer{c.reply}
				failed := unavailable(t, one.options(e))
				require.Contains(t, failed.Reason, c.says)
				require.Zero(t, failed.RetryAfter, "none was named")
				require.Len(t, e.questions(), 1, "trying again is the caller's business")
			})
		}
	})
}

func TestReasonsToEndThatAreNoSoundEndAreUnavailable(t *testing.T) {
	for _, c := range []struct {
		one     spoken
		reasons map[string]string
	}{
		{anthropicSpoken(), map[string]string{
			"model_context_window_exceeded": "cut short", "pause_turn": `finish_reason "pause_turn"`, "something_new": `finish_reason "something_new"`,
		}},
		{geminiSpoken(), map[string]string{
			"MALFORMED_FUNCTION_CALL": `finish_reason "MALFORMED_FUNCTION_CALL"`, "RECITATION": "content filter", "BLOCKLIST": "content filter",
			"PROHIBITED_CONTENT": "content filter", "SPII": "content filter", "LANGUAGE": "LANGUAGE", "OTHER": "OTHER",
			"UNEXPECTED_TOOL_CALL": "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS": "TOO_MANY", "CONTINUATION": "CONTINUATION",
		}},
		{cohereSpoken(), map[string]string{"ERROR": `"ERROR"`, "ERROR_LIMIT": "cut short", "TIMEOUT": "TIMEOUT", "USER_CANCEL": "USER_CANCEL"}},
	} {
		for reason, says := range c.reasons {
			e := newEndpoint(t, fmt.Sprintf(c.one.whole, reason))
			require.Contains(t, unavailable(t, c.one.options(e)).Reason, says, c.one.name)
		}
	}
}

func TestSoundEndsAreMatches(t *testing.T) {
	for name, reasons := range map[string][]string{
		"openai": {"stop", "tool_calls", ""}, "anthropic": {"end_turn", "tool_use", "stop_sequence", ""},
		"gemini": {"STOP", "FINISH_REASON_UNSPECIFIED", ""}, "cohere": {"COMPLETE", "STOP_SEQUENCE", "TOOL_CALL", ""},
	} {
		one := called(name)
		for _, reason := range reasons {
			result, _ := one.match(t, matchertest.Request(t, "x", matchertest.BookTool), fmt.Sprintf(one.whole, reason))
			require.Len(t, result.Matches, 1, reason)
		}
	}
}

func TestPromptThatGeminiBlocksIsUnavailable(t *testing.T) {
	e := newEndpoint(t, `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT","safetyRatings":[]},"usageMetadata":{"promptTokenCount":4}}`)
	require.Contains(t, unavailable(t, geminiSpoken().options(e)).Reason, "content filter held the request back (PROHIBITED_CONTENT)")
}

func TestEveryProvidersPauseIsPassedOn(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		for _, c := range []struct {
			reply answer
			want  time.Duration
		}{
			{answer{status: 429, header: http.Header{"Retry-After": {"7"}}}, 7 * time.Second},
			{answer{status: 503, header: http.Header{"Retry-After": {"Fri, 20 Nov 2026 09:31:30 GMT"}}}, 90 * time.Second},
			{answer{status: 429, body: `{"error":{"message":"quota","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}`}, 34500 * time.Millisecond},
			{answer{status: 429, body: `{"error":{"details":[{"retryDelay":"soon"},{"retryDelay":"-5s"},{"retryDelay":"999999999s"}]}}`}, 24 * time.Hour},
		} {
			e := newEndpoint(t)
			e.replies = []answer{c.reply}
			options := one.options(e)
			options.Now = func() time.Time { return time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC) }
			require.Equal(t, c.want, unavailable(t, options).RetryAfter)
		}
	})
}

func TestNoProvidersErrorHoldsTheKey(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		for _, code := range []int{200, 400, 401, 429, 498, 500} {
			for _, body := range []string{`{"error":{"message":"no: %s (see the manual)"}}`, `{"message":"invalid token %s"}`, `%s`} {
				e := newEndpoint(t)
				e.replies = []answer{{status: code, body: fmt.Sprintf(body, matchertest.Key)}}
				unavailable(t, one.options(e)) // checks it
			}
		}
	})
}

func TestEveryProvidersBaseURLIsInNoError(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		for _, url := range []string{
			"://" + matchertest.Key, "http://u:" + matchertest.Key + "@127.0.0.1:1/v1?key=" + matchertest.Key, matchertest.Key, "http://[" + matchertest.Key, "http://127.0.0.1:1/%zz" + matchertest.Key,
		} {
			var options llm.Options
			one.set(&options, llm.Config{BaseURL: url})
			require.NotContains(t, chain.New(options).Describe(), matchertest.Key)
			unavailable(t, options) // checks it
		}
	})
}

func TestEveryProvidersKeyGoesIntoItsHeaderAlone(t *testing.T) {
	// What SDKs take from the environment on their own is not ours to send.
	for _, variable := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GEMINI_API_KEY", "GOOGLE_API_KEY", "CO_API_KEY"} {
		t.Setenv(variable, "stray-key-of-the-environment")
	}
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Stray: stray-key-of-the-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
	every(t, func(t *testing.T, one spoken) {
		_, asked := one.match(t, matchertest.Request(t, "x", matchertest.BookTool), one.text("none"))
		require.Equal(t, matchertest.Key, strings.TrimPrefix(asked[0].header.Get(one.keyIn), "Bearer "))
		require.Equal(t, one.path, asked[0].path)
		require.NotContains(t, asked[0].path+asked[0].body, matchertest.Key)
		require.NotContains(t, fmt.Sprint(asked[0]), "stray-key")

		e := newEndpoint(t, one.text("none"))
		var options llm.Options
		one.set(&options, llm.Config{BaseURL: e.server.URL})
		_, err := llm.New(options).Match(t.Context(), matchertest.Request(t, "x", matchertest.BookTool))
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
			e := newEndpoint(t, one.text("none"))
			var options llm.Options
			one.set(&options, llm.Config{BaseURL: e.server.URL + suffix, Key: secret.New(matchertest.Key), Model: "m"})
			_, err := llm.New(options).Match(t.Context(), matchertest.Request(t, "x", matchertest.BookTool))
			require.NoError(t, err)
			require.Equal(t, want, e.questions()[0].path)
		}
	}
}

func TestEveryProviderIsHeldToTheTimeLimit(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		e := newEndpoint(t)
		e.replies = []answer{{hang: true}}
		options := one.options(e)
		options.Timeout = 50 * time.Millisecond
		require.Equal(t, "no answer within 50ms", unavailable(t, options).Reason)
		require.Len(t, e.questions(), 1)
	})
}

// leaving ends a context when a request is on its way.
type leaving struct{ leave func() }

func (l leaving) RoundTrip(request *http.Request) (*http.Response, error) {
	l.leave()
	<-request.Context().Done()
	return nil, request.Context().Err()
}

func TestCallerWhoLeavesIsNoFailureOfAnyProvider(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		ctx, leave := context.WithCancel(t.Context())
		options := one.options(newEndpoint(t))
		options.HTTPClient = &http.Client{Transport: leaving{leave}}
		_, err := llm.New(options).Match(ctx, matchertest.Request(t, "x", matchertest.BookTool))
		require.ErrorIs(t, err, context.Canceled)
		var failed *matcher.Unavailable
		require.NotErrorAs(t, err, &failed)
	})
}
