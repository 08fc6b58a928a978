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

// undrawn leaves out how a sign is to be drawn: in colour, and in which one.
var undrawn = strings.NewReplacer("\ufe0f", "", "🏻", "", "🏼", "", "🏽", "", "🏾", "", "🏿", "")

// answerPart is a word or a sign of an answer, or a phrase of it.
type answerPart struct {
	text   string
	list   List // of a sign or a phrase; 0 for a word
	paused bool // punctuation stands before it
}

// Consents reports whether a text is plainly a yes or plainly a no to what was asked, and
// nothing else: from its beginning to its end it is made of such phrases and of courtesies.
// A question, a condition and anything that is in none of the lists make it neither, and so
// do a yes and a no in one.
func Consents(text string) (yes, no bool) {
	words, plain := answerWords(text)
	var phrases []answerPart
	for plain && len(words) > 0 {
		found, length := longestPhrase(words)
		if plain = length > 0; plain {
			phrases, words = append(phrases, found), words[length:]
		}
	}
	if !plain {
		return false, false
	}
	for i, p := range phrases { // an order to stop may itself be what is refused: "don't stop", "no cancelar"
		if i > 0 && !p.paused && p.list == RefusalPhrases && phrases[i-1].list == RefusalPhrases && !slices.ContainsFunc(strings.Fields(p.text), func(word string) bool {
			return Denials.Has(word) || Negations.Has(word) || NoWords.Has(word) || RefusingWords.Has(word)
		}) {
			return false, false
		}
	}
	is := func(list List) func(answerPart) bool { return func(p answerPart) bool { return p.list == list } }
	consents, refusal := slices.ContainsFunc(phrases, is(ConsentPhrases)), slices.IndexFunc(phrases, is(RefusalPhrases))
	if refusal < 0 {
		return consents || slices.ContainsFunc(phrases, is(AssentPhrases)), false
	}
	// "Okay, stop" takes up what was said before it refuses; "no, okay" changes its mind.
	return false, !consents && !slices.ContainsFunc(phrases[refusal:], is(AssentPhrases))
}

// answerWords are the words and signs of a short text that has nothing else but the
// punctuation of a plain answer.
func answerWords(text string) (words []answerPart, plain bool) {
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
				words, paused = append(words, answerPart{list: sign, paused: true}), true
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
			words = append(words, answerPart{text: w.Norm, paused: paused})
			paused = false
		}
		at = w.End
	}
	return words, len(words) > 0
}

// longestPhrase is the longest phrase that the words begin with.
func longestPhrase(words []answerPart) (found answerPart, length int) {
	if words[0].list > 0 {
		return words[0], 1
	}
	said := ""
	for i, word := range words[:min(len(words), maxPhraseWords)] {
		if said = strings.TrimPrefix(said+" "+word.text, " "); word.list > 0 {
			break
		}
		if said == laughter {
			return found, 0
		}
		for _, list := range []List{RefusalPhrases, ConsentPhrases, AssentPhrases, CourtesyPhrases} {
			if list.Has(said) {
				found, length = answerPart{said, list, words[0].paused}, i+1
			}
		}
	}
	return found, length
}

// maxBetween is how many words may stand between a negation and what it denies: "not in the office".
const maxBetween = 3

// denial reports whether the word denies, drops or undoes what follows it.
func denial(w Word) bool {
	return w.Is(Negations, Denials, DroppingWords, UndoingWords, InsteadWords)
}

// HasDenial reports whether any word of a text denies, drops or undoes something.
func HasDenial(said string) bool { return slices.ContainsFunc(Split(said), denial) }

// Denies reports whether a text does nothing but deny a thing: "not the office", "nein, nicht
// im Büro".
func Denies(said string) bool {
	t := Of(said)
	for len(t.Words) > 1 && t.Words[0].Is(Fillers, RefusingWords) && t.parted(1) {
		t.Words = t.Words[1:]
	}
	const most = 5
	n := len(t.Words)
	return n > 1 && n <= most && t.Words[n-1].IsSubject() && denial(t.Words[0]) && t.deniedBefore(n-1)
}

