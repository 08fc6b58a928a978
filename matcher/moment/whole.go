package moment

import "regexp"

// OnlyMoment reads a text that is a date, a time of day, or both and nothing else. A
// date and a time together are returned apart: they may have been said apart.
func (r *Text) OnlyMoment() (dates, clocks, days, hours []string) {
	if p := stamp.FindStringSubmatch(r.Source); p != nil {
		date, _ := NewText(p[1], r.Now).date(0)
		clock, _ := NewText(p[2], r.Now).clock(0)
		return nil, nil, date.Values, clock.Values
	}
	if len(r.Words) == 0 {
		return nil, nil, nil, nil
	}
	if clock, ok := r.clock(0); ok && clock.End == len(r.Words) {
		return nil, clock.Values, nil, nil
	}
	date, ok := r.date(0)
	if !ok || date.End == len(r.Words) {
		return date.Values, nil, nil, nil
	}
	at := date.End
	if r.At(at) == "at" {
		at++
	}
	if at == len(r.Words) {
		return nil, nil, nil, nil
	}
	if clock, ok := r.clock(at); ok && clock.End == len(r.Words) {
		return nil, nil, date.Values, clock.Values
	}
	return nil, nil, nil, nil
}

// stamp is a date and time of ISO 8601 and RFC 3339. The offset says nothing that
// people say.
var stamp = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2})(?::\d{2}(?:\.\d+)?)?(?:[Zz]|[+-]\d{2}:?\d{2})?$`)
