package main

import (
	"bytes"
	"earshot/deploy/testbed"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"
)

// Marks around the tools that a text calls for. JSON does not escape them.
const opening, closing = "[[ ", " ]]"

const llmArguments = `{"day":"Friday"}`

func calling(text string, tools ...string) string {
	return text + " on Friday " + opening + strings.Join(tools, " ") + closing
}

const streamEnd = "data: [DONE]\n\n"

// answering is a fake LLM: it calls the tools that the last text names, after think, and costs little.
func answering(think time.Duration) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return // the client has gone
		}
		testbed.Wait(request.Context(), think)
		if !bytes.Contains(body, []byte(`"stream":true`)) {
			out.Header().Set("Content-Type", "application/json")
			_, _ = out.Write(completion(toolsIn(body))) // a client that has gone needs none
			return
		}
		out.Header().Set("Content-Type", "text/event-stream")
		for _, delta := range []string{`{"role":"assistant","content":""}`, `{"content":"It is "}`, `{"content":"noon."}`} {
			_, _ = fmt.Fprintf(out, `data: {"id":"c","object":"chat.completion.chunk","model":"double","choices":[{"index":0,"delta":%s,"finish_reason":null}]}`+"\n\n", delta)
			_ = http.NewResponseController(out).Flush() // a client that has gone needs none
		}
		_, _ = io.WriteString(out, streamEnd)
	})
}

// toolsIn does not parse the request: that would cost more than all else here, and grow with the number of tools.
func toolsIn(body []byte) []string {
	at := bytes.LastIndex(body, []byte(opening))
	if at < 0 {
		return nil
	}
	names, _, _ := bytes.Cut(body[at+len(opening):], []byte(closing))
	return strings.Fields(string(names))
}

func completion(tools []string) []byte {
	message, finish := `{"role":"assistant","content":"nothing"}`, "stop"
	if len(tools) > 0 {
		calls := make([]string, len(tools))
		for i, name := range tools {
			calls[i] = fmt.Sprintf(`{"id":"call_%d","type":"function","function":{"name":%q,"arguments":%q}}`, i, name, llmArguments)
		}
		message, finish = `{"role":"assistant","content":null,"tool_calls":[`+strings.Join(calls, ",")+`]}`, "tool_calls"
	}
	return fmt.Appendf(nil, `{"id":"c","object":"chat.completion","model":"double","choices":[{"index":0,"message":%s,"finish_reason":%q}],`+
		`"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`, message, finish)
}

// relayTo is the least that relays chats with the standard library. It reads the request first, since late input
// would break some answers.
func relayTo(llm string) (http.Handler, error) {
	to, err := url.Parse(llm + "/chat/completions")
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.DisableCompression = 1024, true
	proxy := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL, r.Out.Host = to, to.Host
	}}
	return http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
		if request.Method == http.MethodGet { // whether it is ready
			return
		}
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return // the client has gone
		}
		request.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(out, request)
	}), nil
}
