package offline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"earshot/matcher"
	"earshot/matcher/offline/confidence"
	"earshot/matcher/text"
	"earshot/matcher/values"
	"earshot/repositories/parameters"
)

// howFar is how many messages back of the user a call is still what "it" and "no" speak of.
const howFar = 3

// last is the call that was made last, as far as its tool is still in scope.
func (h *hearing) last() (wish, bool) {
	seen := 0
	for _, past := range slices.Backward(h.request.History) {
		if past.Actor == matcher.ActorAgent {
			continue
		}
		if seen++; seen > howFar {
			break
		}
		if n := len(past.Fired); n > 0 {
			c, found := h.request.Named(past.Fired[n-1].Name)
			return wish{c, past.Fired[n-1].Values, past.Text}, found
		}
	}
	return wish{}, false
}

// changes finds the call that was made before with another value: "no, the bathroom", "and in
// the office", "make it five instead".
func (h *hearing) changes(last wish, said text.Correction) (wish, bool) {
	rest := said.After
	if rest == "" {
		return wish{}, false
	}
	added := isAddition(rest)
	if !said.Marked && !added {
		return wish{}, false
	}
	rest = withoutAddition(rest)
	r := h.read(rest, last.Candidate)
	if (text.Text{Said: r.Said, Words: r.Words}).BreaksOff() {
		return wish{}, false
	}
	if !r.whole() || len(r.Values) == 0 {
		value, name, ok := h.freely(last, rest, said)
		if !ok {
			return wish{}, false
		}
		r.Values = map[string]any{name: value}
	}
	whole := known(last)
	maps.Copy(whole, r.Values)
	if fmt.Sprint(whole) == fmt.Sprint(known(last)) {
		return wish{}, false
	}
	return wish{last.Candidate, whole, rest}, true
}

// otherwise marks a text as a correction that says "no" to the call before without a pause, and names its
// thing again: "no tank B", after "fill tank A". "No sugar" denies what it names.
func otherwise(last wish, said text.Correction) text.Correction {
	words, before := text.Split(said.After), text.Split(last.said)
	if said.Marked || len(words) < 3 || !words[0].Is(text.Refusals) {
		return said
	}
	if isThing(words[1]) && slices.ContainsFunc(before, func(w text.Word) bool { return w.Stem == words[1].Stem }) {
		said.After, said.Marked = said.After[words[1].Start:], true
	}
	return said
}

// known are the values of a call that its tool's parameters still have and that somebody said.
func known(one wish) map[string]any {
	had := map[string]any{}
	for _, parameter := range one.Tool.Params().List() {
		if value, has := one.values[parameter.Name]; has && !parameter.Hidden {
			had[parameter.Name] = value
		}
	}
	return had
}

// freely reads the value of the one parameter that any words can be the value of: a few words
// that name nothing that another tool is named for.
func (h *hearing) freely(last wish, rest string, said text.Correction) (value, name string, ok bool) {
	words := text.Split(rest)
	first := 0
	for first < len(words) && (words[first].Is(text.StopWords) && !words[first].Is(text.Articles) || words[first].Is(text.Hesitations)) {
		first++
	}
	end := len(words)
	for end > first && (words[end-1].Is(text.PoliteWords, text.AdditionPhrases)) {
		end--
	}
	if len(moments(h.text(rest))) > 0 {
		return "", "", false
	}
	if slices.ContainsFunc(words, func(w text.Word) bool {
		return w.Is(text.TimeUnits) || w.StemIs(text.UnitNames) || w.Is(text.Currencies)
	}) {
		return "", "", false
	}
	name = oneFreeText(last)
	if name == "" || first == end || end-first > maxAnswerWords || last.values[name] == nil {
		return "", "", false
	}
	if (text.Text{Said: rest, Words: words}).Mood() != text.Fragment || !slices.ContainsFunc(words[first:end], text.Word.IsSubject) || h.namesATool(words, last) {
		return "", "", false
	}
	return (text.Text{Said: rest, Words: words}).Surface(first, end), name, true
}

// namesATool reports whether a text speaks of what another tool is for.
func (h *hearing) namesATool(words []text.Word, last wish) bool {
	if slices.ContainsFunc(words, func(w text.Word) bool { return w.Is(text.ActionVerbs) && !isGrammar(w) }) {
		return true
	}
	for _, near := range h.scope.Nearest(words, confidence.Compared) {
		c := h.request.Candidates[near.Place]
		if c.Tool.Name != last.Tool.Name && slices.ContainsFunc(words, func(w text.Word) bool { return isThing(w) && near.Document().Title[w.Stem] }) {
			return true
		}
	}
	return false
}

// oneFreeText is the name of the only parameter of a call that takes any text.
func oneFreeText(one wish) string {
	if free := values.KindsOf(one.Tool).Free; len(free) == 1 {
		return free[0]
	}
	return ""
}

// turns finds the call that does something else to the thing of the one before: "turn it off
// again", "and close it".
func (h *hearing) turns(last wish, said string) (wish, bool) {
	words := text.Split(said)
	if !refersBack(words) || (text.Text{Said: said, Words: words}).Mood() == text.Question || (text.Text{Said: said, Words: words}).Mood() == text.Statement || (text.Text{Said: said, Words: words}).Condition() >= 0 || (text.Text{Words: words}).Ahead() {
		return wish{}, false
	}
	content := contentOf(words)
	for _, w := range words {
		if isNumber(w) {
			return wish{}, false
		}
	}
	if len(content) == 0 {
		return wish{}, false
	}
	return h.sibling(last, said, content, func(c matcher.Candidate) bool {
		return shares(things(c.Tool), things(last.Tool)) > 0
	})
}

