package offline_test

import "testing"

// visits are tools with an optional day and an optional time, by language.
var visits = map[string]string{
	"en": `{"name":"plan","description":"Plan a visit","schema":[{"parameter":"day","type":"string","format":"date"},{"parameter":"at","type":"string","format":"time"}],
		"examples":["Plan a visit","Plan a visit [tomorrow](day) at [3 pm](at)"]}`,
	"de": `{"name":"wecker","description":"Wecker stellen","schema":[{"parameter":"at","type":"string","format":"time","required":true},{"parameter":"day","type":"string","format":"date"}],
		"examples":["Stell den Wecker auf [7 Uhr](at)","Weck mich [morgen](day) um [6:30](at)"]}`,
	"fr": `{"name":"prendre","description":"Prendre un rendez-vous","schema":[{"parameter":"day","type":"string","format":"date"},{"parameter":"at","type":"string","format":"time"},
		{"parameter":"long","type":"string","format":"duration"}],"examples":["Prends un rendez-vous"]}`,
	"es": `{"name":"cita","description":"Pedir cita con un asesor","schema":[{"parameter":"day","type":"string","format":"date","required":true},{"parameter":"at","type":"string","format":"time"}],
		"examples":["Quiero una cita con un asesor el [lunes](day) a las [10 de la mañana](at)","Necesito una cita"]}`,
	"it": `{"name":"visita","description":"Prenotare una visita","schema":[{"parameter":"day","type":"string","format":"date"},{"parameter":"at","type":"string","format":"time"}],
		"examples":["Vorrei una visita","Prenota una visita [domani](day) alle [3 del pomeriggio](at)"]}`,
}

func TestDaysAndTimesAreThoseThatAreMeantOrMissing(t *testing.T) {
	t.Parallel()
	tells(t, visits, `
en: Plan a visit on Tuesday = {"day":"2026-11-24"}
en: Plan a visit on Tuesday week = {"day":"2026-12-01"}
en: Plan a visit two days before Tuesday = {"day":"2026-11-22"}
en: Plan a visit not on Monday = {} ! day "Monday" is denied
en: Plan a visit except Monday = {} ! day "Monday" is denied
en: Plan a visit on any day but Monday = {} ! day "Monday" is denied
en: Plan a visit every Monday = {} ! day "every Monday" is no single day
en: Plan a visit next week = {} ! day "next week" is no exact day
en: Plan a visit next week on Monday = {"day":"2026-11-23"}
en: Plan a visit on Monday or Tuesday = {} ! day "Monday or Tuesday" is a range
en: Plan a visit on Tuesday, November 24 = {"day":"2026-11-24"}
en: Plan a visit before 3 pm = {} ! at "before 3 pm" is a limit, and no exact time
en: Plan a visit by 3 pm = {} ! at "by 3 pm" is a limit, and no exact time
en: Plan a visit 3 pm at the latest = {} ! at "3 pm at the latest" is a limit, and no exact time
en: Plan a visit after 3 pm = {} ! at "after 3 pm" is a limit, and no exact time
en: Plan a visit between 2 and 3 pm = {} ! at "2 and 3 pm" is a range
en: Plan a visit from 2 to 3 pm = {} ! at "2 to 3 pm" is a range
en: Plan a visit from 2-3 pm = {} ! at "2-3 pm" is a range
en: Plan a visit at 2:30 = {} ! at "at 2:30" may be 02:30 or 14:30
en: Plan a visit at 9 = {} ! at "at 9" may be 09:00 or 21:00
en: Plan a visit at 2:30 pm = {"at":"14:30"}
en: Plan a visit tomorrow afternoon at 2:30 = {"at":"14:30","day":"2026-11-21"}
en: Plan a visit tomorrow at 3 pm = {"at":"15:00","day":"2026-11-21"}
de: Weck mich morgen um 6:30 = {"at":"06:30","day":"2026-11-21"}
de: Weck mich am 24. Dezember um acht Uhr morgens = {"at":"08:00","day":"2026-12-24"}
de: Weck mich am 3. Januar um 6:30 = {"at":"06:30","day":"2027-01-03"}
de: Weck mich in 3 Tagen um 7 Uhr = {"at":"07:00","day":"2026-11-23"}
de: Weck mich nicht am Montag, um 7 Uhr = 
de: Weck mich vor 7 Uhr = {} ! at is required: "vor 7 Uhr" is a limit, and no exact time
de: Weck mich zwischen 7 und 8 Uhr = {} ! at is required: "7 und 8 Uhr" is a range
fr: Prends un rendez-vous après-demain = {"day":"2026-11-22"}
fr: Prends un rendez-vous mardi dernier = {"day":"2026-11-17"}
fr: Prends un rendez-vous demain à 15 h 30 = {"at":"15:30","day":"2026-11-21"}
fr: Prends un rendez-vous à 15h = {"at":"15:00"}
fr: Prends un rendez-vous de 2 h 30 = {"long":"PT2H30M"}
fr: Prends un rendez-vous d'ici 15 h = {} ! at "d'ici 15 h" is a limit, and no exact time
fr: Prends un rendez-vous avant 15 h = {} ! at "avant 15 h" is a limit, and no exact time
fr: Prends un rendez-vous entre 15 h et 16 h = {} ! at "15 h et 16 h" is a range
es: Quiero una cita con un asesor el lunes a las 10 de la mañana = {"at":"10:00","day":"2026-11-23"}
es: Quiero una cita con un asesor el martes a las 4 de la tarde = {"at":"16:00","day":"2026-11-24"}
es: Necesito una cita pasado mañana = {"day":"2026-11-22"}
es: Necesito una cita el martes = {"day":"2026-11-24"}
es: Necesito una cita el martes a las 10 = {"day":"2026-11-24"} ! at "las 10" may be 10:00 or 22:00
es: Necesito una cita cualquier día menos el martes = {} ! day is required: "martes" is denied
es: Necesito una cita el martes antes de las 3 de la tarde = {"day":"2026-11-24"} ! at "antes de las 3 de la tarde" is a limit, and no exact time
it: Prenota una visita domani alle 3 del pomeriggio = {"at":"15:00","day":"2026-11-21"}
it: Prenota una visita martedì scorso = {"day":"2026-11-17"}
it: Prenota una visita tra tre giorni = {"day":"2026-11-23"}
it: Prenota una visita prima delle 3 del pomeriggio = {} ! at "prima delle 3 del pomeriggio" is a limit, and no exact time`)
	tells(t, payments, `
de: Überweise 50 Euro an Anna in 3 Tagen = {"amount":50,"day":"2026-11-23","to":"Anna"}
de: Überweise 50 Euro an Anna am Dienstag in einer Woche = {"amount":50,"to":"Anna"} ! day "Dienstag in einer Woche" may be 2026-12-01 or 2026-11-24
de: Überweise 50 Euro an Anna letzten Dienstag = {"amount":50,"day":"2026-11-17","to":"Anna"}
es: Transfiere 50 euros a Ana pasado mañana = {"amount":50,"day":"2026-11-22","to":"Ana"}`)
}

