package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"earshot/deploy/testbed"
)

// Marks around the tools that a text calls for. JSON does not escape them.
const opening, closing = "[[ ", " ]]"

const llmArguments = `{"day":"Friday"}`

func calling(text string, tools ...string) string {
	return text + " on Friday " + opening + strings.Join(tools, " ") + closing
}

// answering is a fake LLM: it calls the tools that the last text names, after think, and costs little.
func answering(think time.Duration) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return // the client has gone
		}
		testbed.Wait(request.Context(), think)
		answer := testbed.Completion{Text: "nothing"}
		// To parse the request would cost more than all else here, and grow with the number of tools.
		if at := bytes.LastIndex(body, []byte(opening)); at >= 0 {
			names, _, _ := bytes.Cut(body[at+len(opening):], []byte(closing))
			for name := range strings.FieldsSeq(string(names)) {
				answer.Calls = append(answer.Calls, [2]string{name, llmArguments})
			}
		}
		answer.Write(out, bytes.Contains(body, []byte(`"stream":true`)))
	})
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
