package values

import (
	"fmt"
	"slices"
	"strings"

	"earshot/matcher/datetime"
	"earshot/matcher/text"
)

// A moment that is denied, a bound, an end of a range or one of many is no value: "not on Monday", "before 3 pm",
// "between 3 and 4", "every Friday".

// momentReader finds moments that may be values.
type momentReader struct{ *slotFiller }

// settled returns the certain moments that no value has taken, and records for the slots why others are none.
func (f momentReader) settled(all []datetime.Reading, slots []*slot) []datetime.Reading {
	var found []datetime.Reading
	for _, m := range all {
		if !f.free(m.First, m.End) || m.Doubtful {
			continue
		}
		why := f.unsettled(m, all, slots)
		if first, end := f.bound(m, slots); first < end && len(slots) > 0 && !slices.ContainsFunc(slots, func(s *slot) bool { return s.layout() != "" }) {
			m.First, m.End, why = first, end, "" // "by 7" loses nothing as words
		}
		if why == "" {
			found = append(found, m)
			continue
		}
		for _, s := range slots {
			f.none(s, why, true)
		}
		if f.counts {
			f.take(m.First, m.End) // its figures are no number either
		}
	}
	return found
}

// none records why words about a moment give no value. If they are certain and the slot has a format, a call without
// what was said is not what the user asks for.
func (f momentReader) none(s *slot, why string, certain bool) {
	if s.layout() == "" {
		return
	}
	f.reasons[s.Name] = why
	if certain && s.Format != "" {
		f.unusable[s.Name] = why
	}
}

// unsettled returns why a moment is no value of the slots; empty if it may be one.
func (f momentReader) unsettled(m datetime.Reading, all []datetime.Reading, slots []*slot) string {
	if first, end := f.bound(m, slots); first < end {
		return fmt.Sprintf("%q is a limit, and no exact time", f.Surface(first, end))
	}
	if f.Excludes(m.First, m.End) {
		return fmt.Sprintf("%q is denied", f.Surface(m.First, m.End))
	}
	if f.At(m.First-1).Is(text.EveryWords) && f.Adjoins(m.First-1) {
		return fmt.Sprintf("%q is no single day", f.Surface(m.First-1, m.End))
	}
	if len(slots) > 1 {
		return "" // they may take both ends
	}
	if first, end := f.ranged(m, all); end > first {
		return fmt.Sprintf("%q is a range", f.Surface(first, end))
	}
	return ""
}

// cueBefore returns the first of at most two words before a moment that only introduce it: "at", "on the", "a las".
func (f momentReader) cueBefore(first int) int {
	const most = 2
	for n := 0; n < most && first > 0 && f.Adjoins(first-1) &&
		f.Words[first-1].Is(text.ClockCues, text.HourCues, text.DayCues, text.DefiniteArticles, text.Articles) &&
		!f.Words[first-1].Is(text.BeforeCues, text.AfterCues, text.BetweenWords); n++ {
		first--
	}
	return first
}

// bound returns the words that make the moment a limit, which is no value unless a slot is for one; first is end for none.
func (f momentReader) bound(m datetime.Reading, slots []*slot) (first, end int) {
	named := func(lists ...text.List) bool {
		return slices.ContainsFunc(slots, func(s *slot) bool {
			return s.describedFor(text.BoundNames) || slices.ContainsFunc(lists, func(list text.List) bool { return s.isNamed(list) }) || s.stemmed("deadline", "due")
		})
	}
	isTaught := func(cue, length int) bool { // an example has a value after the words, or the parameter is named like them: "by"
		said := f.Norm(cue)
		return slices.ContainsFunc(slots, func(s *slot) bool {
			follows := s.taught != nil && (length == 1 && s.taught.left[said] || length > 1 && s.taught.before[f.Norm(cue-1)+" "+said])
			return follows || slices.ContainsFunc(s.name, func(w text.Word) bool { return w.Norm == said })
		})
	}
	for _, first := range []int{m.First, f.cueBefore(m.First)} {
		if first == 0 || !f.Adjoins(first-1) {
			continue
		}
		if length := text.BeforeCues.PhraseBefore(f.Words, first); length > 0 && !isTaught(first-1, length) && !named(text.EndNames, text.EndCues, text.ArrivalNames, text.DepartureNames) {
			return first - length, m.End
		}
		if length := text.AfterCues.PhraseBefore(f.Words, first); length > 0 && !isTaught(first-1, length) && !named(text.StartNames, text.StartCues, text.ArrivalNames, text.DepartureNames) {
			return first - length, m.End
		}
	}
	if length := text.BeforeCues.PhraseAt(f.Words, m.End); length > 0 && f.Adjoins(m.End-1) && f.Pause(m.End+length) && !named(text.EndNames, text.EndCues) { // "Friday at the latest"
		return m.First, m.End + length
	}
	return 0, 0
}

