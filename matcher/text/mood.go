package text

import (
	"slices"
	"strings"
)

// Mood is the grammatical mood of a sentence: whether it orders, wishes, asks or tells.
type Mood uint8

// Moods.
const (
	Fragment  Mood = iota // names a thing or orders: "appointment, please", "book a desk"
	Wish                  // says that something is wanted: "I need", "can you"
	Question              // asks for knowledge: "when is", "do I need"
	Statement             // tells: "my appointment was fine"
	MoodCount             // how many moods there are
)

// MoodOf reads the mood from the first words and the punctuation of a request.
func MoodOf(text string, words []Word) Mood {
	first := Opening(words)
	switch {
	case first < 0:
		return Fragment
	case offers(words[first:]), PossiblePhrases.PhraseAt(words, first) > 0:
		return Wish
	case asking(words[first:]):
		return Question
	case asksIndirectly(words[first:]), asksAtEnd(words[first:]):
		return Question
	case wishes(words):
		return Wish
	case words[first].Is(TellingWords):
		return Statement
	case states(words[first:]):
		return Statement
	case strings.HasSuffix(strings.TrimRight(text, " \n"), "?") && !orders(words[first:]):
		return Question
	}
	return Fragment
}

// Opening is the index of the first word that is not a greeting or filler, or -1.
func Opening(words []Word) int {
	for i, w := range words {
		if !w.Is(Fillers) {
			return i
		}
	}
	return -1
}

// offers reports whether the words ask for a thing that one wants: "do you have a table".
func offers(words []Word) bool {
	next := OfferPhrases.PhraseAt(words, 0)
	return next > 0 && next < len(words) && words[next].Is(IndefiniteWords)
}

// states reports whether a verb that tells follows a noun that begins the sentence: "money can
// not buy it", "Monday is my day".
func states(words []Word) bool {
	const most = 3
	if len(words) < 3 || words[0].Is(ActionVerbs, LightVerbs, PoliteVerbs) {
		return false
	}
	for i := 1; i < min(most, len(words)-1); i++ {
		if words[i].Is(TellingVerbs) && !words[i+1].Is(PolitePersons) {
			return true
		}
		if words[i].Is(ActionVerbs) {
			return false
		}
	}
	return false
}

// IsName reports whether a text that begins like a sentence only names a thing: "my next payday", "the
// meaning of life".
func IsName(words []Word) bool {
	const most = 7
	return len(words) > 1 && len(words) <= most && words[0].Is(Articles) && IsSubject(words[len(words)-1]) &&
		!slices.ContainsFunc(words[1:], func(w Word) bool {
			return w.Is(TellingVerbs, Auxiliaries, PastWords) || PastForm(w) || w.Is(Persons) && !w.Is(Articles)
		})
}

// asking reports whether the words begin like a question for information. "What about" and
// "why don't you" suggest; "can you" and "would you" order.
func asking(words []Word) bool {
	if !words[0].Is(QuestionWords) {
		return false
	}
	if len(words) < 3 {
		return true
	}
	if words[0].Norm == "do" && words[1].Is(IndefiniteWords) {
		return false // "do a coin flip"
	}
	suggests := words[1].Norm == "about" || words[0].Norm == "why" && words[2].Norm == "not"
	return !suggests
}

// asksIndirectly reports whether the words order an answer: "can you tell me when it is".
func asksIndirectly(words []Word) bool {
	const most = 3
	if !orders(words) || len(words) <= most || !words[2].Is(KnowingWords) {
		return false
	}
	return slices.ContainsFunc(words[most:min(len(words), most+2)], func(w Word) bool {
		return w.Is(QuestionWords) && !w.Is(Auxiliaries) || w.Is(ConditionWords)
	})
}

// asksAtEnd reports whether a sentence that begins like one that tells has its question word at its
// end, or before what it asks for: "my next paycheck is when", "Italy is in which time zone". "That is
// why" and "that is what I want" tell.
func asksAtEnd(words []Word) bool {
	if words[0].Is(Pronouns) {
		return false
	}
	for i := 2; i < len(words); i++ {
		if !words[i].Is(QuestionWords) || words[i].Is(Auxiliaries) || words[i].Norm == "why" {
			continue
		}
		before := words[i-1].Norm
		if i+1 < len(words) && (words[i+1].Is(Persons) || words[i+1].Norm == "to") { // "it is where I live"
			return false
		}
		if TellingVerbs.Has(before) || i > 2 && words[i-2].Is(TellingVerbs) && StopWords.Has(before) || i+1 == len(words) && !StopWords.Has(before) {
			return true
		}
	}
	return false
}

func wishes(words []Word) bool {
	for i, w := range words {
		if w.Is(WishWords) {
			return true
		}
		if i > 0 && (orders(words[i-1:]) || WishPairs.Has(words[i-1].Norm+" "+w.Norm)) {
			return true
		}
	}
	return false
}

// orders reports whether the words begin with "can you", "could I", "let me" and the
// like.
func orders(words []Word) bool {
	if len(words) < 2 {
		return false
	}
	return words[0].Is(PoliteVerbs) && words[1].Is(PolitePersons)
}

// Abandons reports whether a text cancels something that was begun. "Scratch that, Tuesday" does
// not: it says something else instead.
func Abandons(text string) bool {
	var said []string
	for _, w := range Split(text) {
		if !w.Is(Fillers) {
			said = append(said, w.Norm)
		}
	}
	whole := strings.Join(said, " ")
	return slices.ContainsFunc(AbandoningPhrases.Entries(), func(way string) bool {
		return whole == way || strings.HasPrefix(whole, way+" ") && len(said) <= 6 && !RepairPhrases.Has(way)
	})
}
