package values

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"earshot/matcher/datetime"
	"earshot/matcher/text"
	"earshot/repositories"
)

// Mention is a value in a text, in the words from First to before End.
type Mention struct {
	Value      any
	First, End int
}

// Choices lists by parameter the allowed values that a text names, if it names several: a list takes them all, any
// other parameter none.
func Choices(utterance *datetime.Text, tool *repositories.Tool) map[string][]Mention {
	found := map[string][]Mention{}
	f := newFiller(utterance, tool)
	for _, s := range f.open {
		if len(s.Allowed) == 0 || s.Type == "array" || s.Type == "boolean" {
			continue
		}
		if all := f.mentions(s); len(all) > 1 {
			found[s.Name] = all
		}
	}
	return found
}

// readAllowed fills parameters with allowed values that the text contains literally, or with one typing error. Two
// of them leave the choice open, and nothing is filled. Of two parameters for the same words, the required one gets
// them.
func readAllowed(f *slotFiller) {
	required := slices.DeleteFunc(slices.Clone(f.open), func(s *slot) bool { return !s.Required })
	optional := slices.DeleteFunc(slices.Clone(f.open), func(s *slot) bool { return s.Required })
	for _, s := range slices.Concat(required, optional) {
		if len(s.Allowed)+len(s.Spelled) == 0 || s.Numeric() && len(s.Aliases) == 0 || s.Type == "boolean" || s.Type == "array" {
			continue
		}
		found := f.mentions(s)
		if value := signedChoice(f, s); len(found) == 0 && value != nil {
			f.fill(s, value, 0, 0)
			continue
		}
		if len(found) == 0 {
			for _, c := range s.choices {
				for first := 0; first+len(c.words) <= len(f.Words); first++ {
					end := first + len(c.words)
					if f.free(first, end) && f.nearly(first, c.words) && f.meant(s, c, first, end) && !known(found, c.value) {
						found = append(found, Mention{c.value, first, end})
					}
				}
			}
		}
		if len(found) == 1 {
			f.fill(s, found[0].Value, found[0].First, found[0].End)
			f.listedAt[found[0].First] = true
		}
	}
}

// signedChoice returns the value whose alias is a sign that the text has: "$". It is nil if several parameters or values
// have one.
func signedChoice(f *slotFiller, s *slot) (value any) {
	for _, other := range f.all {
		for _, c := range other.choices {
			if c.sign == "" || !strings.Contains(f.Said, c.sign) {
				continue
			}
			if other != s || value != nil && value != c.value {
				return nil
			}
			value = c.value
		}
	}
	return value
}

func known(found []Mention, value any) bool {
	return slices.ContainsFunc(found, func(m Mention) bool { return m.Value == value })
}

// mentions finds the distinct allowed values in the text, longer ones first.
func (f *slotFiller) mentions(s *slot) (found []Mention) {
	used := make([]bool, len(f.Words))
	for _, c := range s.longest {
		if m, ok := f.find(s, c, used); ok && !known(found, m.Value) {
			found = append(found, m)
		}
	}
	return found
}

func sameNumber(a, b text.Word) bool { return text.Singular(a.Norm) == text.Singular(b.Norm) }

// adjectiveEndings are endings of adjectives after a consonant or "u", and in place of an "o".
var adjectiveEndings = map[string]bool{"e": true, "es": true, "en": true, "er": true, "em": true, "s": true, "a": true, "as": true, "os": true}

// inflects reports whether a word is a value with the ending of an adjective, in a language whose adjectives have some:
// "bleues" for bleu, "rotes" for rot, "rojas" for rojo.
func inflects(f *slotFiller, s *slot, c choice, here, of text.Word) bool {
	base := strings.TrimSuffix(of.Norm, "o")
	ending, ok := strings.CutPrefix(here.Norm, base)
	if first, _ := utf8.DecodeRuneInString(c.written); !ok || !unicode.IsLower(first) || !adjectiveEndings[ending] || len(base) < 3 || strings.ContainsAny(base[len(base)-1:], "aei") {
		return false
	}
	exact := func(other choice) bool { return len(other.words) == 1 && sameNumber(other.words[0], here) }
	language := text.LanguageOf(f.Said)
	return language != "en" && language != "" && !here.Common() && !slices.ContainsFunc(s.choices, exact)
}

// find looks for the words of a value outside the used words, and marks them used.
func (f *slotFiller) find(s *slot, c choice, used []bool) (Mention, bool) {
	n := len(c.words)
	for first := 0; n > 0 && first+n <= len(f.Words); first++ {
		end := first + n
		same := func(here, of text.Word) bool { return sameNumber(here, of) || inflects(f, s, c, here, of) }
		if slices.EqualFunc(f.Words[first:end], c.words, same) && f.free(first, end) && !used[first] && f.meant(s, c, first, end) {
			for i := first; i < end; i++ {
				used[i] = true
			}
			return Mention{c.value, first, end}, true
		}
	}
	return Mention{}, false
}

