package evidence_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/evidence"
)

// evidenceRule is a parameter's value, and the words of a message that are its evidence.
type evidenceRule struct{ rule, text, name, kind, value, words string }

const nowhere = ""

var evidenceOfStrings = []evidenceRule{
	{"a string", "a trip to Paris please", "city", "string", `"Paris"`, "Paris"},
	{"in any case", "a trip to PARIS", "city", "string", `"paris"`, "PARIS"},
	{"hyphens are spaces", "off to New-York!", "city", "string", `"new york"`, "New-York"},
	{"more spaces are one", "off to New \n York", "city", "string", `"New York"`, "New \n York"},
	{"accents do not count", "the cafe in Zurich", "city", "string", `"Zürich"`, "Zurich"},
	{"nor do they in the message", "das Café", "place", "string", `"cafe"`, "Café"},
	{"nor does their encoding", "das Cafe\u0301 dort", "place", "string", `"café"`, "Cafe\u0301"},
	{"ß is ss", "Hauptstraße 5", "street", "string", `"Hauptstrasse 5"`, "Hauptstraße 5"},
	{"punctuation does not count", "in Washington, DC", "city", "string", `"Washington D.C."`, "Washington, DC"},
	{"an ampersand is a word", "Barnes and Noble", "shop", "string", `"Barnes & Noble"`, "Barnes and Noble"},
	{"apostrophes do not count", "at McDonalds tonight", "place", "string", `"McDonald's"`, "McDonalds"},
	{"nor does a possessive", "at McDonald tonight", "place", "string", `"McDonald's"`, "McDonald"},
	{"identifiers are words", "something very expensive", "range", "string", `"very_expensive"`, "very expensive"},
	{"camel case is words", "a first class seat", "class", "string", `"firstClass"`, "first class"},
	{"spaces inside of a word", "with wi-fi", "extra", "string", `"WiFi"`, "wi-fi"},
	{"scripts without spaces", "我想去東京旅行", "city", "string", `"東京"`, "東京"},
	{"letters that stand for several words", "ﷺ said so, order A", "order", "string", `"A"`, "A"},
	{"and are one themselves", "he wrote ﷺ twice", "word", "string", `"ﷺ"`, "ﷺ"},
	{"signs alone, as they are", "rate it 👍 please", "rating", "string", `"👍"`, "👍"},
	{"a letter after its parameter's name", "from desk a", "desk", "string", `"A"`, "a"},
	{"a capital letter in a sentence", "take the A train", "line", "string", `"A"`, "A"},
	{"the article of a name left out", "a flight to Vegas", "city", "string", `"Las Vegas"`, "Vegas"},
	{"several of one", "two apples", "item", "string", `"apple"`, "apples"},
	{"one of several", "a room with a balcony and two beds", "extras", "string", `"balconies"`, "balcony"},
	{"initials of a name", "a trip from LA, please", "city", "string", `"Los Angeles"`, "LA"},
	{"initials alone", "LA", "city", "string", `"Los Angeles"`, "LA"},
	{"with points", "to the U.S.A. in May", "country", "string", `"United States America"`, "U.S.A"},
	{"an escaped value", "a trip to Paris", "city", "string", `"'Paris'"`, "Paris"},
	{"no part of a word", "we start now", "topic", "string", `"art"`, nowhere},
	{"no beginning of one", "a trip to Parison", "city", "string", `"Paris"`, nowhere},
	{"no initials in small letters", "vamos a la playa", "city", "string", `"Los Angeles"`, nowhere},
	{"nor where all is in capitals", "VAMOS A LA PLAYA", "city", "string", `"Los Angeles"`, nowhere},
	{"no initials that are a word", "OK, at 5 PM", "name", "string", `"Oliver King"`, nowhere},
	{"no half of a name", "the house with a view", "band", "string", `"The Who"`, nowhere},
	{"no words in another order", "York is new", "city", "string", `"New York"`, nowhere},
	{"nothing like it", "somewhere cheap", "range", "string", `"inexpensive"`, nowhere},
	{"no article", "a trip", "desk", "string", `"A"`, nowhere},
	{"no capital that begins a sentence", "Go. A trip", "desk", "string", `"A"`, nowhere},
	{"no number in a number", "it costs 2.5", "count", "string", `"5"`, nowhere},
	{"no digits that meet by chance", "rooms 1 2", "count", "string", `"12"`, nowhere},
	{"no empty string", "a trip", "city", "string", `""`, nowhere},
}

