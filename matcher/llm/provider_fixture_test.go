package llm_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/llm"
	"earshot/matcher/matchertest"
	"earshot/repositories/secret"
)

// endpoint is a provider played by a test: it answers as it was told to and keeps what
// it was asked.
type endpoint struct {
	t       testing.TB
	server  *httptest.Server
	done    chan struct{}
	mu      sync.Mutex
	replies []answer
	asked   []question
}

type question struct {
	path   string
	header http.Header
	body   string
}

// answer is sent as it stands; the zero status is 200, and a hanging one never comes.
type answer struct {
	status int
	header http.Header
	body   string
	hang   bool
}

func newEndpoint(t testing.TB, bodies ...string) *endpoint {
	e := &endpoint{t: t, done: make(chan struct{})}
	e.server = httptest.NewServer(e)
	t.Cleanup(func() { close(e.done); e.server.Close() })
	for _, body := range bodies {
		e.replies = append(e.replies, answer{body: body})
	}
	return e
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	e.mu.Lock()
	e.asked = append(e.asked, question{r.URL.RequestURI(), r.Header.Clone(), string(body)})
	var reply answer
	if len(e.replies) == 0 {
		e.t.Errorf("nothing is scripted for request %d: %s", len(e.asked), body)
		reply.status = http.StatusTeapot
	} else {
		reply, e.replies = e.replies[0], e.replies[1:]
	}
	e.mu.Unlock()
	if reply.hang {
		select {
		case <-r.Context().Done():
		case <-e.done:
		}
		return
	}
	for name, values := range reply.header {
		w.Header()[name] = values
	}
	w.WriteHeader(max(reply.status, http.StatusOK))
	_, _ = w.Write([]byte(reply.body)) // a client that went away is the test's business
}

func (e *endpoint) questions() []question {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]question(nil), e.asked...)
}

// spoken is one provider with what a test needs to play it.
type spoken struct {
	name    string
	model   string // its default
	set     func(*llm.Options, llm.Config)
	keyIn   string // the header that carries the key
	path    string // of a request for the model "m"
	tools   func(body map[string]any) []any
	calls   func(calls ...[2]string) string // an answer
	text    func(text string) string        // an answer
	whole   string                          // an answer with a call, %s for why it ends
	cut     string                          // reason of one that is cut short
	blocked string                          // reason of one that is filtered out
	none    string                          // an answer with nothing in it
	says    string                          // of none
	bad     string                          // an answer whose call has no name
}

// providers are all that there are, each with a server's answers in its own shape.
func providers() []spoken {
	return []spoken{openAISpoken(), anthropicSpoken(), geminiSpoken(), cohereSpoken()}
}

// called returns the provider of that name.
func called(name string) spoken {
	all := providers()
	return all[slices.IndexFunc(all, func(one spoken) bool { return one.name == name })]
}

func openAISpoken() spoken {
	return spoken{
		name: "openai", model: "gpt-4o-mini", keyIn: "Authorization", path: "/chat/completions",
		set: func(o *llm.Options, p llm.Config) { o.Key, o.BaseURL, o.Model = p.Key, p.BaseURL, p.Model },
		tools: func(body map[string]any) []any {
			tools, _ := body["tools"].([]any)
			return tools
		},
		calls: func(calls ...[2]string) string {
			return `{"choices":[{"message":{"tool_calls":[` + each(calls, `{"id":"c%d","type":"function","function":{"name":%q,"arguments":%q}}`) +
				`]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":120,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":100}}}`
		},
		text:  func(text string) string { return fmt.Sprintf(`{"choices":[{"message":{"content":%q}}]}`, text) },
		whole: `{"choices":[{"message":{"tool_calls":[{"function":{"name":"book","arguments":"{\"day\":\"mon\"}"}}]},"finish_reason":"%s"}]}`,
		cut:   "length", blocked: "content_filter",
		none: `{"choices":[]}`, says: "no choices",
		bad: `{"choices":[{"message":{"tool_calls":[{"function":{"arguments":"{}"}}]}}]}`,
	}
}

func anthropicSpoken() spoken {
	return spoken{
		name: "anthropic", model: "claude-haiku-5-5", keyIn: "X-Api-Key", path: "/v1/messages",
		set: func(o *llm.Options, p llm.Config) { o.Anthropic = p },
		tools: func(body map[string]any) []any {
			tools, _ := body["tools"].([]any)
			return tools
		},
		calls: func(calls ...[2]string) string {
			return `{"type":"message","role":"assistant","content":[` + each(calls, `{"type":"tool_use","id":"c%d","name":%q,"input":%s}`) +
				`],"stop_reason":"tool_use","usage":{"input_tokens":12,"cache_creation_input_tokens":8,"cache_read_input_tokens":100,"output_tokens":9}}`
		},
		text: func(text string) string {
			return fmt.Sprintf(`{"type":"message","content":[{"type":"text","text":%q}],"stop_reason":"end_turn"}`, text)
		},
		whole: `{"content":[{"type":"tool_use","id":"a","name":"book","input":{"day":"mon"}}],"stop_reason":"%s"}`,
		cut:   "max_tokens", blocked: "refusal",
		none: `{"type":"message","content":null}`, says: "no content",
		bad: `{"content":[{"type":"tool_use","id":"a","input":{}}]}`,
	}
}

