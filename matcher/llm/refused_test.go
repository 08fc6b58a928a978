package llm_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/llm"
	"earshot/matcher/llm/llmtest"
	"earshot/matcher/matchertest"
	"earshot/repositories"
)

// refusing answers requests that have the member with the refusal, and all others.
func refusing(member, refusal string) func(llmtest.Request) llmtest.Reply {
	return func(request llmtest.Request) llmtest.Reply {
		if strings.Contains(string(request.Body), `"`+member+`":`) {
			return llmtest.Status(400, nil, refusal)
		}
		return llmtest.Call("book", `{"day":"mon"}`)
	}
}

// requestOf is a message of an app that names a model.
func requestOf(t *testing.T, model string) matcher.Request {
	request := matchertest.Request(t, "book monday", matchertest.BookTool)
	request.App = &repositories.App{ID: "clinic"}
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
			server := llmtest.New(t)
			server.Handle(refusing("stream", refusal))
			model := newLLM(server)
			for i, sent := range []int{2, 3, 4} {
				result, err := model.Match(t.Context(), requestOf(t, "o3"))
				require.NoError(t, err)
				require.Equal(t, []string{`book {"day":"mon","desk":"A"}`}, matchertest.Fired(result))
				require.Equal(t, sent, server.Count(), "message %d", i)
			}
			require.Equal(t, server.Requests()[0].Messages, server.Requests()[1].Messages)
			require.Equal(t, server.Requests()[0].Tools, server.Requests()[1].Tools)
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
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t)
			server.Queue(llmtest.Status(400, nil, refusal))
			require.Contains(t, unavailable(t, llmOptions(server)).Reason, "HTTP 400")
			require.Equal(t, 1, server.Count())
		})
	}
	server := llmtest.New(t)
	server.Queue(llmtest.Status(503, nil, `{"error":{"message":"Unsupported parameter: 'stream'","param":"stream"}}`))
	require.Contains(t, unavailable(t, llmOptions(server)).Reason, "HTTP 503")
	require.Equal(t, 1, server.Count(), "a server in trouble refuses no parameter")
}

func TestRequestThatIsRefusedTwiceIsNotSentAThirdTime(t *testing.T) {
	server := llmtest.New(t)
	refusal := `{"error":{"message":"Unsupported parameter: 'stream'","param":"stream"}}`
	server.Queue(llmtest.Status(400, nil, refusal), llmtest.Status(400, nil, refusal))
	require.Contains(t, unavailable(t, llmOptions(server)).Reason, "stream")
	require.Equal(t, 2, server.Count())
}

func TestRequestWithoutWhatIsRefusedHasTheTimeThatIsLeft(t *testing.T) {
	server := llmtest.New(t)
	server.Queue(llmtest.Status(400, nil, `{"error":{"param":"stream"}}`), llmtest.Hang())
	options := llmOptions(server)
	options.Timeout = 300 * time.Millisecond
	require.Contains(t, unavailable(t, options).Reason, "no answer within 300ms")
}

// TestModelsThatRefuseAreForgotten asks more models than are remembered.
func TestModelsThatRefuseAreForgotten(t *testing.T) {
	const models = 300
	server := llmtest.New(t)
	server.Handle(refusing("stream", `{"error":{"param":"stream"}}`))
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

// TestEndpointThatTakesNoMarksOfTheCacheGetsNone plays one that speaks Anthropic's form
// and knows no cache.
func TestEndpointThatTakesNoMarksOfTheCacheGetsNone(t *testing.T) {
	claude := called("anthropic")
	e := newEndpoint(t, "", claude.text("none"), claude.text("none"))
	e.replies[0] = answer{status: 400, body: `{"type":"error","error":{"type":"invalid_request_error","message":"tools.0.cache_control: Extra inputs are not permitted"}}`}
	model := llm.New(claude.options(e))
	for range 2 {
		_, err := model.Match(t.Context(), matchertest.Request(t, "book monday", matchertest.BookTool))
		require.NoError(t, err)
	}
	asked := e.questions()
	require.Len(t, asked, 3)
	require.Contains(t, asked[0].body, `,"cache_control":{"type":"ephemeral"}`)
	bare := strings.ReplaceAll(asked[0].body, `,"cache_control":{"type":"ephemeral"}`, "")
	require.Equal(t, bare, asked[1].body)
	require.Equal(t, bare, asked[2].body)
}
