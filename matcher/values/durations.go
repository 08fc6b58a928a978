package values

import (
	"fmt"
	"math/big"
	"strings"

	"earshot/repositories/parameters"
	"earshot/repositories/quantity"
)

// seconds is what a duration is converted to. Months and years have no number of seconds: a duration of
// them is left out.
var seconds = quantity.Of("second")

// readDurations gives the one parameter that holds a duration the one amount of time of the text.
func (r numberReader) readDurations() {
	slots := r.slots(func(s *slot) bool { return s.Format == parameters.Duration })
	if len(slots) > 1 {
		slots = r.required(slots)
	}
	if len(slots) != 1 {
		return
	}
	timed := &slot{Parameter: slots[0].Parameter, about: slots[0].about}
	timed.Unit = &seconds
	if said := r.amounts(timed); len(said) == 1 {
		if value := iso8601(seconds.Numbers(said[0])[0].String()); value != "" {
			first, end := r.Within(said[0].From, said[0].To)
			r.fill(slots[0], value, first, end)
		}
	}
	if why := r.why[timed.Name]; why != "" {
		r.why[slots[0].Name] = why
	}
}

// iso8601 writes seconds as a duration of days, hours, minutes and seconds; empty for no whole, positive
// number of them.
func iso8601(number string) string {
	exact, is := new(big.Rat).SetString(number)
	if !is || !exact.IsInt() || exact.Sign() <= 0 || !exact.Num().IsInt64() {
		return ""
	}
	left := exact.Num().Int64()
	var date, clock strings.Builder
	for _, unit := range []struct {
		name string
		size int64
		in   *strings.Builder
	}{{"D", 24 * 60 * 60, &date}, {"H", 60 * 60, &clock}, {"M", 60, &clock}, {"S", 1, &clock}} {
		if n := left / unit.size; n > 0 {
			fmt.Fprintf(unit.in, "%d%s", n, unit.name)
		}
		left %= unit.size
	}
	if clock.Len() == 0 {
		return "P" + date.String()
	}
	return "P" + date.String() + "T" + clock.String()
}