var evidenceOfNumbers = []evidenceRule{
	{"digits", "for 12 people", "people", "integer", `12`, "12"},
	{"grouped by commas", "for 1,000 people", "people", "integer", `1000`, "1,000"},
	{"grouped by points", "für 1.000 Leute", "people", "integer", `1000`, "1.000"},
	{"grouped by spaces", "for 1 000 000 people", "people", "integer", `1000000`, "1 000 000"},
	{"grouped by apostrophes", "für 12'000 Franken", "amount", "integer", `12000`, "12'000"},
	{"a point that groups or divides", "about 1.500 of them", "amount", "number", `1.5`, "1.500"},
	{"a decimal comma", "zu 12,50 Euro", "amount", "number", `12.5`, "12,50"},
	{"both", "EUR 1.250,75", "amount", "number", `1250.75`, "1.250,75"},
	{"a currency", "$12.50 at most", "amount", "number", `12.5`, "12.50"},
	{"a unit", "some 20km away", "distance", "integer", `20`, "20km"},
	{"thousands in short", "pay 5k", "amount", "integer", `5000`, "5k"},
	{"millions", "2.5 million of them", "amount", "integer", `2500000`, "2.5 million"},
	{"a thousand", "a thousand people", "people", "integer", `1000`, "a thousand"},
	{"one thousand", "one thousand people", "people", "integer", `1000`, "one thousand"},
	{"words", "for twenty-five people", "people", "integer", `25`, "twenty-five"},
	{"a dozen", "a dozen eggs", "eggs", "integer", `12`, "a dozen"},
	{"a couple", "a couple of nights", "nights", "integer", `2`, "a couple"},
	{"halves", "two and a half hours", "hours", "number", `2.5`, "two and a half"},
	{"ordinals in figures", "on the 2nd floor", "floor", "integer", `2`, "2nd"},
	{"ordinals in words", "the second floor", "floor", "integer", `2`, "second"},
	{"long ordinals", "the twenty-first floor", "floor", "integer", `21`, "twenty-first"},
	{"one that counts", "for one, please", "people", "integer", `1`, "one"},
	{"other languages", "für zwei Personen", "people", "integer", `2`, "zwei"},
	{"negative numbers", "at -5 degrees", "degrees", "integer", `-5`, "-5"},
	{"minus in words", "at minus five degrees", "degrees", "integer", `-5`, "minus five"},
	{"exponents", "for 1500 people", "people", "number", `1.5e3`, "1500"},
	{"idle zeros", "it is 5", "amount", "number", `5.00`, "5"},
	{"numbers beyond 64 bits", "id 9007199254740993123456", "id", "integer", `9007199254740993123456`, "9007199254740993123456"},
	{"a number in a string", "for two people", "people", "string", `"2"`, "two"},
	{"an amount in a string", "12.50 dollars", "amount", "string", `"$12.50"`, "12.50"},
	{"a list without spaces", "rooms 1,2,3", "room", "integer", `2`, "1,2,3"},
	{"no other number", "for 12 people", "people", "integer", `2`, nowhere},
	{"no number of the other sign", "at -5 degrees", "degrees", "integer", `5`, nowhere},
	{"no end of a range with a sign", "3-5 days", "days", "integer", `-5`, nowhere},
	{"no one that is a pronoun", "I want that one", "people", "integer", `1`, nowhere},
	{"no ordinal for a class", "for 2 people", "class", "string", `"second"`, nowhere},
	{"no number in a code", "desk B12", "desk", "integer", `12`, nowhere},
}

