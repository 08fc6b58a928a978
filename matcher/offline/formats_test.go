package offline_test

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // a session names its zone

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/matchertest"
	"earshot/matcher/offline"
)

// formatted are tools with formatted values, in each form of parameters.
var formatted = map[string]string{
	"day": `{"name":"book-visit","description":"Book a visit, un rendez-vous, einen Termin","examples":["I want a visit on [Monday](day)","je veux un rendez-vous [lundi](day)","ich möchte einen Termin am [Montag](day)"],
		"schema":[{"parameter":"day","type":"string","format":"date","required":true}]}`,
	"time": `{"name":"book-visit","description":"Book a visit, un rendez-vous, einen Termin","examples":["I want a visit at [4 pm](time)","ich möchte einen Termin um [16 Uhr](time)","je veux un rendez-vous à [16 h](time)"],
		"parameters":[{"name":"time","type":"string","description":"when","format":"time"}]}`,
	"both": `{"name":"book-visit","description":"Book a visit","examples":["I want a visit tomorrow at 4 pm"],
		"parameters":{"type":"object","properties":{"at":{"type":"string","format":"date-time"}},"required":["at"]}}`,
	"none": `{"name":"book-visit","description":"Book a visit","examples":["I want a visit on [Monday](day)"],
		"parameters":{"type":"object","properties":{"day":{"anyOf":[{"type":"string","format":"date"},{"type":"null"}],"default":null}}}}`,
	"ref": `{"name":"start-timer","description":"Start a timer","examples":["start a timer for [5 minutes](length)"],
		"parameters":{"type":"object","properties":{"length":{"$ref":"#/$defs/L"}},"required":["length"],"$defs":{"L":{"type":"string","format":"duration"}}}}`,
	"long": `{"name":"start-timer","description":"Start a timer, einen Timer, un minuteur","examples":["start a timer for [5 minutes](length)","starte einen Timer für [5 Minuten](length)","lance un minuteur de [5 minutes](length)"],
		"schema":[{"parameter":"length","type":"string","format":"duration","required":true}]}`,
}

func TestWordsBecomeValuesOfTheFormat(t *testing.T) {
	t.Parallel()
	for line := range strings.SplitSeq(strings.TrimSpace(`
day: I want a visit on Monday = 2026-11-23
day: I want a visit tomorrow = 2026-11-21
day: I want a visit on December 1st = 2026-12-01
day: I want a visit on the 3rd of March = 2027-03-03
day: I want a visit in two weeks = 2026-12-04
day: I want a visit on 2026-12-24 = 2026-12-24
day: ich möchte einen Termin am Montag = 2026-11-23
day: ich möchte einen Termin morgen = 2026-11-21
day: ich möchte einen Termin am 1. Dezember = 2026-12-01
day: je veux un rendez-vous lundi = 2026-11-23
day: je veux un rendez-vous demain = 2026-11-21
day: je veux un rendez-vous le 1 décembre = 2026-12-01
time: I want a visit at 4 pm = 16:00
time: I want a visit at 9:15 am = 09:15
time: I want a visit at noon = 12:00
time: I want a visit at half past two in the afternoon = 14:30
time: I want a visit at 17:30 = 17:30
time: ich möchte einen Termin um 16 Uhr = 16:00
time: ich möchte einen Termin um 17:30 = 17:30
time: je veux un rendez-vous à 16 h = 16:00
both: I want a visit tomorrow at 4 pm = 2026-11-21T16:00:00+01:00
both: I want a visit on Monday at 9:15 am = 2026-11-23T09:15:00+01:00
both: I want a visit on July 1st at noon = 2027-07-01T12:00:00+02:00
none: I want a visit on Monday = 2026-11-23
ref: start a timer for 20 minutes = PT20M
long: start a timer for 20 minutes = PT20M
long: start a timer for an hour and a half = PT1H30M
long: start a timer for half an hour = PT30M
long: start a timer for 90 seconds = PT1M30S
long: start a timer for 2 hours = PT2H
long: start a timer for three days = P3D
long: start a timer for a week = P7D
long: starte einen Timer für 20 Minuten = PT20M
long: starte einen Timer für zwei Stunden = PT2H
long: lance un minuteur de 20 minutes = PT20M
long: lance un minuteur de deux heures = PT2H
day: I want a visit = missing: is required
time: I want a visit at 9 = missing: is required: "at 9" may be 09:00 or 21:00
both: I want a visit tomorrow at 9 = missing: is required: "at 9" may be 09:00 or 21:00
both: I want a visit tomorrow = missing: is required: "tomorrow" has no time of day
both: I want a visit at 4 pm = missing: is required: "4 pm" has no day
long: start a timer for about 20 minutes = missing: is required: "about 20 minutes" is no exact number
long: start a timer for 20 to 30 minutes = missing: is required
long: start a timer for two months = missing: is required`), "\n") {
		tool, rest, _ := strings.Cut(line, ": ")
		said, want, _ := strings.Cut(rest, " = ")
		got := readIn(t, "Europe/Berlin", matchertest.Friday, tool, said)
		assert.Equal(t, want, got, "%s: %s", tool, said)
	}
}

// readIn returns the only value that a message of a time zone gives a tool, or why it is missing.
func readIn(t *testing.T, zone string, now time.Time, tool, said string) (value string) {
	t.Helper()
	in, err := time.LoadLocation(zone)
	require.NoError(t, err)
	request := matcher.Request{Text: said, Candidates: matchertest.InScope(t, matchertest.Scope, "r", formatted[tool]), Now: now.In(in)}
	result, err := offline.New().Match(t.Context(), request)
	require.NoError(t, err)
	value = "missing"
	for _, match := range result.Matches {
		for _, one := range match.Values {
			value = one.(string)
		}
	}
	for _, rejected := range result.Rejected {
		value += ": " + rejected.Errors[0].Detail
	}
	return value
}

