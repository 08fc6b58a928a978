package offline

import (
	"slices"
	"strings"

	"earshot/matcher"
	"earshot/matcher/text"
	"earshot/matcher/values"
	"earshot/repositories"
	"earshot/repositories/annotations"
)

// An example is law: a message that is one, up to the words that are marked in it, calls for its
// tool, whatever mood it is in and whatever else is near.

// pattern is an example as words, and the places of its values.
type pattern struct {
	parts []piece
	// own is how many of the words are the example's own.
	own int
	// speaks says that they name a thing or an act. "I need [ibuprofen](medicine)" does not: any
	// wish would be like it.
	speaks bool
}

// piece is a word of a pattern, or the place of a value.
type piece struct {
	word string
	mark *annotations.Mark // nil of a word
	// marked are the words that stand in its place in the example, and surface is their text.
	marked  []text.Word
	surface string
}

// fill is what a message has in the place of a value.
type fill struct {
	*piece
	first, end int // words
}

type patternForm struct{}

// patternsOf is worked out once in the life of the tool.
func patternsOf(tool *repositories.Tool) []pattern {
	return tool.Params().Derived(patternForm{}, func() any {
		var found []pattern
		marked := tool.Marked()
		for _, plain := range tool.Spoken() {
			example := annotations.Example{Text: plain}
			if at := slices.IndexFunc(marked, func(e annotations.Example) bool { return e.Text == plain }); at >= 0 {
				example = marked[at]
			}
			if p := patternOf(example); len(p.parts) > 0 {
				found = append(found, p)
			}
		}
		return found
	}).([]pattern)
}

func patternOf(example annotations.Example) (p pattern) {
	left := example.Marks
	for _, w := range plainly(text.Split(example.Text)) {
		for len(left) > 0 && w.Start >= left[0].To {
			left = left[1:]
		}
		if len(left) == 0 || w.Start < left[0].From {
			p.parts = append(p.parts, piece{word: w.Norm})
			p.own++
			p.speaks = p.speaks || isThing(w) || w.Is(text.ActionVerbs)
			continue
		}
		if last := len(p.parts) - 1; last >= 0 && p.parts[last].mark == &left[0] {
			p.parts[last].marked = append(p.parts[last].marked, w)
			continue
		}
		p.parts = append(p.parts, piece{mark: &left[0], marked: []text.Word{w}, surface: example.Words(left[0])})
	}
	return p
}

// plainly are the words without politeness before and after them.
func plainly(words []text.Word) []text.Word {
	for len(words) > 0 && words[0].Is(text.PoliteWords) {
		words = words[1:]
	}
	for len(words) > 0 && words[len(words)-1].Is(text.PoliteWords) {
		words = words[:len(words)-1]
	}
	return words
}

// longestFill is how many words a value may have beyond those that were marked.
const longestFill = 2

// utterance is a text and its words.
type utterance struct {
	said  string
	words []text.Word
}

// fits finds what stands in the places of parts from a word on, the shortest that will do.
func (u utterance) fits(parts []piece, at int, fills []fill) ([]fill, bool) {
	words := u.words
	if len(parts) == 0 {
		return fills, at == len(words)
	}
	first := &parts[0]
	if first.mark == nil {
		if at == len(words) || words[at].Norm != first.word {
			return nil, false
		}
		return u.fits(parts[1:], at+1, fills)
	}
	for end := at + 1; end <= min(len(words), at+len(first.marked)+longestFill); end++ {
		if denies(words[end-1]) {
			break
		}
		if !u.bounds(at) || !u.bounds(end-1) {
			continue
		}
		if found, fit := u.fits(parts[1:], end, append(fills, fill{first, at, end})); fit {
			return found, true
		}
	}
	return nil, false
}

// denies reports whether a word takes back or asks for what it stands beside.
func denies(w text.Word) bool { return w.Is(text.Negations, text.QuestionWords) }

// bounds reports whether a value may begin or end with a word: "note that it rains" has not "that it
// rains", but "L-thyroxine" has its first letter, though that is a word of French.
func (u utterance) bounds(at int) bool {
	w := u.words[at]
	joined := strings.HasPrefix(u.said[w.End:], "-") || strings.HasSuffix(u.said[:w.Start], "-")
	return joined || !w.Is(text.StopWords, text.PoliteWords)
}

