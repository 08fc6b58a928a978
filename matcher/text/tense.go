package text

import (
	"slices"
	"strings"
)

// Tells reports whether a text tells of the past: "we were in the office", "I turned it off",
// "ich habe bestellt".
func Tells(words []Word) bool {
	for i, w := range words {
		if w.Is(PastWords) {
			return true
		}
		if i > 0 && PastForm(w) && (personBefore(words, i) || tellsOf(words, i)) {
			return true
		}
		if i > 0 && w.Is(PerfectWords) && words[i-1].Is(Persons) && participleAfter(w, words[i+1:]) {
			return true
		}
	}
	return false
}

// PastForm reports whether a word has the ending of an English past.
func PastForm(w Word) bool {
	return len(w.Norm) > 4 && strings.HasSuffix(w.Norm, "ed") && !strings.HasSuffix(w.Norm, "eed") && !w.Is(CalendarWords)
}

// tellsOf reports whether a past form has an object after it and a subject before it: "grandpa
// locked the door", and not "I want it closed".
func tellsOf(words []Word, i int) bool {
	return i+1 < len(words) && words[i+1].Is(Articles) && (!words[i-1].Is(StopWords) || words[i-1].Is(Adverbs)) && !words[0].Is(LightVerbs, ActionVerbs)
}

// personBefore reports whether a person stands before a verb, with an adverb in between at most.
func personBefore(words []Word, i int) bool {
	before := words[i-1].Norm
	if Adverbs.Has(before) && i > 1 {
		before = words[i-2].Norm
	}
	return Persons.Has(before) && !Articles.Has(before)
}

// participleAfter reports whether one of the words is the participle that an auxiliary asks for.
func participleAfter(auxiliary Word, words []Word) bool {
	if len(words) == 0 {
		return false
	}
	switch {
	case french.has(PerfectWords, auxiliary.Norm):
		return frenchParticiple(words[0].Norm)
	case german.has(PerfectWords, auxiliary.Norm):
		return slices.ContainsFunc(words[:min(len(words), 8)], func(w Word) bool { return germanParticiple(w.Norm) })
	}
	return words[0].Norm != "to" && slices.ContainsFunc(words[:min(len(words), 3)], func(w Word) bool {
		return PastForm(w) || w.Is(PastWords, Participles)
	})
}

func germanParticiple(w string) bool {
	return len(w) > 5 && (strings.HasPrefix(w, "ge") || strings.Contains(w[2:], "ge")) && (strings.HasSuffix(w, "t") || strings.HasSuffix(w, "en"))
}

// frenchParticiple takes a folded word: fermé, choisi, mis, éteint, vendu.
func frenchParticiple(w string) bool {
	const least = 3
	return len(w) > least && !StopWords.Has(w) && strings.ContainsAny(w[len(w)-1:], "eiut")
}

// Condition is the index of the word that a condition begins with, -1 for none: "if it rains",
// "when I come home". "If possible" is none, and neither is what is asked or looked up: "tell me
// if the door is open".
func Condition(said string, words []Word) int {
	for i := range words {
		length := ConditionWords.PhraseAt(words, i)
		next := i + length
		switch {
		case length == 0 || next >= len(words) || pauseBetween(said, words[next-1], words[next]):
		case foreignTo(said, ConditionWords, words[i].Norm):
		case words[i].Is(TimeConditions) && !words[next].Is(Persons):
		case words[i].Is(TimeConditions) && next+1 < len(words) && words[next+1].Is(PastWords): // "when I was there"
		case words[i].Is(TimeConditions) && words[next].Is(Articles) && i > 0 && !Pause(said, words, i):
		case isCourtesy(words[next:]) || asksBefore(words[:i]):
		default:
			return i
		}
	}
	return -1
}

// isCourtesy reports whether a condition is politeness.
func isCourtesy(words []Word) bool {
	const most = 4
	for _, w := range words[:min(len(words), most)] {
		if w.Is(CourtesyWords) {
			return true
		}
	}
	return len(words) == 1
}

// asksBefore reports whether a verb of knowing stands right before a condition.
func asksBefore(words []Word) bool {
	const most = 3
	for _, w := range words[max(0, len(words)-most):] {
		if w.Is(KnowingWords) {
			return true
		}
	}
	return false
}

// Ahead reports whether a text puts something off without a date: "later", "in ten minutes".
func Ahead(words []Word) bool {
	for i, w := range words {
		if w.Is(LaterWords) {
			return true
		}
		if !w.Is(AheadWords) {
			continue
		}
		for at := i + 2; at < min(len(words), i+4); at++ {
			if words[at].Is(TimeUnits) {
				return true // with the amount in between: "in seconds" is quickly
			}
		}
	}
	return false
}

// BreaksOff reports whether a text ends with a word that has to be followed by another one:
// "turn on the".
func BreaksOff(said string, words []Word) bool {
	n := len(words)
	if n == 0 || !words[n-1].Is(OpenWords) {
		return false
	}
	if foreignTo(said, OpenWords, words[n-1].Norm) || words[0].Is(QuestionWords) && words[n-1].Norm == "of" {
		return false // "a hotel in LA", "what does it consist of"
	}
	_, counts := NumberWords.Number(words[max(0, n-2)].Norm)
	_, foreign := Numbers.Number(words[max(0, n-2)].Norm)
	return !counts && !foreign && !StartsWithDigit(words[max(0, n-2)].Norm) // "sept un un" are digits, and "10 am" is a time
}
