package matcher_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/repositories"
)

const (
	appointmentTool = `{"name":"request-for-appointment","description":"User needs an appointment",
		"examples":["I want an appointment","book me an appointment please"]}`
	lampTool     = `{"name":"switchLampOn","description":"Switch the lamp on","examples":["turn on the lamp","lamp on"]}`
	taxiTool     = `{"name":"call_taxi","description":"Call a taxi","examples":["I need a taxi","get me a cab","call a taxi"]}`
	weatherTool  = `{"name":"get_weather","description":"Get the weather forecast","examples":["what is the weather like","will it rain tomorrow"]}`
	bareTool     = `{"name":"orderCoffee","description":"Order a coffee"}`
	farewellTool = `{"name":"say-goodbye","description":"Answer a farewell","examples":["bye","goodbye","thanks, bye bye"]}`
	abroadTool   = `{"name":"nachbestellen","description":"Verbandsmaterial nachbestellen",
		"examples":["Bitte Pflaster nachbestellen","je voudrais commander des pansements","ordina i cerotti per favore","pedir más vendas"]}`
)

// offlineNow is a Friday.
var offlineNow = time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)

// inScope registers tools as a client would and brings them into scope.
func inScope(t testing.TB, scope repositories.Scope, id string, tools ...string) []matcher.Candidate {
	t.Helper()
	body := `{"tools":[` + strings.Join(tools, ",") + `]}`
	repository, err := repositories.DecodeRepository(scope, id, []byte(body))
	require.NoError(t, err)
	repository.Revision = fmt.Sprintf("%x", sha256.Sum256([]byte(body)))
	candidates := make([]matcher.Candidate, len(repository.Tools))
	for i := range repository.Tools {
		candidates[i] = matcher.Candidate{Repository: repository, Tool: &repository.Tools[i]}
	}
	sortCandidates(candidates)
	return candidates
}

func sortCandidates(candidates []matcher.Candidate) {
	slices.SortFunc(candidates, func(a, b matcher.Candidate) int { return strings.Compare(a.Tool.Name, b.Tool.Name) })
}

var offlineScope = repositories.Scope{AppID: "clinic"}

// offline matches one message and renders what came of it: "name {values}" for a
// match, "name misses [parameters]" for a rejection, nothing for silence.
func offline(t testing.TB, text string, tools ...string) string {
	t.Helper()
	request := matcher.Request{Text: text, Candidates: inScope(t, offlineScope, "r", tools...), Now: offlineNow}
	result, err := matcher.NewOffline().Match(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, matcher.StageOffline, result.Stage)
	var lines []string
	for _, match := range result.Matches {
		values, err := json.Marshal(match.Values)
		require.NoError(t, err)
		lines = append(lines, match.Tool.Name+" "+string(values))
	}
	for _, rejected := range result.Rejected {
		lines = append(lines, fmt.Sprintf("%s misses %v", rejected.Tool.Name, rejected.Missing))
	}
	return strings.Join(lines, "; ")
}

func TestOfflineFiresTheToolThatTheWordsCallFor(t *testing.T) {
	all := []string{appointmentTool, lampTool, taxiTool, weatherTool, bareTool}
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
		require.Equal(t, want+" {}", offline(t, text, all...), text)
	}
}

func TestOfflineDecidesWithOneToolInScope(t *testing.T) {
	require.Equal(t, "request-for-appointment {}", offline(t, "I would like an appointment", appointmentTool))
	require.Equal(t, "orderCoffee {}", offline(t, "order a coffee please", bareTool))
	for _, text := range []string{
		"hello how are you", "what is the weather", "I want a pizza", "tell me a joke", "book me a table for two",
		"I want to be left alone", "please help me", "what can you do", "when does the pharmacy open",
	} {
		require.Empty(t, offline(t, text, appointmentTool), text)
	}
}

func TestOfflineKeepsSilentWhereTheToolIsNotWanted(t *testing.T) {
	all := []string{appointmentTool, lampTool, taxiTool, weatherTool, bareTool}
	for _, text := range []string{
		"I do not want an appointment", "I don't need a taxi", "no appointment please", "no taxi", "not the lamp",
		"cancel the appointment", "please cancel my taxi", "never mind the taxi", "forget the appointment",
		"stop, don't turn on the lamp", "I no longer want an appointment", "don't call a taxi", "Ich will keinen taxi",
		"never call a taxi", "non voglio un taxi", "je ne veux pas de taxi", "no quiero un taxi",
	} {
		require.Empty(t, offline(t, text, all...), text)
	}
}

