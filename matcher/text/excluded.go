package text

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Excludes reports whether a text denies or excepts the words from first to before end: "not to Anna", "everyone but
// Anna", "Anna nicht". Only grammar may be between. In "no, Anna" they are meant.
func (t Text) Excludes(first, end int) bool {
	if next := t.At(end); next.Is(Negations, Denials) && !t.parted(end) && t.Pause(end+1) {
		return true
	}
	for i := first - 1; i >= 0 && i >= first-1-maxBetween; i-- {
		if t.parted(i + 1) {
			return false
		}
		w := t.Words[i]
		switch {
		case exceptPhrases.PhraseBefore(t.Words, i+1) > 0, butWords.PhraseBefore(t.Words, i+1) > 0 && ofAll(t, i):
			return true
		case w.Is(onlyWords):
			return false
		case w.Is(Negations, Denials): // "why not Friday" suggests it, and "that is not Friday" does not
			return !t.At(i-1).Is(QuestionWords) || i > 1 && t.At(i-1).Is(tellingVerbs)
		case !isLink(w):
			return false
		}
	}
	return false
}

// Remarks reports whether the clause of the words from first to before end only tells of them how they are or were, or who is
// so: "small is too tight", "last time it was small", "my son is single". "Small is fine" means them.
func Remarks(t Text, first, end int) bool {
	begin, stop := Clause(t, first)
	if begin == 0 && stop == len(t.Words) {
		return false // the whole message
	}
	if first == begin && t.At(end).Is(tellingVerbs) && end < stop {
		return !slices.ContainsFunc(t.Words[end+1:stop], func(w Word) bool { return w.Is(SuitingWords, CourtesyPhrases, AssentPhrases) })
	}
	verb := first - 1
	for verb > begin && t.Words[verb].Is(adverbs, Articles, Determiners, Persons) {
		verb--
	}
	if verb < begin || !t.Words[verb].Is(tellingVerbs) {
		return false
	}
	return t.Words[verb].Is(PastWords) || slices.ContainsFunc(t.Words[begin:verb], func(w Word) bool { // "they" may be things
		return w.Is(KinWords) || w.Is(otherPersons) && w.IsSubject()
	})
}

// ExceptionAt returns the number of words at a place that except what follows; 0 for none: "except", "other than", and
// "but" after "every".
func ExceptionAt(t Text, i int) int {
	if n := exceptPhrases.PhraseAt(t.Words, i); n > 0 && !t.Words[i].Is(contrastWords) {
		return n
	}
	if n := butWords.PhraseAt(t.Words, i); n > 0 && ofAll(t, i) {
		return n
	}
	return 0
}

// Signed reports whether a sign before the figures at a place changes their number: -50, ~50, <50.
func (t Text) Signed(i int) bool {
	if i >= len(t.Words) || !StartsWithDigit(t.Norm(i)) {
		return false
	}
	before := strings.TrimRight(t.Said[:t.Words[i].Start], " €$£")
	sign, size := utf8.DecodeLastRuneInString(before)
	if !strings.ContainsRune("-−–+~≈<>≤≥±", sign) {
		return false
	}
	before = before[:len(before)-size]
	return before == "" || strings.HasSuffix(before, " ") // 3-5 has none
}

// ofAll reports whether one of the words for all of a kind is shortly before a word: "any day but".
func ofAll(t Text, i int) bool { return AnyIs(t.Words[max(0, i-maxBetween):i], allWords) }

// isLink reports whether a word only links a negation with a thing: a preposition or an article.
func isLink(w Word) bool {
	return w.Is(StopWords, Articles, Determiners, DayCues, ClockCues, HourCues, PersonCues, TargetCues) &&
		(w.Is(Articles) || !w.Is(Auxiliaries, perfectWords, QuestionWords, PolitePersons, WishWords))
}

// deniesNext reports whether a "no" is the "not" of Spanish or Italian, and no refusal: "no a Pedro", "non a Pietro".
// The French "non à Pierre" refuses.
func deniesNext(t Text, i int) bool {
	return (t.Norm(i) == "no" || t.Norm(i) == "non") && i+1 < len(t.Words) && !t.parted(i+1) && t.Words[i+1].Is(notCues) &&
		!strings.EqualFold(t.Surface(i+1, i+2), "à")
}

// Common reports whether the word is in any of the lists. Such a word is no misspelling of another.
func (w Word) Common() bool { return w.tags != nil && w.tags.any != listSet{} }

// Base returns the language of a BCP 47 tag as an ISO 639 code: de for de-AT and de_AT.
func Base(tag string) string {
	base, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(tag), "_", "-"), "-")
	return base
}

// LanguageIn returns the language of a text whose writer is expected to use the preferred one, a BCP 47 tag, which
// decides where the words do not. If the words are clearly of another language it returns mixed. An unsupported preference does
// not count.
func LanguageIn(said, preferred string) string {
	base := Base(preferred)
	of := indexOf(base)
	if of < 0 {
		return LanguageOf(said)
	}
	const clearly = 1 // a word of no other language
	if scores := scoresOf(said); scores[of]+clearly <= slices.Max(scores) {
		return mixed
	}
	return base
}

// mixed is the ISO 639 code for several languages.
const mixed = "mul"
