package offline

import (
	"slices"
	"strings"

	"earshot/matcher"
	"earshot/matcher/datetime"
	"earshot/matcher/text"
	"earshot/matcher/values"
	"earshot/repositories"
	"earshot/repositories/annotations"
	"earshot/repositories/parameters"
	"earshot/repositories/quantity"
)

// An example takes precedence: a message equal to one, except for its marked values, calls for its tool in any mood
// and with any other tool near.

// pattern is an example as words and places of values.
type pattern struct {
	parts []piece
	// own is the number of words outside the marked values.
	own int
	// speaks means that they name a thing or an act. "I need [ibuprofen](medicine)" does not: any wish would match
	// it.
	speaks bool
	asks   bool // it ends with a question mark
}

// piece is a word of a pattern, or the place of a value.
type piece struct {
	word    string
	mark    *annotations.Mark // nil for a word
	marked  []text.Word       // the example's words in the place, and surface is their text
	surface string
	named   bool // the place is of a name, which ends before "tomorrow"
	said    bool // the place is of a sentence, which has a "tomorrow" of its own
	counted bool // the place is of a date, a time or a number
}

// fill is a message's words in the place of a value.
type fill struct {
	*piece
	first, end int // words
}

type patternForm struct{}

// patternsOf returns the patterns of a tool's examples, which the tool caches.
func patternsOf(tool *repositories.Tool) []pattern {
	return tool.Params().Derived(patternForm{}, func() any {
		var found []pattern
		marked, kinds := tool.Marked(), values.KindsOf(tool)
		for _, plain := range tool.Spoken() {
			example := annotations.Example{Text: plain}
			if at := slices.IndexFunc(marked, func(e annotations.Example) bool { return e.Text == plain }); at >= 0 {
				example = marked[at]
			}
			left, p := example.Marks, pattern{asks: strings.HasSuffix(example.Text, "?")}
			for _, w := range withoutEnds(text.Split(example.Text), isPolite, isPolite) {
				for len(left) > 0 && w.Start >= left[0].To {
					left = left[1:]
				}
				last := len(p.parts) - 1
				switch {
				case len(left) == 0 || w.Start < left[0].From:
					p.parts = append(p.parts, piece{word: w.Norm})
					p.own++
					p.speaks = p.speaks || isThing(w) || w.Is(text.ActionVerbs, text.TroubleWords, text.FailingVerbs)
				case last >= 0 && p.parts[last].mark == &left[0]:
					p.parts[last].marked = append(p.parts[last].marked, w)
				default:
					p.parts = append(p.parts, piece{mark: &left[0], marked: []text.Word{w}, surface: example.Words(left[0])})
					if of := &p.parts[last+1]; slices.Contains(kinds.Free, of.mark.Parameter) {
						of.named = slices.Contains(kinds.Named, of.mark.Parameter) && !w.Is(text.ActionVerbs, text.LightVerbs) // "call mum" is none
						of.said = !of.named
					} else {
						numeric, _ := isNumeric(tool, of.mark.Parameter)
						of.counted = numeric || slices.Contains(kinds.Formatted, of.mark.Parameter)
					}
				}
			}
			if len(p.parts) > 0 {
				found = append(found, p)
			}
		}
		return found
	}).([]pattern)
}

// longestFill is how many more words a value may have than the marked one.
const longestFill = 2

