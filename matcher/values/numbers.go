package values

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"earshot/matcher/datetime"
	"earshot/matcher/text"
	"earshot/repositories"
	"earshot/repositories/lists"
	"earshot/repositories/parameters"
	"earshot/repositories/quantity"
)

// seconds is the unit for durations. Months and years have no number of seconds, so they are not read.
var seconds = quantity.Of("second")

// readDurations gives the single parameter for a duration the single amount of time in the text.
func readDurations(f *slotFiller) {
	s := f.lone(func(s *slot) bool { return s.Format == parameters.Duration })
	if s == nil {
		return
	}
	timed := &slot{Parameter: s.Parameter, about: s.about}
	timed.Unit = &seconds
	if said := f.amounts(timed); len(said) == 1 {
		left, err := seconds.Numbers(said[0])[0].Int64() // in ISO 8601: days, hours, minutes and seconds
		if err != nil || left <= 0 {
			return
		}
		var date, clock strings.Builder
		for _, unit := range []struct {
			name string
			size int64
			in   *strings.Builder
		}{{"D", 24 * 60 * 60, &date}, {"H", 60 * 60, &clock}, {"M", 60, &clock}, {"S", 1, &clock}} {
			if n := left / unit.size; n > 0 {
				fmt.Fprintf(unit.in, "%d%s", n, unit.name)
			}
			left %= unit.size
		}
		value := "P" + date.String()
		if clock.Len() > 0 {
			value += "T" + clock.String()
		}
		first, end := f.Within(said[0].From, said[0].To)
		f.fill(s, value, first, end)
	}
}

// readAmounts gives each parameter with a unit the one amount that converts to it, and to no other one's. No parameter gets
// the words of a range or of a denial.
func readAmounts(f *slotFiller) {
	counted := f.slots(func(s *slot) bool { return s.Unit != nil && s.Numeric() })
	for _, s := range counted {
		said := f.amounts(s)
		if len(said) != 1 {
			continue
		}
		rivals := slices.ContainsFunc(counted, func(other *slot) bool {
			return other != s && slices.ContainsFunc(f.amounts(other), func(one quantity.Amount) bool {
				return one.From < said[0].To && said[0].From < one.To
			})
		})
		if rivals {
			continue
		}
		number := s.Unit.Numbers(said[0])[0]
		first, end := f.Within(said[0].From, said[0].To)
		if s.takes(number) {
			f.fill(s, number, first, end)
		} else if f.outside(s, number) {
			f.take(first, end)
		}
	}
}

// isHour reports whether the number at first is a time of day, and no amount of hours: "à 15 h 30".
func (f *slotFiller) isHour(first int) bool {
	return slices.ContainsFunc(f.Clocks(), func(m datetime.Reading) bool {
		if m.First != first || m.Doubtful || first == 0 {
			return false
		}
		before := f.Words[first-1]
		limit := max(text.BeforeCues.PhraseBefore(f.Words, first), text.AfterCues.PhraseBefore(f.Words, first)) > 0
		_, end := momentReader{f}.ranged(m, f.Clocks())
		return before.Is(text.HourCues) && (before.Norm != "a" || f.Surface(first-1, first) != "a") || limit || before.Is(text.BetweenWords) || end > 0
	})
}

// ambiguous records that figures have several readings: 1,500 in a language that writes decimals with a comma.
func (f *slotFiller) ambiguous(s *slot, words string, numbers []json.Number) {
	readings := lists.Map(numbers, func(number json.Number) string { return string(number) })
	why := f.ask(s, words, readings)
	f.reasons[s.Name], f.unusable[s.Name] = why, why
}

// ask notes the question which of several readings words have, and returns the reason why they are no value.
func (f *slotFiller) ask(s *slot, words string, readings []string) (why string) {
	both := strings.Join(readings, " or ")
	f.questions[s.Name] = words + ": " + both + "?"
	return fmt.Sprintf("%q may be %s", words, both)
}

// outside reports whether the number misses the slot's bounds, and records how.
func (f *slotFiller) outside(s *slot, number json.Number) bool {
	why := s.misses(number)
	if why != "" {
		f.reasons[s.Name], f.unusable[s.Name] = why, why
	}
	return why != ""
}

