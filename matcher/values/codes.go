package values

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"earshot/matcher/text"
	"earshot/repositories/quantity"
)

// A code is letters and digits that stand for one thing, as A-1234, or digits alone, as a PIN.

var codeNames = text.CodeNames.Stems()

// isCode reports whether the slot, which is a string of no other form, holds a code: by its name, or by a sample
// of one in its description or in an example.
func (s *slot) isCode() bool {
	return s.namedBy(codeNames) || len(s.shapes()) > 0
}

// sampled is what a description shows as a sample of a code.
var sampled = regexp.MustCompile(`(?i)\b(?:such as|like|as in|e\.\s?g\.,?|for example|example:)\s+["'“]?([\pL\d]+(?:[-_/.][\pL\d]+)*)`)

// shapes are those of the codes that the description and the examples show.
func (s *slot) shapes() map[string]bool {
	found := map[string]bool{}
	add := func(sample string) {
		if strings.ContainsFunc(sample, unicode.IsDigit) && !strings.Contains(sample, " ") && len(sample) >= shortestCode {
			found[shapeOf(sample)] = true
		}
	}
	if sample := sampled.FindStringSubmatch(s.Description); sample != nil {
		add(sample[1])
	}
	if s.taught != nil {
		for _, said := range s.taught.surfaces {
			add(said)
		}
	}
	return found
}

// shortestCode is how many signs a code of digits has at least: fewer are a count of something.
const shortestCode = 3

// shapeOf writes a run of letters as A and one of digits as 9.
func shapeOf(code string) string {
	var shape []rune
	for _, c := range code {
		switch {
		case unicode.IsDigit(c):
			c = '9'
		case unicode.IsLetter(c):
			c = 'A'
		}
		if last := len(shape) - 1; last < 0 || shape[last] != c || c != 'A' && c != '9' {
			shape = append(shape, c)
		}
	}
	return string(shape)
}

// readCodes fills the one slot for a code with the one code that the text has: written with
// letters and digits, or in digits, or digit by digit in words.
func (r codeReader) readCodes() {
	slots := r.slots(func(s *slot) bool { return s.code })
	if len(slots) > 1 {
		slots = r.required(slots)
	}
	if len(slots) != 1 {
		return
	}
	shapes := slots[0].shapes()
	var found []mention
	for _, one := range r.codes(slots[0]) {
		if len(shapes) == 0 || shapes[shapeOf(one.value.(string))] {
			found = append(found, one)
		}
	}
	if len(found) == 1 {
		r.fill(slots[0], found[0].value, found[0].first, found[0].end)
	}
}

// codes finds what may be the slot's code.
func (r codeReader) codes(s *slot) []mention {
	var found []mention
	moments := slices.Concat(r.Dates(), r.Clocks())
	for i := 0; i < len(r.Words); {
		one, ok := r.codeAt(s, i)
		for _, m := range moments {
			ok = ok && (m.Doubtful || one.first < m.First || m.End < one.end || strings.ContainsFunc(one.value.(string), unicode.IsLetter))
		}
		if !ok || !r.free(one.first, one.end) || r.deniedBefore(one.first) {
			i++
			continue
		}
		found = append(found, one)
		i = one.end
	}
	return found
}

func (r codeReader) deniedBefore(i int) bool {
	return i > 0 && text.Denials.Has(r.Norm(i-1)) && strings.TrimSpace(r.Gap(i-1)) == ""
}

// codeAt reads the code that begins at word i.
func (r codeReader) codeAt(s *slot, i int) (mention, bool) {
	if end := r.joined(i); r.lettered(i, end) {
		return mention{r.Surface(i, end), i, end}, true
	}
	digits, end := r.digits(i)
	if len(digits) < shortestCode || !r.alone(i, end) || len(r.slots(numberSlot)) > 0 && !r.codeNamed(s, i) {
		return mention{}, false
	}
	return mention{digits, i, end}, true
}

