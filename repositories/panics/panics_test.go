package panics_test

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"earshot/repositories/panics"
)

// TestAPanicIsLoggedWithItsPlaceAndNotWithItsValue has a panic of the program, whose value may contain a user's
// words, and one of the runtime.
func TestAPanicIsLoggedWithItsPlaceAndNotWithItsValue(t *testing.T) {
	for said, do := range map[string]func(){
		`"panic":"string"`:       func() { panic("my card is 4711") },
		"index out of range [3]": func() { _ = make([]int, len(t.Name()))[:1][len("abc")] },
	} {
		var out bytes.Buffer
		ended := panics.Run(slog.New(slog.NewJSONHandler(&out, nil)), "calls", "clinic/t1", do)
		require.False(t, ended)
		require.Contains(t, out.String(), `"msg":"panic.caught","in":"calls","entry":"clinic/t1"`)
		require.Contains(t, out.String(), said)
		require.Contains(t, out.String(), "panics_test.go", "the stack")
		require.NotContains(t, out.String(), "4711")
	}
	require.True(t, panics.Run(slog.New(slog.DiscardHandler), "calls", "", func() {}))
	counters := make(chan prometheus.Metric, 100)
	panics.Metrics().Collect(counters)
	require.Len(t, counters, 14, "all places have a counter before the first panic")
}
