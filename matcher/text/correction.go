package text

import (
	"strings"
)

// Correction is what a text says, and then says anew.
type Correction struct {
	// Before is what the text itself takes back or says better afterwards; empty for nothing.
	Before string
	// After is what holds; empty where the text only takes back.
	After string
	// Marked says that the text corrects something: itself, or what was said before it.
	Marked bool
	// Refused says that it begins with a plain no.
	Refused bool
}

// Corrected takes a text apart into what it takes back and what holds: of "Monday, no, Tuesday
// rather" and of "not Monday, Tuesday" Tuesday holds. A text that corrects nothing holds as it is.
func Corrected(said string) Correction {
	words := Split(said)
	found := Correction{After: said}
	if !mayCorrect(words) {
		return found
	}
	var before, after []span
	for _, part := range statements(said, words, &found) {
		switch {
		case part.anew:
			before, after = append(before, after...), nil
			fallthrough
		default:
			after = append(after, part.span)
		}
	}
	if !found.Marked {
		return found
	}
	found.Before, found.After = joinSpans(said, words, before), joinSpans(said, words, after)
	return found
}

// span are the words from first to before end.
type span struct{ first, end int }

// statement is a part of a text that says one thing.
type statement struct {
	span
	anew bool // it takes the place of what was said before it
}

// mayCorrect reports whether a text has any word that corrections are made with.
func mayCorrect(words []Word) bool {
	for i, w := range words {
		if w.Is(RatherWords) || denial(w) || RepairPhrases.PhraseAt(words, i) > 0 || InsteadPhrases.PhraseAt(words, i) > 0 {
			return true
		}
	}
	return false
}

// statements takes a text apart at its pauses and where it is said anew. Statements that deny
// are left out where another one says what is meant.
func statements(said string, words []Word, found *Correction) []statement {
	var kept []statement
	denied := false
	for _, part := range cutApart(said, words, found) {
		if deniesPart(said, words, part.span) {
			denied = true
			if len(kept) > 0 && !part.anew {
				found.Marked = true
				continue // "Tuesday, not Monday"
			}
			part.anew = part.anew || len(kept) > 0
			kept = append(kept, part)
			continue
		}
		if denied && answerLike(words, part.span) && len(kept) > 0 && deniesPart(said, words, kept[len(kept)-1].span) {
			part.anew, found.Marked = true, true // "not Monday, Tuesday"
			kept = kept[:len(kept)-1]
		}
		kept = append(kept, part)
	}
	return kept
}

// answerLike reports whether a part is short enough to be no sentence of its own.
func answerLike(words []Word, part span) bool {
	const most = 8
	return part.end-part.first <= most
}

// deniesPart reports whether a part denies what it names: "not Monday", "I can not on Tuesday".
func deniesPart(said string, words []Word, part span) bool {
	for i := part.first; i < part.end; i++ {
		if (words[i].Is(Negations, Denials)) && !told(said, words, i) {
			return true
		}
	}
	return false
}

// cutApart cuts a text at its pauses and at what repairs it, which it leaves out, as it does with
// what is replaced: "instead of Monday".
func cutApart(said string, words []Word, found *Correction) []statement {
	var list []statement
	first, anew := 0, false
	cut := func(end int) {
		if first < end {
			list = append(list, statement{span{first, end}, anew})
			anew = false
		}
	}
	for i := 0; i < len(words); {
		if Pause(said, words, i) && !told(said, words, i) {
			cut(withoutRather(words[:i], first, found))
			first = i
		}
		if length := replacedAt(said, words, i); length > 0 && i > 0 {
			cut(i)
			found.Marked = true
			i += length
			first = i
			continue
		}
		length := repairAt(said, words, i, i == first)
		if length == 0 && (contrasts(said, words, first, i) || i == first && len(list) > 0 && words[i].Is(ContrastWords) && deniesPart(said, words, list[len(list)-1].span)) {
			length = 1
		}
		if length == 0 && words[i].Is(ContrastWords) && i > first && i+1 < len(words) && words[i+1].Is(Negations) {
			cut(i) // "the office, but not the kitchen"
			i++
			first = i
			continue
		}
		if length == 0 {
			i++
			continue
		}
		cut(i)
		found.Refused = found.Refused || len(list) == 0 && words[i].Is(RefusingWords)
		found.Marked, anew = true, true
		i += length
		first = i
		if i == len(words) && i > 1 && words[i-1].Is(RefusingWords) {
			list = append(list, statement{span{i, i}, true}) // "Monday … no": nothing holds
		}
	}
	cut(withoutRather(words, first, found))
	return list
}

