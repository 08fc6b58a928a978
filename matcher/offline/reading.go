package offline

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"earshot/matcher"
	"earshot/matcher/datetime"
	"earshot/matcher/retrieval"
	"earshot/matcher/text"
	"earshot/matcher/values"
	"earshot/repositories"
	"earshot/repositories/parameters"
	"earshot/repositories/quantity"
)

// intent is a call that a text asks for.
type intent struct {
	matcher.Candidate
	values map[string]any
	said   string // the words that ask for it
}

// reading is a text read for a tool.
type reading struct {
	matcher.Candidate
	values.Reading
}

func (r reading) intent() intent { return intent{r.Candidate, r.Values, r.Said} }

// whole reports whether the text has only values of the tool, beside grammar, politeness and the tool's own words.
func (r reading) whole() bool { return r.only(r.speaks) }

// nearly reports whether the text has little beside values: what a whole one may have, words of the tool's examples, light
// verbs, and who somebody is to the speaker. A wish for a time may have one more: "we'd like to eat at 8 pm". It must not
// tell something of the value.
func (r reading) nearly() bool {
	own, spare := wordsOf(r.Tool), 0
	timed := func(name string) bool { return slices.Contains(values.KindsOf(r.Tool).Formatted, name) }
	if r.Mood() == text.Wish && !slices.ContainsFunc(slices.Collect(maps.Keys(r.Values)), func(name string) bool { return !timed(name) }) {
		spare = 1
	}
	return !r.judges() && r.only(func(w text.Word) bool {
		known := r.speaks(w) || own.examples[w.Stem] || w.Is(text.KinWords, text.LightVerbs)
		if !known && isThing(w) {
			spare--
			known = spare >= 0
		}
		return known
	})
}

// speaks reports whether a word is one of the tool's own.
func (r reading) speaks(w text.Word) bool {
	own := wordsOf(r.Tool)
	return own.parameters[w.Stem] || w.IsSubject() && (own.name[w.Stem] || own.description[w.Stem] && !w.Is(text.ActionVerbs))
}

// only reports whether the text has only values, grammar and words for which own is true, tells nothing and names no other time.
func (r reading) only(own func(text.Word) bool) bool {
	for i, w := range r.Words {
		if !r.Taken[i] && !isGrammar(w) && !w.Is(text.AnsweringVerbs, text.CourtesyWords) && !own(w) && !r.brings(i) && !r.labels(i) && !(w.Is(text.ReturnWords) && r.holdsReturn()) {
			return false
		}
	}
	return !r.Tells() && !r.putOff()
}

// judges reports whether the text tells something of its values. That "we are 4" says how many people there are.
func (r reading) judges() bool {
	if r.returns() {
		return true
	}
	people := slices.ContainsFunc(r.Tool.Params().List(), func(p parameters.Parameter) bool {
		return (r.Values[p.Name] != nil || r.Unusable[p.Name] != "") && text.AnyIs(text.Split(text.Identifier(p.Name)+" "+p.Description), text.PeopleWords, text.GroupNames)
	})
	return text.Judges(r.Text.Text, func(i int) bool { return r.Taken[i] }, func(i int) bool {
		return r.speaks(r.Words[i]) || people && r.Words[i].Is(text.OwnGroup)
	})
}

// labelled reports whether a thing outside the values tells of which parameter they are: "pump 3".
func (r reading) labelled() bool {
	for i, w := range r.Words {
		if !r.Taken[i] && isThing(w) && !r.labels(i) {
			return true
		}
	}
	return false
}

// labels reports whether the word at i only says that a value is beside it, or counts it: "number 4711", "quatre personnes".
func (r reading) labels(i int) bool {
	w, before, after := r.Words[i], i > 0 && r.Taken[i-1], i+1 < len(r.Words) && r.Taken[i+1]
	return after && w.Is(text.LabelWords) || before && isNumber(r.At(i-1)) && w.Is(text.PeopleWords)
}

// returns reports whether the text tells of a way back, and none of its values is of one: "I come back on Sunday".
func (r reading) returns() bool {
	return text.ComesBack(r.Text.Text) && !r.holdsReturn()
}

