package offline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/chain"
	"earshot/matcher/llm"
	"earshot/matcher/matchertest"
	"earshot/trigger/conversation"
)

const (
	lampOn = `{"name":"lamp-on","description":"Turn a lamp on","examples":["turn on the lamp at the desk","switch the lamp on","mach die Lampe am Bett an","allume la lampe du bureau"],
		"schema":[{"parameter":"place","type":"string","description":"which lamp","required":true,"allowedValues":["desk","bed","hall"],
		"aliases":{"desk":["Schreibtisch","bureau"],"bed":["Bett","lit"],"hall":["Flur","couloir"]}}]}`
	lampOff = `{"name":"lamp-off","description":"Turn a lamp off","examples":["turn off the lamp at the bed","mach die Lampe aus","éteins la lampe"],
		"schema":[{"parameter":"place","type":"string","description":"which lamp","required":true,"allowedValues":["desk","bed","hall"],
		"aliases":{"desk":["Schreibtisch","bureau"],"bed":["Bett","lit"],"hall":["Flur","couloir"]}}]}`
	windowOpen  = `{"name":"window-open","description":"Open the window"}`
	windowClose = `{"name":"window-close","description":"Close the window"}`
	massage     = `{"name":"book-massage","description":"Book a massage","examples":["book a massage","I want a massage","ich möchte eine Massage","je voudrais un massage"],
		"schema":[{"parameter":"day","type":"string","description":"as YYYY-MM-DD","required":true},{"parameter":"time","type":"string","description":"as HH:MM","required":true}]}`
	massageOff = `{"name":"cancel-massage","description":"Cancel the massage"}`
	checkout   = `{"name":"checkout","description":"Check out of the hotel","examples":["I would like to check out","we are leaving"]}`
	cleaning   = `{"name":"housekeeping","description":"Ask housekeeping to clean the room","examples":["please clean my room"]}`
	taxiCall   = `{"name":"taxi-call","description":"Call a taxi"}`
	fever      = `{"name":"temperature-note","description":"Write a guest's body temperature down","examples":["write down my temperature, [36.8](degrees)"],
		"schema":[{"parameter":"degrees","type":"number","required":true}]}`
	aircon = `{"name":"aircon-off","description":"Switch the air conditioning off"}`
)

// held runs a conversation like a session, and renders the outcome of each message.
func held(t *testing.T, said ...string) []string {
	t.Helper()
	return heldWith(t, matchertest.InScope(t, matchertest.Scope, "hotel", lampOn, lampOff, windowOpen, windowClose, massage, massageOff, checkout, cleaning, taxiCall, fever, aircon), said...)
}

// heldWith runs a conversation with other tools. A question for a value follows its tool.
func heldWith(t *testing.T, candidates []matcher.Candidate, said ...string) []string {
	t.Helper()
	var history []matcher.Utterance
	var begun []conversation.IncompleteCall
	var outcomes []string
	for _, one := range said {
		request := matcher.Request{Candidates: candidates, Text: one, History: history, Unfinished: conversation.ForMatcher(begun, one), Now: matchertest.Friday}
		result, err := chain.New(llm.Options{}).Match(t.Context(), request)
		require.NoError(t, err)
		begun = conversation.After(begun, one, result, 0)
		utterance := matcher.Utterance{Actor: matcher.ActorUser, Text: one}
		for _, match := range result.Matches {
			utterance.Fired = append(utterance.Fired, matcher.PastCall{Name: match.Tool.Name, Values: match.Values})
		}
		lines := matchertest.Fired(result)
		for _, rejected := range result.Rejected {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s misses %v %s", rejected.Tool.Name, rejected.Missing, rejected.Ask(rejected.Missing...))))
		}
		history, outcomes = append(history, utterance), append(outcomes, strings.Join(lines, "; "))
	}
	return outcomes
}

func TestACorrectionIsNeverMadeWithTheOldValue(t *testing.T) {
	t.Parallel()
	for _, correction := range []string{
		"no, Tuesday", "no, Tuesday rather", "Tuesday instead", "sorry, I meant Tuesday", "not Monday, Tuesday", "Tuesday, not Monday", "actually Tuesday",
		"make it Tuesday", "Monday is no good, Tuesday please", "I can't on Monday, Tuesday please", "wait, Tuesday is better", "scratch that, Tuesday",
		"Tuesday I meant", "on second thought Tuesday", "Tuesday would be better", "nein, lieber Dienstag", "nicht Montag, sondern Dienstag", "ich meinte Dienstag",
		"non, plutôt mardi", "pas lundi, mardi", "ah non, mardi",
	} {
		outcomes := held(t, "I want a massage", "Monday", correction, "at 10:30 am")
		require.Equal(t, "book-massage misses [time]", outcomes[2], correction)
		require.Equal(t, `book-massage {"day":"2026-11-24","time":"10:30"}`, outcomes[3], correction)
	}
	for _, vague := range []string{"no, I meant another day", "oh no, I can't make it then", "no, not that day", "forget it", "nein, vergiss es"} {
		outcomes := held(t, "I want a massage", "Monday", vague, "at 10:30 am")
		require.NotContains(t, outcomes[3], "2026-11-23", vague)
	}
}

