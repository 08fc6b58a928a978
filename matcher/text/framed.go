package text

import (
	"slices"
	"strings"
)

// Framed reports whether the act at i is no order to the reader, by the frame of its clause: it is another's, reported,
// only thought of, or a purpose. knows tells which words the tool itself has: a frame of such words is none.
func Framed(t Text, i int, knows func(Word) bool) bool {
	first, _ := Clause(t, i)
	for first < i && t.Words[first].Is(Fillers, PoliteWords) && !t.Words[first].Is(purposeWords) {
		first++
	}
	if doneAt(t, i) {
		return true
	}
	foreign := func(at, length int) bool {
		return length > 0 && !slices.ContainsFunc(t.Words[at:min(len(t.Words), at+length)], knows)
	}
	opening := t.Words[first]
	polite := orders(t.Words[first:]) || possiblePhrases.PhraseAt(t.Words, first) > 0 || opening.Is(PoliteVerbs) && !opening.Is(relayVerbs)
	reports := func(at int) bool {
		return t.At(at).Is(reportingVerbs) && !t.At(at-1).Is(firstPersons, PoliteWords) && !knows(t.Words[at])
	}
	if first > 1 && t.Pause(first-2) && reports(first-1) {
		return true // "Anna schreibt, …"
	}
	asking := Asked(t.Said) || polite && !opening.Is(uncertainPhrases)
	for at := first; at < i; at++ {
		if n := omittingPhrases.PhraseAt(t.Words, at); n > 0 && omits(t, at, at+n, i) && at+n <= i {
			return true
		}
		if t.Words[at].Is(NobodyWords) || at > first && (reports(at) || german.has(whetherWords, t.Norm(at))) {
			return true // "nobody should", "Tom says cancel it", "mal sehen ob ich"
		}
		next := at + framePhrases.PhraseAt(t.Words, at)
		if foreign(at, next-at) && next <= i && !t.At(next).Is(WishWords) {
			return true
		}
		if !asking && foreign(at, doubtAt(t, at)) {
			return true
		}
	}
	switch {
	case opening.Is(relayVerbs) && (first+1 < i || first < i && opening.IsForeign(relayVerbs)) && !knows(opening) && (!t.At(first+1).Is(PolitePersons) || !opening.Is(PoliteVerbs)):
		return true
	case opening.Is(purposeWords) && purposes(t, first, i), governed(t, first, i):
		return true
	case first > 0 && (opening.Is(whetherWords) || opening.Is(QuestionWords) && !opening.Is(Auxiliaries)) && AnyIs(t.Words[:first], KnowingWords, relayVerbs):
		return true // "erklär mir, wie ich es lösche"
	}
	return tellsAt(t, first, i, asking, knows) || reportedAfter(t, i, knows)
}

// doneAt reports whether the word at i is the participle of a perfect infinitive, which tells of what is done: "d'avoir
// bloqué", "por haber pagado", "having locked", "gesperrt zu haben". "I would like to have reserved seats" wishes.
func doneAt(t Text, i int) bool {
	const near = 2 // an adverb may be between
	if t.Norm(i+1) == "zu" && german.has(doneInfinitives, t.Norm(i+2)) {
		return germanParticiple(t.Norm(i))
	}
	w := t.Words[i]
	for at := i - 1; at >= max(0, i-near) && !t.parted(at+1); at-- {
		verb := t.Words[at]
		if verb.Is(doneInfinitives) || doneInfinitives.Has(withoutClitic(verb.Norm)) || verb.Norm == "have" && t.At(at-1).Is(InfinitiveWords) {
			wished := AnyIs(t.Words[:at], WishWords) || german.has(doneInfinitives, verb.Norm) || w.Is(StopWords)
			return !wished && (PastForm(w) || w.Is(PastWords, participles) || participleAt(t, i))
		}
	}
	return false
}

