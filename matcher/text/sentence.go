package text

import (
	"slices"
	"strings"
)

// Mood is the grammatical mood of a sentence: an order, a wish, a question or a statement.
type Mood uint8

// Moods.
const (
	Fragment  Mood = iota // names a thing or orders: "appointment, please", "book a desk"
	Wish                  // wishes for something: "I need", "can you"
	Question              // asks for information: "when is", "do I need"
	Statement             // tells: "my appointment was fine"
	MoodCount             // number of moods
)

// Mood determines the mood from the first words and the punctuation.
func (t Text) Mood() Mood {
	first := t.Opening()
	if first < 0 {
		return Fragment
	}
	words := t.Words[first:]
	offer, marked := offerPhrases.PhraseAt(words, 0), Asked(t.Said)
	switch {
	case offer > 0 && offer < len(words) && words[offer].Is(IndefiniteWords), AsksAbility(t), marked && asksFavour(words):
		return Wish // "do you have a table"
	case asks(words), asksAfterCue(words), marked && clauseEnd(t, first) == len(t.Words) && owingPhrases.PhraseAt(words, 0) > 0:
		return Question
	case regrets(t):
		return Statement
	case wishes(t.Words), slices.ContainsFunc(t.Words, func(w Word) bool { return subjunctive(t, w) && w.Is(thirdModals, PastWords) }): // "ich müsste", "ich hätte"
		return Wish
	case len(words) == 3 && words[0].Is(Articles, DefiniteArticles) && words[1].IsSubject() && (StartsWithDigit(words[2].Norm) || words[2].Is(NumberWords, Numbers)):
		return Fragment // "la pompe 4" names it
	case words[0].Is(TellingWords), states(words), t.tellsOfDone(first), t.Cites():
		if marked && clauseEnd(t, first) == len(t.Words) {
			return Question // "I lost my card?"
		}
		return Statement
	case marked && !orders(words):
		return Question
	}
	return Fragment
}

// Asked reports whether a text ends with a question mark.
func Asked(said string) bool { return strings.HasSuffix(strings.TrimSpace(said), "?") }

// ByMark reports whether only its mark makes a sentence a question: "¿Tengo que cancelar mi cita?", "I lost my card?".
// Without it the same words tell or wish.
func ByMark(said string) bool {
	unmarked := strings.TrimRight(said, " ?\n")
	if len(unmarked) == len(strings.TrimRight(said, " \n")) || Of(said).Mood() != Question {
		return false
	}
	bare := Of(unmarked)
	mood := bare.Mood()
	return mood == Statement || mood == Wish || owingPhrases.PhraseAt(bare.Words, bare.Opening()) > 0
}

// Opening returns the index of the first word that is not a greeting or filler, or -1.
func (t Text) Opening() int {
	return slices.IndexFunc(t.Words, func(w Word) bool { return !w.Is(Fillers) })
}

// AsksAbility reports whether a text asks whether something can be done, which may wish for it: "is it possible to", "se
// puede".
func AsksAbility(t Text) bool {
	first := t.Opening()
	return first >= 0 && possiblePhrases.PhraseAt(t.Words, first) > 0 || Impersonal(t)
}

// Impersonal reports whether a text begins with what one can do: "kann man", "se puede".
func Impersonal(t Text) bool {
	for i := max(0, t.Opening()-1); i <= t.Opening(); i++ { // "si" is also a filler
		w, next := t.At(i), t.At(i+1)
		if w.Is(impersonals) && next.Is(ableVerbs) || w.Is(ableVerbs) && next.Is(impersonals) && !t.At(i+2).Is(OfWords, StopWords) {
			return true
		}
	}
	return false
}

