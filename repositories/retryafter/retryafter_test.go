package retryafter_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/repositories/retryafter"
)

func TestPauseIsReadInBothForms(t *testing.T) {
	now := time.Date(2026, 12, 1, 9, 30, 0, 0, time.UTC)
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"":                                0,
		"0":                               0,
		"7":                               7 * time.Second,
		" 12 ":                            12 * time.Second,
		"-7":                              0,
		"soon":                            0,
		"1.5":                             1500 * time.Millisecond,
		"1m":                              0,
		"1e9":                             0,
		"99999999999":                     day,
		"999999999999999999999":           0,
		"Tue, 01 Dec 2026 09:31:00 GMT":   time.Minute,
		"Tuesday, 01-Dec-26 09:30:05 GMT": 5 * time.Second,
		"Tue, 01 Dec 2026 09:29:00 GMT":   0,
		"Tue, 01 Dec 2099 09:29:00 GMT":   day,
	} {
		require.Equal(t, want, retryafter.Pause(http.Header{"Retry-After": {text}}, now, day), "%q", text)
	}
	require.Zero(t, retryafter.Pause(http.Header{}, now, day))
}
