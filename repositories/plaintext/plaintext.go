// Package plaintext removes the invisible characters of a text. With zero-width characters, tags and direction
// marks, the author of a description could hide text for a model from people, or display another text to people.
package plaintext

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	nonJoiner, joiner = '\u200c', '\u200d'
	textStyle         = '\ufe0e' // shows an emoji as text
	emojiStyle        = '\ufe0f'
)

// joining are the scripts in which the two joiners select forms of letters (The Unicode Standard, sections 9.2,
// 12.1 and 23.2).
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mandaic, unicode.Nko, unicode.Mongolian, unicode.Phags_Pa,
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
	unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Thaana,
	unicode.Balinese, unicode.Javanese, unicode.Sundanese, unicode.Grantha, unicode.Newa, unicode.Tirhuta, unicode.Chakma,
}

// Text returns a text without its invisible characters: controls except tabs and line ends, format characters such
// as U+200B, U+202A to U+202E, U+2066 to U+2069, U+00AD and U+FEFF, tags from U+E0000, fillers, and ineffective
// variation selectors. Joiners stay between emoji, and in words of scripts that use them.
func Text(text string) string {
	if !suspicious(text) {
		return text
	}
	runes := []rune(text)
	var kept strings.Builder
	kept.Grow(len(text))
	last := rune(0) // the last kept one
	for i, r := range runes {
		next := rune(0)
		if i+1 < len(runes) && !hidden(runes[i+1]) && !unicode.Is(unicode.Variation_Selector, runes[i+1]) {
			next = runes[i+1]
		}
		if stays(last, r, next) {
			kept.WriteRune(r)
			last = r
		}
	}
	return kept.String()
}

func suspicious(text string) bool {
	for i := range len(text) {
		if c := text[i]; c >= utf8.RuneSelf || c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
			return true
		}
	}
	return false
}

// stays reports whether a character is visible, or changes the display of its neighbours: last is the kept one
// before it, and next the one after it, if visible.
func stays(last, r, next rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return true
	case r == joiner && emoji(last) && emoji(next):
		return true
	case r == joiner || r == nonJoiner:
		return unicode.In(last, joining...) && (unicode.In(next, joining...) || unicode.Is(unicode.M, last))
	case unicode.Is(unicode.Variation_Selector, r):
		return varies(last, r)
	}
	return !hidden(r)
}

// hidden reports whether a character is invisible with any neighbours. Some visible signs of numbers are format
// characters.
func hidden(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// emoji reports whether a character is an emoji or a part of one: a skin tone, or a style.
func emoji(r rune) bool {
	return r == emojiStyle || unicode.Is(unicode.So, r) || r >= 0x1f3fb && r <= 0x1f3ff
}

// varies reports whether a variation selector follows a character that it can vary.
func varies(last, selector rune) bool {
	switch {
	case selector == textStyle || selector == emojiStyle:
		return unicode.In(last, unicode.So, unicode.Sm, unicode.Po, unicode.Pd, unicode.Nd) && (last > unicode.MaxLatin1 || strings.ContainsRune("0123456789#*©®", last))
	case unicode.Is(unicode.Mongolian, selector):
		return unicode.Is(unicode.Mongolian, last) && !unicode.Is(unicode.Variation_Selector, last)
	}
	return unicode.In(last, unicode.Han, unicode.Sm, unicode.Myanmar, unicode.Phags_Pa, unicode.Egyptian_Hieroglyphs)
}

// Folded returns a text in lower case and without accents.
func Folded(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(strings.ToLower(text)))
}

// quoted matches the strings of a JSON text, including names of fields.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// JSON returns a JSON text without invisible characters in its strings and names, otherwise unchanged.
func JSON(text json.RawMessage) json.RawMessage {
	if !suspicious(string(text)) && !strings.Contains(string(text), `\u`) {
		return text
	}
	return quoted.ReplaceAllFunc(text, func(given []byte) []byte {
		var written string
		if json.Unmarshal(given, &written) != nil || Text(written) == written {
			return given
		}
		shown, _ := json.Marshal(Text(written)) // a text always marshals
		return shown
	})
}

// Texts applies Text to the texts among values, such as those of an enum.
func Texts(values []any) []any {
	shown := make([]any, len(values))
	for i, value := range values {
		shown[i] = value
		if text, ok := value.(string); ok {
			shown[i] = Text(text)
		}
	}
	return shown
}
