package text

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Limits of a plain answer: a longer text has other content too.
const (
	maxAnswerBytes = 120
	maxPhraseWords = 8
)

// laughter looks like a German yes, but is Spanish laughing.
const laughter = "ja ja"

// answerSigns are the signs that mean yes or no.
var answerSigns = map[rune]List{
	'👍': ConsentPhrases, '👌': ConsentPhrases, '✅': ConsentPhrases, '✔': ConsentPhrases, '✓': ConsentPhrases,
	'👎': RefusalPhrases, '❌': RefusalPhrases, '🚫': RefusalPhrases, '🛑': RefusalPhrases,
	'🙏': CourtesyPhrases, '🙂': CourtesyPhrases, '😊': CourtesyPhrases,
}

// signVariants removes the variants of signs: colour and skin tone.
var signVariants = strings.NewReplacer("\ufe0f", "", "🏻", "", "🏼", "", "🏽", "", "🏾", "", "🏿", "")

// answerPart is a word, a sign or a phrase of an answer.
type answerPart struct {
	text   string
	list   List // of a sign or a phrase; 0 for a word
	paused bool // punctuation precedes it
}

// Consents reports whether a text is plainly yes or plainly no and nothing else: it consists of such phrases and of
// courtesies. A question, a condition, any unlisted word, or both yes and no make it neither.
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
	for i, p := range phrases { // an order to stop may itself be refused: "don't stop", "no cancelar"
		if i > 0 && !p.paused && p.list == RefusalPhrases && phrases[i-1].list == RefusalPhrases && !slices.ContainsFunc(strings.Fields(p.text), func(word string) bool {
			return Denials.Has(word) || Negations.Has(word) || NoWords.Has(word) || RefusingWords.Has(word)
		}) {
			return false, false
		}
	}
	hastes := func(p answerPart) bool { return p.list == asidePhrases }
	inList := func(list List) func(answerPart) bool { return func(p answerPart) bool { return p.list == list } }
	consents, refusal := slices.ContainsFunc(phrases, inList(ConsentPhrases)), slices.IndexFunc(phrases, inList(RefusalPhrases))
	if slices.ContainsFunc(phrases, hastes) && (refusal >= 0 || hastes(phrases[0])) {
		return false, false // "no, at once" wants another thing
	}
	if refusal < 0 {
		return consents || slices.ContainsFunc(phrases, inList(AssentPhrases)), false
	}
	// "Okay, stop" acknowledges before it refuses; "no, okay" changes its mind.
	return false, !consents && !slices.ContainsFunc(phrases[refusal:], inList(AssentPhrases))
}

// answerWords returns the words and signs of a short text; plain is false if it has unusual punctuation.
func answerWords(text string) (words []answerPart, plain bool) {
	if len(text) > maxAnswerBytes || strings.Contains(text, "..") {
		return nil, false
	}
	text = norm.NFC.String(signVariants.Replace(text))
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
		if strings.ContainsFunc(text[w.Start:w.End], unicode.IsMark) { // such as struck out
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

// longestPhrase returns the longest phrase that the words begin with.
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
		if length <= i && asidePhrases.Has(said) && !slices.ContainsFunc(Split(said), unplain) {
			found, length = answerPart{said, asidePhrases, words[0].paused}, i+1
		}
	}
	return found, length
}

// unplain reports whether a word of politeness or haste may limit what it accompanies: "if possible", "today please".
func unplain(w Word) bool {
	return w.Is(conditionWords, PoliteVerbs, PolitePersons) || w.Is(NearDays, Weekdays, Months, DayParts)
}

// maxBetween is the maximum number of words between a negation and its object: "not in the office".
const maxBetween = 3

// denial reports whether the word denies, drops or undoes the following.
func denial(w Word) bool {
	return w.Is(Negations, Denials, DroppingWords, UndoingWords, InsteadWords)
}

// BeforeApology returns the text before an apology at its end, which may correct something: "three, sorry". It is empty if there
// is none.
func BeforeApology(said string) string {
	t := Of(said)
	for i := 1; i < len(t.Words); i++ {
		if t.parted(i) && repairPhrases.PhraseAt(t.Words, i) == len(t.Words)-i {
			return t.Surface(0, i)
		}
	}
	return ""
}

// HasDenial reports whether any word of a text denies, drops or undoes something.
func HasDenial(said string) bool { return slices.ContainsFunc(Split(said), denial) }

// Objects reports whether a text may refuse or correct what was asked before it: it refuses, denies, keeps, drops or undoes
// something, or says a number.
func Objects(said string) bool {
	return slices.ContainsFunc(Split(said), func(w Word) bool {
		return denial(w) || w.Is(RefusingWords, KeepingWords) || StartsWithDigit(w.Norm) || w.Is(NumberWords, Numbers)
	})
}

