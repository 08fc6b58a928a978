package datetime

import (
	"strconv"

	"earshot/matcher/text"
	"earshot/repositories/quantity"
)

// abroad reads a time of day as German and French say it: halb sieben, Viertel vor acht, zehn
// Uhr dreißig, six heures et demie, huit heures moins le quart. end is i for none.
func (r clockReader) abroad(i int) (said hourAndMinute, end int) {
	for _, read := range []func(int) (hourAndMinute, int){r.halfBefore, r.besideHour, r.hourNamed} {
		if said, end := read(i); end > i {
			return said, end
		}
	}
	if text.StartsWithDigit(r.At(i)) || !text.HourCues.Foreign(r.cue(i)) {
		return hourAndMinute{}, i
	}
	hour, end := r.anyNumber(i, 24)
	return hourAndMinute{hour: hour}, end
}

// halfBefore reads "halb sieben" and "dreiviertel acht", which are before the hour.
func (r clockReader) halfBefore(i int) (hourAndMinute, int) {
	minute := map[string]int{"halb": 30, "dreiviertel": 45}[r.At(i)]
	if minute == 0 {
		return hourAndMinute{}, i
	}
	hour, end := r.anyNumber(i+1, 24)
	if hour == 0 {
		return hourAndMinute{}, i
	}
	return hourAndMinute{hour: earlier(hour), minute: minute, sure: true}, end
}

// besideHour reads "Viertel nach acht" and "zehn vor acht".
func (r clockReader) besideHour(i int) (hourAndMinute, int) {
	before := r.At(i+1) == "vor"
	if !before && r.At(i+1) != "nach" {
		return hourAndMinute{}, i
	}
	minute := 15
	if r.At(i) != "viertel" {
		minute, _ = r.anyNumber(i, 30)
	}
	hour, end := r.anyNumber(i+2, 24)
	if minute == 0 || end == i+2 {
		return hourAndMinute{}, i
	}
	if before {
		hour, minute = earlier(hour), 60-minute
	}
	return hourAndMinute{hour: hour, minute: minute, sure: true}, end
}

// hourNamed reads "zehn Uhr dreißig" and "six heures et demie".
func (r clockReader) hourNamed(i int) (hourAndMinute, int) {
	if after := r.At(i + 1); after != "uhr" && after != "heures" && after != "heure" {
		return hourAndMinute{}, i
	}
	hour, end := r.anyNumber(i, 24)
	if end == i && (r.At(i) == "une" || r.At(i) == "ein") {
		hour, end = 1, i+1
	}
	if end == i {
		return hourAndMinute{}, i
	}
	said, at := hourAndMinute{hour: hour, sure: true, written: true}, end+1
	switch {
	case r.At(at) == "et" && (r.At(at+1) == "demie" || r.At(at+1) == "demi"):
		said.minute, at = 30, at+2
	case r.At(at) == "et" && r.At(at+1) == "quart":
		said.minute, at = 15, at+2
	case r.At(at) == "moins" && r.At(at+1) == "le" && r.At(at+2) == "quart":
		said.hour, said.minute, at = earlier(hour), 45, at+3
	case r.At(at) == "moins":
		if minute, end := r.anyNumber(at+1, 30); end > at+1 {
			said.hour, said.minute, at = earlier(hour), 60-minute, end
		}
	default:
		if minute, end := r.anyNumber(at, 59); end > at && !r.counts(end) {
			said.minute, at = minute, end
		}
	}
	return said, at
}

// counts reports whether a noun follows that a number counts.
func (r clockReader) counts(end int) bool { return end < len(r.Words) && text.IsSubject(r.Words[end]) }

// earlier is the hour before.
func earlier(hour int) int { return (hour + 23) % 24 }

// anyNumber reads a whole number of one word up to a limit, in any language. end is i for none.
func (r clockReader) anyNumber(i, limit int) (number, end int) {
	if i >= len(r.Words) {
		return 0, i
	}
	digits, is := quantity.Number(r.Surface(i, i+1))
	number, err := strconv.Atoi(string(digits))
	if !is || err != nil || number < 0 || number > limit {
		return 0, i
	}
	return number, i + 1
}

// cue is the word before the word at i, where it may bring an hour: of "a" only the French à.
func (r clockReader) cue(i int) string {
	before := r.At(i - 1)
	if before == "a" && r.Surface(i-1, i) != "à" && r.Surface(i-1, i) != "À" {
		return ""
	}
	return before
}
