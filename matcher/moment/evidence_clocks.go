package moment

import (
	"regexp"
	"strings"

	"earshot/matcher/text"
)

// hand is a time of day as it was said.
type hand struct {
	hour, minute int
	half         string // a or p; empty where it was not said
	sure         bool   // it is a time beyond doubt, and no other number
	day          bool   // of 24 hours
}

// times are the times of day that are meant: both halves of the day where it was not
// said which.
func (h hand) times() []string {
	if h.hour > 24 || h.minute > 59 {
		return nil
	}
	if h.hour > 12 {
		return []string{exactHour(h.hour, h.minute, "")}
	}
	if h.half != "" || h.day || h.hour == 0 {
		return []string{exactHour(h.hour, h.minute, h.half)}
	}
	return []string{exactHour(h.hour, h.minute, "a"), exactHour(h.hour, h.minute, "p")}
}

// ClockAt reads the time of day that begins at word i; end is i for none.
func (r *Text) ClockAt(i int) (times []string, end int) {
	if exact, ok := namedHours[r.At(i)]; ok {
		return []string{exact}, i + 1
	}
	h, end := r.hand(i)
	if end == i {
		return nil, i
	}
	h, end = r.halfOfDay(h, end)
	if half := dayParts[r.At(i-1)]; h.half == "" && half != "" { // "in the morning 11:30"
		h.half, h.sure = half, true
	}
	if !h.sure && !clockCues[r.At(i-1)] {
		return nil, i
	}
	if times = h.times(); len(times) == 0 {
		return nil, i
	}
	return times, end
}

var clockCues = text.Set(`at by around about before after until till from to between um ab gegen bis a alle las vers`)

// hand reads the hour and minute: 17:30, 5.30, 17h, five thirty, half past five.
func (r *Text) hand(i int) (hand, int) {
	if text.StartsWithDigit(r.At(i)) {
		if h, end := r.figuresHand(i); end > i {
			return h, end
		}
	}
	if h, end := r.pastHand(i); end > i {
		return h, end
	}
	hour, end := r.smallNumber(i, 24)
	if end == i {
		return hand{}, i
	}
	if minute, after := r.smallNumber(end, 59); after > end && minute >= 10 && !text.StartsWithDigit(r.At(i)) {
		return hand{hour: hour, minute: minute, sure: true}, after
	}
	return hand{hour: hour}, end
}

// figuresHand reads a time in figures. An hour of two digits under ten is one of 24
// hours (ISO 8601).
func (r *Text) figuresHand(i int) (hand, int) {
	text := r.window(i)
	if !strings.ContainsAny(text[:min(len(text), 5)], ":.hHaApP") {
		return hand{}, i
	}
	p := handText.FindStringSubmatch(text)
	if p == nil || p[2] == "" && p[3] == "" {
		return hand{}, i
	}
	h := hand{hour: atoi(p[1]), minute: atoi(p[2]), half: strings.ToLower(p[3]), day: p[1][0] == '0' && len(p[1]) == 2}
	h.sure = !strings.Contains(p[0], ".") || h.half != "" // 5.30 is a price as well
	return h, r.until(i, len(strings.TrimRight(p[0], ". ")))
}

var handText = regexp.MustCompile(`(?i)^(\d{1,2})(?:\s?[:.h]\s?(\d{2})(?::\d{2})?)?(?:\s*([ap])\.?\s?m\b\.?|\b)`)

// pastHand reads "half past five", "quarter to 6" and "ten past 7".
func (r *Text) pastHand(i int) (hand, int) {
	minute, at := map[string]int{"half": 30, "quarter": 15}[r.At(i)], i+1
	if minute == 0 {
		minute, at = r.smallNumber(i, 30)
	}
	to := r.At(at) == "to" || r.At(at) == "before"
	if minute == 0 || !to && r.At(at) != "past" && r.At(at) != "after" {
		return hand{}, i
	}
	hour, end := r.smallNumber(at+1, 24)
	if end == at+1 {
		return hand{}, i
	}
	if to {
		hour, minute = (hour+23)%24, 60-minute
	}
	sure := !to || r.At(i) == "quarter" // "ten to five" is a range as well
	return hand{hour: hour, minute: minute, sure: sure}, end
}

// smallNumber reads a whole number up to most, in figures or words.
func (r *Text) smallNumber(i, most int) (number, end int) {
	w := r.At(i)
	switch {
	case text.StartsWithDigit(w):
		if number = atoi(w); len(w) > 2 || number == 0 && strings.Trim(w, "0") != "" {
			return 0, i
		}
		end = i + 1
	case small[w] > 0:
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
	if number > most {
		return 0, i
	}
	return number, end
}

// halfOfDay reads "pm", "o'clock", "in the afternoon" and "at night" after the hour.
func (r *Text) halfOfDay(h hand, end int) (hand, int) {
	if r.At(end) == "oclock" || r.At(end) == "uhr" || r.At(end) == "heures" || r.At(end) == "h" {
		h.sure, end = true, end+1
	}
	if h.half != "" {
		return h, end
	}
	if half, after := r.letters(end); half != "" {
		h.half, h.sure = half, true
		return h, after
	}
	at := end
	for at < end+2 && (r.At(at) == "in" || r.At(at) == "the" || r.At(at) == "at") {
		at++
	}
	switch part := r.At(at); {
	case at > end && dayParts[part] != "":
		h.half, h.sure = dayParts[part], true
	case at > end && part == "night":
		h.half, h.sure = nightHalf(h.hour), true
	default:
		return h, end
	}
	return h, at + 1
}

// letters reads am, pm, a.m. and p.m.
func (r *Text) letters(i int) (half string, end int) {
	switch r.At(i) {
	case "am", "pm":
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

// OnlyMoment reads a text that is a date, a time of day, or both and nothing else. A
// date and a time together are returned apart: they may have been said apart.
func (r *Text) OnlyMoment() (dates, clocks, days, hours []string) {
	if p := stamp.FindStringSubmatch(r.Source); p != nil {
		date, clock := NewText(p[1], r.Now), NewText(p[2], r.Now)
		days, _ = date.DateAt(0)
		hours, _ = clock.ClockAt(0)
		return nil, nil, days, hours
	}
	if len(r.Words) == 0 {
		return nil, nil, nil, nil
	}
	if times, end := r.ClockAt(0); end == len(r.Words) {
		return nil, times, nil, nil
	}
	found, end := r.DateAt(0)
	if end == len(r.Words) {
		return found, nil, nil, nil
	}
	if r.At(end) == "at" {
		end++
	}
	if end == 0 || end == len(r.Words) {
		return nil, nil, nil, nil
	}
	if times, after := r.ClockAt(end); after == len(r.Words) {
		return nil, nil, found, times
	}
	return nil, nil, nil, nil
}

// stamp is a date and time of ISO 8601 and RFC 3339. The offset says nothing that
// people say.
var stamp = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2})(?::\d{2}(?:\.\d+)?)?(?:[Zz]|[+-]\d{2}:?\d{2})?$`)
