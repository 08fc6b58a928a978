package offline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// everyday are tools as people describe them in a hurry, and what they say to them first. The
// tool comes before each text, and a dash before those that call for none.
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
