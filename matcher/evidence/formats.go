package evidence

import (
	"math/big"
	"regexp"
	"time"

	"earshot/repositories/parameters"
	"earshot/repositories/quantity"
)

var (
	seconds = quantity.Of("second")
	// lasting is a duration of ISO 8601 without months and years, which have no number of seconds.
	lasting = regexp.MustCompile(`^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$`)
	sizes   = []int64{7 * 24 * 60 * 60, 24 * 60 * 60, 60 * 60, 60, 1}
)

// formatted takes a value of a format as what people say of it: a duration as an amount of time, a date
// and time as both in the zone of now.
func (f *forms) formatted(format parameters.Format, value string, now time.Time) {
	switch format {
	case parameters.Duration:
		if p := lasting.FindStringSubmatch(value); p != nil {
			sum := new(big.Rat)
			for i, size := range sizes {
				if n, is := new(big.Rat).SetString(p[i+1]); is {
					sum.Add(sum, n.Mul(n, new(big.Rat).SetInt64(size)))
				}
			}
			f.unit, f.meant = &seconds, []string{sum.FloatString(0)}
		}
	case parameters.DateTime:
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02T15:04Z07:00"} {
			if at, err := time.ParseInLocation(layout, value, now.Location()); err == nil {
				f.text(at.In(now.Location()).Format("2006-01-02 15:04"), now)
				return
			}
		}
	case parameters.Time:
		for _, layout := range []string{"15:04", "15:04:05", "15:04Z07:00", "15:04:05Z07:00"} {
			if at, err := time.Parse(layout, value); err == nil {
				f.text(at.Format("15:04"), now)
				return
			}
		}
	default:
		f.text(value, now)
	}
}
