package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"earshot/deploy/testbed"
	"earshot/repositories/lists"
)

type route struct {
	name    string
	to      *server
	path    string
	session string // field of the body that names one
	anew    bool   // each request says something else
}

// chats measures streamed chats that Earshot relays, and the least that relays them, and the model itself.
func (b *bench) chats(ctx context.Context) {
	relay, earshot := b.play("relay", role{Name: roleRelay, LLM: b.llm()}), b.earshot()
	b.must(workload{app: "chats", tools: b.tools}.register(ctx, newClient(earshot, 1)))
	const heard = "/v1/apps/chats/openai/v1/chat/completions"
	routes := []route{
		{name: "the model itself", to: b.model, path: "/v1/chat/completions"},
		{name: "bare relay", to: relay, path: "/chat/completions"},
		{name: "Earshot, nothing heard", to: earshot, path: heard},
		{name: "Earshot, the same again", to: earshot, path: heard, session: `"user":"s1",`},
		{name: "Earshot, each a message", to: earshot, path: heard, session: `"user":"s2",`, anew: true},
	}
	for _, connections := range b.connections {
		rounds := make([][]figures, b.rounds)
		for i := range rounds {
			for _, way := range routes {
				rounds[i] = append(rounds[i], b.measure(ctx, way.chat, b.at(connections), nil, way.to))
			}
		}
		b.note("## streamed chats, %s, %s", b.at(connections), b.rounded())
		// Medians of all rounds. The time added is relative to the model itself in the same round, its ratio to the bare relay.
		rows := [][]string{{"by way of", "streams/s", "× relay", "first byte, p50 ms", "added ms", "× relay", "p99 ms", "failed"}}
		for n, way := range routes {
			row := []string{way.name}
			added := func(r []figures, n int) float64 { return r[n][p50] - r[0][p50] }
			for _, column := range []struct {
				format string
				of     func(r []figures) float64
			}{
				{"%.0f", func(r []figures) float64 { return r[n][rate] }},
				{"%.2f", func(r []figures) float64 { return r[n][rate] / r[1][rate] }},
				{"%.3f", func(r []figures) float64 { return r[n][p50] }},
				{"%.3f", func(r []figures) float64 { return added(r, n) }},
				{"%.2f", func(r []figures) float64 { return added(r, n) / added(r, 1) }},
				{"%.3f", func(r []figures) float64 { return r[n][p99] }},
				{"%.0f", func(r []figures) float64 { return r[n][failed] }},
			} {
				values := lists.Map(rounds, func(round []figures) float64 { return column.of(round) })
				row = append(row, fmt.Sprintf(column.format, median(values)))
			}
			rows = append(rows, row)
		}
		b.table(rows)
	}
}

// chat sends a chat. The time that counts is that of the answer's first byte.
func (r route) chat(ctx context.Context, replicas []client, i int) (time.Duration, error) {
	if !r.anew {
		i = 0
	}
	body := fmt.Sprintf(`{"model":"double","stream":true,%s"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"What time is it, %d?"}]}`, r.session, i)
	began := time.Now()
	response, err := replicas[0].Open(ctx, http.MethodPost, r.path, body)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }() // read to its end
	var byteOne [1]byte
	if _, err := io.ReadFull(response.Body, byteOne[:]); err != nil {
		return 0, err
	}
	first := time.Since(began)
	rest, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || !bytes.HasSuffix(rest, []byte(testbed.CompletionEnd))) {
		err = fmt.Errorf("%s: %s%s", response.Status, byteOne, rest)
	}
	return first, err
}

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

// relayTo is the least relay with the standard library. It reads the request first, since late input would break some answers.
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
