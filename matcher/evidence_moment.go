package matcher

import "regexp"

// onlyMoment reads a text that is a date, a time of day, or both and nothing else. A
// date and a time together are returned apart: they may have been said apart.
func (r *momentText) onlyMoment() (dates, clocks, days, hours []string) {
	if p := stamp.FindStringSubmatch(r.text); p != nil {
		date, clock := newMomentText(p[1], r.now), newMomentText(p[2], r.now)
		days, _ = date.dateAt(0)
		hours, _ = clock.clockAt(0)
		return nil, nil, days, hours
	}
	if len(r.words) == 0 {
		return nil, nil, nil, nil
	}
	if times, end := r.clockAt(0); end == len(r.words) {
		return nil, times, nil, nil
	}
	found, end := r.dateAt(0)
	if end == len(r.words) {
		return found, nil, nil, nil
	}
	if r.at(end) == "at" {
		end++
	}
	if end == 0 || end == len(r.words) {
		return nil, nil, nil, nil
	}
	if times, after := r.clockAt(end); after == len(r.words) {
		return nil, nil, found, times
	}
	return nil, nil, nil, nil
}

// stamp is a date and time of ISO 8601 and RFC 3339. The offset says nothing that
// people say.
var stamp = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2})(?::\d{2}(?:\.\d+)?)?(?:[Zz]|[+-]\d{2}:?\d{2})?$`)