var evidenceOfDates = []evidenceRule{
	{"a date as it was said", "on March 8th", "date", "string", `"March 8th"`, "March 8th"},
	{"an exact date", "on 2019-03-08", "date", "string", `"2019-03-08"`, "2019-03-08"},
	{"month and day", "on March 8th", "date", "string", `"2019-03-08"`, "March 8th"},
	{"day and month", "on 8 March", "date", "string", `"2019-03-08"`, "8 March"},
	{"with of", "the 8th of March", "date", "string", `"2019-03-08"`, "the 8th of March"},
	{"ordinals of days", "March the eighth", "date", "string", `"2019-03-08"`, "March the eighth"},
	{"with points", "am 8.3.2019", "date", "string", `"2019-03-08"`, "8.3.2019"},
	{"with slashes, the month first", "on 3/8/2019", "date", "string", `"2019-03-08"`, "3/8/2019"},
	{"with a short year", "on 03/08/19", "date", "string", `"2019-03-08"`, "03/08/19"},
	{"without a year", "on 3/8", "date", "string", `"2019-03-08"`, "3/8"},
	{"in another form of value", "on 8 March", "date", "string", `"03/08/2019"`, "8 March"},
	{"German", "am 8. März", "date", "string", `"2019-03-08"`, "8. März"},
	{"Spanish", "el 8 de marzo de 2019", "date", "string", `"2019-03-08"`, "8 de marzo de 2019"},
	{"the coming Friday", "next Friday", "date", "string", `"2019-03-08"`, "next Friday"},
	{"the coming Tuesday", "next Tuesday", "date", "string", `"2019-03-05"`, "next Tuesday"},
	{"this Sunday", "this Sunday", "date", "string", `"2019-03-03"`, "this Sunday"},
	{"short weekdays", "on Mon", "date", "string", `"2019-03-04"`, "Mon"},
	{"last Friday", "since last Friday", "date", "string", `"2019-02-22"`, "last Friday"},
	{"tomorrow", "tomorrow", "date", "string", `"2019-03-02"`, "tomorrow"},
	{"the day after tomorrow", "the day after tomorrow", "date", "string", `"2019-03-03"`, "day after tomorrow"},
	{"yesterday", "yesterday", "date", "string", `"2019-02-28"`, "yesterday"},
	{"days ahead", "in 3 days", "date", "string", `"2019-03-04"`, "in 3 days"},
	{"weeks ahead", "two weeks from now", "date", "string", `"2019-03-15"`, "two weeks from now"},
	{"the day of this month", "the 14th", "date", "string", `"2019-03-14"`, "the 14th"},
	{"the weekend", "this weekend", "date", "string", `"2019-03-03"`, "this weekend"},
	{"the first day of a range", "8th to 12th of April", "date", "string", `"2019-04-08"`, "8th"},
	{"the last time of a day", "it was on February 20th", "date", "string", `"2019-02-20"`, "February 20th"},
	{"no other day", "on March 8th", "date", "string", `"2019-03-09"`, nowhere},
	{"no day of today for the next of its name", "next Friday", "date", "string", `"2019-03-01"`, nowhere},
	{"no other year", "on March 8th", "date", "string", `"2021-03-08"`, nowhere},
	{"no other year than the one said", "on March 8th, 2020", "date", "string", `"2019-03-08"`, nowhere},
	{"no day that there is not", "on 31.2.2019", "date", "string", `"2019-03-03"`, nowhere},
	{"no date in a decimal", "it costs 3.8", "date", "string", `"2019-03-08"`, nowhere},
}

var evidenceOfTimes = []evidenceRule{
	{"hours and minutes", "at 17:30", "time", "string", `"17:30"`, "17:30"},
	{"pm", "at 5 pm", "time", "string", `"17:00"`, "5 pm"},
	{"p.m.", "at 5 p.m. sharp", "time", "string", `"17:00"`, "5 p.m"},
	{"without a space", "at 5pm", "time", "string", `"17:00"`, "5pm"},
	{"with seconds", "at 5:30 pm", "time", "string", `"17:30:00"`, "5:30 pm"},
	{"the part of the day", "five in the afternoon", "time", "string", `"17:00"`, "five in the afternoon"},
	{"at night", "8 at night", "time", "string", `"20:00"`, "8 at night"},
	{"half past", "half past five", "time", "string", `"17:30"`, "half past five"},
	{"quarter to", "quarter to 6 in the evening", "time", "string", `"17:45"`, "quarter to 6 in the evening"},
	{"o'clock", "at 5 o'clock", "time", "string", `"17:00"`, "5 o'clock"},
	{"words", "at five thirty", "time", "string", `"17:30"`, "five thirty"},
	{"Uhr", "um 17 Uhr", "time", "string", `"17:00"`, "17 Uhr"},
	{"French", "à 17h30", "time", "string", `"17:30"`, "17h30"},
	{"the part of the day before", "in the morning 11:30", "time", "string", `"11:30"`, "11:30"},
	{"no other part of the day", "in the morning 10", "time", "string", `"22:00"`, nowhere},
	{"noon", "at noon", "time", "string", `"12:00"`, "noon"},
	{"12 pm", "at 12 pm", "time", "string", `"12:00"`, "12 pm"},
	{"12 am", "at 12 am", "time", "string", `"00:00"`, "12 am"},
	{"an hour without a half", "at 5", "time", "string", `"17:00"`, "5"},
	{"another form of value", "17:00", "time", "string", `"5 PM"`, "17:00"},
	{"no other half of the day", "at 5 pm", "time", "string", `"05:00"`, nowhere},
	{"no other minute", "at 5:30", "time", "string", `"17:00"`, nowhere},
	{"no number of something", "for 5 people", "time", "string", `"17:00"`, nowhere},
	{"no hour that there is not", "at 25:00", "time", "string", `"01:00"`, nowhere},
}