// asks reports whether words ask for information, by their first or a later word. "What about" and "why don't you"
// suggest; "can you" and "would you" order, and so does "do a coin flip".
func asks(words []Word) bool {
	n := len(words)
	if words[0].Is(QuestionWords) {
		coin := n > 2 && words[0].Norm == "do" && words[1].Is(IndefiniteWords)
		suggests := n > 2 && (words[1].Norm == "about" || words[0].Norm == "why" && words[2].Norm == "not")
		forbids := n > 2 && words[0].Norm == "do" && words[1].Is(Negations) && !words[2].Is(PolitePersons, Persons)
		if !coin && !suggests && !forbids {
			return true
		}
	}
	const early, near = 5, 2 // "can you tell me when it is", "vous pouvez me dire si"
	polite := orders(words) || orders(words[1:])
	for i := 2; polite && i < min(n-1, early); i++ {
		if words[i].Is(KnowingWords) && slices.ContainsFunc(words[i+1:min(n, i+1+near)], func(w Word) bool {
			return w.Is(QuestionWords) && !w.Is(Auxiliaries) || w.Is(conditionWords)
		}) {
			return true
		}
	}
	return asksLate(words) || asksIndirectly(words)
}

// asksAfterCue reports whether words ask with a preposition before the question word: "by when do I need to", "mit wem".
func asksAfterCue(words []Word) bool {
	return len(words) > 2 && words[0].Begins(BeforeCues, AfterCues, StartCues, EndCues, TargetCues, PersonCues, PlaceCues, OriginCues, ClockCues, StepCues) &&
		words[1].Is(QuestionWords) && !words[1].Is(Auxiliaries, tellingVerbs, perfectWords, modalVerbs, OrWords) && conditionWords.PhraseAt(words, 0) == 0 && !words[0].Is(JoiningPhrases)
}

// asksIndirectly reports whether words wish to know something: "I want to know how much it is", "ich möchte wissen,
// ob". What is known follows the verb at once.
func asksIndirectly(words []Word) bool {
	const early, near = 5, 2
	if words[0].Is(KnowingWords) && len(words) > 3 && words[1].Is(PolitePersons) && words[2].Is(QuestionWords) && words[3].Norm == "to" {
		return true // "tell me how to"
	}
	for i := 1; i < min(len(words)-1, early); i++ {
		if !words[i].Is(wonderingVerbs) || !AnyIs(words[:i], WishWords) && !wishes(words[:i]) && !strings.HasPrefix(words[i].Norm, "wonder") {
			continue
		}
		if slices.ContainsFunc(words[i+1:min(len(words), i+1+near)], func(w Word) bool {
			return w.Is(QuestionWords) && !w.Is(Auxiliaries) || w.Is(conditionWords) && !w.Is(timeConditions) || w.Is(whetherWords)
		}) {
			return true
		}
	}
	return false
}

// asksLate reports whether a sentence that begins like a statement has its question word late: "my next paycheck is
// when", "Italy is in which time zone". "That is why" and "that is what I want" tell.
func asksLate(words []Word) bool {
	if words[0].Is(Pronouns) {
		return false
	}
	for i := 2; i < len(words); i++ {
		if !words[i].Is(QuestionWords) || words[i].Is(Auxiliaries) || words[i].Norm == "why" {
			continue
		}
		if i+1 < len(words) && (words[i+1].Is(Persons) || words[i+1].Norm == "to") { // "it is where I live"
			return false
		}
		before := words[i-1]
		if before.Is(tellingVerbs) || i > 2 && words[i-2].Is(tellingVerbs) && before.Is(StopWords) || i+1 == len(words) && !before.Is(StopWords) {
			return true
		}
	}
	return false
}

// wishes reports whether words express a wish, or contain the beginning of an order.
func wishes(words []Word) bool {
	for i, w := range words {
		if w.Is(WishWords) || i > 0 && (orders(words[i-1:]) || wishPairs.Has(words[i-1].Norm+" "+w.Norm)) {
			return true
		}
	}
	return false
}

// orders reports whether the words begin with "can you", "could I", "let me", "potresti annullare" or similar.
func orders(words []Word) bool {
	if len(words) < 2 || !words[0].Is(PoliteVerbs) {
		return false
	}
	own := spanish.has(PoliteVerbs, words[0].Norm) || italian.has(PoliteVerbs, words[0].Norm) // they need no person
	return words[1].Is(PolitePersons) || own && hasInfinitiveEnding(withoutClitic(words[1].Norm)) && !words[1].Is(StopWords)
}

