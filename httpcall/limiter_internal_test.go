package httpcall

import (
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/trigger/effect"
)

func testGate() (*hostLimiter, *url.URL) {
	o := Options{BreakAfter: 2, Jitter: func(d time.Duration) time.Duration { return d }}.withDefaults()
	return newHostLimiter(o), &url.URL{Scheme: "https", Host: "a.example"}
}

func pass(t *testing.T, g *hostLimiter, target *url.URL, state hostHealth) {
	t.Helper()
	leave, err := g.acquire(t.Context(), "clinic", target)
	require.NoError(t, err)
	leave(state)
}

// The bubble's clock is the one that the breaker reads, so half a minute takes no time.
func TestClosedOffHostIsProbedByOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, target := testGate()
		pass(t, g, target, down)
		pass(t, g, target, down)
		_, err := g.acquire(t.Context(), "clinic", target)
		require.ErrorContains(t, err, "closed off")

		time.Sleep(31 * time.Second)
		probe, err := g.acquire(t.Context(), "clinic", target)
		require.NoError(t, err)
		_, err = g.acquire(t.Context(), "clinic", target)
		require.Error(t, err, "one probe at a time")
		probe(down)
		_, err = g.acquire(t.Context(), "clinic", target)
		require.Error(t, err, "the probe failed: closed off for another while")

		time.Sleep(31 * time.Second)
		pass(t, g, target, unknown) // learns nothing, so the next one probes
		pass(t, g, target, alive)
		pass(t, g, target, down)
		pass(t, g, target, alive)
	})
}

func TestWaitForASlotEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, target := testGate()
		for range 8 {
			_, err := g.acquire(t.Context(), "clinic", target)
			require.NoError(t, err)
		}
		began := time.Now()
		_, err := g.acquire(t.Context(), "clinic", target)
		require.True(t, effect.OutcomeOf(err).Deferred)
		require.Equal(t, time.Second, time.Since(began))
	})
}

func TestJitterStaysWithinAFifth(t *testing.T) {
	for range 1000 {
		pause := Options{}.withDefaults().Jitter(10 * time.Second)
		require.GreaterOrEqual(t, pause, 8*time.Second)
		require.LessOrEqual(t, pause, 12*time.Second)
	}
}