// fits matches parts to a text from a word on, with the shortest possible values. The text may tell more of when and how
// at its end. misfits are the numbers of parts that are left, with words from which on they do not fit: without them,
// adjacent places of values would be tried in all combinations.
func fits(t *datetime.Text, parts []piece, at int, fills []fill, misfits map[[2]int]bool) ([]fill, bool) {
	if len(parts) == 0 {
		return fills, at == len(t.Words) || goesOn(t, at, fills)
	}
	first := &parts[0]
	if first.mark == nil {
		if at == len(t.Words) || t.Words[at].Norm != first.word {
			return nil, false
		}
		return fits(t, parts[1:], at+1, fills, misfits)
	}
	if misfits[[2]int{len(parts), at}] {
		return nil, false
	}
	for end := at + 1; end <= min(len(t.Words), at+len(first.marked)+longestFill); end++ {
		last := t.Words[end-1]
		if last.Is(text.Negations, text.QuestionWords) || end > at+1 && t.Pause(end-1) && !strings.ContainsAny(first.surface, ",;:.!?") { // it negates or asks for the adjacent words
			break // and a pause ends it
		}
		if end > at+1 && first.named && (t.Trailing(end-1) > end-1 || !first.holds(t, end-1)) {
			break
		}
		if !first.isMarked(t.Words[at:end]) && (!first.bounds(t, at, end) || first.counted && !first.tellsNumber(t, at, end)) {
			continue
		}
		if found, fit := fits(t, parts[1:], end, append(fills, fill{first, at, end}), misfits); fit {
			return found, true
		}
	}
	misfits[[2]int{len(parts), at}] = true
	return nil, false
}

// bounds reports whether a value may be the words from at to before end, by the first and the last of them: "note that it
// rains" does not mark "that it rains". It begins as the marked one does, or with another article, and "L-thyroxine" with a letter.
func (p piece) bounds(t *datetime.Text, at, end int) bool {
	isEdge := func(w text.Word) bool {
		joined := strings.HasPrefix(t.Said[w.End:], "-") || strings.HasSuffix(t.Said[:w.Start], "-")
		return joined || !w.Is(text.StopWords, text.PoliteWords)
	}
	begins, said := p.marked[0], t.Words[at]
	return isEdge(t.Words[end-1]) && (isEdge(said) || said.Norm == begins.Norm || text.Article(begins) && text.Article(said))
}

// isMarked reports whether words are those that the example has in the place.
func (p piece) isMarked(words []text.Word) bool {
	return slices.EqualFunc(p.marked, words, func(a, b text.Word) bool { return a.Norm == b.Norm })
}

// tellsNumber reports whether each word from first to before end may be of a time or a number in the place: "milk" of "milk
// tomorrow at 6 pm" is not.
func (p piece) tellsNumber(t *datetime.Text, first, end int) bool {
	timed := timedWords(t)
	for i := first; i < end; i++ {
		w := t.Words[i]
		marked := slices.ContainsFunc(p.marked, func(of text.Word) bool { return of.Stem == w.Stem })
		isCount := isNumber(w) || w.Is(text.StopWords, text.CalendarWords, text.TimeUnits, text.DayUnits, text.DayParts, text.Currencies) || w.StemIs(text.UnitNames)
		if !timed[i] && !marked && !isCount {
			return false
		}
	}
	return true
}

// goesOn reports whether the text from word at on only tells when and how what its fills say is to be done.
func goesOn(t *datetime.Text, at int, fills []fill) bool {
	if t.Trailing(at) < len(t.Words) || text.FinalVerb(t.Text, len(t.Words)-1) {
		return false
	}
	if len(fills) == 0 || fills[len(fills)-1].end < at {
		return true
	}
	last := fills[len(fills)-1] // a sentence may have these words itself
	for i := last.first + 1; i < last.end; i++ {
		if !last.holds(t, i) {
			return false
		}
	}
	return !last.said
}

// holds reports whether a name may have the word at i: any but a common one, unless the marked name has it too, or a
// capitalised word follows. Of an alternative it is not known which is meant.
func (p piece) holds(t *datetime.Text, i int) bool {
	w, next := t.Words[i], i
	for t.At(next).Is(text.StopWords) {
		next++
	}
	named := next < len(t.Words) && t.Capital(next) && !w.Is(text.RangeWords)
	return next == i || t.Capital(i) || named || w.Is(text.NameParticles, text.OfWords) || slices.ContainsFunc(p.marked, func(of text.Word) bool { return of.Norm == w.Norm })
}

