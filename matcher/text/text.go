// Package text analyses natural language: words and their stems, the mood of a sentence, and the grammar words of
// every supported language. It does not know tools.
package text

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"earshot/repositories/fault"
)

// MaxWords bounds the words that are read of a text, to bound the work for a message; no command is longer.
const MaxWords = 256

// Text is a text with its words.
type Text struct {
	Said  string
	Words []Word
}

// Of splits a text into its words.
func Of(said string) Text { return Text{said, Split(said)} }

// Word is a word of a text. A contraction gives several words at the same place, an elision parts at the apostrophe.
type Word struct {
	Norm string // lower case, no accents
	Stem string
	// Start and End are its place in the text, in bytes.
	Start, End int

	tags *tags // lists that contain it; nil for none
}

// As returns another word at the place of this one.
func (w Word) As(norm, stem string) Word {
	return Word{Norm: norm, Stem: stem, Start: w.Start, End: w.End, tags: tagged[norm]}
}

// Is reports whether one of the lists contains the word, in any language.
func (w Word) Is(oneOf ...List) bool {
	if w.tags == nil {
		return false
	}
	for _, list := range oneOf {
		if w.tags.any.has(list) {
			return true
		}
	}
	return false
}

// Begins reports whether one of the lists contains the word, or a phrase that begins with it, in any language.
func (w Word) Begins(oneOf ...List) bool {
	return w.tags != nil && slices.ContainsFunc(oneOf, func(list List) bool { return w.tags.begins.has(list) })
}

// IsForeign reports whether a language other than English has the word in the list.
func (w Word) IsForeign(list List) bool { return w.tags != nil && w.tags.foreign.has(list) }

// IsSubject reports whether the word can name a subject of a text.
func (w Word) IsSubject() bool {
	return !w.Is(LightVerbs, StopWords, RequestWords, CalendarWords) && !StartsWithDigit(w.Norm)
}

// StartsWithDigit reports whether the word begins with an ASCII digit.
func StartsWithDigit(w string) bool { return w != "" && w[0] >= '0' && w[0] <= '9' }

// AnyIs reports whether one of the lists has one of the words.
func AnyIs(words []Word, oneOf ...List) bool {
	return slices.ContainsFunc(words, func(w Word) bool { return w.Is(oneOf...) })
}

// Subjects returns the stems of the text's subjects.
func Subjects(text string) map[string]bool {
	found := map[string]bool{}
	for _, w := range Split(text) {
		if w.IsSubject() {
			found[w.Stem] = true
		}
	}
	return found
}

// Split splits a text into words: runs of letters and digits, and each sign of a script without spaces.
func Split(text string) []Word {
	found, lower := make([]Word, 0, 16), LowerASCII(text)
	var room [4]string
	parts := room[:]
	for at := 0; at < len(text) && len(found) < MaxWords; {
		r, size := utf8.DecodeRuneInString(text[at:])
		if !InWord(r) {
			at += size
			continue
		}
		end := at + WordLength(text[at:], "'’.,")
		parts = expand(parts[:0], Fold(lower[at:end]), text[end:])
		cut := elided(text[at:end], parts)
		for i, part := range parts {
			w := Word{Norm: part, Stem: Stem(part), Start: at, End: end, tags: tagged[part]}
			if w.tags == nil {
				if norm := withUmlauts(part); norm != part {
					w = w.As(norm, Stem(norm))
				}
			}
			if cut > 0 && i == 0 {
				w.End = at + cut
			} else if cut > 0 {
				w.Start = at + cut
			}
			if w.Is(Hesitations) && isNameLike(text, w) {
				w.tags = nil
			}
			found = append(found, w)
		}
		at = end
	}
	return found
}

// withUmlauts returns a German word that is written without umlauts as it is folded with them: mochte for moechte, kundigen for
// kuendigen. Other words, and past forms such as musste for muesste, stay as they are.
func withUmlauts(word string) string {
	var room [32]byte
	folded := room[:0]
	for i := 0; i < len(word) && len(word) <= len(room); i++ {
		if umlaut := i > 0 && word[i] == 'e' && strings.IndexByte("aou", word[i-1]) >= 0; !umlaut {
			folded = append(folded, word[i])
		}
	}
	if len(folded) < 3 || len(folded) == len(word) { // Noé is no "no"
		return word
	}
	if of := tagged[string(folded)]; of == nil || of.spoken&(1<<indexOf(german.code)) == 0 || of.any.has(PastWords) || of.any.has(thirdModals) {
		return word
	}
	return string(folded)
}

