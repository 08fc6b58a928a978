package datetime_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher/datetime"
	"earshot/matcher/matchertest"
)

func TestDaysAreReadWithTheWordsAroundThem(t *testing.T) {
	reads(t, (*datetime.Text).Dates, map[string]string{
		// The day of all is Friday, 2026-11-20.
		"the day after tomorrow":            "day after tomorrow 2026-11-22 =2026-11-22",
		"the day before yesterday":          "day before yesterday 2026-11-18 =2026-11-18",
		"pasado mañana":                     "pasado mañana 2026-11-22 =2026-11-22",
		"mañana por la mañana":              "mañana 2026-11-21 =2026-11-21",
		"mañana":                            "mañana 2026-11-21 =2026-11-21",
		"esta mañana":                       "esta mañana 2026-11-20 =2026-11-20",
		"après-demain":                      "après-demain 2026-11-22 =2026-11-22",
		"avant-hier":                        "avant-hier 2026-11-18 =2026-11-18",
		"dopodomani":                        "dopodomani 2026-11-22 =2026-11-22",
		"dopo domani":                       "dopo domani 2026-11-22 =2026-11-22",
		"am Morgen":                         "",
		"Montag Morgen":                     "Montag 2026-11-23 =2026-11-23",
		"morgen":                            "morgen 2026-11-21 =2026-11-21",
		"last Tuesday":                      "last Tuesday 2026-11-17 =2026-11-17",
		"mardi dernier":                     "mardi dernier 2026-11-17 =2026-11-17",
		"el martes pasado":                  "martes pasado 2026-11-17 =2026-11-17",
		"el pasado martes":                  "pasado martes 2026-11-17 =2026-11-17",
		"letzten Dienstag":                  "letzten Dienstag 2026-11-17 =2026-11-17",
		"vergangenen Dienstag":              "vergangenen Dienstag 2026-11-17 =2026-11-17",
		"martedì scorso":                    "martedì scorso 2026-11-17 =2026-11-17",
		"mardi prochain":                    "mardi prochain 2026-11-24 =2026-11-24",
		"el martes que viene":               "martes que viene 2026-11-24 =2026-11-24",
		"am kommenden Dienstag":             "kommenden Dienstag 2026-11-24 =2026-11-24",
		"el próximo viernes":                "próximo viernes 2026-11-27 =2026-11-27",
		"diesen Freitag":                    "diesen Freitag 2026-11-20|2026-11-27 =2026-11-20",
		"am 5.12. um 9 Uhr":                 "5.12 2026-12-05|2025-12-05 =2026-12-05",
		"das kostet 5.12.":                  "",
		"nächsten Sonntag":                  "nächsten Sonntag 2026-11-22|2026-11-29",
		"Tuesday week":                      "Tuesday week 2026-12-01 =2026-12-01",
		"tomorrow week":                     "tomorrow week 2026-11-28 =2026-11-28",
		"a week on Tuesday":                 "a week on Tuesday 2026-12-01 =2026-12-01",
		"mardi en huit":                     "mardi en huit 2026-12-01 =2026-12-01",
		"the Tuesday after next":            "Tuesday after next 2026-12-01 =2026-12-01",
		"übernächsten Dienstag":             "übernächsten Dienstag 2026-12-01 =2026-12-01",
		"am Dienstag in einer Woche":        "Dienstag in einer Woche 2026-12-01|2026-11-24",
		"in einer Woche am Dienstag":        "in einer Woche am Dienstag 2026-12-01|2026-11-24",
		"next week on Tuesday":              "next week on Tuesday 2026-11-24 =2026-11-24",
		"Tuesday of next week":              "Tuesday of next week 2026-11-24 =2026-11-24",
		"nächste Woche Sonntag":             "nächste Woche Sonntag 2026-11-29 =2026-11-29",
		"Sonntag nächster Woche":            "Sonntag nächster Woche 2026-11-29 =2026-11-29",
		"dimanche de la semaine prochaine":  "dimanche de la semaine prochaine 2026-11-29 =2026-11-29",
		"el domingo de la semana que viene": "domingo de la semana que viene 2026-11-29 =2026-11-29",
		"domenica della prossima settimana": "domenica della prossima settimana 2026-11-29 =2026-11-29",
		"two days before Tuesday":           "two days before Tuesday 2026-11-22 =2026-11-22",
		"the day after Tuesday":             "the day after Tuesday 2026-11-25 =2026-11-25",
		"a week before 24 December":         "a week before 24 December 2026-12-17|2025-12-17 =2026-12-17",
		"zwei Tage vor Dienstag":            "zwei Tage vor Dienstag 2026-11-22 =2026-11-22",
		"am Tag nach dem 24. Dezember":      "am Tag nach dem 24. Dezember 2026-12-25|2025-12-25 =2026-12-25",
		"deux jours avant mardi":            "deux jours avant mardi 2026-11-22 =2026-11-22",
		"dos días antes del martes":         "dos días antes del martes 2026-11-22 =2026-11-22",
		"due giorni prima di martedì":       "due giorni prima di martedì 2026-11-22 =2026-11-22",
		"for two days from Tuesday":         "Tuesday 2026-11-24 =2026-11-24",
		"in 3 Tagen":                        "in 3 Tagen 2026-11-23 =2026-11-23",
		"in zwei Wochen":                    "in zwei Wochen 2026-12-04 =2026-12-04",
		"in a month":                        "in a month 2026-12-20 =2026-12-20",
		"dans trois jours":                  "dans trois jours 2026-11-23 =2026-11-23",
		"en tres días":                      "en tres días 2026-11-23 =2026-11-23",
		"dentro de una semana":              "dentro de una semana 2026-11-27 =2026-11-27",
		"tra tre giorni":                    "tra tre giorni 2026-11-23 =2026-11-23",
		"heute in einer Woche":              "heute in einer Woche 2026-11-27 =2026-11-27",
		"in 2 or 3 days":                    "in 2 or 3 days",
		"two weeks from now":                "two weeks from now 2026-12-04 =2026-12-04",
		"in the day":                        "",
		"in der Woche":                      "",
		"dans la semaine":                   "",
		"in 3 minutes":                      "",
		"vor 3 Tagen":                       "vor 3 Tagen 2026-11-17 =2026-11-17",
		"three days ago":                    "three days ago 2026-11-17 =2026-11-17",
		"il y a une semaine":                "il y a une semaine 2026-11-13 =2026-11-13",
		"hace dos días":                     "hace dos días 2026-11-18 =2026-11-18",
		"due giorni fa":                     "due giorni fa 2026-11-18 =2026-11-18",
		"2 or 3 days ago":                   "2 or 3 days ago",
		"vor drei Minuten":                  "",
		"last week on Tuesday":              "last week on Tuesday 2026-11-10 =2026-11-10",
		"Tuesday last week":                 "Tuesday last week 2026-11-10 =2026-11-10",
		"Dienstag letzter Woche":            "Dienstag letzter Woche 2026-11-10 =2026-11-10",
		"mardi de la semaine dernière":      "mardi de la semaine dernière 2026-11-10 =2026-11-10",
		"el martes de la semana pasada":     "martes de la semana pasada 2026-11-10 =2026-11-10",
		"martedì della settimana scorsa":    "martedì della settimana scorsa 2026-11-10 =2026-11-10",
		"last week":                         "last week",
		"this past Tuesday":                 "past Tuesday 2026-11-17 =2026-11-17",
		"last night":                        "last night 2026-11-19 =2026-11-19",
		"last March 3":                      "March 3 2026-03-03 =2026-03-03",
	})
}

