package datetime

import (
	"math/big"
	"regexp"
	"strings"

	"earshot/matcher/text"
)

// Decimal writes a number in canonical form, without plus sign, exponent and insignificant
// zeros: two numbers are equal if and only if these texts are.
func Decimal(text string) (string, bool) {
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

// spelled reads the number in English words that begins at i, up to the thousands:
// "twenty five", "three hundred and twelve". A lone "one" is mostly no number ("that
// one") and is read only before a word that can be counted.
func (r numberReader) spelled(i int) (value, end int) {
	total, current, end := 0, 0, i
	for end < len(r.Words) {
		w := r.Words[end].Norm
		switch {
		case text.NumberWords.Has(w):
			if !fits(current, numberOf(text.NumberWords, w)) {
				return total + current, end
			}
			current += numberOf(text.NumberWords, w)
		case w == "hundred" && current > 0 && current < 100:
			current *= 100
		case w == "thousand" && current > 0:
			total, current = total+current*1000, 0
		case w == "and" && end > i && current%100 == 0 && r.goesOn(end+1):
		default:
			return r.unless(total+current, i, end)
		}
		end++
	}
	return r.unless(total+current, i, end)
}

// goesOn reports whether a number word stands at i.
func (r numberReader) goesOn(i int) bool {
	return i < len(r.Words) && numberOf(text.NumberWords, r.Words[i].Norm) > 0
}

// fits reports whether next can follow current in one number: five after twenty, and
// anything under a hundred after hundreds.
func fits(current, next int) bool {
	switch {
	case current%100 == 0:
		return true
	case current%100 >= 20 && current%10 == 0:
		return next < 10
	}
	return false
}

// unless drops a lone "one" that counts nothing.
func (r numberReader) unless(value, first, end int) (int, int) {
	if end-first != 1 || r.Words[first].Norm != "one" {
		return value, end
	}
	counts := end < len(r.Words) && !r.Words[end].Is(text.StopWords) && strings.TrimSpace(r.Gap(first)) == "" && r.Words[end].Norm != "way"
	if !counts {
		return 0, first
	}
	return value, end
}
