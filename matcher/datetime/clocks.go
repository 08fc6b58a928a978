package datetime

import (
	"fmt"
	"regexp"
	"strings"

	"earshot/matcher/text"
)

// hourAndMinute is a time of day as it was expressed in the text.
type hourAndMinute struct {
	hour, minute int
	half         string // a or p; empty where it was not said
	sure         bool   // it is a time beyond doubt, and no other number
	written      bool   // as on a watch of 24 hours: 9:15, 17 Uhr
	day          bool   // of 24 hours beyond doubt: 09:15
	stretch      bool   // it may be a stretch of time: "3 to 5 pm"
}

// values are the possible times of day: one in each half of the day if the text does not
// say which.
func (t hourAndMinute) values() []string {
	switch {
	case t.hour > 24 || t.minute > 59:
		return nil
	case t.hour > 12:
		return []string{clockOf(t.hour, t.minute, "")}
	case t.half != "" || t.day || t.hour == 0:
		return []string{clockOf(t.hour, t.minute, t.half)}
	}
	return []string{clockOf(t.hour, t.minute, "a"), clockOf(t.hour, t.minute, "p")}
}

func clockOf(hour, minute int, half string) string {
	if half != "" {
		hour %= 12
	}
	if half == "p" {
		hour += 12
	}
	return fmt.Sprintf("%02d:%02d", hour%24, minute)
}

// clock reads the time of day that begins at word i.
func (r clockReader) clock(i int) (Reading, bool) {
	if exact, ok := text.NamedHours.Value(r.At(i)); ok && r.At(i-1) != "apres" {
		return r.reading(i, i+1, exact), true
	}
	said, end := r.abroad(i)
	if end == i {
		said, end = r.hourAndMinute(i)
	}
	if end == i {
		return Reading{}, false
	}
	said, end = r.halfOfDay(said, end)
	first := i
	if half, ok := text.DayParts.Value(r.At(i - 1)); ok && said.half == "" { // "in the morning 11:30"
		said.half, said.sure, first = half, true, i-1
	}
	if half, ok := text.DayParts.Value(r.At(i - 2)); ok && said.half == "" && text.ClockCues.Has(r.cue(i)) { // "tomorrow morning at nine"
		said.half, said.sure = half, true
	}
	values := said.values()
	if len(values) == 0 || !said.sure && !text.ClockCues.Has(r.cue(i)) {
		return Reading{}, false
	}
	found := r.reading(first, end, values...)
	if said.written && said.half == "" {
		found.Exact = clockOf(said.hour, said.minute, "")
	}
	counts := r.counts(end) // "at 5 tables"
	found.Doubtful = said.stretch || !said.sure && (!text.HourCues.Has(r.cue(i)) || counts || said.hour == 0)
	return found, true
}

// hourAndMinute reads 17:30, 5.30, 17h, five thirty and half past five. end is i for none.
func (r clockReader) hourAndMinute(i int) (said hourAndMinute, end int) {
	if text.StartsWithDigit(r.At(i)) {
		if said, end := r.figuresClock(i); end > i {
			return said, end
		}
	}
	if said, end := r.pastHour(i); end > i {
		return said, end
	}
	hour, end := r.smallNumber(i, 24)
	if end == i {
		return hourAndMinute{}, i
	}
	if minute, after := r.smallNumber(end, 59); after > end && minute >= 10 && !text.StartsWithDigit(r.At(i)) {
		return hourAndMinute{hour: hour, minute: minute, sure: true}, after
	}
	return hourAndMinute{hour: hour}, end
}

var clockFigures = regexp.MustCompile(`(?i)^(\d{1,2})(?:\s?[:.h]\s?(\d{2})(?::\d{2})?)?(?:\s*([ap])\.?\s?m\b\.?|\b)`)

// figuresClock reads a time in figures. An hour of two digits under ten is one of 24
// hours (ISO 8601).
func (r clockReader) figuresClock(i int) (hourAndMinute, int) {
	written := r.window(i)
	if !strings.ContainsAny(written[:min(len(written), 5)], ":.hHaApP") {
		return hourAndMinute{}, i
	}
	p := clockFigures.FindStringSubmatch(written)
	if p == nil || p[2] == "" && p[3] == "" {
		return hourAndMinute{}, i
	}
	said := hourAndMinute{hour: atoi(p[1]), minute: atoi(p[2]), half: strings.ToLower(p[3]), written: p[2] != ""}
	said.day = p[1][0] == '0' && len(p[1]) == 2
	said.sure = !strings.Contains(p[0], ".") || p[3] != "" // 5.30 is a price as well
	return said, r.until(i, len(strings.TrimRight(p[0], ". ")))
}

