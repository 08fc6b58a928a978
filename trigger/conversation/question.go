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
type phrasing struct{ ask, yes, no string }

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
func Question(tool *repositories.Tool, values map[string]any, language, said string) string {
	subject := oneLine(tool.Description)
	if at := sentenceEnd.FindStringIndex(subject); at != nil {
		subject = subject[:at[0]]
	}
	subject = fault.ClipTo(cmp.Or(strings.TrimSpace(subject), spelled(tool.Name)), maxSubject)
	code, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(language), "_", "-"), "-")
	in, known := phrasings[code]
	if !known {
		in, known = phrasings[cmp.Or(matcher.LanguageOf(said), matcher.LanguageOf(subject))]
	}
	if !known {
		in = english
	}

	names := tool.Params().Names() // in the tool's order, then additional ones
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var shown []string
	for _, name := range names {
		if value := values[name]; value != nil && !tool.Params().Hidden(name) {
			shown = append(shown, in.member(name, value, 0))
		}
	}
	if len(shown) > 0 {
		subject += ": " + fault.ClipTo(strings.Join(shown, ", "), maxValues)
	}
	return subject + ". " + in.ask + " (" + in.yes + " / " + in.no + ")"
}

// sentenceEnd matches the end of the first sentence: the others are for the model.
var sentenceEnd = regexp.MustCompile(`[.!?]+(\s+\p{Lu}.*)?$`)

// credential matches names of credentials as whole words: not "author".
var credential = regexp.MustCompile(`(?i)\b(password|passwd|passwort|passphrase|pin|secret|token|credentials?|(api|access|private) ?key|cvv|cvc)\b`)

// member returns a name with its value: "amount 30".
func (in phrasing) member(name string, value any, depth int) string {
	name = spelled(name)
	if credential.MatchString(name) {
		return name + " " + secret.Masked
	}
	return fault.Clip(name) + " " + in.value(value, depth)
}

// value returns a value for people, clipped.
func (in phrasing) value(value any, depth int) string {
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
			parts[i] = in.value(value[i], depth+1)
		}
		return listed(parts)
	case map[string]any:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(value)) {
			parts = append(parts, in.member(name, value[name], depth+1))
		}
		return listed(parts)
	}
	text := fault.Clip(oneLine(fmt.Sprint(value)))
	if text != "" && !strings.ContainsAny(text, `,;:()“”"?!`) && !strings.Contains(text, ". ") {
		return text
	}
	return "“" + strings.NewReplacer("“", "'", "”", "'").Replace(text) + "”" // a quote within could look like another value
}

func listed(parts []string) string {
	if len(parts) > maxParts {
		parts = append(parts[:maxParts:maxParts], fmt.Sprintf("… +%d", len(parts)-maxParts))
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// humps matches the beginning of a word in a camelCase name.
var humps = regexp.MustCompile(`(\p{Ll}|\d)(\p{Lu})`)

// spelled separates the words of a name: order_id and orderId both become "order id".
func spelled(name string) string {
	apart := humps.ReplaceAllStringFunc(name, func(at string) string {
		runes := []rune(at)
		return string(runes[0]) + " " + string(unicode.ToLower(runes[1]))
	})
	return oneLine(strings.NewReplacer("_", " ", "-", " ", ".", " ").Replace(apart))
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
	return plain(text, func(quoted, asked bool) string {
		switch {
		case quoted:
			return ledger.QuotedEnd
		case asked:
			return ledger.QuestionEnd
		}
		return ledger.SentenceEnd
	})
}

// parting are signs between sentences, or between parts of one that could stand alone. A comma is none: "I cannot,
// however, refund the order" does not ask whether to refund it.
const parting = ".!?…。！？؟;:\n\r()[]\"“”„«»¿¡-–—"

// answering are the words of "yes or no?", which asks nothing else than the question before it.
var answering = strings.Fields("yes no or not ja nein oder nicht oui non ou pas sì si sí o y n")

// plain calls end where a sentence begins or ends: whether this is within a quotation, and after a question.
func plain(text string, end func(quoted, asked bool) string) string {
	var words strings.Builder
	signs := []rune(text)
	isWord := func(at int) bool {
		return at >= 0 && at < len(signs) && (unicode.IsLetter(signs[at]) || unicode.IsNumber(signs[at]))
	}
	between, parted, asked, quoted, sentence := true, true, false, false, 0 // since the last word; where its sentence began
	space := func() {
		if parted {
			asked = asked && slices.ContainsFunc(strings.Fields(words.String()[sentence:]), func(word string) bool { return !slices.Contains(answering, word) })
			words.WriteString(end(quoted, asked))
			sentence = words.Len()
		} else {
			words.WriteByte(' ')
		}
		between, parted, asked = false, false, false
	}
	for i, sign := range signs {
		joins := strings.ContainsRune(".,:/-'’", sign) && isWord(i-1) && isWord(i+1)
		if !isWord(i) && !unicode.IsMark(sign) && !joins {
			between, parted = true, parted || strings.ContainsRune(parting, sign)
			asked = asked || strings.ContainsRune("?？؟", sign)
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
	parted = true
	space()
	return words.String()
}

// QuestionWords returns the words by which a Question is recognized, without the two answers after it. A text
// asks the question if it has them as sentences of their own (ledger.Question).
func QuestionWords(question string) string {
	if strings.HasSuffix(question, ")") {
		question = question[:strings.LastIndex(question, "(")]
	}
	return plain(question, func(_, _ bool) string { return " " })
}

// Asks reports whether a text asks a Question, as the ledger finds it.
func Asks(text, question string) bool {
	words, said := QuestionWords(question), Sentences(text)
	if strings.TrimSpace(words) == "" {
		return false
	}
	spaced := strings.NewReplacer(ledger.SentenceEnd, " ", ledger.QuotedEnd, " ", ledger.QuestionEnd, " ").Replace(said)
	for from := 0; ; {
		at := strings.Index(spaced[from:], words)
		if at < 0 {
			return false
		}
		first, last := from+at, from+at+len(words)-1
		if strings.Contains(ledger.SentenceEnd+ledger.QuestionEnd, said[first:first+1]) && said[last] != ' ' && !strings.Contains(said[last+1:], ledger.QuestionEnd) {
			return true
		}
		from = first + 1
	}
}
