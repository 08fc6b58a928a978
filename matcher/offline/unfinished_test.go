package offline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/matchertest"
	"earshot/matcher/offline"
	"earshot/repositories"
)

func TestOfflineMatcherGoesOnWithAnUnfinishedCall(t *testing.T) {
	const tool = `{"name":"request-for-appointment","description":"User needs an appointment","schema":[
		{"parameter":"desk","type":"string","description":"desk of the appointment","allowedValues":["A","B","C"],"required":true}]}`
	const lunch = `{"name":"order-lunch","description":"Order a lunch","schema":[{"parameter":"dish","type":"string","description":"what to eat","required":true}]}`
	for _, test := range []struct {
		tool, text, fired string
	}{
		{tool, "at desk B please", `request-for-appointment {"desk":"B"}`},
		{tool, "desk C", `request-for-appointment {"desk":"C"}`},
		{tool, "what a nice day it is", ""},
		{tool, "thanks", ""},
		{tool, "no, desk B is too loud", ""},
		{lunch, "spaghetti carbonara", `order-lunch {"dish":"spaghetti carbonara"}`},
		{lunch, "thanks", ""},
		{lunch, "ok", ""},
		{lunch, "how long does it take?", ""},
		{lunch, "I will have to think about that for a while", ""},
	} {
		candidates := matchertest.InScope(t, repositories.Scope{AppID: "clinic"}, "r", test.tool)
		names := candidates[0].Tool.Params().Names()
		result, err := offline.New().Match(t.Context(), matcher.Request{
			Text: test.text, Candidates: candidates, Now: matchertest.Friday,
			Unfinished: []matcher.Unfinished{{Candidate: candidates[0], Missing: names}},
		})
		require.NoError(t, err)
		if test.fired == "" {
			require.Empty(t, result.Matches, test.text)
			continue
		}
		require.Equal(t, []string{test.fired}, matchertest.Fired(result), test.text)
	}
}

func TestAnAllowedValueThatIsAnArticleEndsAMessage(t *testing.T) {
	const desk = `{"name":"see-clerk","description":"Get an appointment at a desk","schema":[{"parameter":"desk","type":"string","required":true,"allowedValues":["A","B"]}],
		"examples":["I want an appointment at desk [B](desk)"]}`
	for said, want := range map[string]string{
		"I want an appointment at desk A": `see-clerk {"desk":"A"}`, "get me an appointment at desk a": `see-clerk {"desk":"A"}`,
		"I want an appointment at desk the": "", "I want an appointment at a": "",
	} {
		require.Equal(t, want, matched(t, said, desk), said)
	}
}