// TestADayOnWhichTheClocksChangeIsTheDayThatWasSaid covers days whose midnight is skipped, hours that are skipped, and
// hours that are there twice, on both sides of UTC.
func TestADayOnWhichTheClocksChangeIsTheDayThatWasSaid(t *testing.T) {
	t.Parallel()
	for _, said := range []struct{ zone, now, tool, text, value string }{
		{"America/Havana", "2026-03-02T15:00:00Z", "day", "I want a visit on March 8th", "2026-03-08"},
		{"America/Havana", "2026-03-07T15:00:00Z", "day", "I want a visit tomorrow", "2026-03-08"},
		{"America/Santiago", "2026-09-05T15:00:00Z", "day", "I want a visit on Sunday", "2026-09-06"},
		{"Africa/Cairo", "2026-04-23T09:00:00Z", "day", "I want a visit tomorrow", "2026-04-24"},
		{"America/Havana", "2026-03-07T15:00:00Z", "both", "I want a visit tomorrow at 00:15", `missing: is required: "tomorrow at 00:15" does not exist in America/Havana: the clocks skip 2026-03-08 00:15`},
		{"America/New_York", "2026-03-07T15:00:00Z", "both", "I want a visit tomorrow at 2:30 am", `missing: is required: "tomorrow at 2:30 am" does not exist in America/New_York: the clocks skip 2026-03-08 02:30`},
		{"America/New_York", "2026-03-07T15:00:00Z", "both", "I want a visit tomorrow at 3:30 am", "2026-03-08T03:30:00-04:00"},
		{"Europe/Berlin", "2026-10-24T10:00:00Z", "both", "I want a visit tomorrow at 2:30 am", `missing: is required: "tomorrow at 2:30 am" may be 2026-10-25T02:30:00+02:00 or 2026-10-25T02:30:00+01:00`},
		{"America/New_York", "2026-10-31T15:00:00Z", "both", "I want a visit tomorrow at 1:30 am", `missing: is required: "tomorrow at 1:30 am" may be 2026-11-01T01:30:00-04:00 or 2026-11-01T01:30:00-05:00`},
		{"Australia/Lord_Howe", "2026-04-04T03:00:00Z", "both", "I want a visit tomorrow at 1:45 am", `missing: is required: "tomorrow at 1:45 am" may be 2026-04-05T01:45:00+11:00 or 2026-04-05T01:45:00+10:30`},
		{"Europe/Berlin", "2026-10-24T10:00:00Z", "both", "I want a visit tomorrow at 4 am", "2026-10-25T04:00:00+01:00"},
	} {
		now, err := time.Parse(time.RFC3339, said.now)
		require.NoError(t, err)
		assert.Equal(t, said.value, readIn(t, said.zone, now, said.tool, said.text), "%s: %s", said.zone, said.text)
	}
}

// TestAnHourOfTwoReadingsIsAskedForAndAnswered has answers with only the half of the day.
func TestAnHourOfTwoReadingsIsAskedForAndAnswered(t *testing.T) {
	t.Parallel()
	const clock = `{"name":"table","description":"Reserve a table","examples":["a table please","einen Tisch bitte","une table"],
		"schema":[{"parameter":"time","type":"string","format":"time","required":true,"ask":"At what time?"},{"parameter":"people","type":"integer","required":true,"ask":"For how many?"}]}`
	const both = `{"name":"visit","description":"Arrange a visit","examples":["I want a visit"],"schema":[{"parameter":"start","type":"string","format":"date-time","required":true}]}`
	tools := matchertest.InScope(t, matchertest.Scope, "r", clock, both)
	ask := "table misses [time] at 9: 09:00 or 21:00?"
	for _, said := range []struct{ first, asked, answer, made string }{
		{"reserve a table at 9 for 4 people", ask, "in the evening", `table {"people":4,"time":"21:00"}`},
		{"reserve a table at 9 for 4 people", ask, "the morning please", `table {"people":4,"time":"09:00"}`},
		{"reserve a table at 9 for 4 people", ask, "pm", `table {"people":4,"time":"21:00"}`},
		{"reserve a table at 9 for 4 people", ask, "21:00", `table {"people":4,"time":"21:00"}`},
		{"reserve a table at 9 for 4 people", ask, "at ten in the morning", `table {"people":4,"time":"10:00"}`},
		{"reserve a table at 9 for 4 people", ask, "no, at noon", `table {"people":4,"time":"12:00"}`},
		{"reserve a table at 9 for 4 people", ask, "the evening is warm", ""},
		{"reserve a table at 9", "table misses [time people] at 9: 09:00 or 21:00?", "in the evening", "table misses [people] For how many?"},
		{"reserve a table for 4 people", "table misses [time] At what time?", "in the evening", ""},
		{"einen Tisch um 9 für 4 Personen bitte", "table misses [time] um 9: 09:00 or 21:00?", "abends", `table {"people":4,"time":"21:00"}`},
		{"une table à 9 pour 4 personnes", "table misses [time] à 9: 09:00 or 21:00?", "le soir", `table {"people":4,"time":"21:00"}`},
		{"I want a visit tomorrow at 9", "visit misses [start] at 9: 09:00 or 21:00?", "in the morning", `visit {"start":"2026-11-21T09:00:00Z"}`},
	} {
		assert.Equal(t, []string{said.asked, said.made}, heldWith(t, tools, said.first, said.answer), "%s / %s", said.first, said.answer)
	}
}