// holdsReturn reports whether one of the values is of a way back.
func (r reading) holdsReturn() bool {
	for name := range r.Values {
		if text.AnyIs(text.Split(text.Identifier(name)), text.EndNames, text.ReturnWords) {
			return true
		}
	}
	return false
}

// brings reports whether the word at i is the preposition of a value, as in "on Monday", and not a direction, as in
// "switch on".
func (r reading) brings(i int) bool {
	if w := r.Words[i]; !w.Is(text.Opposites) || !w.Is(text.StopWords) {
		return false
	}
	next := i + 1
	if r.At(next).Is(text.StopWords) && !r.Taken[next] {
		next++
	}
	return next < len(r.Words) && r.Taken[next]
}

// dropOwn removes a value that consists of the tool's own words: "create a calendar entry" has no title.
func (r reading) dropOwn() {
	own := wordsOf(r.Tool)
	for _, name := range values.KindsOf(r.Tool).Free {
		value, _ := r.Values[name].(string)
		foreign := false
		said := text.Subjects(value)
		for stem := range said {
			foreign = foreign || !own.name[stem] && !own.description[stem]
		}
		if len(said) > 0 && !foreign {
			delete(r.Values, name)
		}
	}
}

// joined reports whether the text joins values by "and": "the kitchen and the office".
func (r reading) joined(said []values.Mention) bool {
	for i := 1; i < len(said); i++ {
		first, end := said[i-1].End, said[i].First
		and := i+1 < len(said) // others than the last are separated by commas
		for _, w := range r.Words[first:end] {
			switch {
			case w.Is(text.JoiningPhrases, text.AdditionPhrases):
				and = true
			case !w.Is(text.StopWords, text.Articles, text.SuitingWords) || isDirection(w):
				return false
			}
		}
		if !and || end-first > 4 {
			return false
		}
	}
	return true
}

// settled is the required probability for a question with unknown things, of a tool that answers: "what date do I
// get paid". A wrong answer does less harm than a wrong act.
const settled = 0.85

// unmet returns what the nearest tool does not meet in the text: an unknown thing, a time without a parameter, a
// condition. It is empty if all is met. judged is the comparison's result, rivals are the other near tools.
func (r reading) unmet(judged judgement, rivals []*repositories.Tool) string {
	p, mood := judged.nearest[0].Document(), r.Mood()
	answers := judged.sure >= settled && p.Moods[text.Question] && mood == text.Question
	none := len(r.Values) == 0
	var named []text.Word // things outside the values
	for i, w := range r.Words {
		if !r.Taken[i] && isThing(w) {
			named = append(named, w)
		}
	}
	single := func(t text.Text) bool { return len(t.Words) == 1 && t.Words[0].Stem == r.Words[0].Stem }
	switch {
	case r.excepts():
		return "the message excepts what would be a value"
	case r.breaksOff():
		return "the message breaks off"
	case len(r.Words) == 1 && none && !p.Moods[text.Question] && isThing(r.Words[0]) && !r.sampled(single):
		return "the message names a thing, and not what is to be done"
	case (mood == text.Fragment || mood == text.Wish && politeAlone(r.Text.Text)) && !p.Moods[text.Question] && r.actless(p):
		return "the message names what the nearest tool is about, and not what is to be done"
	case !none && r.address() && !r.sampled(func(t text.Text) bool { return !strings.Contains(t.Said, " ") }):
		return "the message names an address, and not what is to be done"
	case none && len(r.Tool.Params().Read(map[string]any{}).Missing) > 0 && r.denies() && !r.sampled(func(t text.Text) bool { return text.AnyIs(t.Words, text.Negations) }):
		return "the message denies what the nearest tool needs"
	case none && !p.Moods[text.Question] && text.AsksAbility(r.Text.Text) && (text.Impersonal(r.Text.Text) || len(values.KindsOf(r.Tool).All) > 0) && !r.sampled(text.AsksAbility):
		return "the message asks whether it can be done, and does not say with what"
	case none && len(named) == 0 && text.Declines(r.Words) && p.Undoes != "" && !p.Attended && !r.sampled(func(t text.Text) bool { return text.Declines(t.Words) }):
		return "the message says that somebody does not come, and the nearest tool is about something else"
	case none && mood == text.Question && r.asksBare():
		return "the message asks or tells, and does not call for the nearest tool as its examples do"
	case none && r.objectless(p, mood):
		return "the message names nothing that it is to be done to"
	case !none && r.onlyValues() && slices.ContainsFunc(rivals, func(rival *repositories.Tool) bool {
		return maps.EqualFunc(values.Of(r.Text, rival).Values, r.Values, func(a, b any) bool { return reflect.DeepEqual(a, b) })
	}):
		return "the message has a value that several tools take, and nothing else"
	case !answers && none && len(named) > 0 && len(wordsOf(r.Tool).things) > 0 && !slices.ContainsFunc(named, func(w text.Word) bool { return p.Knows(w.Stem) }):
		return "the message speaks of something else than the nearest tool"
	case none && mood == text.Statement && len(values.KindsOf(r.Tool).Free) == 0 && ofOther(p, named):
		return "the message speaks of something else than the nearest tool"
	case !answers && !none && !p.FreeText && orders(r.Text.Text) && r.otherThing(p):
		return "the message speaks of something else than the nearest tool"
	case !answers && r.neighbours(p, named, rivals):
		return "the message names a thing that another tool is for"
	case mood == text.Fragment && r.tellsOfName(p):
		return "the message tells what somebody does"
	case r.overlooked(mood):
		return "the message has a number for which the nearest tool has no value"
	}
	return r.untimely(p, mood)
}

