package matcher

import (
	"regexp"
	"strings"
	"time"
)

var (
	writtenLayout = regexp.MustCompile(`(?i)\b(?:(?:yyyy|mm|dd)[-/.](?:yyyy|mm|dd)[-/.](?:yyyy|mm|dd)(?:[ t]hh:mm(?::ss)?)?|hh:mm(?::ss)?)`)
	sampleDate    = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b`)
	isoNamed      = regexp.MustCompile(`(?i)\biso(?:[ -]?8601)?\b`)
	onlyClock     = regexp.MustCompile(`(?i)^[^y]*hh:mm[^y]*$`)
	layoutParts   = strings.NewReplacer("hh:mm", "15:04", "yyyy", "2006", "mm", "01", "dd", "02", "ss", "05", "t", "T")
)

// layout is the form of date or time that a description asks for, as package time
// writes it; empty where it asks for none, and the words as said will do.
func layout(description string) string {
	if written := writtenLayout.FindString(description); written != "" {
		return layoutParts.Replace(strings.ToLower(written))
	}
	if sampleDate.MatchString(description) || isoNamed.MatchString(description) {
		return time.DateOnly
	}
	return ""
}

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