// lettered reports whether the words are one code of letters and digits, and no time, ordinal
// or amount.
func (r codeReader) lettered(first, end int) bool {
	said := r.Surface(first, end)
	letters, digits := strings.ContainsFunc(said, unicode.IsLetter), strings.ContainsFunc(said, unicode.IsDigit)
	return letters && digits && len(said) >= shortestCode && !text.StartsWithDigit(r.Norm(first)) && codeForm.MatchString(said)
}

var codeForm = regexp.MustCompile(`^\pL{1,5}[-_/.]?[\pL\d]*\d[\pL\d]*(?:[-_/.][\pL\d]+)*$`)

// digits reads a run of digits: in figures, or in words for digits and for numbers of two of
// them, as "four seven one one", "forty-seven eleven". end is i for none.
func (r codeReader) digits(i int) (digits string, end int) {
	if w := r.Surface(i, i+1); strings.Trim(w, "0123456789") == "" && (len(w) > 1 || len(r.Norm(i+1)) != 1) {
		if i > 0 && tight[r.Gap(i-1)] || r.joined(i) > i+1 {
			return "", i // a part of something else
		}
		return w, i + 1
	}
	for end = i; end < len(r.Words); {
		if end > i && strings.Trim(r.Gap(end-1), " -,") != "" {
			break
		}
		number, after := r.spoken(end)
		if after == end {
			break
		}
		digits, end = digits+number, after
	}
	if end < i+2 || text.Determiners.Has(r.Norm(i)) {
		return "", i // a single word counts something
	}
	return digits, end
}

// spoken reads one number under a hundred in words: the longest that there is.
func (r codeReader) spoken(i int) (digits string, end int) {
	switch r.Norm(i) {
	case "oh":
		return "0", i + 1
	case "un", "ein": // an article elsewhere; what begins a run is read apart
		return "1", i + 1
	}
	if text.StartsWithDigit(r.Norm(i)) {
		if len(r.Norm(i)) == 1 {
			return r.Norm(i), i + 1 // 0 8 1 5
		}
		return "", i
	}
	for end = min(i+2, len(r.Words)); end > i; end-- {
		number, is := quantity.Number(r.Surface(i, end))
		if is && len(number) <= 2 && len(number) >= end-i && !strings.ContainsAny(string(number), "-.") {
			return string(number), end
		}
	}
	return "", i
}

// alone reports whether digits stand for themselves: no unit, sign or noun makes them an
// amount.
func (r codeReader) alone(first, end int) bool {
	from, to := r.Words[first].Start, r.Words[end-1].End
	said := r.Amounts()
	if slices.ContainsFunc(said, func(one quantity.Amount) bool { return one.From < to && from < one.To && (!one.Bare() || one.Denied) }) {
		return false
	}
	if currency.MatchString(r.Said[:from]) || end < len(r.Words) && strings.TrimSpace(r.Gap(end-1)) == "" && r.Words[end].IsSubject() && !text.PoliteWords.Has(r.Norm(end)) && !text.TrailingWords.Has(r.Norm(end)) {
		return false
	}
	return true
}

// codeNamed reports whether what stands before a number names the slot or the tool: "ticket
// 5123".
func (r codeReader) codeNamed(s *slot, i int) bool {
	for i > 0 && (text.LinkingWords.Has(r.Norm(i-1)) || text.PlaceholderWords.Has(r.Norm(i-1))) {
		i--
	}
	return i > 0 && (s.nameHas(r.Words[i-1]) || r.name[r.Words[i-1].Stem])
}

// readSpokenNumbers fills a number that is called a code with the digits of it, said one by one.
func (r codeReader) readSpokenNumbers() {
	slots := r.slots(func(s *slot) bool {
		return isNumeric(s) && len(s.Allowed) == 0 && s.Unit == nil && s.namedBy(codeNames) && !countsSome(text.Identifier(s.Name))
	})
	if len(slots) != 1 {
		return
	}
	for i := range r.Words {
		digits, end := r.digits(i)
		if end > i+1 && len(digits) >= shortestCode && digits[0] != '0' && r.free(i, end) && slots[0].takes(json.Number(digits)) {
			r.fill(slots[0], json.Number(digits), i, end)
			return
		}
	}
}