// misses returns how the number misses the slot's bounds; empty if it does not.
func (s *slot) misses(number json.Number) string {
	value, err := number.Float64()
	if err != nil {
		return ""
	}
	if low, err := s.Min.Float64(); err == nil && value < low {
		return fmt.Sprintf("%s is below the minimum of %s", number, s.Min)
	}
	if high, err := s.Max.Float64(); err == nil && value > high {
		return fmt.Sprintf("%s is above the maximum of %s", number, s.Max)
	}
	return ""
}

func (f *slotFiller) amounts(s *slot) []quantity.Amount {
	var fit []quantity.Amount
	said := f.AmountsIn(*s.Unit)
	for i, one := range said {
		first, end := f.Within(one.From, one.To)
		if i > 0 && one.Range && one.Loose && namesOther(f, s, said[i-1]) {
			one.Range = false
		}
		switch {
		case !f.free(first, end):
		case one.Denied:
			f.take(first, end)
		case one.Bare() || f.isHour(first):
		case len(s.Unit.Numbers(one)) > 1:
			f.ambiguous(s, f.Surface(first, end), s.Unit.Numbers(one))
		case len(s.Unit.Numbers(one)) == 1 && !f.doubts(s, first, end):
			fit = append(fit, one)
		}
	}
	return fit
}

// namesOther reports whether a number that looks like the start of a range is of a code, or of another parameter whose name is
// before it: "the speed of T-31 to 80 km/h", "the size of line 4 to 250 units".
func namesOther(f *slotFiller, s *slot, one quantity.Amount) bool {
	first, _ := f.Within(one.From, one.To)
	if first > 0 && joiners[f.Gap(first-1)] {
		return true
	}
	return slices.ContainsFunc(f.all, func(other *slot) bool { return other != s && other.counts() && other.quantity()[f.At(first-1).Stem] })
}

// A number that is a bound, an estimate, an exclusion, a change, or in another unit is no exact value: "up to 500",
// "about 20", "anything but 40", "by 10", "20 dollars" for an amount in euros. A wrong value does harm; a missing
// one is asked for.

// doubts reports whether the number in the words from first to before end is no value of the slot, and records why
// for the user.
func (f *slotFiller) doubts(s *slot, first, end int) bool {
	changes := func(w text.Word) bool { return w.Is(text.ChangeWords) && !f.own[w.Stem] }
	changed := func() string { // the amount of a change: "by 10", "10 degrees warmer", "um 2 Grad höher"
		if f.At(first-1).Is(text.StepCues) && slices.ContainsFunc(f.Words, changes) {
			return f.Surface(first-1, end)
		}
		for i := end; i < min(end+2, len(f.Words)) && f.Adjoins(i-1); i++ {
			towards := f.Words[i].Is(text.StopWords) && f.At(i+1).Is(text.TargetCues) // "two towels up to room 5"
			if f.Words[i].Is(text.MoreWords) && !towards && !f.own[f.Words[i].Stem] {
				return f.Surface(first, i+1)
			}
		}
		return ""
	}
	why := ""
	estimates := func(from, to int) bool {
		return text.Estimates.PhraseAt(f.Words, from) > 0 || text.Estimates.PhraseBefore(f.Words, to) > 0
	}
	if from, to := f.inexact(first, end); to > from && (!s.describedFor(text.BoundNames) || estimates(from, to)) {
		why = fmt.Sprintf("%q is no exact number", f.Surface(from, to))
	} else if change := changed(); change != "" {
		why = fmt.Sprintf("%q is a change, and no number to set", change)
	} else if part := f.partOfSum(s, first, end); part != "" {
		why = part
	} else if said := f.unitAt(first, end); said != 0 && s.Unit == nil { // declared units are converted
		var own []int // units in the slot's name and description
		for _, w := range append(text.Split(s.Description), s.name...) {
			if unit := unitOf[w.Norm]; unit != 0 {
				own = append(own, unit)
			}
		}
		if len(own) > 0 && !slices.Contains(own, said) {
			why = fmt.Sprintf("%q is in another unit", f.Surface(first, min(end+1, len(f.Words))))
		}
	}
	if why != "" && f.reasons[s.Name] == "" {
		f.reasons[s.Name] = why
	}
	return why != ""
}

