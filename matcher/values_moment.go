package matcher

import (
	"regexp"
	"slices"
)

// isMoment reports whether the slot is a string that holds a date or a time.
func (s *slot) isMoment() bool { return s.isDate() || s.isClock() }

func (s *slot) isDate() bool {
	if !isText(s) || len(s.Allowed) > 0 {
		return false
	}
	if s.hasWord(dateNames) || layout(s.Description) != "" && !onlyClock.MatchString(s.Description) {
		return true
	}
	return !s.hasWord(clockNames) && s.hasWord(edgeNames) && datesWanted.MatchString(s.Description)
}

func (s *slot) isClock() bool {
	return isText(s) && len(s.Allowed) == 0 && s.hasWord(clockNames)
}

func (s *slot) hasWord(words map[string]bool) bool {
	for _, w := range s.name {
		if words[w.norm] {
			return true
		}
	}
	return false
}

var (
	dateNames   = set(`date day datum deadline birthday birthdate dob when datetime fecha giorno jour tag checkin checkout`)
	clockNames  = set(`time hour clock uhrzeit heure hora ora datetime`)
	edgeNames   = set(`start end from to until begin beginning departure arrival return due on at period`)
	datesWanted = regexp.MustCompile(`(?i)\b(date|day)\b`)
)

// readMoments fills dates and times of day, as they were said, or exactly where the
// description asks for a form.
func (r *valueReader) readMoments() {
	both := r.slots(func(s *slot) bool { return s.isDate() && s.isClock() })
	dates, clocks := r.moments(r.date), r.moments(r.clock)
	if len(both) == 1 && len(dates) == 1 && len(clocks) <= 1 {
		r.together(both[0], dates[0], clocks)
	}
	r.share(r.slots((*slot).isDate), dates)
	r.share(r.slots(func(s *slot) bool { return s.isClock() && !s.isDate() }), clocks)
	for _, m := range append(dates, clocks...) {
		for i := m.first; i < m.end; i++ {
			r.taken[i] = true // the 8 of "March 8" is no number of anything
		}
	}
}

// together fills a parameter for date and time in one.
func (r *valueReader) together(s *slot, date moment, clocks []moment) {
	first, end, exact := date.first, date.end, date.exact
	if len(clocks) == 1 {
		first, end = min(first, clocks[0].first), max(end, clocks[0].end)
		exact = date.exact + " " + clocks[0].exact
		if date.exact == "" || clocks[0].exact == "" {
			exact = ""
		}
	}
	r.moment(s, moment{first, end, exact})
}

// share gives each slot the moment that its cue stands before, and a single slot the
// single moment.
func (r *valueReader) share(slots []*slot, all []moment) {
	var left []moment
	for _, m := range all {
		s := r.cued(slots, m)
		if s == nil {
			left = append(left, m)
			continue
		}
		r.moment(s, m)
		slots = r.slots(func(other *slot) bool { return other != s && slices.Contains(slots, other) })
	}
	if len(slots) > 1 {
		slots = r.required(slots)
	}
	if len(slots) == 1 && len(left) == 1 {
		r.moment(slots[0], left[0])
	}
}

// moment fills the slot with what was said, or with the exact form where that is
// asked for; words that do not settle the exact form fill nothing.
func (r *valueReader) moment(s *slot, m moment) {
	if !r.free(m.first, m.end) {
		return
	}
	value := r.surface(m.first, m.end)
	if form := layout(s.Description); form != "" {
		value = m.in(form)
	}
	if value != "" {
		r.fill(s, value, m.first, m.end)
	}
}

// cued returns the one slot that the words right before the moment speak of.
func (r *valueReader) cued(slots []*slot, m moment) *slot {
	if len(slots) < 2 {
		return nil
	}
	for _, speaks := range []func(*slot, word) bool{(*slot).namedBy, (*slot).sideOf} {
		for i := m.first - 1; i >= max(0, m.first-4) && !isCalendar(r.words[i].norm); i-- {
			if s := only(slots, r.words[i], speaks); s != nil {
				return s
			}
		}
	}
	return nil
}

// only returns the one slot that the word speaks of, if it is one.
func only(slots []*slot, w word, speaks func(*slot, word) bool) *slot {
	var found *slot
	for _, s := range slots {
		if !speaks(s, w) {
			continue
		}
		if found != nil {
			return nil
		}
		found = s
	}
	return found
}

// sideOf reports whether the word marks the side of a period that the slot is.
func (s *slot) sideOf(w word) bool {
	return startCues[w.norm] && s.called(startNames) || endCues[w.norm] && s.called(endNames)
}

// namedBy reports whether the word is one of the slot's name.
func (s *slot) namedBy(w word) bool {
	for _, n := range s.name {
		if n.stem == w.stem && !functionWords[w.norm] && !dateNames[w.norm] && !clockNames[w.norm] {
			return true
		}
	}
	return false
}

var (
	startNames = stems("start from begin departure depart checkin pickup outbound in arrival")
	endNames   = stems("end to until return checkout dropoff due inbound out off")
	startCues  = set(`from leaving departing starting beginning leave depart start since von ab du de desde dal`)
	endCues    = set(`to until till through returning return back ending end bis au jusqu hasta al`)
)

func isCalendar(w string) bool { return calendarWords[w] && w != "next" && w != "this" }

// moments collects what read finds, left to right.
func (r *valueReader) moments(read func(int) (moment, bool)) []moment {
	var found []moment
	for i := 0; i < len(r.words); {
		m, ok := read(i)
		if !ok || !r.free(m.first, m.end) {
			i++
			continue
		}
		found = append(found, m)
		i = m.end
	}
	return found
}