// tellsOfName reports whether the text begins with a name that is a value, and a verb that the tool does not know follows: "Léa
// mange à la cantine".
func (r reading) tellsOfName(p *retrieval.Document) bool {
	end := 0
	for end < len(r.Words) && r.Taken[end] {
		end++
	}
	named := slices.ContainsFunc(values.KindsOf(r.Tool).Named, func(name string) bool {
		return end > 0 && r.Values[name] == r.Surface(0, end)
	})
	verb := r.At(end)
	return named && !r.Pause(end) && !r.Pause(end+1) && isThing(verb) && !p.Knows(verb.Stem) && !p.Relates(verb)
}

// ofOther reports whether the things that a statement is about, beside the trouble with them, are none of the tool's: "I lost my
// job" for the tool that blocks a card.
func ofOther(p *retrieval.Document, named []text.Word) bool {
	things := slices.DeleteFunc(slices.Clone(named), func(w text.Word) bool {
		return w.Is(text.TroubleWords, text.PastWords) || w.IsForeign(text.FailingVerbs)
	})
	return len(things) > 0 && len(things) < len(named) && !slices.ContainsFunc(things, func(w text.Word) bool { return p.Knows(w.Stem) || p.Relates(w) })
}

// otherThing reports whether the object of the first verb is a thing that the tool does not know, although the rest may be
// values: "turn on the oven in the kitchen" for the tool that turns on a light.
func (r reading) otherThing(p *retrieval.Document) bool {
	verb, at := r.At(r.Opening()), r.Opening()+1
	for isDirection(r.At(at)) || r.At(at).Is(text.Definites, text.DefiniteArticles, text.IndefiniteWords, text.Pronouns) {
		at++
	}
	bare := !r.At(at-1).Is(text.Definites, text.DefiniteArticles, text.IndefiniteWords)
	if bare && (verb.Is(text.LightVerbs) || !p.OrdersBy(verb)) { // "go ahead", "mach mal", but not "cancel subscription"
		return false
	}
	end := at
	for ; end < len(r.Words) && isThing(r.Words[end]) && !(end > at && r.Pause(end)); end++ {
		if w := r.Words[end]; r.Taken[end] || p.Knows(w.Stem) || p.Relates(w) {
			return false
		}
	}
	return end > at && end < len(r.Words) && !r.Words[end].Is(text.OfWords) // "the colour of the light"
}