// partOfSum returns why the number is only a part of what is meant, or counts something else: "50 euros plus 3 euros",
// "twelve euros fifty", "fifty cents", "twice 50", "four people" for a quantity of towels. It is empty if it is all of it.
func (f *slotFiller) partOfSum(s *slot, first, end int) string {
	after := end
	if f.At(after).Is(text.Currencies) && f.Adjoins(after-1) {
		after++
	}
	amount := func(i int) bool { return len(f.Numbers(i)) > 0 || f.At(i).Is(text.Articles) }
	if times, until := text.Repeats(f.Text.Text); times < until && (until == first || until == end) {
		return fmt.Sprintf("%q is said more than once", f.Surface(first, end))
	}
	before := first - 1
	switch next := f.At(after); {
	case s.Unit == nil && f.At(end).Is(text.CentNames) && !slices.ContainsFunc(append(text.Split(s.Description), s.name...), func(w text.Word) bool { return w.Is(text.CentNames) }):
		return fmt.Sprintf("%q is in another unit", f.Surface(first, end+1))
	case next.Is(text.SumWords) && amount(after+1), next.Is(text.JoinWords, text.AdditionPhrases) && len(f.Numbers(after+1)) > 0 && f.At(f.Numbers(after + 1)[0].End).Is(text.CentNames), f.At(before).Is(text.SumWords) && (f.At(before-1).Is(text.Currencies) || len(f.Numbers(before-1)) > 0):
		return fmt.Sprintf("%q is a part of a sum", f.Surface(first, after))
	case after > end && f.Adjoins(after-1) && len(f.Numbers(after)) > 0, f.At(before).Is(text.Currencies) && f.Adjoins(before) && len(f.Numbers(before-1)) > 0:
		return fmt.Sprintf("%q goes on with another number", f.Surface(first, after))
	case f.At(end).Is(text.PeopleWords) && !s.countsPeople():
		return fmt.Sprintf("%q counts people", f.Surface(first, end+1))
	case s.Unit != nil && isPeople(s.Unit.String()) && f.At(end).StemIs(text.UnitNames) && !f.At(end).StemIs(text.PeopleWords):
		return fmt.Sprintf("%q counts no people", f.Surface(first, end+1))
	}
	return ""
}

// inexact finds the words around a number by which it is a bound, an estimate or a share; to is 0 for none. "120
// over 80" is no bound.
func (f *slotFiller) inexact(first, end int) (from, to int) {
	if before := strings.TrimRight(f.Said[:startOf(f, first)], " €$£"); strings.TrimRight(before, "~≈<>≤≥±") != before {
		return first, end
	}
	for near := 2; near <= 3 && f.At(first-1).Is(text.OrWords); near++ {
		if f.At(first - near).Is(text.IndefiniteWords) { // "une ou deux vestes", "a night or two"
			return first - near, end
		}
	}
	at := first - text.InexactPhrases.PhraseBefore(f.Words, first)
	if length := text.InexactPhrases.PhraseBefore(f.Words, first-1); at == first && length > 0 && f.At(first-1).Is(text.ClockCues, text.TargetCues) && f.Adjoins(first-2) {
		at = first - 1 - length // "circa a 20 gradi"
	}
	if at < first && !(at > 0 && len(f.Numbers(at-1)) > 0 && f.Adjoins(at-1)) {
		return at, end
	}
	if f.At(first-1).Is(text.OfWords) && slices.ContainsFunc(f.Amounts(), func(one quantity.Amount) bool {
		_, last := f.Within(one.From, one.To)
		return last == first-1 || one.To <= f.Words[first-1].Start && strings.TrimSpace(f.Said[one.To:f.Words[first-1].Start]) == "%"
	}) { // "10 percent of 500 euros"
		return first - 1, end
	}
	after := end
	if end < len(f.Words) && f.Adjoins(end-1) && f.unitAt(first, end) != 0 && f.currencyBefore(f.Words[first].Start) == "" {
		after++
	}
	named := f.At(after-1).Is(text.PersonCues, text.DestinationCues, text.TargetCues) && after < len(f.Words) && f.Capital(after) // "20 Euro an Max"
	if length := text.InexactEndings.PhraseAt(f.Words, after); length > 0 && f.Adjoins(after-1) && !named {
		return first, after + length
	}
	return 0, 0
}

