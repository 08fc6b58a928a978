package quantity

import "math/big"

// signs are the fractions that are one character.
var signs = map[string]*big.Rat{"½": big.NewRat(1, 2), "¼": big.NewRat(1, 4), "¾": big.NewRat(3, 4)}

// number reads the number that begins at i. It is not bare where the words are one only
// before a unit: "an" hour, "half" a pound. end is i for none.
func (p parser) number(i int) (numbers []*big.Rat, end int, bare bool) {
	if numbers, end := p.fraction(i); end > i {
		return numbers, end, false
	}
	if i < len(p.tokens) && len(p.tokens[i].figures) > 0 {
		return p.afterFigures(p.tokens[i].figures, i+1)
	}
	if sign := signs[p.at(i)]; sign != nil {
		return []*big.Rat{sign}, i + 1, true
	}
	if twice, is := halfs()[p.at(i)]; is {
		return []*big.Rat{big.NewRat(int64(twice), 2)}, i + 1, true
	}
	first := i
	if in(articles, p.at(i)) && scales()[p.at(i+1)] > 0 { // a hundred
		first++
	}
	value, end := p.spelled(first)
	if end > first {
		return p.withFraction([]*big.Rat{big.NewRat(int64(value), 1)}, end)
	}
	if in(articles, p.at(i)) {
		numbers, end, _ := p.withFraction([]*big.Rat{big.NewRat(1, 1)}, i+1)
		return numbers, end, false
	}
	return nil, i, false
}

// afterFigures reads ½ and 1/2 after a number, and a time that is written as 1:30.
func (p parser) afterFigures(numbers []*big.Rat, end int) ([]*big.Rat, int, bool) {
	if sign := signs[p.at(end)]; sign != nil {
		return plus(numbers, sign), end + 1, true
	}
	if below, ok := p.slash(end); ok { // 1/2
		return each(numbers, func(n *big.Rat) *big.Rat { return new(big.Rat).Quo(n, below) }), end + 2, true
	}
	if end+2 < len(p.tokens) && len(p.tokens[end].figures) == 1 && !p.tokens[end].tight { // 2 1/2
		if below, ok := p.slash(end + 1); ok {
			return plus(numbers, new(big.Rat).Quo(p.tokens[end].figures[0], below)), end + 3, true
		}
	}
	return p.withFraction(numbers, end)
}

// slash reads what figures are divided by.
func (p parser) slash(i int) (*big.Rat, bool) {
	if p.at(i) != "/" || !p.tokens[i].tight || i+1 >= len(p.tokens) || !p.tokens[i+1].tight {
		return nil, false
	}
	below := p.tokens[i+1].figures
	if len(below) != 1 || below[0].Sign() == 0 {
		return nil, false
	}
	return below[0], true
}

// withFraction reads the half of "one and a half hours", and the quarters of "three quarters
// of an hour".
func (p parser) withFraction(numbers []*big.Rat, end int) ([]*big.Rat, int, bool) {
	if part, after := p.partOf(end); after > end {
		return each(numbers, func(n *big.Rat) *big.Rat { return new(big.Rat).Mul(n, part) }), after, false
	}
	if !in(ands, p.at(end)) {
		return numbers, end, true
	}
	at := end + 1
	if in(articles, p.at(at)) {
		at++
	}
	part := parts()[p.at(at)]
	if part == 0 {
		return numbers, end, true
	}
	if named, _, _ := p.unit(at + 1); named == "" {
		return numbers, end, true
	}
	return plus(numbers, big.NewRat(1, int64(part))), at + 1, false
}

// fraction reads "half an hour" and "a quarter of an hour", up to the unit.
func (p parser) fraction(i int) ([]*big.Rat, int) {
	at := i
	if in(articles, p.at(at)) {
		at++
	}
	part, end := p.partOf(at)
	if end == at {
		return nil, i
	}
	return []*big.Rat{part}, end
}

// partOf reads a fraction with what leads from it to its unit. end is i for none.
func (p parser) partOf(i int) (*big.Rat, int) {
	part := parts()[p.at(i)]
	if part == 0 {
		return nil, i
	}
	at := i + 1
	if p.at(at) == "-" { // une demi-heure
		at++
	}
	if in(leading, p.at(at)) {
		at++
	}
	if in(articles, p.at(at)) {
		at++
	}
	if named, _, _ := p.unit(at); named == "" {
		return nil, i
	}
	return big.NewRat(1, int64(part)), at
}

// spelled reads a whole number in words, up to the thousands. end is i for none.
func (p parser) spelled(i int) (value, end int) {
	total, current := 0, 0
	for end = i; end < len(p.tokens); end++ {
		word := p.at(end)
		scale := scales()[word]
		if next, is := wholeNumber(word); is && joins(current, next) {
			current = joined(current, next)
			continue
		}
		switch {
		case scale == 100 && current < 10:
			current = max(1, current) * scale
		case word == "cent" && end == i: // a hundred where it is the first word, and money after a number
			current = 100
		case scale == 1000 && total == 0:
			total, current = max(1, current)*scale, 0
		case end > i && (in(ands, word) || word == "-") && p.goesOn(end+1, current):
		default:
			return total + current, end
		}
	}
	return total + current, end
}

// goesOn reports whether a number goes on at i: "twenty-one", "trente et un", "two hundred
// and five".
func (p parser) goesOn(i, current int) bool {
	next, is := wholeNumber(p.at(i))
	return is && current > 0 && (joins(current, next) || current%100 == 0)
}

// joins reports whether next may follow in one number: five after twenty, twelve after
// soixante, vingt after quatre.
func joins(current, next int) bool {
	switch {
	case current == 0:
		return true
	case current%100 == 0:
		return next < 100
	case current == 4 && next == 20:
		return true
	case current%100 == 60 || current%100 == 80:
		return next > 0 && next < 20
	}
	return current%100 >= 20 && current%10 == 0 && next > 0 && next < 10
}

func joined(current, next int) int {
	if current == 4 && next == 20 { // quatre-vingt
		return 80
	}
	return current + next
}