// breaksOff reports whether the text breaks off, and its last word is no allowed value: "an appointment at desk A".
func (r reading) breaksOff() bool {
	return r.BreaksOff() && !r.separates() && !slices.ContainsFunc(r.Tool.Params().List(), func(p parameters.Parameter) bool {
		chosen, _ := r.Values[p.Name].(string)
		words, last := text.Split(chosen), len(r.Words)-1
		return len(p.Allowed) > 0 && r.Taken[last] && len(words) > 0 && words[len(words)-1].Norm == r.Words[last].Norm
	})
}

// separates reports whether the last word is the particle of a German verb of the tool, which is before: "trag … ein".
func (r reading) separates() bool {
	own := wordsOf(r.Tool)
	particle := r.At(len(r.Words) - 1).Norm
	return slices.ContainsFunc(slices.Collect(maps.Keys(own.description)), func(stem string) bool {
		verb, ok := strings.CutPrefix(stem, particle)
		return ok && slices.ContainsFunc(r.Words, func(w text.Word) bool { return text.SameVerb(verb, w.Norm) })
	})
}

// excepts reports whether a value is what the text excepts from all: "all users except jdoe", "every server but web-01".
func (r reading) excepts() bool {
	for i := range r.Words {
		end := i + text.ExceptionAt(r.Text.Text, i)
		for at := end; end > i && at < min(len(r.Words), end+nameReach); at++ {
			if r.quotes(at, at+1) {
				return true
			}
		}
		if end > i && r.lacks(end) {
			return true
		}
	}
	return false
}

// lacks reports whether the words from i on have a value of an optional parameter, and the reading has no other for it: "the
// light everywhere but in the kitchen".
func (r reading) lacks(i int) bool {
	if i >= len(r.Words) {
		return false
	}
	after := values.Of(datetime.NewText(r.Said[r.Words[i].Start:], r.Now), r.Tool)
	return slices.ContainsFunc(r.Tool.Params().List(), func(p parameters.Parameter) bool {
		return !p.Required && len(p.Allowed) > 0 && after.Values[p.Name] != nil && r.Values[p.Name] == nil && r.Unusable[p.Name] == ""
	})
}

// actless reports whether a text has no act: neither a verb or a noun for the tool's, nor another verb. A tool that gives
// a thing, or has an example without a verb, is called by a thing: "a table for two".
func (r reading) actless(p *retrieval.Document) bool {
	var said, all []text.Word // outside the values, and with them
	things, moves := false, false
	for i, w := range r.Words {
		if i+1 < len(r.Words) && r.Taken[i+1] && w.Is(text.HourCues) {
			continue // the Italian "alle 18" is not the German "all"
		}
		if all = append(all, w); r.Taken[i] {
			continue
		}
		said = append(said, w)
		things = things || isThing(w) && p.Known[w.Stem]
		moves = moves || isDirection(w) && p.Known[w.Stem] && !r.brings(i) || retrieval.Acts(w) && !p.Name[w.Stem] && !w.Is(text.PoliteWords)
	}
	first := r.Opening() // an unknown verb has an object: "alert my bank"
	object := first >= 0 && p.Known[r.Words[first].Stem] && isThing(r.Words[first]) && isDefinite(r.At(first+1))
	if moves || object || things && (p.Gives || p.Plain) || p.Orders(said) || p.Mends(said) {
		return false
	}
	if p.Gives && r.picks() && wishesOrCounts(r.Text.Text) && r.whole() {
		return false // "two lemonades"
	}
	acting := text.ActingOf(all)
	return !acting.Plain && !slices.ContainsFunc(slices.Concat(acting.Acts...), p.Does)
}

// wishesOrCounts reports whether a text wishes for something, or only names it with a number or politely: "a ham sandwich,
// please".
func wishesOrCounts(t text.Text) bool {
	mood := t.Mood()
	return mood == text.Wish || mood == text.Fragment && slices.ContainsFunc(t.Words, func(w text.Word) bool {
		return isNumber(w) || w.Is(text.PoliteWords, text.WishWords)
	})
}

