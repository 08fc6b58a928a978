// Package quantity reads amounts in natural language: "two hours", "1h30", "eine halbe Stunde", "2,5 kg". It
// converts an amount to a number in a given unit. An inconvertible unit, a range and a negation have no such
// number. It reads English, German, French, Italian and Spanish.
package quantity

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"earshot/repositories/fault"
)

// Unit is the unit of a number. The zero Unit is none.
type Unit struct {
	name     string
	means    []meaning
	own      string // folded name of a custom unit
	language string // that of the texts; empty if unknown
}

// In returns the unit for texts of a language, as an ISO 639 code, which decides whether 1.500 groups or divides.
// With "mul", for several languages, nothing decides.
func (u Unit) In(language string) Unit {
	u.language = language
	return u
}

// Of returns the unit with a name, such as minutes or km/h. A custom unit converts nothing: "guests" takes "four
// guests".
func Of(name string) Unit {
	p := newParser(name, "", "")
	folded := p.name(0, len(p.tokens))
	if means := slices.DeleteFunc(slices.Clone(knownUnits()[folded]), func(m meaning) bool { return m.spoken }); len(means) > 0 {
		return Unit{name: name, means: means}
	}
	return Unit{name: name, own: folded, means: []meaning{ownMeaning(folded)}}
}

// String returns the unit's name as given.
func (u Unit) String() string { return u.name }

// Amount is a number in a text, with its unit.
type Amount struct {
	// From and To are its place in the text, in bytes.
	From, To int
	// Range means that it is an end of a range, and Denied that it is negated. Loose means that it may not be a
	// range: "lamp 1 to 50 percent".
	Range, Loose, Denied bool

	terms []term // an hour and 30 minutes are two
}

// Bare reports whether the number has no unit.
func (a Amount) Bare() bool { return len(a.terms) == 1 && len(a.terms[0].means) == 0 }

// Spoken returns the possible numbers as said; none for an amount in several units.
func (a Amount) Spoken() []json.Number {
	if len(a.terms) != 1 {
		return nil
	}
	return decimals(a.terms[0].numbers)
}

// Amounts reads the numbers of a text with their units, in order.
func (u Unit) Amounts(text string) []Amount {
	p := newParser(text, u.own, u.language)
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
		// Nothing may introduce the range, and its first number may belong to a name.
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

// Numbers returns the possible numbers of an amount in the unit: none for a range, a negation or another dimension,
// several if its figures are ambiguous. A bare number is taken as the unit's.
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

// shared finds the common dimension of the term and the unit. Plain degrees do not convert from Celsius to
// Fahrenheit.
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

// Digits after the point of finite and of infinite decimals.
const maxDecimals, roundedDecimals = 12, 6

// decimals formats numbers as short as possible. Infinite decimals are rounded.
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

// Read reads a text that is exactly one amount, and returns its number in the unit, or why there is none. It does
// not accept a bare number.
func (u Unit) Read(text string) (json.Number, error) {
	amounts := u.Amounts(text)
	if len(amounts) == 0 {
		return "", fmt.Errorf("%s is not an amount in %s, as in \"5 %s\"", fault.Show(text), u.name, u.name)
	}
	first := amounts[0]
	switch {
	case first.Denied:
		return "", fmt.Errorf("%s is negated, and is not an amount", fault.Show(text))
	case first.Range:
		return "", fmt.Errorf("%s is a range; give one amount", fault.Show(text))
	case len(amounts) > 1 || strings.Trim(text[:first.From]+text[first.To:], " \t\r\n.") != "":
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

// Number reads a text that is exactly one number without a unit: "two", "minus 5", "einundzwanzig".
func Number(text string) (json.Number, bool) {
	amounts := Unit{}.Amounts(text)
	if len(amounts) != 1 || amounts[0].Range || amounts[0].Denied || !amounts[0].Bare() || strings.TrimSpace(text[:amounts[0].From]+text[amounts[0].To:]) != "" {
		return "", false
	}
	numbers := amounts[0].Spoken()
	if len(numbers) != 1 {
		return "", false
	}
	return numbers[0], true
}

// Spelled reads the number in words that a text begins with, and returns its length in bytes; 0 for none.
func Spelled(text string) (value, length int) {
	p := newParser(text, "", "")
	value, end := p.spelled(0)
	if end == 0 {
		return 0, 0
	}
	return value, p.tokens[end-1].to
}

// Decimals reads the spoken decimal sign with its digits that a text begins with, as "point five", and returns the
// length in bytes; 0 for none.
func Decimals(text string) (digits string, length int) {
	if sign, _, _ := strings.Cut(text, " "); !pointWords[strings.ToLower(sign)] {
		return "", 0 // most texts
	}
	p := newParser(text, "", "")
	digits, end := p.decimals(0)
	if end == 0 {
		return "", 0
	}
	return digits, p.tokens[end-1].to
}