// Doubts reports whether a text is not sure of what it wants, and asks nothing: "maybe I want a pizza", "I probably need to
// cancel it". What the speaker had to do, or ought to, is not sure either: "ich musste", "je devrais". isAct tells which
// words order what the tool does: a note of something doubtful is sure.
func Doubts(t Text, isAct func(Word) bool) bool {
	first := t.Opening()
	mood := t.Mood()
	if first < 0 || mood == Question || Asked(t.Said) || t.Words[first].Is(PoliteVerbs) {
		return false
	}
	end := clauseEnd(t, first)
	for at := first; at < end; at++ {
		next := at + doubtAt(t, at)
		if next == at || t.At(next).Is(Negations) || mood == Statement && likelyPhrases.PhraseAt(t.Words, at) > 0 && AnyIs(t.Words[next:end], TroubleWords) {
			continue // "I could not", "I probably lost my luggage"
		}
		if at == first && !t.Words[first].Is(Persons) || mood != Fragment && next == len(t.Words) || slices.ContainsFunc(t.Words[min(next, end):end], isAct) {
			return true
		}
	}
	return false
}

// doubtAt returns the number of words at a place that leave open whether something is wanted. The German "ich müsste" is a
// polite "I must", and only "ich musste" tells of the past.
func doubtAt(t Text, at int) int {
	length := uncertainPhrases.PhraseAt(t.Words, at)
	if said := strings.ToLower(t.Surface(at, at+length)); strings.Contains(said, "müss") || strings.Contains(said, "muess") {
		return 0
	}
	return length
}

// purposes reports whether the word of purpose at first is of the act at i: "to delete", "um … zu löschen".
func purposes(t Text, first, i int) bool {
	switch w := t.Words[first]; {
	case w.Norm == "um":
		return t.Norm(i-1) == "zu" || WithoutZu(t.Norm(i)) != t.Norm(i)
	default:
		return i == first+1
	}
}

// governed reports whether the act at i is an infinitive after a verb that neither wishes for it nor orders it, in the languages
// whose verbs need no person or have the infinitive in a clause of its own: "sto pensando di annullare", "me niego a pagar",
// "er versprach, die Karte zu sperren".
func governed(t Text, first, i int) bool {
	verb := t.Norm(i)
	switch {
	case t.Norm(i-1) == "zu", WithoutZu(verb) != verb:
		if first = 0; !maySpeak(t.Said, "de") {
			return false
		}
	case english.has(ActionVerbs, verb), !hasInfinitiveEnding(withoutClitic(verb)), !maySpeak(t.Said, "es", "it"):
		return false
	}
	for at := first; at < i; at++ {
		asked := t.Words[at].Is(UnableWords) && Asked(t.Said) // "posso prenotare un tavolo?"
		wished := wishPairs.PhraseAt(t.Words, at) > 0 || owingPhrases.PhraseAt(t.Words, at) > 0 || possiblePhrases.PhraseAt(t.Words, at) > 0
		acting := t.Words[at].IsSubject() && (t.Words[at].Is(ActionVerbs) || namesAct(t.Words[at].Stem))
		if asked || wished || acting || t.Reminds(at) || t.Words[at].Is(WishWords, PoliteVerbs, PoliteWords, CourtesyWords, pressingVerbs) {
			return false
		}
	}
	return i > first
}

// gerundCues are words after which a gerund is no order.
var gerundCues = []string{"from", "of", "by", "about", "without", "than", "before", "after", "for", "keep", "while"}

// tellsAt reports whether the form of the verb at i tells, and orders nothing: "deleting it would be wrong", "ticket
// closed", "cancelo". asking means that the text asks. A thing is wished to be so: "I want it closed".
func tellsAt(t Text, first, i int, asking bool, knows func(Word) bool) bool {
	w := t.Words[i]
	if Gerund(w) {
		return i == first && !t.At(i+1).Is(OfWords) || slices.Contains(gerundCues, t.Norm(i-1))
	}
	it, es := maySpeak(t.Said, "it"), maySpeak(t.Said, "es")
	switch {
	case hasInfinitiveEnding(w.Norm) && LanguageOf(t.Said) != "en" && i == first && AnyIs(t.Words[i+1:], judgingWords):
		return true
	case knows(w) && !PastForm(w) || AnyIs(t.Words[first:i], WishWords, GettingVerbs, AnnouncingWords):
		return false
	case (it || es) && strings.HasSuffix(w.Norm, "o"), it && strings.HasSuffix(w.Norm, "ai"): // "annullo"
		return true
	}
	return i > first && !asking && !t.At(i-1).Is(firstPersons) && (PastForm(w) || participleAt(t, i))
}

// Gerund reports whether a word has the form of an English gerund, as "building" has, and not "bring".
func Gerund(w Word) bool {
	base, ok := strings.CutSuffix(w.Norm, "ing")
	return ok && hasVowel(base)
}

