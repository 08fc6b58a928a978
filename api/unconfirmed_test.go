package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/apitest"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher/chain"
	"earshot/matcher/llm"
	"earshot/matcher/llm/llmtest"
	"earshot/trigger/query"
)

const (
	moneyPath          = "/v1/apps/clinic/repositories/money"
	moneyBody          = `{"tools":[{"name":"refund-order","description":"Refund the order","examples":["give me my money back"]},{"name":"light-on","description":"Turn on the light"}]}`
	asksIfIrreversible = `{"name":"Clinic","settings":{"offline":{"confirm":"irreversible"}}}`
)

// noted returns the notes of a write.
func noted(a apitest.Answer) []string {
	require.Less(a.T, a.StatusCode, 300, string(a.Body))
	return bodyOf[struct{ Notes []string }](a).Notes
}

func TestAConfirmIsAdvisedForWhatNobodyTakesBack(t *testing.T) {
	s := apitest.LiveOn(t, redistest.Mini(t), chain.New(llm.Options{}))
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	const advice = `tool "refund-order" moves money and fires without a question: set its confirm, or settings.offline.confirm of the app`
	require.Equal(t, []string{advice}, noted(s.Call("PUT", moneyPath, moneyBody).Is(201, "")))
	for _, said := range []string{`"confirm":"never"`, `"confirm":"always"`, `"settle":"10s"`, `"request":{"method":"GET"},"url":"https://a.example/b"`} {
		require.Empty(t, noted(s.Call("PUT", moneyPath, `{"tools":[{"name":"refund-order",`+said+`}]}`).Is(200, "")), said)
	}
	for _, confirm := range []string{"never", "irreversible", "always"} {
		s.Call("PUT", "/v1/apps/clinic", `{"name":"Clinic","settings":{"offline":{"confirm":"`+confirm+`"}}}`).Is(200, "")
		require.Empty(t, noted(s.Call("PUT", moneyPath, moneyBody).Is(200, "")), confirm)
	}
	refused := s.Call("PUT", "/v1/apps/clinic", `{"name":"Clinic","settings":{"offline":{"confirm":"sometimes"}}}`).Is(400, "")
	require.Contains(t, string(refused.Body), `\"sometimes\" is not one of \"never\", \"irreversible\", \"always\"`)
}

func TestTheWordsAloneAskBeforeWhatNobodyTakesBack(t *testing.T) {
	s := apitest.LiveOn(t, redistest.Mini(t), chain.New(llm.Options{}))
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	s.Call("PUT", moneyPath, moneyBody).Is(201, "")
	require.NotEqual(t, query.StateConfirming, explained(s.Call("POST", apitest.MessagesPath, said("m0", "give me my money back"))).Matches[0].State, "nothing asks by itself")

	s.Call("PUT", "/v1/apps/clinic", asksIfIrreversible).Is(200, "")
	for id, text := range map[string]string{"m1": "please refund the order", "m2": "give me my money back"} {
		asked := explained(s.Call("POST", apitest.MessagesPath+"?explain=true", said(id, text)))
		require.Len(t, asked.Matches, 1, text)
		require.Equal(t, query.StateConfirming, asked.Matches[0].State, text)
		require.Equal(t, "Refund the order. Shall I go ahead? (yes / no)", asked.Matches[0].Question)
		require.Contains(t, asked.Explain.Calls[0].Why, `confirmed: the words alone decided, the tool moves money, and settings.offline.confirm is "irreversible".`)
		confirmed := explained(s.Call("POST", apitest.MessagesPath, said(id+"-yes", "yes")))
		require.Equal(t, asked.Matches[0].TriggerID, confirmed.Matches[0].TriggerID)
		require.NotEqual(t, query.StateConfirming, confirmed.Matches[0].State)
	}
	require.NotEqual(t, query.StateConfirming, explained(s.Call("POST", apitest.MessagesPath, said("m3", "turn on the light"))).Matches[0].State)
	direct := s.Call("POST", "/v1/apps/clinic/triggers", `{"name":"refund-order","source":"ui"}`).Is(201, "")
	require.NotContains(t, string(direct.Body), query.StateConfirming, "a button is no words")
}

func TestAModelThatDecidesIsNotAskedAfter(t *testing.T) {
	s, model := asking(t, redistest.Mini(t))
	s.Call("PUT", "/v1/apps/clinic", asksIfIrreversible).Is(200, "")
	s.Call("PUT", moneyPath, moneyBody).Is(201, "")
	model.Queue(llmtest.Call("refund-order", `{}`))
	fired := explained(s.Call("POST", apitest.MessagesPath, said("m1", "I would like a refund for this order")))
	require.NotEqual(t, query.StateConfirming, fired.Matches[0].State)
	byWords := explained(s.Call("POST", apitest.MessagesPath, said("m2", "give me my money back")))
	require.Equal(t, query.StateConfirming, byWords.Matches[0].State, "the exact text of an example asks no model")
}
