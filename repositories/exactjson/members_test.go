package exactjson_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/exactjson"
)

// TestMembersAreWrittenAsAMapIs compares Members with maps.
func TestMembersAreWrittenAsAMapIs(t *testing.T) {
	for _, members := range []map[string]any{
		nil, {}, {"day": "Friday"}, {"b": json.Number("2"), "a": json.Number("1.50"), "é": true, "": false, "none": nil},
		{"zero": json.Number("0"), "no digits": json.Number(""), "less": json.Number("-1"), "lead": json.Number("10"), "float": 1.5, "int": 3},
		{"text": "a\"b\\c\n\u2028<&>\x7f\xff", "<&>": "ü", "list": []any{"x", map[string]any{"y": []string{"z"}}}, "of": map[string]any{"b": 1, "a": nil}},
	} {
		wanted, err := exactjson.Encode(members)
		require.NoError(t, err)
		got, err := exactjson.Encode(exactjson.Members(members))
		require.NoError(t, err)
		require.Equal(t, string(wanted), string(got))
		escaped, err := json.Marshal(members)
		require.NoError(t, err)
		got, err = json.Marshal(exactjson.Members(members))
		require.NoError(t, err)
		require.Equal(t, string(escaped), string(got))
	}
	for _, faulty := range []any{json.Number("1x"), json.Number("01"), math.NaN()} {
		_, err := exactjson.Encode(exactjson.Members{"it": faulty})
		require.Error(t, err, faulty)
	}
}