// politeAlone reports whether only politeness makes a wish of a text: "my card, please".
func politeAlone(t text.Text) bool {
	t.Words = slices.DeleteFunc(slices.Clone(t.Words), func(w text.Word) bool { return w.Is(text.PoliteWords) })
	mood := t.Mood()
	return mood == text.Fragment || mood == text.Statement && t.IsName()
}

// picks reports whether a text names one of the tool's listed values.
func (r reading) picks() bool {
	return slices.ContainsFunc(r.Tool.Params().List(), func(p parameters.Parameter) bool {
		value := r.Values[p.Name]
		return value != nil && p.Type == "string" && slices.Contains(p.Allowed, value)
	})
}

// address reports whether the text is one e-mail address or link, and nothing else.
func (r reading) address() bool {
	said := strings.TrimSpace(r.Said)
	return !strings.ContainsAny(said, " \n") && strings.ContainsAny(said, "@/")
}

// denies reports whether the text does not want a thing, which may be the value that it lacks: "I want no pizza".
func (r reading) denies() bool {
	for i, w := range r.Words {
		if w.Is(text.Negations) && (i == r.Opening() || r.At(i-1).Is(text.WishWords)) {
			return true
		}
	}
	return false
}

// objectless reports whether a text names no specific act and thing: "turn on", "stop", "cancel everything". A text
// equal to one of the tool's examples is exempt.
func (r reading) objectless(p *retrieval.Document, mood text.Mood) bool {
	person := func(w text.Word) bool { return w.Is(text.Persons) && !w.Is(text.Articles, text.Pronouns) }
	if len(wordsOf(r.Tool).things) == 0 || mood == text.Question || mood == text.Wish && slices.ContainsFunc(r.Words, person) {
		return false
	}
	if p.Attended && text.AnyIs(r.Words, text.UndoingWords) && text.Declines(r.Words) {
		return false
	}
	if slices.ContainsFunc(r.Words, func(w text.Word) bool {
		return isThing(w) || isNumber(w) || !isContent(w) && !isGrammar(w) && !w.Is(text.LightVerbs)
	}) {
		return false
	}
	own := contentOf(r.Words)
	return !r.sampled(func(t text.Text) bool {
		return !slices.ContainsFunc(t.Words, isThing) && slices.EqualFunc(contentOf(t.Words), own, func(a, b text.Word) bool { return a.Stem == b.Stem })
	})
}

// asksBare reports whether a question has no word but grammar: "how much?", "what's that?". Then it is about what was said before,
// unless an example says nothing else either, or the tool's name or an example has all of some more words.
func (r reading) asksBare() bool {
	content := func(w text.Word) bool {
		return w.Is(text.RequestWords) || isContent(w) && !w.Is(text.QuestionWords, text.PolitePersons)
	}
	if slices.ContainsFunc(r.Words, content) {
		return false
	}
	const some = 4
	within := func(of text.Text) bool {
		return !slices.ContainsFunc(r.Words, func(w text.Word) bool {
			return !slices.ContainsFunc(of.Words, func(own text.Word) bool { return own.Norm == w.Norm })
		})
	}
	return !within(text.Of(text.Identifier(r.Tool.Name))) && !r.sampled(func(t text.Text) bool {
		return !slices.ContainsFunc(t.Words, content) || len(r.Words) >= some && within(t)
	})
}

func (r reading) onlyValues() bool {
	for i, w := range r.Words {
		if !r.Taken[i] && !r.brings(i) && (!isGrammar(w) || w.Is(text.QuestionWords, text.RequestWords, text.Persons) && !w.Is(text.Articles)) {
			return false
		}
	}
	return true
}

// neighbours reports whether a text names more things of another tool, by a word that the nearest one does not
// know.
func (r reading) neighbours(p *retrieval.Document, things []text.Word, rivals []*repositories.Tool) bool {
	named := map[string]bool{}
	for _, w := range things {
		named[w.Stem] = true
	}
	own := shares(wordsOf(r.Tool).things, named)
	return slices.ContainsFunc(rivals, func(rival *repositories.Tool) bool {
		rivalThings := wordsOf(rival).things
		return shares(rivalThings, named) > own && slices.ContainsFunc(things, func(w text.Word) bool { return rivalThings[w.Stem] && !p.Known[w.Stem] })
	})
}

