package datetime_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher/datetime"
)

// friday is the day of all texts.
var friday = time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)

// shown renders readings as words, all values, = the exact one, and ? for doubtful.
func shown(text *datetime.Text, readings []datetime.Reading) string {
	var lines []string
	for _, r := range readings {
		line := fmt.Sprintf("%s %s", text.Said[r.From:r.To], strings.Join(r.Values, "|"))
		if r.Exact != "" {
			line += " =" + r.Exact
		}
		if r.Doubtful {
			line += " ?"
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "; ")
}

func TestANumberOfSeveralWordsIsOneNumber(t *testing.T) {
	reads(t, (*datetime.Text).Dates, map[string]string{
		"le vingt et un mars": "vingt et un mars 2027-03-21|2026-03-21 =2027-03-21", "el treinta y uno de marzo": "treinta y uno de marzo 2027-03-31|2026-03-31 =2027-03-31",
		"lundi et mardi": "lundi 2026-11-23 =2026-11-23; mardi 2026-11-24 =2026-11-24",
	})
	reads(t, (*datetime.Text).Clocks, map[string]string{"à vingt et un degrés": "", "a las dos y media": "dos y media 02:30|14:30"})
}

// reads compares what is read in texts with the readings as shown has them.
func reads(t *testing.T, read func(*datetime.Text) []datetime.Reading, wants map[string]string) {
	t.Helper()
	for said, want := range wants {
		text := datetime.NewText(said, friday)
		require.Equal(t, want, shown(text, read(text)), said)
	}
}

func TestDatesAreReadWithAllThatTheyMayMean(t *testing.T) {
	reads(t, (*datetime.Text).Dates, map[string]string{
		"on 2026-12-01":         "2026-12-01 2026-12-01 =2026-12-01",
		"am 3.4.2027":           "3.4.2027 2027-03-04|2027-04-03 =2027-04-03",
		"on 3/4/2027":           "3/4/2027 2027-03-04|2027-04-03",
		"on 24/12/26":           "24/12/26 2026-12-24 =2026-12-24",
		"on 24.12.26":           "24.12.26 2026-12-24 =2026-12-24 ?",
		"on 5/5":                "5/5 2027-05-05|2026-05-05",
		"on March 8th":          "March 8th 2027-03-08|2026-03-08 =2027-03-08",
		"on November 20":        "November 20 2026-11-20|2027-11-20 =2026-11-20",
		"the eighth of March":   "the eighth of March 2027-03-08|2026-03-08 =2027-03-08",
		"8 to 10 March 2028":    "8 2028-03-08 =2028-03-08; 10 March 2028 2028-03-10 =2028-03-10",
		"el 8 de marzo de 2028": "8 de marzo de 2028 2028-03-08 =2028-03-08",
		"on the 8th":            "the 8th 2026-11-08|2026-12-08 =2026-12-08",
		"on Friday":             "Friday 2026-11-20|2026-11-27 =2026-11-20",
		"next Friday":           "next Friday 2026-11-27 =2026-11-27",
		"next Tuesday":          "next Tuesday 2026-11-24 =2026-11-24",
		"next Sunday":           "next Sunday 2026-11-22|2026-11-29",
		"last Friday":           "last Friday 2026-11-13 =2026-11-13",
		"übermorgen":            "übermorgen 2026-11-22 =2026-11-22",
		"in the sun":            "sun 2026-11-22 =2026-11-22 ?",
		"this weekend":          "this weekend 2026-11-21|2026-11-22",
		"next week":             "next week",
		"in a week":             "in a week 2026-11-27 =2026-11-27",
		"in 2.5 days":           "",
		"on February 31st":      "31st 2026-12-31 ?",
	})
	text := datetime.NewText("on the 8th floor", friday)
	require.True(t, text.Dates()[0].Doubtful)
}

func TestTimesOfDayAreReadWithBothHalvesWhereNoneWasSaid(t *testing.T) {
	reads(t, (*datetime.Text).Clocks, map[string]string{
		"at 17:30":                 "17:30 17:30 =17:30",
		"at 9:15":                  "9:15 09:15|21:15",
		"at 12:30":                 "12:30 00:30|12:30 =12:30",
		"um 9:15":                  "9:15 09:15|21:15 =09:15",
		"à 9 h 15":                 "9 h 15 09:15|21:15 =09:15",
		"at 09:15":                 "09:15 09:15 =09:15",
		"at 5 o'clock":             "5 o'clock 05:00|17:00",
		"um 5 Uhr":                 "5 Uhr 05:00|17:00 =05:00",
		"at 5 p.m.":                "5 p.m 17:00 =17:00",
		"five thirty":              "five thirty 05:30|17:30",
		"half past five":           "half past five 05:30|17:30",
		"quarter to 6 at night":    "quarter to 6 at night 05:45 =05:45",
		"ten to five":              "five 05:00|17:00 ?",
		"at ten to five":           "ten to five 04:50|16:50",
		"from ten to five":         "ten to five 04:50|16:50 ?; five 05:00|17:00 ?",
		"for ten to 6 at night":    "ten to 6 at night 05:50 =05:50",
		"um halb fünf am Abend":    "halb fünf am Abend 16:30 =16:30",
		"um fünf am Montag":        "fünf 05:00|17:00",
		"3 to 5 pm":                "3 to 5 pm 16:57 =16:57 ?; 5 pm 17:00 =17:00",
		"at 5":                     "5 05:00|17:00",
		"from 5":                   "5 05:00|17:00 ?",
		"at 5 tables":              "5 05:00|17:00 ?",
		"at 25:00":                 "",
		"I like that one. Am I on": "",
	})
}

func TestNumbersAreReadInEveryForm(t *testing.T) {
	reads(t, (*datetime.Text).AllNumbers, map[string]string{
		"99.50":          "99.50 99.5 =99.50",
		"1,250.75":       "1,250.75 1250.75 =1250.75",
		"12,50":          "12,50 12.5 =12.50",
		"1.000":          "1.000 1000|1",
		"1,000":          "1,000 1000 =1000",
		"0.500":          "0.500 0.5 =0.500",
		"0,500":          "0,500 0.5 =0.500",
		"2 300 guests":   "2 2 =2; 2 300 2300 =2300 ?; 300 300 =300",
		"12'000 Franken": "12'000 12000 =12000; 000 0",
		"5kg":            "5kg 5 =5",
		"5k":             "5k 5|5000 =5 ?",
		"3rd":            "3rd 3 =3 ?",
		"1,2,3":          "1,2,3 1|2|3",
		"2.5 million":    "2.5 million 2500000 =2500000",
		"two and a half": "two and a half 2.5 =2.5",
		"minus five":     "minus five -5 =-5",

		"twenty-one point five":     "twenty-one point five 21.5 =21.5",
		"twenty one point two five": "twenty one point two five 21.25 =21.25",
		"minus two point 5 million": "minus two point 5 million -2500000 =-2500000",
		"zwei Komma acht Grad":      "zwei Komma acht 2.8 =2.8",
		"at 3 point":                "3 3 =3",
		"at -5":                     "-5 -5 =-5",
		"3-5":                       "3 3 =3; 5 5 =5",
		"a dozen":                   "a dozen 12 =12",
		"a couple":                  "a couple 2 =2 ?",
		"twenty-first":              "twenty-first 21 =21 ?",
		"zwei":                      "zwei 2 =2",
		"once":                      "once 11 =11 ?",
		"007":                       "007 7",
		"that one":                  "",
		"three hundred and 2":       "three hundred 300 =300; 2 2 =2",
	})
}

func TestANumberOfTheTextsLanguageIsCertain(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]bool{
		"una mesa para dos mañana": true, "quiero once": true, "ich brauche elf Karten": true, "il y a sept personnes": true,
		"once upon a time": false, "on sept 5": false,
	} {
		all, certain := datetime.NewText(said, friday), false
		for i := range all.Words {
			for _, n := range all.Numbers(i) {
				certain = certain || !n.Doubtful && n.Exact != "5"
			}
		}
		if certain != want {
			t.Errorf("%s: %v", said, certain)
		}
	}
}
