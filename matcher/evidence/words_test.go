package evidence_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher/evidence"
	"earshot/matcher/matchertest"
	"earshot/repositories/parameters"
)

// TestEvidenceIsInPeoplesWords has an alias and an amount in another unit.
func TestEvidenceIsInPeoplesWords(t *testing.T) {
	request := matchertest.Request(t, "Bitte Freitag für zwei Stunden", `{"name":"book","schema":[
		{"parameter":"day","type":"string","grounded":true,"allowedValues":["Friday"],"aliases":{"Friday":["Freitag"]}},
		{"parameter":"days","type":"array","items":{"type":"string","allowedValues":["Friday"],"aliases":{"Friday":["Freitag"]}}},
		{"parameter":"long","type":"integer","grounded":true,"unit":"minutes"}]}`)
	values := map[string]any{"day": "Friday", "days": []any{"Friday"}, "long": json.Number("120")}
	tool := request.Candidates[0].Tool
	found := evidence.Find(request, values, tool)
	require.Equal(t, "Freitag", found["day"].Words)
	require.Equal(t, "Freitag", found["days"].Words)
	require.Equal(t, "zwei Stunden", found["long"].Words)
	require.Empty(t, evidence.Ungrounded(request, parameters.Reading{Values: values}, tool))
	require.Len(t, evidence.Ungrounded(request, parameters.Reading{Values: map[string]any{"long": json.Number("121")}}, tool), 1)
}