// timedWords tells for each word of a text whether it is of a day or a time.
func timedWords(t *datetime.Text) []bool {
	timed := make([]bool, len(t.Words))
	for _, m := range t.Moments() {
		for i := m.First; i < m.End; i++ {
			timed[i] = true
		}
	}
	return timed
}

// overlooked reports whether a text has a number that the tool cannot take: it takes no values, or would use a
// default. "Three beers" must not become the default.
func (r reading) overlooked(mood text.Mood) bool {
	timed := timedWords(r.Text)
	numbers, loose, untimed := false, false, false
	for i, w := range r.Words {
		if isNumber(w) {
			numbers, loose, untimed = true, loose || !r.Taken[i], untimed || !timed[i]
		}
	}
	if loose && slices.ContainsFunc(r.Tool.Params().List(), func(p parameters.Parameter) bool {
		return !p.Hidden && p.Default != nil && r.Values[p.Name] == nil && p.Numeric()
	}) {
		return true
	}
	if !numbers || mood == text.Question || len(values.KindsOf(r.Tool).All) > 0 || !untimed && r.timed(true, true) {
		return false
	}
	return !r.sampled(func(t text.Text) bool { return slices.ContainsFunc(t.Words, isNumber) })
}

// untimely returns why a text does not ask for the tool now.
func (r reading) untimely(p *retrieval.Document, mood text.Mood) string {
	if p.Moods[text.Question] && slices.ContainsFunc(partsOf(r.Said), func(part string) bool { return text.Of(part).Mood() == text.Question }) {
		return ""
	}
	if (mood == text.Statement || mood == text.Fragment && !orders(r.Text.Text)) && r.Tells() && !p.Mends(r.Words) && !r.sampled(text.Text.Tells) {
		return "the message tells of the past"
	}
	if first := r.At(r.Opening()); mood == text.Fragment && !p.Moods[text.Question] && !orders(r.Text.Text) && !p.Known[first.Stem] && first.IsSubject() && r.yesterday() {
		return "the message tells of the past"
	}
	return r.later()
}

// later returns why a text does not ask for the tool now and once.
func (r reading) later() string {
	if i := r.Condition(); i >= 0 && !r.quotes(i, i+2) && !r.sampled(func(t text.Text) bool { return t.Condition() >= 0 }) {
		return "the message makes a condition, which nothing waits for"
	}
	if first, end := text.Repeats(r.Text.Text); first < end && !slices.Contains(r.Taken[first:end], true) && !r.quotes(first, end) && !r.sampled(recurs) {
		return fmt.Sprintf("the message says %q, and the nearest tool acts once", r.Surface(first, end))
	}
	if r.putOff() {
		return "the message names a time, and the nearest tool has no place for it"
	}
	return ""
}

// recurs reports whether a text asks for an act more than once.
func recurs(t text.Text) bool {
	first, end := text.Repeats(t)
	return first < end
}

// yesterday reports whether the text names a day before today by its word.
func (r reading) yesterday() bool {
	return slices.ContainsFunc(r.Words, func(w text.Word) bool {
		days, is := text.NearDays.Number(w.Norm)
		return is && days < 0
	})
}

// ahead reports whether a text defers something without a date.
func ahead(t text.Text) bool {
	today, another := t.Ahead()
	return today || another
}

