package offline_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/chain"
	"earshot/matcher/matchertest"
	"earshot/matcher/offline"
	"earshot/matcher/retrieval"
	"earshot/repositories"
	"earshot/repositories/lists"
)

// matched matches one message and renders the outcome: "name {values}" for a match, "name misses [parameters]" for
// a rejection, nothing for silence.
func matched(t testing.TB, text string, tools ...string) string {
	t.Helper()
	request := matcher.Request{Text: text, Candidates: matchertest.InScope(t, matchertest.Scope, "r", tools...), Now: matchertest.Friday}
	result, err := offline.New().Match(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, matcher.StageOffline, result.Stage)
	lines := matchertest.Fired(result)
	for _, rejected := range result.Rejected {
		lines = append(lines, fmt.Sprintf("%s misses %v", rejected.Tool.Name, rejected.Missing))
	}
	return strings.Join(lines, "; ")
}

func TestOfflineFiresTheToolThatTheWordsCallFor(t *testing.T) {
	all := []string{matchertest.AppointmentTool, matchertest.LampTool, matchertest.TaxiTool, matchertest.WeatherTool, matchertest.BareTool}
	for text, want := range map[string]string{
		"I'd like an appointment":                      "request-for-appointment",
		"could you book an appointment for me please?": "request-for-appointment",
		"APPOINTMENT, PLEASE!!":                        "request-for-appointment",
		"I need an apointment":                         "request-for-appointment",
		"please switch the lamp on":                    "switchLampOn",
		"can you turn the lamp on":                     "switchLampOn",
		"hey, I need a taxi to the station":            "call_taxi",
		"call me a cab":                                "call_taxi",
		"what's the weather like today?":               "get_weather",
		"Please order a coffee":                        "orderCoffee",
		"what’s the weather like?":                     "get_weather",
	} {
		require.Equal(t, want+" {}", matched(t, text, all...), text)
	}
}

func TestOfflineDecidesWithOneToolInScope(t *testing.T) {
	require.Equal(t, "request-for-appointment {}", matched(t, "I would like an appointment", matchertest.AppointmentTool))
	require.Equal(t, "orderCoffee {}", matched(t, "order a coffee please", matchertest.BareTool))
	for _, text := range []string{
		"hello how are you", "what is the weather", "I want a pizza", "tell me a joke", "book me a table for two",
		"I want to be left alone", "please help me", "what can you do", "when does the pharmacy open",
	} {
		require.Empty(t, matched(t, text, matchertest.AppointmentTool), text)
	}
}

func TestOfflineKeepsSilentWhereTheToolIsNotWanted(t *testing.T) {
	all := []string{matchertest.AppointmentTool, matchertest.LampTool, matchertest.TaxiTool, matchertest.WeatherTool, matchertest.BareTool}
	for _, text := range []string{
		"I do not want an appointment", "I don't need a taxi", "no appointment please", "no taxi", "not the lamp",
		"cancel the appointment", "please cancel my taxi", "never mind the taxi", "forget the appointment",
		"stop, don't turn on the lamp", "I no longer want an appointment", "don't call a taxi", "Ich will keinen taxi",
		"never call a taxi", "non voglio un taxi", "je ne veux pas de taxi", "no quiero un taxi",
	} {
		require.Empty(t, matched(t, text, all...), text)
	}
}

func TestOfflineKeepsSilentAtTheOppositeOfWhatAToolDoes(t *testing.T) {
	door := `{"name":"open_door","description":"Open the door","examples":["open the door please"]}`
	both := `{"name":"lamp","description":"Switch the lamp on or off"}`
	for _, text := range []string{"turn the lamp off", "please switch off the lamp", "close the door", "shut the door please"} {
		require.Empty(t, matched(t, text, matchertest.LampTool, door), text)
	}
	require.Equal(t, "lamp {}", matched(t, "switch the lamp off", both, door))
}

