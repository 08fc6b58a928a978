package offline

import (
	"maps"
	"slices"

	"earshot/matcher"
	"earshot/matcher/datetime"
	"earshot/matcher/text"
	"earshot/matcher/values"
)

// maxAnswerWords is the longest text, in words, that is taken as a whole for the one
// missing value.
const maxAnswerWords = 4

// answers finds the unfinished call that a text goes on with: it says values of it and nothing
// else, or corrects them.
func (h *hearing) answers(said text.Correction) (wish, bool) {
	for _, begun := range h.request.Unfinished {
		r := h.read(said.After, begun.Candidate)
		if len(r.Values) == 0 || !r.whole() || !said.Marked && !r.gives(begun) {
			continue
		}
		one := r.wish()
		if said.Before != "" {
			one.values = h.over(said.Before, r)
		}
		return one, true
	}
	return h.halves(said.After)
}

// halves finds the unfinished call that was said with an hour of two readings, where a text says only
// which half of the day is meant: "at 9", and then "in the evening".
func (h *hearing) halves(said string) (wish, bool) {
	words := h.text(said).Words
	if !slices.ContainsFunc(words, halfOfDay) || slices.ContainsFunc(words, func(w text.Word) bool { return !halfOfDay(w) && !isGrammar(w) && !w.Is(text.PoliteWords) }) {
		return wish{}, false
	}
	for _, begun := range h.request.Unfinished {
		for _, past := range h.heardLately() {
			asked := h.read(past, begun.Candidate).Asks
			for _, m := range h.text(past).Clocks() {
				if len(m.Values) < 2 {
					continue
				}
				end := h.text(past).Words[m.End-1].End
				whole := past[:end] + " " + said + past[end:]
				for name, value := range h.read(whole, begun.Candidate).Values {
					if asked[name] != "" && slices.Contains(begun.Missing, name) {
						return wish{begun.Candidate, map[string]any{name: value}, said}, true
					}
				}
			}
		}
	}
	return wish{}, false
}

// halfOfDay reports whether a word says which half of the day is meant.
func halfOfDay(w text.Word) bool {
	_, part := text.DayParts.Value(w.Norm)
	return part || w.Norm == "am" || w.Norm == "pm"
}

// heardLately are the last texts of the user, the latest first.
func (h *hearing) heardLately() (said []string) {
	for _, past := range slices.Backward(h.request.History) {
		if past.Actor != matcher.ActorAgent && len(said) < howFar {
			said = append(said, past.Text)
		}
	}
	return said
}

// over lays the values of a reading over those of what was said before it.
func (h *hearing) over(before string, r reading) map[string]any {
	whole := h.read(before, r.Candidate).Values
	maps.Copy(whole, r.Values)
	return whole
}

// gives reports whether the text has a value that the call lacks, or another one than it has.
func (r reading) gives(begun matcher.Unfinished) bool {
	for name := range r.Values {
		if slices.Contains(begun.Missing, name) || begun.Values[name] != nil {
			return true
		}
	}
	return false
}

// continues finds the unfinished call that a text continues though it says something else as
// well: it has one of the missing values, or it is short and can be nothing but the only missing
// one.
func (h *hearing) continues(said text.Correction) (wish, bool) {
	words := text.Split(said.After)
	if said.Refused && len(words) == 0 || declines(words) || (text.Text{Words: words}).Tells() {
		return wish{}, false
	}
	mood := (text.Text{Said: said.After, Words: words}).Mood()
	for _, begun := range h.request.Unfinished {
		r := h.read(said.After, begun.Candidate)
		if !said.Refused && (mood == text.Fragment || mood == text.Wish) {
			for _, name := range begun.Missing {
				if r.Values[name] != nil {
					return r.wish(), true
				}
			}
		}
		if value, ok := onlyAnswer(begun, withoutAddition(said.After)); ok {
			return wish{begun.Candidate, map[string]any{begun.Missing[0]: value}, said.After}, true
		}
	}
	return wish{}, false
}

// onlyAnswer is the text as the value of the one parameter that is missing, a text of any kind:
// a few words that neither ask, wish, tell nor thank.
func onlyAnswer(u matcher.Unfinished, said string) (string, bool) {
	words := text.Split(said)
	if len(u.Missing) != 1 || len(words) == 0 || (text.Text{Said: said, Words: words}).Mood() != text.Fragment || (text.Text{Words: words}).Opening() < 0 {
		return "", false
	}
	first, end := 0, len(words)
	for first < end && (words[first].Is(text.Hesitations, text.Fillers) || bringsValue(words[first])) {
		first++
	}
	for end > first && words[end-1].Is(text.PoliteWords) {
		end--
	}
	if first == end || end-first > maxAnswerWords || !takesAnyText(u, u.Missing[0]) {
		return "", false
	}
	answer := &datetime.Text{Text: text.Text{Said: said, Words: words[first:end]}}
	if refersBack(answer.Words) || len(moments(answer)) > 0 || !slices.ContainsFunc(answer.Words, func(w text.Word) bool { return isThing(w) || isNumber(w) }) {
		return "", false
	}
	return (text.Text{Said: said, Words: words}).Surface(first, end), true
}

// bringsValue reports whether a word only brings the value that follows it: "for Peter".
func bringsValue(w text.Word) bool {
	return w.Is(text.DestinationCues, text.PersonCues, text.NamedPlaceCues)
}

// declines reports whether a text thanks, parts or says no.
func declines(words []text.Word) bool {
	return text.AnyIs(words, text.PartingWords, text.Negations)
}

// takesAnyText reports whether any words can be the value of a parameter.
func takesAnyText(u matcher.Unfinished, name string) bool {
	return slices.Contains(values.KindsOf(u.Tool).Free, name)
}