// others finds the call that does the same to another thing: "and the back door".
func (h *hearing) others(last wish, said string) (wish, bool) {
	words := text.Split(said)
	if m := (text.Text{Said: said, Words: words}).Mood(); m == text.Question && !strings.HasSuffix(strings.TrimSpace(said), "?") || (text.Text{Words: words}).Tells() {
		return wish{}, false
	}
	content := contentOf(words)
	if len(content) == 0 || slices.ContainsFunc(content, func(w text.Word) bool { return !isThing(w) }) {
		return wish{}, false
	}
	does := doing(last.Tool)
	return h.sibling(last, said, content, func(c matcher.Candidate) bool {
		return len(does) > 0 && shares(doing(c.Tool), does) == len(does) && slices.ContainsFunc(content, func(w text.Word) bool { return things(c.Tool)[w.Stem] })
	})
}

// sibling finds the one tool of those that are meant that knows all of what a text says beside
// its values, best by its title.
func (h *hearing) sibling(last wish, said string, content []text.Word, meant func(matcher.Candidate) bool) (wish, bool) {
	around := slices.Concat(content, text.Split(text.Identifier(last.Tool.Name)))
	var found []reading
	best := 0
	for _, near := range h.scope.Nearest(around, confidence.Compared) {
		c, p := h.request.Candidates[near.Place], near.Document()
		if c.Tool.Name == last.Tool.Name || !meant(c) {
			continue
		}
		r := h.read(said, c)
		titled := 1 + shares(things(c.Tool), things(last.Tool))
		for i, w := range r.Words {
			switch {
			case !isContent(w) || r.Taken[i]:
			case p.Title[w.Stem]:
				titled += 4
			case !p.Known[w.Stem] || contradicts(p, w):
				titled = -100
			}
		}
		if titled > best {
			found, best = nil, titled
		}
		if titled > 0 && titled == best {
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		return wish{}, false
	}
	one := found[0].wish()
	whole := map[string]any{}
	for _, parameter := range one.Tool.Params().List() {
		if value, has := last.values[parameter.Name]; has && !parameter.Hidden && fits(parameter, value) {
			whole[parameter.Name] = value
		}
	}
	maps.Copy(whole, one.values)
	one.values = whole
	return one, true
}

// inherits gives a call that points back to the one before the values that it lacks: "close that
// ticket", "and order a new one". One that says a number says its own: "between 37 and 38" is none
// that can be taken, and the old one was not meant.
func inherits(last, one wish) wish {
	words := text.Split(one.said)
	back := text.AnyIs(words, text.Pronouns)
	if !back || slices.ContainsFunc(words, isNumber) || shares(things(one.Tool), things(last.Tool)) == 0 {
		return one
	}
	for _, parameter := range one.Tool.Params().List() {
		if value, has := last.values[parameter.Name]; has && parameter.Required && one.values[parameter.Name] == nil && !parameter.Hidden && fits(parameter, value) {
			one.values[parameter.Name] = value
		}
	}
	return one
}

// fits reports whether a value of one tool's parameter can be another's of that name.
func fits(parameter parameters.Parameter, value any) bool {
	if len(parameter.Allowed) > 0 {
		return slices.ContainsFunc(parameter.Allowed, func(allowed any) bool { return fmt.Sprint(allowed) == fmt.Sprint(value) })
	}
	return true
}

// contentOf are the words of a text that are neither grammar nor a verb that says nothing by
// itself.
func contentOf(words []text.Word) []text.Word {
	return slices.DeleteFunc(slices.Clone(words), func(w text.Word) bool { return !isContent(w) })
}

func isContent(w text.Word) bool {
	return directions[w.Norm] || !isGrammar(w) && !w.Is(text.LightVerbs)
}

// refersBack reports whether a text speaks of a thing that it does not name: it has a pronoun or
// "again", and no thing.
func refersBack(words []text.Word) bool {
	refers := false
	for i, w := range words {
		if isThing(w) {
			return false
		}
		refers = refers || w.Is(text.Pronouns) && !directions[w.Norm] || text.AgainPhrases.PhraseAt(words, i) > 0
	}
	return refers
}

// isAddition reports whether a text adds to what was said before: "and the office", "the office
// too", "the same in the office".
func isAddition(said string) bool {
	words := text.Split(said)
	if text.AdditionPhrases.PhraseAt(words, 0) > 0 || text.SamePhrases.PhraseAt(words, 0) > 0 {
		return true
	}
	end := len(words)
	for end > 0 && words[end-1].Is(text.PoliteWords) {
		end--
	}
	return text.AdditionPhrases.PhraseBefore(words, end) > 0
}

// withoutAddition is a text without what adds it to what was said before.
func withoutAddition(said string) string {
	words := text.Split(said)
	first, end := 0, len(words)
	for first < end {
		length := max(text.AdditionPhrases.PhraseAt(words, first), text.SamePhrases.PhraseAt(words, first))
		if length == 0 {
			break
		}
		first += length
	}
	for end > first {
		length := text.AdditionPhrases.PhraseBefore(words, end)
		if length == 0 || end-length < first {
			break
		}
		end -= length
	}
	if first == end {
		return said
	}
	return said[words[min(first, len(words)-1)].Start:words[end-1].End]
}