func TestOfflineKeepsSilentInSmallTalk(t *testing.T) {
	all := []string{matchertest.AppointmentTool, matchertest.LampTool, matchertest.TaxiTool, matchertest.WeatherTool, matchertest.BareTool}
	for _, text := range []string{
		"", " ", "?!", "🙂", "hello", "hi there", "thanks", "thank you so much", "thanks for the taxi", "bye", "see you later",
		"yes please", "no", "ok great", "how are you today", "who are you", "that is nice", "I am tired", "lol",
		"merci beaucoup", "danke schön", "grazie mille", "muchas gracias", "42", "tomorrow at five",
	} {
		require.Empty(t, matched(t, text, all...), text)
	}
}

func TestOfflineKeepsSilentWhenTheThingIsAskedOrToldAbout(t *testing.T) {
	all := []string{matchertest.AppointmentTool, matchertest.LampTool, matchertest.TaxiTool, matchertest.BareTool}
	for _, text := range []string{
		"when is my appointment?", "how much does an appointment cost?", "do I need an appointment?",
		"what is the address?", "where does the taxi stop?", "is the lamp on", "what is its phone number?",
		"my appointment was very nice", "I like coffee", "if it is late I will call a taxi", "maybe I should call a taxi",
		"I already ordered a coffee", "the taxi was late again", "we had a taxi yesterday",
	} {
		require.Empty(t, matched(t, text, all...), text)
	}
}

func TestOfflineFiresAToolThatSmallTalkOrCancellingIsThePointOf(t *testing.T) {
	cancel := `{"name":"cancel_booking","description":"Cancel a booking","examples":["cancel my booking","I don't want my booking any more"]}`
	require.Equal(t, "say-goodbye {}", matched(t, "goodbye", matchertest.FarewellTool, matchertest.TaxiTool))
	require.Equal(t, "cancel_booking {}", matched(t, "please cancel the booking", cancel, matchertest.TaxiTool))
	require.Equal(t, "cancel_booking {}", matched(t, "I don't want the booking", cancel, matchertest.TaxiTool))
}

func TestOfflineReadsEveryLanguageByItsExamples(t *testing.T) {
	for _, text := range []string{
		"Bitte Pflaster nachbestellen!", "PFLASTER NACHBESTELLEN", "Je voudrais commander des pansements, s'il vous plaît",
		"Ich will Pflaster nachbestellen", "ordina i cerotti", "pedir mas vendas", "quiero pedir más vendas",
	} {
		require.Equal(t, "nachbestellen {}", matched(t, text, matchertest.AbroadTool, matchertest.TaxiTool), text)
	}
	for _, text := range []string{
		"Wie geht es dir heute?", "où est la gare", "che ore sono?", "¿dónde está la biblioteca?", "今日はいい天気ですね", "как дела", "مرحبا",
	} {
		require.Empty(t, matched(t, text, matchertest.AbroadTool, matchertest.TaxiTool), text)
	}
}

func TestOfflineComparesScriptsWithoutSpaces(t *testing.T) {
	tool := `{"name":"yoyaku","description":"予約","examples":["予約をお願いします","予約したいです"]}`
	require.Equal(t, "yoyaku {}", matched(t, "予約をしたいです", tool, matchertest.TaxiTool))
}

func TestOfflineKeepsSilentBetweenToolsThatAreEquallyMeant(t *testing.T) {
	one := `{"name":"book_room_north","description":"Book the meeting room in the north wing"}`
	two := `{"name":"book_room_south","description":"Book the meeting room in the south wing"}`
	require.Empty(t, matched(t, "book the meeting room", one, two))
	require.Equal(t, "book_room_south {}", matched(t, "book the meeting room in the south wing", one, two))

	coffee := `{"name":"order-coffee","description":"Order a coffee","examples":["bring me a coffee"]}`
	for _, said := range []string{"I need a taxi or a coffee", "bring me a coffee or a taxi"} {
		require.Empty(t, matched(t, said, matchertest.TaxiTool, coffee), said)
	}
	require.Equal(t, "call_taxi {}", matched(t, "I need a taxi or something", matchertest.TaxiTool, coffee))
}

