package evidence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/evidence"
)

func TestValuesOfAFormatAreFoundInWords(t *testing.T) {
	t.Parallel()
	tool := evidenceTool(t, `{"parameter":"day","type":"string","format":"date"},{"parameter":"at","type":"string","format":"time"},
		{"parameter":"both","type":"string","format":"date-time"},{"parameter":"long","type":"string","format":"duration"}`)
	for _, c := range []struct{ said, values, want string }{
		{"on March 8th", `{"day":"2019-03-08"}`, `{"day":{"words":"March 8th"}}`},
		{"on March 8th", `{"day":"2019-03-09"}`, `{"day":null}`},
		{"at 5 pm", `{"at":"17:00:00"}`, `{"at":{"words":"5 pm"}}`},
		{"at 5 pm", `{"at":"18:00"}`, `{"at":null}`},
		{"March 8th at 5 pm", `{"both":"2019-03-08T17:00:00Z"}`, `{"both":{"words":"March 8th … 5 pm"}}`},
		{"March 8th at 5 pm", `{"both":"2019-03-08T18:00:00+01:00"}`, `{"both":{"words":"March 8th … 5 pm"}}`},
		{"March 8th at 5 pm", `{"both":"2019-03-08T18:00:00Z"}`, `{"both":null}`},
		{"for an hour and a half", `{"long":"PT1H30M"}`, `{"long":{"words":"an hour and a half"}}`},
		{"for 90 minutes", `{"long":"PT1H30M"}`, `{"long":{"words":"90 minutes"}}`},
		{"for 90 minutes", `{"long":"PT2H"}`, `{"long":null}`},
	} {
		found := evidence.Find(matcher.Request{Text: c.said, Now: evidenceNow}, evidenceValues(t, c.values), tool)
		require.JSONEq(t, c.want, asJSON(t, found), c.said+" "+c.values)
	}
}
