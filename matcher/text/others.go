package text

import (
	"slices"
	"strings"
)

// A sentence can have every word of an order, and tell what somebody else does, wants or says: "My friend weighs 70 kg",
// "Ma sœur voudrait réserver". Its subject shows that, before the verb.

// longestSubject is the maximum number of words before the verb.
const longestSubject = 6

// OfAnother reports whether the sentence is about somebody else, and no later clause of it orders: "she wants a taxi", but
// not "my wife and I want a taxi" or "my wife is tired, call a taxi". knows tells which words a tool has itself, since
// "my order needs a receipt" is about the tool's thing, and isAct which of them order what it does.
func OfAnother(t Text, knows, isAct func(Word) bool) bool {
	first := 0
	for first < len(t.Words) && t.Words[first].Is(Fillers, PoliteWords) && (!t.Words[first].Is(otherPersons) || t.At(first-1).Is(PoliteWords)) {
		first++ // also the "you" of "thank you"
	}
	first = afterTime(t, first)
	for verb := first + 1; verb < min(len(t.Words), first+longestSubject); verb++ {
		subject := t.Words[first:verb]
		if t.parted(verb) || subject[len(subject)-1].Is(firstPersons, WishWords, QuestionWords, PoliteVerbs) {
			return false
		}
		if othersVerb(t, first, verb, knows, isAct) {
			mine := t.At(verb+1).Is(firstPersons) && !t.Words[verb].Is(reportingVerbs) // "die Karte möchte ich sperren"
			return !mine && !harms(t, verb) && !ordersAfter(t, verb)
		}
	}
	return false
}

// AboutAnother reports whether a sentence tells what another person is or has: "Anna is ill", "mein Sohn ist krank". A thing
// that a tool knows is no person.
func AboutAnother(t Text, knows func(Word) bool) bool {
	first := afterTime(t, max(0, t.Opening()))
	for verb := first + 1; verb < min(len(t.Words), first+longestSubject) && !t.parted(verb); verb++ {
		if !t.Words[verb].Is(tellingVerbs, perfectWords) {
			continue
		}
		subject, opening := t.Words[first:verb], t.Words[first]
		thing := AnyIs(subject, firstPersons) || slices.ContainsFunc(subject, knows)
		return opening.Is(otherPersons) && verb == first+1 || AnyIs(subject, KinWords) && opening.Is(ownWords, Definites, KinWords) || !thing && isNamed(t, first, verb)
	}
	return false
}

// AboutSpeaker reports whether a sentence begins with what the speaker is, has or does: "I am ill", "sono malato".
func AboutSpeaker(t Text) bool {
	const early = 2
	return AnyIs(t.Words[:min(len(t.Words), early)], firstPersons, ownForms, beingWords)
}

// othersVerb reports whether the words from first to before verb are somebody else, and the word at verb is what they do.
func othersVerb(t Text, first, verb int, knows, isAct func(Word) bool) bool {
	subject, w, opening := t.Words[first:verb], t.Words[verb], t.Words[first]
	wants := w.Is(othersVerbs) && (w.Norm != "would" || wishPairs.Has("would "+t.Norm(verb+1)))
	does := actsNow(t, first, verb, isAct) || w.Is(thirdModals) && isNamed(t, first, verb) && owes(t, verb, isAct)
	third := w.Is(othersVerbs, PastWords) || PastForm(w) || t.perfectAt(verb) || strings.HasSuffix(w.Norm, "s") && knows(w) || does
	things := slices.DeleteFunc(slices.Clone(subject), func(w Word) bool { return !w.IsSubject() && !w.Is(otherPersons) })
	unknown, definite := !slices.ContainsFunc(things, knows), opening.Is(Definites, ownWords)
	switch {
	case opening.Norm == "you" && len(subject) == 1:
		if AnyIs(t.Words[verb:], PoliteWords) {
			return false
		}
		return third && w.Is(WishWords) && t.Norm(verb+1) != "to" || isAct(w) && followed(t, verb)
	case opening.Is(otherPersons) && len(subject) == 1:
		return third
	case AnyIs(subject, KinWords) || AnyIs(subject, otherPersons) && unknown:
		return third && (definite || opening.Is(KinWords, IndefiniteWords))
	case does, wants && !thingsNeed(w) && t.At(verb+1).Norm != "" && isNamed(t, first, verb): // whom an example names, too
		return !t.At(verb + 1).Is(Negations)
	case len(things) == 0 || !unknown || w.Is(perfectWords) || t.At(verb+1).Is(Negations):
		return false
	case definite: // but "the floor needs cleaning"
		return wants && !strings.HasSuffix(t.Norm(verb+1), "ing") && t.Norm(verb+2) != "be" || opening.Is(ownWords) && strings.HasSuffix(w.Norm, "s") && knows(w)
	}
	return wants && isNamed(t, first, verb)
}

