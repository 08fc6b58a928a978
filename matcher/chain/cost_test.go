package chain_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/chain"
	"earshot/matcher/llm"
	"earshot/matcher/llm/llmtest"
	"earshot/matcher/matchertest"
)

// BenchmarkMatch measures the whole matcher for a message, with an immediate model and without one.
func BenchmarkMatch(b *testing.B) {
	server := llmtest.New(b)
	server.Handle(func(llmtest.Request) llmtest.Reply { return llmtest.Text("none") })
	for name, options := range map[string]llm.Options{"llm": options(server), "offline": {}} {
		for _, n := range []int{10, 100, 150, 1000, 1841, 10_000} {
			candidates, messages := matchertest.Many(b, n)
			request := matcher.Request{Candidates: candidates, Shared: &matcher.Shared{Tools: candidates}}
			matching := chain.New(options)
			request.Text = messages[0]
			_, err := matching.Match(b.Context(), request) // compiles the tools
			require.NoError(b, err)
			b.Run(fmt.Sprintf("%s/tools=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					request.Text = messages[i%len(messages)]
					_, err := matching.Match(b.Context(), request)
					require.NoError(b, err)
				}
			})
		}
	}
}
