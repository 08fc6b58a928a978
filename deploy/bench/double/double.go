// Package double is an LLM that calls what the text tells it to, for measurements: it
// speaks the chat completions of OpenAI, thinks for a fixed time and costs little.
package double

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Marks around the names of the tools that a text has called. JSON needs no escapes for them.
const (
	before = "[[ "
	behind = " ]]"
)

// Arguments are those of every call.
const Arguments = `{"day":"Friday"}`

// Ask writes into a text which tools the model shall call.
func Ask(text string, tools ...string) string {
	return text + " on Friday " + before + strings.Join(tools, " ") + behind
}

// Handler answers chat completions with the calls that the last text asks for, after
// think.
func Handler(think time.Duration) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return // the client has gone
		}
		if think > 0 {
			select {
			case <-request.Context().Done():
				return
			case <-time.After(think):
			}
		}
		if bytes.Contains(body, streamed) {
			stream(out)
			return
		}
		out.Header().Set("Content-Type", "application/json")
		_, _ = out.Write(completion(asked(body))) // a client that has gone needs none
	})
}

// streamed is in the body of a request whose answer is to be streamed.
var streamed = []byte(`"stream":true`)

// End is what a stream ends with.
const End = "data: [DONE]\n\n"

// stream answers at once with a few events.
func stream(out http.ResponseWriter) {
	out.Header().Set("Content-Type", "text/event-stream")
	for _, delta := range []string{`{"role":"assistant","content":""}`, `{"content":"It is "}`, `{"content":"noon."}`} {
		_, _ = fmt.Fprintf(out, `data: {"id":"c","object":"chat.completion.chunk","model":"double","choices":[{"index":0,"delta":%s,"finish_reason":null}]}`+"\n\n", delta)
		_ = http.NewResponseController(out).Flush() // a client that has gone needs none
	}
	_, _ = io.WriteString(out, End)
}

// asked lists the tools that the last text in a request asks for. The request is not
// parsed: that would cost more than all else here, and grow with the number of tools.
func asked(body []byte) []string {
	_, names, found := cutLast(body, before)
	if !found {
		return nil
	}
	names, _, _ = bytes.Cut(names, []byte(behind))
	return strings.Fields(string(names))
}

func cutLast(text []byte, mark string) (head, tail []byte, found bool) {
	if at := bytes.LastIndex(text, []byte(mark)); at >= 0 {
		return text[:at], text[at+len(mark):], true
	}
	return text, nil, false
}

func completion(tools []string) []byte {
	message, finish := `{"role":"assistant","content":"nothing"}`, "stop"
	if len(tools) > 0 {
		calls := make([]string, len(tools))
		for i, name := range tools {
			calls[i] = fmt.Sprintf(`{"id":"call_%d","type":"function","function":{"name":%q,"arguments":%q}}`, i, name, Arguments)
		}
		message, finish = `{"role":"assistant","content":null,"tool_calls":[`+strings.Join(calls, ",")+`]}`, "tool_calls"
	}
	return fmt.Appendf(nil, `{"id":"c","object":"chat.completion","model":"double","choices":[{"index":0,"message":%s,"finish_reason":%q}],`+
		`"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`, message, finish)
}
