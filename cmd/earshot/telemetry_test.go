package main

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlptrace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

type exported struct {
	*otlptrace.Span
	attributes map[string]string // numbers as text
}

func (s exported) id() string     { return hex.EncodeToString(s.SpanId) }
func (s exported) trace() string  { return hex.EncodeToString(s.TraceId) }
func (s exported) parent() string { return hex.EncodeToString(s.ParentSpanId) }

func (s exported) traceParent() string { return "00-" + s.trace() + "-" + s.id() + "-01" }

// otlp is a collector for traces over HTTP, in OTLP's protobuf.
type otlp struct {
	*httptest.Server
	mu      sync.Mutex
	spans   []exported
	service string
	faults  []string
}

func newCollector(t *testing.T) *otlp {
	c := &otlp{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var got collector.ExportTraceServiceRequest
		c.mu.Lock()
		defer c.mu.Unlock()
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &got) != nil {
			c.faults = append(c.faults, r.Method+" "+r.URL.Path)
		}
		c.take(&got)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *otlp) take(got *collector.ExportTraceServiceRequest) {
	for _, of := range got.ResourceSpans {
		c.service = textsOf(of.Resource.Attributes)["service.name"]
		for _, scope := range of.ScopeSpans {
			for _, span := range scope.Spans {
				c.spans = append(c.spans, exported{span, textsOf(span.Attributes)})
			}
		}
	}
}

func textsOf(list []*common.KeyValue) map[string]string {
	found := map[string]string{}
	for _, one := range list {
		found[one.Key] = strings.Trim(strings.SplitN(one.Value.String(), ":", 2)[1], `" `)
	}
	return found
}

func (c *otlp) named(name string) []exported {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []exported
	for _, span := range c.spans {
		if span.Name == name {
			found = append(found, span)
		}
	}
	return found
}

// traced starts a world with a collector. The SDK reads the process environment, so no other test may run at
// the same time.
func traced(t *testing.T) (*world, *otlp) {
	c := newCollector(t)
	w := newWorld(t)
	for name, value := range map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL, "OTEL_BSP_SCHEDULE_DELAY": "20", "OTEL_SERVICE_NAME": "earshot-of-the-tests"} {
		t.Setenv(name, value)
		w.env[name] = value
	}
	w.env["OTEL_SDK_DISABLED"] = os.Getenv("OTEL_SDK_DISABLED")
	w.serve()
	w.put("/v1/apps/clinic", `{"name":"Clinic"}`)
	return w, c
}

func TestOneTraceLeadsFromARequestToItsSubscriberAndItsEndpoint(t *testing.T) {
	w, c := traced(t)
	sink := newSink(t)
	sink.answer(http.StatusServiceUnavailable)
	w.tool(`"url":"` + sink.URL + `/planted-path","parameters":[{"name":"day","type":"string","description":"day"}]`)
	const caller = "4bf92f3577b34da6a3ce929d0e0e4736"
	fired := w.say("s1", "m1", `call book {"day":"planted-value"}`, "traceparent", "00-"+caller+"-00f067aa0ba902b7-01").Matches[0]
	sink.answer(http.StatusOK)
	w.rest()
	w.until("all spans are exported", func() bool {
		return len(c.named("POST")) == 2 && len(c.named("message")) == 1 && len(c.named("POST /v1/apps/:appId/sessions/:sessionId/messages")) == 1
	})

	below := func(name string, parent exported) exported {
		spans := c.named(name)
		require.NotEmpty(t, spans, name)
		require.Equal(t, parent.id(), spans[0].parent(), "%s is below %s", name, parent.Name)
		require.Equal(t, caller, spans[0].trace(), name)
		return spans[0]
	}
	request := c.named("POST /v1/apps/:appId/sessions/:sessionId/messages")[0]
	require.Equal(t, "00f067aa0ba902b7", request.parent())
	require.Equal(t, otlptrace.Span_SPAN_KIND_SERVER, request.Kind)
	message := below("message", request)
	require.Equal(t, map[string]string{
		"earshot.app.id": "clinic", "gen_ai.conversation.id": "s1", "earshot.message.id": "m1",
		"earshot.match.stage": "llm", "earshot.match.tools": "1", "earshot.match.rejected": "0",
	}, message.attributes)
	chat := below("chat gpt-4o-mini", below("match", message))
	require.Equal(t, otlptrace.Span_SPAN_KIND_CLIENT, chat.Kind)
	require.Equal(t, "openai", chat.attributes["gen_ai.provider.name"])
	require.NotEqual(t, "0", chat.attributes["gen_ai.usage.input_tokens"])
	tool := below("execute_tool book", message)
	require.Equal(t, fired.TriggerID, tool.attributes["gen_ai.tool.call.id"])
	event := below("send tool.trigger", tool)
	require.Equal(t, otlptrace.Span_SPAN_KIND_PRODUCER, event.Kind)
	require.Equal(t, event.traceParent(), w.events("tool.trigger.>")[0].Header.Get("traceparent"), "a subscriber goes on below it")
	call := below("POST", tool)
	require.Equal(t, "503", call.attributes["http.response.status_code"])
	require.Equal(t, otlptrace.Status_STATUS_CODE_ERROR, call.Status.Code)
	require.Equal(t, call.traceParent(), sink.requests()[0].Header.Get("Traceparent"))

	again := c.named("POST")[1]
	require.NotEqual(t, caller, again.trace(), "what is tried again has a trace of its own")
	require.Len(t, again.Links, 1)
	require.Equal(t, tool.SpanId, again.Links[0].SpanId)
	require.Equal(t, again.traceParent(), sink.requests()[1].Header.Get("Traceparent"))
	require.Equal(t, "2", again.attributes["earshot.effect.attempt"])
	require.Equal(t, "1", again.attributes["http.request.resend_count"])

	require.Empty(t, c.faults)
	require.Equal(t, "earshot-of-the-tests", c.service)
	for _, span := range c.spans {
		require.NotRegexp(t, "planted|admin-key|llm-key", span.Span.String(), "no value, path or credential travels")
	}
	require.Contains(t, w.replicas[0].log.String(), `"trace":"`+caller+`"`)
}

