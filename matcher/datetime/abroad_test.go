package datetime_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher/datetime"
)

func TestTimesAsGermanAndFrenchSayThem(t *testing.T) {
	for said, want := range map[string][]string{
		"um zehn Uhr":                    {"10:00"},
		"um zehn Uhr dreißig":            {"10:30"},
		"um neunzehn Uhr":                {"19:00"},
		"um 8 Uhr 15":                    {"08:15"},
		"um halb sieben":                 {"06:30", "18:30"},
		"um Viertel vor acht":            {"07:45", "19:45"},
		"um Viertel nach acht abends":    {"20:15"},
		"um zehn nach acht morgens":      {"08:10"},
		"um dreiviertel acht":            {"07:45", "19:45"},
		"um neun":                        {"09:00", "21:00"},
		"à dix heures":                   {"10:00"},
		"à six heures et demie":          {"06:30"},
		"à sept heures et quart":         {"07:15"},
		"à huit heures moins le quart":   {"07:45"},
		"à huit heures moins dix":        {"07:50"},
		"à une heure":                    {"01:00"},
		"à trois heures de l'après-midi": {"15:00"},
		"à huit heures du soir":          {"20:00"},
		"à midi":                         {"12:00"},
		"um Mitternacht":                 {"00:00"},
		"a six pack":                     nil,
		"in zehn Minuten":                nil,
		"zehn Tische":                    nil,
	} {
		found := datetime.NewText(said, time.Now()).Clocks()
		var values []string
		for _, one := range found {
			values = append(values, one.Values...)
			if one.Exact != "" {
				values = []string{one.Exact}
			}
		}
		require.Equal(t, want, values, said)
	}
}
