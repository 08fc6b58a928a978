package matcher

import (
	"fmt"
	"sort"
	"unicode/utf8"
)

// mention is a value that stands in the words from first to before end.
type mention struct {
	value      any
	first, end int
}

// readAllowed fills parameters whose allowed values the text has literally. Where two
// of them stand there the choice is open, and nothing is filled.
func (r *valueReader) readAllowed() {
	for _, s := range r.byNeed() {
		if len(s.Allowed) == 0 || isNumeric(s) || s.Type == "boolean" || s.Type == "array" {
			continue
		}
		if found := r.mentions(s, s.Allowed); len(found) == 1 {
			r.fill(s, found[0].value, found[0].first, found[0].end)
		}
	}
}

// byNeed returns the open slots, the required ones first: where two parameters take
// the same words, the one that cannot do without gets them.
func (r *valueReader) byNeed() []*slot {
	ordered := append([]*slot(nil), r.open...)
	sort.SliceStable(ordered, func(i, j int) bool { return ordered[i].Required && !ordered[j].Required })
	return ordered
}

// mentions finds the distinct values that the text has, longer ones before those that
// are part of them.
func (r *valueReader) mentions(s *slot, allowed []any) []mention {
	keys := make(map[any][]word, len(allowed))
	var ordered []any
	for _, value := range allowed {
		if text, ok := value.(string); ok {
			keys[value] = split(text)
			ordered = append(ordered, value)
		}
	}
	sort.SliceStable(ordered, func(i, j int) bool { return len(keys[ordered[i]]) > len(keys[ordered[j]]) })
	var found []mention
	used := make([]bool, len(r.words))
	for _, value := range ordered {
		if m, ok := r.find(s, value, keys[value], used); ok {
			found = append(found, m)
		}
	}
	return found
}

// find looks for the words of a value outside the words that are used, and uses them.
func (r *valueReader) find(s *slot, value any, words []word, used []bool) (mention, bool) {
	for first := 0; len(words) > 0 && first+len(words) <= len(r.words); first++ {
		end := first + len(words)
		if !r.same(first, words) || !r.free(first, end) || used[first] || !r.meant(s, value, first) {
			continue
		}
		for i := first; i < end; i++ {
			used[i] = true
		}
		return mention{value, first, end}, true
	}
	return mention{}, false
}

func (r *valueReader) same(first int, words []word) bool {
	for i, w := range words {
		if here := r.words[first+i]; singular(here.norm) != singular(w.norm) {
			return false
		}
	}
	return true
}

// meant reports whether the word at first stands for the value: it is not denied, and
// a single letter, or a word such as "on", is named or written as the value is.
func (r *valueReader) meant(s *slot, value any, first int) bool {
	if first > 0 && denials[r.words[first-1].norm] {
		return false
	}
	w := r.words[first]
	if utf8.RuneCountInString(w.norm) > 1 && !functionWords[w.norm] {
		return true
	}
	if first > 0 && s.ends(r.words[first-1]) {
		return true
	}
	return w.norm != "a" && w.norm != "i" && r.surface(first, first+1) == fmt.Sprint(value)
}

// ends reports whether the word is the last of the slot's name, as desk in deskName;
// in a name such as id there is no other.
func (s *slot) ends(w word) bool {
	for i := len(s.name) - 1; i >= 0; i-- {
		if !hollow[s.name[i].norm] {
			return s.name[i].stem == w.stem
		}
	}
	return len(s.name) > 0 && s.name[len(s.name)-1].stem == w.stem
}
