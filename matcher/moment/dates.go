package moment

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"earshot/matcher/text"
)

// Date reads the date that begins at word i.
func (r *Text) Date(i int) (Moment, bool) {
	for _, read := range []func(int) (Moment, bool){
		r.isoDate, r.slashDate, r.nearDay, r.weekday, r.monthDay, r.dayMonth, r.lateDay, r.ahead,
	} {
		if m, ok := read(i); ok {
			return m, true
		}
	}
	return Moment{}, false
}

func (r *Text) today() time.Time {
	return time.Date(r.Now.Year(), r.Now.Month(), r.Now.Day(), 0, 0, 0, 0, time.UTC)
}

func (r *Text) in(days int) string { return r.today().AddDate(0, 0, days).Format(time.DateOnly) }

// isoDate reads 2026-12-01 (ISO 8601).
func (r *Text) isoDate(i int) (Moment, bool) {
	if i+3 > len(r.Words) || !r.touching(i, "-") || !r.touching(i+1, "-") {
		return Moment{}, false
	}
	text := r.Surface(i, i+3)
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		return Moment{}, false
	}
	return Moment{i, i + 3, text}, true
}

// slashDate reads 31.12.2026, and 8/3/2026, whose order of day and month is settled
// only where one of them is over twelve.
func (r *Text) slashDate(i int) (Moment, bool) {
	text := r.Source[r.Words[i].Start:]
	found := slashed.FindStringSubmatch(text)
	if found == nil {
		return Moment{}, false
	}
	_, end := r.Within(r.Words[i].Start, r.Words[i].Start+len(found[0]))
	if found[4] != "" {
		return r.exactly(i, end, atoi(found[5]), atoi(found[4]), atoi(found[1]))
	}
	a, b := atoi(found[1]), atoi(found[2])
	year, given := atoi(found[3]), found[3] != ""
	switch {
	case a > 31 || b > 31 || a == 0 || b == 0 || a > 12 && b > 12:
		return Moment{}, false
	case a <= 12 && b <= 12 && a != b || !given:
		return Moment{i, end, ""}, true
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
func (r *Text) nearDay(i int) (Moment, bool) {
	if r.At(i) == "day" && r.At(i+1) == "after" && r.At(i+2) == "tomorrow" {
		return Moment{i, i + 3, r.in(2)}, true
	}
	// "morning" and "in the morning" are manana too; a day it is without an article.
	if days, ok := nearDays[r.At(i)]; ok && r.At(i-1) != "la" && r.At(i-1) != "guten" {
		return Moment{i, i + 1, r.in(days)}, true
	}
	return Moment{}, false
}

var nearDays = map[string]int{
	"today": 0, "tonight": 0, "tomorrow": 1, "heute": 0, "morgen": 1, "ubermorgen": 2, "aujourdhui": 0, "demain": 1,
	"oggi": 0, "domani": 1, "dopodomani": 2, "hoy": 0, "manana": 1,
}

// monthDay reads "March 8th, 2026".
func (r *Text) monthDay(i int) (Moment, bool) {
	month, ok := months[r.At(i)]
	day, isDay := dayOfMonth(r.At(i + 1))
	if !ok || !isDay {
		return Moment{}, false
	}
	return r.withYear(i, i+2, month, day)
}

// dayMonth reads "8th of March 2026" and "8. März".
func (r *Text) dayMonth(i int) (Moment, bool) {
	day, ok := dayOfMonth(r.At(i))
	at := i + 1
	if r.At(at) == "of" || r.At(at) == "de" {
		at++
	}
	month, isMonth := months[r.At(at)]
	if !ok || !isMonth {
		return Moment{}, false
	}
	return r.withYear(i, at+1, month, day)
}

// withYear reads the year after a day and month, or takes the next one in which that
// day is not past.
func (r *Text) withYear(first, end, month, day int) (Moment, bool) {
	if year := atoi(r.At(end)); year >= 1900 && year < 2200 && len(r.At(end)) == 4 {
		return r.exactly(first, end+1, year, month, day)
	}
	year := r.Now.Year()
	if time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Before(r.today()) {
		year++
	}
	return r.exactly(first, end, year, month, day)
}

// exactly checks that there is such a day.
func (r *Text) exactly(first, end, year, month, day int) (Moment, bool) {
	date := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if date.Day() != day || month > 12 {
		return Moment{}, false
	}
	return Moment{first, end, date.Format(time.DateOnly)}, true
}

// lateDay reads "the 8th", the next day of that number, and "8th of this month".
func (r *Text) lateDay(i int) (Moment, bool) {
	at := i
	if r.At(at) == "the" {
		at++
	}
	day, ok := dayOfMonth(r.At(at))
	if !ok || !Ordinal.MatchString(r.At(at)) {
		return Moment{}, false
	}
	month := r.today()
	if r.At(at+1) == "of" && r.At(at+2) == "this" && r.At(at+3) == "month" {
		return r.exactly(at, at+4, month.Year(), int(month.Month()), day)
	}
	if at == i || at+1 < len(r.Words) && (text.IsSubject(r.Words[at+1]) || months[r.At(at+1)] > 0 || months[r.At(at+2)] > 0) {
		return Moment{}, false
	}
	if day < month.Day() {
		month = month.AddDate(0, 1, 1-month.Day())
	}
	return r.exactly(i, at+1, month.Year(), int(month.Month()), day)
}

// Ordinal matches an English ordinal in figures, as 3rd.
var Ordinal = regexp.MustCompile(`^\d{1,2}(?:st|nd|rd|th)$`)

func dayOfMonth(w string) (int, bool) {
	day := atoi(strings.TrimRight(w, "stndrh"))
	return day, day >= 1 && day <= 31 && (Ordinal.MatchString(w) || len(w) <= 2)
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

// weekday reads "Friday", "next Friday", "Friday next week", "next week". Which day
// "next Friday" is, people do not agree on: it is the one of next week.
func (r *Text) weekday(i int) (Moment, bool) {
	first, shift := i, 0
	switch r.At(i) {
	case "next", "coming", "this":
		i++
	}
	day, ok := weekdays[r.At(i)]
	if !ok {
		return Moment{}, false
	}
	end := i + 1
	days := (int(day) - int(r.today().Weekday()) + 7) % 7
	switch {
	case r.At(first) == "next":
		shift = r.nextWeek(day)
	case r.At(end) == "next" && r.At(end+1) == "week":
		shift, end = r.nextWeek(day), end+2
	default:
		shift = days
	}
	return Moment{first, end, r.in(shift)}, true
}

// nextWeek is how many days ahead the day of next week is; weeks begin on Monday.
func (r *Text) nextWeek(day time.Weekday) int {
	monday := (8 - int(r.today().Weekday())) % 7
	if monday == 0 {
		monday = 7
	}
	return monday + (int(day)+6)%7
}

var weekdays = map[string]time.Weekday{
	"sunday": 0, "monday": 1, "tuesday": 2, "wednesday": 3, "thursday": 4, "friday": 5, "saturday": 6,
	"sonntag": 0, "montag": 1, "dienstag": 2, "mittwoch": 3, "donnerstag": 4, "freitag": 5, "samstag": 6,
	"dimanche": 0, "lundi": 1, "mardi": 2, "mercredi": 3, "jeudi": 4, "vendredi": 5, "samedi": 6,
	"domenica": 0, "lunedi": 1, "martedi": 2, "mercoledi": 3, "giovedi": 4, "venerdi": 5, "sabato": 6,
	"domingo": 0, "lunes": 1, "martes": 2, "miercoles": 3, "jueves": 4, "viernes": 5, "sabado": 6,
}

// ahead reads "in 3 days", "in two weeks", "next week", "this weekend".
func (r *Text) ahead(i int) (Moment, bool) {
	if (r.At(i) == "next" || r.At(i) == "this") && spans[r.At(i+1)] {
		return Moment{i, i + 2, ""}, true
	}
	if r.At(i) != "in" || i+2 >= len(r.Words) {
		return Moment{}, false
	}
	number, end := r.Figure(i + 1)
	days := map[string]int{"day": 1, "week": 7}[text.Stem(r.At(end))]
	if end == i+1 || days == 0 || strings.ContainsAny(string(number), ".-") || len(number) > 4 {
		return Moment{}, false
	}
	return Moment{i, end + 1, r.in(days * atoi(string(number)))}, true
}

var spans = text.Set(`week weekend`)