func geminiSpoken() spoken {
	return spoken{
		name: "gemini", model: "gemini-3.5-flash-lite", keyIn: "X-Goog-Api-Key", path: "/v1beta/models/m:generateContent",
		set: func(o *llm.Options, p llm.Config) { o.Gemini = p },
		tools: func(body map[string]any) []any {
			tools, _ := body["tools"].([]any)
			if len(tools) == 0 {
				return nil
			}
			return tools[0].(map[string]any)["functionDeclarations"].([]any)
		},
		calls: func(calls ...[2]string) string {
			return `{"candidates":[{"content":{"role":"model","parts":[` + each(calls, `{"functionCall":{"id":"c%d","name":%q,"args":%s}}`) +
				`]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":120,"cachedContentTokenCount":100,"candidatesTokenCount":5,"thoughtsTokenCount":4,"totalTokenCount":129}}`
		},
		text: func(text string) string {
			return fmt.Sprintf(`{"candidates":[{"content":{"parts":[{"text":%q}]},"finishReason":"STOP"}]}`, text)
		},
		whole: `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"book","args":{"day":"mon"}}}]},"finishReason":"%s"}]}`,
		cut:   "MAX_TOKENS", blocked: "SAFETY",
		none: `{"candidates":[]}`, says: "no candidates",
		bad: `{"candidates":[{"content":{"parts":[{"functionCall":{"args":{}}}]}}]}`,
	}
}

func cohereSpoken() spoken {
	return spoken{
		name: "cohere", model: "command-a-03-2025", keyIn: "Authorization", path: "/v2/chat",
		set: func(o *llm.Options, p llm.Config) { o.Cohere = p },
		tools: func(body map[string]any) []any {
			tools, _ := body["tools"].([]any)
			return tools
		},
		calls: func(calls ...[2]string) string {
			return `{"id":"x","message":{"role":"assistant","tool_calls":[` + each(calls, `{"id":"c%d","type":"function","function":{"name":%q,"arguments":%q}}`) +
				`]},"finish_reason":"TOOL_CALL","usage":{"billed_units":{"input_tokens":7,"output_tokens":3},"tokens":{"input_tokens":120.0,"output_tokens":9},"cached_tokens":100}}`
		},
		text: func(text string) string {
			return fmt.Sprintf(`{"message":{"role":"assistant","content":[{"type":"text","text":%q}]},"finish_reason":"COMPLETE"}`, text)
		},
		whole: `{"message":{"tool_calls":[{"id":"a","type":"function","function":{"name":"book","arguments":"{\"day\":\"mon\"}"}}]},"finish_reason":"%s"}`,
		cut:   "MAX_TOKENS", blocked: "ERROR_TOXIC",
		none: `{"id":"x","finish_reason":"COMPLETE"}`, says: "no message",
		bad: `{"message":{"tool_calls":[{"id":"a","function":{"arguments":"{}"}}]}}`,
	}
}

// each renders calls by a form of number, name and arguments, which it takes as JSON or
// as a string that holds it.
func each(calls [][2]string, form string) string {
	rendered := make([]string, len(calls))
	for i, call := range calls {
		rendered[i] = fmt.Sprintf(form, i+1, call[0], call[1])
	}
	return strings.Join(rendered, ",")
}

// options configure this provider alone, at the endpoint.
func (s spoken) options(e *endpoint) llm.Options {
	var options llm.Options
	s.set(&options, llm.Config{Key: secret.New(matchertest.Key), BaseURL: e.server.URL, Model: "m"})
	return options
}

// match asks the provider about one message, for which it answers with the bodies.
func (s spoken) match(t *testing.T, request matcher.Request, bodies ...string) (matcher.Result, []question) {
	t.Helper()
	e := newEndpoint(t, bodies...)
	result, err := llm.New(s.options(e)).Match(t.Context(), request)
	require.NoError(t, err)
	require.Len(t, e.questions(), len(bodies), "requests")
	return result, e.questions()
}

// decoded reads JSON with every digit of its numbers.
func decoded(t testing.TB, text string) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	require.NoError(t, decoder.Decode(&value), text)
	return value
}

// renamed replaces whole strings within a value.
func renamed(value any, names map[string]string) any {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			value[name] = renamed(member, names)
		}
	case []any:
		for i, member := range value {
			value[i] = renamed(member, names)
		}
	case string:
		if name, known := names[value]; known {
			return name
		}
	}
	return value
}
