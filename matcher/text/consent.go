package text

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Bounds of an answer that is plainly yes or no: what is longer says something else too.
const (
	maxAnswerBytes = 120
	maxPhraseWords = 6
)

// laughter is a German yes as Spanish laughs.
const laughter = "ja ja"

// answerSigns are the signs that a yes or a no may be.
var answerSigns = map[rune]List{
	'👍': ConsentPhrases, '👌': ConsentPhrases, '✅': ConsentPhrases, '✔': ConsentPhrases, '✓': ConsentPhrases,
	'👎': RefusalPhrases, '❌': RefusalPhrases, '🚫': RefusalPhrases, '🛑': RefusalPhrases,
	'🙏': CourtesyPhrases, '🙂': CourtesyPhrases, '😊': CourtesyPhrases,
}

// answerWord is a word or a sign of an answer.
type answerWord struct {
	text   string
	sign   List
	isSign bool
	paused bool // punctuation stands before it
}

// answerPhrase is a phrase of an answer, or a sign.
type answerPhrase struct {
	list   List
	said   string
	paused bool
}

// Consents reports whether a text is plainly a yes or plainly a no to what was asked, and
// nothing else: from its beginning to its end it is made of such phrases and of courtesies.
// A question, a condition and anything that is in none of the lists make it neither, and so
// do a yes and a no in one.
func Consents(text string) (yes, no bool) {
	phrases, plain := answerPhrases(text)
	if !plain || undone(phrases) {
		return false, false
	}
	is := func(list List) func(answerPhrase) bool { return func(p answerPhrase) bool { return p.list == list } }
	consents, refusal := slices.ContainsFunc(phrases, is(ConsentPhrases)), slices.IndexFunc(phrases, is(RefusalPhrases))
	if refusal < 0 {
		return consents || slices.ContainsFunc(phrases, is(AssentPhrases)), false
	}
	// "Okay, stop" takes up what was said before it refuses; "no, okay" changes its mind.
	return false, !consents && !slices.ContainsFunc(phrases[refusal:], is(AssentPhrases))
}

// undone reports whether an order to stop may itself be what is refused, as in "don't stop"
// and "no cancelar": it follows a refusal without a pause, and denies nothing by itself.
func undone(phrases []answerPhrase) bool {
	for i, p := range phrases {
		if i == 0 || p.paused || p.list != RefusalPhrases || phrases[i-1].list != RefusalPhrases {
			continue
		}
		denies := func(word string) bool {
			return Denials.Has(word) || Negations.Has(word) || NoWords.Has(word) || RefusingWords.Has(word)
		}
		if !slices.ContainsFunc(strings.Fields(p.said), denies) {
			return true
		}
	}
	return false
}

// answerPhrases takes a text apart into the phrases of an answer, the longest first. It is
// false where anything is left over.
func answerPhrases(text string) (phrases []answerPhrase, plain bool) {
	words, plain := answerWords(text)
	for at := 0; plain && at < len(words); {
		found, length := longestPhrase(words[at:])
		plain = length > 0 && found.said != laughter
		phrases = append(phrases, found)
		at += max(length, 1)
	}
	return phrases, plain
}

// longestPhrase is the longest phrase that the words begin with.
func longestPhrase(words []answerWord) (found answerPhrase, length int) {
	if words[0].isSign {
		return answerPhrase{list: words[0].sign, paused: true}, 1
	}
	said := ""
	for i, word := range words[:min(len(words), maxPhraseWords)] {
		if word.isSign {
			break
		}
		said = strings.TrimPrefix(said+" "+word.text, " ")
		if said == laughter {
			return answerPhrase{said: said}, 2
		}
		for _, list := range []List{RefusalPhrases, ConsentPhrases, AssentPhrases, CourtesyPhrases} {
			if list.Has(said) {
				found, length = answerPhrase{list, said, words[0].paused}, i+1
			}
		}
	}
	return found, length
}

// answerWords are the words and signs of a short text that has nothing else but the
// punctuation of a plain answer.
func answerWords(text string) (words []answerWord, plain bool) {
	if len(text) > maxAnswerBytes || strings.Contains(text, "..") {
		return nil, false
	}
	text = norm.NFC.String(undrawn.Replace(text))
	at, paused := 0, false
	for _, w := range append(Split(text), Word{Start: len(text), End: len(text)}) {
		for _, r := range text[min(at, w.Start):w.Start] {
			sign, isSign := answerSigns[r]
			switch {
			case isSign:
				words, paused = append(words, answerWord{sign: sign, isSign: true}), true
			case strings.ContainsRune(".,;:!–—", r):
				paused = true
			case !unicode.IsSpace(r) && r != '-' && r != '¡':
				return nil, false
			}
		}
		if strings.ContainsFunc(text[w.Start:w.End], unicode.IsMark) { // struck out, say
			return nil, false
		}
		if w.Norm != "" {
			words = append(words, answerWord{text: w.Norm, paused: paused})
			paused = false
		}
		at = w.End
	}
	return words, len(words) > 0
}

// undrawn leaves out how a sign is to be drawn: in colour, and in which one.
var undrawn = strings.NewReplacer("\ufe0f", "", "🏻", "", "🏼", "", "🏽", "", "🏾", "", "🏿", "")