// meant reports whether the words from first to before end mean the value: they are not denied, excepted or only remarked,
// they do not only tell whose mother or account is meant, and a lone letter or a word such as "on" follows the parameter's
// name or is written like the value, "a" as the whole text.
func (f *slotFiller) meant(s *slot, c choice, first, end int) bool {
	remarked := !s.free && text.Remarks(f.Text.Text, first, end) // but a thing may be named so: "the shoes are too small, I return them"
	if f.Excludes(first, end) || f.ofAnotherPerson(c, first, end) || remarked {
		return false
	}
	w, next := f.Words[first], f.At(end)
	if counts := w.Is(text.Ordinals) && f.At(first-1).Is(text.Definites); counts && end-first == 1 && f.Adjoins(first) && next.IsSubject() && !s.about[next.Stem] {
		return false // "the first flight" is not of the first class
	}
	stops := w.Is(text.StopWords) && !(w.IsForeign(text.StopWords) && text.ForeignTo(f.Said, text.StopWords, w.Norm)) // but "a black hat" is no German "has"
	if end-first > 1 || utf8.RuneCountInString(w.Norm) > 1 && !stops || first > 0 && s.ends(f.Words[first-1]) {
		return true
	}
	return (len(f.Words) == 1 || w.Norm != "a" && w.Norm != "i") && f.Surface(first, end) == c.written
}

// ofAnotherPerson reports whether a name only tells who else is meant: "Anna's mother", "la madre de Ana". What
// belongs to somebody, and is the tool's matter, means that person: "Anna's account".
func (f *slotFiller) ofAnotherPerson(c choice, first, end int) bool {
	name, _ := utf8.DecodeRuneInString(c.written)
	if !unicode.IsUpper(name) {
		return false
	}
	last, next := f.Words[end-1], f.At(end)
	written := f.Surface(end-1, end)
	owns := possessive.MatchString(written) || last.Norm != c.words[len(c.words)-1].Norm && strings.HasSuffix(last.Norm, "s")
	if owns && end < len(f.Words) && f.Adjoins(end-1) && next.IsSubject() && !possessive.MatchString(c.written) {
		return !f.own[next.Stem] && !next.Is(text.MoneyWords, text.HolderWords)
	}
	ofIndex := first - 1
	linked := f.At(ofIndex).Is(text.OfWords, text.AuthorCues) || f.Norm(ofIndex) == "d"
	return linked && f.Adjoins(ofIndex) && f.At(ofIndex-1).Is(text.KinWords)
}

// Minimum lengths, in letters, of a word that may be a typing error of a value: for a missing or extra letter, and
// for a different one. Shorter ones, such as boat and goat, are often two words.
const (
	typoLength  = 5
	otherLength = 6
)

// nearly reports whether the words from first on are a value's with a typing error in one of them. The tool's own
// words and the common words of a language are never typing errors: "back" is not "black".
func (f *slotFiller) nearly(first int, words []text.Word) bool {
	typos := 0
	for i, w := range words {
		here := f.Words[first+i]
		if sameNumber(here, w) {
			continue
		}
		length := len(w.Norm)
		if len(words) > 1 {
			length = max(length, typoLength) // the other words support a short one
		}
		if typos++; length < typoLength || len(here.Norm) < 3 || !here.IsSubject() || here.Common() || f.own[here.Stem] || strings.ContainsAny(here.Norm+w.Norm, "0123456789") {
			return false
		}
		if ok, another := text.Typo(here.Norm, w.Norm); !ok || another && length < otherLength {
			return false
		}
	}
	return typos == 1
}

// readBooleans fills parameters that the text names by at least half of their subjects: "with breakfast", "no
// pets", "refundable: yes".
func readBooleans(f *slotFiller) {
	for _, s := range f.slots(func(s *slot) bool { return s.Type == "boolean" }) {
		said := map[string]bool{}
		for _, w := range f.Words {
			if s.topic[w.Stem] {
				said[w.Stem] = true
			}
		}
		if len(said) == 0 || 2*len(said) < len(s.topic) {
			continue
		}
		for i, w := range f.Words {
			if !s.topic[w.Stem] || f.taken[i] {
				continue
			}
			if yes := f.At(i + 1).Is(text.YesWords); yes || f.At(i+1).Is(text.NoWords) {
				f.fill(s, yes, i, i+2)
				break
			}
			denied := false // by one of the two previous words
			for j := max(0, i-2); j < i; j++ {
				denied = denied || f.Words[j].Is(text.Denials) && !strings.ContainsAny(f.Gap(j), ",.;!?")
			}
			f.fill(s, !denied, i, i+1)
			break
		}
	}
}