// same reports whether the message says the example's own words in the place.
func (f fill) same(words []text.Word) bool {
	return slices.EqualFunc(f.marked, words[f.first:f.end], func(a, b text.Word) bool { return a.Norm == b.Norm })
}

// byExample finds the tool of which the message is an example. Of several that fit, that one holds
// of which the message says the most words; tools with the same words hold nothing.
func (h *hearing) byExample() (wish, bool) {
	u := utterance{h.request.Text, plainly(text.Split(h.request.Text))}
	var best wish
	most, several := 0, false
	for _, candidate := range h.exemplary(u.words) {
		for _, p := range patternsOf(candidate.Tool) {
			if p.own < most {
				continue
			}
			fills, fit := u.fits(p.parts, 0, nil)
			if !fit {
				continue
			}
			one, ok := h.filled(candidate, p, fills, u)
			if !ok {
				continue
			}
			several = p.own == most && best.Tool != candidate.Tool
			best, most = one, p.own
		}
	}
	return best, most > 0 && !several
}

// filled is the call of a message that fits a pattern. Its free texts are all that stands in their
// places, so that no number in them is the value of something else.
func (h *hearing) filled(candidate matcher.Candidate, p pattern, fills []fill, u utterance) (wish, bool) {
	said, words, kinds := u.said, u.words, values.KindsOf(candidate.Tool)
	free := kinds.Free
	masked, from := "", 0
	given := map[string]any{}
	for _, f := range fills {
		first, last := words[f.first].Start, words[f.end-1].End
		switch {
		case slices.Contains(kinds.Formatted, f.mark.Parameter): // it is read
		case f.same(words):
			given[f.mark.Parameter] = f.mark.Value
		case !p.speaks:
			return wish{}, false
		case slices.Contains(free, f.mark.Parameter):
			value, why, is := candidate.Tool.Params().Said(f.mark.Parameter, (text.Text{Said: said, Words: words}).Surface(f.first, f.end))
			if !is || why != "" || refersBack(words[f.first:f.end]) {
				return wish{}, false
			}
			given[f.mark.Parameter] = value
			masked, from = masked+said[from:first]+f.surface, last
		}
	}
	masked += said[from:]
	read := h.read(masked, candidate).Values
	for _, f := range fills {
		if given[f.mark.Parameter] == nil && read[f.mark.Parameter] == nil {
			return wish{}, false
		}
	}
	for name, value := range given {
		if _, is := read[name]; !is || slices.Contains(free, name) {
			read[name] = value
		}
	}
	return wish{candidate, read, said}, true
}

// beginnings are the shared tools by the first words of their examples.
type beginnings map[string][]int32

// mostBegins is how many words of an example, before its first value, are looked up.
const mostBegins = 3

// begins are the first own words of a pattern.
func (p pattern) begins() string {
	var words []string
	for _, one := range p.parts {
		if one.mark != nil || len(words) == mostBegins {
			break
		}
		words = append(words, one.word)
	}
	return strings.Join(words, " ")
}

func beginningsOf(tools []matcher.Candidate) beginnings {
	b := beginnings{}
	for i, candidate := range tools {
		for _, p := range patternsOf(candidate.Tool) {
			key := p.begins()
			if listed := b[key]; len(listed) == 0 || listed[len(listed)-1] != int32(i) {
				b[key] = append(listed, int32(i))
			}
		}
	}
	return b
}

// exemplary lists the candidates with an example that begins as the message does. Those that are
// shared are looked up; a session's own are few.
func (h *hearing) exemplary(words []text.Word) []matcher.Candidate {
	shared := h.request.Shared
	if shared == nil {
		return h.request.Candidates
	}
	found := slices.Clone(h.request.Own)
	begun, key := matcher.Kept(shared, beginningsOf), ""
	for n := 0; n <= min(mostBegins, len(words)); n++ {
		if n > 0 {
			key = strings.TrimPrefix(key+" "+words[n-1].Norm, " ")
		}
		for _, tool := range begun[key] {
			if place, in := h.request.InScope(shared.Tools[tool]); in {
				found = append(found, h.request.Candidates[place])
			}
		}
	}
	return found
}