// Denies reports whether a text only denies a thing: "not the office", "nein, nicht im Büro".
func Denies(said string) bool {
	t := Of(said)
	for len(t.Words) > 1 && t.Words[0].Is(Fillers, RefusingWords) && t.parted(1) {
		t.Words = t.Words[1:]
	}
	const most = 5
	n := len(t.Words)
	return n > 1 && n <= most && t.Words[n-1].IsSubject() && denial(t.Words[0]) && t.deniedBefore(n-1)
}

// DeniesWords reports whether a text contains some words, and denies their last occurrence: "not the office", "im
// Büro nicht". In "no, the office" and "the office, not the kitchen" the office is meant.
func (t Text) DeniesWords(some []Word) bool {
	same := func(a, b Word) bool { return Singular(a.Norm) == Singular(b.Norm) }
	denied := false
	for first := 0; len(some) > 0 && first+len(some) <= len(t.Words); first++ {
		end := first + len(some)
		if slices.EqualFunc(t.Words[first:end], some, same) { // a negation may also follow
			after := t.At(end).Is(Negations) && !t.parted(end) && t.Pause(end+1)
			denied = after || t.deniedBefore(first)
		}
	}
	return denied
}

// deniedBefore reports whether a denial precedes the word at first, with only grammar between.
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

// Correction is a text split into a retracted and a valid part.
type Correction struct {
	Before string // the part that the text itself retracts or corrects; empty for none
	After  string // the valid part; empty if the text only retracts
	// Marked means that the text corrects itself or an earlier message.
	Marked bool
	// Refused means that it begins with a plain no.
	Refused bool
}

// Corrects reports whether a text corrects an earlier message or itself, and has a valid part.
func Corrects(said string) bool {
	found := Corrected(said)
	return found.Marked && found.After != ""
}

