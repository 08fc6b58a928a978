package values

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"earshot/matcher/datetime"
	"earshot/matcher/text"
	"earshot/repositories/lists"
)

// readMoments fills dates and times of day in the text's words, or exactly if the slot requires a format.
func readMoments(f *slotFiller) {
	moments := momentReader{f}
	moments.noteReadings()
	dates := moments.following(moments.settled(f.Dates(), f.slots(func(s *slot) bool { return s.date })))
	clocks := moments.settled(f.Clocks(), f.slots(func(s *slot) bool { return s.clock }))
	moments.coming(dates, clocks)
	if both := f.slots(func(s *slot) bool { return s.date && s.clock }); len(both) == 1 && len(dates) == 1 && len(clocks) <= 1 {
		whole := dates[0]
		if len(clocks) == 1 {
			clock := clocks[0]
			whole.First, whole.End = min(whole.First, clock.First), max(whole.End, clock.End)
			whole.Exact += " " + clock.Exact
			if dates[0].Exact == "" || clock.Exact == "" {
				whole.Exact = ""
			}
		}
		f.moment(both[0], whole)
	}
	moments.partly(dates, clocks)
	f.share(f.slots(func(s *slot) bool { return s.date }), dates)
	f.share(f.slots(func(s *slot) bool { return s.clock && !s.date }), clocks)
	if !f.counts {
		return // without a slot for them they may be part of a name
	}
	for _, m := range append(dates, clocks...) {
		f.take(m.First, m.End) // the 8 of "March 8" is no number
	}
}

// readAhead fills the one slot for a date with a time with an amount of time from now: "in two hours". A time of day alone
// would not tell the day.
func readAhead(f *slotFiller) {
	s := f.lone(func(s *slot) bool { return s.date && s.clock && s.layout() == time.RFC3339 })
	if s == nil || !slices.ContainsFunc(f.Words, func(w text.Word) bool { return w.Begins(text.AheadCues) }) {
		return
	}
	timed := &slot{Parameter: s.Parameter, about: s.about}
	timed.Unit = &seconds
	said := f.amounts(timed)
	if len(said) != 1 {
		return
	}
	first, end := f.Within(said[0].From, said[0].To)
	cue := text.AheadCues.PhraseBefore(f.Words, first)
	left, err := seconds.Numbers(said[0])[0].Int64()
	const day = 24 * 60 * 60 // days ahead have no time of day
	if cue == 0 || err != nil || left <= 0 || left >= day || text.AnyIs(f.Words[first:end], text.DayUnits) || !f.Adjoins(first-1) {
		return
	}
	f.fill(s, f.Now.Add(time.Duration(left)*time.Second).Truncate(time.Second).Format(s.layout()), first-cue, end)
}

// partly records why only a day, or only a time of day, is no value of the slot that needs both.
func (f momentReader) partly(dates, clocks []datetime.Reading) {
	s := f.lone(func(s *slot) bool { return s.date && s.clock && s.Required && s.Format != "" })
	if s == nil || f.reasons[s.Name] != "" {
		return
	}
	switch {
	case len(dates) == 1 && len(clocks) == 0 && dates[0].Exact != "":
		f.none(s, fmt.Sprintf("%q has no time of day", f.Surface(dates[0].First, dates[0].End)), true)
	case len(dates) == 0 && len(clocks) == 1 && clocks[0].Exact != "":
		f.none(s, fmt.Sprintf("%q has no day", f.Surface(clocks[0].First, clocks[0].End)), true)
	}
}

// following moves a weekday that ends a period after its start, "from Friday to Tuesday", or the start before an end
// that is past, "from last Monday to last Friday".
func (f momentReader) following(dates []datetime.Reading) []datetime.Reading {
	dates = slices.Clone(dates)
	for i := 1; i < len(dates); i++ {
		start, end := &dates[i-1], &dates[i]
		moved, days := end, 7
		if text.AnyIs(f.Words[end.First:end.End], text.PastDays) {
			moved, days = start, -7
		}
		weekday := text.AnyIs(f.Words[moved.First:moved.End], text.Weekdays) && moved.End-moved.First <= 2
		from, flaw := time.Parse(time.DateOnly, start.Exact)
		to, err := time.Parse(time.DateOnly, end.Exact)
		if !weekday || flaw != nil || err != nil || !to.Before(from) || !text.AnyIs(f.Words[start.End:end.First], text.EndCues) {
			continue
		}
		at, _ := time.Parse(time.DateOnly, moved.Exact)
		for apart := from.Sub(to); apart > 0; apart -= 7 * 24 * time.Hour {
			at = at.AddDate(0, 0, days)
		}
		moved.Exact = at.Format(time.DateOnly)
		moved.Values = []string{moved.Exact}
	}
	return dates
}

