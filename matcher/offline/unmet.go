package offline

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"earshot/matcher/datetime"
	"earshot/matcher/retrieval"
	"earshot/matcher/text"
	"earshot/matcher/values"
	"earshot/repositories"
	"earshot/repositories/parameters"
)

// unmet says what in a text the tool that its words are nearest to does not meet, though they are
// near: a thing that it does not know, a time that it has no place for, a condition. It is empty
// where all is met. judged is what its words alone say.
func (r reading) unmet(judged judgement, others []reading) string {
	p := judged.nearest[0].Document()
	answers := judged.sure >= settled && p.Moods[text.Question] && (text.Text{Said: r.Said, Words: r.Words}).Mood() == text.Question
	switch {
	case (text.Text{Said: r.Said, Words: r.Words}).BreaksOff():
		return "the message breaks off"
	case r.bare(p):
		return "the message names a thing, and not what is to be done"
	case r.vague():
		return "the message names nothing that it is to be done to"
	case r.ambiguous(others):
		return "the message has a value that several tools take, and nothing else"
	case !answers && r.foreign(p):
		return "the message speaks of something else than the nearest tool"
	case !answers && r.neighbours(p, others):
		return "the message names a thing that another tool is for"
	case r.overlooked():
		return "the message has a number for which the nearest tool has no value"
	}
	return r.untimely(p)
}

// settled is how sure the words of a question have to be of a tool that answers for it to answer of
// things that it does not know: "what date do I get paid". A wrong answer does less than a wrong act.
const settled = 0.85

// untimely says why a text does not ask for the tool now.
func (r reading) untimely(p *retrieval.Document) string {
	mood := (text.Text{Said: r.Said, Words: r.Words}).Mood()
	if p.Moods[text.Question] && slices.ContainsFunc(partsOf(r.Said), asks) {
		return ""
	}
	if i := (text.Text{Said: r.Said, Words: r.Words}).Condition(); i >= 0 && !r.quotes(i, i+2) && !r.sampled(func(said string, words []text.Word) bool {
		return (text.Text{Said: said, Words: words}).Condition() >= 0
	}) {
		return "the message makes a condition, which nothing waits for"
	}
	if (mood == text.Statement || mood == text.Fragment && !orders(r.Words)) && (text.Text{Words: r.Words}).Tells() && !p.Mends(r.Words) && !r.sampled(func(_ string, words []text.Word) bool { return (text.Text{Words: words}).Tells() }) {
		return "the message tells of the past"
	}
	if r.putOff() && !r.timed() {
		return "the message names a time, and the nearest tool has no place for it"
	}
	return ""
}

// asks reports whether a part of a text asks for knowledge.
func asks(part string) bool {
	return (text.Text{Said: part, Words: text.Split(part)}).Mood() == text.Question
}

// bare reports whether a text is a single word, which is no example, and the tool does something that a
// word does not ask for.
func (r reading) bare(p *retrieval.Document) bool {
	return len(r.Words) == 1 && len(r.Values) == 0 && !p.Moods[text.Question] && isThing(r.Words[0]) &&
		!r.sampled(func(_ string, words []text.Word) bool { return len(words) == 1 && words[0].Stem == r.Words[0].Stem })
}

// vague reports whether a text has only words that say nothing of what is to be done to what:
// "turn on", "stop", "cancel everything". One of the tool's own examples is not vague.
func (r reading) vague() bool {
	mood := (text.Text{Said: r.Said, Words: r.Words}).Mood()
	wished := mood == text.Wish && slices.ContainsFunc(r.Words, func(w text.Word) bool {
		return w.Is(text.Persons) && !w.Is(text.Articles, text.Pronouns)
	})
	if len(r.Values) > 0 || len(things(r.Tool)) == 0 || mood == text.Question || wished {
		return false
	}
	if slices.ContainsFunc(r.Words, func(w text.Word) bool {
		return isThing(w) || isNumber(w) || !isContent(w) && !isGrammar(w) && !w.Is(text.LightVerbs)
	}) {
		return false
	}
	own := contentOf(r.Words)
	return !r.sampled(func(_ string, words []text.Word) bool {
		return !slices.ContainsFunc(words, isThing) && slices.EqualFunc(contentOf(words), own, func(a, b text.Word) bool { return a.Stem == b.Stem })
	})
}

// ambiguous reports whether a text is nothing but values that other tools take as well.
func (r reading) ambiguous(others []reading) bool {
	for i, w := range r.Words {
		if !r.Taken[i] && !r.brings(i) && (!isGrammar(w) || w.Is(text.QuestionWords, text.RequestWords, text.Persons) && !w.Is(text.Articles)) {
			return false
		}
	}
	return len(r.Values) > 0 && slices.ContainsFunc(others, func(other reading) bool {
		return maps.EqualFunc(values.Of(r.Text, other.Tool).Values, r.Values, func(a, b any) bool { return reflect.DeepEqual(a, b) })
	})
}

// foreign reports whether a text names things, and none that the tool knows or that is a value.
func (r reading) foreign(p *retrieval.Document) bool {
	named := r.things()
	return len(named) > 0 && len(r.Values) == 0 && len(things(r.Tool)) > 0 && !slices.ContainsFunc(named, func(w text.Word) bool { return p.Knows(w.Stem) })
}