// Corrected splits a text into its retracted and its valid part: in "Monday, no, Tuesday rather" and in "not
// Monday, Tuesday" Tuesday is valid. A text without a correction is all valid.
func Corrected(said string) Correction {
	if before := TakenBack(said); before != "" {
		return Correction{Before: before, Marked: true}
	}
	r := corrector{Text: Of(said)}
	if GivesUp(r.Text) {
		return Correction{After: said} // "I want to, but not now" corrects nothing
	}
	may := false
	for i, w := range r.Words {
		if interrupts(r.Text, i, i+1) || interrupts(r.Text, i, i+2) || reportAt(r.Text, i) || withdraws(r.Text, i) && AnyIs(r.Words[i:], firstPersons) {
			return Correction{After: said} // "do not, please, pay", "…, said no one" and "I want to, but I can't" correct nothing
		}
		may = may || w.Is(RatherWords) || denial(w) || r.hesitates(i) || repairPhrases.PhraseAt(r.Words, i) > 0 || insteadPhrases.PhraseAt(r.Words, i) > 0
	}
	if !may {
		return Correction{After: said}
	}
	var kept []statement // without those that deny, if another tells the meaning
	denied := false
	for _, part := range r.cutApart() {
		denies, last := r.denies(part), len(kept)-1
		if denies && last >= 0 && !part.anew {
			denied, r.marked = true, true
			continue // "Tuesday, not Monday"
		}
		if !denies && denied && last >= 0 && part.end-part.first <= mostAnswer && r.denies(kept[last]) && !r.declines(kept[last], part) {
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

// mostAnswer is the maximum length in words of a part that is no sentence.
const mostAnswer = 8

type corrector struct {
	Text
	marked, refused bool
}

// statement is a part of a text with one meaning, from word first to before end.
type statement struct {
	first, end int
	anew       bool // replaces the earlier parts
}

// denies reports whether a part denies its thing: "not Monday", "I can not on Tuesday". A condition denies nothing: "if it
// does not arrive".
func (r *corrector) denies(part statement) bool {
	if at := r.Condition(); part.first <= at && at < part.end {
		return false
	}
	for i := part.first; i < part.end; i++ {
		if (r.Words[i].Is(Negations, Denials)) && !r.labelled(i) && !r.Reminds(i) {
			return true
		}
	}
	return false
}

// Declines reports whether words say that somebody cannot come: "I can't make it on Tuesday".
func Declines(words []Word) bool {
	return AnyIs(words, UnableWords) && AnyIs(words, Negations) && AnyIs(words, AttendingVerbs)
}

// declines reports whether a part says that the speaker cannot come, and the next undoes something for that: "I can't make it
// on Tuesday, please cancel".
func (r *corrector) declines(part, next statement) bool {
	return Declines(r.Words[part.first:part.end]) && AnyIs(r.Words[next.first:next.end], UndoingWords)
}

// labelled reports whether a word follows a colon, as a value: "breakfast: no".
func (r *corrector) labelled(i int) bool { return i > 0 && strings.Contains(r.Gap(i-1), ":") }

// cutApart splits a text at its pauses and its correcting phrases, which it removes, along with replaced things:
// "instead of Monday".
func (r *corrector) cutApart() (list []statement) {
	first, anew, words := 0, false, r.Words
	cut := func(end int) {
		if first < end {
			list = append(list, statement{first, end, anew})
			anew = false
		}
	}
	for i := 0; i < len(words); {
		if r.Pause(i) && !r.labelled(i) && (i == 0 || !subordinate(r.Text, i)) {
			cut(r.withoutRather(first, i))
			first = i
		}
		left, repairs := r.repairAt(i, i == first), true // number of words to remove
		if instead := insteadPhrases.PhraseAt(words, i); instead > 0 && i > 0 {
			left = clauseEnd(r.Text, i+instead-1) - i
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
			list = append(list, statement{i, i, true}) // "Monday … no": nothing is valid
		}
	}
	cut(r.withoutRather(first, len(words)))
	return list
}

// withoutRather returns the end of a statement before a final "rather" and politeness after it.
func (r *corrector) withoutRather(first, end int) int {
	for i := end - 1; i > first && r.Words[i].Is(RatherWords, PoliteWords); i-- {
		if r.Words[i].Is(RatherWords) {
			end, r.marked = i, true
		}
	}
	return end
}

// repairAt returns the length of a correcting phrase at i; 0 for none. A phrase with other uses must begin a
// statement, and "no" must precede a pause or a word other than a noun: "no taxi" is no correction.
func (r *corrector) repairAt(i int, begins bool) int {
	words := r.Words
	if r.hesitates(i) {
		return 1
	}
	length := repairPhrases.PhraseAt(words, i)
	if length == 0 || r.labelled(i) || length == 1 && deniesNext(r.Text, i) {
		return 0
	}
	next, w := i+length, words[i]
	ends, loose := next == len(words), length == 1 || loosePhrases.PhraseAt(words[:next], i) == length
	follows := !ends && !r.Pause(next) // more words of the same statement
	switch {
	case i > 0 && w.Is(Persons) && !r.Pause(i) && words[i-1].Is(WishWords, perfectWords, PoliteVerbs, QuestionWords, LightVerbs, modalVerbs, ActionVerbs):
		return 0 // "brauche ich meine Karte": the person belongs to the verb before it
	case !ends && UndoingPairs.Has(w.Norm+" "+words[next].Norm):
		return 0 // "no more newsletters"
	case follows && (r.plainlyDenies(i) || NobodyWords.PhraseAt(words, i) > length):
		return 0 // "no quiero una cita"
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

// hesitates reports whether a sound between two pauses corrects what is before it, since what follows begins alike: "to
// Anna, uh, to Tom", "HX-4821, uh, HX-4812".
func (r *corrector) hesitates(i int) bool {
	if i == 0 || i+1 >= len(r.Words) || !r.Words[i].Is(Hesitations) || !r.Pause(i) || !r.Pause(i+1) {
		return false
	}
	isCode := func(w Word) bool {
		return strings.ContainsAny(w.Norm, "0123456789") && strings.ContainsFunc(w.Norm, unicode.IsLetter)
	}
	next := r.Words[i+1]
	return slices.ContainsFunc(r.Words[:i], func(w Word) bool { return w.Norm == next.Norm || isCode(w) && isCode(next) })
}

// plainlyDenies reports whether the word at i is before a verb that it denies, where other languages have a plain no:
// the Spanish "no", the Italian "non", the French "ne".
func (r *corrector) plainlyDenies(i int) bool {
	switch r.Words[i].Norm {
	case "no":
		return slices.Contains([]string{"es", "it"}, LanguageOf(r.Said)) || r.At(i+1).IsForeign(StopWords) && maySpeak(r.Said, "es", "it") // "no me apuntes"
	case "ne": // "ne … plus"
		return LanguageOf(r.Said) == "fr"
	case "non":
		next := r.Norm(i + 1)
		infinitive := slices.ContainsFunc([]string{"are", "ere", "ire", "rre"}, func(ending string) bool { return strings.HasSuffix(next, ending) })
		return LanguageOf(r.Said) == "it" || infinitive
	}
	return false
}

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
