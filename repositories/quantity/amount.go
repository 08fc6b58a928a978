package quantity

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
)

// Amount is a number that a text says, with what it measures.
type Amount struct {
	// From and To are its place in the text, in bytes.
	From, To int
	// Range says that it is one of two ends, and Denied that it is what is not meant. Loose
	// is a range that may be none: "lamp 1 to 50 percent".
	Range, Loose, Denied bool

	terms []term // an hour and 30 minutes are two
}

// term is a number of one unit.
type term struct {
	numbers []*big.Rat // what it may be, in the order of their likelihood
	named   string     // the unit; empty for a bare number
	means   []meaning
}

// Bare reports whether the text names no unit with the number.
func (a Amount) Bare() bool { return len(a.terms) == 1 && len(a.terms[0].means) == 0 }

// parser reads the amounts of a text.
type parser struct {
	tokens []token
	own    string // the name of a unit that nobody else knows
}

// Amounts reads the numbers of a text, left to right, and what each measures.
func (u Unit) Amounts(text string) []Amount {
	p := parser{tokens: tokensOf(text), own: u.own}
	var found []Amount
	for i := 0; i < len(p.tokens); {
		one, end, ok := p.amount(i)
		if !ok {
			i++
			continue
		}
		one.Denied = p.denied(i, end)
		other, last, ranged := p.rangeEnd(one, i, end)
		one.Range, one.Loose = ranged, ranged && p.loose(one, i, end)
		if found = append(found, p.placed(one, i, end)); ranged {
			other.Range, other.Loose, other.Denied = true, one.Loose, one.Denied
			found, end = append(found, p.placed(other, end+1, last)), last
		}
		i = end
	}
	return found
}

func (p parser) placed(one Amount, first, end int) Amount {
	one.From, one.To = p.tokens[first].from, p.tokens[end-1].to
	return one
}

// at is the word at i, and empty beyond the text.
func (p parser) at(i int) string {
	if i < 0 || i >= len(p.tokens) {
		return ""
	}
	return p.tokens[i].norm
}

// rangeEnd reads the other end of a range, as in "2 to 3 hours" and "2 hours or 3".
func (p parser) rangeEnd(one Amount, first, i int) (Amount, int, bool) {
	links := in(ranging, p.at(i)) || in(ands, p.at(i)) && in(between, p.at(first-1))
	if !links || in(articles, p.at(i+1)) || parts()[p.at(i+1)] > 0 {
		return Amount{}, i, false
	}
	other, end, ok := p.amount(i + 1)
	return other, end, ok && (one.Bare() || other.Bare() || one.alike(other))
}

// alike reports whether two amounts have a dimension in common.
func (a Amount) alike(b Amount) bool {
	return slices.ContainsFunc(a.terms[0].means, func(one meaning) bool {
		return slices.ContainsFunc(b.terms[0].means, func(other meaning) bool { return one.dimension == other.dimension })
	})
}

// loose reports whether a range may be none, since nothing begins it and its first number
// may be of a name.
func (p parser) loose(one Amount, first, end int) bool {
	link, before := p.at(end), p.at(first-1)
	return one.Bare() && (link == "to" || link == "a") && before != "" && !in(between, before) && !in(starting, before) && !in(fillers, before)
}

// denied reports whether a negation stands right before the amount, or ends the sentence
// right after it.
func (p parser) denied(first, end int) bool {
	before := first - 1
	for n := 0; n < 2 && in(fillers, p.at(before)); n++ {
		before--
	}
	if in(denying, p.at(before)) {
		return true
	}
	return in(denying, p.at(end)) && p.at(end) != "no" && (end+1 >= len(p.tokens) || strings.Contains(".,;!?", cmp.Or(p.at(end+1), "0")))
}

