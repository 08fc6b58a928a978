package matcher

import (
	"strings"
	"time"
)

// weekday reads "Friday", "next Friday", "Friday next week", "next week". Which day
// "next Friday" is, people do not agree on: it is the one of next week.
func (r *momentText) weekday(i int) (moment, bool) {
	first, shift := i, 0
	switch r.at(i) {
	case "next", "coming", "this":
		i++
	}
	day, ok := weekdays[r.at(i)]
	if !ok {
		return moment{}, false
	}
	end := i + 1
	days := (int(day) - int(r.today().Weekday()) + 7) % 7
	switch {
	case r.at(first) == "next":
		shift = r.nextWeek(day)
	case r.at(end) == "next" && r.at(end+1) == "week":
		shift, end = r.nextWeek(day), end+2
	default:
		shift = days
	}
	return moment{first, end, r.in(shift)}, true
}

// nextWeek is how many days ahead the day of next week is; weeks begin on Monday.
func (r *momentText) nextWeek(day time.Weekday) int {
	monday := (8 - int(r.today().Weekday())) % 7
	if monday == 0 {
		monday = 7
	}
	return monday + (int(day)+6)%7
}

var weekdays = map[string]time.Weekday{
	"sunday": 0, "monday": 1, "tuesday": 2, "wednesday": 3, "thursday": 4, "friday": 5, "saturday": 6,
	"sonntag": 0, "montag": 1, "dienstag": 2, "mittwoch": 3, "donnerstag": 4, "freitag": 5, "samstag": 6,
	"dimanche": 0, "lundi": 1, "mardi": 2, "mercredi": 3, "jeudi": 4, "vendredi": 5, "samedi": 6,
	"domenica": 0, "lunedi": 1, "martedi": 2, "mercoledi": 3, "giovedi": 4, "venerdi": 5, "sabato": 6,
	"domingo": 0, "lunes": 1, "martes": 2, "miercoles": 3, "jueves": 4, "viernes": 5, "sabado": 6,
}

// ahead reads "in 3 days", "in two weeks", "next week", "this weekend".
func (r *momentText) ahead(i int) (moment, bool) {
	if (r.at(i) == "next" || r.at(i) == "this") && spans[r.at(i+1)] {
		return moment{i, i + 2, ""}, true
	}
	if r.at(i) != "in" || i+2 >= len(r.words) {
		return moment{}, false
	}
	number, end := r.figure(i + 1)
	days := map[string]int{"day": 1, "week": 7}[stem(r.at(end))]
	if end == i+1 || days == 0 || strings.ContainsAny(string(number), ".-") || len(number) > 4 {
		return moment{}, false
	}
	return moment{i, end + 1, r.in(days * atoi(string(number)))}, true
}

var spans = set(`week weekend`)
