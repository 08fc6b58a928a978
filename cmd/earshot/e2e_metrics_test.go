package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMetricsAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	refusing := newEndpoint(t, func(out http.ResponseWriter, _ received) { out.WriteHeader(http.StatusNotFound) })
	w.tool(`"url":"` + refusing.URL + `"`)
	require.Equal(t, "failed", w.say("s1", "m1", "call book {}").Matches[0].Call.State)
	var shown string
	w.until("the failed trigger is counted", func() bool {
		shown = w.call(200, "GET", "/metrics", "").Body
		return strings.Contains(shown, "\nearshot_dead 1\n") && strings.Contains(shown, "\nearshot_effects_due 0\n")
	})
	for _, line := range []string{
		`earshot_messages_total{outcome="matched"} 1`, `earshot_match_seconds_count 1`, `earshot_llm_seconds_count 1`,
		`earshot_llm_tokens_total{kind="prompt"} 100`, `earshot_effects_total{kind="call",outcome="dead"} 1`, `earshot_effects_oldest_seconds 0`,
	} {
		require.Contains(t, shown, "\n"+line+"\n")
	}
}
