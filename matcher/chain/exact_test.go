package chain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/chain"
	"earshot/matcher/matchertest"
	"earshot/repositories"
)

func TestExactMatchesAButton(t *testing.T) {
	button := `{"name":"callNurse","description":"Ruf die Pflege, bitte!","examples":["I need a nurse","J'ai besoin d'aide"],
		"schema":[{"parameter":"desk","type":"string","value":"A","ignore":true}]}`
	candidates := matchertest.InScope(t, matchertest.Scope, "r", button, matchertest.TaxiTool)
	for _, text := range []string{
		"callnurse", "Call Nurse", "call-nurse", "I need a nurse", "  i NEED a   nurse!! ", "ruf die pflege bitte", "j'ai besoin d'aide",
		"J’ai besoin d’aide.",
	} {
		result, ok := chain.Exact(matcher.Request{Text: text, Candidates: candidates})
		require.True(t, ok, text)
		require.Equal(t, matcher.StageExact, result.Stage)
		require.Len(t, result.Matches, 1)
		require.Equal(t, "callNurse", result.Matches[0].Tool.Name)
		require.Equal(t, map[string]any{"desk": "A"}, result.Matches[0].Values)
	}
	for _, text := range []string{"", "?!", "I need a nurse now", "need a nurse", "a nurse", "nurse"} {
		_, ok := chain.Exact(matcher.Request{Text: text, Candidates: candidates})
		require.False(t, ok, text)
	}
}

func TestExactLeavesToolsWithValuesToTheMatcher(t *testing.T) {
	tool := `{"name":"light","description":"Light","examples":["light on"],"schema":[{"parameter":"room","type":"string"}]}`
	_, ok := chain.Exact(matcher.Request{Text: "light on", Candidates: matchertest.InScope(t, matchertest.Scope, "r", tool)})
	require.False(t, ok)
}

func TestExactKnowsMarkedExamplesInPlainWords(t *testing.T) {
	tool := `{"name":"light","description":"Light","examples":["light in the [hall](room)"],"schema":[{"parameter":"room","type":"string","value":"hall"}]}`
	candidates := matchertest.InScope(t, matchertest.Scope, "r", tool)
	_, ok := chain.Exact(matcher.Request{Text: "Light in the hall!", Candidates: candidates})
	require.True(t, ok)
	_, ok = chain.Exact(matcher.Request{Text: "light in the [hall](room)", Candidates: candidates})
	require.False(t, ok)
}

func TestExactDecidesNothingBetweenTwo(t *testing.T) {
	one := `{"name":"one","description":"First","examples":["go"]}`
	two := `{"name":"two","description":"Second","examples":["Go!"]}`
	withValue := `{"name":"three","description":"Third","examples":["go"],"schema":[{"parameter":"where","type":"string"}]}`
	for _, other := range []string{two, withValue} {
		_, ok := chain.Exact(matcher.Request{Text: "go", Candidates: matchertest.InScope(t, matchertest.Scope, "r", one, other)})
		require.False(t, ok)
	}
	_, ok := chain.Exact(matcher.Request{Text: "go", Candidates: matchertest.InScope(t, matchertest.Scope, "r", one)})
	require.True(t, ok)
}

func TestExactFindsButtonsAmongSharedTools(t *testing.T) {
	app := matchertest.InScope(t, matchertest.Scope, "r",
		`{"name":"one","description":"First","examples":["go on"]}`, `{"name":"two","description":"Second","examples":["Stop!","halt"]}`,
		`{"name":"users","description":"For users alone","examples":["halt"]}`)
	session := matchertest.InScope(t, repositories.Scope{AppID: "clinic", SessionID: "s1"}, "s", `{"name":"one","description":"Another first","examples":["stop"]}`)
	request := matcher.Request{Shared: &matcher.Shared{Tools: app}, Own: session, Candidates: []matcher.Candidate{session[0], app[1]}}
	for text, fires := range map[string]string{
		"second": "two", "another FIRST": "one", "one": "one",
		"halt":  "two", // visible to the user, unlike the other tool with this text
		"go on": "",    // of the app's tool that the session's overrides
		"stop":  "",    // of two tools
	} {
		request.Text = text
		result, ok := chain.Exact(request)
		require.Equal(t, fires != "", ok, text)
		if ok {
			require.Equal(t, fires, result.Matches[0].Tool.Name, text)
		}
	}
	request.Text = "another first"
	result, _ := chain.Exact(request)
	require.Equal(t, "s1", result.Matches[0].Repository.SessionID)
}