// startOf returns where the word at a place begins. An amount such as "½ %" has no word, and may end the text.
func startOf(f *slotFiller, i int) int {
	if i == len(f.Words) {
		return len(f.Said)
	}
	return f.Words[i].Start
}

// unitAt returns the unit of the number in the words from first to before end; 0 if unknown.
func (f *slotFiller) unitAt(first, end int) int {
	if sign := f.currencyBefore(startOf(f, first)); sign != "" {
		return unitOf[sign]
	}
	if before := f.At(first - 1); before.Is(text.Currencies) && f.Adjoins(first-1) && unitOf[f.Norm(end)] == 0 { // "EUR 50"
		return unitOf[before.Norm]
	}
	if end < len(f.Words) && f.Adjoins(end-1) {
		return unitOf[f.Norm(end)]
	}
	rest := strings.TrimSpace(f.Gap(end - 1))
	_, size := utf8.DecodeRuneInString(rest)
	return unitOf[rest[:size]]
}

// unitOf numbers units by their names and signs.
var unitOf = func() map[string]int {
	found := map[string]int{}
	for i, names := range []string{
		"dollar dollars usd buck bucks $", "euro euros eur €", "pound pounds gbp quid £ pfund livre livres", "franc francs chf franken", "yen jpy ¥",
		"second seconds sec secs sekunde sekunden seconde secondes", "minute minutes min mins minuten", "hour hours hr hrs stunde stunden heure heures",
		"day days tag tage tagen jour jours", "week weeks woche wochen semaine semaines", "month months monat monate monaten mois", "year years jahr jahre an ans annee annees",
		"celsius centigrade", "fahrenheit", "percent prozent pourcent %",
		"kilometer kilometers kilometre kilometres km", "mile miles mi meile meilen", "meter meters metre metres", "foot feet ft",
		"kilogram kilograms kilo kilos kg", "gram grams gramm gramme grammes", "milligram milligrams mg", "liter liters litre litres", "gallon gallons",
	} {
		for name := range strings.FieldsSeq(names) {
			found[name] = i + 1
		}
	}
	return found
}()

// figures finds the certain numbers that no value has taken, without ends of ranges, denied ones, and parts of
// codes such as A-1234.
func (f *slotFiller) figures() []datetime.Reading {
	var found []datetime.Reading
	said := f.Amounts()
	for i := 0; i < len(f.Words); {
		numbers := f.Numbers(i)
		i++
		if len(numbers) > 1 && numbers[0].Doubtful {
			i = numbers[1].End // the 250 of "1 250 euros" is no number
		}
		if len(numbers) == 0 || numbers[0].Doubtful || numbers[0].Exact == "" || !f.free(numbers[0].First, numbers[0].End) {
			continue
		}
		n := numbers[0]
		i = n.End
		ofCode := n.First > 0 && joiners[f.Gap(n.First-1)] && strings.ContainsFunc(f.Norm(n.First-1), unicode.IsLetter)
		if !ofCode && !slices.ContainsFunc(said, func(one quantity.Amount) bool { return overlap(n, one) && (one.Range && !one.Loose || one.Denied) }) {
			found = append(found, n)
		}
	}
	return found
}

func overlap(n datetime.Reading, one quantity.Amount) bool { return n.From < one.To && one.From < n.To }

// exact returns the figures for the slot's number without conversion: for a slot with a unit, none with a unit, in
// a range or denied.
func (f *slotFiller) exact(s *slot) []datetime.Reading {
	var said []quantity.Amount
	if s.Unit != nil {
		said = f.AmountsIn(*s.Unit)
	}
	return slices.DeleteFunc(f.figures(), func(n datetime.Reading) bool {
		return f.doubts(s, n.First, n.End) || slices.ContainsFunc(said, func(one quantity.Amount) bool {
			return overlap(n, one) && (!one.Bare() || one.Range || one.Denied)
		})
	})
}