// isNameLike reports whether a word that is also a sound of hesitation is written as a name, or is part of an address: "Ben"
// alone or in "send it to Ben", but not in "Ben, à Paul".
func isNameLike(text string, w Word) bool {
	before, after := strings.TrimSpace(text[:w.Start]), strings.TrimRight(text[w.End:], " .!?\n")
	first, size := utf8.DecodeRuneInString(text[w.Start:])
	capital := unicode.IsUpper(first) && strings.ContainsFunc(text[w.Start+size:w.End], unicode.IsLower)
	begins := before == "" || strings.HasSuffix(before, ".") || strings.HasSuffix(before, "!") || strings.HasSuffix(before, "?")
	return strings.HasPrefix(after, "@") || w.Is(soundNames) && capital && (!begins || before == "" && after == "")
}

// WordLength returns the length of the word that the text begins with. One of signs may be inside: the apostrophe
// of don't, the point and the comma of 3.50.
func WordLength(text, signs string) int {
	first, length := utf8.DecodeRuneInString(text)
	if unspaced(first) {
		return length
	}
	for length < len(text) {
		r, size := utf8.DecodeRuneInString(text[length:])
		inside := InWord(r) && !unspaced(r)
		if !inside && r != utf8.RuneError && strings.ContainsRune(signs, r) {
			of := unicode.IsLetter
			if r == '.' || r == ',' {
				of = unicode.IsDigit
			}
			last, _ := utf8.DecodeLastRuneInString(text[:length])
			next, _ := utf8.DecodeRuneInString(text[length+size:])
			inside = of(last) && of(next)
		}
		if !inside {
			break
		}
		length += size
	}
	return length
}

