package httpcall

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
)

func TestTokenIsRenewedHalfAMinuteOrAFifthOfItsLifeEarly(t *testing.T) {
	now := time.Date(2026, 12, 1, 9, 30, 0, 0, time.UTC)
	for name, test := range map[string]struct{ life, renew, end time.Duration }{
		"an hour":      {time.Hour, time.Hour - 30*time.Second, time.Hour},
		"short":        {20 * time.Second, 16 * time.Second, 20 * time.Second},
		"over already": {-time.Minute, 0, 0},
	} {
		given := &oauth2.Token{AccessToken: "a", Expiry: time.Now().Add(test.life)}
		made := tokenFrom(given, oauth2.AuthStyleInParams, now)
		require.WithinDuration(t, now.Add(test.renew), made.renew, 2*time.Second, name)
		require.WithinDuration(t, now.Add(test.end), made.end, 2*time.Second, name)
	}
	unsaid := tokenFrom(&oauth2.Token{AccessToken: "a"}, oauth2.AuthStyleInParams, now)
	require.Equal(t, now.Add(5*time.Minute), unsaid.end)
}

func TestFlightThatComesLateFindsTheTokenOfTheOneBefore(t *testing.T) {
	o := Options{}.withDefaults()
	kept := newTokenCache(nil, o) // without a client: a request would panic
	g := &grant{key: "k"}
	kept.cached.Add(g.key, accessToken{text: "fresh", renew: time.Now().Add(time.Hour)})
	access, err := kept.renew(t.Context(), g)
	require.NoError(t, err)
	require.Equal(t, "fresh", access)
}
