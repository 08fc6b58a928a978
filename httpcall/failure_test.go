package httpcall

import (
	"testing"

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
