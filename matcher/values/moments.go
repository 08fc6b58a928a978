package values

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"earshot/matcher/datetime"
	"earshot/matcher/text"
	"earshot/repositories/parameters"
)

// readMoments fills dates and times of day in the text's words, or exactly if the slot requires a format.
func readMoments(f *slotFiller) {
	sure := func(all []datetime.Reading) []datetime.Reading { // certain and not taken yet
		return slices.DeleteFunc(slices.Clone(all), func(m datetime.Reading) bool { return m.Doubtful || !f.free(m.First, m.End) })
	}
	dates, clocks := sure(f.Dates()), sure(f.Clocks())
	f.noteReadings()
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
	f.share(f.slots(func(s *slot) bool { return s.date }), dates)
	f.share(f.slots(func(s *slot) bool { return s.clock && !s.date }), clocks)
	if !f.counts {
		return // without a slot for them they may be part of a name
	}
	for _, m := range append(dates, clocks...) {
		f.take(m.First, m.End) // the 8 of "March 8" is no number
	}
}

// noteReadings records the alternative readings for each slot with a format: the user is asked about an ambiguous
// value, with both readings.
func (f *slotFiller) noteReadings() {
	for _, s := range f.slots(func(s *slot) bool { return s.Format != "" && s.isMoment() }) {
		all := f.Clocks()
		if s.Format == parameters.Date {
			all = f.Dates()
		}
		for _, m := range all {
			if len(m.Values) < 2 || m.Exact != "" || !f.free(m.First, m.End) {
				continue
			}
			first := m.First
			if f.At(first-1).Is(text.ClockCues) && f.Adjoins(first-1) { // "at 9"
				first--
			}
			words, both := f.Surface(first, m.End), strings.Join(m.Values, " or ")
			f.why[s.Name] = fmt.Sprintf("%q may be %s", words, both)
			f.asks[s.Name] = words + ": " + both + "?"
		}
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
	if s := sole(slots); s != nil && len(left) == 1 {
		f.moment(s, left[0])
	}
}

// cued returns the one slot that the words before the moment name, or identify as a side of a period.
func (f *slotFiller) cued(slots []*slot, m datetime.Reading) *slot {
	if len(slots) < 2 {
		return nil
	}
	sideOf := func(s *slot, w text.Word) bool {
		return w.Is(text.StartCues) && s.namedFor(text.StartNames) || w.Is(text.EndCues) && s.namedFor(text.EndNames)
	}
	for _, speaks := range []func(*slot, text.Word) bool{(*slot).nameHas, sideOf} {
		for i := m.First - 1; i >= max(0, m.First-4) && !isCalendar(f.Norm(i)); i-- {
			if matching := slices.DeleteFunc(slices.Clone(slots), func(s *slot) bool { return !speaks(s, f.Words[i]) }); len(matching) == 1 {
				return matching[0]
			}
		}
	}
	return nil
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
	}
	if value != "" {
		f.fill(s, value, m.First, m.End)
	}
}
