package offline_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// trip is a tool whose name all texts below contain, with the parameters of a case.
func trip(parameters ...string) string {
	return `{"name":"book_trip","description":"Book a trip","examples":["book a trip","book my trip please"],"schema":[` +
		strings.Join(parameters, ",") + `]}`
}

// TestOfflineReadsPeriods says each on Friday, 20 November 2026.
func TestOfflineReadsPeriods(t *testing.T) {
	for _, c := range []struct{ text, first, last, want string }{
		{"book a trip from 12 December to 15 December", "start", "end", "2026-12-12 2026-12-15"},
		{"book a trip from Sunday to Saturday", "start", "end", "2026-11-22 2026-11-28"},
		{"book a trip from 4 December to Tuesday", "start", "end", "2026-12-04 2026-12-08"},
		{"book a trip arriving Tuesday, leaving Thursday", "arrival", "departure", "2026-11-24 2026-11-26"},
		{"book a trip leaving Tuesday, returning Thursday", "departure", "return_date", "2026-11-24 2026-11-26"},
		{"book a trip from 12 December to 15 December", "arrival", "departure", "2026-12-12 2026-12-15"},
		{"reserve une chambre du 12 décembre au 15 décembre", "arrivee", "depart", "2026-12-12 2026-12-15"},
		{"reserve une chambre du 12 décembre au 15 décembre", "debut", "fin", "2026-12-12 2026-12-15"},
		{"buche ein Zimmer vom 12. Dezember bis 15. Dezember", "anreise", "abreise", "2026-12-12 2026-12-15"},
		{"reserva una habitación del 12 de diciembre al 15 de diciembre", "llegada", "salida", "2026-12-12 2026-12-15"},
		{"prenota una camera dal 12 dicembre al 15 dicembre", "arrivo", "partenza", "2026-12-12 2026-12-15"},
	} {
		tool := fmt.Sprintf(`{"name":"book_room","description":"Book a trip or a room","examples":["book a trip","reserve une chambre","buche ein Zimmer","reserva una habitación","prenota una camera"],
			"schema":[{"parameter":"%s","type":"string","format":"date"},{"parameter":"%s","type":"string","format":"date"}]}`, c.first, c.last)
		first, last, _ := strings.Cut(c.want, " ")
		want := map[string]string{c.first: first}
		if last != "" {
			want[c.last] = last
		}
		text, err := json.Marshal(want)
		require.NoError(t, err)
		require.Equal(t, "book_room "+string(text), matched(t, c.text, tool))
	}
}