// readNumbers gives each numeric parameter the number beside a word of its name, and a single parameter the single
// remaining number.
func readNumbers(f *slotFiller) {
	f.markedNumbers()
	for _, s := range f.slots((*slot).counts) {
		if beside := f.beside(s); len(beside) == 1 {
			f.number(s, beside[0])
		}
	}
	s := f.lone((*slot).counts)
	if s == nil {
		return
	}
	left := f.exact(s)
	if one, ok := single(f, s); ok && len(left) == 0 {
		f.fill(s, json.Number("1"), one, one+1)
		return
	}
	if len(left) != 1 || !f.countsFor(s, left[0]) || !f.isFor(s, left[0]) {
		return
	}
	if s.takes(json.Number(left[0].Exact)) {
		f.number(s, left[0])
	} else if (s.Required || f.isNamed(s, left[0])) && f.outside(s, json.Number(left[0].Exact)) {
		f.take(left[0].First, left[0].End)
	}
}

// single returns the place of the only article that is also the word for one, before a thing that examples count for a
// required slot: "para una noche", "für einen Monat".
func single(f *slotFiller, s *slot) (at int, ok bool) {
	const least, ending = 3, 2 // of a noun, and of its plural
	counted := func(w text.Word) bool {
		for right := range s.taught.right {
			if len(w.Norm) >= least && strings.HasPrefix(right, w.Norm) && len(right)-len(w.Norm) <= ending {
				return true
			}
		}
		return false
	}
	if !s.Required || s.Unit != nil || s.taught == nil || !s.takes("1") {
		return 0, false
	}
	found := 0
	for i, w := range f.Words[:max(0, len(f.Words)-1)] {
		one := w.IsForeign(text.IndefiniteWords) && (strings.HasPrefix(w.Norm, "un") || strings.HasPrefix(w.Norm, "ein")) && !strings.HasSuffix(w.Norm, "s")
		if next := f.Words[i+1]; one && f.Adjoins(i) && counted(next) && !f.At(i+2).Is(text.OrWords) && f.free(i, i+1) && !f.doubts(s, i, i+1) && !f.Excludes(i, i+2) {
			at, found = i, found+1
		}
	}
	return at, found == 1
}

// markedNumbers gives each parameter the number between two words between which an example marks one: the marks
// distinguish several parameters, as in "120 over 80", and for a single one tell what it counts: "add [two] shirts".
func (f *slotFiller) markedNumbers() {
	cued := f.slots(func(s *slot) bool { return s.counts() && s.taught != nil })
	here := f.sentence()
	for _, s := range cued {
		found := slices.DeleteFunc(f.exact(s), func(n datetime.Reading) bool {
			left, _ := here.leftOf(n.First)
			right, knows := s.taught.knows(here.rightOf(n.End))
			return !s.taught.left[left] || !knows || len(cued) == 1 && (noWord(left) || noWord(right) || text.StopWords.Has(right))
		})
		if len(found) != 1 {
			continue
		}
		if s.takes(json.Number(found[0].Exact)) {
			f.number(s, found[0])
		} else if f.outside(s, json.Number(found[0].Exact)) {
			f.take(found[0].First, found[0].End)
		}
	}
}

// beside returns the figures next to a word of the slot's name: "2 rooms", "room 2", "party of 4".
func (f *slotFiller) beside(s *slot) []datetime.Reading {
	figures, topic := f.exact(s), s.quantity()
	for _, other := range f.slots((*slot).counts) {
		for stem := range other.quantity() {
			if other != s {
				delete(topic, stem) // it does not distinguish the two
			}
		}
	}
	tells := func(w text.Word) bool { // bedrooms for beds
		for stem := range topic {
			if w.Stem == stem || len(stem) >= 3 && strings.HasPrefix(w.Stem, stem) {
				return true
			}
		}
		return false
	}
	return slices.DeleteFunc(figures, func(n datetime.Reading) bool {
		before := n.First - 1
		for before > 0 && f.Words[before].Is(text.LinkingWords, text.LabelWords) {
			before--
		}
		return !tells(f.At(n.End)) && !tells(f.At(before))
	})
}