func TestTroubleCallsForWhatMendsIt(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "desk", `{"name":"block-card","description":"Block a lost or stolen card"}`,
		`{"name":"book-massage","description":"Book a massage"}`, `{"name":"maison-panne","description":"Signaler que le chauffage ne marche pas"}`,
		`{"name":"schluessel","description":"Der Gast hat den Schlüssel verloren"}`)
	for said, want := range map[string]string{
		"I have lost my card": "block-card {}", "somebody has stolen my card": "block-card {}", "ich habe den Schlüssel verloren": "schluessel {}",
		"le chauffage ne marche pas": "maison-panne {}",
		"I have not lost my card":    "", "my massage was fine": "", "ich habe den Schlüssel nicht verloren": "", "le chauffage marche": "", "I lost my way": "",
	} {
		require.Equal(t, []string{want}, heldWith(t, candidates, said), said)
	}
}

func TestATextIsAboutTheNumberThatCanBeChosen(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "desk", `{"name":"choose-time","description":"User chooses the time of the appointment",
		"schema":[{"parameter":"time","type":"string","required":true,"allowedValues":["10:00","11:30"]}],"examples":["I take 10:00"]}`, taxiCall)
	for said, want := range map[string]string{"I take 11:30": `choose-time {"time":"11:30"}`, "I take 12:45": "choose-time misses [time]", "I take it": ""} {
		require.Equal(t, []string{want}, heldWith(t, candidates, said), said)
	}
}

func TestATextThatCorrectsItselfIsMadeWithWhatItSaysLast(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"turn on the lamp at the desk, no, at the bed":         `lamp-on {"place":"bed"}`,
		"turn on the lamp at the desk, sorry, I mean the hall": `lamp-on {"place":"hall"}`,
		"turn on the lamp at the bed but not in the hall":      `lamp-on {"place":"bed"}`,
		"don't clean the room, call a taxi instead":            `taxi-call {}`,
		"open the window, no, the lamp on at the bed instead":  `lamp-on {"place":"bed"}`,
	} {
		require.Equal(t, []string{want}, held(t, said), said)
	}
}

func TestAMessageSpeaksOfWhatWasDoneBefore(t *testing.T) {
	t.Parallel()
	for _, turns := range [][2][]string{
		{
			{"turn on the lamp at the desk", "and the bed too", "no, the hall", "turn it off again", "the desk as well"},
			{`lamp-on {"place":"desk"}`, `lamp-on {"place":"bed"}`, `lamp-on {"place":"hall"}`, `lamp-off {"place":"hall"}`, `lamp-off {"place":"desk"}`},
		},
		{
			{"mach die Lampe am Bett an", "und die am Schreibtisch auch", "mach sie wieder aus", "nein, die im Flur"},
			{`lamp-on {"place":"bed"}`, `lamp-on {"place":"desk"}`, `lamp-off {"place":"desk"}`, `lamp-off {"place":"hall"}`},
		},
		{
			{"allume la lampe du bureau", "et celle du lit aussi", "éteins-la", "non, celle du couloir"},
			{`lamp-on {"place":"desk"}`, `lamp-on {"place":"bed"}`, `lamp-off {"place":"bed"}`, `lamp-off {"place":"hall"}`},
		},
		{{"open the window", "and close it again", "thanks", "no"}, {`window-open {}`, `window-close {}`, "", ""}},
		{{"write down my temperature 38.4", "write down that my temperature is between 37 and 38"}, {`temperature-note {"degrees":38.4}`, "temperature-note misses [degrees]"}},
		{{"turn on the lamp at the desk", "no lamp at the bed", "no lamp"}, {`lamp-on {"place":"desk"}`, `lamp-on {"place":"bed"}`, ""}},
		{{"switch it off", "and the other one", "not that one", "again"}, {"", "", "", ""}},
	} {
		require.Equal(t, turns[1], held(t, turns[0]...))
	}
}