// coming moves the weekday of today to next week if its time of day is over: "Monday at 9 am", on a Monday at noon.
func (f momentReader) coming(dates, clocks []datetime.Reading) {
	if len(dates) != 1 || len(clocks) != 1 || clocks[0].Exact == "" || clocks[0].Exact > f.Now.Format("15:04") {
		return
	}
	day, today, next := &dates[0], f.Now.Format(time.DateOnly), f.Now.AddDate(0, 0, 7).Format(time.DateOnly)
	if day.Exact == today && slices.Contains(day.Values, next) {
		day.Exact = next
	}
}

// share gives each slot the moment after its cue, and a single slot the single moment.
func (f *slotFiller) share(slots []*slot, all []datetime.Reading) {
	var left []datetime.Reading
	for _, m := range all {
		s := f.cued(slots, m)
		if s == nil {
			left = append(left, m)
			continue
		}
		f.moment(s, m)
		slots = f.slots(func(other *slot) bool { return other != s && slices.Contains(slots, other) })
	}
	s := sole(slots)
	if s == nil || len(left) == 0 {
		return
	}
	if sameMoment(left) {
		f.moment(s, left[0])
	} else {
		words := lists.Map(left, func(m datetime.Reading) string { return fmt.Sprintf("%q", f.Surface(m.First, m.End)) })
		momentReader{f}.none(s, strings.Join(words, " and ")+" are several", true)
	}
}

// sameMoment reports whether all moments are one: "on Friday, December 4th".
func sameMoment(all []datetime.Reading) bool {
	return len(all) == 1 || !slices.ContainsFunc(all, func(m datetime.Reading) bool { return m.Exact == "" || m.Exact != all[0].Exact })
}

// cued returns the one slot that the words before the moment name, or identify as a side of a period.
func (f *slotFiller) cued(slots []*slot, m datetime.Reading) *slot {
	if len(slots) < 2 {
		return nil
	}
	starts, ends := text.DepartureNames, text.ArrivalNames
	if slices.ContainsFunc(slots, func(s *slot) bool { return s.namedFor(text.ArrivalNames) }) {
		starts, ends = ends, starts // a stay begins with the arrival
	}
	sideOf := func(s *slot, w text.Word) bool {
		begins := w.Is(text.StartCues) && !w.Is(ends) // "leaving" ends a stay
		return s.namedFor(starts) && (begins || w.Is(starts)) || begins && s.namedFor(text.StartNames) ||
			s.namedFor(ends) && w.Is(text.EndCues, ends) || w.Is(text.EndCues) && s.namedFor(text.EndNames)
	}
	for n, speaks := range []func(*slot, text.Word) bool{(*slot).nameHas, sideOf} {
		for i := m.First - 1; i >= max(0, m.First-4) && !isCalendar(f.Norm(i)); i-- {
			ofName := n > 0 && f.Words[i].Is(text.StopWords) && i+1 < m.First && f.Words[i+1].IsSubject() // the "to" of "to Madrid on Friday"
			if matching := slices.DeleteFunc(slices.Clone(slots), func(s *slot) bool { return ofName || !speaks(s, f.Words[i]) }); len(matching) == 1 {
				return matching[0]
			}
		}
	}
	return nil
}

// changed records why a time at which the clocks change is no value: it does not exist, or is there twice.
func (f momentReader) changed(s *slot, m datetime.Reading) {
	words, why := f.Surface(m.First, m.End), ""
	if instants := datetime.Instants(m.Exact, f.Now.Location()); len(instants) == 0 {
		why = fmt.Sprintf("%q does not exist in %s: the clocks skip %s", words, f.Now.Location(), m.Exact)
	} else {
		readings := lists.Map(instants, func(at time.Time) string { return at.Format(time.RFC3339) })
		why = f.ask(s, words, readings)
	}
	f.none(s, why, true)
}

// possessive matches the ending of a day that something belongs to: "Thursday's appointment".
var possessive = regexp.MustCompile(`['’]s$`)

// moment fills the slot with the text's words, or with the exact form if required; ambiguous words fill nothing.
func (f *slotFiller) moment(s *slot, m datetime.Reading) {
	if !f.free(m.First, m.End) {
		return
	}
	first := m.First
	if f.Norm(first) == "the" && m.End-first > 2 {
		first++ // but "the" is not part of "8th of March"
	}
	value := possessive.ReplaceAllString(f.Surface(first, m.End), "")
	if wanted := s.layout(); wanted != "" {
		value = datetime.Format(m.Exact, wanted, f.Now.Location())
		if wanted == time.RFC3339 && value == "" && strings.Contains(m.Exact, " ") {
			momentReader{f}.changed(s, m)
		}
	}
	if value != "" {
		f.fill(s, value, m.First, m.End)
	}
}
