package datetime

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"earshot/matcher/text"
	"earshot/repositories/exactjson"
	"earshot/repositories/quantity"
)

// Numbers returns the readings of the number that begins at word i, in figures or in words: none, one, or two if a
// space may separate its groups, as in "2 300". They must not be modified.
func (t *Text) Numbers(i int) []Reading {
	if i < 0 || i >= len(t.Words) {
		return nil
	}
	if t.numbers == nil {
		t.numbers = make([][]Reading, len(t.Words))
	}
	if t.numbers[i] == nil {
		t.numbers[i] = t.numbersAt(i)
	}
	return t.numbers[i]
}

// AllNumbers returns the readings of all numbers in order. A number in figures does not hide the next one: the 300
// of "room 2 300 guests" is another.
func (t *Text) AllNumbers() []Reading {
	var all []Reading
	for i := 0; i < len(t.Words); {
		found := t.Numbers(i)
		all = append(all, found...)
		if i++; len(found) > 0 && !text.StartsWithDigit(t.Norm(i-1)) {
			i = found[0].End
		}
	}
	return all
}

func (t *Text) numbersAt(i int) []Reading {
	figures := text.StartsWithDigit(t.Norm(i))
	read := t.inWords
	if figures {
		read = t.inFigures
	}
	one := read(i)
	if one.End == 0 {
		return []Reading{}
	}
	if len(one.Values) == 1 && !strings.Contains(one.Values[0], ".") && one.End < len(t.Words) && t.Adjoins(one.End-1) { // "twenty-one point five"
		from := t.Words[one.End].Start
		if digits, length := quantity.Decimals(t.cut(from)); length > 0 {
			_, end := t.Within(from, from+length)
			one = t.number(one.First, end, one.Doubtful, one.Values[0]+"."+digits)
		}
	}
	all := []Reading{t.signed(t.scaled(one))}
	if figures {
		if digits, end, sure := t.groups(i); end > i+1 {
			sure = sure || quantity.WritesCommas(t.Language()) && t.At(end).Is(text.Currencies)
			all = append(all, t.signed(t.scaled(t.number(i, end, !sure, digits))))
			if sure {
				all = all[1:]
			} else if t.At(end).Is(text.Currencies) {
				all[0].Doubtful = true // "1 000 euros" is not 1
			}
		}
	}
	return all
}

// number makes a reading from decimals in any form. It is exact if there is only one and it is valid JSON as
// written.
func (t *Text) number(first, end int, doubtful bool, forms ...string) Reading {
	var values []string
	for _, form := range forms {
		if value, ok := decimal(form); ok {
			values = append(values, value)
		}
	}
	found := t.reading(first, end, values...)
	found.Exact, found.Doubtful = "", doubtful
	if len(forms) == 1 && len(values) == 1 && exactjson.NumberPattern.MatchString(forms[0]) {
		found.Exact = forms[0]
	}
	return found
}

// signed includes a preceding minus, as a sign or as a word. No word may touch the sign: 3-5 is a range.
func (t *Text) signed(found Reading) Reading {
	before := t.Said[:t.Words[found.First].Start]
	bare := strings.TrimRight(before, "-−")
	switch _, size := utf8.DecodeLastRuneInString(before); {
	case t.Norm(found.First-1) == "minus":
		found.First--
		found.From = t.Words[found.First].Start
	case bare != before && (bare == "" || strings.HasSuffix(bare, " ")):
		found.From -= size
	default:
		return found
	}
	for i, value := range found.Values {
		found.Values[i] = "-" + value
	}
	if found.Exact != "" {
		found.Exact = "-" + found.Exact
	}
	return found
}

// scaled reads "million" or "and a half" after a number.
func (t *Text) scaled(found Reading) Reading {
	end := found.End
	forms := slices.Clone(found.Values)
	switch zeros := numberOf(text.Scales, t.Norm(end)); {
	case zeros > 0:
		end++
		for i, value := range forms {
			forms[i] = shifted(value, zeros)
		}
	case t.Norm(end) == "and" && t.Norm(end+1) == "a" && t.Norm(end+2) == "half":
		end += 3
		for i := range forms {
			forms[i] += ".5"
		}
	default:
		return found
	}
	return t.number(found.First, end, found.Doubtful, forms...)
}

