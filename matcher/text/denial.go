package text

import (
	"slices"
	"strings"
)

// What may stand between a negation and what it denies: "not in the office".
const maxBetween = 3

// DeniesWords reports whether a text has some words, and denies them where they stand last:
// "not the office", "im Büro nicht". In "no, the office" and "the office, not the kitchen" the
// office is meant.
func DeniesWords(said string, words, some []Word) bool {
	denied := false
	for first := 0; len(some) > 0 && first+len(some) <= len(words); first++ {
		if sameWordsAt(words[first:], some) {
			denied = deniedBefore(said, words, first) || deniedAfter(said, words, first+len(some))
		}
	}
	return denied
}

func sameWordsAt(words, some []Word) bool {
	for i, w := range some {
		if Singular(words[i].Norm) != Singular(w.Norm) {
			return false
		}
	}
	return true
}

// denial reports whether the word denies, drops or undoes what follows it.
func denial(w Word) bool {
	return w.Is(Negations, Denials, DroppingWords, UndoingWords, InsteadWords)
}

// deniedBefore reports whether a denial stands before the word at first, with nothing but
// grammar in between.
func deniedBefore(said string, words []Word, first int) bool {
	for i := first - 1; i >= 0 && i >= first-1-maxBetween; i-- {
		if pauseBetween(said, words[i], words[i+1]) || words[i].Is(OnlyWords) {
			return false
		}
		if denial(words[i]) {
			return true
		}
		if !words[i].Is(StopWords, Articles) {
			return false
		}
	}
	return false
}

// deniedAfter reports whether a negation ends what is said right before end.
func deniedAfter(said string, words []Word, end int) bool {
	if end >= len(words) || pauseBetween(said, words[end-1], words[end]) || !words[end].Is(Negations) {
		return false
	}
	return end+1 == len(words) || pauseBetween(said, words[end], words[end+1])
}

// pauseBetween reports whether punctuation stands between two words.
func pauseBetween(said string, before, after Word) bool {
	if before.End >= after.Start {
		return false
	}
	gap := said[before.End:after.Start]
	return strings.ContainsAny(gap, ".,;:!?–—") && !(gap == ":" && StartsWithDigit(before.Norm) && StartsWithDigit(after.Norm))
}

// HasDenial reports whether any word of a text denies, drops or undoes something.
func HasDenial(said string) bool { return slices.ContainsFunc(Split(said), denial) }

// Denies reports whether a text does nothing but deny a thing: "not the office", "nein, nicht
// im Büro".
func Denies(said string) bool {
	words := Split(said)
	for len(words) > 0 && (words[0].Is(Fillers, RefusingWords) && len(words) > 1 && pauseBetween(said, words[0], words[1])) {
		words = words[1:]
	}
	const most = 5
	if n := len(words); n < 2 || n > most || !IsSubject(words[n-1]) {
		return false
	}
	return denial(words[0]) && deniedBefore(said, words, len(words)-1)
}
