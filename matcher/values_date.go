package matcher

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// date reads the date that begins at word i.
func (r *momentText) date(i int) (moment, bool) {
	for _, read := range []func(int) (moment, bool){
		r.isoDate, r.slashDate, r.nearDay, r.weekday, r.monthDay, r.dayMonth, r.lateDay, r.ahead,
	} {
		if m, ok := read(i); ok {
			return m, true
		}
	}
	return moment{}, false
}

func (r *momentText) today() time.Time {
	return time.Date(r.now.Year(), r.now.Month(), r.now.Day(), 0, 0, 0, 0, time.UTC)
}

func (r *momentText) in(days int) string { return r.today().AddDate(0, 0, days).Format(time.DateOnly) }

// isoDate reads 2026-12-01 (ISO 8601).
func (r *momentText) isoDate(i int) (moment, bool) {
	if i+3 > len(r.words) || !r.touching(i, "-") || !r.touching(i+1, "-") {
		return moment{}, false
	}
	text := r.surface(i, i+3)
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		return moment{}, false
	}
	return moment{i, i + 3, text}, true
}

// slashDate reads 31.12.2026, and 8/3/2026, whose order of day and month is settled
// only where one of them is over twelve.
func (r *momentText) slashDate(i int) (moment, bool) {
	text := r.text[r.words[i].start:]
	found := slashed.FindStringSubmatch(text)
	if found == nil {
		return moment{}, false
	}
	_, end := r.within(r.words[i].start, r.words[i].start+len(found[0]))
	if found[4] != "" {
		return r.exactly(i, end, atoi(found[5]), atoi(found[4]), atoi(found[1]))
	}
	a, b := atoi(found[1]), atoi(found[2])
	year, given := atoi(found[3]), found[3] != ""
	switch {
	case a > 31 || b > 31 || a == 0 || b == 0 || a > 12 && b > 12:
		return moment{}, false
	case a <= 12 && b <= 12 && a != b || !given:
		return moment{i, end, ""}, true
	case a > 12:
		return r.exactly(i, end, year, b, a)
	}
	return r.exactly(i, end, year, a, b)
}

var slashed = regexp.MustCompile(`^(\d{1,2})(?:/(\d{1,2})(?:/(\d{4}))?|\.(\d{1,2})\.(\d{4}))\b`)

func atoi(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

// nearDay reads "tomorrow" and its like.
func (r *momentText) nearDay(i int) (moment, bool) {
	if r.at(i) == "day" && r.at(i+1) == "after" && r.at(i+2) == "tomorrow" {
		return moment{i, i + 3, r.in(2)}, true
	}
	// "morning" and "in the morning" are manana too; a day it is without an article.
	if days, ok := nearDays[r.at(i)]; ok && r.at(i-1) != "la" && r.at(i-1) != "guten" {
		return moment{i, i + 1, r.in(days)}, true
	}
	return moment{}, false
}

var nearDays = map[string]int{
	"today": 0, "tonight": 0, "tomorrow": 1, "heute": 0, "morgen": 1, "ubermorgen": 2, "aujourdhui": 0, "demain": 1,
	"oggi": 0, "domani": 1, "dopodomani": 2, "hoy": 0, "manana": 1,
}

// monthDay reads "March 8th, 2026".
func (r *momentText) monthDay(i int) (moment, bool) {
	month, ok := months[r.at(i)]
	day, isDay := dayOfMonth(r.at(i + 1))
	if !ok || !isDay {
		return moment{}, false
	}
	return r.withYear(i, i+2, month, day)
}

// dayMonth reads "8th of March 2026" and "8. März".
func (r *momentText) dayMonth(i int) (moment, bool) {
	day, ok := dayOfMonth(r.at(i))
	at := i + 1
	if r.at(at) == "of" || r.at(at) == "de" {
		at++
	}
	month, isMonth := months[r.at(at)]
	if !ok || !isMonth {
		return moment{}, false
	}
	return r.withYear(i, at+1, month, day)
}

// withYear reads the year after a day and month, or takes the next one in which that
// day is not past.
func (r *momentText) withYear(first, end, month, day int) (moment, bool) {
	if year := atoi(r.at(end)); year >= 1900 && year < 2200 && len(r.at(end)) == 4 {
		return r.exactly(first, end+1, year, month, day)
	}
	year := r.now.Year()
	if time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Before(r.today()) {
		year++
	}
	return r.exactly(first, end, year, month, day)
}

// exactly checks that there is such a day.
func (r *momentText) exactly(first, end, year, month, day int) (moment, bool) {
	date := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if date.Day() != day || month > 12 {
		return moment{}, false
	}
	return moment{first, end, date.Format(time.DateOnly)}, true
}

// lateDay reads "the 8th", the next day of that number, and "8th of this month".
func (r *momentText) lateDay(i int) (moment, bool) {
	at := i
	if r.at(at) == "the" {
		at++
	}
	day, ok := dayOfMonth(r.at(at))
	if !ok || !ordinal.MatchString(r.at(at)) {
		return moment{}, false
	}
	month := r.today()
	if r.at(at+1) == "of" && r.at(at+2) == "this" && r.at(at+3) == "month" {
		return r.exactly(at, at+4, month.Year(), int(month.Month()), day)
	}
	if at == i || at+1 < len(r.words) && (subject(r.words[at+1]) || months[r.at(at+1)] > 0 || months[r.at(at+2)] > 0) {
		return moment{}, false
	}
	if day < month.Day() {
		month = month.AddDate(0, 1, 1-month.Day())
	}
	return r.exactly(i, at+1, month.Year(), int(month.Month()), day)
}

var ordinal = regexp.MustCompile(`^\d{1,2}(?:st|nd|rd|th)$`)

func dayOfMonth(w string) (int, bool) {
	day := atoi(strings.TrimRight(w, "stndrh"))
	return day, day >= 1 && day <= 31 && (ordinal.MatchString(w) || len(w) <= 2)
}

var months = monthNumbers(`january february march april may june july august september october november december`,
	`jan feb mar apr may jun jul aug sep oct nov dec`,
	`januar februar marz april mai juni juli august september oktober november dezember`,
	`janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre`,
	`gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre`,
	`enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre`)

func monthNumbers(languages ...string) map[string]int {
	found := map[string]int{"sept": 9}
	for _, names := range languages {
		for i, name := range strings.Fields(names) {
			found[name] = i + 1
		}
	}
	return found
}