func TestHoursHaveTheHalfOfTheDayThatIsNamed(t *testing.T) {
	reads(t, (*datetime.Text).Clocks, map[string]string{
		"at 2:30":                          "2:30 02:30|14:30",
		"tomorrow afternoon at 2:30":       "2:30 14:30 =14:30",
		"tonight at 8:30":                  "8:30 20:30 =20:30",
		"at 8:30 tonight":                  "8:30 20:30 =20:30",
		"at 14:30":                         "14:30 14:30 =14:30",
		"um 6:30":                          "6:30 06:30|18:30 =06:30",
		"um acht Uhr morgens":              "acht Uhr morgens 08:00 =08:00",
		"heute Abend um 8":                 "8 20:00 =20:00",
		"um 11 Uhr nachts":                 "11 Uhr nachts 23:00 =23:00",
		"demain à 15 h 30":                 "15 h 30 15:30 =15:30",
		"demain à 15h30":                   "15h30 15:30 =15:30",
		"demain à 15h":                     "15h 15:00 =15:00",
		"a las 10 de la mañana":            "10 de la mañana 10:00 =10:00",
		"a las 3 de la tarde":              "3 de la tarde 15:00 =15:00",
		"a las 12 de la noche":             "12 de la noche 00:00 =00:00",
		"a las 3 y media de la tarde":      "3 y media de la tarde 15:30 =15:30",
		"a las 3 menos cuarto de la tarde": "3 menos cuarto de la tarde 14:45 =14:45",
		"a las 3":                          "3 03:00|15:00",
		"a las 3:30":                       "3:30 03:30|15:30",
		"mañana a las 10":                  "10 10:00|22:00",
		"mañana por la tarde a las 4":      "4 16:00 =16:00",
		"alle 3 del pomeriggio":            "3 del pomeriggio 15:00 =15:00",
		"alle 15 e 30":                     "15 e 30 15:30 =15:30",
		"stasera alle 8":                   "8 20:00 =20:00",
	})
}

