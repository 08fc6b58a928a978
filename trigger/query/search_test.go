package query

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/exactjson"
	"earshot/repositories/parameters"
)

func TestATextIsFoundInValuesWhateverItsCase(t *testing.T) {
	values, err := parameters.DecodeValues([]byte(`{"day":"next \"Friday\"","n":9007199254740993,"ok":true,"none":null,"of":[{"city":"İzmir, ÜBERLINGEN"},"Москва \u2028 5\u212A"]}`))
	require.NoError(t, err)
	stored, err := exactjson.Encode(values)
	require.NoError(t, err)
	for _, text := range []string{"friday", `T "FRI`, "740993", "TRUE", "überlingen", "R, Ü", "МОСКВА", "м", "\u2028", "\u212a", "\u2028 5"} {
		require.True(t, contains(values, folded(text)), text)
		roughly := false
		for _, one := range anyCase(text) {
			roughly = roughly || strings.Contains(asciiLower(string(stored)), one)
		}
		require.True(t, roughly, "a script that is given %q would leave %s out", anyCase(text), stored)
	}
	for _, text := range []string{"ok", "monday", "null", "none", "city", "9007199254740992", "5k", "izmir"} {
		require.False(t, contains(values, folded(text)), text)
	}
}

// asciiLower returns a text in Lua's lower case.
func asciiLower(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
}