var (
	// The letters are a unit, a scale or the ending of an ordinal.
	figureText  = regexp.MustCompile(`^([0-9][0-9.,]*)([a-z]{0,4})$`)
	shortScales = map[string]int{"k": 3, "m": 6, "mio": 6, "mn": 6, "bn": 9}
)

// inFigures reads 1,000 or 1.000, 12,50, 5k, 3rd and 20kg. With letters other than a unit it may be a code.
func (t *Text) inFigures(i int) Reading {
	parts := figureText.FindStringSubmatch(t.Words[i].Norm)
	if parts == nil {
		return Reading{}
	}
	figures, letters := strings.TrimRight(parts[1], ".,"), parts[2]
	forms := quantity.Figures(figures, t.Language())
	if forms == nil && !strings.Contains(figures, ".") {
		forms = strings.Split(figures, ",") // a list without spaces
	}
	found := t.number(i, i+1, letters != "" && !text.UnitSigns.Has(letters), forms...)
	if zeros := shortScales[letters]; zeros > 0 && len(found.Values) == 1 && t.At(i+1).Is(text.Currencies) { // "2k dollars"
		return t.number(i, i+1, false, shifted(found.Values[0], zeros))
	} else if zeros > 0 {
		for _, value := range slices.Clone(found.Values) {
			found.Values = append(found.Values, shifted(value, zeros))
		}
	}
	return found
}

// groups joins groups of three digits with a space or an apostrophe between (ISO 80000-1: the thin space;
// Switzerland: the apostrophe). sure is false if a space may separate two numbers.
func (t *Text) groups(i int) (digits string, end int, sure bool) {
	digits, end, sure = t.Norm(i), i+1, true
	if len(digits) > 3 || digits[0] == '0' || strings.Trim(digits, "0123456789") != "" {
		return digits, end, sure
	}
	for len(t.Norm(end)) == 3 && strings.Trim(t.Norm(end), "0123456789") == "" && groupGap.MatchString(t.Gap(end-1)) {
		sure = sure && t.Gap(end-1) != " "
		digits += t.Norm(end)
		end++
	}
	if last := t.Norm(end); end > i && lastGroup.MatchString(last) && groupGap.MatchString(t.Gap(end-1)) { // "1 250,50"
		sure = sure && t.Gap(end-1) != " "
		return digits + last[:3] + "." + last[4:], end + 1, sure
	}
	return digits, end, sure
}

var lastGroup = regexp.MustCompile(`^[0-9]{3},[0-9]{1,2}$`)

var groupGap = regexp.MustCompile(`^[ '’\x{A0}\x{2009}\x{202F}]$`)

// WithoutMarks removes the points and commas of a number.
func WithoutMarks(norm string) string {
	if !strings.ContainsAny(norm, ".,") {
		return norm
	}
	return strings.NewReplacer(".", "", ",", "").Replace(norm)
}

// inWords reads a number in words, including ordinals and the words for two and twelve.
func (t *Text) inWords(i int) Reading {
	count := func(end, value int, doubtful bool) Reading { return t.number(i, end, doubtful, strconv.Itoa(value)) }
	w, at := t.At(i), i
	if w.Norm == "a" || w.Norm == "an" {
		at++
	}
	if value, ok := text.GroupWords.Number(t.Norm(at)); ok && (at > i || numberOf(text.Scales, w.Norm) == 0 && w.Norm != "hundred") { // "a dozen"
		return count(at+1, value, t.At(at).Is(text.PairWords))
	}
	if w.Is(text.NumberWords) {
		value, end := t.spelled(i)
		if end == i && w.Norm == "one" && (len(t.Words) == 1 || t.At(i-1).Is(text.OneCues)) { // "for one", "just one"
			return count(i+1, 1, true)
		}
		last, after := t.lastOrdinal(value, i, end)
		if after == i {
			return Reading{}
		}
		return count(after, last, after > end)
	}
	if value, ok := text.Ordinals.Number(w.Norm); ok {
		return count(i+1, value, true)
	}
	value, end := spelledAbroad(t, i)
	if named, ok := text.Numbers.Number(w.Norm); ok && end <= i+1 {
		value, end = named, i+1
	}
	if end == i {
		return Reading{}
	}
	return count(end, value, end == i+1 && w.Is(text.Homographs) && !text.NumberIn(t.Said, w.Norm))
}

