package text

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A sentence can have every word of an order and order nothing: it forbids, it only imagines, it keeps things as
// they are, or its words are quoted. What shows that is a structure of the sentence, whatever its verb.

// reach is how many words may be between a word that denies, and the act that it denies.
const reach = 7

// DeniesAct reports whether the sentence denies an act of its own: "I do not want to cancel it", "Sag ihn nicht ab". isAct
// tells whether the word at i is such an act. A negation of something else is none: "I can not come, cancel it".
func (t Text) DeniesAct(isAct func(i int) bool) bool {
	for i := range t.Words {
		if t.Negates(i) && (t.deniesAfter(i, isAct) || t.deniesBack(i, isAct)) {
			return true
		}
	}
	return false
}

// Negates reports whether the word at i negates: "not", and the French "plus" after "ne". What reminds does not: "do
// not forget to".
func (t Text) Negates(i int) bool {
	w := t.Words[i]
	if w.Norm == "not" && t.At(i+1).Is(PolitePersons) || t.At(i-1).Is(UnlessWords) && !t.At(i-1).IsForeign(onlyWords) {
		return false // "why don't you cancel it"
	}
	if w.Is(NegatingParticles) && LanguageOf(t.Said) == "fr" {
		return !t.At(i + 1).Is(remindingVerbs) // "personne ne doit"
	}
	if w.Norm == "plus" && AnyIs(t.Words[max(0, i-3):i], NegatingParticles) {
		return true
	}
	return (w.Is(Negations) || w.Is(Denials) && !w.Is(DroppingWords)) && !t.Reminds(i)
}

// Reminds reports whether the word at i is of a negated verb of forgetting, so that the sentence orders what follows:
// "do not forget to", "vergiss nicht". Either of the two words may be first; English has the negation first.
func (t Text) Reminds(i int) bool {
	w := t.Words[i]
	negation := w.Is(Negations, Denials) && !w.Is(remindingVerbs)
	if !negation && !w.Is(remindingVerbs) {
		return false
	}
	const near = 2
	for j := max(0, i-near); j <= min(len(t.Words)-1, i+near); j++ {
		of := t.Words[j]
		counterpart := negation && of.Is(remindingVerbs) || !negation && of.Is(Negations, Denials) && !of.Is(remindingVerbs)
		if !counterpart || slices.ContainsFunc([]int{1, 2}, func(k int) bool { return min(i, j)+k <= max(i, j) && t.parted(min(i, j)+k) }) {
			continue
		}
		denies := w
		if !negation {
			denies = of
		}
		if first := negation == (i < j); first || denies.IsForeign(Negations) {
			return true
		}
	}
	return false
}

func (t Text) deniesAfter(i int, isAct func(int) bool) bool {
	able, near := t.At(i-1).Is(UnableWords) || t.At(i+1).Is(AttendingVerbs, UnableWords), i+1 // "I can not come" denies no act
	if t.At(i + 1).Is(UnableWords) {
		near++
	}
	for j := i + 1; j < min(len(t.Words), i+1+reach); j++ {
		w := t.Words[j]
		switch {
		case interrupts(t, i, j):
			return deniesBeyond(t, j, isAct)
		case t.parted(j) && !subordinate(t, j), j > i+1 && w.Is(PoliteWords) && !w.Is(PolitePersons), j > i+1 && (w.Is(Persons) || w.Is(JoiningPhrases)) && t.At(j+1).Is(WishWords):
			return false // "no checks and need to order some"
		case able && w.Is(AttendingVerbs) && t.At(j+1).Is(Pronouns): // "I can not make it"
		case isAct(j):
			return !able || j <= near
		}
	}
	return false
}

// interrupts reports whether a comma before the word at j begins words between the negation of an order at i and its
// verb: "do not, please, pay", "never, ever close".
func interrupts(t Text, i, j int) bool {
	w := t.Words[i]
	forbids := w.Norm == "not" && t.At(i-1).Norm == "do" || w.Is(Negations) && w.Is(NeverWords)
	return forbids && j < len(t.Words) && (j == i+1 || j == i+2 && t.At(i+1).Is(StopWords)) && t.parted(j) && strings.TrimSpace(t.Gap(j-1)) == ","
}

// deniesBeyond reports whether the act that a negation before the word at j denies follows, after a comma or at once.
func deniesBeyond(t Text, j int, isAct func(int) bool) bool {
	for k := j; k < min(len(t.Words), j+reach); k++ {
		if isAct(k) && (k <= j+1 || t.parted(k)) {
			return true
		}
	}
	return false
}

