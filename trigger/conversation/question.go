package conversation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/secret"
	"earshot/trigger/ledger"
)

// Bounds of a question, which is spoken or shown on a small screen.
const (
	maxSubject = 160 // bytes
	maxValues  = 600 // bytes
	maxDepth   = 4   // of parts of a value
	maxParts   = 10  // of a list or an object
)

// phrasing has the texts of a question in a language, apart from the tool and its values. matcher.Consents
// recognizes the two answers.
type phrasing struct{ question, yes, no string }

var english = phrasing{"Shall I go ahead?", "yes", "no"}

// phrasings has the phrasing of each language that the matcher reads, by code.
var phrasings = map[string]phrasing{
	"en": english,
	"de": {"Soll ich das tun?", "ja", "nein"},
	"fr": {"Dois-je le faire ?", "oui", "non"},
	"it": {"Procedo?", "sì", "no"},
	"es": {"¿Lo hago?", "sí", "no"},
}

// Question asks whether the tool may be fired with the values, as in "Refund an order: order A-17, amount 30.
// Shall I go ahead? (yes / no)". It is in the user's language (BCP 47), else in that of the user's words, else
// of the tool's description, else in English. It leaves out ignored and static parameters and those from ID
// tokens, and masks values named like credentials.
func Question(tool *repositories.Tool, values map[string]any, language, message string) string {
	subject := oneLine(tool.Description)
	if end := sentenceEnd.FindStringIndex(subject); end != nil {
		subject = subject[:end[0]]
	}
	subject = fault.ClipTo(cmp.Or(strings.TrimSpace(subject), spaced(tool.Name)), maxSubject)
	code, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(language), "_", "-"), "-")
	texts, known := phrasings[code]
	if !known {
		texts, known = phrasings[cmp.Or(matcher.LanguageOf(message), matcher.LanguageOf(subject))]
	}
	if !known {
		texts = english
	}

	names := tool.Params().Names() // in the tool's order, then additional ones
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var members []string
	for _, name := range names {
		if value := values[name]; value != nil && !tool.Params().Hidden(name) {
			members = append(members, texts.memberText(name, value, 0))
		}
	}
	if len(members) > 0 {
		subject += ": " + fault.ClipTo(strings.Join(members, ", "), maxValues)
	}
	return subject + ". " + texts.question + " (" + texts.yes + " / " + texts.no + ")"
}

// sentenceEnd matches the end of the first sentence: the others are for the model.
var sentenceEnd = regexp.MustCompile(`[.!?]+(\s+\p{Lu}.*)?$`)

// credential matches names of credentials as whole words: not "author".
var credential = regexp.MustCompile(`(?i)\b(password|passwd|passwort|passphrase|pin|secret|token|credentials?|(api|access|private) ?key|cvv|cvc)\b`)

// memberText returns a name with its value: "amount 30".
func (in phrasing) memberText(name string, value any, depth int) string {
	name = spaced(name)
	if credential.MatchString(name) {
		return name + " " + secret.Masked
	}
	return fault.Clip(name) + " " + in.valueText(value, depth)
}

// valueText returns a value for people, clipped.
func (in phrasing) valueText(value any, depth int) string {
	if depth > maxDepth {
		return "…"
	}
	switch value := value.(type) {
	case nil:
		return "–"
	case bool:
		if value {
			return in.yes
		}
		return in.no
	case json.Number:
		if decimal, ok := exactjson.ParseDecimal(value.String()); ok {
			return fault.Clip(decimal.String()) // 30 for 3e1
		}
		return fault.Clip(value.String())
	case []any:
		parts := make([]string, len(value))
		for i := range value {
			parts[i] = in.valueText(value[i], depth+1)
		}
		return parenthesized(parts)
	case map[string]any:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(value)) {
			parts = append(parts, in.memberText(name, value[name], depth+1))
		}
		return parenthesized(parts)
	}
	text := fault.Clip(oneLine(fmt.Sprint(value)))
	if text != "" && !strings.ContainsAny(text, `,;:()“”"?!`) && !strings.Contains(text, ". ") {
		return text
	}
	return "“" + strings.NewReplacer("“", "'", "”", "'").Replace(text) + "”" // a quotation mark within the text could look like another value
}