// ranged returns the words of a range with the moment at one end; none if there is none.
func (f momentReader) ranged(m datetime.Reading, all []datetime.Reading) (first, end int) {
	joins := func(i int) bool {
		w := f.At(i)
		if !w.Is(text.RangeWords) || w.Is(text.DayCues) && !w.Is(text.StopWords) {
			return false
		}
		return !w.Is(text.JoinWords) || text.AnyIs(f.Words[max(0, i-6):i], text.BetweenWords)
	}
	at := func(i int) func(datetime.Reading) bool {
		return func(other datetime.Reading) bool { return other.First != m.First && other.First <= i && i < other.End }
	}
	isEnd := func(i int) bool { // a number or a moment of the same kind is there
		if i < 0 || i >= len(f.Words) {
			return false
		}
		// A number is one only beside another: "24 to 26 December", but not "A-1234 to Tuesday".
		number := len(f.Numbers(i)) > 0 && !f.Numbers(i)[0].Doubtful && len(f.Numbers(i)[0].Exact) <= 2 && len(f.Numbers(m.First)) > 0
		return slices.ContainsFunc(all, at(i)) || number && !slices.ContainsFunc(f.Moments(), func(other datetime.Reading) bool { return at(i)(other) && !other.Doubtful })
	}
	begin := func(i int) int { // of the other end
		if other := slices.IndexFunc(all, at(i)); other >= 0 {
			return all[other].First
		}
		return i
	}
	dash := func(i int) bool {
		return i >= 0 && i+1 < len(f.Words) && strings.Trim(f.Gap(i), " ") != "" && strings.Trim(f.Gap(i), " -–—") == ""
	}
	for _, cue := range []int{m.First, f.cueBefore(m.First)} {
		if joins(cue-1) && isEnd(cue-2) {
			return begin(cue - 2), m.End
		}
	}
	if dash(m.First-1) && isEnd(m.First-1) {
		return m.First - 1, m.End
	}
	next := m.End
	if joins(next) || dash(m.End-1) {
		if joins(next) {
			next++
		}
		for n := 0; n < 2 && f.At(next).Is(text.ClockCues, text.HourCues, text.DefiniteArticles); n++ {
			next++
		}
		if isEnd(next) && f.sameKind(m, next) {
			return m.First, next + 1
		}
	}
	return 0, 0
}

// sameKind reports whether the number or moment at a place can be the other end of a moment's range: "3 pm to 4", and
// not "at 3 pm or 4 people".
func (f momentReader) sameKind(m datetime.Reading, i int) bool {
	numbers := f.Numbers(i)
	if len(numbers) == 0 || slices.ContainsFunc(f.Moments(), func(other datetime.Reading) bool { return other.First == i && !other.Doubtful }) {
		return true // it is of the kind, else it would be no end
	}
	end := numbers[0].End
	return end >= len(f.Words) || !f.Adjoins(end-1) || !f.Words[end].IsSubject()
}

// noteReadings records the alternative readings for each slot whose values are not the text's words: the user is asked about an ambiguous
// value, with both readings.
func (f momentReader) noteReadings() {
	for _, s := range f.slots(func(s *slot) bool { return s.isMoment() && s.layout() != "" }) {
		all := f.Clocks()
		if !s.clock {
			all = f.Dates()
		}
		for _, m := range all {
			if m.Exact != "" || !f.free(m.First, m.End) {
				continue
			}
			first := m.First
			if f.At(first-1).Is(text.ClockCues) && f.Adjoins(first-1) { // "at 9"
				first--
			}
			words, why := f.Surface(first, m.End), ""
			if len(m.Values) > 1 {
				why = f.ask(s, words, m.Values)
			} else if len(m.Values) == 0 {
				why = fmt.Sprintf("%q is no exact day", words)
			}
			if why != "" {
				f.none(s, why, !m.Doubtful)
			}
		}
	}
}
