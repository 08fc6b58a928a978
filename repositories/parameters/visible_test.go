package parameters_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hiding writes an invisible character, U+200B or U+202E, for each ~ and ^ of a JSON text.
func hiding(text string) string {
	return strings.NewReplacer("~", `\u200b`, "^", "\u202e").Replace(text)
}

// A model is shown what people see of a tool, in each of the languages of parameters; what it says by
// the names and values that it was shown is taken for those that there are.
func TestModelIsShownWhatPeopleSee(t *testing.T) {
	for what, fields := range map[string]string{
		"a list":        `"schema":[{"parameter":"de~sk","type":"string","description":"the^ desk~","required":true,"allowedValues":["A~1","B"],"ask":"Which~ desk?"}]`,
		"Toolbox":       `"parameters":[{"name":"de~sk","type":"string","description":"the^ desk~","allowedValues":["A~1","B"],"ask":"Which~ desk?"}]`,
		"a JSON Schema": `"parameters":{"type":"object","properties":{"de~sk":{"type":"string","description":"the^ desk~","enum":["A~1","B"],"ask":"Which~ desk?"}},"required":["de~sk"]}`,
	} {
		p := compiled(t, hiding(fields))
		require.JSONEq(t, `{"type":"object","properties":{"desk":{"type":"string","description":"the desk","enum":["A1","B"]}},"required":["desk"]}`, string(p.ModelSchema()), what)
		require.Equal(t, "Which desk?", p.Ask("de\u200bsk"), what)
		require.Equal(t, "the desk", p.List()[0].Description, what)
		for _, sent := range []string{`{"desk":"A1"}`, hiding(`{"de~sk":"A~1"}`)} {
			reading := p.Read(values(t, sent))
			require.Empty(t, reading.Errors, what)
			require.Equal(t, map[string]any{"de\u200bsk": "A\u200b1"}, reading.Values, what)
			checked, faults := p.Check(values(t, sent))
			require.Empty(t, details(faults), what)
			require.Equal(t, map[string]any{"de\u200bsk": "A\u200b1"}, checked, what)
		}
		_, faults := p.Check(values(t, `{"desk":"C"}`))
		require.Len(t, faults, 1, what)
	}
}

// A name that is there as it is seen is its own.
func TestNamesThatAreSeenAlikeStayApart(t *testing.T) {
	p := compiled(t, hiding(`"schema":[{"parameter":"desk","type":"string"},{"parameter":"de~sk","type":"string"}]`))
	checked, faults := p.Check(values(t, `{"desk":"A"}`))
	require.Empty(t, faults)
	require.Equal(t, map[string]any{"desk": "A"}, checked)
}
