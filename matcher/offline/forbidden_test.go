package offline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/matchertest"
	"earshot/matcher/offline"
)

// TestWhatAMessageForbidsBesideItsOrderDoesNotFire has clauses without a comma between them.
func TestWhatAMessageForbidsBesideItsOrderDoesNotFire(t *testing.T) {
	const room = `"schema":[{"parameter":"room","type":"string","required":true,"allowedValues":["kitchen","office"],"aliases":{"kitchen":["cucina","cocina","cuisine"]}}]`
	const home = `{"name":"light-on","description":"Turn on the light in a room",` + room + `,"examples":["Turn on the light in the [kitchen](room)","Accendi la luce in [cucina](room)","Allume la lumière de la [cuisine](room)","Enciende la luz de la [cocina](room)"]},
		{"name":"open-blinds","description":"Open the blinds","examples":["Open the blinds"]},{"name":"lock-door","description":"Lock the front door","examples":["Lock the door"]}`
	for said, want := range map[string]string{
		"Open the blinds but don't turn on the light in the kitchen":                  "open-blinds {}",
		"Lock the door and please do not open the blinds":                             "lock-door {}",
		"Open the blinds but never lock the door":                                     "open-blinds {}",
		"Accendi la luce in cucina ma non aprire le tapparelle":                       `light-on {"room":"kitchen"}`,
		"Allume la lumière de la cuisine mais n'ouvre pas les volets":                 `light-on {"room":"kitchen"}`,
		"Enciende la luz de la cocina pero no abras las persianas":                    `light-on {"room":"kitchen"}`,
		"Don't open the blinds and don't turn on the light in the office":             "",
		"I would open the blinds but don't have the time":                             "",
		"Please open the blinds but don't turn on the light in the office":            "open-blinds {}",
		"You must not turn on the light in the kitchen":                               "",
		"Today please don't turn on the light in the kitchen":                         "",
		"I did not tell you to turn on the light in the kitchen":                      "",
		"Open the blinds although I told you not to turn on the light in the kitchen": "",
		"Hoy por favor no enciendas la luz de la cocina":                              "",
		"I can't see anything, turn on the light in the kitchen":                      `light-on {"room":"kitchen"}`,
		"Can't you turn on the light in the kitchen":                                  `light-on {"room":"kitchen"}`,
		"Please don't forget to turn on the light in the kitchen":                     `light-on {"room":"kitchen"}`,
	} {
		require.Equal(t, want, matched(t, said, home), said)
	}
	ctx, trace := matcher.Recorded(t.Context())
	request := matcher.Request{Text: "Open the blinds but don't lock the door", Candidates: matchertest.InScope(t, matchertest.Scope, "r", home), Now: matchertest.Friday}
	_, err := offline.New().Match(ctx, request)
	require.NoError(t, err)
	require.Contains(t, trace.Notes, "The message forbids a part of what it names: don't lock the door.")
}
