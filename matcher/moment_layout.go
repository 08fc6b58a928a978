package matcher

import (
	"strings"
	"time"
)

// in writes the moment in the layout, or nothing where it lacks a part of it.
func (m moment) in(form string) string {
	for _, known := range []string{"2006-01-02 15:04", time.DateOnly, "15:04"} {
		at, err := time.Parse(known, m.exact)
		if err != nil || lacks(known, form, "2006") || lacks(known, form, "15:04") {
			continue
		}
		return at.Format(form)
	}
	return ""
}

func lacks(known, form, part string) bool {
	return strings.Contains(form, part) && !strings.Contains(known, part)
}

// moment is a date or a time of day that stands in the words from first to before end.
type moment struct {
	first, end int
	// exact is the date as 2006-01-02 or the time as 15:04; empty where the words do
	// not settle it.
	exact string
}