func TestOfflineReadsValues(t *testing.T) {
	const (
		people  = `{"parameter":"people","type":"integer","description":"how many come along"}`
		nights  = `{"parameter":"nights","type":"integer"}`
		budget  = `{"parameter":"budget","type":"number"}`
		few     = `{"parameter":"party_size","type":"integer","minValue":1,"maxValue":8}`
		meals   = `{"parameter":"with_breakfast","type":"boolean"}`
		class   = `{"parameter":"class","type":"string","allowedValues":["first class","first","second"]}`
		desk    = `{"parameter":"desk","type":"string","allowedValues":["A","B"]}`
		free    = `{"parameter":"desk","type":"string"}`
		title   = `{"parameter":"title","type":"string"}`
		city    = `{"parameter":"city","type":"string"}`
		to      = `{"parameter":"destination","type":"string"}`
		from    = `{"parameter":"origin","type":"string"}`
		day     = `{"parameter":"date","type":"string"}`
		isoDay  = `{"parameter":"date","type":"string","description":"the day as YYYY-MM-DD"}`
		start   = `{"parameter":"start_date","type":"string"}`
		end     = `{"parameter":"end_date","type":"string"}`
		clock   = `{"parameter":"time","type":"string"}`
		iso     = `{"parameter":"time","type":"string","description":"as HH:MM"}`
		both    = `{"parameter":"datetime","type":"string","description":"YYYY-MM-DD HH:MM"}`
		email   = `{"parameter":"email","type":"string"}`
		link    = `{"parameter":"url","type":"string"}`
		phone   = `{"parameter":"phone","type":"string"}`
		amount  = `{"parameter":"amount","type":"string"}`
		ratings = `{"parameter":"scores","type":"array","description":"scores","items":{"name":"score","type":"integer","description":"a score"}}`
		extras  = `{"parameter":"extras","type":"array","description":"extras","items":{"name":"extra","type":"string","description":"an extra","allowedValues":["wifi","pool"]}}`
	)
	for _, c := range []struct{ rule, text, parameter, want string }{
		{"a choice that begins with one figure", "book a trip at 9:00", `{"parameter":"at","type":"string","allowedValues":["9:00","9:30"]}`, `{"at":"9:00"}`},
		{"a choice that begins with a small word", "book a trip on demand", `{"parameter":"kind","type":"string","allowedValues":["on demand","at once"]}`, `{"kind":"on demand"}`},
		{"digits", "book a trip for 12 people", people, `{"people":12}`},
		{"number words", "book a trip for twenty-five people", people, `{"people":25}`},
		{"hundreds", "book a trip for three hundred and twelve people", people, `{"people":312}`},
		{"thousands", "book a trip for two thousand people", people, `{"people":2000}`},
		{"one before what is counted", "book a trip for one person, one way", `{"parameter":"person","type":"integer"}`, `{"person":1}`},
		{"no number in that one", "book a trip, that one", people, `{}`},
		{"decimals", "book a trip with a budget of 99.50", budget, `{"budget":99.50}`},
		{"grouped thousands", "book a trip, budget 1,250.75", budget, `{"budget":1250.75}`},
		{"decimal comma", "book a trip, budget 12,50", budget, `{"budget":12.50}`},
		{"currency signs are no part of a number", "book a trip for $300", budget, `{"budget":300}`},
		{"units are no part of a number", "book a trip of 5km", `{"parameter":"distance","type":"number"}`, `{"distance":5}`},
		{"negative numbers", "book a trip where it is -5 degrees", `{"parameter":"degrees","type":"integer"}`, `{"degrees":-5}`},
		{"a dozen", "book a trip for a dozen people", people, `{"people":12}`},
		{"other languages", "book a trip for zwei people", people, `{"people":2}`},
		{"halves", "book a trip, two and a half nights", `{"parameter":"nights","type":"number"}`, `{"nights":2.5}`},
		{"millions", "book a trip with a budget of 2.5 million", budget, `{"budget":2500000}`},
		{"minus in words", "book a trip at minus five degrees", `{"parameter":"degrees","type":"integer"}`, `{"degrees":-5}`},
		{"groups", "book a trip, budget 12'000", budget, `{"budget":12000}`},
		{"a point that groups or divides", "book a trip, budget 1.500", budget, `{}`},
		{"once is no number", "book a trip once", people, `{}`},
		{"each number beside its name", "book a trip for 3 people and 4 nights", people + "," + nights, `{"nights":4,"people":3}`},
		{"a number beside a longer word", "book a trip with 4 bedrooms and 2 baths", `{"parameter":"number_of_beds","type":"integer"},{"parameter":"baths","type":"integer"}`, `{"baths":2,"number_of_beds":4}`},
		{"a number that could be either is neither's", "book a trip for 3", people + "," + nights, `{}`},
		{"a number that counts something else", "book a trip with 2 suitcases", people, `{}`},
		{"a number among the allowed", "book a trip for 3", `{"parameter":"size","type":"integer","allowedValues":[1,2,3]}`, `{"size":3}`},
		{"a number that is not among the allowed", "book a trip for 9", `{"parameter":"size","type":"integer","allowedValues":[1,2,3]}`, `{}`},
		{"a fraction is no integer", "book a trip for 2.5", people, `{}`},
		{"a number out of bounds is not taken for it", "book a trip 12", few, `{}`},
		{"strings that hold an amount keep the sign", "book a trip for $300", amount, `{"amount":"$300"}`},

		{"booleans by their name", "book a trip with breakfast", meals, `{"with_breakfast":true}`},
		{"booleans denied", "book a trip without breakfast", meals, `{"with_breakfast":false}`},
		{"booleans answered", "book a trip, breakfast: no", meals, `{"with_breakfast":false}`},
		{"booleans not spoken of", "book a trip", meals, `{}`},

		{"allowed values, the longest first", "book a first class trip", class, `{"class":"first class"}`},
		{"allowed values whole words only", "book a trip in seconds", desk, `{}`},
		{"allowed values in any case", "book a trip, SECOND", class, `{"class":"second"}`},
		{"two allowed values leave it open", "book a trip, first or second", class, `{}`},
		{"an allowed value that is denied", "book a trip, not second", class, `{}`},
		{"an article is no value", "book a trip", desk, `{}`},
		{"a letter after the name", "book a trip from desk b", desk, `{"desk":"B"}`},

		{"a name after the parameter's name", "book a trip, city New York", city, `{"city":"New York"}`},
		{"a code after the parameter's name", "book a trip at desk B12", free, `{"desk":"B12"}`},
		{"a name without capitals", "book a trip, city lisbon", city, `{"city":"lisbon"}`},
		{"all of a code", "book a trip at desk B12-7", free, `{"desk":"B12-7"}`},
		{"two words of a name", "book a trip, project name Blue Sky", `{"parameter":"project_name","type":"string"}`, `{"project_name":"Blue Sky"}`},
		{"a name that is called name", `book a trip, name "Ann Lee"`, `{"parameter":"name","type":"string"},{"parameter":"note","type":"string"}`, `{"name":"Ann Lee"}`},
		{"all after a colon", "book a trip, title: my great escape", title, `{"title":"my great escape"}`},
		{"what is quoted", `book a trip "Over the hills"`, title, `{"title":"Over the hills"}`},
		{"typographic quotes", "book a trip „Über Berge“", title, `{"title":"Über Berge"}`},
		{"what it is called", "book a trip called Summer", title, `{"title":"Summer"}`},
		{"after an article the name is a word", "book a trip with a desk lamp", free, `{}`},
		{"where", "book a trip in San José", city, `{"city":"San José"}`},
		{"where, without capitals", "book a trip in lisbon please", city, `{"city":"lisbon"}`},
		{"from and to", "book a trip to Paris from London", to + "," + from, `{"destination":"Paris","origin":"London"}`},
		{"to and from, without capitals", "book a trip from paris to new york", to + "," + from, `{"destination":"new york","origin":"paris"}`},
		{"which room", "Book a trip in the blue salon right now", `{"parameter":"room","type":"string"}`, `{"room":"blue salon"}`},
		{"for a place, with a capital", "Book a trip for Rome", city, `{"city":"Rome"}`},
		{"not for what is no name", "book a trip for dinner", city, `{}`},
		{"accents stay as written", "Book a trip to Zürich", to, `{"destination":"Zürich"}`},

		{"days as said", "book a trip for next Friday", day, `{"date":"next Friday"}`},
		{"months as said", "book a trip on March 8th", day, `{"date":"March 8th"}`},
		{"the day before the month", "book a trip on the 8th of March", day, `{"date":"8th of March"}`},
		{"exact dates", "book a trip on 2026-12-01", day, `{"date":"2026-12-01"}`},
		{"tomorrow, exactly", "book a trip tomorrow", isoDay, `{"date":"2026-11-21"}`},
		{"the day after tomorrow, exactly", "book a trip the day after tomorrow", isoDay, `{"date":"2026-11-22"}`},
		{"the coming Monday, exactly", "book a trip on Monday", isoDay, `{"date":"2026-11-23"}`},
		{"Tuesday of next week, exactly", "book a trip next Tuesday", isoDay, `{"date":"2026-11-24"}`},
		{"a day of a past month is next year's", "book a trip on March 8th", isoDay, `{"date":"2027-03-08"}`},
		{"a year is taken", "book a trip on 8 March 2028", isoDay, `{"date":"2028-03-08"}`},
		{"weeks ahead", "book a trip in two weeks", isoDay, `{"date":"2026-12-04"}`},
		{"German days", "book a trip übermorgen", isoDay, `{"date":"2026-11-22"}`},
		{"day and month that are settled", "book a trip on 24/12/2026", isoDay, `{"date":"2026-12-24"}`},
		{"day and month with points", "book a trip on 3.4.2027", isoDay, `{"date":"2027-04-03"}`},
		{"month before day that is over twelve", "book a trip on 12/24/2026", isoDay, `{"date":"2026-12-24"}`},
		{"day and month that are not", "book a trip on 3/4/2027", isoDay, `{}`},
		{"days that there are not", "book a trip on February 31st", isoDay, `{}`},
		{"two days, each with its word", "book a trip from Monday until March 8th", start + "," + end, `{"end_date":"March 8th","start_date":"Monday"}`},
		{"two days without a word", "book a trip Monday Tuesday", start + "," + end, `{}`},
		{"the day is no number", "book a trip on March 8th", people + "," + isoDay, `{"date":"2027-03-08"}`},

		{"ordinals of days, exactly", "book a trip on the eighth of March", isoDay, `{"date":"2027-03-08"}`},
		{"a week ahead", "book a trip in a week", isoDay, `{"date":"2026-11-27"}`},
		{"weeks from now", "book a trip two weeks from now", isoDay, `{"date":"2026-12-04"}`},
		{"short weekdays after on", "book a trip on Mon", isoDay, `{"date":"2026-11-23"}`},
		{"the last day of a name", "book a trip that was last Monday", isoDay, `{"date":"2026-11-16"}`},
		{"a short year", "book a trip on 24/12/26", isoDay, `{"date":"2026-12-24"}`},
		{"which next Sunday, people do not agree on", "book a trip next Sunday", isoDay, `{}`},
		{"no date in a class", "book a trip, the second class", isoDay, `{}`},
		{"half a day is none", "book a trip in 2.5 days", isoDay, `{}`},

		{"times as said", "book a trip at 5 pm", clock, `{"time":"5 pm"}`},
		{"times in words", "book a trip at noon", clock, `{"time":"noon"}`},
		{"times exactly", "book a trip at 5:30 p.m.", iso, `{"time":"17:30"}`},
		{"times of 24 hours", "book a trip at 17:05", iso, `{"time":"17:05"}`},
		{"half past, as said", "book a trip at half past five", clock, `{"time":"half past five"}`},
		{"half past, exactly, is of an unknown half", "book a trip at half past five", iso, `{}`},
		{"hours in words", "book a trip at five pm", iso, `{"time":"17:00"}`},
		{"the afternoon", "book a trip at 3 in the afternoon", iso, `{"time":"15:00"}`},
		{"an hour of an unknown half", "book a trip at 5", iso, `{}`},
		{"at night", "book a trip at 8 at night", iso, `{"time":"20:00"}`},
		{"the part of the day before", "book a trip in the morning, 8:15", iso, `{"time":"08:15"}`},
		{"half past, with the part of the day", "book a trip at half past five in the evening", iso, `{"time":"17:30"}`},
		{"o'clock is of an unknown half", "book a trip at 5 o'clock", iso, `{}`},
		{"a time that is denied", "book a trip, not 3 to 5 pm", iso, `{}`},
		{"date and time together", "book a trip tomorrow at 9:15 am", both, `{"datetime":"2026-11-21 09:15"}`},

		{"e-mail addresses", "book a trip, write to jo.doe@example.org.", email, `{"email":"jo.doe@example.org"}`},
		{"URLs", "book a trip as in https://example.org/a?b=1, please", link, `{"url":"https://example.org/a?b=1"}`},
		{"telephone numbers", "book a trip, call +41 44 123 45 67", phone, `{"phone":"+41 44 123 45 67"}`},
		{"lists of numbers", "book a trip with 3, 4 and 5", ratings, `{"scores":[3,4,5]}`},
		{"lists of allowed values", "book a trip with pool and wifi", extras, `{"extras":["wifi","pool"]}`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			require.Equal(t, "book_trip "+c.want, matched(t, c.text, trip(c.parameter)))
		})
	}
}