// withoutPoliteness removes politeness at both ends of a text, but not the half of a phrase: the "now" of "right now".
func withoutPoliteness(t *datetime.Text) []text.Word {
	thanked := false
	leads := func(w text.Word) bool { // "you block my card" tells, after "thank" it does not
		thanked = isPolite(w) && (thanked || !w.Is(text.PolitePersons))
		return thanked
	}
	called := t.Words
	for len(called) > 1 && called[0].Is(text.Fillers) && t.Pause(1+len(t.Words)-len(called)) { // "well, …"
		called = called[1:]
	}
	words := withoutEnds(called, leads, isPolite)
	if n := len(words); n > 0 {
		if first, end := t.Within(words[0].Start, words[n-1].End); text.AsideAt(t.Text, end-1) > end {
			return t.Words[first:]
		}
	}
	return words
}

// byExample finds the tool with a text as an example. Among several, the pattern with the most own words wins; a tie decides
// nothing.
func (p *interpreter) byExample(whole string) (intent, bool) {
	said := datetime.NewText(whole, p.request.Now)
	said.Words = withoutPoliteness(said)
	whether := text.ByMark(whole)
	back := text.TakenBack(whole) != "" || text.Reported(said.Text) || excepting(said.Text)
	var best intent
	most, tied := 0, false
	for _, candidate := range p.exemplary(said.Words) {
		for _, of := range patternsOf(candidate.Tool) {
			if of.own < most || whether && !of.asks || back && of.own < len(of.parts) { // "… to [Anna](to)", and then "just kidding"
				continue
			}
			fills, fit := fits(said, of.parts, 0, nil, map[[2]int]bool{})
			if !fit {
				continue
			}
			if one, ok := p.filled(candidate, of, fills, said); ok {
				tied = of.own == most && best.Tool != candidate.Tool
				best, most = one, of.own
			}
		}
	}
	return best, most > 0 && !tied
}

// excepting reports whether a text excepts something, so that a value is not what its place says: "everyone but Maria".
func excepting(t text.Text) bool {
	for i := range t.Words {
		if text.ExceptionAt(t, i) > 0 || t.Words[i].Is(text.NobodyWords) {
			return true
		}
	}
	return false
}

// filled returns the call of a message that fits a pattern. Free texts are masked in the rest, so that no number in
// them becomes another value.
func (p *interpreter) filled(candidate matcher.Candidate, of pattern, fills []fill, t *datetime.Text) (intent, bool) {
	kinds := values.KindsOf(candidate.Tool)
	free := func(name string) bool { return slices.Contains(kinds.Free, name) }
	masked, from := "", 0
	given := map[string]any{}
	for _, f := range fills {
		if f.named {
			f.end -= chosenAt(candidate.Tool, t.Text, f.first, f.end)
		}
		name, words := f.mark.Parameter, t.Words[f.first:f.end]
		same := f.isMarked(words) && !t.Signed(f.first)
		formatted := slices.Contains(kinds.Formatted, name)
		switch {
		case formatted && same: // the example's own words may be the value itself: "10:00"
			_, faults := candidate.Tool.Params().Check(map[string]any{name: f.mark.Value})
			if !slices.ContainsFunc(faults, func(of parameters.ValueFault) bool { return of.Parameter == name }) {
				given[name] = f.mark.Value
			}
		case formatted: // parsed by format
		case same: // the message has the example's own words
			given[name] = f.mark.Value
		case !of.speaks && !of.tells(candidate.Tool, f, t.Surface(f.first, f.end)):
			return intent{}, false
		case counts(candidate.Tool, name) && !t.Signed(f.first):
			if number, ok := quantity.Number(t.Surface(f.first, f.end)); ok { // a faulty one is rejected
				given[name] = number
			}
		case free(name):
			value, why, ok := candidate.Tool.Params().Said(name, t.Surface(f.first, f.end))
			if !ok || why != "" || refersBack(words) || !f.holdsNumber(t.Surface(f.first, f.end)) {
				return intent{}, false
			}
			given[name] = value
			if count, number, thing := values.CountAt(t, candidate.Tool, f.first, f.end); f.named && thing > f.first {
				given[count], given[name] = number, t.Surface(thing, f.end)
			}
			masked += t.Said[from:words[0].Start] + f.surface
			from = words[len(words)-1].End
		}
	}
	read := p.read(masked+t.Said[from:], candidate).Values
	for _, f := range fills {
		if given[f.mark.Parameter] == nil && read[f.mark.Parameter] == nil {
			return intent{}, false
		}
	}
	for name, value := range given {
		if _, ok := read[name]; !ok || free(name) {
			read[name] = value
		}
	}
	whole := p.read(t.Said, candidate)
	if whole.Values = read; whole.later() != "" {
		return intent{}, false
	}
	return intent{candidate, read, t.Said}, true
}

