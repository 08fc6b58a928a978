package matcher

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// amounts notes the numbers of the piece, in figures and in words. A number whose
// writing has two readings, as 1.000 has, is noted as both.
func (r piece) amounts(found places) {
	for i := 0; i < len(r.words); {
		values, end := r.amount(i)
		for _, value := range values {
			switch {
			case r.at(i-1) == "minus":
				found.note(r, "-"+value, i-1, end)
			case r.negative(i):
				found.noteSigned(r, "-"+value, i, end)
			default:
				found.note(r, value, i, end)
			}
		}
		if startsWithDigit(r.words[i].norm) {
			end = i + 1 // the 2 of "room 2 300 guests" is a number too
		}
		i = max(end, i+1)
	}
}

// amount reads the number that begins at word i; end is i for none.
func (r *momentText) amount(i int) (values []string, end int) {
	if startsWithDigit(r.words[i].norm) {
		values, end = r.written(i)
	} else if value, after := r.inWords(i); after > i {
		values, end = []string{strconv.Itoa(value)}, after
	} else {
		return nil, i
	}
	return r.scaled(values, end)
}

// scaled reads "million" or "and a half" after a number.
func (r *momentText) scaled(values []string, end int) ([]string, int) {
	if zeros := scales[r.at(end)]; zeros > 0 {
		return each(values, func(value string) string { return shifted(value, zeros) }), end + 1
	}
	if r.at(end) == "and" && r.at(end+1) == "a" && r.at(end+2) == "half" {
		return each(values, func(value string) string { return value + ".5" }), end + 3
	}
	return values, end
}

func each(values []string, change func(string) string) []string {
	changed := make([]string, 0, len(values))
	for _, value := range values {
		if decimal, ok := plainDecimal(change(value)); ok {
			changed = append(changed, decimal)
		}
	}
	return changed
}

// written reads a number in figures: 1,000 or 1.000 or 1 000, 12,50, 5k, 3rd, 20kg.
func (r *momentText) written(i int) ([]string, int) {
	w := r.words[i].norm
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
		if decimal, ok := plainDecimal(digits); ok {
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
func (r *momentText) groups(i int) (string, int) {
	digits, end := r.words[i].norm, i+1
	if len(digits) > 3 || digits[0] == '0' {
		return digits, end
	}
	for end < len(r.words) && isGroup(r.words[end].norm) && groupGap.MatchString(r.gap(end-1)) {
		digits += r.words[end].norm
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
	bare := withoutMarks(text)
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
		forms = []string{withoutMarks(text[:last]) + "." + text[last+1:]}
	case points == 0:
		forms = strings.Split(text, ",") // a list without spaces
	}
	return each(forms, func(form string) string { return form })
}

var grouping = regexp.MustCompile(`^[0-9]{1,3}(?:(?:,[0-9]{3})+|(?:\.[0-9]{3})+)$`)

// plainDecimal writes a number without sign of plus, exponent and idle zeros: two
// numbers are equal where these texts are.
func plainDecimal(text string) (string, bool) {
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
