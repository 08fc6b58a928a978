package offline_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnAllowedValueIsOneThatIsMeant(t *testing.T) {
	t.Parallel()
	car := `{"name":"rent-car","description":"Rent a car","schema":[{"parameter":"category","type":"string","description":"size","allowedValues":["small","large"],"aliases":{"small":["klein","kleines","petite"]}}],
		"examples":["I want to rent a [small](category) car","Ich möchte ein Auto mieten","Je veux louer une voiture"]}`
	flats := `{"name":"show-flats","description":"Show flats","schema":[{"parameter":"size","type":"string","allowedValues":["small","large"]}],"examples":["Show me flats"]}`
	flight := `{"name":"book-flight","description":"Book a flight","schema":[{"parameter":"cabin","type":"string","description":"class","allowedValues":["business","first"]}],"examples":["Book a flight"]}`
	visit := `{"name":"book-appointment","description":"Book an appointment","schema":[{"parameter":"doctor","type":"string","description":"doctor","allowedValues":["Dr. Weber","Dr. Rossi"]}],"examples":["I need an appointment"]}`
	for said, want := range map[string]string{
		"I want to rent a small car":                           `rent-car {"category":"small"}`,
		"I want to rent a car, it should be small":             `rent-car {"category":"small"}`,
		"I want to rent a car, small would be fine":            `rent-car {"category":"small"}`,
		"I want to rent a car that is not small":               "",
		"Show me flats, and one that is not small":             "show-flats {}",
		"I want to rent a car, small is too tight":             "rent-car {}",
		"I want to rent a car, last time it was small":         "rent-car {}",
		"I want to rent a car, my son is small":                "rent-car {}",
		"Ich möchte ein Auto mieten, letztes Mal war es klein": "rent-car {}",
		"Book a flight, first class":                           `book-flight {"cabin":"first"}`,
		"Book a first class flight":                            `book-flight {"cabin":"first"}`,
		"Book the first flight":                                "book-flight {}",
		"Book a flight for my first holiday":                   "book-flight {}",
		"I need an appointment with Dr. Weber":                 `book-appointment {"doctor":"Dr. Weber"}`,
		"I need an appointment with Dr Weber":                  `book-appointment {"doctor":"Dr. Weber"}`,
		"I need an appointment with dr. weber":                 `book-appointment {"doctor":"Dr. Weber"}`,
		"I need an appointment with DR.ROSSI":                  `book-appointment {"doctor":"Dr. Rossi"}`,
		"I need an appointment with Dr. Brown":                 "book-appointment misses []",
	} {
		require.Equal(t, want, matched(t, said, car, flats, flight, visit), said)
	}
}
