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
