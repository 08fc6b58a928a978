package datetime

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"earshot/matcher/text"
)

// Numbers returns the readings of the number that begins at word i, in figures or in
// words: none or one, and a second one where a space may part its groups, as in
// "2 300". They are not to be changed.
func (r *Text) Numbers(i int) []Reading {
	if i >= len(r.Words) {
		return nil
	}
	if r.numbers == nil {
		r.numbers = make([][]Reading, len(r.Words))
	}
	if r.numbers[i] == nil {
		r.numbers[i] = append([]Reading{}, r.asNumbers().at(i)...)
	}
	return r.numbers[i]
}

func (r numberReader) at(i int) []Reading {
	if !text.StartsWithDigit(r.At(i)) {
		if found, ok := r.inWords(i); ok {
			return []Reading{r.signed(r.scaled(r.pointed(found)))}
		}
		return nil
	}
	found, ok := r.inFigures(i)
	if !ok {
		return nil
	}
	all := []Reading{r.signed(r.scaled(r.pointed(found)))}
	if digits, end, sure := r.groups(i); end > i+1 {
		joined := r.number(i, end, []string{digits})
		joined.Doubtful = !sure
		all = append(all, r.signed(r.scaled(joined)))
		if sure {
			all = all[1:]
		}
	}
	return all
}

// AllNumbers returns the readings of all numbers, left to right. A number in figures does
// not hide the one after it: the 300 of "room 2 300 guests" is one too.
func (r *Text) AllNumbers() []Reading {
	var all []Reading
	for i := 0; i < len(r.Words); {
		found := r.Numbers(i)
		all = append(all, found...)
		if i++; len(found) > 0 && !text.StartsWithDigit(r.At(i-1)) {
			i = found[0].End
		}
	}
	return all
}

// number makes a reading from decimals in any form. It is exact if there is only one and
// JSON accepts it as written.
func (r numberReader) number(first, end int, forms []string) Reading {
	var values []string
	for _, form := range forms {
		if decimal, ok := Decimal(form); ok {
			values = append(values, decimal)
		}
	}
	found := r.reading(first, end, values...)
	if found.Exact = ""; len(forms) == 1 && len(values) == 1 && jsonNumber.MatchString(forms[0]) {
		found.Exact = forms[0]
	}
	return found
}

var jsonNumber = regexp.MustCompile(`^(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$`)

