package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"earshot/api"
	"earshot/trigger"
)

const callersTrace = "4bf92f3577b34da6a3ce929d0e0e4736"

func traceOf(s *service, header string) string {
	s.engine.answer = json.RawMessage(noMatch)
	s.call("POST", messagesPath, hello, "traceparent: "+header).is(200, "")
	return s.engine.last().Args[0].(trigger.Message).TraceParent
}

func TestAMessageCarriesTheCallersTraceWithASpanOfItsOwn(t *testing.T) {
	s := start(t)
	for _, flags := range []string{"00", "01"} {
		got := traceOf(s, "00-"+callersTrace+"-00f067aa0ba902b7-"+flags)
		require.Regexp(t, "^00-"+callersTrace+"-[0-9a-f]{16}-"+flags+"$", got)
		require.NotContains(t, got, "00f067aa0ba902b7")
	}
}

func TestWithoutAValidTraceOneIsBegun(t *testing.T) {
	s := start(t)
	seen := map[string]bool{}
	for _, header := range []string{"", "garbage", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", "ff-" + callersTrace + "-00f067aa0ba902b7-01"} {
		got := traceOf(s, header)
		require.Regexp(t, "^00-[0-9a-f]{32}-[0-9a-f]{16}-01$", got)
		require.NotContains(t, got, callersTrace)
		seen[got] = true
	}
	require.Len(t, seen, 4)
}

func TestTheSpanOfARequestSaysHowItEnded(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	s := start(t, func(o *api.Options) { o.Traces = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)) })
	s.engine.err = errors.New("planted")
	s.call("POST", messagesPath, hello)
	s.call("GET", "/v1/apps/-planted", "")

	ended := spans.Ended()
	failed, refused := ended[len(ended)-2], ended[len(ended)-1]
	require.Equal(t, "/v1/apps/:appId/sessions/:sessionId/messages", failed.Name())
	require.Equal(t, codes.Error, failed.Status().Code)
	require.Contains(t, failed.Attributes(), attribute.Int("http.response.status_code", 500))
	require.Equal(t, codes.Unset, refused.Status().Code)
	require.Contains(t, refused.Attributes(), attribute.Int("http.response.status_code", 400))
	for _, span := range ended {
		require.NotContains(t, fmt.Sprint(span.Name(), span.Attributes(), span.Status(), span.Events()), "planted")
	}
}
