package text

import "slices"

// NoAnswer reports whether a text only asks or tells about what it names, and so answers no question for it: "who is
// Anna?", "on Friday I have a party", "I work on Monday", "I only have 50 euros". "Is Friday possible?", "I take Friday"
// and "I have time on Friday" may answer.
func (t Text) NoAnswer() bool {
	first := t.Opening()
	if first < 0 {
		return false
	}
	if w := t.Words[first]; w.Is(QuestionWords) && t.Mood() == Question && AdditionPhrases.PhraseAt(t.Words, first) == 0 {
		suits := slices.ContainsFunc(t.Words, func(w Word) bool { return w.Is(SuitingWords, availableWords, CourtesyWords) })
		return !w.Is(Auxiliaries, tellingVerbs) || !suits
	}
	if today, _ := t.Ahead(); today && AnyIs(t.Words, ReturnWords) || hedges(t) { // "back in 5 minutes"
		return true
	}
	if tellsOfNow(t) {
		return true
	}
	if AnyIs(t.Words, availableWords) {
		return false
	}
	for i, w := range t.Words {
		if wishPairs.Has(w.Norm + " " + t.Norm(i+1)) { // "I have to pay 50 euros"
			continue
		}
		if w.Is(ownForms) || w.Is(havingWords, beingWords) && ofSpeaker(t, i, first) || w.Is(firstPersons) && tellsOf(t, i) {
			return true
		}
	}
	return false
}

// Assents returns the number of words by which a text agrees before a pause and goes on: "d'accord, à Anna".
func Assents(t Text) int {
	length := max(ConsentPhrases.PhraseAt(t.Words, 0), AssentPhrases.PhraseAt(t.Words, 0), CourtesyPhrases.PhraseAt(t.Words, 0))
	if length == 0 || length == len(t.Words) || !t.parted(length) {
		return 0
	}
	return length
}

// tellsOfNow reports whether a text says how it is here or now: "it is 15 degrees in here", "pump 2 is at 60 percent now". That
// "we are 4 now" answers, and so does "today".
func tellsOfNow(t Text) bool {
	present := slices.ContainsFunc(t.Words, func(w Word) bool {
		_, day := NearDays.Value(w.Norm)
		return w.Is(hereWords) || w.Is(nowWords) && !day
	})
	tells := AnyIs(t.Words, tellingVerbs) || t.At(t.Opening()).Is(Pronouns) // "it's" is "it"
	return present && tells && !AnyIs(t.Words, OwnGroup)
}

// ComesBack reports whether a text tells that the speaker comes back: "I'll be back on Sunday".
func ComesBack(t Text) bool { return AnyIs(t.Words, firstPersons) && AnyIs(t.Words, ReturnWords) }

// hedges reports whether a text has a word of doubt, and does not ask: "I am not sure, perhaps Friday". "I could do Friday"
// answers, and so does "un jour".
func hedges(t Text) bool {
	if Asked(t.Said) {
		return false
	}
	for i, w := range t.Words {
		if n := uncertainPhrases.PhraseAt(t.Words, i); n > 0 && !w.Is(Articles) && !AnyIs(t.Words[i:i+n], firstPersons, PoliteVerbs) {
			return true
		}
	}
	return false
}

// ofSpeaker reports whether the verb at a place is of the speaker, who may be named after it in some languages. Of
// what the speaker is, a sentence that begins with it may answer: "I am Anna".
func ofSpeaker(t Text, i, first int) bool {
	const near = 2
	for at := max(0, i-near); at <= min(len(t.Words)-1, i+1); at++ {
		if t.Words[at].Is(firstPersons) && (t.Words[i].Is(havingWords) || at > first) {
			return true
		}
	}
	return false
}

// tellsOf reports whether the verb after the speaker at i tells what that does or likes, and gives no answer.
func tellsOf(t Text, i int) bool {
	verb := i + 1
	for t.At(verb).Is(adverbs) {
		verb++
	}
	w := t.At(verb)
	if w.Norm == "" || t.parted(i+1) || repairPhrases.PhraseAt(t.Words, i) > 0 || t.At(i-1).Is(WishWords, PoliteVerbs, modalVerbs, AnsweringVerbs) {
		return false
	}
	modal := w.IsForeign(PoliteVerbs) || w.Is(PoliteVerbs) && w.Is(Auxiliaries) // "I get up at 8" tells
	answers := modal || w.Is(WishWords, modalVerbs, AnsweringVerbs) || wishPairs.Has(t.Norm(i)+" "+w.Norm) || wishPairs.Has(w.Norm+" "+t.Norm(verb+1))
	return !answers && (w.IsSubject() || w.Is(SuitingWords, RequestWords, LightVerbs, PastWords))
}

// Judges reports whether a text says of a value what it is, and not that it is meant: "50 euros is too much". "50 euros is
// fine" means it, and so does "50 euros is the amount", with words of which says is true. Nor is a number meant that is said
// of somebody: "she is 50".
func Judges(t Text, isValue, says func(i int) bool) bool {
	value := false
	for i, w := range t.Words {
		if ofSomebody(t, i, isValue, says) {
			return true
		}
		if value = value || isValue(i); !value || isValue(i) || !w.Is(tellingVerbs) {
			continue
		}
		for at := i + 1; at < len(t.Words); at++ {
			if isValue(at) || says(at) || t.Words[at].Is(SuitingWords, CourtesyPhrases, AssentPhrases) {
				return false
			}
		}
		return true
	}
	return false
}

// ofSomebody reports whether the verb at a place says the number after it of a person: "Anna is 50", "my son is only 21".
func ofSomebody(t Text, verb int, isValue, says func(i int) bool) bool {
	number := verb + 1
	for t.At(number).Is(adverbs, onlyWords) {
		number++
	}
	counts := t.At(number).Is(NumberWords, Numbers) || StartsWithDigit(t.Norm(number))
	if !t.Words[verb].Is(tellingVerbs, beingWords, havingWords) || !counts || !isValue(number) {
		return false
	}
	somebody := false
	for i := verb - 1; i >= 0 && !t.parted(i+1); i-- {
		if says(i) {
			return false
		}
		somebody = somebody || isValue(i) || t.Words[i].Is(firstPersons, otherPersons, KinWords)
	}
	return somebody
}

// Idles reports whether a text is only said while one thinks, puts off or is angry, and so names no value: "one sec",
// "ach egal", "plus tard".
func Idles(t Text) bool {
	idle := false
	for i := 0; i < len(t.Words); {
		length := max(idlePhrases.PhraseAt(t.Words, i), laterPhrases.PhraseAt(t.Words, i), asidePhrases.PhraseAt(t.Words, i))
		if length > 0 {
			idle, i = true, i+length
			continue
		}
		if !t.Words[i].Is(Hesitations, Fillers, RefusingWords, PoliteWords) {
			return false
		}
		i++
	}
	return idle
}
