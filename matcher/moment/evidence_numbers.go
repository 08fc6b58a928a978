package moment

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"earshot/matcher/text"
)

// Amount reads the number that begins at word i; end is i for none.
func (r *Text) Amount(i int) (values []string, end int) {
	if text.StartsWithDigit(r.Words[i].Norm) {
		values, end = r.written(i)
	} else if value, after := r.inWords(i); after > i {
		values, end = []string{strconv.Itoa(value)}, after
	} else {
		return nil, i
	}
	return r.scaled(values, end)
}

// scaled reads "million" or "and a half" after a number.
func (r *Text) scaled(values []string, end int) ([]string, int) {
	if zeros := scales[r.At(end)]; zeros > 0 {
		return each(values, func(value string) string { return shifted(value, zeros) }), end + 1
	}
	if r.At(end) == "and" && r.At(end+1) == "a" && r.At(end+2) == "half" {
		return each(values, func(value string) string { return value + ".5" }), end + 3
	}
	return values, end
}

func each(values []string, change func(string) string) []string {
	changed := make([]string, 0, len(values))
	for _, value := range values {
		if decimal, ok := PlainDecimal(change(value)); ok {
			changed = append(changed, decimal)
		}
	}
	return changed
}

// written reads a number in figures: 1,000 or 1.000 or 1 000, 12,50, 5k, 3rd, 20kg.
func (r *Text) written(i int) ([]string, int) {
	w := r.Words[i].Norm
	parts := []string{w, w, ""}
	if strings.Trim(w, "0123456789") != "" {
		parts = figureText.FindStringSubmatch(w)
	}
	if parts == nil {
		return nil, i
	}
	values := readings(parts[1])
	if zeros := shortScales[parts[2]]; zeros > 0 {
		values = append(values, each(values, func(value string) string { return shifted(value, zeros) })...)
	}
	if digits, end := r.groups(i); parts[2] == "" && end > i+1 {
		if decimal, ok := PlainDecimal(digits); ok {
			return append(values, decimal), end
		}
	}
	return values, i + 1
}

var (
	// The letters are a unit, a scale or the ending of an ordinal.
	figureText  = regexp.MustCompile(`^([0-9][0-9.,]*)([a-z]{0,4})$`)
	scales      = map[string]int{"thousand": 3, "grand": 3, "million": 6, "millions": 6, "billion": 9, "tausend": 3, "mille": 3, "mila": 3, "mil": 3}
	shortScales = map[string]int{"k": 3, "m": 6, "mio": 6, "mn": 6, "bn": 9}
)

// groups joins groups of three digits that a space or an apostrophe parts (ISO
// 80000-1 has the thin space, Switzerland the apostrophe).
func (r *Text) groups(i int) (string, int) {
	digits, end := r.Words[i].Norm, i+1
	if len(digits) > 3 || digits[0] == '0' {
		return digits, end
	}
	for end < len(r.Words) && isGroup(r.Words[end].Norm) && groupGap.MatchString(r.Gap(end-1)) {
		digits += r.Words[end].Norm
		end++
	}
	return digits, end
}

var groupGap = regexp.MustCompile(`^[ '’\x{A0}\x{2009}\x{202F}]$`)

func isGroup(w string) bool { return len(w) == 3 && strings.Trim(w, "0123456789") == "" }

// readings are the numbers that figures with points and commas may mean.
func readings(text string) []string {
	text = strings.TrimRight(text, ".,")
	var forms []string
	points, commas := strings.Count(text, "."), strings.Count(text, ",")
	bare := WithoutMarks(text)
	switch {
	case points+commas == 0:
		forms = []string{text}
	case grouping.MatchString(text):
		forms = append(forms, bare)
		if points == 1 {
			forms = append(forms, text)
		}
	case points+commas == 1:
		forms = []string{strings.Replace(text, ",", ".", 1)}
	case points == 1 || commas == 1:
		last := strings.LastIndexAny(text, ".,")
		forms = []string{WithoutMarks(text[:last]) + "." + text[last+1:]}
	case points == 0:
		forms = strings.Split(text, ",") // a list without spaces
	}
	return each(forms, func(form string) string { return form })
}

var grouping = regexp.MustCompile(`^[0-9]{1,3}(?:(?:,[0-9]{3})+|(?:\.[0-9]{3})+)$`)