// things are the words of a text that name things and that no value has taken.
func (r reading) things() []text.Word {
	var named []text.Word
	for i, w := range r.Words {
		if !r.Taken[i] && isThing(w) {
			named = append(named, w)
		}
	}
	return named
}

// neighbours reports whether a text names more of what another tool is for, in a word that the
// nearest one does not know.
func (r reading) neighbours(p *retrieval.Document, others []reading) bool {
	named := map[string]bool{}
	for _, w := range r.things() {
		named[w.Stem] = true
	}
	own := shares(things(r.Tool), named)
	for _, other := range others {
		theirs := things(other.Tool)
		if shares(theirs, named) <= own {
			continue
		}
		for stem := range theirs {
			if named[stem] && !p.Known[stem] {
				return true
			}
		}
	}
	return false
}

// overlooked reports whether a text has a number that the tool, which takes no values, has no
// place for.
func (r reading) overlooked() bool {
	if r.uncounted() {
		return true
	}
	if asks(r.Said) {
		return false
	}
	if len(values.KindsOf(r.Tool).All) > 0 || !slices.ContainsFunc(r.Words, isNumber) || r.timed() && r.onlyTimes() {
		return false
	}
	return !r.sampled(func(_ string, words []text.Word) bool { return slices.ContainsFunc(words, isNumber) })
}

// onlyTimes reports whether all numbers of a text are of days and times.
func (r reading) onlyTimes() bool {
	timed := make([]bool, len(r.Words))
	for _, m := range moments(r.Text) {
		for i := m.First; i < m.End; i++ {
			timed[i] = true
		}
	}
	for i, w := range r.Words {
		if isNumber(w) && !timed[i] {
			return false
		}
	}
	return true
}

// uncounted reports whether a text has a number that no value has taken, where the tool would take
// another one by default: "three beers" are not the one that is meant without a word.
func (r reading) uncounted() bool {
	loose := false
	for i, w := range r.Words {
		loose = loose || !r.Taken[i] && isNumber(w)
	}
	return loose && slices.ContainsFunc(r.Tool.Params().List(), func(p parameters.Parameter) bool {
		return !p.Hidden && p.Default != nil && r.Values[p.Name] == nil && (p.Type == "integer" || p.Type == "number" || p.Type == "float")
	})
}

// putOff reports whether a text names a time to come that is in none of the values.
func (r reading) putOff() bool {
	if (text.Text{Words: r.Words}).Ahead() && !r.quotesAny(func(words []text.Word) bool { return text.Text{Words: words}.Ahead() }) {
		return true
	}
	today := r.Now.Format("2006-01-02")
	for _, m := range moments(r.Text) {
		if !m.Doubtful && (m.Exact > today || m.Exact == "" || m.Exact == today && !r.near(m)) && !r.quotes(m.First, m.End) {
			return true
		}
	}
	return false
}

// near reports whether a day is named by how near it is. Who means today says so: "on Monday"
// is another Monday, or is said by somebody who does not mean now.
func (r reading) near(m datetime.Reading) bool {
	return text.AnyIs(r.Words[m.First:m.End], text.NearDays)
}

// timed reports whether the tool has a place for a time, or its examples name times.
func (r reading) timed() bool {
	if values.KindsOf(r.Tool).Timed {
		return true
	}
	return r.sampled(func(said string, words []text.Word) bool {
		return slices.ContainsFunc(moments(datetime.NewText(said, r.Now)), func(m datetime.Reading) bool { return !m.Doubtful }) || (text.Text{Words: words}).Ahead()
	})
}

// quotes reports whether one of the values has the words from first to before end.
func (r reading) quotes(first, end int) bool {
	part := text.Key(text.Text{Said: r.Said, Words: r.Words}.Surface(first, min(end, len(r.Words))))
	for _, value := range r.Values {
		if said, is := value.(string); is && strings.Contains(text.Key(said), part) {
			return true
		}
	}
	return false
}

// quotesAny reports whether one of the values is such a text.
func (r reading) quotesAny(is func([]text.Word) bool) bool {
	for _, value := range r.Values {
		if said, ok := value.(string); ok && is(text.Split(said)) {
			return true
		}
	}
	return false
}

// maxSampled bounds how many of a tool's examples are read for one message.
const maxSampled = 20

// sampled reports whether the tool's description or one of its examples is such a text.
func (r reading) sampled(is func(string, []text.Word) bool) bool {
	return slices.ContainsFunc(samplesOf(r.Tool), func(s sample) bool { return is(s.said, s.words) })
}

// sample is what somebody wrote of a tool.
type sample struct {
	said  string
	words []text.Word
}

type sampleForm struct{}

// samplesOf is worked out once in the life of the tool.
func samplesOf(tool *repositories.Tool) []sample {
	return tool.Params().Derived(sampleForm{}, func() any {
		samples := []sample{{tool.Description, text.Split(tool.Description)}}
		spoken := tool.Spoken()
		for _, example := range spoken[:min(len(spoken), maxSampled)] {
			samples = append(samples, sample{example, text.Split(example)})
		}
		return samples
	}).([]sample)
}