func TestACallByMCPGoesOnInTheTraceOfItsClient(t *testing.T) {
	w, c := traced(t)
	w.tool(`"description":"books"`)
	const agent = "0af7651916cd43dd8448eb211c80319c"
	w.call(200, "POST", "/v1/apps/clinic/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"book","arguments":{},"_meta":{"traceparent":"00-`+agent+`-b7ad6b7169203331-01"}}}`,
		"Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2025-11-25")
	w.until("all spans are exported", func() bool {
		return len(c.named("tools/call book")) == 1 && len(c.named("execute_tool book")) == 1 && len(c.named("POST /v1/apps/:appId/mcp")) == 1
	})
	call := c.named("tools/call book")[0]
	require.Equal(t, agent, call.trace())
	require.Equal(t, "b7ad6b7169203331", call.parent())
	require.Len(t, call.Links, 1)
	require.Equal(t, c.named("POST /v1/apps/:appId/mcp")[0].SpanId, call.Links[0].SpanId)
	require.Equal(t, call.id(), c.named("execute_tool book")[0].parent())
	require.Contains(t, w.events("tool.trigger.>")[0].Header.Get("traceparent"), agent)
}

func TestACollectorThatIsAwayHoldsNothingUp(t *testing.T) {
	w, c := traced(t)
	c.Close()
	w.tool(`"description":"books"`)
	w.say("s1", "m1", "call book {}")
	w.say("s1", "m2", "call book {}")
	w.until("it is told", func() bool { return strings.Contains(w.replicas[0].log.String(), `"telemetry.unsent"`) })
	require.Zero(t, w.replicas[0].stop())
	require.LessOrEqual(t, strings.Count(w.replicas[0].log.String(), `"telemetry.unsent"`), 2, "once, and once more at the end")
}

func TestAVariableOfOpenTelemetryThatCannotBeFollowedIsNamed(t *testing.T) {
	for name, value := range map[string]string{"OTEL_TRACES_EXPORTER": "pigeon", "OTEL_METRICS_EXPORTER": "pigeon", "OTEL_EXPORTER_OTLP_ENDPOINT": "pigeon", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "pigeon:4318"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			t.Setenv(name, value)
			w.env[name] = value
			r := failing(t, w.env, "serve")
			require.Contains(t, r.err, name)
			require.Contains(t, r.err, "pigeon")
		})
	}
}

func TestAHeaderForTheCollectorThatIsNoneIsNotShown(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Bearer planted-credential")
	w, _ := traced(t)
	log := w.replicas[0].log.String()
	require.Contains(t, log, "parse headers")
	require.NotContains(t, log, "planted-credential")
}

func TestNothingIsExportedWhereTheSDKIsDisabledOrTheSamplerSaysNo(t *testing.T) {
	for name, value := range map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_SAMPLER": "always_off"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			w, c := traced(t)
			w.tool(`"description":"books"`)
			w.say("s1", "m1", "call book {}")
			require.Zero(t, w.replicas[0].stop(), "what is left is exported")
			require.Empty(t, c.spans)
			require.Contains(t, w.replicas[0].log.String(), `"msg":"message.decided"`)
		})
	}
}
