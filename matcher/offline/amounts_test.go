package offline_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const reminder = `{"name":"remind_me","description":"Set a reminder","examples":["remind me","set a reminder"],"schema":[
	{"parameter":"delay","type":"integer","unit":"minutes","required":true},
	{"parameter":"day","type":"string","allowedValues":["Monday","Friday"],"aliases":{"Friday":["Freitag","vendredi"]}}]}`

func TestOfflineMatcherReadsAmountsAndAliases(t *testing.T) {
	for said, want := range map[string]string{
		"remind me in two hours":                           `remind_me {"delay":120}`,
		"remind me Freitag in 1 h 30":                      `remind_me {"day":"Friday","delay":90}`,
		"set a reminder in half an hour":                   `remind_me {"delay":30}`,
		"set a reminder in 30 seconds":                     "remind_me misses [delay]",
		"set a reminder in 2 kilos":                        "remind_me misses [delay]",
		"set a reminder in 2 to 3 hours":                   "remind_me misses [delay]",
		"set a reminder, not in 30 minutes but 40 minutes": `remind_me {"delay":40}`,
	} {
		require.Equal(t, want, matched(t, said, reminder), said)
	}
}

func TestAnArticleIsANumberBeforeWhatIsCounted(t *testing.T) {
	t.Parallel()
	room := `{"name":"book-room","description":"Book a room","schema":[{"parameter":"nights","type":"integer","description":"how many","required":true}],
		"examples":["a room for [2](nights) nights","ein Zimmer für [2](nights) Nächte","une chambre pour [2](nights) nuits","una habitación para [2](nights) noches"]}`
	cart := `{"name":"fill-cart","description":"Fill the cart","schema":[{"parameter":"count","type":"integer"}],"examples":["leg [2](count) Hemden in den Wagen"]}`
	for said, want := range map[string]string{
		"Una habitación para una noche, por favor": `book-room {"nights":1}`, "Ich möchte ein Zimmer für eine Nacht": `book-room {"nights":1}`, "Je voudrais une chambre pour une nuit": `book-room {"nights":1}`,
		"Una habitación, por favor": "book-room misses [nights]", "Una habitación para menos de una noche, por favor": "book-room misses [nights]", "Una habitación para una o dos noches, por favor": "book-room misses [nights]",
		"Una habitación para una noche o dos, por favor": "book-room misses [nights]", "I want a room for a night or two": "book-room misses [nights]", "Una habitación para una de las noches, por favor": "book-room misses [nights]",
		"Leg ein Hemd in den Wagen": "fill-cart {}",
	} {
		require.Equal(t, want, matched(t, said, room, cart), said)
	}
}
