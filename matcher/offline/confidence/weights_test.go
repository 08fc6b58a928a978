package confidence

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEverySignHasAWeight(t *testing.T) {
	require.Len(t, Names(), int(signCount))
	for i, weight := range weights {
		require.False(t, math.IsNaN(weight) || math.Abs(weight) > 20, Names()[i])
	}
	require.Positive(t, weights[lead])
	require.Positive(t, weights[similarity])
	require.Positive(t, weights[all])
	require.Negative(t, weights[foreignMood])
	require.Less(t, 0.0, Likely)
	require.Less(t, Likely, Certain)
	require.Less(t, Certain, Sure)
	require.Less(t, Sure, 1.0)
}

func TestATextThatIsTheToolsOwnIsSureAndOneWithoutACommonWordIsNot(t *testing.T) {
	same := Signs{similarity: 1, lead: 0.9, known: 1, anybody: 1, all: 1, named: 1, only: 1, length: 1.5}
	require.Greater(t, same.Probability(), Certain)
	require.False(t, same.Strange())
	foreign := Signs{similarity: 0.1, only: 0.2, length: 1.5}
	require.Less(t, foreign.Probability(), Likely)
	require.True(t, foreign.Strange())
}
