package question_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/trigger/canonical"
	"earshot/trigger/question"
)

func TestQuestionShowsValues(t *testing.T) {
	body := `{"tools":[{"name":"refund","description":"Refund an order.","confirm":"always","dedupe":{"within":"1m"},"schema":[
	  {"parameter":"order","type":"string"},{"parameter":"amount","type":"number"},{"parameter":"desk","type":"string","value":"A"}]}]}`
	repository, err := repositories.DecodeRepository(repositories.Scope{AppID: "shop"}, "r", []byte(body))
	require.NoError(t, err)
	tool := repository.Tool("refund")
	require.Equal(t, repositories.ConfirmAlways, tool.Confirm)
	require.Equal(t, repositories.DedupeSession, tool.Dedupe.Scope)
	values := map[string]any{"order": "A-17", "amount": json.Number("30"), "desk": "A"}
	require.Equal(t, "Refund an order: order A-17, amount 30. Shall I go ahead? (yes / no)", question.Of(tool, values, "refund it"))
	require.NotEqual(t, canonical.Digest(values), canonical.Digest(values, "order"))
	yes, no := matcher.Consents("yes")
	require.True(t, yes && !no)
}