// afterTime returns the place after the words for a time that begin at i: "today", "every evening"; i for none.
func afterTime(t Text, i int) int {
	const most = 4
	next := i
	for at := i; at < min(len(t.Words), i+most) && (at == i || !t.parted(at)); at++ {
		switch w := t.Words[at]; {
		case w.Is(CalendarWords, DayParts) && !w.Is(PoliteVerbs, ownWords): // "may I", "mon frère"
			next = at + 1
		case !w.Is(Articles, EveryWords, DayCues, ClockCues, HourCues, PlaceCues):
			return next
		}
	}
	return next
}

// actsNow reports whether the words from first to before verb are who does, or did, what the word at verb says: "Tom sends
// 50 euros". English and German show that by the ending. Romance languages often do not: there a name at the very
// beginning does, since somebody who is spoken to is parted by a comma.
func actsNow(t Text, first, verb int, isAct func(Word) bool) bool {
	w := t.Words[verb]
	base := Singular(w.Norm)
	isVerb := func(form string) bool {
		return namesAct(form) || ActionVerbs.Has(form) || LightVerbs.Has(form) || AttendingVerbs.Has(form)
	}
	listed := isVerb(w.Stem) || isVerb(base)
	several := t.At(verb-2).Is(JoiningPhrases, JoinWords) && verb-2 > first && isNamed(t, first, verb) // "Anna and Tom send"
	object, spoken := followed(t, verb), LanguageOf(t.Said)
	switch {
	case w.Is(StopWords) && !w.Is(LightVerbs) || len(base) > len("bring") && strings.HasSuffix(base, "ing"):
		return false
	case (listed || isAct(w)) && (base != w.Norm && spoken != "fr" || several || PastForm(w)): // "sends", but not the French order "mets"
		return isBare(t, first, verb, isAct) && (object || listed && isNamed(t, first, verb) && (t.At(verb+1).IsSubject() || len(actsKnown().nouns[w.Stem]) == 0))
	case strings.HasSuffix(w.Norm, "t") && spoken == "de": // "überweist", "schaltet"
		return object && !german.has(spokenTo, t.Norm(first)) && (isAct(w) || isVerb(strings.TrimSuffix(w.Norm, "t"))) && isBare(t, first, verb, isAct)
	}
	form := w.Norm != "" && strings.ContainsAny(w.Norm[len(w.Norm)-1:], "aetd") && (!hasInfinitiveEnding(w.Norm) || strings.HasSuffix(w.Norm, "iere")) // but not "accendi"
	ordered := english.has(ActionVerbs, w.Norm) || english.has(LightVerbs, w.Norm)
	return object && isAct(w) && !ordered && (form || several) && romanceActor(t, first, verb, isAct)
}

// romanceActor reports whether the words from first to before verb can be who acts in a Romance language: a name, maybe
// after a time and before a pronoun, one of the family, or the French "on".
func romanceActor(t Text, first, verb int, isAct func(Word) bool) bool {
	opening, begins := t.Words[first], first == 0 || t.Words[first-1].Is(CalendarWords, DayParts)
	switch {
	case !slices.ContainsFunc([]string{"fr", "es", "it"}, func(code string) bool { return maySpeak(t.Said, code) }):
		return false
	case opening.Is(spokenTo), AnyIs(t.Words[verb:clauseEnd(t, verb)], PoliteWords, CourtesyWords): // "Alexa allume", "Marie envoie … s'il te plaît"
		return false
	case verb == first+1 && (opening.Is(KinWords, otherPersons) || opening.Norm == "on" && opening.IsForeign(Persons)):
		return true
	}
	end := verb
	for end > first+1 && t.Words[end-1].Is(StopWords) && !t.Words[end-1].Is(Negations, PersonCues, JourneyEnds, JourneyOrigins, BoundaryWords) {
		end-- // "Marco mi invia", but not "appuntamento per la carta"
	}
	return begins && isNamed(t, first, end) && isBare(t, first, end, isAct)
}