func TestSeveralWishesAreAllHeard(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"clean my room and call a taxi":                         "housekeeping {}; taxi-call {}",
		"open the window and then call a taxi please":           "window-open {}; taxi-call {}",
		"turn on the lamp in the hall and at the desk":          `lamp-on {"place":"hall"}; lamp-on {"place":"desk"}`,
		"turn on the lamp at the desk, at the bed and the hall": `lamp-on {"place":"desk"}; lamp-on {"place":"bed"}; lamp-on {"place":"hall"}`,
		"turn off the lamp in the hall or at the desk":          "lamp-off misses [place]",
		"call a taxi and turn on the lamp":                      "taxi-call {}; lamp-on misses [place]",
	} {
		require.Equal(t, []string{want}, held(t, said), said)
	}
}

func TestCallsOfOneMessageAreCompletedOneByOne(t *testing.T) {
	t.Parallel()
	for _, talk := range [][2][]string{
		{
			{"book a massage and turn on the lamp", "Monday", "no, Tuesday", "at 10:30 am", "at the desk"},
			{
				"book-massage misses [day time]; lamp-on misses [place]", "book-massage misses [time]", "book-massage misses [time]",
				`book-massage {"day":"2026-11-24","time":"10:30"}`, `lamp-on {"place":"desk"}`,
			},
		},
		{
			{"book a massage and turn on the lamp", "at the bed", "Monday at 10:30 am"},
			{"book-massage misses [day time]; lamp-on misses [place]", `lamp-on {"place":"bed"}`, `book-massage {"day":"2026-11-23","time":"10:30"}`},
		},
	} {
		require.Equal(t, talk[1], held(t, talk[0]...))
	}
}

func TestAnEndOfARangeIsNoValue(t *testing.T) {
	t.Parallel()
	heating := `{"name":"heating-set","description":"Set the heating to a temperature","examples":["heating to 21 degrees","Heizung auf 20 Grad"],
		"schema":[{"parameter":"degrees","type":"number","required":true}]}`
	for said, want := range map[string]string{
		"set the heating to between 20 and 22 degrees": "heating-set misses [degrees]",
		"Heizung auf zwischen 20 und 22 Grad":          "heating-set misses [degrees]",
		"set the heating to 22 degrees":                `heating-set {"degrees":22}`,
	} {
		require.Equal(t, want, matched(t, said, heating, aircon), said)
	}
}

func TestAWishThatIsLeftIsSaid(t *testing.T) {
	ctx, trace := matcher.Recorded(t.Context())
	request := matcher.Request{Text: "clean my room and water the flowers", Candidates: matchertest.InScope(t, matchertest.Scope, "hotel", cleaning, taxiCall), Now: matchertest.Friday}
	result, err := chain.New(llm.Options{}).Match(ctx, request)
	require.NoError(t, err)
	require.Equal(t, []string{"housekeeping {}"}, matchertest.Fired(result))
	require.Equal(t, []string{"No tool was found for a part of the message: water the flowers."}, trace.Notes)
}

func TestWhatIsNotMeantNowFiresNothing(t *testing.T) {
	t.Parallel()
	for _, said := range []string{
		// Fragments, and texts with no thing or an unknown one.
		"turn", "turn on", "open", "open the", "stop", "cancel", "close everything", "switch it off", "open the door", "turn on the tv", "an", "ouvre",
		// The future, the past and conditions.
		"we are leaving tomorrow", "we are leaving on Sunday morning", "tomorrow at 7 open the window", "in half an hour open the window", "open the window later", "open the window on Friday",
		"I opened the window", "we have closed the window", "somebody left the window open", "grandpa always closed the window", "ich habe das Fenster geschlossen",
		"if it rains close the window", "close the window when it starts to rain", "as soon as I am back open the window", "call a taxi if I am not back by ten",
		"falls es dunkel wird, mach die Lampe am Bett an", "s'il fait nuit, allume la lampe du bureau",
		// Questions, denials and statements.
		"is the window open?", "why is the lamp on", "should I close the window", "ist die Lampe an?", "the window is open", "Monday is my day", "no massage for me",
		"don't open the window", "mach die Lampe nicht aus", "n'allume pas la lampe", "there is no need to call a taxi", "I need no massage",
		// A number without a parameter.
		"air conditioning to 23",
	} {
		for _, outcome := range held(t, said) {
			require.NotContains(t, outcome, "{", said)
		}
	}
	require.Equal(t, []string{"taxi-call {}"}, held(t, "please call a taxi if you can"))
	require.Equal(t, []string{"checkout {}"}, held(t, "we are leaving"))
	require.Equal(t, []string{"book-massage misses [day time]"}, held(t, "I need a massage"), "nothing is cancelled")
}