// putOff reports whether the text names a future time that no value has. A time of day has its next day, so "tomorrow at 7
// am" in the evening is a time of day.
func (r reading) putOff() bool {
	kinds, rest := values.KindsOf(r.Tool), text.Text{Said: r.Said}
	for i, w := range r.Words {
		if r.Taken[i] && !w.Is(text.NearDays) { // but "tonight"
			w = text.Word{Start: w.Start, End: w.End} // which parts the words around it
		}
		rest.Words = append(rest.Words, w)
	}
	today, another := rest.Ahead()
	said := slices.ContainsFunc(slices.Collect(maps.Values(r.Values)), func(value any) bool { of, ok := value.(string); return ok && ahead(text.Of(of)) })
	held := r.holds(slices.Concat(kinds.Clocks, kinds.Dates, kinds.Spans))
	if (another && len(kinds.Dates) == 0 || today && !held) && !said && !r.sampled(ahead) {
		return true
	}
	now := r.Now.Format(time.DateOnly)
	return slices.ContainsFunc(r.Moments(), func(m datetime.Reading) bool {
		// Today is usually named explicitly: "on Monday" is another Monday, or does not mean now.
		if first, end := text.Clause(r.Text.Text, m.First); text.Declines(r.Words[first:end]) && end < len(r.Words) {
			return false // "I can't make it on Tuesday, please cancel"
		}
		clock, names := isClock(m), kinds.Dates
		if clock {
			names = kinds.Clocks
		}
		later := clock || m.Exact > now || m.Exact == "" || m.Exact == now && !text.AnyIs(r.Words[m.First:m.End], text.NearDays)
		if m.Doubtful || !later || len(names) > 0 || r.quotes(m.First, m.End) || !clock && r.comesOn(m.Exact) {
			return false
		}
		spans := r.holds(kinds.Spans) && slices.ContainsFunc(r.Amounts(), func(one quantity.Amount) bool { return !one.Bare() && one.From < m.To && m.From < one.To })
		return !spans && !r.timed(clock, len(kinds.Clocks)+len(kinds.Dates) == 0) // the French "2 h" may be an amount
	})
}

// timed reports whether an example of the tool names a time of day, or a day, or either.
func (r reading) timed(clock, either bool) bool {
	return r.sampled(func(t text.Text) bool {
		return slices.ContainsFunc(datetime.NewText(t.Said, r.Now).Moments(), func(m datetime.Reading) bool { return !m.Doubtful && (either || isClock(m) == clock) })
	})
}

// isClock reports whether a moment is a time of day.
func isClock(m datetime.Reading) bool { return strings.Contains(strings.Join(m.Values, " "), ":") }

// holds reports whether one of the named parameters has a value, or must get one before the tool acts.
func (r reading) holds(names []string) bool {
	return slices.ContainsFunc(r.Tool.Params().List(), func(p parameters.Parameter) bool {
		return slices.Contains(names, p.Name) && (p.Required || r.Values[p.Name] != nil || r.Unusable[p.Name] != "")
	})
}

// comesOn reports whether the only time of day of the text is a value, or is asked for, and may come next on a day.
func (r reading) comesOn(day string) bool {
	clocks := slices.DeleteFunc(slices.Clone(r.Clocks()), func(m datetime.Reading) bool { return m.Doubtful })
	return len(clocks) == 1 && r.holds(values.KindsOf(r.Tool).Clocks) && slices.ContainsFunc(clocks[0].Values, func(clock string) bool {
		next := r.Now
		if clock <= next.Format("15:04") {
			next = next.AddDate(0, 0, 1)
		}
		return next.Format(time.DateOnly) == day
	})
}

// quotes reports whether one of the values contains the words from first to before end.
func (r reading) quotes(first, end int) bool {
	part := text.Key(r.Surface(first, min(end, len(r.Words))))
	for _, value := range r.Values {
		if said, ok := value.(string); ok && strings.Contains(text.Key(said), part) {
			return true
		}
	}
	return false
}

// sampled reports whether matches is true for the tool's description or one of its examples.
func (r reading) sampled(matches func(text.Text) bool) bool {
	samples := r.Tool.Params().Derived(sampleForm{}, func() any { // cached by the tool
		found := []text.Text{text.Of(r.Tool.Description)}
		spoken := r.Tool.Spoken()
		for _, example := range spoken[:min(len(spoken), maxSampled)] {
			found = append(found, text.Of(example))
		}
		return found
	})
	return slices.ContainsFunc(samples.([]text.Text), matches)
}
