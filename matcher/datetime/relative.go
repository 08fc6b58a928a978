package datetime

import (
	"strconv"
	"time"

	"earshot/matcher/text"
	"earshot/repositories/lists"
	"earshot/repositories/quantity"
)

// dayReader reads days by the words around them.
type dayReader struct{ *Text }

// span is an amount of days or months.
type span struct{ days, months int }

func (s span) shift(day string, direction int) string {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return ""
	}
	return at.AddDate(0, direction*s.months, direction*s.days).Format(time.DateOnly)
}

// span reads the amount of days, weeks or months that begins at word i: "3 days", "einer Woche". sure is false for a
// range, which is no amount. end is i for none.
func (t dayReader) span(i int) (of span, end int, sure bool) {
	const most = 5 // words: "between two and three weeks"
	for at := i + 1; at < min(len(t.Words), i+most); at++ {
		size, ok := text.DayUnits.Value(t.Norm(at))
		if !ok {
			continue
		}
		count := 1
		words := t.Surface(i, at)
		number, single := quantity.Number(words)
		if single || at > i+1 || !t.At(i).Is(text.IndefiniteWords, text.DefiniteArticles, text.DateWords) {
			if !single {
				amounts := quantity.Unit{}.Amounts(words)
				if len(amounts) != 2 || !amounts[0].Range {
					return span{}, i, false
				}
				return span{}, at + 1, false
			}
			var err error
			if count, err = strconv.Atoi(string(number)); err != nil || count < 0 || count > 9999 {
				return span{}, i, false
			}
		}
		if size == "m" {
			return span{months: count}, at + 1, true
		}
		days, _ := text.DayUnits.Number(t.Norm(at))
		return span{days: days * count}, at + 1, true
	}
	return span{}, i, false
}

// skip returns the place after the words of the lists that begin at a place.
func (t dayReader) skip(at int, lists ...text.List) int {
	for t.At(at).Is(lists...) {
		at++
	}
	return at
}

// ahead reads "in 3 days", "dans une semaine", "two weeks from now", and the past "three days ago", "vor 3 Tagen". "In 2 or
// 3 days" is no day.
func (t dayReader) ahead(i int) Reading {
	ago := text.AgoCues.PhraseAt(t.Words, i)
	cue := max(ago, text.AheadCues.PhraseAt(t.Words, i))
	of, end, sure := t.span(i + cue)
	if after := text.AgoCues.PhraseAt(t.Words, end); cue == 0 && after > 0 && t.Adjoins(end-1) && !t.At(end).Is(text.DayShifts) { // "due giorni fa", but not "zwei Tage vor"
		ago, end = after, end+after
	}
	switch {
	case end == i+cue, t.At(i+cue).Is(text.DefiniteArticles, text.DayCues): // "in the day"
		return Reading{}
	case ago > 0 && sure:
		return t.reading(i, end, of.shift(t.in(0), -1))
	case ago > 0:
		return t.reading(i, end)
	case cue == 0 && (t.Norm(end) != "from" || t.Norm(end+1) != "now" && t.Norm(end+1) != "today"):
		return Reading{}
	case cue == 0:
		end += 2
	}
	if !sure {
		return t.reading(i, end)
	}
	at := t.skip(end, text.DayCues, text.DefiniteArticles) // "in einer Woche am Freitag"
	if named, ok := text.Weekdays.Number(t.Norm(at)); ok {
		return t.weekdayIn(i, at+1, named, of)
	}
	return t.reading(i, end, of.shift(t.in(0), 1))
}