// subordinate reports whether the comma before the word at j begins a German clause that belongs to the one before:
// "nicht, dass du", "nicht nötig, den Termin abzusagen".
func subordinate(t Text, j int) bool {
	if strings.TrimSpace(t.Gap(j-1)) != "," {
		return false
	}
	infinitive := slices.ContainsFunc(t.Words[j:clauseEnd(t, j)], func(w Word) bool { return w.Norm == "zu" || WithoutZu(w.Norm) != w.Norm })
	return german.has(ThatWords, t.Words[j].Norm) || infinitive
}

// WithoutZu returns a German verb without the "zu" of its infinitive: absagen for abzusagen.
func WithoutZu(verb string) string {
	for _, particle := range []string{"ab", "an", "auf", "aus", "ein", "los", "weg", "zuruck", "zu"} {
		if rest, ok := strings.CutPrefix(verb, particle+"zu"); ok && strings.HasSuffix(rest, "en") {
			return particle + rest
		}
	}
	return verb
}

// deniesBack reports whether the negation at i is of an act before it: "Storniere den Termin nicht", "annule pas", and
// in every language at the end of a sentence: "cancel it not".
func (t Text) deniesBack(i int, isAct func(int) bool) bool {
	for j := i - 1; j >= 0 && !t.parted(j+1); j-- {
		w := t.Words[j]
		switch {
		case w.Norm == "sie" && j > 0 && isAct(j-1): // "sagen Sie … nicht ab"
		case w.Is(Persons) && !w.Is(Articles, DefiniteArticles) && w.Norm != "vous" && !w.Is(Determiners):
			return false
		case isAct(j):
			return t.Pause(i+1) || german.has(Negations, t.Words[i].Norm) || french.has(Negations, t.Words[i].Norm) && j == i-1
		}
	}
	return false
}

// Feigns reports whether the text only imagines an act: "pretend to", "stell dir vor". The words that say so are from
// first to before end.
func (t Text) Feigns() (first, end int, ok bool) { return t.begins(feigningPhrases) }

// Nearly reports whether the text tells what did not quite happen: "casi pierdo el taxi", "I have almost cancelled it".
// "Almost 50 euros" is an amount, and "is almost empty" a state. A later clause may order: "I nearly fell, call a doctor".
func Nearly(t Text) bool {
	for i, w := range t.Words {
		if !w.Is(nearlyWords) || t.Pause(i+1) || ForeignTo(t.Said, nearlyWords, w.Norm) || ordersAfter(t, i) {
			continue
		}
		next, before := t.At(i+1), t.At(i-1)
		amount := StartsWithDigit(next.Norm) || next.Is(NumberWords, Numbers, Negations, Denials, allWords)
		state := before.Is(tellingVerbs, beingWords) && next.IsSubject() && !germanParticiple(t.Norm(clauseEnd(t, i)-1))
		if !amount && !state && (next.IsSubject() || AnyIs(t.Words[:i], perfectWords, PastWords)) {
			return true
		}
	}
	return false
}

// Refrains reports whether the text orders to leave an act undone: "avoid", "hör auf".
func (t Text) Refrains() (first, end int, ok bool) { return t.begins(refrainingPhrases) }

// Unmeant reports whether the text refrains, feigns or excludes, so that its values are not meant.
func (t Text) Unmeant() bool {
	_, _, refrains := t.Refrains()
	_, _, feigns := t.Feigns()
	return refrains || feigns || t.Excluded() >= 0
}

// begins reports whether the text begins with a phrase of the list, after greetings and politeness, and more follows.
func (t Text) begins(list List) (first, end int, ok bool) {
	for first < len(t.Words) && t.Words[first].Is(Fillers, PoliteWords) && list.PhraseAt(t.Words, first) == 0 {
		first++
	}
	end = first + list.PhraseAt(t.Words, first)
	return first, end, end > first && end < len(t.Words)
}

// Excluded returns the index of a word that the sentence excludes, -1 for none: "anything but pizza". The bound of a
// number is none.
func (t Text) Excluded() int {
	for i := range t.Words {
		if n := excludingPhrases.PhraseAt(t.Words, i); n > 0 && i+n < len(t.Words) {
			return i + n
		}
	}
	return -1
}

// quotationMarks are opening marks and those that close them.
var quotationMarks = map[rune]string{'"': "\"", '“': "”“", '„': "“”", '«': "»", '»': "«", '‘': "’", '‹': "›"}

// Unquoted returns the words outside quotation marks, and whether several words are inside. A text that is quoted as a
// whole is not quoted.
func (t Text) Unquoted() (outside []Word, quoted bool) {
	inside := 0
	for i, w := range t.Words {
		if inQuotes(t, i) {
			inside++
		} else {
			outside = append(outside, w)
		}
	}
	return outside, inside > 1 && len(outside) > 0
}

