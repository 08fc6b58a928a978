package text

import "strings"

// Tells reports whether a text tells of the past: "we were in the office", "I turned it off",
// "ich habe bestellt".
func Tells(words []Word) bool {
	for i, w := range words {
		if PastWords.Has(w.Norm) {
			return true
		}
		if i > 0 && pastForm(w) && personBefore(words, i) {
			return true
		}
		if i > 0 && PerfectWords.Has(w.Norm) && Persons.Has(words[i-1].Norm) && participleAfter(words[i+1:]) {
			return true
		}
	}
	return false
}

// pastForm reports whether a word has the ending of an English past.
func pastForm(w Word) bool {
	return len(w.Norm) > 4 && strings.HasSuffix(w.Norm, "ed") && !strings.HasSuffix(w.Norm, "eed") && !CalendarWords.Has(w.Norm)
}

// personBefore reports whether a person stands before a verb, with an adverb in between at most.
func personBefore(words []Word, i int) bool {
	before := words[i-1].Norm
	if before == "just" || before == "already" || before == "only" {
		if i < 2 {
			return false
		}
		before = words[i-2].Norm
	}
	return Persons.Has(before) && !Articles.Has(before)
}

// participleAfter reports whether one of the words is the participle that an auxiliary asks for.
func participleAfter(words []Word) bool {
	const most = 8
	for i, w := range words[:min(len(words), most)] {
		n := w.Norm
		switch {
		case i == 0 && n == "to":
			return false
		case pastForm(w), PastWords.Has(n), n == "been", n == "done", n == "taken", n == "seen", n == "gone":
			return true
		case len(n) > 5 && strings.HasPrefix(n, "ge") && (strings.HasSuffix(n, "t") || strings.HasSuffix(n, "en")):
			return true // German
		case i == 0 && len(n) > 4 && !StopWords.Has(n) && (strings.HasSuffix(n, "e") || strings.HasSuffix(n, "i") || strings.HasSuffix(n, "is") || strings.HasSuffix(n, "u")):
			return true // French: fermé, choisi, mis, vendu
		}
	}
	return false
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
		case TimeConditions.Has(words[i].Norm) && !Persons.Has(words[next].Norm):
		case TimeConditions.Has(words[i].Norm) && Articles.Has(words[next].Norm) && i > 0 && !Pause(said, words, i):
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
		if CourtesyWords.Has(w.Norm) {
			return true
		}
	}
	return len(words) == 1
}

// asksBefore reports whether a verb of knowing stands right before a condition.
func asksBefore(words []Word) bool {
	const most = 3
	for _, w := range words[max(0, len(words)-most):] {
		if KnowingWords.Has(w.Norm) {
			return true
		}
	}
	return false
}

// Ahead reports whether a text puts something off without a date: "later", "in ten minutes".
func Ahead(words []Word) bool {
	for i, w := range words {
		if LaterWords.Has(w.Norm) {
			return true
		}
		if !AheadWords.Has(w.Norm) {
			continue
		}
		for at := i + 2; at < min(len(words), i+4); at++ {
			if TimeUnits.Has(words[at].Norm) {
				return true // with the amount in between: "in seconds" is quickly
			}
		}
	}
	return false
}

// BreaksOff reports whether a text ends with a word that has to be followed by another one:
// "turn on the".
func BreaksOff(words []Word) bool {
	return len(words) > 0 && OpenWords.Has(words[len(words)-1].Norm)
}
