package arguments

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"earshot/matcher/text"
)

// relax rewrites a text that is nearly JSON, token by token, into one that is: strings in
// other quotes or with raw line breaks, keys without quotes, Python's True, False and None,
// a comma before the closing bracket, brackets too many at the end. It adds nothing that is
// missing: a text that was cut short, an invalid number or a string that ends twice stays
// broken, and Decode refuses it. General repairers complete such texts, which means
// inventing a value.
func relax(text string) (string, error) {
	r := relaxer{rest: text}
	for {
		r.rest = strings.TrimLeft(r.rest, " \t\r\n\ufeff\u00a0")
		if r.rest == "" {
			return r.out.String(), nil
		}
		if r.closed() {
			return r.out.String(), r.onlyClosers()
		}
		if err := r.token(); err != nil {
			return "", err
		}
	}
}

type relaxer struct {
	rest  string
	out   strings.Builder
	depth int
	begun bool
}

// closed reports whether a whole object or list has been read.
func (r *relaxer) closed() bool { return r.begun && r.depth == 0 }

// onlyClosers refuses what follows the value unless it closes brackets that were
// never opened.
func (r *relaxer) onlyClosers() error {
	if strings.Trim(r.rest, "}]; \t\r\n") != "" {
		return fmt.Errorf("something follows the value: %s", text.Clip(r.rest, 40))
	}
	return nil
}

func (r *relaxer) token() error {
	first, size := utf8.DecodeRuneInString(r.rest)
	if closing, opens := quotePairs[first]; opens {
		return r.quoted(r.rest[size:], closing)
	}
	switch first {
	case '{', '[':
		r.depth++
		r.begun = true
	case '}', ']':
		r.depth--
	case ',':
		if after := strings.TrimLeft(r.rest[1:], " \t\r\n"); strings.HasPrefix(after, "}") || strings.HasPrefix(after, "]") {
			r.rest = after
			return nil
		}
	case ':':
	default:
		return r.bare()
	}
	r.out.WriteRune(first)
	r.rest = r.rest[size:]
	return nil
}

// quotePairs pairs those that open a string with those that close it.
var quotePairs = map[rune]rune{'"': '"', '\'': '\'', '“': '”', '‘': '’'}

// quoted copies a string up to its closing quote, with quotes and control characters
// escaped as JSON wants them.
func (r *relaxer) quoted(text string, closing rune) error {
	r.out.WriteByte('"')
	escaped := false
	for i, c := range text {
		switch {
		case escaped:
			r.escape(c)
			escaped = false
		case c == closing:
			r.out.WriteByte('"')
			r.rest = text[i+utf8.RuneLen(c):]
			return nil
		case c == '\\':
			escaped = true
		case c == '"' || c < ' ':
			r.out.WriteString(jsonEscape(c))
		default:
			r.out.WriteRune(c)
		}
	}
	return errors.New("a string does not end")
}

// jsonEscape writes a character as JSON's four-digit escape (RFC 8259, section 7).
func jsonEscape(c rune) string { return fmt.Sprintf(`\u%04x`, c) }

// escape copies an escape sequence. \' is not one of JSON's, and can only mean the quote.
func (r *relaxer) escape(c rune) {
	if c != '\'' {
		r.out.WriteByte('\\')
	}
	r.out.WriteRune(c)
}

var (
	bareWord   = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$-]*`)
	bareNumber = regexp.MustCompile(`^-?[0-9][0-9eE.+-]*`)
	keyFollows = regexp.MustCompile(`^\s*:`)
	literals   = map[string]string{"true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null"}
)

// bare copies what stands without quotes: a key, a literal, or a number, which Decode
// checks.
func (r *relaxer) bare() error {
	if number := bareNumber.FindString(r.rest); number != "" {
		r.out.WriteString(number + " ")
		r.rest = r.rest[len(number):]
		return nil
	}
	word := bareWord.FindString(r.rest)
	after := r.rest[len(word):]
	literal, known := literals[word]
	switch {
	case word == "":
		return fmt.Errorf("unexpected text: %s", text.Clip(r.rest, 40))
	case keyFollows.MatchString(after):
		r.out.WriteString(Encode(word))
	case known:
		r.out.WriteString(literal + " ")
	default:
		return fmt.Errorf("a text without quotes: %s", text.Clip(word, 40))
	}
	r.rest = after
	return nil
}