// PlainDecimal writes a number without sign of plus, exponent and idle zeros: two
// numbers are equal where these texts are.
func PlainDecimal(text string) (string, bool) {
	if !decimalText.MatchString(text) {
		return "", false
	}
	if strings.ContainsAny(text, "eE") {
		number, ok := new(big.Rat).SetString(text)
		if !ok {
			return "", false
		}
		decimals, _ := number.FloatPrec()
		text = number.FloatString(decimals)
	}
	digits, minus := strings.CutPrefix(text, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	whole, fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	if whole == "" {
		whole = "0"
	}
	if fraction != "" {
		whole += "." + fraction
	}
	if minus && whole != "0" {
		whole = "-" + whole
	}
	return whole, true
}

// The exponent is bounded: 1e999999999 would fill the memory with zeros.
var decimalText = regexp.MustCompile(`^-?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,3})?$`)

// shifted multiplies a decimal by a power of ten.
func shifted(decimal string, zeros int) string {
	whole, fraction, _ := strings.Cut(decimal, ".")
	fraction += strings.Repeat("0", max(0, zeros-len(fraction)))
	if len(fraction) == zeros {
		return whole + fraction
	}
	return whole + fraction[:zeros] + "." + fraction[zeros:]
}

// inWords reads a number in words that begins at word i, ordinals and the words for
// two and twelve included; end is i for none.
func (r *Text) inWords(i int) (value, end int) {
	w := r.At(i)
	if value, end = r.someOf(i); end > i {
		return value, end
	}
	if small[w] > 0 || w == "zero" {
		value, end = r.spelled(i)
		if end == i && w == "one" && r.countsOne(i) {
			return 1, i + 1
		}
		return r.lastOrdinal(value, i, end)
	}
	if value, ok := ordinalWords[w]; ok {
		return value, i + 1
	}
	if value, ok := foreignNumbers[w]; ok {
		return value, i + 1
	}
	return 0, i
}

// someOf reads "a hundred", "a dozen", "a couple" and "dozen".
func (r *Text) someOf(i int) (value, end int) {
	at := i
	if r.At(i) == "a" || r.At(i) == "an" {
		at++
	}
	if value, ok := groupWords[r.At(at)]; ok && (at > i || !scaleWords[r.At(at)]) {
		return value, at + 1
	}
	return 0, i
}

// countsOne reports whether a lone "one" is said as a number: "for one", "just one",
// or nothing else.
func (r *Text) countsOne(i int) bool { return len(r.Words) == 1 || oneCues[r.At(i-1)] }

// lastOrdinal reads the ordinal that ends a number: "twenty-first".
func (r *Text) lastOrdinal(value, first, end int) (int, int) {
	last, ok := ordinalWords[r.At(end)]
	if end > first && ok && value >= 20 && value%10 == 0 && last < 10 {
		return value + last, end + 1
	}
	return value, end
}

// OnlyNumber is the number that the whole text is, a currency or a unit aside. An
// ordinal word is none: "second" is a class before it is a 2.
func (r *Text) OnlyNumber() []string {
	if len(r.Words) == 0 || ordinalWords[r.Words[len(r.Words)-1].Norm] > 0 {
		return nil
	}
	values, end := r.Amount(0)
	if end == 0 {
		return nil
	}
	for ; end < len(r.Words); end++ {
		if !text.Units[r.Words[end].Stem] && !currencies[r.Words[end].Norm] {
			return nil
		}
	}
	if r.Negative(0) {
		values = each(values, func(value string) string { return "-" + value })
	}
	return values
}

var (
	groupWords   = map[string]int{"hundred": 100, "thousand": 1000, "million": 1_000_000, "billion": 1_000_000_000, "dozen": 12, "couple": 2, "pair": 2}
	scaleWords   = text.Set(`hundred thousand million billion`)
	oneCues      = text.Set(`for just only of exactly`)
	currencies   = text.Set(`usd eur chf gbp jpy dollars euros francs pounds yen bucks`)
	ordinalWords = ordinals(`first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth
		fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth`)
	// Words that mean something else in another of the languages are left out, as
	// the Italian due and sei.
	foreignNumbers = counted(
		`- zwei drei vier funf sechs sieben acht neun zehn elf zwolf`,
		`- deux trois quatre cinq - sept huit neuf dix onze douze`,
		`- - tre quattro cinque - sette otto nove dieci undici dodici`,
		`- dos tres cuatro cinco seis siete ocho nueve diez once doce`)
)

func ordinals(words string) map[string]int {
	found := counted(words)
	found["thirtieth"] = 30
	return found
}

// counted numbers the words of each language from one on; a dash skips a number.
func counted(languages ...string) map[string]int {
	found := map[string]int{}
	for _, words := range languages {
		for i, w := range strings.Fields(words) {
			if w != "-" {
				found[w] = i + 1
			}
		}
	}
	return found
}

// WithoutMarks drops the points and commas of a number.
func WithoutMarks(norm string) string {
	if !strings.ContainsAny(norm, ".,") {
		return norm
	}
	return strings.NewReplacer(".", "", ",", "").Replace(norm)
}