// signed takes in the minus before a number, as a sign or as a word.
func (r numberReader) signed(found Reading) Reading {
	sign := r.sign(found.First)
	switch {
	case r.At(found.First-1) == "minus":
		found.First--
		found.From = r.Words[found.First].Start
	case sign > 0:
		found.From -= sign
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

// sign is the length of a minus sign right before the word, with no word right before
// that: 3-5 is a range.
func (r numberReader) sign(i int) int {
	before := r.Source[:r.Words[i].Start]
	if !strings.HasSuffix(before, "-") && !strings.HasSuffix(before, "−") {
		return 0
	}
	_, size := utf8.DecodeLastRuneInString(before)
	if before = strings.TrimRight(before, "-−"); before == "" || strings.HasSuffix(before, " ") {
		return size
	}
	return 0
}

// pointed reads the digits that are spoken after a whole number: "twenty-one point five".
func (r numberReader) pointed(found Reading) Reading {
	if len(found.Values) != 1 || strings.Contains(found.Values[0], ".") || !text.PointWords.Has(r.At(found.End)) {
		return found
	}
	digits, end := "", found.End+1
	for ; end < len(r.Words); end++ {
		digit, ok := r.digit(end)
		if !ok {
			break
		}
		digits += digit
	}
	if digits == "" {
		return found
	}
	pointed := r.number(found.First, end, []string{found.Values[0] + "." + digits})
	pointed.Doubtful = found.Doubtful
	return pointed
}

// digit is the spoken or written figures of the word at i, which stand for themselves.
func (r numberReader) digit(i int) (string, bool) {
	w := r.At(i)
	if strings.Trim(w, "0123456789") == "" {
		return w, w != ""
	}
	for _, list := range []text.List{text.NumberWords, text.Numbers} {
		if value, ok := list.Number(w); ok && value < 10 {
			return strconv.Itoa(value), true
		}
	}
	return "", false
}

// scaled reads "million" or "and a half" after a number.
func (r numberReader) scaled(found Reading) Reading {
	var change func(decimal string) string
	end := found.End
	switch zeros := numberOf(text.Scales, r.At(end)); {
	case zeros > 0:
		change, end = func(decimal string) string { return shifted(decimal, zeros) }, end+1
	case r.At(end) == "and" && r.At(end+1) == "a" && r.At(end+2) == "half":
		change, end = func(decimal string) string { return decimal + ".5" }, end+3
	default:
		return found
	}
	forms := make([]string, len(found.Values))
	for i, value := range found.Values {
		forms[i] = change(value)
	}
	scaled := r.number(found.First, end, forms)
	scaled.Doubtful = found.Doubtful
	return scaled
}

var (
	// The letters are a unit, a scale or the ending of an ordinal.
	figureText  = regexp.MustCompile(`^([0-9][0-9.,]*)([a-z]{0,4})$`)
	shortScales = map[string]int{"k": 3, "m": 6, "mio": 6, "mn": 6, "bn": 9}
)

// inFigures reads 1,000 or 1.000, 12,50, 5k, 3rd and 20kg. What stands with letters that
// are no unit may be a code.
func (r numberReader) inFigures(i int) (Reading, bool) {
	parts := figureText.FindStringSubmatch(r.Words[i].Norm)
	if parts == nil {
		return Reading{}, false
	}
	forms, letters := formsOf(parts[1]), parts[2]
	found := r.number(i, i+1, forms)
	found.Doubtful = letters != "" && !text.UnitSigns.Has(letters)
	if zeros := shortScales[letters]; zeros > 0 {
		for _, value := range slices.Clone(found.Values) {
			found.Values = append(found.Values, shifted(value, zeros))
		}
	}
	return found, true
}

// groups joins groups of three digits that a space or an apostrophe parts (ISO 80000-1
// has the thin space, Switzerland the apostrophe). sure is false where the space may as
// well part two numbers.
func (r numberReader) groups(i int) (digits string, end int, sure bool) {
	digits, end, sure = r.Words[i].Norm, i+1, true
	if len(digits) > 3 || digits[0] == '0' || strings.Trim(digits, "0123456789") != "" {
		return digits, end, sure
	}
	for end < len(r.Words) && isGroup(r.Words[end].Norm) && groupGap.MatchString(r.Gap(end-1)) {
		sure = sure && r.Gap(end-1) != " "
		digits += r.Words[end].Norm
		end++
	}
	return digits, end, sure
}

var groupGap = regexp.MustCompile(`^[ '’\x{A0}\x{2009}\x{202F}]$`)

func isGroup(w string) bool { return len(w) == 3 && strings.Trim(w, "0123456789") == "" }

// formsOf lists the numbers that figures with points and commas may mean: 1.000 is one or a
// thousand.
func formsOf(figures string) []string {
	figures = strings.TrimRight(figures, ".,")
	points, commas := strings.Count(figures, "."), strings.Count(figures, ",")
	switch {
	case points+commas == 0:
		return []string{figures}
	case grouping.MatchString(figures) && points == 1:
		return []string{WithoutMarks(figures), figures}
	case grouping.MatchString(figures):
		return []string{WithoutMarks(figures)}
	case points+commas == 1:
		return []string{strings.Replace(figures, ",", ".", 1)}
	case points == 1 || commas == 1:
		last := strings.LastIndexAny(figures, ".,")
		return []string{WithoutMarks(figures[:last]) + "." + figures[last+1:]}
	case points == 0:
		return strings.Split(figures, ",") // a list without spaces
	}
	return nil
}

var grouping = regexp.MustCompile(`^[0-9]{1,3}(?:(?:,[0-9]{3})+|(?:\.[0-9]{3})+)$`)

// WithoutMarks drops the points and commas of a number.
func WithoutMarks(norm string) string {
	if !strings.ContainsAny(norm, ".,") {
		return norm
	}
	return strings.NewReplacer(".", "", ",", "").Replace(norm)
}

// alone reads a text that is a number alone, apart from a currency or a unit. An ordinal
// word does not count: "second" is a class before it is a 2.
func (r numberReader) alone() (values []string) {
	if len(r.Words) == 0 || r.Words[len(r.Words)-1].Is(text.Ordinals) {
		return nil
	}
	for _, found := range r.Numbers(0) {
		rest := r.Words[found.End:]
		if !slices.ContainsFunc(rest, func(w text.Word) bool { return !text.Units[w.Stem] && !w.Is(text.Currencies) }) {
			values = append(values, found.Values...)
		}
	}
	return values
}

// inWords reads a number in words, ordinals and the words for two and twelve included.
func (r numberReader) inWords(i int) (Reading, bool) {
	w := r.At(i)
	if value, end := r.groupWord(i); end > i {
		return r.counted(i, end, value, text.PairWords.Has(r.At(end-1))), true
	}
	if text.NumberWords.Has(w) {
		value, end := r.spelled(i)
		if end == i && w == "one" && r.countsOne(i) {
			return r.counted(i, i+1, 1, true), true
		}
		last, after := r.lastOrdinal(value, i, end)
		if after == i {
			return Reading{}, false
		}
		return r.counted(i, after, last, after > end), true
	}
	if value, ok := text.Ordinals.Number(w); ok {
		return r.counted(i, i+1, value, true), true
	}
	if value, ok := text.Numbers.Number(w); ok {
		return r.counted(i, i+1, value, text.Homographs.Has(w)), true
	}
	return Reading{}, false
}

// counted makes a reading of a whole number.
func (r numberReader) counted(first, end, value int, doubtful bool) Reading {
	found := r.number(first, end, []string{strconv.Itoa(value)})
	found.Doubtful = doubtful
	return found
}

// groupWord reads "a hundred", "a dozen", "a couple" and "dozen". end is i for none.
func (r numberReader) groupWord(i int) (value, end int) {
	at := i
	if r.At(i) == "a" || r.At(i) == "an" {
		at++
	}
	if value, ok := text.GroupWords.Number(r.At(at)); ok && (at > i || numberOf(text.Scales, r.At(at)) == 0 && r.At(at) != "hundred") {
		return value, at + 1
	}
	return 0, i
}

// countsOne reports whether a lone "one" is said as a number: "for one", "just one",
// or nothing else.
func (r numberReader) countsOne(i int) bool { return len(r.Words) == 1 || text.OneCues.Has(r.At(i-1)) }

// lastOrdinal reads the ordinal that ends a number: "twenty-first".
func (r numberReader) lastOrdinal(value, first, end int) (int, int) {
	last, ok := text.Ordinals.Number(r.At(end))
	if end > first && ok && value >= 20 && value%10 == 0 && last < 10 {
		return value + last, end + 1
	}
	return value, end
}

// numberOf is the number that a list has for the word; zero for none.
func numberOf(list text.List, word string) int {
	number, _ := list.Number(word)
	return number
}