// withoutClitic returns a Romance infinitive without the pronoun at its end: mandar for mandarmi.
func withoutClitic(verb string) string {
	for _, clitic := range []string{"mi", "ci", "lo", "la", "li", "le", "me", "nos", "los", "las", "les"} {
		if base, ok := strings.CutSuffix(verb, clitic); ok && strings.HasSuffix(base, "r") {
			return base
		}
	}
	return verb
}

// subjunctive reports whether a word, which folds like a past, has the umlaut of a wish: "hätte", "müsste".
func subjunctive(t Text, w Word) bool {
	return strings.ContainsAny(strings.ToLower(t.Said[w.Start:w.End]), "äü")
}

// regrets reports whether a German sentence tells what would have been: "hätte ich nur Papier bestellt". With "gern" it is a
// polite wish.
func regrets(t Text) bool {
	last := len(t.Words) - 1
	done := germanParticiple(t.Norm(last)) || german.has(modalVerbs, t.Norm(last))
	return done && !AnyIs(t.Words, WishWords) && slices.ContainsFunc(t.Words[:last], func(w Word) bool {
		return subjunctive(t, w) && w.Is(perfectWords, PastWords)
	})
}

// asksFavour reports whether a question that is no order by its form may be one: "¿me reservas un hotel?", "mi prenoti un
// tavolo?", "kann ich einen Termin haben?", "tu peux fermer la porte ?".
func asksFavour(words []Word) bool {
	if len(words) < 3 {
		return false
	}
	verb := words[1].Norm
	switch words[0].Norm {
	case "kann", "konnen", "konnte", "konnten":
		return words[1].Is(firstPersons)
	case "tu", "vous":
		return french.has(PoliteVerbs, verb) && !AnyIs(words[2:], QuestionWords, conditionWords)
	case "me", "nos":
		return len(verb) > 2 && (strings.HasSuffix(verb, "as") || strings.HasSuffix(verb, "es"))
	case "mi", "ci":
		return !words[1].Is(StopWords) && strings.HasSuffix(verb, "i")
	}
	return false
}

// ThanksAhead reports whether a text orders by French thanks for what is to be done: "merci d'inscrire Paul".
func ThanksAhead(t Text) bool {
	at := max(0, t.Opening())
	return t.Norm(at) == "merci" && french.has(OfWords, t.Norm(at+1)) && hasInfinitiveEnding(t.Norm(at+2))
}

// states reports whether a telling verb follows a noun at the beginning: "money can not buy it", "Monday is my
// day".
func states(words []Word) bool {
	const most = 3
	if len(words) < 3 || words[0].Is(ActionVerbs, LightVerbs, PoliteVerbs) {
		return false
	}
	for i := 1; i < min(most, len(words)-1); i++ {
		if words[i].Is(tellingVerbs) && !words[i+1].Is(PolitePersons) {
			return true
		}
		if words[i].Is(ActionVerbs) {
			return false
		}
	}
	return false
}

// IsName reports whether a text that begins like a sentence only names a thing: "my next payday", "the meaning of
// life".
func (t Text) IsName() bool {
	const most = 7
	n := len(t.Words)
	return n > 1 && n <= most && (t.Words[0].Is(Articles) || Article(t.Words[0])) && t.Words[n-1].IsSubject() && !slices.ContainsFunc(t.Words[1:], func(w Word) bool {
		return w.Is(tellingVerbs, Auxiliaries, PastWords) || PastForm(w) || w.Is(Persons) && !w.Is(Articles)
	})
}

// PastForm reports whether a word has the ending of an English past.
func PastForm(w Word) bool {
	return len(w.Norm) > 4 && strings.HasSuffix(w.Norm, "ed") && !strings.HasSuffix(w.Norm, "eed") && !w.Is(CalendarWords)
}