// spelledAbroad reads the number in the words of a language other than English that begins at i: "quatre-vingt-dix",
// "mil quinientos". An article is none. end is i for none.
func spelledAbroad(t *Text, i int) (value, end int) {
	if t.At(i).Is(text.StopWords, text.Articles) || strings.HasSuffix(t.Norm(i-1), "halb") { // "anderthalb tausend"
		return 0, i
	}
	from := t.Words[i].Start
	value, length := quantity.Spelled(t.cut(from))
	_, end = t.Within(from, from+length)
	if length == 0 {
		return 0, i
	}
	return value, end
}

// cut returns the text from a place on, as long as a number under a million can be.
func (t *Text) cut(from int) string {
	const longest = 120 // bytes
	end := min(len(t.Said), from+longest)
	for end < len(t.Said) && !utf8.RuneStart(t.Said[end]) {
		end++
	}
	return t.Said[from:end]
}

// lastOrdinal reads the ordinal that ends a number: "twenty-first".
func (t *Text) lastOrdinal(value, first, end int) (int, int) {
	last, ok := text.Ordinals.Number(t.Norm(end))
	if end > first && ok && value >= 20 && value%10 == 0 && last < 10 {
		return value + last, end + 1
	}
	return value, end
}

// spelled reads the number in English words that begins at i, up to the thousands: "twenty five", "three hundred
// and twelve". A lone "one" is mostly no number ("that one") and only counts before a countable word. end is i for
// none.
func (t *Text) spelled(i int) (value, end int) {
	total, current := 0, 0
	for end = i; end < len(t.Words); end++ {
		w := t.Words[end].Norm
		next, ok := text.NumberWords.Number(w)
		if ok && current%100 != 0 && (current%100 < 20 || current%10 != 0 || next > 9) { // not part of the same number
			return total + current, end
		}
		switch {
		case ok:
			current += next
		case w == "hundred" && current > 0 && current < 100:
			current *= 100
		case w == "thousand" && current > 0:
			total, current = total+current*1000, 0
		case w == "and" && end > i && current%100 == 0 && numberOf(text.NumberWords, t.Norm(end+1)) > 0:
		default:
			if end-i == 1 && t.Norm(i) == "one" && (t.Words[end].Is(text.StopWords) || !t.Adjoins(i) || w == "way") {
				return 0, i
			}
			return total + current, end
		}
	}
	if end-i == 1 && t.Norm(i) == "one" {
		return 0, i
	}
	return total + current, end
}

// numberOf returns the word's number in a list; zero for none.
func numberOf(list text.List, word string) int {
	number, _ := list.Number(word)
	return number
}

// decimal returns a number without unneeded zeros: two numbers are equal if and only if these texts are.
func decimal(form string) (string, bool) {
	bare := strings.TrimLeft(form, "0")
	if bare != form && (bare == "" || bare[0] == '.') {
		bare = "0" + bare
	}
	number, ok := exactjson.ParseDecimal(bare)
	return number.String(), ok
}

func shifted(value string, zeros int) string {
	whole, fraction, _ := strings.Cut(value, ".")
	fraction += strings.Repeat("0", max(0, zeros-len(fraction)))
	if len(fraction) == zeros {
		return whole + fraction
	}
	return whole + fraction[:zeros] + "." + fraction[zeros:]
}
