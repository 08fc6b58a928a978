package datetime_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"earshot/matcher/datetime"
)

func TestDaysAreReadWithTheWordsAroundThem(t *testing.T) {
	for said, want := range map[string]string{
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
		"vor 3 Tagen":                       "",
	} {
		text := datetime.NewText(said, friday)
		assert.Equal(t, want, shown(text, text.Dates()), said)
	}
}

func TestHoursHaveTheHalfOfTheDayThatIsNamed(t *testing.T) {
	for said, want := range map[string]string{
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
	} {
		text := datetime.NewText(said, friday)
		assert.Equal(t, want, shown(text, text.Clocks()), said)
	}
}