func TestOfflineKeepsSilentAtADoubt(t *testing.T) {
	pizza := `{"name":"order-pizza","description":"Order pizzas","examples":["I want [two](count) [large](size) pizzas"],
	  "schema":[{"parameter":"count","type":"integer","required":true},{"parameter":"size","type":"string","allowedValues":["small","large"]}]}`
	for _, said := range []string{"maybe I want two large pizzas", "Perhaps I want two large pizzas."} {
		require.Empty(t, matched(t, said, pizza), said)
	}
	require.Equal(t, `order-pizza {"count":2,"size":"large"}`, matched(t, "I want two large pizzas", pizza))
}

func TestOfflineRejectsASureToolWithoutItsValues(t *testing.T) {
	tool := `{"name":"book_table","description":"Book a table at a restaurant","examples":["book a table","I want to reserve a table"],
		"schema":[{"parameter":"people","type":"integer","required":true},{"parameter":"terrace","type":"boolean"}]}`
	require.Equal(t, "book_table misses [people]", matched(t, "I want to book a table", tool, matchertest.TaxiTool))
	require.Equal(t, `book_table {"people":4}`, matched(t, "I want to book a table for four people", tool, matchertest.TaxiTool))
	require.Equal(t, `book_table {"people":2,"terrace":true}`, matched(t, "book a table for 2 on the terrace", tool, matchertest.TaxiTool))
}

// TestOfflineTakesNoCallApart: parts of a message with different values of one tool are one call.
func TestOfflineTakesNoCallApart(t *testing.T) {
	refund := `{"name":"refund","description":"Refund an order","examples":["refund order A-17, amount 30"],"schema":[
		{"parameter":"order","type":"string","required":true,"allowedValues":["[A-Z]-[0-9]+"]},{"parameter":"amount","type":"number","required":true}]}`
	for _, said := range []string{"refund order A-17, amount 30", "refund order B-2 and the amount is 12.50"} {
		result, err := offline.New().Match(t.Context(), matchertest.Request(t, said, refund))
		require.NoError(t, err)
		require.Len(t, matchertest.Fired(result), 1, said)
		require.Empty(t, result.Rejected, said)
	}
}

func TestOfflineHasNothingToDecideWithoutTools(t *testing.T) {
	result, err := offline.New().Match(t.Context(), matcher.Request{Text: "I want an appointment"})
	require.NoError(t, err)
	require.Equal(t, matcher.Result{Stage: matcher.StageNone}, result)
}

func TestOfflineWritesNoReplies(t *testing.T) {
	reply, err := offline.New().Reply(t.Context(), matcher.Request{Text: "hello", Chat: true}, nil)
	require.NoError(t, err)
	require.Empty(t, reply)
}

func TestOfflineSeesANewRevisionAtOnce(t *testing.T) {
	o := offline.New()
	names := func(tool string) []string {
		result, err := o.Match(t.Context(), matcher.Request{Text: "please call a taxi", Candidates: matchertest.InScope(t, matchertest.Scope, "r", tool)})
		require.NoError(t, err)
		return lists.Map(result.Matches, func(match matcher.Match) string { return match.Tool.Description })
	}
	require.Equal(t, []string{"Call a taxi"}, names(matchertest.TaxiTool))
	require.Empty(t, names(`{"name":"water_plants","description":"Water the plants","examples":["water the plants"]}`))
	require.Equal(t, []string{"Call a taxi now"}, names(`{"name":"call_taxi","description":"Call a taxi now"}`))
}

