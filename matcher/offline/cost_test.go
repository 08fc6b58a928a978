package offline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/matchertest"
	"earshot/matcher/offline"
)

// BenchmarkMatch measures a message without a model, with compiled tools.
func BenchmarkMatch(b *testing.B) {
	for name, n := range map[string]int{"150 tools": 150, "10,000 tools": 10_000} {
		candidates, messages := matchertest.Many(b, n)
		one := matcher.Request{Candidates: candidates, Shared: &matcher.Shared{Tools: candidates}, Now: matchertest.Friday}
		o := offline.New()
		match := func(i int) {
			one.Text = messages[i%len(messages)]
			_, err := o.Match(b.Context(), one)
			require.NoError(b, err)
		}
		match(0)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				match(i)
			}
		})
	}
}