// Tells reports whether a text tells of the past: "we were in the office", "I turned it off", "ich habe bestellt".
func (t Text) Tells() bool {
	for i, w := range t.Words {
		if w.Is(PastWords) && !subjunctive(t, w) || t.accentedPast(i) { // but "ich hätte gern"
			return true
		}
		if i == 0 {
			continue
		}
		before := t.Words[i-1]
		if PastForm(w) {
			person := before
			if before.Is(adverbs) && i > 1 {
				person = t.Words[i-2]
			}
			subject := !before.Is(StopWords) || before.Is(adverbs)
			object := t.objectAt(i+1) && !t.Words[0].Is(LightVerbs, ActionVerbs)
			if person.Is(Persons) && !person.Is(Articles) || subject && object { // "grandpa locked the door", not "I want it closed"
				return true
			}
		}
		if w.Is(perfectWords) && before.Is(Persons) && participleAfter(w, t.Words[i+1:]) {
			return true
		}
	}
	return false
}

// objectAt reports whether the word at i begins the object of a verb: "the door", "50 euros", "Peter".
func (t Text) objectAt(i int) bool {
	w := t.At(i)
	return w.Is(Articles) || StartsWithDigit(w.Norm) && i > 0 || w.Norm != "" && t.Capital(i) && !t.parted(i) && !w.Is(Persons)
}

// tellsOfDone reports whether the sentence from a word on tells what is done, in the languages whose verb needs no
// person before it: "ya bloqueé la tarjeta", "Anna ha aperto la porta", "Anna hat mir 50 Euro überwiesen".
func (t Text) tellsOfDone(first int) bool {
	const early = 3 // words of a subject before its verb
	words := t.Words
	if next := t.At(first + 1); words[first].Norm == "ya" && next.Norm != "" && !t.parted(first+1) && !next.Is(PoliteVerbs, WishWords, Fillers) {
		return true
	}
	for i := first; i < min(len(words), first+early); i++ {
		plural := len(words[i].Norm) > 6 && strings.HasSuffix(words[i].Norm, "aron") || len(words[i].Norm) > 7 && strings.HasSuffix(words[i].Norm, "ieron")
		if t.accentedPast(i) || plural && maySpeak(t.Said, "es") {
			return true
		}
		if words[i].IsForeign(perfectWords) && !(i == first && words[i].Is(PoliteVerbs, QuestionWords)) && t.perfectAt(i) {
			return true
		}
		if words[i].Is(ActionVerbs, LightVerbs, WishWords) && !words[i].Is(Persons) { // the French "on" is a person
			return false
		}
	}
	return false
}

// perfectAt reports whether the word at i is the auxiliary of a perfect, in any language but English.
func (t Text) perfectAt(i int) bool {
	const near, far = 3, 10
	if i+1 == len(t.Words) {
		return false
	}
	w, after := t.Words[i], t.Words[i+1:clauseEnd(t, i+1)]
	romance := func(of Word) bool {
		n := len(of.Norm)
		return of.Is(participles) || n > 4 && !of.Is(StopWords) && slices.Contains([]string{"ado", "ido", "ato", "uto", "ito", "ata", "uta", "ita"}, of.Norm[n-3:])
	}
	switch {
	case german.has(perfectWords, w.Norm):
		return len(after) <= far && germanParticiple(after[len(after)-1].Norm)
	case spanish.has(perfectWords, w.Norm) || italian.has(perfectWords, w.Norm):
		return slices.ContainsFunc(after[:min(len(after), near)], romance)
	}
	if w.Norm == "ont" {
		return participleAfter(w, after)
	}
	return w.Norm == "a" && i > 0 && (frenchParticiple(t, after[0]) || french.has(participles, after[0].Norm))
}

// frenchParticiple reports whether a word of a text has the accent of a French participle: "viré", "annulé".
func frenchParticiple(t Text, w Word) bool {
	return len(w.Norm) > 3 && strings.HasSuffix(strings.ToLower(t.Said[w.Start:w.End]), "é")
}

// germanParticiple reports whether a word has the form of a German participle: "geöffnet", "abgesagt", "überwiesen".
func germanParticiple(w string) bool {
	if len(w) < 6 || !strings.HasSuffix(w, "t") && !strings.HasSuffix(w, "en") {
		return false
	}
	if strings.HasPrefix(w, "ge") || strings.Contains(w[2:], "ge") || strings.HasSuffix(w, "iert") {
		return true
	}
	return slices.ContainsFunc([]string{"be", "er", "ver", "zer", "ent", "uber", "unter", "wider"}, func(prefix string) bool { return strings.HasPrefix(w, prefix) })
}

