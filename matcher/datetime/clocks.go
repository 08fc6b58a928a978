package datetime

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"earshot/matcher/text"
	"earshot/repositories/quantity"
)

// Clocks returns the readings of times of day in order, which must not be modified.
func (t *Text) Clocks() []Reading {
	if t.clocks == nil {
		t.clocks = t.each(clockReader{t}.clock)
	}
	return t.clocks
}

// Moments returns the readings of dates, then those of times of day.
func (t *Text) Moments() []Reading { return slices.Concat(t.Dates(), t.Clocks()) }

// Alone reads a text that is exactly a number, a date or a time of day. A date with a time is returned separately
// as days and hours, because a conversation may name them apart.
func (t *Text) Alone() (meant, days, hours []string) {
	if p := stamp.FindStringSubmatch(t.Said); p != nil {
		days, hours = NewText(p[1], t.Now).date(0).Values, clockReader{NewText(p[2], t.Now)}.clock(0).Values
		if at, err := time.Parse(time.RFC3339, t.Said); err == nil { // users name the local time
			here := at.In(t.Now.Location())
			days, hours = append(days, here.Format(time.DateOnly)), append(hours, here.Format("15:04"))
		}
		return nil, days, hours
	}
	n := len(t.Words)
	if n > 0 && !t.Words[n-1].Is(text.Ordinals) { // "second" is usually an ordinal, not a 2
		for _, found := range t.Numbers(0) {
			if !slices.ContainsFunc(t.Words[found.End:], func(w text.Word) bool { return !w.StemIs(text.UnitNames) && !w.Is(text.Currencies) }) {
				meant = append(meant, found.Values...)
			}
		}
	}
	clocks := clockReader{t}
	if clock := clocks.clock(0); clock.End == n {
		return append(meant, clock.Values...), nil, nil
	}
	date := t.date(0)
	if date.End == 0 || date.End == n {
		return append(meant, date.Values...), nil, nil
	}
	at := date.End
	if t.Norm(at) == "at" {
		at++
	}
	if clock := clocks.clock(at); clock.End == n {
		return meant, date.Values, clock.Values
	}
	return meant, nil, nil
}

