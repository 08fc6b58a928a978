// Package quantity reads amounts in the words of people: "two hours", "1h30", "eine halbe
// Stunde", "2,5 kg". An amount becomes the number that it is in a given unit, or nothing: a
// unit that does not convert, a range and a negation have no such number. It reads English,
// German, French, Italian and Spanish.
package quantity

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"earshot/repositories/fault"
)

// Unit is what a number counts. The zero Unit is none.
type Unit struct {
	name  string
	means []meaning
	own   string // the folded name of a unit that is not known
}

// Of returns the unit of a name, as minutes or km/h. One that is not known converts nothing: "guests" takes
// "four guests".
func Of(name string) Unit {
	p := newParser(name, "")
	folded := p.name(0, len(p.tokens))
	if means := slices.DeleteFunc(slices.Clone(known()[folded]), func(m meaning) bool { return m.spoken }); len(means) > 0 {
		return Unit{name: name, means: means}
	}
	return Unit{name: name, own: folded, means: []meaning{ownMeaning(folded)}}
}

// String returns the unit's name as it was given.
func (u Unit) String() string { return u.name }

// Amount is a number that a text says, with what it measures.
type Amount struct {
	// From and To are its place in the text, in bytes.
	From, To int
	// Range says that it is an end of two, and Denied what is not meant. Loose may be no range: "lamp 1 to 50
	// percent".
	Range, Loose, Denied bool

	terms []term // an hour and 30 minutes are two
}

// Bare reports whether the text names no unit with the number.
func (a Amount) Bare() bool { return len(a.terms) == 1 && len(a.terms[0].means) == 0 }

// Spoken is the number of the amount as it was said; nothing of an amount in several units.
func (a Amount) Spoken() []json.Number {
	if len(a.terms) != 1 {
		return nil
	}
	return decimals(a.terms[0].numbers)
}

// Amounts reads the numbers of a text, left to right, and what each measures.
func (u Unit) Amounts(text string) []Amount {
	p := newParser(text, u.own)
	var found []Amount
	for i := 0; i < len(p.tokens); {
		one, end := p.amount(i)
		if end == i {
			i++
			continue
		}
		link, before := p.at(end), p.at(i-1)
		one.Denied = p.denied(i, end)
		other, last := Amount{}, end+1
		if linked := ranging[link] || ands[link] && between[before]; linked && !articles[p.at(end+1)] && parts[p.at(end+1)] == 0 {
			other, last = p.amount(end + 1)
		}
		one.Range = last > end+1 && (one.Bare() || other.Bare() || alike(one.terms[0], other.terms[0]))
		// Nothing may begin the range, and its first number may be of a name.
		one.Loose = one.Range && one.Bare() && (link == "to" || link == "a") && before != "" && !between[before] && !starting[before] && !fillers[before]
		one.From, one.To = p.tokens[i].from, p.tokens[end-1].to
		found, i = append(found, one), end
		if one.Range {
			other.Range, other.Loose, other.Denied = true, one.Loose, one.Denied
			other.From, other.To = p.tokens[end+1].from, p.tokens[last-1].to
			found, i = append(found, other), last
		}
	}
	return found
}

// alike reports whether two terms have a dimension in common.
func alike(a, b term) bool {
	return slices.ContainsFunc(a.means, func(one meaning) bool {
		return slices.ContainsFunc(b.means, func(other meaning) bool { return one.dimension == other.dimension })
	})
}

// Numbers returns what an amount may be in the unit: nothing for a range, a negation or another dimension, and
// several if its figures are ambiguous. A bare number is of the unit.
func (u Unit) Numbers(a Amount) []json.Number {
	if a.Range || a.Denied {
		return nil
	}
	sums := []*big.Rat{new(big.Rat)}
	for _, one := range a.terms {
		from, to, ok := u.shared(one)
		if !ok {
			return nil
		}
		var next []*big.Rat
		for _, sum := range sums {
			for _, number := range one.numbers {
				base := new(big.Rat).Mul(number, from.factor)
				base.Add(base, from.zero).Sub(base, to.zero)
				next = append(next, base.Quo(base, to.factor).Add(base, sum))
			}
		}
		sums = next
	}
	return decimals(sums)
}

// shared finds the dimension that the term and the unit share. Plain degrees are not those of Fahrenheit for
// Celsius.
func (u Unit) shared(one term) (from, to meaning, ok bool) {
	if len(one.means) == 0 {
		return u.means[0], u.means[0], true
	}
	for _, to := range u.means {
		for _, from := range one.means {
			otherwise := func(m meaning) bool { return m.dimension == from.dimension && m.factor.Cmp(from.factor) != 0 }
			if from.dimension == to.dimension && (one.named == u.name || from.factor.Cmp(to.factor) == 0 || !slices.ContainsFunc(one.means, otherwise)) {
				return from, to, true
			}
		}
	}
	return meaning{}, meaning{}, false
}

// Digits after the point: of a number that ends there, and of one that does not end.
const maxDecimals, roundedDecimals = 12, 6

// decimals writes numbers in their plainest form. One without an end is rounded.
func decimals(numbers []*big.Rat) []json.Number {
	list := make([]json.Number, len(numbers))
	for i, number := range numbers {
		digits, exact := number.FloatPrec()
		if !exact || digits > maxDecimals {
			digits = roundedDecimals
		}
		text := number.FloatString(digits)
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		list[i] = json.Number(text)
	}
	return list
}

// Read reads a text that is one amount, and returns its number in the unit, or why there is none. A bare number
// is left to others.
func (u Unit) Read(text string) (json.Number, error) {
	said := u.Amounts(text)
	if len(said) == 0 {
		return "", fmt.Errorf("%s is no amount in %s, as in \"5 %s\"", fault.Show(text), u.name, u.name)
	}
	first := said[0]
	switch {
	case first.Denied:
		return "", fmt.Errorf("%s says what is not meant, and no amount", fault.Show(text))
	case first.Range:
		return "", fmt.Errorf("%s is a range, and one amount is wanted", fault.Show(text))
	case len(said) > 1 || strings.Trim(text[:first.From]+text[first.To:], " \t\r\n.") != "":
		return "", fmt.Errorf("%s is not one amount in %s alone", fault.Show(text), u.name)
	case first.Bare():
		return "", fmt.Errorf("%s does not say in which unit it is, as in \"5 %s\"", fault.Show(text), u.name)
	}
	numbers := u.Numbers(first)
	switch len(numbers) {
	case 0:
		return "", fmt.Errorf("%s does not convert to %s", fault.Show(text), u.name)
	case 1:
		return numbers[0], nil
	}
	return "", fmt.Errorf("%s may be %s or %s %s: write it without the point", fault.Show(text), numbers[0], numbers[1], u.name)
}

// Number reads a text that is one number without a unit: "two", "minus 5", "einundzwanzig".
func Number(text string) (json.Number, bool) {
	said := Unit{}.Amounts(text)
	if len(said) != 1 || said[0].Range || said[0].Denied || !said[0].Bare() || strings.TrimSpace(text[:said[0].From]+text[said[0].To:]) != "" {
		return "", false
	}
	numbers := said[0].Spoken()
	if len(numbers) != 1 {
		return "", false
	}
	return numbers[0], true
}
