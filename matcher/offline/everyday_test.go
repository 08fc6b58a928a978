package offline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher/matchertest"
)

// everyday are briefly described tools, and first messages to them. The expected tool precedes each text, a dash
// means none.
var everyday = []struct{ tools, said string }{
	{
		`{"name":"see-vet","description":"Make an appointment with the vet"},{"name":"cancel-visit","description":"Cancel an appointment with the vet"},
		 {"name":"vet-hours","description":"Tell the opening hours"},{"name":"order-food","description":"Order pet food"}`,
		`see-vet: I need an appointment with the vet; see-vet: can I get an appointment please; cancel-visit: I want to cancel my appointment;
		 vet-hours: what are your opening hours; order-food: I would like to order pet food; -: the vet was very friendly; -: good morning`,
	},
	{
		`{"name":"fan-on","description":"Turn the fan on"},{"name":"fan-off","description":"Turn the fan off"},
		 {"name":"open-curtains","description":"Open the curtains"},{"name":"close-curtains","description":"Close the curtains"},
		 {"name":"start-vacuum","description":"Start the vacuum cleaner"}`,
		`fan-on: turn on the fan; fan-off: please switch the fan off; -: please do not turn on the fan; -: don't open the curtains; open-curtains: could you open the curtains; close-curtains: close the curtians please;
		 start-vacuum: start the vacuum cleaner; -: the curtains are new; -: what is your name`,
	},
	{
		`{"name":"weather-report","description":"Tell the weather"},{"name":"traffic-report","description":"Tell about the traffic"},
		 {"name":"order-cab","description":"Order a taxi"},{"name":"find-hotel","description":"Find a hotel"}`,
		`weather-report: what is the weather like; order-cab: I need a taxi; find-hotel: I am looking for a hotel; traffic-report: how is the traffic today;
		 -: I took a taxi yesterday; -: tell me a joke`,
	},
}

func TestToolsWithoutExamplesAreFoundByWhatPeopleSayFirst(t *testing.T) {
	var meant, right int
	for _, set := range everyday {
		for one := range strings.SplitSeq(set.said, ";") {
			name, said, _ := strings.Cut(strings.TrimSpace(one), ": ")
			got := matched(t, said, set.tools)
			if name == "-" {
				require.Empty(t, got, said)
				continue
			}
			meant++
			if got == name+" {}" {
				right++
				continue
			}
			require.Empty(t, got, said)
		}
	}
	require.GreaterOrEqual(t, 100*right, 85*meant, "%d of %d", right, meant)
}

// hotel are tools of which a message may want several.
var hotel = []string{
	`{"name":"call-taxi","description":"Call a taxi","examples":["I need a taxi","call me a cab"]}`,
	`{"name":"book-table","description":"Book a table in the restaurant","examples":["book a table for [4](people)"],"schema":[{"parameter":"people","type":"integer","required":true}]}`,
	`{"name":"clean-room","description":"Have the room cleaned","examples":["please clean my room","my room is dirty"]}`,
	`{"name":"schluessel-verloren","description":"Einen verlorenen Schlüssel melden","examples":["ich habe meinen Schlüssel verloren","ich finde den Schlüssel nicht"]}`,
	`{"name":"signaler-panne","description":"Signaler que l'internet ne marche pas"}`,
}

func TestWhatIsMeantAmongOtherWords(t *testing.T) {
	t.Parallel()
	tools := matchertest.InScope(t, matchertest.Scope, "r", hotel...)
	for said, want := range map[string]string{
		"I need a taxi, it is raining, and book a table for two":          "call-taxi book-table",
		"please clean my room, it is really dirty, and call me a taxi":    "clean-room call-taxi",
		"call me a taxi and clean the room. Is it raining? Book no table": "",
		"is it possible to call a taxi":                                   "call-taxi",
		"is there a taxi":                                                 "",
		"taxi":                                                            "", // incomplete
		"taxi please":                                                     "call-taxi",
		"ich habe den Schlüssel verloren":                                 "schluessel-verloren",
		"den Schlüssel habe ich nicht verloren":                           "",
		"bonjour, mon internet ne marche plus":                            "signaler-panne",
	} {
		require.Equal(t, want, fired(t, said, "certain", tools), said)
	}
}