func TestOfflineKeepsSilentAtTheOppositeOfWhatAToolDoes(t *testing.T) {
	door := `{"name":"open_door","description":"Open the door","examples":["open the door please"]}`
	both := `{"name":"lamp","description":"Switch the lamp on or off"}`
	for _, text := range []string{"turn the lamp off", "please switch off the lamp", "close the door", "shut the door please"} {
		require.Empty(t, offline(t, text, lampTool, door), text)
	}
	require.Equal(t, "lamp {}", offline(t, "switch the lamp off", both, door))
}

func TestOfflineKeepsSilentInSmallTalk(t *testing.T) {
	all := []string{appointmentTool, lampTool, taxiTool, weatherTool, bareTool}
	for _, text := range []string{
		"", " ", "?!", "🙂", "hello", "hi there", "thanks", "thank you so much", "thanks for the taxi", "bye", "see you later",
		"yes please", "no", "ok great", "how are you today", "who are you", "that is nice", "I am tired", "lol",
		"merci beaucoup", "danke schön", "grazie mille", "muchas gracias", "42", "tomorrow at five",
	} {
		require.Empty(t, offline(t, text, all...), text)
	}
}

func TestOfflineKeepsSilentWhenTheThingIsAskedOrToldAbout(t *testing.T) {
	all := []string{appointmentTool, lampTool, taxiTool, bareTool}
	for _, text := range []string{
		"when is my appointment?", "how much does an appointment cost?", "do I need an appointment?",
		"what is the address?", "where does the taxi stop?", "is the lamp on", "what is its phone number?",
		"my appointment was very nice", "I like coffee", "if it is late I will call a taxi", "maybe I should call a taxi",
		"I already ordered a coffee", "the taxi was late again", "we had a taxi yesterday",
	} {
		require.Empty(t, offline(t, text, all...), text)
	}
}

func TestOfflineFiresAToolThatSmallTalkOrCancellingIsThePointOf(t *testing.T) {
	cancel := `{"name":"cancel_booking","description":"Cancel a booking","examples":["cancel my booking","I don't want my booking any more"]}`
	require.Equal(t, "say-goodbye {}", offline(t, "goodbye", farewellTool, taxiTool))
	require.Equal(t, "cancel_booking {}", offline(t, "please cancel the booking", cancel, taxiTool))
	require.Equal(t, "cancel_booking {}", offline(t, "I don't want the booking", cancel, taxiTool))
}

func TestOfflineReadsEveryLanguageByItsExamples(t *testing.T) {
	for _, text := range []string{
		"Bitte Pflaster nachbestellen!", "PFLASTER NACHBESTELLEN", "Je voudrais commander des pansements, s'il vous plaît",
		"Ich will Pflaster nachbestellen", "ordina i cerotti", "pedir mas vendas", "quiero pedir más vendas",
	} {
		require.Equal(t, "nachbestellen {}", offline(t, text, abroadTool, taxiTool), text)
	}
	for _, text := range []string{
		"Wie geht es dir heute?", "où est la gare", "che ore sono?", "¿dónde está la biblioteca?", "今日はいい天気ですね", "как дела", "مرحبا",
	} {
		require.Empty(t, offline(t, text, abroadTool, taxiTool), text)
	}
}

func TestOfflineComparesScriptsWithoutSpaces(t *testing.T) {
	tool := `{"name":"yoyaku","description":"予約","examples":["予約をお願いします","予約したいです"]}`
	require.Equal(t, "yoyaku {}", offline(t, "予約をしたいです", tool, taxiTool))
}

func TestOfflineKeepsSilentBetweenToolsThatAreEquallyMeant(t *testing.T) {
	one := `{"name":"book_room_north","description":"Book the meeting room in the north wing"}`
	two := `{"name":"book_room_south","description":"Book the meeting room in the south wing"}`
	require.Empty(t, offline(t, "book the meeting room", one, two))
	require.Equal(t, "book_room_south {}", offline(t, "book the meeting room in the south wing", one, two))
}

