package values

import (
	"slices"
	"strings"

	"earshot/matcher/text"
	"earshot/repositories"
)

// mostInItem is the maximum number of words in an item of a spoken list.
const mostInItem = 5

// readItems fills the one array of free texts with the things after the tool's verb: "order milk, eggs and bread".
func readItems(filler *slotFiller) {
	f := restReader{filler}
	s := f.lone(func(s *slot) bool { return s.listed })
	if s == nil || slices.ContainsFunc(f.open, func(other *slot) bool { return other != s && other.free && other.Required }) {
		return
	}
	brings := func(w text.Word) bool { return s.taught != nil && s.taught.left[w.Norm] && !w.Is(text.StopWords) }
	verb := slices.IndexFunc(f.Words, func(w text.Word) bool { return w.IsSubject() || w.Is(text.PuttingVerbs) || brings(w) })
	if verb < 0 || !f.Words[verb].Is(text.PuttingVerbs) && !f.means(f.Words[verb]) && !brings(f.Words[verb]) || slices.ContainsFunc(f.Words[:verb], func(w text.Word) bool { return w.Is(text.Negations) }) {
		return
	}
	if text.PastForm(f.Words[verb]) || f.Excluded() >= 0 || text.AnyIs(f.Words, text.EverythingWords) {
		return // "we would have packed the map" orders nothing, and "everything but" no list
	}
	first := verb + 1
	for f.At(first).Is(text.ObjectLinks) {
		first++
	}
	end := f.sentenceEnd(first)
	for at := first + 1; at < end; at++ {
		cue := f.Words[at]
		ends := s.taught != nil && s.taught.right[cue.Norm] && (cue.Is(text.StopWords) || !cue.IsSubject())
		if !ends && aims(cue) && len(f.slots(freeText)) > 0 {
			return // "pizza to 5 Elm Street" has the value of another
		}
		if ends || aims(cue) {
			end = at // "milk to the list"
		}
	}
	first, end = f.stripped(first, f.listed(first, end))
	if items := itemsIn(f.Text.Text, first, end); len(items) > 0 {
		f.fill(s, items, first, end)
	}
}

// itemsIn returns the items of a list in the words from first to before end, without their articles. It is nil if one of
// them is no thing.
func itemsIn(t text.Text, first, end int) (items []any) {
	for from := first; from < end; {
		at := from
		if from > first && t.Words[from].Is(text.QuestionWords) {
			return nil // "…, who is hungry"
		}
		for at < end && (at == from || !separates(t, at)) && !t.Words[at].Is(text.JoinWords) {
			at++
		}
		words := t.Words[from:at]
		for len(words) > 1 && words[0].Is(text.StopWords, text.IndefiniteWords) && !words[0].Is(text.NumberWords, text.Numbers) {
			words = words[1:]
		}
		thing := slices.ContainsFunc(words, func(w text.Word) bool { return w.IsSubject() && !w.Is(text.EverythingWords) })
		if len(words) > mostInItem || !thing || slices.ContainsFunc(words, aims) || text.AnyIs(words, text.Negations, text.Denials, text.OrWords, text.Persons, text.EverythingWords) {
			return nil
		}
		items = append(items, t.Said[words[0].Start:words[len(words)-1].End])
		for from = at; from < end && t.Words[from].Is(text.JoinWords); from++ {
		}
	}
	return items
}

// aims reports whether a word begins where things go, and is no "of" and no article.
func aims(w text.Word) bool {
	return w.Is(text.TargetCues) && !w.Is(text.OfWords, text.IndefiniteWords)
}

// separates reports whether a comma or an ampersand is before the word at i.
func separates(t text.Text, i int) bool {
	gap := strings.TrimSpace(t.Gap(i - 1))
	return gap == "," || gap == ";" || gap == "&"
}

// Items returns the items of a spoken list, nil for none: "apples, two pears and some flour".
func Items(said string) []any {
	t := text.Of(said)
	end := len(t.Words)
	for end > 0 && t.Words[end-1].Is(text.PoliteWords) {
		end--
	}
	return itemsIn(t, 0, end)
}

// Listed returns values in which the texts for an array are its items. A text that is no list of things is none.
func Listed(tool *repositories.Tool, given map[string]any) map[string]any {
	for _, name := range KindsOf(tool).Lists {
		said, ok := given[name].(string)
		if one, lone := given[name].([]any); lone && len(one) == 1 {
			said, ok = one[0].(string)
		}
		if items := Items(said); ok && len(items) > 0 {
			given[name] = items
		} else if ok {
			delete(given, name)
		}
	}
	return given
}