// hasInfinitiveEnding reports whether a word has the ending of an infinitive, in any language but English.
func hasInfinitiveEnding(w string) bool {
	return len(w) > 4 && slices.ContainsFunc([]string{"er", "ir", "re", "ar", "en"}, func(end string) bool { return strings.HasSuffix(w, end) })
}

// participleAt reports whether the word at i has the form of a participle, in any language but English.
func participleAt(t Text, i int) bool {
	w := t.Words[i]
	n := len(w.Norm)
	romance := n > 5 && slices.Contains([]string{"ado", "ada", "ido", "ida", "ato", "ata", "uto", "uta", "ito", "ita"}, w.Norm[max(0, n-3):])
	return germanParticiple(w.Norm) && strings.HasSuffix(w.Norm, "t") && maySpeak(t.Said, "de") ||
		frenchParticiple(t, w) && maySpeak(t.Said, "fr") || romance && (maySpeak(t.Said, "es") || maySpeak(t.Said, "it"))
}

// reportedAfter reports whether a later clause makes the act another's words, or denies the wish for it: "…, says the
// letter", "I would like to, but I can't".
func reportedAfter(t Text, i int, knows func(Word) bool) bool {
	for at := i + 1; at < len(t.Words); at++ {
		if reportAt(t, at) && !knows(t.Words[at]) || withdraws(t, at) {
			return true
		}
	}
	return false
}

// reportAt reports whether a clause at word i makes what is before it another's words: "…, says the letter", "…, he said".
func reportAt(t Text, i int) bool {
	ends := t.At(i).Is(otherPersons, Persons) && t.At(i+1).Is(reportingVerbs) && t.Pause(i+2)
	return i > 0 && t.parted(i) && (t.Words[i].Is(reportingVerbs) || ends && !t.Words[i].Is(firstPersons))
}

// Reported reports whether the end of a text makes its beginning another's words.
func Reported(t Text) bool {
	for i := range t.Words {
		if reportAt(t, i) {
			return true
		}
	}
	return false
}

// withdraws reports whether the word at i begins a clause against a wish before it: "I would like to, but I can't".
func withdraws(t Text, i int) bool {
	const near = 4
	after := t.Words[min(len(t.Words), i+1):min(len(t.Words), i+1+near)]
	return t.Words[i].Is(contrastWords) && AnyIs(t.Words[:i], firstPersons, WishWords) && AnyIs(after, Negations, firstPersons)
}

// GivesUp reports whether a wish is given up at once: "I would like to, but I can't", "…, pero ahora no".
func GivesUp(t Text) bool {
	const most = 6
	for i := range t.Words {
		first, end := i+1, clauseEnd(t, i)
		if !t.Words[i].Is(contrastWords) || i == 0 || end-first > most || first == end {
			continue
		}
		after := t.Words[first:end]
		if AnyIs(after, Negations, Denials) && AnyIs(after, UnableWords, nowWords) && !slices.ContainsFunc(after, Word.IsSubject) {
			return true
		}
	}
	return false
}

// AsksLeave reports whether the words from first on begin with "can I", "darf ich" or "puedo".
func AsksLeave(t Text, first int) bool {
	w, next := t.Words[first], t.At(first+1)
	return w.Is(PoliteVerbs, UnableWords, leaveVerbs) && next.Is(firstPersons) && !w.Is(relayVerbs) || spanish.has(UnableWords, w.Norm) || italian.has(UnableWords, w.Norm)
}

// WithoutOmitted returns a text without a clause at its beginning that names what is not to be done, or not yet: "instead
// of closing it, …". It is empty if nothing else follows.
func WithoutOmitted(said string) string {
	t := Of(said)
	first, end, ok := t.begins(omittingPhrases)
	if !ok {
		return said
	}
	next := clauseEnd(t, end)
	if !omits(t, first, end, next-1) {
		return said
	}
	if next == len(t.Words) {
		return ""
	}
	return said[t.Words[next].Start:]
}

