package matcher_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/matchertest"
	"earshot/repositories/parameters"
)

// A formatted string behind a $ref or beside null is one for all matchers.
func TestShownReadsFormattedStringsBehindAReference(t *testing.T) {
	for _, property := range []string{`{"$ref":"#/$defs/D"}`, `{"anyOf":[{"type":"string","format":"date"},{"type":"null"}]}`, `{"type":"string","format":"date"}`} {
		tools := matchertest.InScope(t, matchertest.Scope, "r", `{"name":"t","parameters":{"type":"object","properties":{"a":`+property+`},"$defs":{"D":{"type":"string","format":"date"}}}}`)
		require.Equal(t, []parameters.Parameter{{Name: "a", Type: "string", Format: parameters.Date}}, matcher.Shown(tools[0].Tool.Params()), property)
	}
}