func TestTimesAsGermanAndFrenchSayThem(t *testing.T) {
	reads(t, (*datetime.Text).Clocks, map[string]string{
		"um zehn Uhr":                    "zehn Uhr 10:00|22:00 =10:00",
		"um zehn Uhr dreißig":            "zehn Uhr dreißig 10:30|22:30 =10:30",
		"um neunzehn Uhr":                "neunzehn Uhr 19:00 =19:00",
		"um 8 Uhr 15":                    "8 Uhr 15 08:15|20:15 =08:15",
		"um halb sieben":                 "halb sieben 06:30|18:30",
		"um Viertel vor acht":            "Viertel vor acht 07:45|19:45",
		"um Viertel nach acht abends":    "Viertel nach acht abends 20:15 =20:15",
		"um zehn nach acht morgens":      "zehn nach acht morgens 08:10 =08:10",
		"um dreiviertel acht":            "dreiviertel acht 07:45|19:45",
		"um neun":                        "neun 09:00|21:00",
		"à dix heures":                   "dix heures 10:00|22:00 =10:00",
		"à six heures et demie":          "six heures et demie 06:30|18:30 =06:30",
		"à sept heures et quart":         "sept heures et quart 07:15|19:15 =07:15",
		"à huit heures moins le quart":   "huit heures moins le quart 07:45|19:45 =07:45",
		"à huit heures moins dix":        "huit heures moins dix 07:50|19:50 =07:50",
		"à une heure":                    "une heure 01:00|13:00 =01:00",
		"à trois heures de l'après-midi": "trois heures de l'après-midi 15:00 =15:00",
		"à huit heures du soir":          "huit heures du soir 20:00 =20:00",
		"à midi":                         "midi 12:00 =12:00",
		"um Mitternacht":                 "Mitternacht 00:00 =00:00",
		"a six pack":                     "",
		"in zehn Minuten":                "",
		"zehn Tische":                    "",
	})
}

func TestDaysCountedFromEachOtherAreReadOnce(t *testing.T) {
	allocations := func(days int) float64 {
		said := strings.Repeat("two days before ", days)
		return testing.AllocsPerRun(1, func() { require.Empty(t, datetime.NewText(said, matchertest.Friday).Dates()) })
	}
	require.Less(t, allocations(80), 3*allocations(40))
}
