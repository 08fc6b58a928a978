package values

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"earshot/matcher/datetime"
	"earshot/matcher/text"
	"earshot/repositories/quantity"
)

// readCodes fills the one slot for a code with the one code in the text: of letters and digits, of digits, or
// spoken digits.
func readCodes(f *slotFiller) {
	s := f.lone(func(s *slot) bool { return s.code })
	if s == nil {
		return
	}
	all := codeReader{f}.codes(s)
	found := slices.DeleteFunc(slices.Clone(all), func(m Mention) bool { return len(s.shapes) > 0 && !s.shapes[shapeOf(m.Value.(string))] })
	if len(found) == 0 && len(all) == 1 && (codeReader{f}).introduced(s, all[0]) {
		found = all // of a form that no example has
	}
	if len(found) == 1 {
		f.fill(s, found[0].Value, found[0].First, found[0].End)
	}
}

type codeReader struct{ *slotFiller }

func (f codeReader) codes(s *slot) []Mention {
	var found []Mention
	moments := f.Moments()
	for i := 0; i < len(f.Words); {
		code, end := f.codeAt(s, i)
		denied := i > 0 && f.Words[i-1].Is(text.Denials) && f.Adjoins(i-1)
		timed := !strings.ContainsFunc(code, unicode.IsLetter) && slices.ContainsFunc(moments, func(m datetime.Reading) bool {
			return !m.Doubtful && m.First <= i && end <= m.End
		})
		if code == "" || timed || denied || !f.free(i, end) {
			i++
			continue
		}
		found = append(found, Mention{code, i, end})
		i = end
	}
	return found
}

// introduced reports whether the words before a code tell that it is one, "voucher X9-KLM", "my number is", or the text has
// nothing else.
func (f codeReader) introduced(s *slot, m Mention) bool {
	left, _ := f.sentence().leftOf(m.First)
	label := m.First - 1
	if f.At(label).Is(text.Copulas) && label > 0 {
		label--
	}
	if f.At(label).Is(text.LabelWords) || s.nameHas(f.At(label)) || s.taught != nil && s.taught.left[left] && !text.StopWords.Has(left) {
		return true
	}
	for i, w := range f.Words {
		if (i < m.First || i >= m.End) && !w.Is(text.StopWords, text.Fillers, text.PoliteWords, text.AdditionPhrases) {
			return false
		}
	}
	return true
}

// codeForm matches a code of letters and digits, but no time, ordinal or amount.
var codeForm = regexp.MustCompile(`^\pL{1,5}[-_/.]?[\pL\d]*\d[\pL\d]*(?:[-_/.][\pL\d]+)*$`)

// mixedForm matches a code of capitals between digits: 7HJ2KK.
var mixedForm = regexp.MustCompile(`^\d+[A-Z]{2,}\d[A-Z\d]*$`)

// codeAt reads the code that begins at word i; empty for none. A unit, sign or noun after digits makes them an
// amount. If the tool also takes numbers, the words before digits must name the slot or the tool: "ticket 5123".
func (f codeReader) codeAt(s *slot, i int) (code string, end int) {
	end = f.tied(i)
	if surface := f.Surface(i, end); len(surface) >= shortestCode && (codeForm.MatchString(surface) && !text.StartsWithDigit(f.Norm(i)) || mixedForm.MatchString(surface)) {
		return surface, end
	}
	code, end = f.digits(i)
	if len(code) < shortestCode {
		return "", i
	}
	from, to := f.Words[i].Start, f.Words[end-1].End
	if slices.ContainsFunc(f.Amounts(), func(one quantity.Amount) bool { return one.From < to && from < one.To && (!one.Bare() || one.Denied) }) {
		return "", i
	}
	if f.currencyBefore(from) != "" || end < len(f.Words) && f.Adjoins(end-1) && f.Words[end].IsSubject() && !f.Words[end].Is(text.PoliteWords, text.TrailingWords) {
		return "", i
	}
	before := i - 1
	for f.At(before).Is(text.LinkingWords, text.PlaceholderWords) {
		before--
	}
	named := before >= 0 && (s.nameHas(f.Words[before]) || f.name[f.Words[before].Stem])
	if !named && len(f.slots((*slot).counts)) > 0 {
		return "", i
	}
	return code, end
}

// digits reads a run of digits in figures, or in words for digits and two-digit numbers, as "four seven one one",
// "forty-seven eleven". end is i for none.
func (f codeReader) digits(i int) (digits string, end int) {
	if w := f.Surface(i, i+1); strings.Trim(w, "0123456789") == "" && (len(w) > 1 || len(f.Norm(i+1)) != 1) {
		if i > 0 && joiners[f.Gap(i-1)] || f.tied(i) > i+1 {
			return "", i // a part of something else
		}
		return w, i + 1
	}
	for end = i; end < len(f.Words) && (end == i || strings.Trim(f.Gap(end-1), " -,") == ""); {
		number, after := f.spoken(end)
		if after == end {
			break
		}
		digits, end = digits+number, after
	}
	if end < i+2 || f.Words[i].Is(text.Determiners) {
		return "", i // a single word is a count
	}
	return digits, end
}

// spoken reads the longest number under a hundred in words.
func (f codeReader) spoken(i int) (digits string, end int) {
	switch w := f.Norm(i); {
	case w == "oh":
		return "0", i + 1
	case w == "un" || w == "ein": // an article elsewhere; the first word of a run is read separately
		return "1", i + 1
	case text.StartsWithDigit(w) && len(w) == 1:
		return w, i + 1 // 0 8 1 5
	case text.StartsWithDigit(w), len(f.Numbers(i)) == 0 && !f.At(i).Is(text.NumberWords, text.Numbers): // reading costs more than looking
		return "", i
	}
	for end = min(i+2, len(f.Words)); end > i; end-- {
		number, ok := quantity.Number(f.Surface(i, end))
		if ok && len(number) <= 2 && len(number) >= end-i && !strings.ContainsAny(string(number), "-.") {
			return string(number), end
		}
	}
	return "", i
}

// readSpokenNumbers fills a number that is called a code with its spoken digits.
func readSpokenNumbers(f *slotFiller) {
	slots := f.slots(func(s *slot) bool {
		return s.Numeric() && len(s.Allowed) == 0 && s.Unit == nil && s.namedFor(text.CodeNames) && !countsSome(text.Identifier(s.Name))
	})
	if len(slots) != 1 {
		return
	}
	for i := range f.Words {
		digits, end := codeReader{f}.digits(i)
		if end > i+1 && len(digits) >= shortestCode && digits[0] != '0' && f.free(i, end) && slots[0].takes(json.Number(digits)) {
			f.fill(slots[0], json.Number(digits), i, end)
			return
		}
	}
}
