package matcher

import (
	"regexp"
	"strings"
	"time"
)

// dateAt reads the date that begins at word i as all days that it may mean: people
// leave the year out, differ on which day "next Friday" is, and write day and month in
// either order. end is i for none.
func (r *momentText) dateAt(i int) (days []string, end int) {
	if !startsWithDigit(r.at(i)) && !r.beginsDate(i) {
		return nil, i
	}
	for _, read := range []func(*momentText, int) ([]string, int){
		(*momentText).figuresDate, (*momentText).nearDate, (*momentText).namedDay, (*momentText).weekend,
		(*momentText).monthFirst, (*momentText).dayFirst, (*momentText).dayAlone, (*momentText).later,
	} {
		if days, end = read(r, i); end > i {
			return days, end
		}
	}
	return nil, i
}

// beginsDate keeps the readers from words that begin no date, which most words are.
func (r *momentText) beginsDate(i int) bool {
	w := r.at(i)
	_, near := nearDays[w]
	_, named := weekdayOf(w)
	return near || named || months[w] > 0 || ordinalWords[w] > 0 || small[w] > 0 || dateWords[w]
}

var dateWords = set(`next this coming last in the a an day yesterday gestern ieri ayer hier`)

// figuresDate reads 2019-03-08, 8.3.2019, 3/8/19 and 3/8.
func (r *momentText) figuresDate(i int) ([]string, int) {
	text := r.window(i)
	if !startsWithDigit(text) || !strings.ContainsAny(text[:min(len(text), 5)], "-/.") {
		return nil, i
	}
	if p := yearFirst.FindStringSubmatch(text); p != nil {
		return r.dated(atoi(p[1]), atoi(p[2]), atoi(p[3])), r.until(i, len(p[1])+len(p[2])+len(p[3])+2)
	}
	p := yearLast.FindStringSubmatch(text)
	if p == nil {
		p = noYear.FindStringSubmatch(text)
	}
	if p == nil {
		return nil, i
	}
	year := atoi(p[3])
	if len(p[3]) == 2 {
		year += 2000
	}
	days := append(r.dated(year, atoi(p[1]), atoi(p[2])), r.dated(year, atoi(p[2]), atoi(p[1]))...)
	if len(days) == 0 {
		return nil, i
	}
	return days, r.until(i, len(p[0]))
}

var (
	yearFirst = regexp.MustCompile(`^([12]\d{3})[-/.](\d{1,2})[-/.](\d{1,2})(?:\D|$)`)
	yearLast  = regexp.MustCompile(`^(\d{1,2})[-/.]\s?(\d{1,2})[-/.]\s?(\d{4}|\d{2})\b`)
	// Without a year only a slash tells a date from a decimal or a range.
	noYear = regexp.MustCompile(`^(\d{1,2})/(\d{1,2})()\b`)
)

// nearDate reads "tomorrow" and its like.
func (r *momentText) nearDate(i int) ([]string, int) {
	if m, ok := r.nearDay(i); ok {
		return []string{m.exact}, m.end
	}
	switch r.at(i) {
	case "yesterday", "gestern", "ieri", "ayer", "hier":
		return []string{r.in(-1)}, i + 1
	}
	return nil, i
}

// namedDay reads "Friday", "this Fri", "next Friday", "last Friday", "Friday next
// week".
func (r *momentText) namedDay(i int) ([]string, int) {
	at := i
	if r.at(i) == "next" || r.at(i) == "this" || r.at(i) == "coming" || r.at(i) == "last" {
		at++
	}
	day, ok := weekdayOf(r.at(at))
	if !ok {
		return nil, i
	}
	ahead := (int(day) - int(r.today().Weekday()) + 7) % 7
	switch {
	case r.at(i) == "last":
		return []string{r.in(ahead - 7)}, at + 1
	case r.at(at+1) == "next" && r.at(at+2) == "week":
		return []string{r.in(r.nextWeek(day))}, at + 3
	case r.at(i) == "next" && ahead == 0:
		return []string{r.in(7)}, at + 1
	case r.at(i) == "next":
		return []string{r.in(ahead), r.in(r.nextWeek(day))}, at + 1
	case ahead == 0:
		return []string{r.in(0), r.in(7)}, at + 1
	}
	return []string{r.in(ahead)}, at + 1
}

// weekdayOf knows the names of weekdays and the English short forms.
func weekdayOf(w string) (time.Weekday, bool) {
	if day, ok := weekdays[w]; ok {
		return day, true
	}
	day, ok := shortWeekdays[w]
	return day, ok
}

var shortWeekdays = map[string]time.Weekday{
	"sun": 0, "mon": 1, "tue": 2, "tues": 2, "wed": 3, "thu": 4, "thur": 4, "thurs": 4, "fri": 5, "sat": 6,
}

// weekend reads "this weekend", either day of it, and "next weekend", of which it is
// open whether the coming one is meant.
func (r *momentText) weekend(i int) ([]string, int) {
	if r.at(i+1) != "weekend" || r.at(i) != "this" && r.at(i) != "the" && r.at(i) != "next" && r.at(i) != "coming" {
		return nil, i
	}
	saturday := (int(time.Saturday) - int(r.today().Weekday()) + 7) % 7
	days := []string{r.in(saturday), r.in(saturday + 1)}
	if r.at(i) == "next" {
		days = append(days, r.in(saturday+7), r.in(saturday+8))
	}
	return days, i + 2
}

// later reads "in 3 days", "in a week", "two weeks from now".
func (r *momentText) later(i int) ([]string, int) {
	at := i
	if r.at(i) == "in" {
		at++
	}
	count, after := r.countOf(at)
	days := map[string]int{"day": 1, "week": 7}[stem(r.at(after))]
	if after == at || days == 0 || count > 5000 {
		return nil, i
	}
	end := after + 1
	if at == i {
		if r.at(end) != "from" || r.at(end+1) != "now" && r.at(end+1) != "today" {
			return nil, i
		}
		end += 2
	}
	return []string{r.in(days * count)}, end
}

// countOf reads a whole number; "a" counts one.
func (r *momentText) countOf(i int) (count, end int) {
	if r.at(i) == "a" || r.at(i) == "an" {
		return 1, i + 1
	}
	if i >= len(r.words) {
		return 0, i
	}
	number, end := r.figure(i)
	return atoi(string(number)), end
}