func TestOneCallStaysOne(t *testing.T) {
	t.Parallel()
	const timer = `{"name":"timer","description":"Timer starten, start a timer","schema":[{"parameter":"long","type":"string","format":"duration","required":true}],
		"examples":["Stell einen Timer auf [10 Minuten](long)","Start a timer for [10 minutes](long)"]}`
	const flight = `{"name":"book-flight","description":"Book a flight","schema":[{"parameter":"from","type":"string","required":true},{"parameter":"to","type":"string","required":true},
		{"parameter":"date","type":"string","format":"date","required":true}],"examples":["Book a flight from [Berlin](from) to [Madrid](to) on [Friday](date)"]}`
	tells(t, map[string]string{"de": timer, "en": flight, "fr": timer}, `
de: Stell einen Timer auf eine Stunde und 20 Minuten = {"long":"PT1H20M"}
de: Stell einen Timer auf 10 Minuten = {"long":"PT10M"}
fr: Start a timer for an hour and a half = {"long":"PT1H30M"}
fr: Start a timer for an hour and 20 minutes = {"long":"PT1H20M"}
en: Book a flight from Berlin to Madrid on Friday = {"date":"2026-11-20","from":"Berlin","to":"Madrid"}
en: Book a flight from Berlin to Madrid on Friday and back on Sunday = {"from":"Berlin","to":"Madrid"} ! date is required: "Friday" and "Sunday" are several`)
}

func TestANumberBeforeADayIsNoRange(t *testing.T) {
	t.Parallel()
	tells(t, map[string]string{
		"en": `{"name":"move-appointment","description":"Move an appointment","schema":[{"parameter":"number","type":"string","required":true},
			{"parameter":"date","type":"string","format":"date","required":true}],"examples":["move appointment [A-17](number) to [Monday](date)"]}`,
	}, `
en: move appointment A-1234 to Tuesday = {"date":"2026-11-24","number":"A-1234"}`)
}

func TestAnAddressIsNotCut(t *testing.T) {
	t.Parallel()
	tells(t, map[string]string{
		"en": `{"name":"send-mail","description":"Send a mail","schema":[{"parameter":"to","type":"array","required":true,"items":{"type":"string"}},{"parameter":"subject","type":"string"}],
			"examples":["Send a mail to [anna@x.org](to)"]}`,
		"de": `{"name":"put-back","description":"Add an article to the cart","schema":[{"parameter":"article","type":"string","required":true,"allowedValues":["shirt","jacket"]},
			{"parameter":"color","type":"string","allowedValues":["red","black"]}],"examples":["Put a [jacket](article) into my basket"]}`,
	}, `
en: Send a mail to anna@x.org = {"to":["anna@x.org"]}
en: Send a mail to bob@y.co.uk = {"to":["bob@y.co.uk"]}
en: Send a mail to anna@x.org and bob@x.org = {"to":["anna@x.org","bob@x.org"]}
de: Put the jacket back = {"article":"jacket"}
de: Put a blakc jacket into my basket = {"article":"jacket","color":"black"}`)
}