// withoutRather is the end of a statement without the "rather" that it ends with, and politeness
// after it.
func withoutRather(words []Word, first int, found *Correction) int {
	end := len(words)
	for i := end - 1; i > first && (words[i].Is(RatherWords, PoliteWords)); i-- {
		if words[i].Is(RatherWords) {
			end, found.Marked = i, true
		}
	}
	return end
}

// contrasts reports whether the word is the "but" of "not the office but the kitchen".
func contrasts(said string, words []Word, first, at int) bool {
	return words[at].Is(ContrastWords) && deniesPart(said, words, span{first, at})
}

// replacedAt is the length of "instead of Monday" up to the next pause, where it stands at i.
func replacedAt(said string, words []Word, i int) int {
	length := InsteadPhrases.PhraseAt(words, i)
	if length == 0 {
		return 0
	}
	end := i + length
	for end < len(words) && !Pause(said, words, end) {
		end++
	}
	return end - i
}

// repairAt is the length of the phrase by which a text is said anew from i on; 0 for none. One
// that is said for other reasons as well has to stand at the beginning of a statement, and
// "no" before a pause or before what is no noun, as "no taxi" is no correction.
func repairAt(said string, words []Word, i int, begins bool) int {
	length := RepairPhrases.PhraseAt(words, i)
	if length == 0 || told(said, words, i) {
		return 0
	}
	if i > 0 && words[i].Is(Persons) && inverted(words[i-1]) && !Pause(said, words, i) {
		return 0 // "brauche ich meine Karte": the person is of the verb before it
	}
	next := i + length
	if next < len(words) && UndoingPairs.Has(words[i].Norm+" "+words[next].Norm) {
		return 0 // "no more newsletters"
	}
	if words[i].Is(Negations) && !words[i].Is(Refusals) && (!begins || next < len(words) && !Pause(said, words, next)) {
		return 0 // "not that one, the other", but "do not close that one"
	}
	if next == len(words) && i > 0 && !words[i].Is(RefusingWords) && (length == 1 || LoosePhrases.PhraseAt(words, i) == length) {
		return 0 // "I am late, sorry"
	}
	if length == 1 || LoosePhrases.PhraseAt(words[:next], i) == length {
		if !begins {
			return 0
		}
		if next < len(words) && !Pause(said, words, next) && words[i].Is(Denials) && !opensPhrase(words[next]) {
			return 0
		}
	}
	return next - i + fillersAt(words, next)
}

// inverted reports whether a word is a verb that the person may follow, as in a question.
func inverted(w Word) bool {
	return w.Is(WishWords, PerfectWords, PoliteVerbs, QuestionWords, LightVerbs)
}

// told reports whether a word follows a colon, and so is the value of something: "breakfast: no".
func told(said string, words []Word, i int) bool {
	return i > 0 && words[i-1].End < words[i].Start && strings.Contains(said[words[i-1].End:words[i].Start], ":")
}

// opensPhrase reports whether a word is grammar that a phrase begins with: "the", "in", "at".
func opensPhrase(w Word) bool { return w.Is(StopWords) && !w.Is(Negations) }

// fillersAt counts the fillers from i on, which say nothing between a repair and what holds.
func fillersAt(words []Word, i int) int {
	n := 0
	for i+n < len(words) && words[i+n].Is(Hesitations) {
		n++
	}
	return n
}

// joinSpans is the text of some parts.
func joinSpans(said string, words []Word, parts []span) string {
	var texts []string
	for i := 0; i < len(parts); i++ {
		first := parts[i].first
		for i+1 < len(parts) && parts[i+1].first == parts[i].end {
			i++
		}
		texts = append(texts, Spoken(said, words, first, parts[i].end))
	}
	return strings.Join(texts, ", ")
}

// Corrects reports whether a text takes something back that was said before it.
func Corrects(said string) bool {
	found := Corrected(said)
	return found.Marked && found.After != ""
}