// owes reports whether an act follows the modal verb at i: "must send". In "Anna should get 50 euros" she does nothing.
func owes(t Text, i int, isAct func(Word) bool) bool {
	next := t.At(i + 1)
	return !next.Is(PolitePersons) && next.Norm != "be" && slices.ContainsFunc(t.Words[i+1:clauseEnd(t, i)], func(w Word) bool {
		return isAct(w) && w.IsSubject()
	})
}

// thingsNeed reports whether things also do what a word says: "the kitchen needs", "the room has". Only people want.
func thingsNeed(w Word) bool {
	return w.Is(perfectWords, havingWords, needingVerbs)
}

// followed reports whether an object follows the verb at i, or its particle: "turns on the light", "cancela su cita".
func followed(t Text, i int) bool {
	if i++; t.At(i).Is(OffWords, ActionVerbs) {
		i++
	}
	w := t.At(i)
	bound := w.Is(StopWords) && !w.Is(TargetCues, PlaceCues, OriginCues, DestinationCues, PersonCues, AuthorCues, BoundaryWords)
	return w.Norm != "" && !t.parted(i) && (t.objectAt(i) || bound || w.Is(ownWords, Definites, IndefiniteWords))
}

// isBare reports whether the words from first to before end can be who acts: names and nouns, and no verb of an order.
func isBare(t Text, first, end int, isAct func(Word) bool) bool {
	for i := first; i < end; i++ {
		w := t.Words[i]
		isVerb := namesAct(w.Stem) || w.Is(ActionVerbs) || isAct(w) && end == first+1
		if isVerb || !w.IsSubject() && !w.Is(adverbs, JoiningPhrases, JoinWords) || i == first && w.Is(Fillers, PoliteWords, QuestionWords) {
			return false
		}
	}
	return end > first
}

// TitledAt reports whether the word at i is a title before a name: "Frau Kern", "Dr. Klein".
func TitledAt(t Text, i int) bool {
	return t.At(i).Is(personTitles) && i+1 < len(t.Words) && t.Capital(i+1) && !t.Words[i+1].Common() && !t.parted(i+1)
}

// isNamed reports whether the words from first to before end are names, maybe with a title: "Anna", "Mr Brown".
func isNamed(t Text, first, end int) bool {
	for i := first; i < end; i++ {
		w := t.Words[i]
		named := t.Capital(i) && !namesAct(w.Stem) && (!w.Common() || w.Is(titleWords, nameTitles))
		if !named && (i == first || !w.Is(adverbs, JoiningPhrases, JoinWords)) {
			return false
		}
	}
	return true
}

// harms reports whether the word at i tells what somebody did to the speaker, which is trouble: "someone stole my card".
func harms(t Text, i int) bool {
	w := t.Words[i]
	done := (w.Is(PastWords, perfectWords) || PastForm(w)) && !w.Is(reportingVerbs)
	return done && AnyIs(t.Words[i:], ownWords)
}

// ordersAfter reports whether a clause after the word at i is of the speaker or an order. What somebody says is none.
func ordersAfter(t Text, i int) bool {
	for at := i + 1; at < len(t.Words); at++ {
		first := at + JoiningPhrases.PhraseAt(t.Words, at)
		if !t.parted(at) && first == at || t.Words[i].Is(reportingVerbs) && at == i+1 {
			continue
		}
		for first < len(t.Words) && t.Words[first].Is(Fillers, PoliteWords, contrastWords) {
			first++
		}
		w := t.At(first)
		own := w.Is(WishWords) && !w.Is(othersVerbs)
		if w.Is(firstPersons) || orders(t.Words[min(first, len(t.Words)):]) || t.parted(at) && (namesAct(w.Stem) || own || w.Is(ActionVerbs, LightVerbs) && !w.Is(StopWords)) {
			return true
		}
	}
	return false
}
