package httpcall

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/trigger/effect"
)

func TestEveryStatusHasItsVerdict(t *testing.T) {
	type ruling struct {
		verdict effect.Verdict
		reason  effect.Reason
	}
	refused := ruling{effect.Dead, effect.ReasonRequest}
	busy := ruling{effect.Retry, effect.ReasonRequest}
	exceptions := map[int]ruling{
		401: {effect.Dead, effect.ReasonAuth},
		408: {effect.Retry, effect.ReasonTimeout},
		425: busy,
		429: busy,
	}
	classes := map[int]ruling{1: refused, 2: {effect.Done, ""}, 3: refused, 4: refused, 5: busy}
	for status := 100; status <= 599; status++ {
		want, special := exceptions[status]
		if !special {
			want = classes[status/100]
		}
		verdict, reason := verdictOf(status)
		require.Equal(t, want, ruling{verdict, reason}, "status %d", status)
	}
}

func TestRetryAfterIsReadInBothForms(t *testing.T) {
	now := time.Date(2026, 12, 1, 9, 30, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"":                              0,
		"0":                             0,
		"7":                             7 * time.Second,
		"-7":                            0,
		"soon":                          0,
		"1.5":                           0,
		"99999999999":                   24 * time.Hour,
		"999999999999999999999":         0,
		"Tue, 01 Dec 2026 09:31:00 GMT": time.Minute,
		"Tue, 01 Dec 2026 09:29:00 GMT": 0,
		"Tue, 01 Dec 2099 09:29:00 GMT": 24 * time.Hour,
	} {
		require.Equal(t, want, pauseIn(http.Header{"Retry-After": {text}}, now), "%q", text)
	}
	require.Zero(t, pauseIn(http.Header{}, now))
}
