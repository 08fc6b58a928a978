package quantity

import (
	"cmp"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"earshot/repositories/lists"
	"earshot/repositories/plaintext"
)

type term struct {
	numbers []*big.Rat // possible numbers, the likeliest first
	named   string     // the unit; empty for a bare number
	means   []meaning
}

// isPart reports whether small can follow large in an amount: it has a smaller unit of the same dimension.
func isPart(small, large term) bool {
	return slices.ContainsFunc(small.means, func(one meaning) bool {
		return slices.ContainsFunc(large.means, func(other meaning) bool {
			return one.dimension == other.dimension && one.dimension != "temperature" && one.factor.Cmp(other.factor) < 0
		})
	})
}

type token struct {
	norm     string     // of a word: lower case, no accents
	figures  []*big.Rat // possible values of figures: 1.500 is one and a half, or fifteen hundred
	from, to int        // in bytes
	tight    bool       // adjacent to the previous token
}

// maxTokens bounds the tokens that are read of a text, and thus the work for a message.
const maxTokens = 512

var lexemes = regexp.MustCompile(`[0-9]+(?:[.,][0-9]+)*|°[cCfF]\b|[\pL\pM]+|[^\s\pL\pM0-9'’]`)

// parser reads the amounts of a text. Its methods read from a token on and return the token after the last read
// one.
type parser struct {
	tokens []token
	own    string // name of a custom unit
	// commas means that the language writes decimals with a comma, and points or spaces between thousands.
	commas bool
}

func newParser(text, own, language string) parser {
	p := parser{own: own, commas: WritesCommas(language)}
	for _, at := range lexemes.FindAllStringIndex(text, maxTokens) {
		one := token{from: at[0], to: at[1]}
		if n := len(p.tokens); n > 0 {
			one.tight = p.tokens[n-1].to == at[0]
		}
		if text[at[0]] >= '0' && text[at[0]] <= '9' {
			one.figures = figuresOf(text[at[0]:at[1]], language)
			if p.joinGroup(text, &one) {
				continue
			}
		} else {
			one.norm = fold(text[at[0]:at[1]])
		}
		p.tokens = append(p.tokens, one)
	}
	return p
}

// joinGroup reports whether a token is a group of three digits after others, as in 1 500, and joins it to them. A
// narrow space and an apostrophe have no other use; after a space it may be another number, as in "room 1 500 euros".
func (p parser) joinGroup(text string, one *token) bool {
	last := len(p.tokens) - 1
	if last < 0 || !groupText.MatchString(text[one.from:one.to]) {
		return false
	}
	before := &p.tokens[last]
	gap, first := text[before.to:one.from], text[before.from:before.to]
	if !groupGap.MatchString(gap) || !firstGroup.MatchString(first) || before.tight && p.at(last-1) != "-" {
		return false
	}
	whole := figuresOf(groupGaps.ReplaceAllString(first, "")+text[one.from:one.to], "")
	if free := last == 0 || last == 1 && p.at(0) != "" || fillers[p.at(last-1)] || leading[p.at(last-1)]; gap == " " && !(p.commas && free) {
		whole = append(whole, one.figures...)
	}
	before.figures, before.to = whole, one.to
	return true
}

var (
	firstGroup = regexp.MustCompile(`^[1-9][0-9]{0,2}(?:[ '’\x{A0}\x{2009}\x{202F}][0-9]{3})*$`)
	groupText  = regexp.MustCompile(`^[0-9]{3}(?:[.,][0-9]{1,2})?$`)
	groupGap   = regexp.MustCompile(`^[ '’\x{A0}\x{2009}\x{202F}]$`)
	groupGaps  = regexp.MustCompile(`[ '’\x{A0}\x{2009}\x{202F}]`)
)

var dashes = strings.NewReplacer("–", "-", "—", "-", "−", "-", "‐", "-", "‑", "-")

// fold removes case and accents. Signs stay: ½ must not become 1, 2.
func fold(word string) string {
	if first, _ := utf8.DecodeRuneInString(word); !unicode.IsLetter(first) {
		return dashes.Replace(strings.ToLower(word))
	}
	return strings.ReplaceAll(plaintext.Folded(word), "ß", "ss")
}

const maxFigures = 40

var commaLanguages = setOf(`de fr it es`)

// WritesCommas reports whether a language, as an ISO 639 code, writes decimals with a comma.
func WritesCommas(language string) bool { return commaLanguages[language] }

// One group of three digits after a point may also be a fraction, unless the language writes those with a comma.
// After a comma it is one only in such a language.
var (
	grouped = regexp.MustCompile(`^[1-9][0-9]{0,2}(?:(?:,[0-9]{3})+|(?:\.[0-9]{3})+)$`)
	plain   = strings.NewReplacer(".", "", ",", "")
)