// omits reports whether the phrase from first to before end is of an act, in a clause with the last word at last.
func omits(t Text, first, end, last int) bool {
	w := t.Words[end]
	switch {
	case german.has(omittingPhrases, t.Norm(first)):
		return t.Norm(last-1) == "zu" || WithoutZu(t.Norm(last)) != t.Norm(last)
	case english.has(omittingPhrases, t.Norm(first)) || LanguageOf(t.Said) == "en":
		object := t.At(end+1).Is(Definites, IndefiniteWords) && w.IsSubject() // "rather than extend my rental"
		return strings.HasSuffix(w.Norm, "ing") || t.Norm(end-1) == "than" && (w.Is(ActionVerbs) || object)
	}
	return hasInfinitiveEnding(w.Norm) && !w.Is(StopWords, CalendarWords)
}

// replacedBefore returns the place of a denial before the word of contrast at i, if what follows replaces what is denied: "block
// not the credit card but the debit card". Both must begin like a thing or a place.
func replacedBefore(t Text, i int) (at int, ok bool) {
	const most = 8 // words of what is denied, and what denies it
	begins := func(w Word) bool { return Article(w) || w.Is(ownWords, TargetCues, PlaceCues) }
	tells := func(w Word) bool { return w.Is(Persons, tellingVerbs, perfectWords) && !begins(w) }
	if i+1 == len(t.Words) || !begins(t.Words[i+1]) || slices.ContainsFunc(t.Words[i+1:], tells) {
		return 0, false
	}
	for at = i - 1; at > max(0, i-most); at-- {
		w := t.Words[at]
		if w.Is(Negations, Denials) {
			begun := at + 1
			for at > 1 && t.Words[at-1].Is(Negations, Denials) { // "non pas"
				at--
			}
			return at, begins(t.Words[begun]) && !t.parted(at) && Of(t.Surface(0, at)).Mood() != Statement
		}
		if w.Is(OffWords, Opposites) || w.Is(Persons) && !begins(w) || namesAct(w.Stem) {
			break // "schalte nicht das Licht aus, sondern die Heizung"
		}
	}
	return 0, false
}

// WithoutForbidden returns a text without a clause after an order that forbids another act, and that clause: "open the blinds
// but don't turn on the light". What it forbids of the same thing, as "it", limits the order, and stays. What is denied for
// another thing is left out, too.
func WithoutForbidden(said string) (rest, forbidden string) {
	t := Of(said)
	for i := 1; i < len(t.Words); i++ {
		first := i + JoiningPhrases.PhraseAt(t.Words, i)
		if t.Words[i].Is(contrastWords) {
			first = i + 1
			if at, ok := replacedBefore(t, i); ok {
				return said[:t.Words[at].Start] + said[t.Words[first].Start:], ""
			}
		}
		if first == i || !forbidsAt(t, first) {
			continue
		}
		end := clauseEnd(t, first)
		refers := func(w Word) bool { return w.Is(Pronouns) && !w.Is(Articles, DefiniteArticles) }
		before := Of(said[:t.Words[i].Start])
		wished := before.Mood() == Wish && !AnyIs(before.Words, firstPersons) // "please open", "can you open"
		if slices.ContainsFunc(t.Words[first:end], refers) || before.Mood() != Fragment && !wished {
			return said, ""
		}
		return strings.TrimSpace(said[:t.Words[i].Start] + said[t.Words[end-1].End:]), t.Surface(first, end)
	}
	return said, ""
}

// forbidsAt reports whether the words from i on begin with a negated order: "please don't turn on", "non aprire",
// "n'éteins pas".
func forbidsAt(t Text, i int) bool {
	for t.At(i).Is(PoliteWords) {
		i++
	}
	isVerb := func(w Word) bool { return w.Is(ActionVerbs) || namesAct(w.Stem) }
	w, next := t.At(i), t.At(i+1)
	switch {
	case w.Norm == "do" && next.Norm == "not":
		verb := t.At(i + 2)
		return isVerb(verb) && !verb.Is(WantingWords, KnowingWords) // "but I have not" and "don't know" are no orders
	case w.Norm == "never":
		return isVerb(next)
	case isVerb(w) && LanguageOf(t.Said) == "de": // "mach das Licht nicht an"
		for at := i + 1; at < clauseEnd(t, i); at++ {
			if german.has(Negations, t.Norm(at)) && t.Negates(at) {
				return true
			}
		}
		return false
	case italian.has(Negations, w.Norm):
		return hasInfinitiveEnding(next.Norm) && maySpeak(t.Said, "it")
	}
	return w.Is(NegatingParticles) && isVerb(next) && maySpeak(t.Said, "fr")
}