// holdsNumber reports whether a text is no bare number, or the marked one is a number, too: "four" is no thing to order.
func (f fill) holdsNumber(said string) bool {
	_, is := quantity.Number(said)
	_, marked := quantity.Number(f.surface)
	return !is || marked
}

// tells reports whether a pattern that names no thing and no act calls for the tool with other words in a place: a code like the
// marked one, or a listed value. With several values, some more words suffice: "how much is it from [A](from) to [B](to)".
func (of pattern) tells(tool *repositories.Tool, f fill, said string) bool {
	const pair, some = 2, 4
	if values.SameShape(f.surface, said) || len(of.parts)-of.own >= pair && of.own >= some {
		return true
	}
	return slices.ContainsFunc(tool.Params().List(), func(p parameters.Parameter) bool {
		return p.Name == f.mark.Parameter && p.Type == "string" && slices.Contains(p.Allowed, f.mark.Value)
	})
}

// chosenAt returns how many words at the end of a name are an allowed value of another parameter: "jdoe admin".
func chosenAt(tool *repositories.Tool, t text.Text, first, end int) int {
	for n := end - first - 1; n > 0; n-- {
		said := text.Key(t.Surface(end-n, end))
		for _, parameter := range tool.Params().List() {
			allowed := slices.ContainsFunc(parameter.Allowed, func(value any) bool { of, ok := value.(string); return ok && text.Key(of) == said })
			if allowed || slices.ContainsFunc(parameter.Aliases, func(one parameters.Alias) bool { return text.Key(one.Words) == said }) {
				return n
			}
		}
	}
	return 0
}

// isNumeric reports whether a parameter is a number of any value, and whether that has a unit.
func isNumeric(tool *repositories.Tool, name string) (numeric, hasUnit bool) {
	for _, p := range tool.Params().List() {
		if p.Name == name {
			return len(p.Allowed) == 0 && p.Numeric(), p.Unit != nil
		}
	}
	return false, false
}

// counts reports whether a parameter is a number without a unit, which the words in its place must name.
func counts(tool *repositories.Tool, name string) bool {
	numeric, hasUnit := isNumeric(tool, name)
	return numeric && !hasUnit
}

// beginnings index the shared tools by the first words of their examples.
type beginnings map[string][]int32

// mostBegins is how many words of an example, before its first value, are indexed.
const mostBegins = 3

func beginningsOf(tools []matcher.Candidate) beginnings {
	b := beginnings{}
	for i, candidate := range tools {
		for _, p := range patternsOf(candidate.Tool) {
			var words []string
			for _, one := range p.parts {
				if one.mark != nil || len(words) == mostBegins {
					break
				}
				words = append(words, one.word)
			}
			key := strings.Join(words, " ")
			if listed := b[key]; len(listed) == 0 || listed[len(listed)-1] != int32(i) {
				b[key] = append(listed, int32(i))
			}
		}
	}
	return b
}

// exemplary lists the candidates with an example that begins like the message: shared ones by the index, and all of
// a session's own, which are few.
func (p *interpreter) exemplary(words []text.Word) []matcher.Candidate {
	shared := p.request.Shared
	if shared == nil {
		return p.request.Candidates
	}
	found := slices.Clone(p.request.Own)
	begun, key := matcher.Kept(shared, beginningsOf), ""
	for n := 0; n <= min(mostBegins, len(words)); n++ {
		if n > 0 {
			key = strings.TrimPrefix(key+" "+words[n-1].Norm, " ")
		}
		for _, tool := range begun[key] {
			if place, in := p.request.InScope(shared.Tools[tool]); in {
				found = append(found, p.request.Candidates[place])
			}
		}
	}
	return found
}
