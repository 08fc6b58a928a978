package datetime

import "earshot/matcher/text"

// Trailing returns the place after the words from word i on that tell when or how the sentence is to be done, and that
// end a name before them: "tomorrow", "on Friday", "right now, please". It is i for none.
func (t *Text) Trailing(i int) (end int) {
	end = i
	for end < len(t.Words) && (end == i || t.Adjoins(end-1) || t.Gap(end-1) == ", ") {
		next := max(text.AsideAt(t.Text, end), t.momentAt(end))
		if next == end {
			break
		}
		end = next
	}
	return end
}

// momentAt returns the end of the moment that begins at word i, with at most three words that introduce it: "on the". It
// is i for none. What a preposition of belonging joins to a name is a part of that: "Straße des 17. Juni".
func (t *Text) momentAt(i int) (end int) {
	const most = 3
	if t.At(i).Is(text.BelongingWords) || t.At(i-1).Is(text.BelongingWords) {
		return i
	}
	for first := i; first < len(t.Words) && first <= i+most; first++ {
		w := t.Words[first]
		if end := t.momentEnds()[first]; end > first {
			return end
		}
		cue := w.Is(text.DayCues, text.ClockCues, text.HourCues, text.DefiniteArticles, text.StartCues, text.EndCues, text.BeforeCues, text.AfterCues, text.NextDays, text.ComingDays)
		if !cue || first > i && !t.Adjoins(first-1) {
			return i
		}
	}
	return i
}

// momentEnds has the end of each certain moment at its first word.
func (t *Text) momentEnds() []int {
	if t.moments == nil {
		t.moments = make([]int, len(t.Words))
		for _, m := range t.Moments() {
			if !m.Doubtful {
				t.moments[m.First] = max(t.moments[m.First], m.End)
			}
		}
	}
	return t.moments
}
