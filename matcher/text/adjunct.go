package text

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A sentence goes on after its last name: "… to Anna right now, please", "… an Lisa überweisen". What tells how, how
// soon or how often is no part of the name.

// AsideAt returns the place after the aside that begins at word i: politeness, haste, a means, a proviso, a repetition, or
// the verb at the end of a German clause. It is i for none.
func AsideAt(t Text, i int) (end int) {
	if inQuotes(t, i) || capitalised(t, i) {
		return i
	}
	if length := max(asidePhrases.PhraseAt(t.Words, i), laterPhrases.PhraseAt(t.Words, i)); length > 0 {
		return i + length
	}
	if MeansCues.PhraseAt(t.Words, i) > 0 && !ForeignTo(t.Said, MeansCues, t.Norm(i)) || provisoAt(t, i) {
		return clauseEnd(t, i)
	}
	if end := repeatAt(t, i); end > i {
		return end
	}
	if FinalVerb(t, i) {
		return i + 1
	}
	return i
}

// capitalised reports whether the word at i is written like a name, in a text that marks names.
func capitalised(t Text, i int) bool {
	if i >= len(t.Words) || !t.Capital(i) {
		return false
	}
	word := t.Surface(i, i+1)
	_, size := utf8.DecodeRuneInString(word)
	return strings.ContainsFunc(word[size:], unicode.IsLower) // but not ASAP
}

// Clause returns the words from first to before end of the clause with the word at i.
func Clause(t Text, i int) (first, end int) {
	for first = i; first > 0 && !t.parted(first); first-- {
	}
	return first, clauseEnd(t, i)
}

// clauseEnd returns the place after the last word of the clause with the word at i.
func clauseEnd(t Text, i int) int {
	for i++; i < len(t.Words) && !t.parted(i); i++ {
	}
	return i
}

// FinalVerb reports whether the word at i is the infinitive at the end of a German clause with a modal verb: "Ich will
// 80 Euro an Lisa überweisen".
func FinalVerb(t Text, i int) bool {
	if i == 0 || !strings.HasSuffix(t.Norm(i), "n") || len(t.Norm(i)) < 4 || clauseEnd(t, i) > i+1 {
		return false
	}
	if t.Lowercase() && !namesAct(t.Words[i].Stem) {
		return false
	}
	return slices.ContainsFunc(t.Words[:i], func(w Word) bool { return german.has(modalVerbs, w.Norm) })
}

// repeatAt returns the place after the words at i that ask for an act more than once: "every month", "monthly" at the end
// of a clause, "twice". It is i for none.
func repeatAt(t Text, i int) (end int) {
	w := t.At(i)
	switch {
	case w.Is(EveryWords):
		for end = i + 1; t.At(end).Is(StopWords, DefiniteArticles, Articles, Ordinals) && !t.At(end).Is(periodWords); end++ {
		}
		if of := t.At(end); of.Is(CalendarWords, TimeUnits, Weekdays, DayParts, DayUnits, periodWords) {
			return end + 1
		}
	case w.Is(repeatingWords) && i > 0 && (t.Pause(i+1) || t.At(i+1).Is(PoliteWords)), w.Is(timesWords):
		return i + 1
	case t.At(i+1).Is(timesNouns) && (w.Is(NumberWords, Numbers) || StartsWithDigit(w.Norm)):
		return i + 2
	}
	return i
}

// Repeats returns the words that ask for an act more than once; first is end for none.
func Repeats(t Text) (first, end int) {
	for i := range t.Words {
		if end := repeatAt(t, i); end > i && !inQuotes(t, i) {
			return i, end
		}
	}
	return 0, 0
}

// AfterKin returns the place of the name after the words at i that tell who it is to the speaker: "my sister Anna". It is i
// for none.
func AfterKin(t Text, i int) int {
	at := i
	if t.At(at).Is(StopWords, Determiners) && !t.At(at).Is(KinWords) {
		at++
	}
	if t.At(at).Is(KinWords) && at+1 < len(t.Words) && t.Adjoins(at) && t.Capital(at+1) && !t.Words[at+1].Is(StopWords) {
		return at + 1
	}
	return i
}