// quantity returns the stems beside which a number is the slot's.
func (s *slot) quantity() map[string]bool {
	found := map[string]bool{}
	for _, w := range s.name {
		if !w.Is(text.StopWords, text.PlaceholderWords) {
			found[w.Stem] = true
		}
	}
	return found
}

// countsFor reports whether the number counts nothing foreign to the slot: the 2 of "2 lamps" is no party size.
func (f *slotFiller) countsFor(s *slot, n datetime.Reading) bool {
	amounts := s.namedFor(text.AmountNames) || s.stemmed("number", "how") // of anything
	if amounts && f.labels(n) || s.stemmed("pin", "code", "passcode") && len(n.Exact) < shortestCode {
		return false
	}
	if n.End >= len(f.Words) || !f.Adjoins(n.End-1) {
		return true
	}
	switch next := f.Words[n.End]; {
	case next.Is(text.PoliteWords, text.InsteadWords, text.TrailingWords, text.PeopleWords):
		return true
	case f.listedAt[n.End] && (amounts || s.Type == "integer" && s.Unit == nil): // "three beers"
		return true
	default:
		return !next.IsSubject() || s.about[next.Stem] || next.StemIs(text.UnitNames) || amounts && s.Numeric() && f.name[next.Stem]
	}
}

// countsPeople reports whether the slot may be a number of people: by its words or its unit, because an example has
// people after its value, or because a required one is for no other thing, such as days.
func (s *slot) countsPeople() bool {
	marked := s.taught != nil && slices.ContainsFunc(slices.Collect(maps.Keys(s.taught.right)), text.PeopleWords.Has)
	if marked || s.isNamed(text.GroupNames) || s.describedFor(text.PeopleWords) || s.Unit != nil && isPeople(s.Unit.String()) {
		return true
	}
	others := []text.List{text.TimeUnits, text.DayUnits, text.UnitNames, text.Currencies, text.RoomNames, text.CodeNames, text.AmountNames, text.RatingNames}
	return s.Required && s.Unit == nil && (s.stemmed("count", "quantity") || !slices.ContainsFunc(others, s.namedFor))
}

// CountAt is for the words of a tool's thing from first to before end, which may begin with a number: the parameter that counts
// things, the number, and where the thing begins. The name is empty for none.
func CountAt(t *datetime.Text, tool *repositories.Tool, first, end int) (name string, number json.Number, thing int) {
	return countIn(t, toolSlotsOf(tool), first, end)
}

func countIn(t *datetime.Text, of *toolSlots, first, end int) (name string, number json.Number, thing int) {
	numbers := t.Numbers(first)
	if len(numbers) != 1 || numbers[0].Doubtful || numbers[0].First != first || numbers[0].End >= end || !t.Adjoins(numbers[0].End-1) {
		return "", "", first
	}
	n := numbers[0]
	if w := t.Words[n.End]; !w.IsSubject() || unitOf[w.Norm] != 0 || w.Is(text.UnitSigns, text.Currencies) || w.StemIs(text.UnitNames) || t.Words[first].Is(text.Ordinals, text.IndefiniteWords) {
		return "", "", first
	}
	var counting []*slot
	for _, s := range of.all {
		if s.Type == "integer" && s.Unit == nil && len(s.Allowed) == 0 && (s.namedFor(text.AmountNames) || countsSome(s.Description)) {
			counting = append(counting, s)
		}
	}
	if len(counting) != 1 || !counting[0].takes(json.Number(n.Exact)) {
		return "", "", first
	}
	return counting[0].Name, json.Number(n.Exact), n.End
}

// splitCounts gives the number that a name of a thing begins with to the parameter that counts things: "four pens".
func splitCounts(f *slotFiller) {
	for _, s := range f.all {
		if span, ok := f.spans[s.Name]; ok && s.free && !s.sentence() {
			if name, number, rest := countIn(f.Text, f.toolSlots, span[0], span[1]); f.values[name] == nil && rest > span[0] {
				f.values[name], f.values[s.Name] = number, f.Surface(rest, span[1])
			}
		}
	}
}

