package evidence_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/evidence"
	"earshot/repositories/parameters"
)

const evidenceList = `{"parameter":"city","type":"string"},{"parameter":"date","type":"string"},{"parameter":"time","type":"string"},
	{"parameter":"people","type":"integer"},{"parameter":"has_live_music","type":"boolean"},{"parameter":"stops","type":"array","items":{"type":"string"}}`

// longConversation has 40 messages and the current one, all of the maximum length.
func longConversation(said string) matcher.Request {
	text := strings.Repeat(said, 1+(64<<10)/len(said))[:64<<10]
	request := matcher.Request{Text: text, Now: evidenceNow}
	for range 40 {
		request.History = append(request.History, matcher.Utterance{ID: "m", Actor: matcher.ActorUser, Text: text})
	}
	return request
}

// nothingOf are values that no text contains, so that every message is read for each.
var nothingOf = map[string]any{
	"city": "San Pedro Sula", "date": "2021-05-17", "time": "03:41", "people": json.Number("771"), "has_live_music": true,
	"stops": []any{strings.Repeat("a ", 3000) + "b"},
}

func BenchmarkEvidenceInAShortConversation(b *testing.B) {
	request := matcher.Request{Text: "yes please, for two", Now: evidenceNow}
	for range 20 {
		request.History = append(request.History,
			matcher.Utterance{ID: "u", Actor: matcher.ActorUser, Text: "I would like to go to San Jose next Friday at 5 pm"},
			matcher.Utterance{ID: "a", Actor: matcher.ActorAgent, Text: "There is a place with live music, shall I book it for the 8th of March?"})
	}
	values := map[string]any{"city": "San José", "date": "2019-03-08", "time": "17:00", "people": json.Number("2"), "has_live_music": true}
	tool := evidenceTool(b, evidenceList)
	require.Len(b, evidence.Find(request, values, tool), len(values))
	b.ReportAllocs()
	for b.Loop() {
		evidence.Find(request, values, tool)
	}
}

func BenchmarkEvidenceInTheLongestConversation(b *testing.B) {
	tool := evidenceTool(b, evidenceList)
	for name, said := range map[string]string{
		"prose": "We would like to see what there is on the menu of that place before we say more about it. ",
		"words": "a ", "one word": "a", "digits": "1 ", "numbers": "twenty ", "dates": "March 8th at 5:30 pm, ",
		"one number": "1.", "signs": "?! ", "letters with accents": "é ",
	} {
		request := longConversation(said)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				evidence.Find(request, nothingOf, tool)
			}
		})
	}
}

func TestValuesOfAnySizeAreLookedUpWithinBounds(t *testing.T) {
	tool := evidenceTool(t, `{"parameter":"stops","type":"array","grounded":true,"items":{"type":"string"}}`)
	stops := make([]any, 100_000)
	for i := range stops {
		stops[i] = "Rome"
	}
	request := matcher.Request{Text: "Rome", Now: evidenceNow}
	found := evidence.Find(request, map[string]any{"stops": stops}, tool)
	require.Nil(t, found["stops"], "what was not looked up is not said to be there")
	found = evidence.Find(request, map[string]any{"stops": stops[:512]}, tool)
	require.Equal(t, &matcher.Evidence{Words: "Rome"}, found["stops"])
}

func TestAmountsOfAMessageAreReadOnceForAllValues(t *testing.T) {
	tool := evidenceTool(t, `{"parameter":"times","type":"array","items":{"type":"number","unit":"seconds"}}`)
	request := matcher.Request{Text: strings.Repeat("it took 3 hours, not days. ", 40), Now: evidenceNow}
	allocations := func(values int) float64 {
		times := slices.Repeat([]any{json.Number("10800")}, values)
		require.Equal(t, "3 hours", evidence.Find(request, map[string]any{"times": times}, tool)["times"].Words)
		return testing.AllocsPerRun(1, func() { evidence.Find(request, map[string]any{"times": times}, tool) })
	}
	require.Less(t, allocations(200), 2*allocations(1))
}

func TestTheCostGrowsWithTheLengthOfTheMessage(t *testing.T) {
	tool := evidenceTool(t, evidenceList)
	for _, said := range []string{"a ", "12 ", "3/8 at 5 pm, ", "one", "with live pets "} {
		allocations := func(length int) float64 {
			request := matcher.Request{Text: strings.Repeat(said, length/len(said)), Now: evidenceNow}
			return testing.AllocsPerRun(1, func() { evidence.Find(request, nothingOf, tool) })
		}
		require.Less(t, allocations(32<<10), 3*allocations(16<<10)+100, said)
	}
}

func TestPlacesOfALongMessageAreItsOwn(t *testing.T) {
	tool := evidenceTool(t, evidenceList)
	padding := strings.Repeat("Très long, don't stop; ", 500)
	text := padding + "on the 8th of April at 5 pm for twenty-five " + padding
	found := evidence.Find(matcher.Request{Text: text, Now: evidenceNow},
		map[string]any{"date": "2019-04-08", "time": "17:00", "people": json.Number("25")}, tool)
	require.JSONEq(t, `{"date":{"words":"the 8th of April"},"time":{"words":"5 pm"},"people":{"words":"twenty-five"}}`, asJSON(t, found))
}

func FuzzFindEvidence(f *testing.F) {
	f.Add("a trip to Paris on March 8th at 5 pm", "no pets", "Paris", "2019-03-08T17:00")
	f.Add("1,000.50 or 1 000 and a half", "twenty-first", "1.000", "17:30")
	f.Add("half past \xff five é", "in 3 days", "é'", "'")
	f.Add("8.3.2019 … 31/12", "two weeks from now", "1e300", "next next Friday")
	f.Add("东京 & İstanbul ﬁ", "-−5", "istanbul", "A")
	f.Fuzz(func(t *testing.T, text, earlier, one, other string) {
		if !utf8.ValidString(one + other) {
			t.Skip("values are from JSON")
		}
		tool := evidenceTool(t, evidenceList)
		request := matcher.Request{Text: text, History: []matcher.Utterance{{ID: "m", Actor: matcher.ActorAgent, Text: earlier}}, Now: evidenceNow}
		values := map[string]any{
			"city": one, "date": other, "people": json.Number(one), "has_live_music": true, "stops": []any{one, other, nil, false, 3.5},
			"more": map[string]any{other: one},
		}
		for name, found := range evidence.Find(request, values, tool) {
			if found == nil {
				continue
			}
			for _, words := range strings.Split(found.Words, " … ") {
				require.True(t, strings.Contains(text, words) || strings.Contains(earlier, words), "%s: %q", name, words)
			}
			require.True(t, utf8.ValidString(found.Words) || !utf8.ValidString(text+earlier))
		}
		evidence.Ungrounded(request, parameters.Reading{Values: values}, tool)
	})
}

func BenchmarkEvidenceInTheMessageItself(b *testing.B) {
	request := matcher.Request{Text: "I would like a table next Friday at the Trattoria, please", Now: evidenceNow}
	for range 10 {
		request.History = append(request.History, matcher.Utterance{ID: "u", Actor: matcher.ActorUser, Text: "What is there to eat tonight?"})
	}
	tool := evidenceTool(b, evidenceList)
	values := map[string]any{"city": "trattoria"}
	require.NotNil(b, evidence.Find(request, values, tool)["city"])
	b.ReportAllocs()
	for b.Loop() {
		evidence.Find(request, values, tool)
	}
}