// Figures lists the decimals that figures with points and commas may be in a language, as in Unit.In; none if they are
// not a number.
func Figures(figures, language string) []string {
	points, commas := strings.Count(figures, "."), strings.Count(figures, ",")
	switch {
	case points+commas == 0:
		return []string{figures}
	case grouped.MatchString(figures) && points == 1 && !WritesCommas(language):
		return []string{plain.Replace(figures), figures}
	case grouped.MatchString(figures) && commas == 1 && (WritesCommas(language) || language == "mul"):
		return []string{plain.Replace(figures), strings.Replace(figures, ",", ".", 1)}
	case grouped.MatchString(figures):
		return []string{plain.Replace(figures)}
	case points+commas == 1:
		return []string{strings.Replace(figures, ",", ".", 1)}
	case points == 1 || commas == 1:
		last := strings.LastIndexAny(figures, ".,")
		return []string{plain.Replace(figures[:last]) + "." + figures[last+1:]}
	}
	return nil
}

// figuresOf lists the possible values of figures in a language.
func figuresOf(figures, language string) (numbers []*big.Rat) {
	if len(figures) > maxFigures {
		return nil
	}
	for _, one := range Figures(figures, language) {
		if number, ok := new(big.Rat).SetString(one); ok {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

func (p parser) at(i int) string {
	if i < 0 || i >= len(p.tokens) {
		return ""
	}
	return p.tokens[i].norm
}

// denied reports whether a negation precedes the amount, or follows it at the end of the sentence.
func (p parser) denied(first, end int) bool {
	before := first - 1
	for n := 0; n < 2 && (fillers[p.at(before)] || linking[p.at(before)]); n++ {
		before--
	}
	if denying[p.at(before)] {
		return true
	}
	return denying[p.at(end)] && p.at(end) != "no" && (end+1 >= len(p.tokens) || strings.Contains(".,;!?", cmp.Or(p.at(end+1), "0")))
}

// amount reads a number with its unit, and smaller units after it: 1 h 30 min, 5 euros 50.
func (p parser) amount(i int) (whole Amount, end int) {
	one, end := p.term(i)
	if end == i {
		return whole, i
	}
	whole.terms = []term{one}
	for len(one.means) > 0 {
		next := end
		if joint := p.at(next); ands[joint] || joint == "con" {
			next++
		}
		part, after := p.term(next)
		if after > next && len(part.means) == 0 && p.ends(next, after) && part.under(next > end) {
			part.means = one.smaller()
		}
		if after == next || !isPart(part, one) {
			break
		}
		whole.terms, one, end = append(whole.terms, part), part, after
	}
	return whole, end
}

// ends reports whether nothing that a number before token after could count follows it, or it is tight as in 1h30.
func (p parser) ends(first, after int) bool {
	word := p.at(after)
	return p.tokens[first].tight || !strings.ContainsFunc(word, unicode.IsLetter) || fillers[word] || linking[word] || starting[word]
}

// under reports whether a bare number can count the next smaller unit. After an "and" it has two digits.
func (t term) under(joined bool) bool {
	const least, most = 10, 99
	number := t.numbers[0]
	low := number.Sign() > 0 && (!joined || number.Cmp(big.NewRat(least, 1)) >= 0)
	return len(t.numbers) == 1 && number.IsInt() && low && number.Cmp(big.NewRat(most, 1)) <= 0
}

// smaller returns the meanings of the unit in which a bare number after the term's is: minutes after hours, cents after
// euros. It has none for other units.
func (t term) smaller() []meaning {
	for _, of := range t.means {
		switch {
		case of.dimension == "time" && of.factor.Cmp(big.NewRat(3600, 1)) == 0:
			return knownUnits()["min"]
		case of.dimension == "time" && of.factor.Cmp(big.NewRat(60, 1)) == 0:
			return knownUnits()["s"]
		case money[of.dimension] && of.factor.Cmp(big.NewRat(1, 1)) == 0:
			return []meaning{{dimension: of.dimension, factor: big.NewRat(1, 100), zero: new(big.Rat)}}
		}
	}
	return nil
}

func (p parser) term(first int) (read term, end int) {
	i := first
	minus := p.at(i) == "minus" || p.at(i) == "-" && (i == 0 || !p.tokens[i].tight)
	if minus {
		i++
	}
	sign := p.at(i)
	if currency[sign] {
		i++
	}
	numbers, after, bare := p.number(i)
	if after == i {
		return term{}, first
	}
	read.numbers = numbers
	if read.named, read.means, end = p.unit(after); articles[read.named] && numbers[0].Cmp(big.NewRat(1, 1)) != 0 {
		read.named, read.means, end = "", nil, after // the German "an" after 50 is no French year
	}
	if currency[sign] && read.named == "" {
		read.named, read.means = sign, knownUnits()[sign]
	}
	if read.named == "" && !bare {
		return term{}, first
	}
	if minus {
		read.numbers = lists.Map(numbers, func(n *big.Rat) *big.Rat { return new(big.Rat).Neg(n) })
	}
	if part, after, counts := p.andPart(end); part != nil && read.named != "" && !counts { // "an hour and a half"
		read.numbers, end = plus(read.numbers, part), after
	}
	return read, end
}

// unit reads the longest name of a unit, optionally after a hyphen.
func (p parser) unit(i int) (name string, means []meaning, end int) {
	if p.at(i) == "-" && i+1 < len(p.tokens) && p.tokens[i].tight && p.tokens[i+1].tight && p.at(i+1) != "" {
		i++
	}
	for length := longestName; length > 0; length-- {
		name := p.name(i, length)
		if means := knownUnits()[name]; len(means) > 0 {
			return name, means, i + length
		}
		if p.own != "" && name != "" && singular(name) == singular(p.own) {
			return name, []meaning{ownMeaning(p.own)}, i + length
		}
	}
	return "", nil, i
}

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

// number reads a number. bare is false if the words are one only before a unit: "an" hour.
func (p parser) number(i int) (numbers []*big.Rat, end int, bare bool) {
	at := i
	if articles[p.at(at)] {
		at++
	}
	if part, end := p.partOf(at); part != nil { // "half an hour", "a quarter of an hour"
		return []*big.Rat{part}, end, false
	}
	if i < len(p.tokens) && len(p.tokens[i].figures) > 0 {
		if numbers, end := p.pointed(p.tokens[i].figures, i+1); end > i+1 {
			return numbers, end, true
		}
		return p.afterFigures(p.tokens[i].figures, i+1)
	}
	if sign := signs[p.at(i)]; sign != nil {
		return []*big.Rat{sign}, i + 1, true
	}
	if twice := halves[p.at(i)]; twice > 0 {
		return []*big.Rat{big.NewRat(int64(twice), 2)}, i + 1, true
	}
	first := i
	if articles[p.at(i)] && scales[p.at(i+1)] > 0 { // a hundred
		first++
	}
	value, end := p.spelled(first)
	if end > first {
		whole := []*big.Rat{big.NewRat(int64(value), 1)}
		if numbers, after := p.pointed(whole, end); after > end {
			return numbers, after, true
		}
		return p.withFraction(whole, end)
	}
	if articles[p.at(i)] {
		numbers, end, _ := p.withFraction([]*big.Rat{big.NewRat(1, 1)}, i+1)
		return numbers, end, false
	}
	return nil, i, false
}

// pointed reads the spoken decimals after a whole number: "five point five".
func (p parser) pointed(numbers []*big.Rat, end int) ([]*big.Rat, int) {
	digits, after := p.decimals(end)
	part, ok := new(big.Rat).SetString("0." + digits)
	if after == end || !ok || !numbers[0].IsInt() {
		return numbers, end
	}
	return plus(numbers[:1], part), after
}

// decimals reads a spoken decimal sign with the digits after it, one by one or as one number: "point two five", "virgule
// vingt-cinq". end is i for none.
func (p parser) decimals(i int) (digits string, end int) {
	if !pointWords[p.at(i)] {
		return "", i
	}
	for end = i + 1; end < len(p.tokens); {
		if of := p.tokens[end]; len(of.figures) == 1 && of.figures[0].IsInt() {
			digits, end = digits+fmt.Sprintf("%0*s", of.to-of.from, of.figures[0].Num()), end+1 // with zeros before
			continue
		}
		digit, one := ones[p.at(end)]
		if one && digit < 10 {
			digits, end = digits+strconv.Itoa(digit), end+1
			continue
		}
		if value, after := p.spelled(end); digits == "" && after > end && value < 100 {
			digits, end = strconv.Itoa(value), after
		}
		break
	}
	if digits == "" {
		return "", i
	}
	return digits, end
}

var signs = map[string]*big.Rat{"½": big.NewRat(1, 2), "¼": big.NewRat(1, 4), "¾": big.NewRat(3, 4)}

// afterFigures reads ½, 1/2 and "and a half" after a number in figures.
func (p parser) afterFigures(numbers []*big.Rat, end int) ([]*big.Rat, int, bool) {
	if sign := signs[p.at(end)]; sign != nil {
		return plus(numbers, sign), end + 1, true
	}
	if below := p.slash(end); below != nil { // 1/2
		return lists.Map(numbers, func(n *big.Rat) *big.Rat { return new(big.Rat).Quo(n, below) }), end + 2, true
	}
	if end+2 < len(p.tokens) && len(p.tokens[end].figures) == 1 && !p.tokens[end].tight { // 2 1/2
		if below := p.slash(end + 1); below != nil {
			return plus(numbers, new(big.Rat).Quo(p.tokens[end].figures[0], below)), end + 3, true
		}
	}
	return p.withFraction(numbers, end)
}

func (p parser) slash(i int) *big.Rat {
	if p.at(i) != "/" || !p.tokens[i].tight || i+1 >= len(p.tokens) || !p.tokens[i+1].tight {
		return nil
	}
	below := p.tokens[i+1].figures
	if len(below) != 1 || below[0].Sign() == 0 {
		return nil
	}
	return below[0]
}

// withFraction reads "one and a half hours" and "three quarters of an hour".
func (p parser) withFraction(numbers []*big.Rat, end int) ([]*big.Rat, int, bool) {
	if part, after := p.partOf(end); part != nil {
		return lists.Map(numbers, func(n *big.Rat) *big.Rat { return new(big.Rat).Mul(n, part) }), after, false
	}
	if part, after, counts := p.andPart(end); part != nil && counts {
		return plus(numbers, part), after, false
	}
	return numbers, end, true
}

// andPart reads the fraction of "and a half"; counts tells whether a unit follows.
func (p parser) andPart(i int) (part *big.Rat, end int, counts bool) {
	end = i + 1
	if articles[p.at(end)] {
		end++
	}
	of := parts[p.at(end)]
	if !ands[p.at(i)] || of == 0 {
		return nil, i, false
	}
	named, _, _ := p.unit(end + 1)
	return big.NewRat(1, int64(of)), end + 1, named != ""
}

// partOf reads a fraction with the words between it and its unit.
func (p parser) partOf(i int) (*big.Rat, int) {
	part := parts[p.at(i)]
	if part == 0 {
		return nil, i
	}
	at := i + 1
	if p.at(at) == "-" { // une demi-heure
		at++
	}
	if leading[p.at(at)] {
		at++
	}
	if articles[p.at(at)] {
		at++
	}
	if named, _, _ := p.unit(at); named == "" {
		return nil, i
	}
	return big.NewRat(1, int64(part)), at
}

// spelled reads a whole number in words, up to the thousands.
func (p parser) spelled(i int) (value, end int) {
	total, current := 0, 0
	for end = i; end < len(p.tokens); end++ {
		word := p.at(end)
		scale := scales[word]
		if next, ok := wholeNumber(word); ok && current%100 == 4 && (word == "vingt" || word == "vingts") { // quatre-vingt
			current += 76
			continue
		} else if ok && joins(current, next) {
			current += next
			continue
		}
		switch {
		case (word == "cent" || word == "cents") && end > i && current < 10 && frenchOnes[p.at(end-1)]:
			current *= 100
		case scale == 100 && current < 10:
			current = max(1, current) * scale
		case word == "cent" && end == i: // a hundred as the first word, money after a number
			current = 100
		case scale == 1000 && total == 0:
			total, current = max(1, current)*scale, 0
		case end > i && ands[word] && current%10 == 0 && current%100 >= 20 && articles[p.at(end+1)] && strings.HasPrefix(p.at(end+1), "un"): // "vingt et un"
			return total + current + 1, end + 2
		case end > i && (ands[word] || word == "-"): // "twenty-one", "two hundred and five"
			next, ok := wholeNumber(p.at(end + 1))
			if eighty := current%100 == 4 && strings.HasPrefix(p.at(end+1), "vingt"); !ok || current == 0 || !eighty && !joins(current, next) && current%100 != 0 {
				return total + current, end
			}
		default:
			return total + current, end
		}
	}
	return total + current, end
}

// joins reports whether next can continue a number: twelve after soixante, vingt after quatre.
func joins(current, next int) bool {
	switch {
	case current == 0:
		return true
	case current%1000 == 0:
		return next < 1000
	case current%100 == 0:
		return next < 100
	case current%100 == 60 || current%100 == 80:
		return next > 0 && next < 20
	}
	return current%100 >= 20 && current%10 == 0 && next > 0 && next < 10
}

func plus(numbers []*big.Rat, more *big.Rat) []*big.Rat {
	return lists.Map(numbers, func(n *big.Rat) *big.Rat { return new(big.Rat).Add(n, more) })
}
