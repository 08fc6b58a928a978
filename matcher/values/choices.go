package values

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"earshot/matcher/text"
	"earshot/repositories/parameters"
)

// mention is an occurrence of a value in the text, in the words from first to before end.
type mention struct {
	value      any
	first, end int
}

// readAllowed fills parameters with allowed values that occur literally in the text. If two
// of them do, the choice is open and nothing is filled.
func (r choiceReader) readAllowed() {
	for _, s := range r.byNeed() {
		if len(s.Allowed) == 0 || isNumeric(s) && len(s.Aliases) == 0 || s.Type == "boolean" || s.Type == "array" {
			continue
		}
		found := r.mentions(s, s.Allowed)
		if len(found) == 0 {
			found = r.misspelt(s)
		}
		if len(found) == 1 {
			r.fill(s, found[0].value, found[0].first, found[0].end)
			r.listedAt[found[0].first] = true
		}
	}
}

// byNeed returns the open slots, the required ones first: where two parameters take the
// same words, the one that cannot do without them gets them.
func (r choiceReader) byNeed() []*slot {
	ordered := append([]*slot(nil), r.open...)
	sort.SliceStable(ordered, func(i, j int) bool { return ordered[i].Required && !ordered[j].Required })
	return ordered
}

// mentions finds the distinct values that the text has, longer ones before those that
// are part of them.
func (r choiceReader) mentions(s *slot, allowed []any) []mention {
	keys := make(map[any][]text.Word, len(allowed))
	var ordered []any
	for _, value := range allowed {
		if said, ok := value.(string); ok {
			keys[value] = text.Split(said)
			ordered = append(ordered, value)
		}
	}
	for _, alias := range s.Aliases {
		keys[alias] = text.Split(alias.Words)
		ordered = append(ordered, alias)
	}
	sort.SliceStable(ordered, func(i, j int) bool { return len(keys[ordered[i]]) > len(keys[ordered[j]]) })
	var found []mention
	used := make([]bool, len(r.Words))
	for _, value := range ordered {
		m, ok := r.find(s, value, keys[value], used)
		if alias, is := value.(parameters.Alias); is {
			m.value = alias.Value
		}
		if ok && !slices.ContainsFunc(found, func(other mention) bool { return other.value == m.value }) {
			found = append(found, m)
		}
	}
	return found
}

// find looks for the words of a value outside the words that are used, and uses them.
func (r choiceReader) find(s *slot, value any, words []text.Word, used []bool) (mention, bool) {
	for first := 0; len(words) > 0 && first+len(words) <= len(r.Words); first++ {
		end := first + len(words)
		if !r.same(first, words) || !r.free(first, end) || used[first] || !r.meant(s, value, first, end) {
			continue
		}
		for i := first; i < end; i++ {
			used[i] = true
		}
		return mention{value, first, end}, true
	}
	return mention{}, false
}

func (r choiceReader) same(first int, words []text.Word) bool {
	for i, w := range words {
		if here := r.Words[first+i]; text.Singular(here.Norm) != text.Singular(w.Norm) {
			return false
		}
	}
	return true
}

// meant reports whether the words from first to before end stand for the value: they are not
// denied, and a single letter, or a word such as "on", that is all of it is named or written
// as the value is.
func (r choiceReader) meant(s *slot, value any, first, end int) bool {
	if first > 0 && r.Words[first-1].Is(text.Denials) && strings.TrimSpace(r.Gap(first-1)) == "" {
		return false
	}
	w := r.Words[first]
	if end-first > 1 || utf8.RuneCountInString(w.Norm) > 1 && !w.Is(text.StopWords) {
		return true
	}
	if first > 0 && s.ends(r.Words[first-1]) {
		return true
	}
	return w.Norm != "a" && w.Norm != "i" && r.Surface(first, first+1) == fmt.Sprint(value)
}

// ends reports whether the word is the last of the slot's name, as desk in deskName;
// in a name such as id there is no other.
func (s *slot) ends(w text.Word) bool {
	for i := len(s.name) - 1; i >= 0; i-- {
		if !s.name[i].Is(text.PlaceholderWords) {
			return s.name[i].Stem == w.Stem
		}
	}
	return len(s.name) > 0 && s.name[len(s.name)-1].Stem == w.Stem
}

// readBooleans fills parameters that the text names: "with breakfast", "no pets",
// "refundable: yes".
func (r choiceReader) readBooleans() {
	for _, s := range r.slots(func(s *slot) bool { return s.Type == "boolean" }) {
		if value, first, end, ok := r.truth(s); ok {
			r.fill(s, value, first, end)
		}
	}
}

func (r choiceReader) truth(s *slot) (value bool, first, end int, ok bool) {
	topic := r.topic(s)
	if !r.speaksOf(topic) {
		return false, 0, 0, false
	}
	for i, w := range r.Words {
		if !topic[w.Stem] || r.taken[i] {
			continue
		}
		if said, ok := r.answer(i); ok {
			return said, i, i + 2, true
		}
		if r.denied(i) {
			return false, i, i + 1, true
		}
		return true, i, i + 1, true
	}
	return false, 0, 0, false
}

// answer reads the yes or no after the word: "refundable: yes".
func (r choiceReader) answer(i int) (value, ok bool) {
	if i+1 >= len(r.Words) {
		return false, false
	}
	next := r.Words[i+1].Norm
	return text.YesWords.Has(next), text.YesWords.Has(next) || text.NoWords.Has(next)
}

// denied reports whether one of the two words before says no.
func (r choiceReader) denied(i int) bool {
	for j := max(0, i-2); j < i; j++ {
		if r.Words[j].Is(text.Denials) && !strings.ContainsAny(r.Gap(j), ",.;!?") {
			return true
		}
	}
	return false
}

// topic returns the words that a boolean is about: for hasLiveMusic, live and music. The
// tool's own name says nothing about its parameters.
func (r choiceReader) topic(s *slot) map[string]bool {
	found := map[string]bool{}
	for _, w := range s.name {
		if !w.Is(text.BooleanWords, text.StopWords) && !r.name[w.Stem] {
			found[w.Stem] = true
		}
	}
	return found
}

// speaksOf reports whether the text has at least half of the topic's words.
func (r choiceReader) speaksOf(topic map[string]bool) bool {
	said := map[string]bool{}
	for _, w := range r.Words {
		if topic[w.Stem] {
			said[w.Stem] = true
		}
	}
	return len(said) > 0 && 2*len(said) >= len(topic)
}
