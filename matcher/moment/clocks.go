package moment

import (
	"fmt"
	"regexp"
	"strings"

	"earshot/matcher/text"
)

// Clock reads the time of day that begins at word i.
func (r *Text) Clock(i int) (Moment, bool) {
	if exact, ok := namedHours[r.At(i)]; ok {
		return Moment{i, i + 1, exact}, true
	}
	if m, ok := r.pastHour(i); ok {
		return m, true
	}
	found := clockText.FindStringSubmatch(r.Source[r.Words[i].Start:])
	if found == nil || r.insideNumber(i) {
		return r.bareHour(i)
	}
	_, end := r.Within(r.Words[i].Start, r.Words[i].Start+len(strings.TrimRight(found[0], ".")))
	hour, minute := atoi(found[1]), atoi(found[2])
	half := strings.ToLower(found[3])
	marked := half != "" || found[2] != "" || found[4] != ""
	if !marked || hour > 24 || minute > 59 || half != "" && hour > 12 {
		return r.bareHour(i)
	}
	return Moment{i, end, exactHour(hour, minute, half)}, true
}

var (
	clockText  = regexp.MustCompile(`^(?i)(\d{1,2})(?:[:.h](\d{2}))?\s*(?:([ap])\.?m\b\.?|(o'?clock|uhr|heures)\b|\b)`)
	namedHours = map[string]string{"noon": "12:00", "midnight": "00:00", "midday": "12:00"}
)

// insideNumber keeps 3.50 from being read as a time.
func (r *Text) insideNumber(i int) bool {
	return strings.ContainsAny(r.Words[i].Norm, ".,") && !strings.Contains("ap", r.At(i+1))
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
func (r *Text) pastHour(i int) (Moment, bool) {
	if r.At(i) != "half" && r.At(i) != "quarter" || r.At(i+1) != "past" && r.At(i+1) != "to" || i+2 >= len(r.Words) {
		return Moment{}, false
	}
	_, end := r.Figure(i + 2)
	return Moment{i, end, ""}, end > i+2
}

// bareHour reads the hour of "at 5", "at five pm" and "5 in the afternoon".
func (r *Text) bareHour(i int) (Moment, bool) {
	number, end := r.Figure(i)
	hour := atoi(string(number))
	if end == i || hour < 1 || hour > 24 {
		return Moment{}, false
	}
	half := map[string]string{"am": "a", "pm": "p"}[r.At(end)]
	if half != "" {
		return Moment{i, end + 1, exactHour(hour, 0, half)}, true
	}
	if r.At(end) == "in" && r.At(end+1) == "the" && dayParts[r.At(end+2)] != "" {
		return Moment{i, end + 3, exactHour(hour, 0, dayParts[r.At(end+2)])}, true
	}
	if !hourCues[r.At(i-1)] || end < len(r.Words) && text.IsSubject(r.Words[end]) {
		return Moment{}, false
	}
	exact := ""
	if hour > 12 {
		exact = exactHour(hour, 0, "")
	}
	return Moment{i, end, exact}, true
}

var (
	dayParts = map[string]string{"morning": "a", "afternoon": "p", "evening": "p"}
	hourCues = text.Set(`at um a alle las around by`)
)
