package values

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"earshot/matcher/datetime"
	"earshot/matcher/text"
	"earshot/repositories/quantity"
)

// figures finds the numbers beyond doubt that no value has taken. The ends of a range are none,
// nor is what is denied.
func (r numberReader) figures() []datetime.Reading {
	var found []datetime.Reading
	said := r.Amounts()
	for i := 0; i < len(r.Words); {
		numbers := r.Numbers(i)
		i++
		if len(numbers) == 0 || numbers[0].Doubtful || numbers[0].Exact == "" || !r.free(numbers[0].First, numbers[0].End) {
			continue
		}
		i = numbers[0].End
		if !r.ofCode(numbers[0]) && !slices.ContainsFunc(said, func(one quantity.Amount) bool {
			return meets(numbers[0], one) && (one.Range && !one.Loose || one.Denied)
		}) {
			found = append(found, numbers[0])
		}
	}
	return found
}

// ofCode reports whether the number is tied to letters before it, as in A-1234.
func (r numberReader) ofCode(f datetime.Reading) bool {
	return f.First > 0 && tight[r.Gap(f.First-1)] && strings.ContainsFunc(r.Norm(f.First-1), unicode.IsLetter)
}

func isNumeric(s *slot) bool { return s.Type == "integer" || s.Type == "number" || s.Type == "float" }

// isAmount reports whether the slot, which is a string, holds a number.
func (s *slot) isAmount() bool {
	sized := s.hasWord(text.GroupNames) && s.namedBy(sizeNames)
	return sized || s.namedBy(amountNames) || s.hasWord(text.RatingNames) || countsSome(text.Identifier(s.Name)) || countsSome(s.Description)
}

// counting begins a name or a description of how many there are of something.
var counting = regexp.MustCompile(`(?i)^(?:the )?(?:number of|how many|count of|amount of) (\pL+)`)

// countsSome reports whether a name or a description is of how many there are. The number of
// the appointment names one, and counts nothing.
func countsSome(said string) bool {
	found := counting.FindStringSubmatch(said)
	return found != nil && !text.Determiners.Has(strings.ToLower(found[1]))
}

var sizeNames = map[string]bool{text.Stem("size"): true}

// units are the stems of units of measurement.
var units = text.UnitNames.Stems()

var amountNames = text.AmountNames.Stems()

// readNumbers gives each numeric parameter the number that stands beside a word of its
// name, and a single parameter the single number that is left.
func (r numberReader) readNumbers() {
	r.readCuedNumbers()
	for _, s := range r.slots(numberSlot) {
		if beside := r.beside(s, r.barely(s, r.figures())); len(beside) == 1 {
			r.number(s, beside[0])
		}
	}
	open, left := r.slots(numberSlot), r.figures()
	if len(open) > 1 {
		open = r.required(open)
	}
	if len(open) == 1 {
		left = r.barely(open[0], left)
	}
	if len(open) == 1 && len(left) == 1 && open[0].takes(json.Number(left[0].Exact)) && r.countsFor(open[0], left[0]) && r.isFor(open[0], left[0]) {
		r.number(open[0], left[0])
	}
}

// isFor reports whether a single number is that of the slot, though none of the words of its name stand
// beside it. The number in "ibuprofen 600" is of the noun: an optional slot has it only where a word beside
// it says so (contract 19), and so has a required one where the noun may be another parameter's text.
func (r numberReader) isFor(s *slot, f datetime.Reading) bool {
	if r.unitAt(f.First, f.End) != 0 || r.namedBeside(s, f) || len(s.Allowed) > 0 {
		return true
	}
	return !r.endsText(f) || s.Required && r.texts == 0
}

// endsText reports whether the number ends what a noun, a letter or a code before it begins: "vitamin D
// 1000".
func (r numberReader) endsText(f datetime.Reading) bool {
	return r.labels(f) || f.First > 0 && strings.TrimSpace(r.Gap(f.First-1)) == "" && (len(r.Norm(f.First-1)) == 1 && !text.Articles.Has(r.Norm(f.First-1)) || text.StartsWithDigit(r.Norm(f.First-1)))
}

// namedBeside reports whether a word beside the number says what it is of.
func (r numberReader) namedBeside(s *slot, f datetime.Reading) bool {
	if f.End < len(r.Words) && strings.TrimSpace(r.Gap(f.End-1)) == "" {
		next := r.Words[f.End]
		if next.IsSubject() && s.about[next.Stem] || s.Unit != nil && units[next.Stem] || next.Is(text.PeopleWords) || r.listedAt[f.End] {
			return true
		}
	}
	for i := f.First - 1; i >= 0 && strings.TrimSpace(r.Gap(i)) == ""; i-- {
		if !r.Words[i].Is(text.LinkingWords, text.Articles) {
			return r.Words[i].IsSubject() && s.about[r.Words[i].Stem]
		}
	}
	return false
}

