package matcher

import (
	"fmt"
	"regexp"
	"strings"
)

// clock reads the time of day that begins at word i.
func (r *momentText) clock(i int) (moment, bool) {
	if exact, ok := namedHours[r.at(i)]; ok {
		return moment{i, i + 1, exact}, true
	}
	if m, ok := r.pastHour(i); ok {
		return m, true
	}
	found := clockText.FindStringSubmatch(r.text[r.words[i].start:])
	if found == nil || r.insideNumber(i) {
		return r.bareHour(i)
	}
	_, end := r.within(r.words[i].start, r.words[i].start+len(strings.TrimRight(found[0], ".")))
	hour, minute := atoi(found[1]), atoi(found[2])
	half := strings.ToLower(found[3])
	marked := half != "" || found[2] != "" || found[4] != ""
	if !marked || hour > 24 || minute > 59 || half != "" && hour > 12 {
		return r.bareHour(i)
	}
	return moment{i, end, exactHour(hour, minute, half)}, true
}

var (
	clockText  = regexp.MustCompile(`^(?i)(\d{1,2})(?:[:.h](\d{2}))?\s*(?:([ap])\.?m\b\.?|(o'?clock|uhr|heures)\b|\b)`)
	namedHours = map[string]string{"noon": "12:00", "midnight": "00:00", "midday": "12:00"}
)

// insideNumber keeps 3.50 from being read as a time.
func (r *momentText) insideNumber(i int) bool {
	return strings.ContainsAny(r.words[i].norm, ".,") && !strings.Contains("ap", r.at(i+1))
}

func exactHour(hour, minute int, half string) string {
	if half != "" {
		hour %= 12
	}
	if half == "p" {
		hour += 12
	}
	return fmt.Sprintf("%02d:%02d", hour%24, minute)
}

// pastHour reads "half past five" and "quarter to 6", which do not say which half of
// the day is meant.
func (r *momentText) pastHour(i int) (moment, bool) {
	if r.at(i) != "half" && r.at(i) != "quarter" || r.at(i+1) != "past" && r.at(i+1) != "to" || i+2 >= len(r.words) {
		return moment{}, false
	}
	_, end := r.figure(i + 2)
	return moment{i, end, ""}, end > i+2
}

// bareHour reads the hour of "at 5", "at five pm" and "5 in the afternoon".
func (r *momentText) bareHour(i int) (moment, bool) {
	number, end := r.figure(i)
	hour := atoi(string(number))
	if end == i || hour < 1 || hour > 24 {
		return moment{}, false
	}
	half := map[string]string{"am": "a", "pm": "p"}[r.at(end)]
	if half != "" {
		return moment{i, end + 1, exactHour(hour, 0, half)}, true
	}
	if r.at(end) == "in" && r.at(end+1) == "the" && dayParts[r.at(end+2)] != "" {
		return moment{i, end + 3, exactHour(hour, 0, dayParts[r.at(end+2)])}, true
	}
	if !hourCues[r.at(i-1)] || end < len(r.words) && subject(r.words[end]) {
		return moment{}, false
	}
	exact := ""
	if hour > 12 {
		exact = exactHour(hour, 0, "")
	}
	return moment{i, end, exact}, true
}

var (
	dayParts = map[string]string{"morning": "a", "afternoon": "p", "evening": "p"}
	hourCues = set(`at um a alle las around by`)
)