var evidenceOfMoments = []evidenceRule{
	{"date and time in one", "tomorrow, 5 pm", "start", "string", `"2019-03-02T17:00:00Z"`, "tomorrow … 5 pm"},
	{"with a space", "at 5 pm on March 8th", "start", "string", `"2019-03-08 17:00"`, "March 8th … 5 pm"},
	{"as words", "5 pm, the 8th of March", "start", "string", `"March 8th at 5pm"`, "the 8th of March … 5 pm"},
	{"not without the time", "tomorrow", "start", "string", `"2019-03-02T17:00:00Z"`, nowhere},
}

var evidenceOfBooleans = []evidenceRule{
	{"a boolean by its name", "with live music", "has_live_music", "boolean", `true`, "live music"},
	{"denied", "without live music", "has_live_music", "boolean", `false`, "without live music"},
	{"denied further off", "do not bring any pets", "pets_allowed", "boolean", `false`, "not bring any pets"},
	{"answered beside it", "refundable: no", "refundable", "boolean", `false`, "refundable: no"},
	{"a boolean in a string", "a refundable one", "refundable", "string", `"True"`, "refundable"},
	{"not the other way round", "with live music", "has_live_music", "boolean", `false`, nowhere},
	{"not when denied", "no live music", "has_live_music", "boolean", `true`, nowhere},
	{"not when not spoken of", "yes please", "has_live_music", "boolean", `true`, nowhere},
}

var evidenceOfIDs = []evidenceRule{
	{"telephone numbers", "call (555) 123-4567", "phone", "string", `"555-123-4567"`, "555) 123-4567"},
	{"as one", "call 555.123.4567", "phone", "string", `"5551234567"`, "555.123.4567"},
	{"e-mail addresses", "to Ann.Lee@Example.org.", "email", "string", `"ann.lee@example.org"`, "Ann.Lee@Example.org"},
	{"ids", "order AB 12-34", "order", "string", `"AB1234"`, "AB 12-34"},
	{"no other e-mail address", "to ann.lee@example.org", "email", "string", `"bob.lee@example.org"`, nowhere},
}

func TestAValueStandsInTheWords(t *testing.T) {
	for kind, rules := range map[string][]evidenceRule{
		"strings":                              evidenceOfStrings,
		"numbers":                              evidenceOfNumbers,
		"dates":                                evidenceOfDates,
		"times of day":                         evidenceOfTimes,
		"dates with a time":                    evidenceOfMoments,
		"booleans":                             evidenceOfBooleans,
		"telephone numbers, addresses and ids": evidenceOfIDs,
	} {
		for _, c := range rules {
			t.Run(kind+": "+c.rule+": "+c.text, c.check)
		}
	}
}

func (c evidenceRule) check(t *testing.T) {
	tool := evidenceTool(t, `{"parameter":"`+c.name+`","type":"`+c.kind+`"}`)
	values := evidenceValues(t, `{"`+c.name+`":`+c.value+`}`)
	found := evidence.Find(matcher.Request{Text: c.text, Now: evidenceNow}, values, tool)
	require.Contains(t, found, c.name)
	if c.words == nowhere {
		require.Nil(t, found[c.name])
		return
	}
	require.Equal(t, &matcher.Evidence{Words: c.words}, found[c.name])
	for part := range strings.SplitSeq(c.words, " … ") {
		require.Contains(t, c.text, part)
	}
}