// stamp matches a date and time of ISO 8601 and RFC 3339. Its writer may have kept the spoken time, with any
// offset.
var stamp = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2})(?::\d{2}(?:\.\d+)?)?(?:[Zz]|[+-]\d{2}:?\d{2})?$`)

// hourAndMinute is a time of day as the text expresses it.
type hourAndMinute struct {
	hour, minute int
	half         string // a or p; empty if not named
	sure         bool   // certainly a time, and no other number
	written      bool   // in 24-hour notation: 9:15, 17 Uhr
	day          bool   // certainly in 24-hour notation: 09:15
	stretch      bool   // possibly a period: "3 to 5 pm"
}

type clockReader struct{ *Text }

// in returns the time in a half of the day, or as is if half is empty.
func (h hourAndMinute) in(half string) string {
	hour := h.hour
	if half != "" {
		hour %= 12
	}
	if half == "p" {
		hour += 12
	}
	return fmt.Sprintf("%02d:%02d", hour%24, h.minute)
}

// clock reads the time of day that begins at word i.
func (t clockReader) clock(i int) Reading {
	if exact, ok := text.NamedHours.Value(t.Norm(i)); ok && t.Norm(i-1) != "apres" {
		if minutes, length := text.HalfHours.PhraseNumber(t.Words, i+1); length > 0 { // "mezzanotte e mezza"
			hour := hourAndMinute{hour: atoi(exact[:2]), minute: minutes}
			if minutes < 0 {
				hour = hourAndMinute{hour: earlier(hour.hour), minute: minutes + 60}
			}
			return t.reading(i, i+1+length, hour.in(""))
		}
		return t.reading(i, i+1, exact)
	}
	said, end := t.hourAndMinute(i)
	if end == i {
		return Reading{}
	}
	said, end = t.pastHalf(said, i, end)
	said, end = t.halfOfDay(said, i, end)
	first, cue := i, t.cue(i)
	if at := t.partBefore(i); at >= 0 && said.half == "" && said.hour <= 12 {
		said.half, said.sure = t.half(at, said.hour), true
		if at == i-1 && !t.At(at).Is(text.NearDays) { // "in the morning 11:30"
			first = at
		}
	}
	if said.hour > 24 || said.minute > 59 || !said.sure && !t.Hour && !cue.Is(text.ClockCues) {
		return Reading{}
	}
	values := []string{said.in("a"), said.in("p")} // if the text does not name the half
	switch {
	case said.hour > 12:
		values = []string{said.in("")}
	case said.half != "" || said.day || said.hour == 0:
		values = []string{said.in(said.half)}
	}
	found := t.reading(first, end, values...)
	if said.written && said.half == "" {
		found.Exact = said.in("")
	}
	found.Doubtful = said.stretch || !said.sure && !t.Hour && (!cue.Is(text.HourCues) || t.counts(end) || said.hour == 0) // "at 5 tables"
	return found
}

// partBefore returns the word for a part of the day before an hour: "tomorrow morning at nine", "heute Abend um 8",
// "mañana por la mañana a las 10"; -1 for none.
func (t clockReader) partBefore(i int) int {
	const most = 2 // cues between
	at := i - 1
	for at >= max(0, i-most) && t.At(at).Is(text.ClockCues) && !t.At(at).Is(text.DayParts) {
		at--
	}
	if !t.At(at).Is(text.DayParts, text.NightWords) || partOfDay(t.At(at)) && !t.At(at-1).Is(text.DefiniteArticles) || t.parted(at) {
		return -1
	}
	return at
}

// parted reports whether a sentence ends after the word.
func (t clockReader) parted(at int) bool { return strings.ContainsAny(t.Gap(at), ".!?;") }

// half returns the half of the day that the word at a place names for an hour. The night has hours of both.
func (t clockReader) half(at, hour int) string {
	if t.At(at).Is(text.NightWords) {
		if hour == 12 || hour < 6 {
			return "a"
		}
		return "p"
	}
	half, _ := text.DayParts.Value(t.Norm(at))
	return half
}

// pastHalf reads the minutes of "a las 3 y media", "alle 15 e 30" and "menos cuarto" after an hour.
func (t clockReader) pastHalf(said hourAndMinute, i, end int) (hourAndMinute, int) {
	if said.minute != 0 || said.hour > 24 || end > i+1 {
		return said, end
	}
	if minutes, length := text.HalfHours.PhraseNumber(t.Words, end); length > 0 {
		if said.minute = minutes; minutes < 0 {
			said.hour, said.minute = earlier(said.hour), minutes+60
		}
		return said, end + length
	}
	if t.cue(i).IsForeign(text.HourCues) && t.At(end).IsForeign(text.JoinWords) && text.StartsWithDigit(t.Norm(end+1)) {
		if minute, after := t.smallNumber(end+1, 59); after > end+1 && minute >= 10 && !t.counts(after) {
			said.minute = minute
			return said, after
		}
	}
	return said, end
}

// counts reports whether a noun follows, which the number may count.
func (t clockReader) counts(end int) bool { return end < len(t.Words) && t.Words[end].IsSubject() }

// cue returns the word before word i if it may introduce an hour: of "a" only the French à.
func (t clockReader) cue(i int) text.Word {
	before := t.At(i - 1)
	if before.Norm == "a" && t.Surface(i-1, i) != "à" && t.Surface(i-1, i) != "À" {
		return text.Word{}
	}
	return before
}

// hourAndMinute reads a time in figures, in English (17:30, five thirty, half past five), German or French (halb
// sieben, six heures et demie). end is i for none.
func (t clockReader) hourAndMinute(i int) (said hourAndMinute, end int) {
	digits := text.StartsWithDigit(t.Norm(i))
	for _, read := range []func(int) (hourAndMinute, int){t.beforeHour, t.hourNamed} {
		if said, end := read(i); end > i {
			return said, end
		}
	}
	if !digits && t.cue(i).IsForeign(text.HourCues) {
		if hour, end := t.anyNumber(i, 24); end > i {
			return hourAndMinute{hour: hour}, end
		}
	}
	if digits {
		if said, end := t.figuresClock(i); end > i {
			return said, end
		}
	}
	if said, end := t.pastHour(i); end > i {
		return said, end
	}
	hour, end := t.smallNumber(i, 24)
	if minute, after := t.smallNumber(end, 59); end > i && after > end && minute >= 10 && !digits {
		return hourAndMinute{hour: hour, minute: minute, sure: true}, after
	}
	return hourAndMinute{hour: hour}, end
}

// Parts of an hour in minutes, by language.
var (
	englishParts = map[string]int{"half": 30, "quarter": 15}
	germanParts  = map[string]int{"halb": 30, "dreiviertel": 45}
	frenchParts  = map[string]int{"demie": 30, "demi": 30, "quart": 15}
)

// beforeHour reads "halb sieben", "dreiviertel acht", "Viertel nach acht" and "zehn vor acht".
func (t clockReader) beforeHour(i int) (hourAndMinute, int) {
	if minute := germanParts[t.Norm(i)]; minute > 0 {
		hour, end := t.anyNumber(i+1, 24)
		if hour > 0 {
			return hourAndMinute{hour: earlier(hour), minute: minute, sure: true}, end
		}
	}
	before := t.Norm(i+1) == "vor"
	if !before && t.Norm(i+1) != "nach" {
		return hourAndMinute{}, i
	}
	minute := 15
	if t.Norm(i) != "viertel" {
		minute, _ = t.anyNumber(i, 30)
	}
	hour, end := t.anyNumber(i+2, 24)
	if minute == 0 || end == i+2 {
		return hourAndMinute{}, i
	}
	if before {
		hour, minute = earlier(hour), 60-minute
	}
	return hourAndMinute{hour: hour, minute: minute, sure: true}, end
}

// hourNamed reads "zehn Uhr dreißig", "six heures et demie" and "huit heures moins le quart".
func (t clockReader) hourNamed(i int) (hourAndMinute, int) {
	if after := t.Norm(i + 1); after != "uhr" && after != "heures" && after != "heure" {
		return hourAndMinute{}, i
	}
	hour, end := t.anyNumber(i, 24)
	if end == i && (t.Norm(i) == "une" || t.Norm(i) == "ein") {
		hour, end = 1, i+1
	}
	if end == i {
		return hourAndMinute{}, i
	}
	said, at := hourAndMinute{hour: hour, sure: true, written: true}, end+1
	switch next := t.Norm(at + 1); t.Norm(at) {
	case "et":
		if minute := frenchParts[next]; minute > 0 {
			said.minute, at = minute, at+2
		}
	case "moins":
		if next == "le" && t.Norm(at+2) == "quart" {
			said.hour, said.minute, at = earlier(hour), 45, at+3
		} else if minute, end := t.anyNumber(at+1, 30); end > at+1 {
			said.hour, said.minute, at = earlier(hour), 60-minute, end
		}
	default:
		if minute, end := t.anyNumber(at, 59); end > at && !t.counts(end) {
			said.minute, at = minute, end
		}
	}
	return said, at
}

func earlier(hour int) int { return (hour + 23) % 24 }

// anyNumber reads a whole number of one word up to a limit, in any language. end is i for none: the 20 of "vingt et un" is none.
func (t clockReader) anyNumber(i, limit int) (number, end int) {
	if i >= len(t.Words) {
		return 0, i
	}
	if t.At(i + 1).IsForeign(text.JoinWords) {
		if of := t.Numbers(i); len(of) > 0 && of[0].End > i+1 {
			return 0, i
		}
	}
	digits, ok := quantity.Number(t.Surface(i, i+1))
	number, err := strconv.Atoi(string(digits))
	if !ok || err != nil || number < 0 || number > limit {
		return 0, i
	}
	return number, i + 1
}

var clockFigures = regexp.MustCompile(`(?i)^(\d{1,2})(?:\s?[:.h]\s?(\d{2})(?::\d{2})?)?(?:\s*([ap])\.?\s?m\b\.?|\b)`)

// figuresClock reads a time in figures. An hour such as 09 is in 24-hour notation (ISO 8601).
func (t clockReader) figuresClock(i int) (hourAndMinute, int) {
	written := t.window(i)
	if !strings.ContainsAny(written[:min(len(written), 5)], ":.hHaApP") {
		return hourAndMinute{}, i
	}
	if p := hourSign.FindStringSubmatch(written); p != nil { // "à 15h"
		return hourAndMinute{hour: atoi(p[1]), written: true}, i + 1
	}
	p := clockFigures.FindStringSubmatch(written)
	if p == nil || p[2] == "" && p[3] == "" {
		return hourAndMinute{}, i
	}
	said := hourAndMinute{hour: atoi(p[1]), minute: atoi(p[2]), half: strings.ToLower(p[3]), written: p[2] != ""}
	said.day = p[1][0] == '0' && len(p[1]) == 2
	said.sure = !strings.Contains(p[0], ".") || p[3] != ""                   // 5.30 may be a price
	if said.hour > 0 && said.hour < 12 && !strings.ContainsAny(p[0], "hH") { // "at 3:30" is as open as "at 3"
		said.written = said.written && t.upTo24(i)
	}
	return said, t.until(i, len(strings.TrimRight(p[0], ". ")))
}

var hourSign = regexp.MustCompile(`^(\d{1,2})[hH](?:[^\pL\d]|$)`)

// upTo24 reports whether the text writes hours up to 24, as in German and French.
func (t clockReader) upTo24(i int) bool {
	return t.At(i-1).Is(text.Clock24) || t.Language() == "de" || t.Language() == "fr"
}

// pastHour reads "half past five", "quarter to 6" and "ten past 7". "Ten to six" is a time and not a period if it
// is in words, a multiple of five, and follows a word that introduces one time.
func (t clockReader) pastHour(i int) (hourAndMinute, int) {
	first := t.Norm(i)
	minute, at := englishParts[first], i+1
	named := minute > 0
	if !named {
		minute, at = t.smallNumber(i, 30)
	}
	link := t.Norm(at)
	to := link == "to" || link == "before"
	if minute == 0 || !to && link != "past" && link != "after" {
		return hourAndMinute{}, i
	}
	hour, end := t.smallNumber(at+1, 24)
	if end == at+1 {
		return hourAndMinute{}, i
	}
	if to {
		hour, minute = earlier(hour), 60-minute
	}
	cue := t.cue(i)
	brought := cue.Norm == "for" || cue.Is(text.ClockCues) && !cue.Is(text.StartCues) && cue.Norm != "between"
	spoken := !text.StartsWithDigit(first) && minute%5 == 0 && brought
	return hourAndMinute{hour: hour, minute: minute, sure: !to || first == "quarter", stretch: to && !named && !spoken}, end
}

// smallNumber reads a whole number up to limit, in figures or words. end is i for none.
func (t clockReader) smallNumber(i, limit int) (number, end int) {
	w := t.Norm(i)
	switch {
	case text.StartsWithDigit(w):
		if number, end = atoi(w), i+1; len(w) > 2 || number == 0 && strings.Trim(w, "0") != "" {
			return 0, i
		}
	case numberOf(text.NumberWords, w) > 0:
		number, end = t.spelled(i)
		if end == i { // a lone "one"
			number, end = 1, i+1
		}
	default:
		return 0, i
	}
	if number > limit || end > i+2 {
		return 0, i
	}
	return number, end
}

// partLinks are words between an hour and the part of the day.
var partLinks = map[string]bool{
	"in": true, "the": true, "at": true, "am": true, "du": true, "de": true, "l": true, "le": true, "dans": true, "la": true, "por": true,
	"en": true, "del": true, "della": true, "di": true, "da": true, "der": true,
}

// halfOfDay reads "pm", "o'clock", "in the afternoon" and "at night" after the hour.
func (t clockReader) halfOfDay(said hourAndMinute, i, end int) (hourAndMinute, int) {
	switch t.Norm(end) {
	case "uhr", "heures", "h":
		said.sure, said.written, end = true, true, end+1
	case "oclock":
		said.sure, end = true, end+1
	}
	if said.half != "" {
		return said, end
	}
	at := end
	half, after := t.letters(end)
	if half == "" {
		for at < end+3 && partLinks[t.Norm(at)] {
			at++
		}
		_, ok := text.DayParts.Value(t.Norm(at))
		ok = ok && !t.At(at).Is(text.Weekdays) && !(partOfDay(t.At(at)) && !t.At(at-1).Is(text.DefiniteArticles))
		after = at + 1
		switch night := t.At(at).Is(text.NightWords) && (at > end || t.At(at).IsForeign(text.DayParts)); {
		case t.Norm(at) == "apres" && t.Norm(at+1) == "midi":
			half, after = "p", at+2
		case t.At(at).Is(text.NearDays) && ok && !partOfDay(t.At(at)) && !t.At(i-1).Is(text.SpanCues): // "at 9 tonight", which is also the day, but not "for two tonight"
			half, after = t.half(at, said.hour), end
		case ok && (at > end || t.At(at).IsForeign(text.DayParts)), night:
			half = t.half(at, said.hour)
		case t.partAfterDay(at) > 0 && !t.At(i-1).Is(text.SpanCues):
			half, after = t.half(t.partAfterDay(at), said.hour), end
		default:
			return said, end
		}
	}
	said.half, said.sure = half, true
	return said, after
}

// partAfterDay returns the word for a part of the day after the day that follows an hour: "at 8 on Friday evening"; 0 for none.
func (t clockReader) partAfterDay(i int) int {
	for t.At(i).Is(text.DayCues, text.DefiniteArticles) && !t.At(i).Is(text.Weekdays) {
		i++
	}
	if !t.At(i).Is(text.Weekdays) {
		return 0
	}
	for !t.At(i).Is(text.DayParts, text.NightWords) { // "Freitagabend" is both
		if i++; !partLinks[t.Norm(i)] && !t.At(i).Is(text.DayParts, text.NightWords) || t.parted(i-1) {
			return 0
		}
	}
	return i
}

func (t clockReader) letters(i int) (half string, end int) {
	if i >= len(t.Words) || !t.Adjoins(i-1) { // "that one. Am I free?"
		return "", i
	}
	w, next := t.Norm(i), t.At(i+1)
	switch {
	case (w == "am" || w == "pm") && !next.IsForeign(text.DayParts) && !next.IsForeign(text.Weekdays): // "um fünf am Nachmittag"
		return w[:1], i + 1
	case (w == "a" || w == "p") && next.Norm == "m":
		return w, i + 2
	}
	return "", i
}
