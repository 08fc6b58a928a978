package values

import (
	"slices"

	"earshot/matcher/datetime"
	"earshot/repositories/quantity"
)

// readAmounts gives each parameter with a unit the one amount that converts to it. The words
// of a range and of a denial are left to nobody.
func (r numberReader) readAmounts() {
	counted := r.slots(func(s *slot) bool { return s.Unit != nil && isNumeric(s) })
	for _, s := range counted {
		rivals := slices.ContainsFunc(counted, func(other *slot) bool { return other != s && r.amountsOf(other) > 0 })
		if said := r.amounts(s); len(said) == 1 && !rivals {
			r.amount(s, said[0])
		}
	}
}

// amountsOf is how many amounts convert to the slot's unit.
func (r numberReader) amountsOf(s *slot) int { return len(r.amounts(s)) }

// amounts are those that convert to the slot's unit, and name one.
func (r numberReader) amounts(s *slot) []quantity.Amount {
	var fit []quantity.Amount
	for _, one := range s.Unit.Amounts(r.Said) {
		first, end := r.Within(one.From, one.To)
		switch {
		case !r.free(first, end):
		case one.Denied:
			r.take(first, end)
		case !one.Bare() && len(s.Unit.Numbers(one)) == 1 && !r.doubts(s, first, end):
			fit = append(fit, one)
		}
	}
	return fit
}

// amount fills the slot, if its rules let the number through.
func (r numberReader) amount(s *slot, said quantity.Amount) {
	if number := s.Unit.Numbers(said)[0]; s.takes(number) {
		first, end := r.Within(said.From, said.To)
		r.fill(s, number, first, end)
	}
}

// take leaves the words from first to before end to no value.
func (r numberReader) take(first, end int) {
	for i := first; i < end; i++ {
		r.taken[i] = true
	}
}

// barely returns the figures that can be the slot's number as they are: where it has a unit,
// none that stands with a unit, is of a range, or is denied.
func (r numberReader) barely(s *slot, figures []datetime.Reading) []datetime.Reading {
	figures = r.exact(s, figures)
	if s.Unit == nil {
		return figures
	}
	said := s.Unit.Amounts(r.Said)
	return slices.DeleteFunc(slices.Clone(figures), func(f datetime.Reading) bool {
		return slices.ContainsFunc(said, func(one quantity.Amount) bool {
			return meets(f, one) && (!one.Bare() || one.Range || one.Denied)
		})
	})
}

// meets reports whether a number and an amount share words.
func meets(f datetime.Reading, one quantity.Amount) bool { return f.From < one.To && one.From < f.To }