// DeniesWords reports whether a text has some words, and denies them where they stand last:
// "not the office", "im Büro nicht". In "no, the office" and "the office, not the kitchen" the
// office is meant.
func (t Text) DeniesWords(some []Word) bool {
	same := func(a, b Word) bool { return Singular(a.Norm) == Singular(b.Norm) }
	denied := false
	for first := 0; len(some) > 0 && first+len(some) <= len(t.Words); first++ {
		end := first + len(some)
		if slices.EqualFunc(t.Words[first:end], some, same) { // a negation may also end what is said
			after := t.At(end).Is(Negations) && !t.parted(end) && (end+1 == len(t.Words) || t.parted(end+1))
			denied = after || t.deniedBefore(first)
		}
	}
	return denied
}

// deniedBefore reports whether a denial stands before the word at first, with nothing but
// grammar in between.
func (t Text) deniedBefore(first int) bool {
	for i := first - 1; i >= 0 && i >= first-1-maxBetween; i-- {
		if t.parted(i+1) || t.Words[i].Is(onlyWords) {
			return false
		}
		if denial(t.Words[i]) {
			return true
		}
		if !t.Words[i].Is(StopWords, Articles) {
			return false
		}
	}
	return false
}

// Correction is what a text says, and then says anew.
type Correction struct {
	// Before is what the text itself takes back or says better afterwards; empty for nothing.
	Before string
	// After is what holds; empty where the text only takes back.
	After string
	// Marked says that the text corrects something: itself, or what was said before it.
	Marked bool
	// Refused says that it begins with a plain no.
	Refused bool
}

// Corrects reports whether a text takes something back that was said before it.
func Corrects(said string) bool {
	found := Corrected(said)
	return found.Marked && found.After != ""
}

// Corrected takes a text apart into what it takes back and what holds: of "Monday, no, Tuesday
// rather" and of "not Monday, Tuesday" Tuesday holds. A text that corrects nothing holds as it is.
func Corrected(said string) Correction {
	r := corrector{Text: Of(said)}
	may := false
	for i, w := range r.Words {
		may = may || w.Is(RatherWords) || denial(w) || repairPhrases.PhraseAt(r.Words, i) > 0 || insteadPhrases.PhraseAt(r.Words, i) > 0
	}
	if !may {
		return Correction{After: said}
	}
	var kept []statement // those that deny are left out where another one says what is meant
	denied := false
	for _, part := range r.cutApart() {
		denies, last := r.denies(part), len(kept)-1
		if denies && last >= 0 && !part.anew {
			denied, r.marked = true, true
			continue // "Tuesday, not Monday"
		}
		if !denies && denied && last >= 0 && part.end-part.first <= mostAnswer && r.denies(kept[last]) {
			part.anew, r.marked = true, true // "not Monday, Tuesday"
			kept = kept[:last]
		}
		denied = denied || denies
		kept = append(kept, part)
	}
	if !r.marked {
		return Correction{After: said}
	}
	var before, after []statement
	for _, part := range kept {
		if part.anew {
			before, after = append(before, after...), nil
		}
		after = append(after, part)
	}
	return Correction{Before: r.join(before), After: r.join(after), Marked: true, Refused: r.refused}
}

// mostAnswer is how many words have what is no sentence of its own.
const mostAnswer = 8

// corrector takes a text apart.
type corrector struct {
	Text
	marked, refused bool
}

// statement is a part of a text that says one thing, in the words from first to before end.
type statement struct {
	first, end int
	anew       bool // it takes the place of what was said before it
}

// denies reports whether a part denies what it names: "not Monday", "I can not on Tuesday".
func (r *corrector) denies(part statement) bool {
	for i := part.first; i < part.end; i++ {
		if (r.Words[i].Is(Negations, Denials)) && !r.labelled(i) {
			return true
		}
	}
	return false
}

// labelled reports whether a word follows a colon, and so is the value of something: "breakfast: no".
func (r *corrector) labelled(i int) bool { return i > 0 && strings.Contains(r.Gap(i-1), ":") }

