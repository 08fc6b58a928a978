package canonical_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/trigger/canonical"
)

func TestDigestComparesByValue(t *testing.T) {
	of := func(value any) string { return canonical.Digest(map[string]any{"v": value}) }
	for _, same := range [][]any{
		{json.Number("5"), json.Number("5.0"), json.Number("50e-1"), json.Number("0.5E1"), 5, 5.0},
		{"Zürich", "Zu\u0308rich"},
		{map[string]any{"a": "x", "b": nil}, map[string]any{"b": nil, "a": "x"}},
	} {
		for _, value := range same {
			require.Equal(t, of(same[0]), of(value), "%v", value)
		}
	}
}