func parenthesized(parts []string) string {
	if len(parts) > maxParts {
		parts = append(parts[:maxParts:maxParts], fmt.Sprintf("… +%d", len(parts)-maxParts))
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// camelCase matches the beginning of a word in a camelCase name.
var camelCase = regexp.MustCompile(`(\p{Ll}|\d)(\p{Lu})`)

// spaced separates the words of a name: order_id and orderId both become "order id".
func spaced(name string) string {
	separated := camelCase.ReplaceAllStringFunc(name, func(match string) string {
		runes := []rune(match)
		return string(runes[0]) + " " + string(unicode.ToLower(runes[1]))
	})
	return oneLine(strings.NewReplacer("_", " ", "-", " ", ".", " ").Replace(separated))
}

// oneLine returns a text in one line, without invisible characters: a mark that reverses the writing direction
// could change an amount.
func oneLine(text string) string {
	seen := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs):
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(seen), " ")
}

// Sentences returns the words of a text in lower case, without layout and markup. A number or a code, as 5.00 or
// A-17, is one word. Before, between and after them is a space, or ledger.SentenceEnd and the like where a sentence or
// a part of one begins or ends.
func Sentences(text string) string {
	return normalized(text, func(quoted, isQuestion bool) string {
		switch {
		case quoted:
			return ledger.QuotedEnd
		case isQuestion:
			return ledger.QuestionEnd
		}
		return ledger.SentenceEnd
	})
}

// separators are signs between sentences, or between parts of one that could stand alone. A comma is not among them:
// "I cannot, however, refund the order" does not ask whether to refund it.
const separators = ".!?…。！？؟;:\n\r()[]\"“”„«»¿¡-–—"

// answerWords are the words of "yes or no?", which asks nothing else than the question before it.
var answerWords = strings.Fields("yes no or not ja nein oder nicht oui non ou pas sì si sí o y n")

// normalized returns the words of a text, with the result of end where a sentence begins or ends. quoted reports that
// this is within a quotation, and isQuestion that it is after a question.
func normalized(text string, end func(quoted, isQuestion bool) string) string {
	var words strings.Builder
	signs := []rune(text)
	isWord := func(position int) bool {
		return position >= 0 && position < len(signs) && (unicode.IsLetter(signs[position]) || unicode.IsNumber(signs[position]))
	}
	between, newSentence, isQuestion, quoted, sentence := true, true, false, false, 0 // the first three: since the last word; sentence: where the present one begins
	space := func() {
		if newSentence {
			isQuestion = isQuestion && slices.ContainsFunc(strings.Fields(words.String()[sentence:]), func(word string) bool { return !slices.Contains(answerWords, word) })
			words.WriteString(end(quoted, isQuestion))
			sentence = words.Len()
		} else {
			words.WriteByte(' ')
		}
		between, newSentence, isQuestion = false, false, false
	}
	for i, sign := range signs {
		joins := strings.ContainsRune(".,:/-'’", sign) && isWord(i-1) && isWord(i+1)
		if !isWord(i) && !unicode.IsMark(sign) && !joins {
			between, newSentence = true, newSentence || strings.ContainsRune(separators, sign)
			isQuestion = isQuestion || strings.ContainsRune("?？؟", sign)
			switch sign {
			case '„':
				quoted = true
			case '”':
				quoted = false
			case '"', '“', '«', '»': // in some languages the last three begin a quotation, in others they end it
				quoted = !quoted
			}
			continue
		}
		if between {
			space()
		}
		words.WriteRune(unicode.ToLower(sign))
	}
	newSentence = true
	space()
	return words.String()
}

// QuestionWords returns the words by which a Question is recognized, without the two answers after it. A text
// asks the question if it has them as sentences of their own (ledger.Question).
func QuestionWords(question string) string {
	if strings.HasSuffix(question, ")") {
		question = question[:strings.LastIndex(question, "(")]
	}
	return normalized(question, func(_, _ bool) string { return " " })
}

// Asks reports whether a text asks a Question, as the ledger finds it.
func Asks(text, question string) bool {
	words, sentences := QuestionWords(question), Sentences(text)
	if strings.TrimSpace(words) == "" {
		return false
	}
	plainText := strings.NewReplacer(ledger.SentenceEnd, " ", ledger.QuotedEnd, " ", ledger.QuestionEnd, " ").Replace(sentences)
	for from := 0; ; {
		index := strings.Index(plainText[from:], words)
		if index < 0 {
			return false
		}
		first, last := from+index, from+index+len(words)-1
		if strings.Contains(ledger.SentenceEnd+ledger.QuestionEnd, sentences[first:first+1]) && sentences[last] != ' ' && !strings.Contains(sentences[last+1:], ledger.QuestionEnd) {
			return true
		}
		from = first + 1
	}
}
