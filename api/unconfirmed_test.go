package api_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

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

// noted are the notes of an answer.
func (a answer) noted() []string {
	var got struct{ Notes []string }
	require.NoError(a.t, json.Unmarshal(a.body, &got))
	return got.Notes
}

func TestAConfirmIsAdvisedForWhatNobodyTakesBack(t *testing.T) {
	s := liveOn(t, redistest.Mini(t), chain.New(llm.Options{}))
	s.call("PUT", "/v1/apps/clinic", clinicBody).is(201, "")
	const advice = `tool "refund-order" moves money and fires without a question: set its confirm, or settings.offline.confirm of the app`
	require.Equal(t, []string{advice}, s.call("PUT", moneyPath, moneyBody).is(201, "").noted())
	for _, said := range []string{`"confirm":"never"`, `"confirm":"always"`, `"settle":"10s"`, `"request":{"method":"GET"},"url":"https://a.example/b"`} {
		require.Empty(t, s.call("PUT", moneyPath, `{"tools":[{"name":"refund-order",`+said+`}]}`).is(200, "").noted(), said)
	}
	for _, confirm := range []string{"never", "irreversible", "always"} {
		s.call("PUT", "/v1/apps/clinic", `{"name":"Clinic","settings":{"offline":{"confirm":"`+confirm+`"}}}`).is(200, "")
		require.Empty(t, s.call("PUT", moneyPath, moneyBody).is(200, "").noted(), confirm)
	}
	refused := s.call("PUT", "/v1/apps/clinic", `{"name":"Clinic","settings":{"offline":{"confirm":"sometimes"}}}`).is(400, "")
	require.Contains(t, string(refused.body), `\"sometimes\" is not one of \"never\", \"irreversible\", \"always\"`)
}

func TestTheWordsAloneAskBeforeWhatNobodyTakesBack(t *testing.T) {
	s := liveOn(t, redistest.Mini(t), chain.New(llm.Options{}))
	s.call("PUT", "/v1/apps/clinic", clinicBody).is(201, "")
	s.call("PUT", moneyPath, moneyBody).is(201, "")
	require.NotEqual(t, query.StateConfirming, s.call("POST", messagesPath, said("m0", "give me my money back")).explained().Matches[0].State, "nothing asks by itself")

	s.call("PUT", "/v1/apps/clinic", asksIfIrreversible).is(200, "")
	for id, text := range map[string]string{"m1": "please refund the order", "m2": "give me my money back"} {
		asked := s.call("POST", messagesPath+"?explain=true", said(id, text)).explained()
		require.Len(t, asked.Matches, 1, text)
		require.Equal(t, query.StateConfirming, asked.Matches[0].State, text)
		require.Equal(t, "Refund the order. Shall I go ahead? (yes / no)", asked.Matches[0].Question)
		require.Contains(t, asked.Explain.Calls[0].Why, `confirmed: the words alone decided, the tool moves money, and settings.offline.confirm is "irreversible".`)
		confirmed := s.call("POST", messagesPath, said(id+"-yes", "yes")).explained()
		require.Equal(t, asked.Matches[0].TriggerID, confirmed.Matches[0].TriggerID)
		require.NotEqual(t, query.StateConfirming, confirmed.Matches[0].State)
	}
	require.NotEqual(t, query.StateConfirming, s.call("POST", messagesPath, said("m3", "turn on the light")).explained().Matches[0].State)
	direct := s.call("POST", "/v1/apps/clinic/triggers", `{"name":"refund-order","source":"ui"}`).is(201, "")
	require.NotContains(t, string(direct.body), query.StateConfirming, "a button is no words")
}

func TestAModelThatDecidesIsNotAskedAfter(t *testing.T) {
	s, model := asking(t, redistest.Mini(t))
	s.call("PUT", "/v1/apps/clinic", asksIfIrreversible).is(201, "")
	s.call("PUT", moneyPath, moneyBody).is(201, "")
	model.Queue(llmtest.Call("refund-order", `{}`))
	fired := s.call("POST", messagesPath, said("m1", "I would like a refund for this order")).explained()
	require.NotEqual(t, query.StateConfirming, fired.Matches[0].State)
	byWords := s.call("POST", messagesPath, said("m2", "give me my money back")).explained()
	require.Equal(t, query.StateConfirming, byWords.Matches[0].State, "the exact text of an example asks no model")
}