func TestOfflineReadsTheRestAfterTheToolsVerb(t *testing.T) {
	search := `{"name":"search_web","description":"Search the web","examples":["search the web for something"],
		"schema":[{"parameter":"query","type":"string","required":true}]}`
	require.Equal(t, `search_web {"query":"cheap flights"}`, matched(t, "search the web for cheap flights please", search))
	require.Equal(t, "search_web misses [query]", matched(t, "please search the web", search))
	genre := `{"name":"find_movies","description":"Find movies","schema":[{"parameter":"genre","type":"string","required":true}]}`
	require.Equal(t, "find_movies misses [genre]", matched(t, "find some good movies", genre), "what follows the verb need not be a genre")
}

func TestOfflineReadsContentsAfterTheirCue(t *testing.T) {
	tool := `{"name":"send_message","description":"Send a message to a person","schema":[
		{"parameter":"recipient","type":"string","required":true},{"parameter":"text","type":"string","required":true}]}`
	require.Equal(t, `send_message {"recipient":"Anna","text":"I am late. Sorry"}`, matched(t, "send a message to Anna: I am late. Sorry", tool))
	require.Equal(t, "send_message misses [recipient text]", matched(t, "send a message", tool))
}

func TestOfflineReadsParametersGivenAsJSONSchema(t *testing.T) {
	tool := `{"name":"book_trip","description":"Book a trip","parameters":{"type":"object","required":["city"],"properties":{
		"city":{"type":["string","null"]},"people":{"type":"integer","minimum":1,"maximum":9},"class":{"type":"string","enum":["first","second"]},
		"extra":{"type":"object","properties":{"wish":{"type":"string"}}}}}}`
	require.Equal(t, `book_trip {"city":"Rome","class":"first","people":3}`, matched(t, "book a trip in Rome for 3, first", tool))
	require.Equal(t, "book_trip misses [city]", matched(t, "book a trip for 3", tool))
}

func TestOfflineLeavesHiddenParametersAlone(t *testing.T) {
	tool := trip(`{"parameter":"desk","type":"string","value":"A","ignore":true}`, `{"parameter":"city","type":"string","value":"Bern"}`)
	require.Equal(t, `book_trip {"city":"Bern","desk":"A"}`, matched(t, "book a trip, desk B, in Rome", tool))
}

func TestOfflineFillsDefaultsOfWhatIsNotSaid(t *testing.T) {
	tool := trip(`{"parameter":"people","type":"integer","default":2}`)
	require.Equal(t, `book_trip {"people":2}`, matched(t, "book a trip", tool))
	require.Equal(t, `book_trip {"people":7}`, matched(t, "book a trip for 7 people", tool))
}
