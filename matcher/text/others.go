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
// "my order needs a receipt" is about the tool's thing.
func OfAnother(t Text, knows func(Word) bool) bool {
	first := 0
	for first < len(t.Words) && t.Words[first].Is(Fillers, PoliteWords) && !t.Words[first].Is(otherPersons) {
		first++
	}
	for verb := first + 1; verb < min(len(t.Words), first+longestSubject); verb++ {
		subject := t.Words[first:verb]
		if t.parted(verb) || subject[len(subject)-1].Is(firstPersons, WishWords, QuestionWords, PoliteVerbs) {
			return false
		}
		if othersVerb(t, first, verb, knows) {
			mine := t.At(verb+1).Is(firstPersons) && !t.Words[verb].Is(reportingVerbs) // "die Karte möchte ich sperren"
			return !mine && !harms(t, verb) && !ordersAfter(t, verb)
		}
	}
	return false
}

// othersVerb reports whether the words from first to before verb are somebody else, and the word at verb is what they do.
func othersVerb(t Text, first, verb int, knows func(Word) bool) bool {
	subject, w, opening := t.Words[first:verb], t.Words[verb], t.Words[first]
	wants := w.Is(othersVerbs) && (w.Norm != "would" || wishPairs.Has("would "+t.Norm(verb+1)))
	third := w.Is(othersVerbs, PastWords) || PastForm(w) || t.perfectAt(verb) || strings.HasSuffix(w.Norm, "s") && knows(w)
	things := slices.DeleteFunc(slices.Clone(subject), func(w Word) bool { return !w.IsSubject() && !w.Is(otherPersons) })
	unknown, definite := !slices.ContainsFunc(things, knows), opening.Is(Definites, ownWords)
	switch {
	case opening.Is(otherPersons) && len(subject) == 1:
		return third && (opening.Norm != "you" || w.Is(WishWords) && t.Norm(verb+1) != "to")
	case AnyIs(subject, KinWords) || AnyIs(subject, otherPersons) && unknown:
		return third && (definite || opening.Is(KinWords, IndefiniteWords))
	case len(things) == 0 || !unknown || w.Is(perfectWords) || t.At(verb+1).Is(Negations):
		return false
	case definite: // but "the floor needs cleaning"
		return wants && !strings.HasSuffix(t.Norm(verb+1), "ing") && t.Norm(verb+2) != "be" || opening.Is(ownWords) && strings.HasSuffix(w.Norm, "s") && knows(w)
	}
	named := !slices.ContainsFunc(subject, Word.Common)
	for i := first; i < verb; i++ {
		_, isVerb := actsKnown().verbs[t.Words[i].Stem]
		named = named && t.Capital(i) && !isVerb
	}
	return named && wants
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
		_, isVerb := actsKnown().verbs[w.Stem]
		own := w.Is(WishWords) && !w.Is(othersVerbs)
		if w.Is(firstPersons) || orders(t.Words[min(first, len(t.Words)):]) || t.parted(at) && (isVerb || own || w.Is(ActionVerbs, LightVerbs) && !w.Is(StopWords)) {
			return true
		}
	}
	return false
}