// shifted reads a day that is counted from another: "two days before Friday", "am Tag nach dem 24. Dezember", "a
// week on Monday". "For two days from Friday" is a length.
func (t dayReader) shifted(i int) Reading {
	of, end, sure := t.span(i)
	if end == i || !sure || t.At(i-1).Is(text.SpanCues) || t.Norm(i) == "the" && text.NearDays.PhraseAt(t.Words, i+1) > 0 {
		return Reading{}
	}
	direction, length := text.DayShifts.PhraseNumber(t.Words, end)
	if length == 0 && t.Norm(end) == "on" && of.days == 7 && text.IndefiniteWords.Has(t.Norm(i)) {
		direction, length = 1, 1
	}
	at := end + length
	for length > 0 && t.At(at).Is(text.DefiniteArticles, text.Definites) && t.Norm(at) != "this" {
		at++
	}
	if length == 0 || at >= len(t.Words) {
		return Reading{}
	}
	base := t.date(at)
	if base.End == 0 {
		return Reading{}
	}
	days := lists.Map(base.Values, func(day string) string { return of.shift(day, direction) })
	found := t.reading(i, base.End, days...)
	if base.Exact != "" {
		found.Exact = of.shift(base.Exact, direction)
	}
	found.Doubtful = base.Doubtful
	return found
}

// later reads what puts a day off that ends before word end: "Tuesday week", "tomorrow in a week", "vendredi en
// huit". end stays if there is none.
func (t dayReader) later(end int) (of span, after int, sure bool) {
	if days, length := text.WeekLater.PhraseNumber(t.Words, end); length > 0 {
		return span{days: days}, end + length, true
	}
	if cue := text.AheadCues.PhraseAt(t.Words, end); cue > 0 {
		if of, after, ok := t.span(end + cue); after > end+cue && ok {
			return of, after, false
		}
	}
	return span{}, end, false
}

// weekdayIn returns the weekday of "Friday in two weeks": so much after the coming one, or in the week of that day,
// where the two differ.
func (t dayReader) weekdayIn(first, end, named int, of span) Reading {
	if of.months > 0 || of.days%7 != 0 {
		return t.reading(first, end)
	}
	coming := (named - int(t.today().Weekday()) + 7) % 7
	return t.reading(first, end, t.in(coming+of.days), t.in(t.monday()+of.days-7+(named+6)%7))
}

// monday returns how many days ahead the Monday of next week is.
func (t dayReader) monday() int {
	if ahead := (8 - int(t.today().Weekday())) % 7; ahead > 0 {
		return ahead
	}
	return 7
}

// nearDay reads "tomorrow", "pasado mañana" and similar days, also with "in a week" after them. "Am Morgen" and "la
// mañana" are no days.
func (t dayReader) nearDay(i int) Reading {
	days, length := text.NearDays.PhraseNumber(t.Words, i)
	if length == 0 {
		return Reading{}
	}
	before := t.At(i - 1)
	if _, morning := text.MorningCues.Value(before.Norm); length == 1 && text.NearDays.Has(t.Norm(i)) && partOfDay(t.At(i)) && i > 0 &&
		(morning || before.Is(text.Weekdays, text.NearDays)) {
		return Reading{}
	}
	end := i + length
	if of, after, _ := t.later(end); after > end {
		return t.reading(i, after, of.shift(t.in(days), 1))
	}
	return t.reading(i, end, t.in(days))
}

// partOfDay reports whether a word for tomorrow also names the morning.
func partOfDay(w text.Word) bool { return w.Norm == "morgen" || w.Norm == "manana" }

// week reads "this weekend" as either day, "next weekend" as possibly the coming one, "next week", which is no day,
// "next week on Friday" and "last week on Friday".
func (t dayReader) week(i int) Reading {
	this, last := text.ThisWeek.PhraseAt(t.Words, i), text.LastWeek.PhraseAt(t.Words, i)
	if length := max(this, last, text.NextWeek.PhraseAt(t.Words, i)); length > 0 {
		end := i + length
		at := t.skip(end, text.DayCues, text.DefiniteArticles)
		named, ok := text.Weekdays.Number(t.Norm(at))
		switch {
		case !ok:
			return t.reading(i, end)
		case this == length:
			return t.reading(i, at+1, t.in(t.monday()-7+(named+6)%7))
		case last == length:
			return t.reading(i, at+1, t.in(t.monday()-14+(named+6)%7))
		}
		return t.reading(i, at+1, t.in(t.monday()+(named+6)%7))
	}
	first := t.Norm(i)
	if t.Norm(i+1) != "weekend" || first != "this" && first != "the" && first != "next" && first != "coming" {
		return Reading{}
	}
	saturday := (int(time.Saturday) - int(t.today().Weekday()) + 7) % 7
	days := []string{t.in(saturday), t.in(saturday + 1)}
	if first == "next" {
		days = append(days, t.in(saturday+7), t.in(saturday+8))
	}
	return t.reading(i, i+2, days...)
}

