package values

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"earshot/matcher/datetime"
	"earshot/matcher/text"
	"earshot/repositories/parameters"
)

var (
	writtenLayout = regexp.MustCompile(`(?i)\b(?:(?:yyyy|mm|dd)[-/.](?:yyyy|mm|dd)[-/.](?:yyyy|mm|dd)(?:[ t]hh:mm(?::ss)?)?|hh:mm(?::ss)?)`)
	sampleDate    = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b`)
	isoNamed      = regexp.MustCompile(`(?i)\biso(?:[ -]?8601)?\b`)
	layoutParts   = strings.NewReplacer("hh:mm", "15:04", "yyyy", "2006", "mm", "01", "dd", "02", "ss", "05", "t", "T")
)

// layout is the form of date or time that a description asks for, as package time writes
// it; empty if it asks for none, and the words will do as they were said.
func layout(description string) string {
	if written := writtenLayout.FindString(description); written != "" {
		return layoutParts.Replace(strings.ToLower(written))
	}
	if sampleDate.MatchString(description) || isoNamed.MatchString(description) {
		return time.DateOnly
	}
	return ""
}

// layout is the form of date or time that the slot asks for.
func (s *slot) layout() string {
	switch s.Format {
	case parameters.Date:
		return time.DateOnly
	case parameters.Time:
		return "15:04"
	case parameters.DateTime:
		return time.RFC3339
	}
	return layout(s.Description)
}

// isMoment reports whether the slot is a string that holds a date or a time.
func (s *slot) isMoment() bool { return s.date || s.clock }

// namesDays reports whether the slot's value is one of some days: of the week, or today and
// tomorrow.
func (s *slot) namesDays() bool {
	return slices.ContainsFunc(s.Allowed, func(value any) bool {
		said, is := value.(string)
		return is && isCalendar(strings.ToLower(said))
	})
}

// isDate reports whether the slot, which is a string, holds a date.
func (s *slot) isDate() bool {
	if s.hasWord(text.DateNames) && !s.hasWord(text.ClockNames) && s.layout() == "15:04" {
		return false
	}
	if s.hasWord(text.DateNames) || strings.Contains(s.layout(), "2006") {
		return true
	}
	return !s.hasWord(text.ClockNames) && s.hasWord(text.EdgeNames) && datesWanted.MatchString(s.Description)
}

func (s *slot) hasWord(words text.List) bool {
	for _, w := range s.name {
		if words.Has(w.Norm) {
			return true
		}
	}
	return false
}

var (
	datesWanted = regexp.MustCompile(`(?i)\b(date|day)\b`)
)

// readMoments fills dates and times of day, as they were said, or exactly where the
// description asks for a form.
func (r momentReader) readMoments() {
	both := r.slots(func(s *slot) bool { return s.date && s.clock })
	dates, clocks := r.sure(r.Dates()), r.sure(r.Clocks())
	r.tellReadings()
	if len(both) == 1 && len(dates) == 1 && len(clocks) <= 1 {
		r.together(both[0], dates[0], clocks)
	}
	r.share(r.slots(func(s *slot) bool { return s.date }), dates)
	r.share(r.slots(func(s *slot) bool { return s.clock && !s.date }), clocks)
	if !r.counts {
		return // what no parameter asks for may be a part of a name
	}
	for _, m := range append(dates, clocks...) {
		for i := m.First; i < m.End; i++ {
			r.taken[i] = true // the 8 of "March 8" is no number of anything
		}
	}
}

// tellReadings notes of each slot with a format how else its words may be read: a value that is not certain
// is asked for, with both readings.
func (r momentReader) tellReadings() {
	for _, s := range r.slots(func(s *slot) bool { return s.Format != "" && s.isMoment() }) {
		all := r.Clocks()
		if s.Format == parameters.Date {
			all = r.Dates()
		}
		for _, m := range all {
			if len(m.Values) > 1 && m.Exact == "" && r.free(m.First, m.End) {
				both := strings.Join(m.Values, " or ")
				r.why[s.Name] = fmt.Sprintf("%q may be %s", r.withCue(m), both)
				r.asks[s.Name] = r.withCue(m) + ": " + both + "?"
			}
		}
	}
}

// withCue are the words of a moment with the one that brings it: "at 9".
func (r momentReader) withCue(m datetime.Reading) string {
	first := m.First
	if first > 0 && text.ClockCues.Has(r.Norm(first-1)) && strings.TrimSpace(r.Gap(first-1)) == "" {
		first--
	}
	return r.Surface(first, m.End)
}

// together fills a parameter for date and time in one.
func (r momentReader) together(s *slot, date datetime.Reading, clocks []datetime.Reading) {
	first, end, exact := date.First, date.End, date.Exact
	if len(clocks) == 1 {
		first, end = min(first, clocks[0].First), max(end, clocks[0].End)
		exact = date.Exact + " " + clocks[0].Exact
		if date.Exact == "" || clocks[0].Exact == "" {
			exact = ""
		}
	}
	r.moment(s, datetime.Reading{First: first, End: end, Exact: exact})
}

// share gives each slot the moment that its cue stands before, and a single slot the
// single moment.
func (r momentReader) share(slots []*slot, all []datetime.Reading) {
	var left []datetime.Reading
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
func (r momentReader) moment(s *slot, m datetime.Reading) {
	if !r.free(m.First, m.End) {
		return
	}
	first := m.First
	if r.Norm(first) == "the" && m.End-first > 2 {
		first++ // no part of "8th of March"
	}
	value := possessive.ReplaceAllString(r.Surface(first, m.End), "")
	if wanted := s.layout(); wanted != "" {
		value = datetime.Format(m.Exact, wanted, r.Now.Location())
	}
	if value != "" {
		r.fill(s, value, m.First, m.End)
	}
}

// cued returns the one slot that the words right before the moment speak of.
func (r momentReader) cued(slots []*slot, m datetime.Reading) *slot {
	if len(slots) < 2 {
		return nil
	}
	for _, speaks := range []func(*slot, text.Word) bool{(*slot).nameHas, (*slot).sideOf} {
		for i := m.First - 1; i >= max(0, m.First-4) && !isCalendar(r.Words[i].Norm); i-- {
			if s := only(slots, r.Words[i], speaks); s != nil {
				return s
			}
		}
	}
	return nil
}

// only returns the one slot that the word speaks of, if it is one.
func only(slots []*slot, w text.Word, speaks func(*slot, text.Word) bool) *slot {
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
func (s *slot) sideOf(w text.Word) bool {
	return w.Is(text.StartCues) && s.namedBy(startNames) || w.Is(text.EndCues) && s.namedBy(endNames)
}

// nameHas reports whether the word is one of the slot's name.
func (s *slot) nameHas(w text.Word) bool {
	for _, n := range s.name {
		if n.Stem == w.Stem && !w.Is(text.StopWords, text.DateNames, text.ClockNames) {
			return true
		}
	}
	return false
}

var (
	startNames = text.StartNames.Stems()
	endNames   = text.EndNames.Stems()
)

func isCalendar(w string) bool { return text.CalendarWords.Has(w) && w != "next" && w != "this" }

// sure keeps what is a date or a time beyond doubt and that no value has taken.
func (r momentReader) sure(all []datetime.Reading) []datetime.Reading {
	return slices.DeleteFunc(slices.Clone(all), func(m datetime.Reading) bool { return m.Doubtful || !r.free(m.First, m.End) })
}

// possessive is the ending of a day that something is of: "Thursday's appointment".
var possessive = regexp.MustCompile(`['’]s$`)