// inQuotes reports whether quotation marks are open where the word at i begins, and closed later.
func inQuotes(t Text, i int) bool {
	closes := ""
	for _, r := range t.Said[:t.Words[i].Start] {
		switch {
		case closes != "" && strings.ContainsRune(closes, r):
			closes = ""
		case closes == "":
			closes = quotationMarks[r]
		}
	}
	return closes != "" && strings.ContainsAny(t.Said[t.Words[i].End:], closes)
}

// TakenBack returns the part of a text before a plain refusal of it: "Cancel it? No thanks", "… - no, wait". It is
// empty if the text takes nothing back. An act as the last part is an order: "my subscription, cancel it".
func TakenBack(said string) string {
	t := Of(said)
	for i := 1; i < len(t.Words); i++ {
		if !t.parted(i) && !breaks(t, i) && !runsOn(t, i) || strings.Contains(t.Gap(i-1), ":") { // "breakfast: no"
			continue
		}
		tail := t.Words[i:]
		if _, refused := Consents(said[tail[0].Start:]); refused && AnyIs(tail, Negations, Denials, NoWords, RefusingWords, Refusals) || retracts(tail) || halts(t, i) {
			before := strings.TrimRight(said[:t.Words[i].Start], " -–—(,;.…")
			if _, refuses := Consents(before); refuses {
				return "" // all of it is a no
			}
			return before
		}
	}
	return ""
}

// breaks reports whether a dash, an ellipsis or a bracket is before the word at i. A hyphen inside words is none.
func breaks(t Text, i int) bool {
	gap := t.Gap(i - 1)
	return strings.ContainsAny(gap, "…(") || strings.Contains(gap, " -") || strings.Contains(gap, "- ")
}

// runsOn reports whether the words from i on take back what is before them, although no pause is before: "mach das Licht an ach
// vergiss es". Two words do so only if they mean nothing else.
func runsOn(t Text, i int) bool {
	const plain = 3
	if i+maxListed < len(t.Words) {
		return false
	}
	n := retractingPhrases.PhraseAt(t.Words, i)
	return n > 1 && i+n == len(t.Words) && (n >= plain || abandoningPhrases.PhraseAt(t.Words, i) == n)
}

// halts reports whether the words from i on only stop what was ordered before. After a comma they may be the order
// itself: "the timer, stop".
func halts(t Text, i int) bool {
	length := haltingPhrases.PhraseAt(t.Words, i)
	return length > 0 && i+length == len(t.Words) && i > 1 && strings.TrimSpace(t.Gap(i-1)) != ","
}

// retracts reports whether words only take back what was said, beside courtesy.
func retracts(words []Word) bool {
	for len(words) > 0 && words[0].Is(Hesitations, contrastWords) {
		words = words[1:]
	}
	for at := 0; at < len(words); {
		length := retractingPhrases.PhraseAt(words, at)
		if pair := words[at:min(len(words), at+2)]; length < 2 && AnyIs(pair, Negations, Denials) && AnyIs(pair, nowWords) {
			length = len(pair) // "not today", "heute nicht"
		}
		if courtesy := CourtesyPhrases.PhraseAt(words, at); length == 0 && at > 0 {
			length = courtesy
		}
		if length == 0 {
			return false
		}
		at += length
	}
	return len(words) > 0
}

// titled reports whether only the dot of an abbreviation is before the word at i: "Dr. Klein", "Nr. 5".
func (t Text) titled(i int) bool {
	before, gap := t.Words[i-1], t.Gap(i-1)
	if !strings.HasPrefix(gap, ".") || strings.TrimSpace(gap) != "." {
		return false
	}
	switch {
	case before.Is(numberingWords) && (StartsWithDigit(t.Words[i].Norm) || t.Capital(i) && t.Gap(i) == "-" && StartsWithDigit(t.Norm(i+1))):
		return i > 1 // "no. 5", "no. ZR-4410"
	case before.Is(titleWords):
		return true
	}
	return before.Is(nameTitles) && t.Capital(i-1) && t.Capital(i)
}

// accentedPast reports whether the word at i has the accent of a Spanish past: "transferí", "bloqueé", "pidió". Other
// words with one at the end are listed. French participles end in the same é.
func (t Text) accentedPast(i int) bool {
	w := t.Words[i]
	last, _ := utf8.DecodeLastRuneInString(t.Said[w.Start:w.End])
	if len(w.Norm) < 3 || w.Is(StopWords, CalendarWords, RequestWords, accentedWords) {
		return false
	}
	switch unicode.ToLower(last) {
	case 'í', 'ó':
		return true
	case 'é':
		return maySpeak(t.Said, "es") && (i == 0 && len(w.Norm) > 5 || LanguageOf(t.Said) == "es" || !maySpeak(t.Said, "fr"))
	}
	return false
}
