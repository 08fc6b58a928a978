package parameters

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"

	"earshot/repositories/fault"
)

// Format is the form of a string's values, by the names of JSON Schema, which are those of RFC 3339 and ISO
// 8601. Words of users become values of it; all other values have to be of it already.
type Format string

// The formats. A date is 2026-12-01, a time 15:04 or 15:04:05 with or without an offset, a date-time
// 2026-12-01T15:04:05 with or without one, and a duration P3DT4H30M.
const (
	Date     Format = "date"
	Time     Format = "time"
	DateTime Format = "date-time"
	Duration Format = "duration"
)

var formats = []Format{Date, Time, DateTime, Duration}

// layouts are those of package time that the values of a format have.
var layouts = map[Format][]string{
	Date: {time.DateOnly},
	Time: {"15:04", "15:04:05", "15:04Z07:00", "15:04:05Z07:00"},
	DateTime: {
		"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", time.RFC3339,
	},
}

// durations are ISO 8601's: weeks alone, or years to seconds in their order.
var durations = regexp.MustCompile(`^P(?:(\d+)W|(?:\d+Y)?(?:\d+M)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?)$`)

// lengths are the seconds of the units that durations has a group for.
var lengths = []int64{7 * 24 * 60 * 60, 24 * 60 * 60, 60 * 60, 60, 1}

// calendrical finds years and months, which have no number of seconds.
var calendrical = regexp.MustCompile(`^P\d+[YM]`)

// examples are shown where a value is of another form.
var examples = map[Format]string{Date: "2026-12-01", Time: "15:04", DateTime: "2026-12-01T15:04:05+01:00", Duration: "PT1H30M"}

// Flaw says why a text is no value of the format; empty where it is one, and for no format.
func (f Format) Flaw(value string) string {
	is := f == ""
	switch f {
	case Duration:
		is = isDuration(value)
	case Date, Time, DateTime:
		_, is = f.At(value, time.UTC)
	}
	if is {
		return ""
	}
	return fmt.Sprintf("%s is no %s in the form of ISO 8601, as %s", fault.Show(value), f, examples[f])
}

// At is the instant that a value of a date, a time or both names; in a time zone where it names none itself.
func (f Format) At(value string, in *time.Location) (at time.Time, is bool) {
	for _, layout := range layouts[f] {
		if at, err := time.ParseInLocation(layout, value, in); err == nil {
			return at, true
		}
	}
	return at, false
}

func isDuration(value string) bool {
	return durations.MatchString(value) && value != "P" && !strings.HasSuffix(value, "T")
}

// Seconds is the length of a duration, as a decimal; false for one of years or months, and for none.
func Seconds(duration string) (seconds string, is bool) {
	parts := durations.FindStringSubmatch(duration)
	if !isDuration(duration) || calendrical.MatchString(duration) {
		return "", false
	}
	sum := new(big.Rat)
	for i, length := range lengths {
		if n, given := new(big.Rat).SetString(parts[i+1]); given {
			sum.Add(sum, n.Mul(n, new(big.Rat).SetInt64(length)))
		}
	}
	decimals, _ := sum.FloatPrec()
	return sum.FloatString(decimals), true
}

// format takes the format of a list's parameter, which is a string; the definition's schema knows the names.
func (f *faultCollector) format(given string, p *compiledParameter) {
	switch {
	case given == "":
	case p.kind != kindString:
		f.add("format", "is for a string, and the parameter is %s", p.kind.article())
	default:
		p.format = Format(given)
	}
}

// Known reports whether values are checked for the format.
func (f Format) Known() bool { return slices.Contains(formats, f) }

// formatOf is the format of a property that is a string; other formats of JSON Schema are annotations.
func formatOf(given any, of kind) Format {
	if name, _ := given.(string); of == kindString && Format(name).Known() {
		return Format(name)
	}
	return ""
}

// formatFlaw says why a value is not of the parameter's format.
func (p *compiledParameter) formatFlaw(value any) string {
	if said, is := value.(string); is {
		return p.format.Flaw(said)
	}
	return ""
}
