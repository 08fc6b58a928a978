package parameters

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"

	"earshot/repositories/fault"
)

// Format is the format of a string's values, as named in JSON Schema. A user's words are converted to it.
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

// clocks matches times of day, after a date or alone. Package time alone also reads 9:00 and +24:00.
var clocks = regexp.MustCompile(`^(?:[^T]+T)?\d\d:[^Z+-]+(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$`)

// shortHour matches an hour of one digit.
var shortHour = regexp.MustCompile(`^([^:T]+T)?(\d:)`)

// durations matches ISO 8601's: weeks alone, or years to seconds in order.
var durations = regexp.MustCompile(`^P(?:(\d+)W|(?:\d+Y)?(?:\d+M)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?)$`)

// lengths are the seconds of the units with a group in durations.
var lengths = []int64{7 * 24 * 60 * 60, 24 * 60 * 60, 60 * 60, 60, 1}

// calendrical matches years and months, which have no fixed length.
var calendrical = regexp.MustCompile(`^P\d+[YM]`)

var formatExamples = map[Format]string{Date: "2026-12-01", Time: "15:04", DateTime: "2026-12-01T15:04:05+01:00", Duration: "PT1H30M"}

// Known reports whether values are checked against the format.
func (f Format) Known() bool { return slices.Contains(formats, f) }

// Flaw returns why a text is not a value of the format; empty for a value, and without a format.
func (f Format) Flaw(value string) string {
	valid := f == ""
	switch f {
	case Duration:
		valid = isDuration(value)
	case Date, Time, DateTime:
		_, valid = f.At(value, time.UTC)
	}
	if valid {
		return ""
	}
	return fmt.Sprintf("%s is not a %s in the form of ISO 8601, as %s", fault.Show(value), f, formatExamples[f])
}

// validate is Flaw for a JSON Schema.
func (f Format) validate(value any) error {
	if text, ok := value.(string); ok && f.Flaw(text) != "" {
		return errors.New(f.Flaw(text))
	}
	return nil
}

// read gives the hour of a model's time its two digits, and reports whether it did.
func (f Format) read(value any) (any, bool) {
	text, ok := value.(string)
	if !ok || f != Time && f != DateTime {
		return value, false
	}
	if padded := shortHour.ReplaceAllString(text, "${1}0$2"); padded != text && f.Flaw(padded) == "" {
		return padded, true
	}
	return value, false
}

// At returns the instant of a date, a time or both; the time zone is for values without one.
func (f Format) At(value string, in *time.Location) (at time.Time, ok bool) {
	if f != Date && !clocks.MatchString(value) {
		return at, false
	}
	for _, layout := range layouts[f] {
		if at, err := time.ParseInLocation(layout, value, in); err == nil {
			return at, true
		}
	}
	return at, false
}

// Seconds returns the length of a duration as a decimal; false with years or months, and for other texts.
func Seconds(duration string) (seconds string, ok bool) {
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
