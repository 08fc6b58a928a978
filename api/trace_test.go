package api_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

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
