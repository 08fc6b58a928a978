package matcher

import "time"

// dated returns the days of a year, month and day. Where no year was said (0) they are
// the next such day and the last one: of a conversation's dates most lie ahead, and
// some are told.
func (r *momentText) dated(year, month, day int) []string {
	years := []int{year}
	if year == 0 {
		this := r.today().Year()
		years = []int{this, this + 1}
		if !r.today().Before(time.Date(this, time.Month(month), day, 0, 0, 0, 0, time.UTC)) {
			years = []int{this + 1, this}
		} else {
			years[1] = this - 1
		}
	}
	var days []string
	for _, year := range years {
		if m, ok := r.exactly(0, 0, year, month, day); ok && month > 0 {
			days = append(days, m.exact)
		}
	}
	return days
}

// monthFirst reads "March 8th, 2019" and "March the eighth".
func (r *momentText) monthFirst(i int) ([]string, int) {
	month := months[r.at(i)]
	if month == 0 {
		return nil, i
	}
	at := i + 1
	if r.at(at) == "the" {
		at++
	}
	day, end := r.dayNumber(at)
	if end == at {
		return nil, i
	}
	return r.withAnyYear(i, end, month, day)
}

// dayFirst reads "8 March", "the 8th of March 2019", and the 8 of "8 to 10 March".
func (r *momentText) dayFirst(i int) ([]string, int) {
	at := i
	if r.at(at) == "the" {
		at++
	}
	day, end := r.dayNumber(at)
	if end == at {
		return nil, i
	}
	if days, after := r.ofMonth(i, end, day); after > i {
		return days, after
	}
	next := end
	if rangeWords[r.at(next)] {
		next++
	}
	if r.at(next) == "the" {
		next++
	}
	if _, last := r.dayNumber(next); last > next {
		if days, after := r.ofMonth(i, last, day); after > i {
			return days, end
		}
	}
	return nil, i
}

var rangeWords = set(`and or to till until through bis und au al a e y`)

// ofMonth reads the month after a day, with its year.
func (r *momentText) ofMonth(first, at, day int) ([]string, int) {
	for ofWords[r.at(at)] {
		at++
	}
	if month := months[r.at(at)]; month > 0 {
		return r.withAnyYear(first, at+1, month, day)
	}
	if r.at(at) == "this" && r.at(at+1) == "month" {
		return r.dated(r.today().Year(), int(r.today().Month()), day), at + 2
	}
	return nil, first
}

var ofWords = set(`of de di del`)

// withAnyYear reads the year after a day and month, where there is one.
func (r *momentText) withAnyYear(first, end, month, day int) ([]string, int) {
	at := end
	for ofWords[r.at(at)] {
		at++
	}
	if year := atoi(r.at(at)); year >= 1900 && year < 2200 && len(r.at(at)) == 4 {
		return r.found(r.dated(year, month, day), first, at+1)
	}
	return r.found(r.dated(0, month, day), first, end)
}

func (r *momentText) found(days []string, first, end int) ([]string, int) {
	if len(days) == 0 {
		return nil, first
	}
	return days, end
}

// dayAlone reads "the 8th" and "8th": of this month or of the next.
func (r *momentText) dayAlone(i int) ([]string, int) {
	at := i
	if r.at(at) == "the" {
		at++
	}
	w := r.at(at)
	if !endsAsOrdinal(w) && (at == i || ordinalWords[w] == 0 && small[w] == 0) {
		return nil, i
	}
	day, end := r.dayNumber(at)
	if end == at {
		return nil, i
	}
	first := r.today().AddDate(0, 0, 1-r.today().Day())
	var days []string
	for _, month := range []time.Time{first, first.AddDate(0, 1, 0)} {
		days = append(days, r.dated(month.Year(), int(month.Month()), day)...)
	}
	return r.found(days, i, end)
}

// dayNumber reads the day of a month: 8, 8th, 1er, eighth, twenty-first.
func (r *momentText) dayNumber(i int) (day, end int) {
	w := r.at(i)
	if startsWithDigit(w) {
		return dayInFigures(w, i)
	}
	if day, ok := ordinalWords[w]; ok {
		return day, i + 1
	}
	if small[w] == 0 || i >= len(r.words) {
		return 0, i
	}
	value, end := r.spelled(i)
	value, end = r.lastOrdinal(value, i, end)
	if value < 1 || value > 31 {
		return 0, i
	}
	return value, end
}

// dayInFigures reads 8, 8th and 1er.
func dayInFigures(w string, i int) (day, end int) {
	switch {
	case len(w) <= 2 && w[len(w)-1] <= '9':
		day = atoi(w)
	case w == "1er" || w == "1o":
		day = 1
	case endsAsOrdinal(w):
		day = atoi(w[:len(w)-2])
	}
	if day < 1 || day > 31 {
		return 0, i
	}
	return day, i + 1
}

// endsAsOrdinal reports whether the word is an ordinal in figures.
func endsAsOrdinal(w string) bool {
	return len(w) >= 3 && len(w) <= 4 && w[len(w)-1] > '9' && ordinal.MatchString(w)
}
