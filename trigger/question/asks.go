package question

import (
	"strings"
	"unicode"
)

// Plain are the words of a text, in lower case, with a space before, between and after them: how
// they are laid out, and marked up, does not count. Numbers and codes, as 5.00 or A-17, are a word.
func Plain(text string) string {
	var words strings.Builder
	words.WriteByte(' ')
	between := true // the last sign is a space
	signs := []rune(text)
	isWord := func(at int) bool {
		return at >= 0 && at < len(signs) && (unicode.IsLetter(signs[at]) || unicode.IsNumber(signs[at]))
	}
	for i, sign := range signs {
		joins := strings.ContainsRune(".,:/-'’", sign) && isWord(i-1) && isWord(i+1)
		switch {
		case isWord(i), unicode.IsMark(sign), joins:
			words.WriteRune(unicode.ToLower(sign))
			between = false
		case !between:
			words.WriteByte(' ')
			between = true
		}
	}
	if !between {
		words.WriteByte(' ')
	}
	return words.String()
}

// Words are the words of a question by which it is known again, without the two answers that Of
// offers behind it. A text asks a question where Plain of the text contains them.
func Words(question string) string {
	if strings.HasSuffix(question, ")") {
		question = question[:strings.LastIndex(question, "(")]
	}
	return Plain(question)
}

// Asks reports whether a text asks a question of Of.
func Asks(text, question string) bool {
	words := Words(question)
	return strings.TrimSpace(words) != "" && strings.Contains(Plain(text), words)
}
