package matcher

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// mostWords bounds what is read of one text: no command is longer, and the work per
// message stays bounded whatever is sent.
const mostWords = 256

// word is a word of a text. A contraction gives several words that share one place.
type word struct {
	norm string // lower case, no accents
	stem string
	// start and end are byte offsets of the surface in the text.
	start, end int
}

// split reads the words of a text: runs of letters and digits, and each sign of a
// script that writes no spaces as a word of its own.
func split(text string) []word {
	found := make([]word, 0, 16)
	for at := 0; at < len(text) && len(found) < mostWords; {
		r, size := utf8.DecodeRuneInString(text[at:])
		if !inWord(r) {
			at += size
			continue
		}
		end := at + wordLength(text[at:])
		for _, part := range expand(fold(text[at:end])) {
			found = append(found, word{norm: part, stem: stem(part), start: at, end: end})
		}
		at = end
	}
	return found
}

// wordLength is the length of the word that the text begins with. An apostrophe or a
// decimal sign inside belongs to it.
func wordLength(text string) int {
	first, length := utf8.DecodeRuneInString(text)
	if unspaced(first) {
		return length
	}
	for length < len(text) {
		r, size := utf8.DecodeRuneInString(text[length:])
		if !joins(text[:length], r, text[length+size:]) && (!inWord(r) || unspaced(r)) {
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

func inWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

func unspaced(r rune) bool {
	return r >= 0x3040 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// fold takes case and accents away, so that Zürich, ZURICH and zurich are one word.
func fold(text string) string {
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

// expand writes a contraction out: "don't" and "dont" are do and not.
func expand(folded string) []string {
	if full, ok := contractions[strings.ReplaceAll(folded, "'", "")]; ok {
		return strings.Fields(full)
	}
	before, after, found := strings.Cut(folded, "'")
	switch {
	case !found:
		return []string{folded}
	case after == "s":
		return []string{before}
	case elisions[before]:
		return []string{before, after}
	}
	return []string{strings.ReplaceAll(folded, "'", "")}
}

// key is the text without case, accents, punctuation and spacing differences.
func key(text string) string {
	var b strings.Builder
	for field := range strings.FieldsFuncSeq(fold(text), func(r rune) bool { return !inWord(r) }) {
		b.WriteByte(' ')
		b.WriteString(field)
	}
	return strings.TrimPrefix(b.String(), " ")
}

// identifier splits a name such as requestForAppointment, find_phone or HTTPServer-2
// into the words that it is made of.
func identifier(name string) string {
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

// clip cuts a text to at most limit bytes, at a character, and says so.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (cut, %d bytes in all)", text[:cut], len(text))
}