// amount reads a number with its unit, and smaller units after it: 1 h 30 min.
func (p parser) amount(i int) (Amount, int, bool) {
	one, end, ok := p.term(i)
	if !ok {
		return Amount{}, i, false
	}
	whole := Amount{terms: []term{one}}
	for len(one.means) > 0 {
		next := end
		if in(ands, p.at(next)) {
			next++
		}
		part, after, ok := p.term(next)
		if ok && end == next && len(part.means) == 0 && one.named == "h" && (p.tokens[next].tight || p.at(after) == "") { // 1h30
			part.means, part.named = known()["min"], "min"
		}
		if !ok || !part.under(one) {
			break
		}
		whole.terms, one, end = append(whole.terms, part), part, after
	}
	return whole, end, true
}

// under reports whether the term is of a smaller unit of the same dimension.
func (t term) under(larger term) bool {
	return slices.ContainsFunc(t.means, func(small meaning) bool {
		return slices.ContainsFunc(larger.means, func(large meaning) bool {
			return small.dimension == large.dimension && small.dimension != "temperature" && small.factor.Cmp(large.factor) < 0
		})
	})
}

// term reads one number with its unit, if it has one.
func (p parser) term(i int) (term, int, bool) {
	minus := false
	if p.at(i) == "minus" || p.at(i) == "-" && (i == 0 || !p.tokens[i].tight) {
		minus, i = true, i+1
	}
	sign := p.at(i)
	if in(currency, sign) {
		i++
	}
	numbers, end, bare := p.number(i)
	if end == i {
		return term{}, i, false
	}
	read := term{numbers: numbers}
	read.named, read.means, end = p.unit(end)
	if in(currency, sign) && read.named == "" {
		read.named, read.means = sign, known()[sign]
	}
	if read.named == "" && !bare {
		return term{}, i, false
	}
	if minus {
		read.numbers = each(numbers, func(n *big.Rat) *big.Rat { return new(big.Rat).Neg(n) })
	}
	return p.andHalf(read, end)
}

// andHalf reads what is said after a unit: "an hour and a half".
func (p parser) andHalf(read term, end int) (term, int, bool) {
	at := end + 1
	if read.named == "" || !in(ands, p.at(end)) {
		return read, end, true
	}
	if in(articles, p.at(at)) {
		at++
	}
	part := parts()[p.at(at)]
	if part == 0 {
		return read, end, true
	}
	if named, _, _ := p.unit(at + 1); named != "" {
		return read, end, true
	}
	read.numbers = plus(read.numbers, big.NewRat(1, int64(part)))
	return read, at + 1, true
}

// unit reads the name of a unit, the longest that there is, after a hyphen where there is one.
func (p parser) unit(i int) (string, []meaning, int) {
	if p.at(i) == "-" && i+1 < len(p.tokens) && p.tokens[i].tight && p.tokens[i+1].tight && p.at(i+1) != "" {
		i++
	}
	for length := longestName; length > 0; length-- {
		name := p.name(i, length)
		if means := known()[name]; len(means) > 0 {
			return name, means, i + length
		}
		if p.own != "" && name != "" && singular(name) == singular(p.own) {
			return name, []meaning{ownMeaning(p.own)}, i + length
		}
	}
	return "", nil, i
}

// name joins words to what may be the name of a unit.
func (p parser) name(i, length int) string {
	if i+length > len(p.tokens) {
		return ""
	}
	var name strings.Builder
	for n := i; n < i+length; n++ {
		word := p.tokens[n].norm
		if word == "" {
			return ""
		}
		if n > i && word != "/" && p.tokens[n-1].norm != "/" {
			name.WriteByte(' ')
		}
		name.WriteString(word)
	}
	return name.String()
}

// each changes all that a number may be.
func each(numbers []*big.Rat, change func(*big.Rat) *big.Rat) []*big.Rat {
	changed := make([]*big.Rat, len(numbers))
	for i, number := range numbers {
		changed[i] = change(number)
	}
	return changed
}

func plus(numbers []*big.Rat, more *big.Rat) []*big.Rat {
	return each(numbers, func(n *big.Rat) *big.Rat { return new(big.Rat).Add(n, more) })
}
