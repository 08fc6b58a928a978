package llm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher/llm/llmtest"
	"earshot/matcher/matchertest"
)

func TestModelsValuesAreLaidOverWhatIsKnown(t *testing.T) {
	for _, test := range []struct{ rule, said, arguments, fired string }{
		{"what was missing completes the call", "on monday", `{"day":"monday"}`, `book {"day":"monday","desk":"A","people":3}`},
		{"a correction replaces", "on monday", `{"day":"monday","people":4}`, `book {"day":"monday","desk":"A","people":4}`},
		{"null for what was not said again is nothing", "on monday", `{"day":"monday","people":null}`, `book {"day":"monday","desk":"A","people":3}`},
		{"null takes back what is denied", "on monday, but not for all of us", `{"day":"monday","people":null}`, `book {"day":"monday","desk":"A"}`},
	} {
		result, _ := matchOne(t, matchertest.GoingOn(t, test.said), llmtest.Call("book", test.arguments))
		require.Equal(t, []string{test.fired}, matchertest.Fired(result), test.rule)
	}
}

func TestModelIsToldWhatIsUnfinished(t *testing.T) {
	_, server := matchOne(t, matchertest.GoingOn(t, "on monday"), llmtest.Text("none"))
	messages := server.Requests()[0].Messages
	late := messages[len(messages)-2]
	require.Equal(t, "system", late.Role)
	require.Contains(t, late.Content, `book with {"desk":"A","people":3}; still missing: day`)
	require.Equal(t, "on monday", messages[len(messages)-1].Content)
}