// weekday reads "Friday", "this Fri", "last Friday", "mardi dernier", "next Friday", "Friday next week" and "the
// Friday after next". "Next Friday" is ambiguous: the coming one, or the one of next week.
func (t dayReader) weekday(i int) Reading {
	at := i
	if t.At(i).Is(text.PastDays, text.ComingDays, text.NextDays, text.AfterNextDays) {
		at++
	}
	named, ok := text.Weekdays.Number(t.Norm(at)) // from Sunday on
	short := false
	if !ok {
		if named, short = text.ShortWeekdays.Number(t.Norm(at)); !short {
			return Reading{}
		}
	}
	found := t.dayOfWeek(i, at, named)
	found.Doubtful = short && at == i && !t.At(i-1).Is(text.DayCues) // sun and sat are also other words
	return found
}

// dayOfWeek reads the words around the name of a weekday at a place, from first on.
func (t dayReader) dayOfWeek(first, at, named int) Reading {
	ahead, end := (named-int(t.today().Weekday())+7)%7, at+1
	later := t.monday() + (named+6)%7 // in next week
	before, after := text.Word{}, t.At(end)
	if first < at {
		before = t.Words[first]
	}
	next := []string{t.in(ahead), t.in(later)}
	if ahead == 0 {
		next = []string{t.in(7)}
	}
	inWeek := t.skip(end, text.OfWords, text.DefiniteArticles, text.AheadCues)
	nextWeek, lastWeek := text.NextWeek.PhraseAt(t.Words, inWeek), text.LastWeek.PhraseAt(t.Words, inWeek)
	if nextWeek+lastWeek == 0 && inWeek > end { // "la semana que viene" begins with an article
		nextWeek, lastWeek, inWeek = text.NextWeek.PhraseAt(t.Words, end), text.LastWeek.PhraseAt(t.Words, end), end
	}
	if lastWeek > 0 {
		return t.reading(first, inWeek+lastWeek, t.in(later-14))
	}
	if of, after, sure := t.later(end); after > end && nextWeek == 0 {
		if !sure {
			return t.weekdayIn(first, after, named, of)
		}
		return t.reading(first, after, of.shift(t.in(ahead), 1))
	}
	switch {
	case before.Is(text.PastDays), after.IsForeign(text.PastDays) && t.Adjoins(at) && !text.NearDays.Has(t.Norm(end)+" "+t.Norm(end+1)):
		if !before.Is(text.PastDays) {
			end++
		}
		return t.reading(first, end, t.in(ahead-7))
	case nextWeek > 0:
		return t.reading(first, inWeek+nextWeek, t.in(later))
	case before.Is(text.AfterNextDays), after.Norm == "after" && t.Norm(end+1) == "next":
		if after.Norm == "after" {
			end += 2
		}
		for i, day := range next {
			next[i] = span{days: 7}.shift(day, 1)
		}
		return t.reading(first, end, next...)
	case before.Is(text.NextDays):
		return t.reading(first, end, next...)
	case after.IsForeign(text.ComingDays) && t.Adjoins(at) && !after.Is(text.Pronouns, text.Definites):
		return t.reading(first, end+1, next[0])
	case text.NextWeek.Has("semana "+t.Norm(end)+" "+t.Norm(end+1)) && t.Norm(end) == "que": // "el viernes que viene"
		return t.reading(first, end+2, next[0])
	case ahead == 0 && before.Is(text.ComingDays) && !before.Is(text.Pronouns, text.Definites): // "el próximo lunes", on a Monday
		return t.reading(first, end, next[0])
	case ahead == 0:
		found := t.reading(first, end, t.in(0), t.in(7))
		found.Exact = t.in(0)
		return found
	}
	return t.reading(first, end, t.in(ahead))
}
