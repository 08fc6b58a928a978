package matcher_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/matchertest"
)

func TestAbandons(t *testing.T) {
	for text, abandons := range map[string]bool{
		"never mind": true, "Never mind!": true, "ok, forget it": true, "cancel": true, "Cancel that, please": true,
		"vergiss es": true, "laisse tomber": true, "olvídalo": true, "no thanks": true,
		"goodbye": true, "Ok thanks, bye!": true, "Auf Wiedersehen": true, "Danke, tschüss": true, "au revoir": true, "merci, bonne journée": true,
		"adiós": true, "gracias, hasta luego": true, "arrivederci": true, "Ciao, grazie": true, "thanks": false, "bye Anna": false, "Ciao, sono Marco": false, "bis morgen": false,
		"": false, "on monday": false, "I never mind the rain": false, "the cancel button does not work on my phone today": false,
		"no": false,
	} {
		require.Equal(t, abandons, matcher.Abandons(text), text)
	}
}

// heating is an unfinished call without its degrees.
func heating(t *testing.T) matcher.Unfinished {
	candidates := matchertest.InScope(t, matchertest.Scope, "home", `{"name":"heat","schema":[
		{"parameter":"room","type":"string","required":true,"allowedValues":["office","living room"],"aliases":{"office":["Büro","bureau"]}},
		{"parameter":"degrees","type":"integer","required":true},
		{"parameter":"hours","type":"integer"}]}`)
	return matcher.Unfinished{
		Candidate: candidates[0], Missing: []string{"degrees"}, Values: map[string]any{"room": "office", "hours": json.Number("3")},
	}
}

func TestWordsTakeAPendingValueBack(t *testing.T) {
	for said, left := range map[string]string{
		"not the office":                        `{"hours":3}`,
		"no, not in the office!":                `{"hours":3}`,
		"Nicht das Büro":                        `{"hours":3}`,
		"im Büro nicht, im Flur":                `{"hours":3}`,
		"pas le bureau":                         `{"hours":3}`,
		"don't heat it; forget the offices":     `{"hours":3}`,
		"21, but not for 3 hours":               `{"room":"office"}`,
		"the living room instead of the office": `{"hours":3}`,
		"no, the office":                        `{"hours":3,"room":"office"}`,
		"the office, not the living room":       `{"hours":3,"room":"office"}`,
		"not the living room, the office":       `{"hours":3,"room":"office"}`,
		"not only the office":                   `{"hours":3,"room":"office"}`,
		"21":                                    `{"hours":3,"room":"office"}`,
	} {
		u := heating(t).Without(said)
		values, err := json.Marshal(u.Values)
		require.NoError(t, err)
		require.Equal(t, left, string(values), said)
		if u.Values["room"] == nil {
			require.Equal(t, []string{"degrees", "room"}, u.Missing, said)
		} else {
			require.Equal(t, []string{"degrees"}, u.Missing, "what is not required is not missing: "+said)
		}
	}
	require.Len(t, heating(t).Values, 2)
}

func TestCallDoesNotSurviveWhatItCannotTell(t *testing.T) {
	for said, survives := range map[string]bool{
		"not the office": true, "nicht die Werkstatt": false, "no, not the kitchen": false, "never mind": false, "hm, let me see": true, "what a day": true,
		"I do not know yet": true, "no": false, "don't": false, "I don't want to any more": false, "21": true,
	} {
		require.Equal(t, survives, heating(t).Survives(said), said)
	}
}

func TestACallContinuesTheOneWhoseValuesItKeeps(t *testing.T) {
	first, second := heating(t), heating(t)
	second.Values = map[string]any{"room": "living room"}
	request := matcher.Request{Unfinished: []matcher.Unfinished{first, second}}
	for given, whole := range map[string]string{
		`{"room":"living room","degrees":21}`: `{"degrees":21,"room":"living room"}`,
		`{"room":"office","degrees":21}`:      `{"degrees":21,"hours":3,"room":"office"}`,
		`{"degrees":21}`:                      `{"degrees":21,"hours":3,"room":"office"}`,
		`{"room":"hall","degrees":21}`:        `{"degrees":21,"hours":3,"room":"hall"}`,
	} {
		var arguments map[string]any
		require.NoError(t, json.Unmarshal([]byte(given), &arguments))
		values, err := json.Marshal(request.Complete(first.Candidate, arguments))
		require.NoError(t, err)
		require.Equal(t, whole, string(values), given)
	}
}
