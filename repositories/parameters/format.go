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

// Format is the form of a string's values, by the names of JSON Schema. A user's words are converted to it.
type Format string

// The formats: 2026-12-01; 15:04 or 15:04:05; 2026-12-01T15:04:05; and P3DT4H30M. Times may have an offset.
const (
	Date     Format = "date"
	Time     Format = "time"
	DateTime Format = "date-time"
	Duration Format = "duration"
)

var formats = []Format{Date, Time, DateTime, Duration}

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

var formatExamples = map[Format]string{Date: "2026-12-01", Time: "15:04", DateTime: "2026-12-01T15:04:05+01:00", Duration: "PT1H30M"}

// Known reports whether values are checked for the format.
func (f Format) Known() bool { return slices.Contains(formats, f) }

// Flaw says why a text is no value of the format. It is empty for a value, and without a format.
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
	return fmt.Sprintf("%s is no %s in the form of ISO 8601, as %s", fault.Show(value), f, formatExamples[f])
}

// At returns the instant of a date, a time or both, in the time zone if the value has none.
func (f Format) At(value string, in *time.Location) (at time.Time, is bool) {
	for _, layout := range layouts[f] {
		if at, err := time.ParseInLocation(layout, value, in); err == nil {
			return at, true
		}
	}
	return at, false
}

// Seconds returns the length of a duration as a decimal; false for years, months, and other texts.
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

func isDuration(value string) bool {
	return durations.MatchString(value) && value != "P" && !strings.HasSuffix(value, "T")
}