func TestOfflineRejectsASureToolWithoutItsValues(t *testing.T) {
	tool := `{"name":"book_table","description":"Book a table at a restaurant","examples":["book a table","I want to reserve a table"],
		"schema":[{"parameter":"people","type":"integer","required":true},{"parameter":"terrace","type":"boolean"}]}`
	require.Equal(t, "book_table misses [people]", offline(t, "I want to book a table", tool, taxiTool))
	require.Equal(t, `book_table {"people":4}`, offline(t, "I want to book a table for four people", tool, taxiTool))
	require.Equal(t, `book_table {"people":2,"terrace":true}`, offline(t, "book a table for 2 on the terrace", tool, taxiTool))
}

func TestOfflineHasNothingToDecideWithoutTools(t *testing.T) {
	result, err := matcher.NewOffline().Match(t.Context(), matcher.Request{Text: "I want an appointment"})
	require.NoError(t, err)
	require.Equal(t, matcher.Result{Stage: matcher.StageNone}, result)
}

func TestOfflineWritesNoReplies(t *testing.T) {
	reply, err := matcher.NewOffline().Reply(t.Context(), matcher.Request{Text: "hello", Chat: true}, nil)
	require.NoError(t, err)
	require.Empty(t, reply)
}

func TestOfflineSeesANewRevisionAtOnce(t *testing.T) {
	o := matcher.NewOffline()
	names := func(tool string) []string {
		result, err := o.Match(t.Context(), matcher.Request{Text: "please call a taxi", Candidates: inScope(t, offlineScope, "r", tool)})
		require.NoError(t, err)
		var found []string
		for _, match := range result.Matches {
			found = append(found, match.Tool.Description)
		}
		return found
	}
	require.Equal(t, []string{"Call a taxi"}, names(taxiTool))
	require.Empty(t, names(`{"name":"call_taxi","description":"Water the plants","examples":["water the plants"]}`)[:0])
	require.Equal(t, []string{"Call a taxi now"}, names(`{"name":"call_taxi","description":"Call a taxi now"}`))
}

func FuzzOfflineNeverPanics(f *testing.F) {
	tools := []string{
		appointmentTool, lampTool, abroadTool,
		`{"name":"travel","description":"Book a trip","schema":[
			{"parameter":"from","type":"string"},{"parameter":"to","type":"string"},{"parameter":"start_date","type":"string","description":"YYYY-MM-DD"},
			{"parameter":"end_date","type":"string"},{"parameter":"time","type":"string"},{"parameter":"people","type":"integer"},
			{"parameter":"price","type":"float"},{"parameter":"breakfast","type":"boolean"},{"parameter":"email","type":"string"},
			{"parameter":"class","type":"string","allowedValues":["first","second","B"]},
			{"parameter":"stops","type":"array","items":{"name":"stop","type":"string","description":"a stop"}}]}`,
	}
	for _, text := range []string{
		"", "\xff\xfe", "book a trip from Paris to \"New York\" on March 8th at 5 pm", "trip: '", "«", "1,000.50 -3 3-5 12/31/2026 31.12.2026",
		"twenty five hundred and one thousand and", "half past", "in 99999999999999999999 days", "予約", "don't l'été ’ '", "next next friday next",
		"day after", "the 31st of", "in the", strings.Repeat("and ", 600), "a@b.c http:// +1 (2", "e\u0301\u0301 ﷺ ½ ②",
	} {
		f.Add(text)
	}
	o, candidates := matcher.NewOffline(), inScope(f, offlineScope, "r", tools...)
	f.Fuzz(func(t *testing.T, text string) {
		request := matcher.Request{Text: text, Candidates: candidates, Now: offlineNow}
		_, err := o.Match(t.Context(), request)
		require.NoError(t, err)
		alone := request
		alone.Candidates = candidates[len(candidates)-1:]
		request.Text = "book a trip " + text
		_, err = o.Match(t.Context(), request)
		require.NoError(t, err)
		matcher.Exact(request)
		kept, cut := matcher.Retrieve(request, 2)
		require.Len(t, append(kept, cut...), len(candidates))
	})
}