// InWord reports whether a rune belongs to words: a letter, a digit or a mark.
func InWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// unspaced reports whether a rune is of a script without spaces.
func unspaced(r rune) bool {
	return r >= 0x3040 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// LowerASCII returns a text of ASCII signs in lower case, which costs less than word by word. It returns other texts
// unchanged, since their places would move.
func LowerASCII(text string) string {
	if !isASCII(text) {
		return text
	}
	return strings.ToLower(text)
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
}

// Fold removes case and accents, so that Zürich, ZURICH and zurich are equal.
func Fold(text string) string {
	if text = strings.ToLower(text); isASCII(text) {
		return text
	}
	var b strings.Builder
	for _, r := range norm.NFKD.String(text) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r == 'ß':
			b.WriteString("ss")
		case r == 'œ':
			b.WriteString("oe")
		case r == '’':
			b.WriteByte('\'')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// shortened are English words after an apostrophe; "wed" is a day, "we'd" is not.
var shortened = map[string]string{"d": "would", "ll": "will", "re": "are", "ve": "have"}

// elided returns the length of a short word with its apostrophe, before the word that it is joined to; 0 for none.
func elided(word string, parts []string) int {
	if len(parts) != 2 || !elisions.Has(parts[0]) {
		return 0
	}
	at := strings.IndexAny(word, "'’")
	if at < 0 {
		return 0
	}
	_, size := utf8.DecodeRuneInString(word[at:])
	return at + size
}

// expand appends the words of a contraction: do and not for "don't" and "dont". In "order id 5" the id is none: what
// follows tells.
func expand(words []string, folded, rest string) []string {
	if folded == "id" && !wishesNext(rest) {
		return append(words, folded)
	}
	if full, ok := contractions.Value(strings.ReplaceAll(folded, "'", "")); ok {
		return append(words, strings.Fields(full)...)
	}
	before, after, found := strings.Cut(folded, "'")
	switch {
	case !found:
		return append(words, folded)
	case after == "s":
		return append(words, before)
	case shortened[after] != "":
		return append(words, before, shortened[after])
	case elisions.Has(before):
		return append(words, before, after)
	}
	return append(words, strings.ReplaceAll(folded, "'", ""))
}

// wishesNext reports whether a text begins with what follows "I would" in a wish.
func wishesNext(text string) bool {
	text = strings.TrimLeft(text, " ")
	next := Fold(text[:WordLength(text, "")])
	return wishPairs.Has("would "+next) || adverbs.Has(next) || RatherWords.Has(next)
}

// At returns the word at a place, empty beyond the text.
func (t Text) At(i int) Word {
	if i < 0 || i >= len(t.Words) {
		return Word{}
	}
	return t.Words[i]
}

// Norm returns the folded word at a place, empty beyond the text.
func (t Text) Norm(i int) string { return t.At(i).Norm }

// Gap returns the text between a word and the next, which for -1 is the first.
func (t Text) Gap(i int) string {
	from, to := 0, len(t.Said)
	if i >= 0 {
		from = t.Words[i].End
	}
	if i+1 < len(t.Words) {
		to = max(from, t.Words[i+1].Start)
	}
	return t.Said[from:to]
}

// Adjoins reports whether only space is between a word and the next.
func (t Text) Adjoins(i int) bool { return strings.TrimSpace(t.Gap(i)) == "" }

// Pause reports whether punctuation separates the word from the previous one, or there is no such word.
func (t Text) Pause(at int) bool { return at <= 0 || at >= len(t.Words) || t.parted(at) }

// Joined reports whether the point after a word ends no sentence: the words are parts of an address ("x.org"), or it
// ends an ordinal ("24. Dezember", "am 3. um acht") or an initial ("J. Miller").
func (t Text) Joined(i int) bool {
	if i < 0 || i+1 >= len(t.Words) || !strings.HasPrefix(t.Gap(i), ".") {
		return false
	}
	gap := t.Gap(i)
	next, said := t.Words[i+1], t.Words[i].Norm
	if strings.TrimSpace(gap) == "." && isInitial(t, i) {
		return true
	}
	if gap == "." {
		return !StartsWithDigit(next.Norm) && !t.Capital(i+1) || StartsWithDigit(said) && StartsWithDigit(next.Norm)
	}
	day, month, _ := strings.Cut(said, ".") // "vom 1.2. bis zum 5.2."
	ordinal := len(day) <= 2 && len(month) <= 2 && strings.Trim(day+month, "0123456789") == "" && strings.TrimSpace(gap) == "."
	return ordinal && (next.Is(Months) || i > 0 && t.Words[i-1].IsForeign(DayCues) && !t.Capital(i+1))
}

// isInitial reports whether the word is the initial of the name after it: "J. K. Rowling".
func isInitial(t Text, i int) bool {
	isLetter := func(w Word) bool { return utf8.RuneCountInString(w.Norm) == 1 && !StartsWithDigit(w.Norm) }
	next := t.Words[i+1]
	return isLetter(t.Words[i]) && t.Capital(i) && t.Capital(i+1) && (isLetter(next) || !next.Common())
}

func (t Text) parted(at int) bool {
	gap := t.Gap(at - 1)
	if t.Joined(at-1) || t.titled(at) || gap == "://" {
		return false
	}
	return strings.ContainsAny(gap, ".,;:!?–—") && !(gap == ":" && StartsWithDigit(t.Words[at-1].Norm) && StartsWithDigit(t.Words[at].Norm))
}

// Surface returns the original text of the words from first to before end.
func (t Text) Surface(first, end int) string {
	if first >= end {
		return ""
	}
	return t.Said[t.Words[first].Start:t.Words[end-1].End]
}

// Capital reports whether the word begins with a capital letter.
func (t Text) Capital(i int) bool {
	first, _ := utf8.DecodeRuneInString(t.Said[t.Words[i].Start:])
	return unicode.IsUpper(first)
}

// Lowercase reports whether the text has no capital letter after the first: such a writer does not mark names.
func (t Text) Lowercase() bool {
	_, size := utf8.DecodeRuneInString(t.Said)
	return strings.IndexFunc(t.Said[size:], unicode.IsUpper) < 0
}

// Within returns the words between two byte offsets of the text.
func (t Text) Within(from, to int) (first, end int) {
	for first < len(t.Words) && t.Words[first].End <= from {
		first++
	}
	end = first
	for end < len(t.Words) && t.Words[end].Start < to {
		end++
	}
	return first, end
}

// Key normalizes a text for comparison without case, accents, punctuation and spacing.
func Key(text string) string {
	folded, parts := Fold(text), func(r rune) bool { return !InWord(r) }
	if !strings.ContainsFunc(folded, parts) {
		return folded
	}
	var b strings.Builder
	b.Grow(len(folded) + 1)
	for field := range strings.FieldsFuncSeq(folded, parts) {
		b.WriteByte(' ')
		b.WriteString(field)
	}
	return strings.TrimPrefix(b.String(), " ")
}

// Identifier splits a name such as requestForAppointment, find_phone or HTTPServer-2 into its words.
func Identifier(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) {
			before, next := runes[i-1], rune(0)
			if i+1 < len(runes) {
				next = runes[i+1]
			}
			if unicode.IsLower(before) || unicode.IsDigit(before) || unicode.IsUpper(before) && unicode.IsLower(next) {
				b.WriteByte(' ')
			}
		}
		if r == '_' || r == '-' || r == '.' {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Clip truncates a text to at most limit bytes, at a character boundary, and marks the cut.
func Clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return fmt.Sprintf("%s… (cut, %d bytes in all)", fault.Cut(text, limit), len(text))
}

// Stem removes the commonest English endings, so that book, books, booked and booking are equal. It is light on
// purpose: joining two words costs more than missing one, since pieces of words are also compared.
func Stem(w string) string {
	w = Singular(w)
	switch {
	case len(w) > 5 && strings.HasSuffix(w, "ing") && hasVowel(w[:len(w)-3]):
		w = singleConsonant(w[:len(w)-3])
	case len(w) > 4 && strings.HasSuffix(w, "ed") && hasVowel(w[:len(w)-2]):
		w = singleConsonant(w[:len(w)-2])
	}
	if len(w) > 3 && strings.HasSuffix(w, "e") {
		return w[:len(w)-1]
	}
	return w
}

// Singular removes the ending of an English plural.
func Singular(w string) string {
	switch {
	case len(w) < 4 || !strings.HasSuffix(w, "s"):
		return w
	case len(w) > 4 && strings.HasSuffix(w, "ies"):
		return w[:len(w)-3] + "y"
	case len(w) > 4 && strings.HasSuffix(w, "sses"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
		return w
	}
	return w[:len(w)-1]
}

func hasVowel(w string) bool { return strings.ContainsAny(w, "aeiouy") }

// singleConsonant turns the stopp of stopping into stop, and leaves call, pass and buzz.
func singleConsonant(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("lsz", rune(w[n-1])) {
		return w[:n-1]
	}
	return w
}

// nounEndings are the endings of English nouns derived from verbs: reminder, payment.
var nounEndings = []string{"ation", "ment", "ion", "er", "or", "al", "y"}

// Root removes such an ending from a stem if enough is left to distinguish it: remind and reminder have one root,
// also pay and payment.
func Root(stem string) string {
	for _, ending := range nounEndings {
		if root, ok := strings.CutSuffix(stem, ending); ok && len(root) >= 4-len(ending)/4 && hasVowel(root) {
			return singleConsonant(root)
		}
	}
	return stem
}

// Typo reports whether two words differ by one typing error: an extra, missing or different letter, or two swapped
// ones. another is true for a different letter. The first letter must agree, where typing errors are rare.
func Typo(a, b string) (ok, another bool) {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	for i > 0 && i < len(a) && !utf8.RuneStart(a[i]) {
		i--
	}
	if i == 0 {
		return false, false
	}
	a, b = a[i:], b[i:]
	one, m := utf8.DecodeRuneInString(a)
	other, n := utf8.DecodeRuneInString(b)
	next, k := utf8.DecodeRuneInString(b[n:])
	switch {
	case a == b[n:]: // an extra letter
		return true, false
	case a[m:] == b[n:]:
		return true, true
	}
	return one == next && strings.HasPrefix(a[m:], string(other)) && a[m+n:] == b[n+k:], false
}
