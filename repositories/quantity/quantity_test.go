package quantity_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/quantity"
)

func TestAmountsConvert(t *testing.T) {
	for _, test := range []struct{ unit, text, number string }{
		{"minutes", "two hours", "120"},
		{"minutes", "2 hours", "120"},
		{"minutes", "2h", "120"},
		{"minutes", "1h30", "90"},
		{"minutes", "1 h 30 min", "90"},
		{"minutes", "1 h 30", "90"},
		{"minutes", "1 hour and 30 minutes", "90"},
		{"minutes", "1 hour 20", "80"},
		{"minutes", "one hour twenty", "80"},
		{"minutes", "1 hour and 20", "80"},
		{"minutes", "eine Stunde zwanzig", "80"},
		{"minutes", "five point five hours", "330"},
		{"minutes", "2 point 25 hours", "135"},
		{"minutes", "an hour and a half", "90"},
		{"minutes", "one and a half hours", "90"},
		{"minutes", "1½ hours", "90"},
		{"minutes", "1 1/2 hours", "90"},
		{"minutes", "half an hour", "30"},
		{"minutes", "three quarters of an hour", "45"},
		{"minutes", "30-minute", "30"},
		{"minutes", "twenty-five minutes", "25"},
		{"minutes", "a hundred and twenty minutes", "120"},
		{"minutes", "30 seconds", "0.5"},
		{"minutes", "5 m", "5"},
		{"minutes", "-5 minutes", "-5"},
		{"minutes", "zwei Stunden", "120"},
		{"minutes", "eine halbe Stunde", "30"},
		{"minutes", "eine Dreiviertelstunde", "45"},
		{"minutes", "anderthalb Stunden", "90"},
		{"minutes", "fünfundvierzig Minuten", "45"},
		{"minutes", "hundertzwanzig Minuten", "120"},
		{"minutes", "2,5 Stunden", "150"},
		{"minutes", "une demi-heure", "30"},
		{"minutes", "un quart d'heure", "15"},
		{"minutes", "deux heures et demie", "150"},
		{"minutes", "quatre-vingt-dix minutes", "90"},
		{"minutes", "cent minutes", "100"},
		{"minutes", "mezz'ora", "30"},
		{"minutes", "due ore e mezza", "150"},
		{"minutes", "ventuno minuti", "21"},
		{"minutes", "media hora", "30"},
		{"minutes", "treinta y cinco minutos", "35"},
		{"minutes", "soixante et onze minutes", "71"},
		{"minutes", "deux cent vingt et une minutes", "221"},
		{"minutes", "cent quatre-vingt-trois minutes", "183"},
		{"minutes", "mil quinientos minutos", "1500"},
		{"minutes", "duecentocinquanta minuti", "250"},
		{"minutes", "dreihundertfünfundzwanzigtausend Minuten", "325000"},
		{"hours", "20 minutes", "0.333333"},
		{"Stunden", "90 min", "1.5"},
		{"kg", "500 g", "0.5"},
		{"kg", "5 pounds", "2.26796185"},
		{"m", "2 km", "2000"},
		{"km/h", "10 m/s", "36"},
		{"°C", "68 °F", "20"},
		{"fahrenheit", "20 degrees", "20"},
		{"celsius", "21 Grad", "21"},
		{"%", "fifty percent", "50"},
		{"euros", "$20", ""},
		{"euros", "5 Euro 50", "5.5"},
		{"euros", "fünf Euro fünfzig", "5.5"},
		{"euros", "cinco euros con cincuenta", "5.5"},
		{"euros", "5 euro e 50", "5.5"},
		{"euros", "five point five euros", "5.5"},
		{"euros", "fünf Komma zwei fünf Euro", "5.25"},
		{"euros", "cinq virgule vingt-cinq euros", "5.25"},
		{"euros", "cinco coma cero cinco euros", "5.05"},
		{"euros", "5 virgola 05 euro", "5.05"},
		{"euros", "€20", "20"},
		{"euros", "fünf Cent", "0.05"},
		{"guests", "four guests", "4"},
		{"guests", "1 guest", "1"},
	} {
		number, err := quantity.Of(test.unit).Read(test.text)
		if test.number == "" {
			require.Error(t, err, test.text)
			continue
		}
		require.NoError(t, err, test.text)
		require.Equal(t, json.Number(test.number), number, test.text)
	}
}

func TestWhatIsNoAmountSaysWhy(t *testing.T) {
	for text, why := range map[string]string{
		"two kilograms":             "does not convert to minutes",
		"5 guests":                  "not one amount in minutes alone",
		"2 to 3 hours":              "is a range",
		"2-3 hours":                 "is a range",
		"between 2 and 3 hours":     "is a range",
		"10 oder 20 Minuten":        "is a range",
		"de 2 à 3 heures":           "is a range",
		"30 seconds to a minute":    "not one amount",
		"30 seconds to 1 minute":    "is a range",
		"not 2 hours":               "is negated",
		"no 2 hours":                "is negated",
		"nicht für 30 Minuten":      "is negated",
		"pas 30 minutes":            "is negated",
		"30 Minuten nicht":          "is negated",
		"2 hours, and 20 hours":     "not one amount",
		"1.500 seconds":             "may be 25 or 0.025 minutes",
		"5":                         "does not say in which unit",
		"a":                         "not an amount",
		"":                          "not an amount",
		"hours":                     "not an amount",
		"1.2.3,4,5 hours":           "not an amount",
		"2 hours ago or so perhaps": "not one amount",
	} {
		_, err := quantity.Of("minutes").Read(text)
		require.ErrorContains(t, err, why, text)
	}
}

func TestAmountsOfAMessage(t *testing.T) {
	minutes := quantity.Of("minutes")
	amounts := func(text string) (found []string) {
		for _, one := range minutes.Amounts(text) {
			found = append(found, fmt.Sprintf("%s %v %v %t %t %t", text[one.From:one.To], minutes.Numbers(one), one.Spoken(), one.Range, one.Loose, one.Denied))
		}
		return found
	}
	require.Equal(t, []string{
		"30 minutes [] [30] false false true", "an hour and a half [90] [1.5] false false false", "3 [3] [3] false false false",
	}, amounts("No, not for 30 minutes, an hour and a half please, and for 3 guests"))
	require.Equal(t, []string{"3 [] [3] true true false", "21 degrees [] [21] true true false"}, amounts("set the heating of room 3 to 21 degrees"))
	require.Equal(t, []string{"10 [] [10] true false false", "20 minutes [] [20] true false false"}, amounts("from 10 to 20 minutes"))
	require.Equal(t, []string{"30 minutes [30] [30] false false false"}, amounts("no, 30 minutes"), "what is answered before is not denied after")
	require.Equal(t, []string{"1 h 5 min [65] [] false false false"}, amounts("1 h 5 min"))
	require.Empty(t, amounts("a lovely second-hand hat in May"))
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{"two and a half hours", "1/0 h", "- - 5", "½½ kg", "a half of an", "2 to", "€", "1h1h1h"} {
		f.Add("minutes", text)
	}
	f.Fuzz(func(t *testing.T, unit, text string) {
		of := quantity.Of(unit)
		for _, one := range of.Amounts(text) {
			require.Less(t, one.From, one.To)
			_ = text[one.From:one.To]
			of.Numbers(one)
		}
		if number, err := of.Read(text); err == nil {
			require.True(t, json.Valid([]byte(number)), string(number))
		}
	})
}