// pastHour reads "half past five", "quarter to 6" and "ten past 7".
func (r clockReader) pastHour(i int) (hourAndMinute, int) {
	minute, at := map[string]int{"half": 30, "quarter": 15}[r.At(i)], i+1
	if minute == 0 {
		minute, at = r.smallNumber(i, 30)
	}
	to := r.At(at) == "to" || r.At(at) == "before"
	if minute == 0 || !to && r.At(at) != "past" && r.At(at) != "after" {
		return hourAndMinute{}, i
	}
	hour, end := r.smallNumber(at+1, 24)
	if end == at+1 {
		return hourAndMinute{}, i
	}
	if to {
		hour, minute = (hour+23)%24, 60-minute
	}
	said := hourAndMinute{hour: hour, minute: minute, sure: !to || r.At(i) == "quarter"}
	said.stretch = to && r.At(i) != "quarter" && r.At(i) != "half" && !r.minutesTo(i, minute)
	return said, end
}

// minutesTo reports whether "ten to six" is a time and no stretch of it: said in words, in fives,
// and after a word that brings one time.
func (r clockReader) minutesTo(i, minute int) bool {
	cue := r.cue(i)
	return !text.StartsWithDigit(r.At(i)) && minute%5 == 0 && (cue == "for" || text.ClockCues.Has(cue) && !text.StartCues.Has(cue) && cue != "between")
}

// smallNumber reads a whole number up to limit, in figures or words. end is i for none.
func (r clockReader) smallNumber(i, limit int) (number, end int) {
	w := r.At(i)
	switch {
	case text.StartsWithDigit(w):
		if number = atoi(w); len(w) > 2 || number == 0 && strings.Trim(w, "0") != "" {
			return 0, i
		}
		end = i + 1
	case numberOf(text.NumberWords, w) > 0:
		number, end = r.spelled(i)
		if end == i { // a lone "one"
			number, end = 1, i+1
		}
		if end > i+2 {
			return 0, i
		}
	default:
		return 0, i
	}
	if number > limit {
		return 0, i
	}
	return number, end
}

// halfOfDay reads "pm", "o'clock", "in the afternoon" and "at night" after the hour.
func (r clockReader) halfOfDay(said hourAndMinute, end int) (hourAndMinute, int) {
	switch r.At(end) {
	case "uhr", "heures", "h":
		said.sure, said.written, end = true, true, end+1
	case "oclock":
		said.sure, end = true, end+1
	}
	if said.half != "" {
		return said, end
	}
	if half, after := r.letters(end); half != "" {
		said.half, said.sure = half, true
		return said, after
	}
	at := end
	for at < end+3 && partLinks[r.At(at)] {
		at++
	}
	if r.At(at) == "apres" && r.At(at+1) == "midi" {
		said.half, said.sure = "p", true
		return said, at + 2
	}
	switch half, part := text.DayParts.Value(r.At(at)); {
	case part && (at > end || text.DayParts.Foreign(r.At(at))):
		said.half, said.sure = half, true
	case at > end && r.At(at) == "night":
		said.half, said.sure = nightHalf(said.hour), true
	default:
		return said, end
	}
	return said, at + 1
}

// partLinks stand between an hour and the part of the day.
var partLinks = map[string]bool{"in": true, "the": true, "at": true, "am": true, "du": true, "de": true, "l": true, "le": true, "dans": true}

// letters reads am, pm, a.m. and p.m.
func (r clockReader) letters(i int) (half string, end int) {
	if i >= len(r.Words) || strings.TrimSpace(r.Gap(i-1)) != "" { // "that one. Am I free?"
		return "", i
	}
	switch r.At(i) {
	case "am", "pm":
		if next := r.At(i + 1); text.DayParts.Foreign(next) || text.Weekdays.Foreign(next) { // "um fünf am Nachmittag"
			return "", i
		}
		return r.At(i)[:1], i + 1
	case "a", "p":
		if r.At(i+1) == "m" {
			return r.At(i), i + 2
		}
	}
	return "", i
}

// nightHalf says which half of the day an hour of the night is in.
func nightHalf(hour int) string {
	if hour == 12 || hour < 6 {
		return "a"
	}
	return "p"
}
