// Package text reads what people write: words and their stems, the mood of a sentence, and
// the grammar words of every language that is supported. It knows nothing of tools.
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

// MaxWords bounds how many words of a text are read: no command is longer, and the work per
// message stays bounded whatever is sent.
const MaxWords = 256

// Word is a word of a text. A contraction gives several words that share one place.
type Word struct {
	Norm string // lower case, no accents
	Stem string
	// start and end are byte offsets of the surface in the text.
	Start, End int

	tags *tags // the lists that have it; nil for none
}

// As is another word in the place of this one.
func (w Word) As(norm, stem string) Word {
	return Word{Norm: norm, Stem: stem, Start: w.Start, End: w.End, tags: tagged[norm]}
}

// Is reports whether one of the lists has the word, in any language.
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

// AnyIs reports whether one of the lists has one of the words.
func AnyIs(words []Word, oneOf ...List) bool {
	return slices.ContainsFunc(words, func(w Word) bool { return w.Is(oneOf...) })
}

// IsForeign reports whether a language other than English has the word in the list.
func (w Word) IsForeign(list List) bool { return w.tags != nil && w.tags.foreign.has(list) }

// Split reads the words of a text: runs of letters and digits, and each sign of a
// script that writes no spaces as a word of its own.
func Split(text string) []Word {
	found := make([]Word, 0, 16)
	var parts []string
	for at := 0; at < len(text) && len(found) < MaxWords; {
		r, size := utf8.DecodeRuneInString(text[at:])
		if !InWord(r) {
			at += size
			continue
		}
		end := at + WordLength(text[at:], '\'', '’', '.', ',')
		parts = expand(parts[:0], Fold(text[at:end]))
		for _, part := range parts {
			found = append(found, Word{Norm: part, Stem: Stem(part), Start: at, End: end, tags: tagged[part]})
		}
		at = end
	}
	return found
}

// WordLength is the length of the word that the text begins with. A sign inside belongs to it
// if it is one of those given: the apostrophe of don't, the point and the comma of 3.50.
func WordLength(text string, signs ...rune) int {
	first, length := utf8.DecodeRuneInString(text)
	if unspaced(first) {
		return length
	}
	for length < len(text) {
		r, size := utf8.DecodeRuneInString(text[length:])
		inside := slices.Contains(signs, r) && joins(text[:length], r, text[length+size:])
		if !inside && (!InWord(r) || unspaced(r)) {
			break
		}
		length += size
	}
	return length
}

// joins reports whether r, between what stands before and after it, is part of a word:
// the apostrophe of don't and the point of 3.50.
func joins(before string, r rune, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	switch r {
	case '\'', '’':
		return unicode.IsLetter(last) && unicode.IsLetter(next)
	case '.', ',':
		return unicode.IsDigit(last) && unicode.IsDigit(next)
	}
	return false
}

// InWord reports whether a rune belongs to words: a letter, a digit or a mark.
func InWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// unspaced reports whether a rune is of a script that writes no spaces.
func unspaced(r rune) bool {
	return r >= 0x3040 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// Fold removes case and accents, so that Zürich, ZURICH and zurich are one word.
func Fold(text string) string {
	text = strings.ToLower(text)
	if isASCII(text) {
		return text
	}
	var b strings.Builder
	for _, r := range norm.NFKD.String(text) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r == 'ß':
			b.WriteString("ss")
		case r == '’':
			b.WriteByte('\'')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isASCII(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// expand appends the words of a contraction, spelled out: of "don't" and "dont" do and not.
func expand(words []string, folded string) []string {
	if full, ok := Contractions.Value(strings.ReplaceAll(folded, "'", "")); ok {
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
	case Elisions.Has(before):
		return append(words, before, after)
	}
	return append(words, strings.ReplaceAll(folded, "'", ""))
}

// shortened are the English words that are joined to the one before by an apostrophe; "wed" is a
// day, "we'd" is not.
var shortened = map[string]string{"d": "would", "ll": "will", "re": "are", "ve": "have"}

// Key normalizes a text for comparison: case, accents, punctuation and spacing make no
// difference.
func Key(text string) string {
	var b strings.Builder
	for field := range strings.FieldsFuncSeq(Fold(text), func(r rune) bool { return !InWord(r) }) {
		b.WriteByte(' ')
		b.WriteString(field)
	}
	return strings.TrimPrefix(b.String(), " ")
}

// Identifier splits a name such as requestForAppointment, find_phone or HTTPServer-2
// into the words that it is made of.
func Identifier(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if r == '_' || r == '-' || r == '.' {
			r = ' '
		}
		if i > 0 && breaks(runes, i) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// breaks reports whether a new word of a camelCase name begins at i.
func breaks(runes []rune, i int) bool {
	upper := unicode.IsUpper(runes[i])
	switch {
	case upper && (unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1])):
		return true
	case upper && unicode.IsUpper(runes[i-1]):
		return i+1 < len(runes) && unicode.IsLower(runes[i+1])
	}
	return false
}

// Clip truncates a text to at most limit bytes, at a character boundary, and marks the cut.
func Clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return fmt.Sprintf("%s… (cut, %d bytes in all)", fault.Cut(text, limit), len(text))
}

// Stem removes the commonest English endings, so that book, books, booked and booking are
// one word. It is light on purpose: a wrong join of two words costs more than a missed one,
// since pieces of words are compared as well.
func Stem(w string) string {
	w = Singular(w)
	switch {
	case len(w) > 5 && strings.HasSuffix(w, "ing") && hasVowel(w[:len(w)-3]):
		w = undouble(w[:len(w)-3])
	case len(w) > 4 && strings.HasSuffix(w, "ed") && hasVowel(w[:len(w)-2]):
		w = undouble(w[:len(w)-2])
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

// undouble turns the stopp of stopping into stop, and leaves call, pass and buzz.
func undouble(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("lsz", rune(w[n-1])) {
		return w[:n-1]
	}
	return w
}

// Subjects returns the stems of the text's words that say what it is about.
func Subjects(text string) map[string]bool {
	found := map[string]bool{}
	for _, w := range Split(text) {
		if IsSubject(w) {
			found[w.Stem] = true
		}
	}
	return found
}

// IsSubject reports whether a word can say what a text is about.
func IsSubject(w Word) bool {
	return !w.Is(LightVerbs, StopWords, RequestWords, CalendarWords) && !StartsWithDigit(w.Norm)
}

// StartsWithDigit reports whether the word begins with an ASCII digit.
func StartsWithDigit(w string) bool { return w != "" && w[0] >= '0' && w[0] <= '9' }

// Units are the stems of units of measurement.
var Units = UnitNames.Stems()
