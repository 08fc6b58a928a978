// Package question words what a user is asked before a trigger takes effect, from the tool
// and its values, in the user's language.
package question

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/fault"
)

// Bounds of a question, in bytes: it is spoken, or stands on a small screen.
const (
	maxSubject = 160
	maxValues  = 600
)

// phrasing is what a question says in a language, besides the tool and its values. The two
// answers are such as matcher.Consents reads.
type phrasing struct{ ask, yes, no string }

var english = phrasing{"Shall I go ahead?", "yes", "no"}

// phrasings are those of all languages that the matcher reads, by code.
var phrasings = map[string]phrasing{
	"en": english,
	"de": {"Soll ich das tun?", "ja", "nein"},
	"fr": {"Dois-je le faire ?", "oui", "non"},
	"it": {"Procedo?", "sì", "no"},
	"es": {"¿Lo hago?", "sí", "no"},
}

// Of returns the question whether the tool may be fired with the values, as in "Refund an
// order: order A-17, amount 30. Shall I go ahead? (yes / no)". It is in the user's language (BCP 47),
// else in that of what the user has said, else of the tool's description, else in English,
// where it is known how to ask in it. What the user has no
// part in is left out (ignored and static parameters, and those from ID tokens), and what
// is named like a credential is masked.
func Of(tool *repositories.Tool, values map[string]any, language, said string) string {
	subject := subjectOf(tool)
	told, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(language), "_", "-"), "-")
	in, known := phrasings[told]
	if !known {
		in, known = phrasings[cmp.Or(matcher.LanguageOf(said), matcher.LanguageOf(subject))]
	}
	if !known {
		in = english
	}
	var shown []string
	for _, name := range order(tool, values) {
		if value := values[name]; value != nil && !tool.Params().Hidden(name) {
			shown = append(shown, in.member(name, value, 0))
		}
	}
	if len(shown) > 0 {
		subject += ": " + fault.ClipTo(strings.Join(shown, ", "), maxValues)
	}
	return subject + ". " + in.ask + " (" + in.yes + " / " + in.no + ")"
}

// order lists the names of the values: parameters as the tool gives them, and then what a
// tool takes beside them.
func order(tool *repositories.Tool, values map[string]any) []string {
	names := tool.Params().Names()
	var more []string
	for name := range values {
		if !slices.Contains(names, name) {
			more = append(more, name)
		}
	}
	slices.Sort(more)
	return append(names, more...)
}

// sentenceEnd is where the first sentence ends: what follows is for the model.
var sentenceEnd = regexp.MustCompile(`[.!?]+(\s+\p{Lu}.*)?$`)

// subjectOf is what the tool does: the first sentence of its description, or its name.
func subjectOf(tool *repositories.Tool) string {
	first := sentenceEnd.FindStringIndex(plain(tool.Description))
	subject := plain(tool.Description)
	if first != nil {
		subject = subject[:first[0]]
	}
	return fault.ClipTo(cmp.Or(strings.TrimSpace(subject), spelled(tool.Name)), maxSubject)
}

// humps are the places where a name in camelCase has a new word.
var humps = regexp.MustCompile(`(\p{Ll}|\d)(\p{Lu})`)

// spelled writes the words of a name apart: order_id and orderId are both "order id".
func spelled(name string) string {
	apart := humps.ReplaceAllStringFunc(name, func(at string) string {
		runes := []rune(at)
		return string(runes[0]) + " " + string(unicode.ToLower(runes[1]))
	})
	return plain(strings.NewReplacer("_", " ", "-", " ", ".", " ").Replace(apart))
}

// plain is a text in one line, without what a reader does not see: a mark that reverses the
// direction of writing could make another amount of one.
func plain(text string) string {
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