// Cites reports whether a sentence is about its first words: "cancel it is what I said", "c'est ce que j'ai dit".
func (t Text) Cites() bool {
	for i := 1; i < len(t.Words); i++ {
		length := citingPhrases.PhraseAt(t.Words, i)
		if next := i + length; length > 0 && next < len(t.Words) && (t.Words[next].Is(Persons) || !t.Words[next].Is(StopWords, Articles)) {
			return true
		}
	}
	return false
}

// participleAfter reports whether one of the words is the participle of an auxiliary.
func participleAfter(auxiliary Word, words []Word) bool {
	if len(words) == 0 {
		return false
	}
	first := words[0].Norm
	switch {
	case french.has(perfectWords, auxiliary.Norm): // fermé, choisi, mis, éteint, vendu
		return len(first) > 3 && !words[0].Is(StopWords) && strings.ContainsAny(first[len(first)-1:], "eiut")
	case german.has(perfectWords, auxiliary.Norm):
		return slices.ContainsFunc(words[:min(len(words), 8)], func(of Word) bool {
			w := of.Norm
			return len(w) > 5 && (strings.HasPrefix(w, "ge") || strings.Contains(w[2:], "ge")) && (strings.HasSuffix(w, "t") || strings.HasSuffix(w, "en"))
		})
	}
	return first != "to" && slices.ContainsFunc(words[:min(len(words), 3)], func(w Word) bool {
		return PastForm(w) || w.Is(PastWords, participles)
	})
}

// Condition returns the index of the first word of a condition, -1 for none: "if it rains", "when I come home". "If
// possible" is none, nor is an indirect question: "tell me if the door is open".
func (t Text) Condition() int {
	const courteous, asked = 4, 3 // words after a condition, and before it
	words := t.Words
	for i, w := range words {
		length := conditionWords.PhraseAt(words, i)
		if inverted(t, i) || provisoAt(t, i) {
			return i
		}
		next := i + length
		if length == 0 || next >= len(words) || t.parted(next) || ForeignTo(t.Said, conditionWords, w.Norm) {
			continue
		}
		after := words[next:]
		if w.Is(timeConditions) && !awaits(t, i) && (!after[0].Is(Persons) || t.At(next+1).Is(PastWords) || after[0].Is(Articles) && i > 0 && !t.Pause(i)) {
			continue // "when I was there"
		}
		if len(after) == 1 && length == 1 || AnyIs(after[:min(len(after), courteous)], CourtesyWords) || AnyIs(words[max(0, i-asked):i], KnowingWords) {
			continue
		}
		return i
	}
	return -1
}

// provisoAt reports whether the words at i make an order depend on something, mostly on a consent: "subject to", "nach
// Rücksprache", "once approved".
func provisoAt(t Text, i int) bool {
	next := i + max(AfterCues.PhraseAt(t.Words, i), conditionWords.PhraseAt(t.Words, i), consentCues.PhraseAt(t.Words, i))
	if next == i {
		return provisoPhrases.PhraseAt(t.Words, i) > 0
	}
	for t.At(next).Is(Articles, Determiners, ownWords) {
		next++
	}
	return t.At(next).Is(consentWords) || provisoPhrases.PhraseAt(t.Words, i) > 0
}

// inverted reports whether the word at i begins a German condition by its verb: "kommt sie nicht, storniere es".
func inverted(t Text, i int) bool {
	w, subject := t.Words[i], t.Norm(i+1)
	end := clauseEnd(t, i)
	return i == t.Opening() && (subject == "er" || subject == "sie") && !namesAct(w.Stem) && !w.Is(PoliteVerbs, modalVerbs, ActionVerbs) && strings.HasSuffix(w.Norm, "t") &&
		end < len(t.Words) && strings.TrimSpace(t.Gap(end-1)) == ","
}