// readCuedNumbers gives several numeric parameters the numbers that stand where the marks of
// examples have theirs, between words that are known on both sides: "120 over 80".
func (r numberReader) readCuedNumbers() {
	slots := r.slots(func(s *slot) bool { return numberSlot(s) && s.taught != nil })
	if len(slots) < 2 {
		return
	}
	here := sentence{text: r.Said, words: r.Words, taken: r.taken}
	for _, s := range slots {
		var found []datetime.Reading
		for _, f := range r.barely(s, r.figures()) {
			left, _ := here.leftOf(f.First)
			_, known := s.taught.knows(here.rightOf(f.End))
			if s.taught.left[left] && known && s.takes(json.Number(f.Exact)) {
				found = append(found, f)
			}
		}
		if len(found) == 1 {
			r.number(s, found[0])
		}
	}
}

// countsFor reports whether the number counts nothing that the slot does not know:
// the 2 of "2 lamps" is no party size.
func (r numberReader) countsFor(s *slot, f datetime.Reading) bool {
	if s.countsThings() && r.labels(f) || s.namedBy(pinNames) && len(f.Exact) < shortestCode {
		return false
	}
	if f.End >= len(r.Words) || strings.TrimSpace(r.Gap(f.End-1)) != "" {
		return true
	}
	next := r.Words[f.End]
	if next.Is(text.PoliteWords, text.InsteadWords, text.TrailingWords) {
		return true
	}
	if next.Is(text.PeopleWords) && (s.namedBy(peopleWords) || s.hasWord(text.GroupNames) || s.describedBy(peopleWords)) {
		return true
	}
	if r.listedAt[f.End] && (s.countsThings() || s.Type == "integer" && s.Unit == nil) { // "three beers"
		return true
	}
	return !next.IsSubject() || s.about[next.Stem] || units[next.Stem]
}

// labels reports whether the number belongs to the noun before it: "table three".
func (r numberReader) labels(f datetime.Reading) bool {
	i := f.First - 1
	return i >= 0 && strings.TrimSpace(r.Gap(i)) == "" && r.Words[i].IsSubject() && !r.means(r.Words[i]) && !strings.HasSuffix(r.Norm(i), "ly")
}

// countsThings reports whether the slot says how many there are, of whatever it is.
func (s *slot) countsThings() bool { return s.namedBy(amountNames) || s.namedBy(plainCounts) }

var (
	peopleWords = text.PeopleWords.Stems()
	pinNames    = map[string]bool{text.Stem("pin"): true, text.Stem("code"): true, text.Stem("passcode"): true}
	plainCounts = map[string]bool{text.Stem("number"): true, text.Stem("how"): true}
)

func numberSlot(s *slot) bool { return isNumeric(s) || s.amount }

func (r *filler) required(slots []*slot) []*slot {
	var found []*slot
	for _, s := range slots {
		if s.Required {
			found = append(found, s)
		}
	}
	return found
}

// number fills the slot: a string takes the figure as it was written.
func (r numberReader) number(s *slot, f datetime.Reading) {
	if isNumeric(s) {
		r.fill(s, json.Number(f.Exact), f.First, f.End)
		return
	}
	value := r.Said[f.From:f.To]
	if before := r.Said[:f.From]; currency.MatchString(before) {
		value = currency.FindString(before) + value
	}
	r.fill(s, value, f.First, f.End)
}

var currency = regexp.MustCompile(`[$€£¥]$`)

// beside returns the figures next to a word of the slot's name: "2 rooms", "room 2",
// "party of 4".
func (r numberReader) beside(s *slot, figures []datetime.Reading) []datetime.Reading {
	topic := s.quantity()
	for _, other := range r.slots(numberSlot) {
		for stem := range other.quantity() {
			if other != s {
				delete(topic, stem) // it does not tell the two apart
			}
		}
	}
	var found []datetime.Reading
	for _, f := range figures {
		after := f.End < len(r.Words) && begins(r.Words[f.End].Stem, topic)
		before := f.First - 1
		for before > 0 && r.Words[before].Is(text.LinkingWords) {
			before--
		}
		if after || before >= 0 && begins(r.Words[before].Stem, topic) {
			found = append(found, f)
		}
	}
	return found
}

// begins reports whether the stem is one of the topic or begins with one: bedrooms
// for beds.
func begins(stem string, topic map[string]bool) bool {
	for known := range topic {
		if stem == known || len(known) >= 3 && strings.HasPrefix(stem, known) {
			return true
		}
	}
	return false
}

// quantity holds the stems that a number of the slot stands beside.
func (s *slot) quantity() map[string]bool {
	found := map[string]bool{}
	for _, w := range s.name {
		if !w.Is(text.StopWords, text.PlaceholderWords) {
			found[w.Stem] = true
		}
	}
	return found
}

// takes reports whether the number is within the slot's bounds and allowed values.
func (s *slot) takes(number json.Number) bool {
	value, err := number.Float64()
	if err != nil || s.Type == "integer" && strings.Contains(string(number), ".") {
		return false
	}
	if low, err := s.Min.Float64(); err == nil && value < low {
		return false
	}
	if high, err := s.Max.Float64(); err == nil && value > high {
		return false
	}
	for _, allowed := range s.Allowed {
		if other, ok := asFloat(allowed); ok && other == value {
			return true
		}
	}
	return len(s.Allowed) == 0
}

func asFloat(value any) (float64, bool) {
	switch value := value.(type) {
	case json.Number:
		number, err := value.Float64()
		return number, err == nil
	case float64:
		return value, true
	case int:
		return float64(value), true
	}
	return 0, false
}