// cutApart cuts a text at its pauses and at what repairs it, which it leaves out, as it does with
// what is replaced: "instead of Monday".
func (r *corrector) cutApart() (list []statement) {
	first, anew, words := 0, false, r.Words
	cut := func(end int) {
		if first < end {
			list = append(list, statement{first, end, anew})
			anew = false
		}
	}
	for i := 0; i < len(words); {
		if r.Pause(i) && !r.labelled(i) {
			cut(r.withoutRather(first, i))
			first = i
		}
		left, repairs := r.repairAt(i, i == first), true // how many words are left out
		if instead := insteadPhrases.PhraseAt(words, i); instead > 0 && i > 0 {
			for left = instead; i+left < len(words) && !r.Pause(i+left); left++ {
			}
			r.marked, repairs = true, false
		} else if left == 0 && words[i].Is(contrastWords) {
			denied := r.denies(statement{first: first, end: i}) || i == first && len(list) > 0 && r.denies(list[len(list)-1])
			if denied || i > first && r.At(i+1).Is(Negations) { // "the office, but not the kitchen"
				left, repairs = 1, denied
			}
		}
		if left == 0 {
			i++
			continue
		}
		cut(i)
		if repairs {
			r.refused = r.refused || len(list) == 0 && words[i].Is(RefusingWords)
			r.marked, anew = true, true
		}
		i += left
		first = i
		if repairs && i == len(words) && i > 1 && words[i-1].Is(RefusingWords) {
			list = append(list, statement{i, i, true}) // "Monday … no": nothing holds
		}
	}
	cut(r.withoutRather(first, len(words)))
	return list
}

// withoutRather is the end of a statement without the "rather" that it ends with, and politeness
// after it.
func (r *corrector) withoutRather(first, end int) int {
	for i := end - 1; i > first && r.Words[i].Is(RatherWords, PoliteWords); i-- {
		if r.Words[i].Is(RatherWords) {
			end, r.marked = i, true
		}
	}
	return end
}

// repairAt is the length of the phrase by which a text is said anew from i on; 0 for none. One
// that is said for other reasons as well has to stand at the beginning of a statement, and
// "no" before a pause or before what is no noun, as "no taxi" is no correction.
func (r *corrector) repairAt(i int, begins bool) int {
	words := r.Words
	length := repairPhrases.PhraseAt(words, i)
	if length == 0 || r.labelled(i) {
		return 0
	}
	next, w := i+length, words[i]
	ends, loose := next == len(words), length == 1 || loosePhrases.PhraseAt(words[:next], i) == length
	follows := !ends && !r.Pause(next) // more words of the same statement do
	switch {
	case i > 0 && w.Is(Persons) && !r.Pause(i) && words[i-1].Is(WishWords, perfectWords, PoliteVerbs, QuestionWords, LightVerbs):
		return 0 // "brauche ich meine Karte": the person is of the verb before it
	case !ends && UndoingPairs.Has(w.Norm+" "+words[next].Norm):
		return 0 // "no more newsletters"
	case w.Is(Negations) && !w.Is(Refusals) && (!begins || follows):
		return 0 // "not that one, the other", but "do not close that one"
	case ends && i > 0 && !w.Is(RefusingWords) && (length == 1 || loosePhrases.PhraseAt(words, i) == length):
		return 0 // "I am late, sorry"
	case loose && (!begins || follows && w.Is(Denials) && !(words[next].Is(StopWords) && !words[next].Is(Negations))):
		return 0
	}
	for next < len(words) && words[next].Is(Hesitations) {
		next++
	}
	return next - i
}

// join is the text of some parts.
func (r *corrector) join(parts []statement) string {
	var texts []string
	for i := 0; i < len(parts); i++ {
		first := parts[i].first
		for i+1 < len(parts) && parts[i+1].first == parts[i].end {
			i++
		}
		texts = append(texts, r.Surface(first, parts[i].end))
	}
	return strings.Join(texts, ", ")
}
