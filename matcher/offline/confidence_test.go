package offline

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEverySignHasAWeight(t *testing.T) {
	require.NotContains(t, SignNames, "")
	for i, weight := range weights {
		require.False(t, math.IsNaN(weight) || math.Abs(weight) > 20, SignNames[i])
	}
	require.Positive(t, weights[signLead])
	require.Positive(t, weights[signSimilarity])
	require.Positive(t, weights[signAll])
	require.Negative(t, weights[signForeignMood])
	require.Less(t, 0.0, Likely)
	require.Less(t, Likely, Certain)
	require.Less(t, Certain, Sure)
	require.Less(t, Sure, 1.0)
}

func TestATextThatIsTheToolsOwnIsSureAndOneWithoutACommonWordIsNot(t *testing.T) {
	same := Signs{signSimilarity: 1, signLead: 0.9, signKnown: 1, signAnybody: 1, signAll: 1, signNamed: 1, signOnly: 1, signLength: 1.5}
	require.Greater(t, same.Probability(), Certain)
	require.False(t, same.strange())
	foreign := Signs{signSimilarity: 0.1, signOnly: 0.2, signLength: 1.5}
	require.Less(t, foreign.Probability(), Likely)
	require.True(t, foreign.strange())
}