// isPeople reports whether a unit is of people, as guests is.
func isPeople(unit string) bool { return text.PeopleWords.HasStem(text.Stem(text.Fold(unit))) }

// labels reports whether the number belongs to the noun before it: "table three", "building 4", but not "bring 4".
func (f *slotFiller) labels(n datetime.Reading) bool {
	if n.First == 0 || !f.Adjoins(n.First-1) {
		return false
	}
	before := f.Words[n.First-1]
	verb := text.ActingOf([]text.Word{before}).Plain && !text.Gerund(before) && !f.At(n.First-2).Is(text.PlaceCues, text.Articles, text.Definites, text.OfWords)
	return before.IsSubject() && !before.Is(text.Currencies) && !f.means(before) && !verb && !strings.HasSuffix(before.Norm, "ly")
}

// isFor reports whether a single number belongs to the slot although no word of its name is beside it. In
// "ibuprofen 600" and "vitamin D 1000" the number belongs to the noun. An optional slot takes it only with a
// supporting word beside it (contract 19); a required one too if the noun may be another parameter's text.
func (f *slotFiller) isFor(s *slot, n datetime.Reading) bool {
	if len(s.Allowed) > 0 || s.Required && len(f.kinds.Free) == 0 || f.isNamed(s, n) {
		return true
	}
	for i := n.First - 1; i >= 0 && f.Adjoins(i); i-- {
		if w := f.Words[i]; !w.Is(text.LinkingWords, text.Articles) {
			if w.IsSubject() && isAbout(f, s, w) {
				return true
			}
			if f.At(i+1).Is(text.Copulas) && w.IsSubject() && !f.means(w) {
				return false // "the pressure is 4"
			}
			break
		}
	}
	before := f.At(n.First - 1)
	ends := n.First > 0 && f.Adjoins(n.First-1) && (len(before.Norm) == 1 && !before.Is(text.Articles) || text.StartsWithDigit(before.Norm))
	begins := !slices.ContainsFunc(f.Words[:max(0, n.First-1)], func(w text.Word) bool { return !w.Is(text.Fillers, text.PoliteWords, text.Persons) })
	noun := f.name[before.Stem] && !before.Is(text.ActionVerbs) && !begins
	counted := !s.Required && n.First > 0 && f.Adjoins(n.First-1) && noun && len(n.Exact) == 1 // "the pump 2", but not "dim 2", "the light 30"
	return !ends && !counted && !f.labels(n)
}

// isNamed reports whether a unit, or a word after the number, tells what it counts.
func (f *slotFiller) isNamed(s *slot, n datetime.Reading) bool {
	if f.unitAt(n.First, n.End) != 0 {
		return true
	}
	if n.End >= len(f.Words) || !f.Adjoins(n.End-1) {
		return false
	}
	next := f.Words[n.End]
	return next.IsSubject() && isAbout(f, s, next) || s.Unit != nil && next.StemIs(text.UnitNames) || next.Is(text.PeopleWords) || f.listedAt[n.End]
}

// isAbout reports whether a word is one of the slot's name, or of its description and not of the tool's name: 2 is no speed
// in "start pump 2", whose speed is that "of the pump".
func isAbout(f *slotFiller, s *slot, w text.Word) bool {
	return s.about[w.Stem] && (!f.name[w.Stem] || slices.ContainsFunc(s.name, func(own text.Word) bool { return own.Stem == w.Stem }))
}

// number fills the slot; a string takes the figure as written.
func (f *slotFiller) number(s *slot, n datetime.Reading) {
	if s.Numeric() {
		f.fill(s, json.Number(n.Exact), n.First, n.End)
		return
	}
	f.fill(s, f.currencyBefore(n.From)+f.Said[n.From:n.To], n.First, n.End)
}

func (s *slot) takes(number json.Number) bool {
	value, err := number.Float64()
	if err != nil || s.Type == "integer" && strings.Contains(string(number), ".") || s.misses(number) != "" {
		return false
	}
	return len(s.Allowed) == 0 || slices.ContainsFunc(s.Allowed, func(allowed any) bool {
		one, _ := allowed.(json.Number)
		other, err := one.Float64()
		return err == nil && other == value
	})
}