func FuzzOfflineNeverPanics(f *testing.F) {
	tools := []string{
		matchertest.AppointmentTool, matchertest.LampTool, matchertest.AbroadTool,
		`{"name":"travel","description":"Book a trip","schema":[
			{"parameter":"from","type":"string"},{"parameter":"to","type":"string"},{"parameter":"start_date","type":"string","description":"YYYY-MM-DD"},
			{"parameter":"end_date","type":"string"},{"parameter":"time","type":"string"},{"parameter":"people","type":"integer"},
			{"parameter":"price","type":"float"},{"parameter":"breakfast","type":"boolean"},{"parameter":"email","type":"string"},
			{"parameter":"class","type":"string","allowedValues":["first","second","B"]},
			{"parameter":"stops","type":"array","items":{"name":"stop","type":"string","description":"a stop"}}]}`,
		`{"name":"cancel-trip","description":"Cancel a trip","examples":["call it off","I cannot come"]}`,
		`{"name":"pay","description":"Pay an amount to somebody","examples":["pay [50](amount) euros to [Anna](payee)"],"schema":[{"parameter":"amount","type":"number","required":true},{"parameter":"payee","type":"string"}]}`,
	}
	for _, text := range []string{
		"", "\xff\xfe", "book a trip from Paris to \"New York\" on March 8th at 5 pm", "trip: '", "«", "1,000.50 -3 3-5 12/31/2026 31.12.2026",
		"twenty five hundred and one thousand and", "half past", "in 99999999999999999999 days", "予約", "don't l'été ’ '", "next next friday next",
		"day after", "the 31st of", "in the", strings.Repeat("and ", 600), "a@b.c http:// +1 (2", "EUR 50", "USD 20 to Anna", "plus 50", "trip euros 50 to Rome please", "e\u0301\u0301 ﷺ ½ ②", "é \u0301 ﷺ ½ ②",
	} {
		f.Add(text)
	}
	o, candidates := offline.New(), matchertest.InScope(f, matchertest.Scope, "r", tools...)
	f.Fuzz(func(t *testing.T, text string) {
		request := matcher.Request{Text: text, Candidates: candidates, Now: matchertest.Friday}
		_, err := o.Match(t.Context(), request)
		require.NoError(t, err)
		request.History = []matcher.Utterance{{Actor: matcher.ActorUser, Text: "book a trip", Fired: []matcher.PastCall{{Name: "travel", Values: map[string]any{"people": 2}}}}}
		for _, before := range []string{"no trip ", "call the trip ", "I need a taxi, it rains, and ", "book a trip "} {
			request.Text = before + text
			_, err = o.Match(t.Context(), request)
			require.NoError(t, err)
		}
		chain.Exact(request)
		require.NotEmpty(t, retrieval.New().Offer(t.Context(), request, 2))

		request.Text = text // the answer to a call that lacks values
		for _, missing := range [][]string{{"to"}, {"time", "to"}, {"email", "people"}} {
			request.Unfinished = []matcher.Unfinished{{Candidate: candidates[3], Values: map[string]any{"from": "Rome", "price": json.Number("50")}, Missing: missing}}
			request.Unfinished[0] = request.Unfinished[0].Without(text)
			_, err = o.Match(t.Context(), request)
			require.NoError(t, err)
			request.Unfinished[0].Survives(text)
		}
	})
}

func TestAnAppSaysHowSureTheWordsMustBe(t *testing.T) {
	tools := []string{matchertest.AppointmentTool, matchertest.LampTool, matchertest.TaxiTool, matchertest.WeatherTool}
	fires := map[string]int{}
	for _, thing := range []string{"cab", "lamp", "forecast", "rain", "appointment", "taxi"} {
		for _, said := range []string{"%s", "the other %s over there", "%s for my brother and his children", "get my sister at the harbour some %s", "any %s in this town", "show the %s of my sister and her children"} {
			request := matchertest.Request(t, fmt.Sprintf(said, thing), tools...)
			fired := map[string]int{}
			for _, bar := range []string{"", repositories.BarCertain, repositories.BarLikely} {
				request.App.Settings.Offline.Bar = bar
				result, err := offline.New().Match(t.Context(), request)
				require.NoError(t, err)
				fired[bar] = len(result.Matches)
				fires[bar] += len(result.Matches)
			}
			require.Equal(t, fired[repositories.BarCertain], fired[""], request.Text)
			require.GreaterOrEqual(t, fired[repositories.BarLikely], fired[""], request.Text)
		}
	}
	require.Positive(t, fires[""])
	require.Greater(t, fires[repositories.BarLikely], fires[""])
}
