package offline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher/matchertest"
)

// A call that acts now, or on the wrong day, is worse than none.
func TestATimeThatNoParameterHoldsFiresNothing(t *testing.T) {
	t.Parallel()
	taxi := `{"name":"order-taxi","description":"Order a taxi","schema":[{"parameter":"time","type":"string","description":"pick-up time","format":"time"}],
		"examples":["I need a taxi","Call me a taxi at [8 pm](time)","Ich brauche ein Taxi","Ho bisogno di un taxi","Necesito un taxi","J'ai besoin d'un taxi"]}`
	wake := `{"name":"wake","description":"Wake the guest","schema":[{"parameter":"time","type":"string","required":true,"format":"time"}],"examples":["Wake me at [7 am](time)"]}`
	drop := `{"name":"delete-event","description":"Delete an event","schema":[{"parameter":"day","type":"string","required":true,"format":"date"}],"examples":["Delete my meeting on [Friday](day)"]}`
	timer := `{"name":"start-timer","description":"Start a timer","schema":[{"parameter":"length","type":"string","required":true,"format":"duration"}],"examples":["Set a timer for [10 minutes](length)"]}`
	for said, want := range map[string]string{
		"I need a taxi on Monday":                    "",
		"I need a taxi in 20 minutes":                "",
		"Ich brauche ein Taxi in 20 Minuten":         "",
		"J'ai besoin d'un taxi dans 20 minutes":      "",
		"Ho bisogno di un taxi tra 20 minuti":        "",
		"Necesito un taxi dentro de media hora":      "",
		"Call me a taxi later":                       "",
		"Call me a taxi next month at 8 pm":          "",
		"Call me a taxi on December 24 at 8 pm":      "",
		"Call me a taxi tomorrow at 8 pm":            "", // today it is 8 pm first
		"Call me a taxi tomorrow at 7 am":            `order-taxi {"time":"07:00"}`,
		"Call me a taxi on Saturday at 7 am":         `order-taxi {"time":"07:00"}`,
		"I need a taxi tonight at 8 pm":              `order-taxi {"time":"20:00"}`,
		"I need a taxi today":                        "order-taxi {}",
		"Wake me on Monday at 7 am":                  "",
		"Wake me tomorrow at 7":                      "wake misses [time]",
		"Delete my meeting on Monday at 3 pm":        "",
		"Delete my meeting on Monday":                `delete-event {"day":"2026-11-23"}`,
		"Set a timer for 10 minutes":                 `start-timer {"length":"PT10M"}`,
		"Set a timer for 10 minutes tomorrow":        "",
		"Set a timer for 10 minutes at 8 pm, please": "",
	} {
		require.Equal(t, want, matched(t, said, taxi, wake, drop, timer), said)
	}
	candidates := matchertest.InScope(t, matchertest.Scope, "r", taxi, wake)
	for answer, want := range map[string]string{"tomorrow at 8 pm": "", "on Monday at 7 am": "", "in 20 minutes": "", "tomorrow at 7 am": `wake {"time":"07:00"}`, "at 7 am": `wake {"time":"07:00"}`} {
		require.Equal(t, []string{"wake misses [time]", want}, heldWith(t, candidates, "Wake me", answer), answer)
	}
}
