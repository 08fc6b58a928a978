package values

import (
	"fmt"
	"slices"
	"strings"

	"earshot/matcher/datetime"
	"earshot/matcher/text"
)

// A number that is a bound, an estimate, an exclusion, a change, or in another unit is no value of a
// parameter that wants an exact one: "up to 500", "about 20", "anything but 40", "by 10", "20 dollars" for
// an amount in euros. Acted upon, it does harm; where it is missing, it is asked for.

// doubt says why the number that stands in the words from first to before end is no value of the slot, as
// what the user is told; empty where it is one.
func (r numberReader) doubt(s *slot, first, end int) string {
	if length := text.InexactPhrases.PhraseBefore(r.Words, first); length > 0 && !s.bounds() && !r.follows(first-length) {
		return fmt.Sprintf("%q is no exact number", r.Surface(first-length, end))
	}
	if change := r.change(first, end); change != "" {
		return fmt.Sprintf("%q is a change, and no number to set", change)
	}
	if said := r.unitAt(first, end); said != 0 {
		if own := s.ownUnits(); len(own) > 0 && !slices.Contains(own, said) {
			return fmt.Sprintf("%q is in another unit", r.Surface(first, min(end+1, len(r.Words))))
		}
	}
	return ""
}

// exact are the figures that may be the slot's, and notes why others are not.
func (r numberReader) exact(s *slot, figures []datetime.Reading) []datetime.Reading {
	return slices.DeleteFunc(slices.Clone(figures), func(f datetime.Reading) bool { return r.doubts(s, f.First, f.End) })
}

// doubts reports whether the words are no value of the slot, and notes why.
func (r numberReader) doubts(s *slot, first, end int) bool {
	why := r.doubt(s, first, end)
	if why != "" {
		r.why[s.Name] = why
	}
	return why != ""
}

// bounds reports whether the slot asks for a bound: a maximum, a budget.
func (s *slot) bounds() bool { return s.describedBy(boundNames) }

var boundNames = text.BoundNames.Stems()

// follows reports whether a number stands right before the word: "120 over 80" is no bound.
func (r numberReader) follows(at int) bool {
	return at > 0 && len(r.Numbers(at-1)) > 0 && strings.TrimSpace(r.Gap(at-1)) == ""
}

// change returns the words by which a number says how much more or less is wanted, where the tool is not
// one that raises or lowers: "by 10", "10 degrees warmer", "um 2 Grad höher".
func (r numberReader) change(first, end int) string {
	changes := func(w text.Word) bool { return w.Is(text.ChangeWords) && !r.own[w.Stem] }
	if first > 0 && text.StepCues.Has(r.Norm(first-1)) && slices.ContainsFunc(r.Words, changes) {
		return r.Surface(first-1, end)
	}
	for i := end; i < min(end+2, len(r.Words)) && strings.TrimSpace(r.Gap(i-1)) == ""; i++ {
		if text.MoreWords.Has(r.Norm(i)) && !r.own[r.Words[i].Stem] {
			return r.Surface(first, i+1)
		}
	}
	return ""
}

// unitAt is the unit of the number in the words from first to before end; 0 for none that is known.
func (r numberReader) unitAt(first, end int) int {
	if sign := currency.FindString(r.Said[:r.Words[first].Start]); sign != "" {
		return unitOf[sign]
	}
	if end < len(r.Words) && strings.TrimSpace(r.Gap(end-1)) == "" {
		return unitOf[r.Norm(end)]
	}
	if rest := r.Said[r.Words[end-1].End:]; rest != "" {
		return unitOf[strings.TrimSpace(rest)[:firstRune(strings.TrimSpace(rest))]]
	}
	return 0
}

func firstRune(said string) int {
	for i := range said {
		if i > 0 {
			return i
		}
	}
	return len(said)
}

// ownUnits are the units that the slot's name and description speak of. Where it declares one, other units
// are converted (package quantity).
func (s *slot) ownUnits() []int {
	if s.Unit != nil {
		return nil
	}
	var found []int
	for _, w := range append(text.Split(s.Description), s.name...) {
		if unit := unitOf[w.Norm]; unit != 0 {
			found = append(found, unit)
		}
	}
	return found
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
		for _, name := range strings.Fields(names) {
			found[name] = i + 1
		}
	}
	return found
}()