// awaits reports whether the word of time at i, after an order, begins a clause with a verb: "once Priya has confirmed",
// "when Ben arrives". "After lunch" has none.
func awaits(t Text, i int) bool {
	if i == 0 || asks(t.Words) || AnyIs(t.Words[:i], KnowingWords) {
		return false
	}
	const subject = 4
	for at := i + 2; at < min(len(t.Words), i+2+subject) && !t.parted(at); at++ {
		w := t.Words[at]
		third := len(w.Norm) > 4 && strings.HasSuffix(w.Norm, "es")
		if w.Is(PastWords) {
			return false // "when I was there"
		}
		if w.Is(tellingVerbs, perfectWords) || third || len(w.Norm) > 4 && strings.HasSuffix(w.Norm, "s") && at+1 == len(t.Words) && Singular(w.Norm) != w.Norm && (t.Words[i+1].Is(Articles) || t.Capital(i+1)) {
			return true
		}
		if ends := t.Pause(at + 1); ends && namesAct(w.Stem) && !w.Is(StopWords) && t.Words[at-1].IsSubject() { // "after customs approve"
			return true
		}
	}
	return false
}

// Ahead reports whether a text defers something without a date: maybe of this day, as "later" and "in ten minutes", or
// to another, as "next year" and "in two days".
func (t Text) Ahead() (today, another bool) {
	for i, w := range t.Words {
		today, another = today || w.Is(laterWords), another || laterPhrases.PhraseAt(t.Words, i) > 0
		if cue := AheadCues.PhraseAt(t.Words, i); cue > 0 {
			amount := i + cue // "in seconds" has none, and means quickly
			if t.Norm(amount) == "" {
				continue
			}
			units := t.Words[min(len(t.Words), amount+1):min(len(t.Words), amount+3)]
			days := AnyIs(units, DayUnits)
			today, another = today || !days && AnyIs(units, TimeUnits), another || days
		}
	}
	return today, another
}

// BreaksOff reports whether a text ends with a word that requires another one: "turn on the".
func (t Text) BreaksOff() bool {
	n := len(t.Words)
	if n == 0 || !t.Words[n-1].Is(openWords) {
		return false
	}
	last, before := t.Words[n-1], t.Words[max(0, n-2)]
	if ForeignTo(t.Said, openWords, last.Norm) || t.Words[0].Is(QuestionWords) && last.Norm == "of" {
		return false // "a hotel in LA", "what does it consist of"
	}
	return !before.Is(NumberWords, Numbers) && !StartsWithDigit(before.Norm) // "sept un un" are digits, and "10 am" is a time
}

// Abandons reports whether a text cancels a begun call, or only says good-bye. "Scratch that, Tuesday" does not, because it
// replaces it.
func Abandons(said string) bool {
	const most = 6 // words of a text that goes on without a pause
	t := Of(said)
	if leaves(t.Words) {
		return true
	}
	first := slices.IndexFunc(t.Words, func(w Word) bool {
		return w.Begins(abandoningPhrases) || !w.Is(Fillers, Hesitations)
	})
	if first < 0 {
		return false
	}
	end := first + abandoningPhrases.PhraseAt(t.Words, first)
	goesOn := slices.ContainsFunc(t.Words[end:], func(w Word) bool { return !w.Is(Fillers) })
	repairs := repairPhrases.PhraseAt(t.Words, first) == end-first
	return end > first && (!goesOn || (len(t.Words)-first <= most || t.parted(end)) && !repairs)
}

// leaves reports whether words say good-bye and nothing else, beside thanks and courtesy: "ok thanks, bye".
func leaves(words []Word) (left bool) {
	for at := 0; at < len(words); {
		length := leavingPhrases.PhraseAt(words, at)
		left = left || length > 0
		if length = max(length, CourtesyPhrases.PhraseAt(words, at)); length == 0 && words[at].Is(Fillers, PartingWords) {
			length = 1
		}
		if length == 0 {
			return false
		}
		at += length
	}
	return left
}

// Article reports whether a word is an article, or points to a thing, and does not tell whose that is.
func Article(w Word) bool {
	return w.Is(Definites, Determiners, DefiniteArticles, IndefiniteWords) && !w.Is(ownWords)
}
