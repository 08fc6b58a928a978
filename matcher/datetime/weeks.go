package datetime

import (
	"strings"
	"time"

	"earshot/matcher/text"
)

// weekday reads "Friday", "this Fri", "last Friday", "next Friday", "Friday next week".
// Which day "next Friday" is, people do not agree on: the coming one, or the one of next
// week.
func (r dateReader) weekday(i int) (Reading, bool) {
	at := i
	switch r.At(i) {
	case "next", "coming", "this", "last":
		at++
	}
	named, short := r.weekdayAt(at)
	if named < 0 {
		return Reading{}, false
	}
	ahead := (named - int(r.today().Weekday()) + 7) % 7
	var found Reading
	switch {
	case r.At(i) == "last":
		found = r.reading(i, at+1, r.in(ahead-7))
	case r.At(at+1) == "next" && r.At(at+2) == "week":
		found = r.reading(i, at+3, r.in(r.nextWeek(named)))
	case r.At(i) == "next" && ahead == 0:
		found = r.reading(i, at+1, r.in(7))
	case r.At(i) == "next":
		found = r.reading(i, at+1, r.in(ahead), r.in(r.nextWeek(named)))
	case ahead == 0:
		found = r.reading(i, at+1, r.in(0), r.in(7))
		found.Exact = r.in(0)
	default:
		found = r.reading(i, at+1, r.in(ahead))
	}
	found.Doubtful = short && at == i && !text.DayCues.Has(r.At(i-1)) // sun and sat are words of their own
	return found, true
}

// weekdayAt returns the number of the weekday that the word names, Sunday being 0 and no
// day -1, and whether it is an English short form.
func (r dateReader) weekdayAt(i int) (number int, short bool) {
	if number, ok := text.Weekdays.Number(r.At(i)); ok {
		return number, false
	}
	if number, ok := text.ShortWeekdays.Number(r.At(i)); ok {
		return number, true
	}
	return -1, false
}

// nextWeek is how many days ahead the day of next week is; weeks begin on Monday.
func (r dateReader) nextWeek(weekday int) int {
	monday := (8 - int(r.today().Weekday())) % 7
	if monday == 0 {
		monday = 7
	}
	return monday + (weekday+6)%7
}

// week reads "this weekend", either day of it, "next weekend", of which it is open
// whether the coming one is meant, and "next week", which is no day.
func (r dateReader) week(i int) (Reading, bool) {
	first, what := r.At(i), r.At(i+1)
	switch {
	case what == "week" && (first == "next" || first == "this"):
		return r.reading(i, i+2), true
	case what != "weekend" || first != "this" && first != "the" && first != "next" && first != "coming":
		return Reading{}, false
	}
	saturday := (int(time.Saturday) - int(r.today().Weekday()) + 7) % 7
	days := []string{r.in(saturday), r.in(saturday + 1)}
	if first == "next" {
		days = append(days, r.in(saturday+7), r.in(saturday+8))
	}
	return r.reading(i, i+2, days...), true
}

// ahead reads "in 3 days", "in a week", "two weeks from now".
func (r dateReader) ahead(i int) (Reading, bool) {
	at := i
	if r.At(i) == "in" {
		at++
	}
	count, after := r.count(at)
	days := map[string]int{"day": 1, "week": 7}[text.Stem(r.At(after))]
	if after == at || days == 0 {
		return Reading{}, false
	}
	end := after + 1
	if at == i {
		if r.At(end) != "from" || r.At(end+1) != "now" && r.At(end+1) != "today" {
			return Reading{}, false
		}
		end += 2
	}
	return r.reading(i, end, r.in(days*count)), true
}

// count reads a whole number of days or weeks; "a" counts one. end is i for none.
func (r dateReader) count(i int) (count, end int) {
	if r.At(i) == "a" || r.At(i) == "an" {
		return 1, i + 1
	}
	for _, found := range r.Numbers(i) {
		if found.First == i && found.Exact != "" && len(found.Exact) <= 4 && strings.Trim(found.Exact, "0123456789") == "" {
			return atoi(found.Exact), found.End
		}
	}
	return 0, i
}
