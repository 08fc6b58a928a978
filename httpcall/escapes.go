package httpcall

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxEscape is the length of the longest escape, a surrogate pair of JSON.
const maxEscape = 12

// unescape decodes the escape at the beginning of a text: percent-encoding, one of JSON or of HTML. Its size is 0 if
// there is none.
func unescape(text string) (plain string, size int) {
	if text == "" {
		return "", 0
	}
	switch text[0] {
	case '%':
		if code, ok := hexAt(text, 1, 2); ok {
			return string([]byte{byte(code)}), 3
		}
	case '+': // in a query
		return " ", 1
	case '\\':
		return unescapeJSON(text)
	case '&':
		return unescapeHTML(text)
	}
	return "", 0
}

// jsonEscapes are the characters that JSON and the literals of other languages write behind a backslash.
var jsonEscapes = map[byte]string{
	'"': `"`, '\\': `\`, '/': "/", '\'': "'", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t",
}

func unescapeJSON(text string) (plain string, size int) {
	if len(text) < 2 {
		return "", 0
	}
	if text[1] != 'u' {
		plain = jsonEscapes[text[1]]
		return plain, 2 * len(plain) // each is one byte
	}
	code, ok := hexAt(text, 2, 4)
	if !ok {
		return "", 0
	}
	if low, paired := hexAt(text, 8, 4); paired && text[6:8] == `\u` {
		if both := utf16.DecodeRune(rune(code), rune(low)); both != utf8.RuneError {
			return string(both), maxEscape
		}
	}
	return string(rune(code)), 6
}

// htmlEntities are those that escape characters of markup.
var htmlEntities = map[string]string{"quot": `"`, "amp": "&", "lt": "<", "gt": ">", "apos": "'"}

func unescapeHTML(text string) (plain string, size int) {
	name, _, ends := strings.Cut(text[1:min(len(text), maxEscape)], ";")
	if !ends {
		return "", 0
	}
	number, numeric := strings.CutPrefix(name, "#")
	if !numeric {
		if plain = htmlEntities[name]; plain == "" {
			return "", 0
		}
		return plain, len(name) + 2
	}
	base := 10
	if len(number) > 0 && (number[0] == 'x' || number[0] == 'X') {
		number, base = number[1:], 16
	}
	code, err := strconv.ParseUint(number, base, 21)
	if err != nil {
		return "", 0
	}
	return string(rune(code)), len(name) + 2
}

// hexAt reads digits of a text as a hexadecimal number.
func hexAt(text string, at, digits int) (code uint64, ok bool) {
	if len(text) < at+digits {
		return 0, false
	}
	code, err := strconv.ParseUint(text[at:at+digits], 16, 32)
	return code, err == nil
}

// endsInEscape reports whether a text, the end of a longer one, is the beginning of an escape or a character that
// was cut.
func endsInEscape(text string) bool {
	if text == string(utf8.RuneError) {
		return true
	}
	return len(text) < maxEscape && strings.ContainsAny(text[:1], `%\&`) && !strings.ContainsAny(text[1:], " \"<;")
}
