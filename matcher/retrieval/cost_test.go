package retrieval_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/matchertest"
	"earshot/matcher/retrieval"
)

// TestASessionsToolsCostWhatTheyAreAlone compiles a session's tools for each message, but not the app's many tools.
func TestASessionsToolsCostWhatTheyAreAlone(t *testing.T) {
	cost := func(n int) float64 {
		app, messages := matchertest.Many(t, n)
		one := ofSession(t, app, "", `{"name":"zeta","description":"Zeta of the session"}`)
		one.Text, one.Own[0].Repository.Revision = messages[0], "" // prevents caching
		r := retrieval.New()
		return testing.AllocsPerRun(5, func() { r.Offer(t.Context(), one, 8) })
	}
	few, much := cost(100), cost(1000)
	require.Less(t, much, 2*few)
}

func BenchmarkOffer(b *testing.B) {
	for _, n := range []int{10, 150, 1000, 1841, 10_000} {
		candidates, messages := matchertest.Many(b, n)
		r, limit := retrieval.New(), min(32, n-1)
		one := request("", candidates)
		one.Shared = &matcher.Shared{Tools: candidates}
		r.Offer(b.Context(), one, limit)
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				one.Text = messages[i%len(messages)]
				r.Offer(b.Context(), one, limit)
			}
		})
	}
}

func request(text string, candidates []matcher.Candidate) matcher.Request {
	return matcher.Request{Text: text, Candidates: candidates}
}
