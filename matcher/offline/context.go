package offline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"earshot/matcher"
	"earshot/matcher/datetime"
	"earshot/matcher/text"
	"earshot/matcher/values"
	"earshot/repositories"
	"earshot/repositories/parameters"
)

const (
	maxAnswerWords = 4 // the longest text, in words beside "of the", that as a whole can be the one missing value
	maxBack        = 3 // how many user messages back "it" and "no" may refer to a call
)

// recent returns the user's last messages, the latest first.
func (p *interpreter) recent() (said []matcher.Utterance) {
	for _, past := range slices.Backward(p.request.History) {
		if past.Actor != matcher.ActorAgent && len(said) < maxBack {
			said = append(said, past)
		}
	}
	return said
}

func mayAnswer(t text.Text) bool { return !t.NoAnswer() && !t.Unmeant() && !text.Idles(t) }

// answers finds the unfinished call for which a text gives or corrects values, and has nothing else.
func (p *interpreter) answers(said text.Correction) (intent, bool) {
	if !mayAnswer(p.words(said.After)) {
		return intent{}, false
	}
	var asked []intent // values that the user is asked about, unless they belong to those of an earlier message
	for _, begun := range p.request.Unfinished {
		r := p.read(said.After, begun.Candidate)
		if one, ok := p.bare(begun, r); ok && !said.Marked {
			return one, true
		}
		gives := said.Marked // or a value that the call lacks, or a different one, or one that no other words could be
		for name := range r.Values {
			gives = gives || slices.Contains(begun.Missing, name) || begun.Values[name] != nil || slices.Contains(values.KindsOf(r.Tool).Chosen, name)
		}
		asks := slices.ContainsFunc(begun.Missing, func(name string) bool { return r.Values[name] == nil && r.Unusable[name] != "" })
		if !r.whole() || r.judges() || !asks && (len(r.Values) == 0 || !gives) { // "at 10:30" is asked about
			if one, ok := replaces(begun, said); ok {
				return one, true
			}
			continue
		}
		one := r.intent()
		if said.Before != "" {
			one.values = p.read(said.Before, r.Candidate).Values
			maps.Copy(one.values, r.Values)
		}
		if len(one.values) > 0 {
			return one, true
		}
		asked = append(asked, one)
	}
	one, ok := p.joins(said.After)
	if !ok && len(asked) > 0 {
		return asked[0], true
	}
	return one, ok
}

// bare finds the call of a text that is one value, without a word that tells of which parameter: "Friday" is the end of a
// leave whose start is known. It is the value of what the call lacks, else of what was asked.
func (p *interpreter) bare(begun matcher.Unfinished, r reading) (intent, bool) {
	tells := func(w text.Word) bool {
		return w.Is(text.StartCues, text.EndCues, text.OriginCues, text.DestinationCues)
	}
	if one, ok := p.hour(begun, r.Said); ok {
		return one, true
	}
	if slices.ContainsFunc(r.Words, tells) || slices.ContainsFunc(begun.Missing, func(name string) bool { return r.Values[name] != nil }) {
		return intent{}, false
	}
	wanted := [][]string{begun.Missing}
	if asked := askedFor(begun); asked != "" && len(begun.Missing) > 1 {
		wanted = append(wanted, []string{asked})
	}
	for _, names := range wanted {
		one := reading{r.Candidate, values.For(r.Text, r.Tool, names)}
		if len(one.Values) > 0 && one.whole() && !one.judges() && !one.labelled() {
			return one.intent(), true
		}
		end := r.beforeOthers()
		if value := onlyAnswer(begun.Tool, names, r.Surface(0, end)); value != "" && len(r.Values) > 0 && (r.whole() || end < len(r.Words)) {
			one := intent{r.Candidate, map[string]any{names[0]: value}, r.Said}
			if end < len(r.Words) {
				maps.Copy(one.values, r.Values)
			}
			return one, true
		}
	}
	if value := partOfChoice(r, askedFor(begun)); value != nil && len(r.Values) == 0 {
		return intent{r.Candidate, map[string]any{askedFor(begun): value}, r.Said}, true
	}
	return intent{}, false
}

// beforeOthers returns the end of the words before those of values that are told apart, by a pause or by grammar: "aspirin, for 10
// days". It is the end of the text for none.
func (r reading) beforeOthers() int {
	first := len(r.Words)
	for first > 0 && (r.Taken[first-1] || isGrammar(r.Words[first-1]) || isPolite(r.Words[first-1]) || r.speaks(r.Words[first-1])) {
		first--
	}
	for at := max(1, first); at < len(r.Words); at++ {
		if apart := r.Pause(at) || isGrammar(r.Words[at]); apart && slices.Contains(r.Taken[at:], true) {
			return at
		}
	}
	return len(r.Words)
}

// partOfChoice returns the only allowed value of a parameter that has all words of a text beside grammar, and beside these only
// things: "the debit one" of "credit card" and "debit card". "The small one" is not "too small". It is nil for none.
func partOfChoice(r reading, name string) (value any) {
	said := slices.DeleteFunc(contentOf(r.Words), func(w text.Word) bool { return w.Is(text.ProForms) || isPolite(w) })
	for _, parameter := range r.Tool.Params().List() {
		if parameter.Name != name || len(said) == 0 {
			continue
		}
		for _, allowed := range parameter.Allowed {
			words := text.Split(fmt.Sprint(allowed))
			lacks := func(all []text.Word, w text.Word) bool {
				return !slices.ContainsFunc(all, func(of text.Word) bool { return of.Norm == w.Norm })
			}
			if slices.ContainsFunc(said, func(w text.Word) bool { return lacks(words, w) }) || slices.ContainsFunc(words, func(w text.Word) bool { return lacks(said, w) && !isThing(w) }) {
				continue
			}
			if value != nil {
				return nil
			}
			value = allowed
		}
	}
	return value
}

// replaces finds the call in which another name replaces the known one: "I meant Ben". Of several it is the one that the text
// denies: "not Rome, Paris". What may be a name that is lacking replaces none.
func replaces(begun matcher.Unfinished, said text.Correction) (intent, bool) {
	if !said.Marked {
		return intent{}, false
	}
	isName := func(name string) bool { return slices.Contains(values.KindsOf(begun.Tool).Named, name) }
	names := slices.DeleteFunc(slices.Clone(begun.Denied), func(name string) bool { return !isName(name) })
	if len(begun.Denied) == 0 && !slices.ContainsFunc(begun.Missing, isName) {
		names = knownNames(begun)
	}
	if value := onlyAnswer(begun.Tool, names, said.After); value != "" {
		return intent{begun.Candidate, map[string]any{names[0]: value}, said.After}, true
	}
	return intent{}, false
}

// knownNames returns the parameters of names that have a value.
func knownNames(begun matcher.Unfinished) []string {
	return slices.DeleteFunc(slices.Clone(values.KindsOf(begun.Tool).Named), func(name string) bool { return begun.Values[name] == nil })
}

// askedFor returns the parameter that the user was asked for; empty if it is not known.
func askedFor(begun matcher.Unfinished) string {
	if len(begun.Missing) == 1 || len(begun.Missing) > 1 && begun.Tool.Params().Ask(begun.Missing[0]) != "" {
		return begun.Missing[0]
	}
	return ""
}

// hour finds the call of a bare number if the time of day was asked for: "8", "20 please".
func (p *interpreter) hour(begun matcher.Unfinished, said string) (intent, bool) {
	asked := askedFor(begun)
	t := p.hourText(said)
	if t == nil || !slices.Contains(values.KindsOf(begun.Tool).Clocks, asked) {
		return intent{}, false
	}
	one := reading{begun.Candidate, values.For(t, begun.Tool, []string{asked})}
	if one.Values[asked] == nil && one.Unusable[asked] == "" {
		return intent{}, false
	}
	p.readings[readFor{said, begun.Tool}] = one
	return one.intent(), true
}

// hourText returns a text that is only a number as one in which this is an hour; nil for another text.
func (p *interpreter) hourText(said string) *datetime.Text {
	words, number := p.text(said).Words, -1
	for i, w := range words {
		switch {
		case isNumber(w) && number < 0:
			number = i
		case !w.Is(text.Hesitations, text.Fillers, text.PoliteWords):
			return nil
		}
	}
	if number < 0 {
		return nil
	}
	t := datetime.NewText(said, p.request.Now)
	t.Preferred, t.Hour = p.request.Language, true
	return t
}

// joins finds the unfinished call whose value was begun in another message, if a text only goes on with it: "at 9", then
// "in the evening"; "on Monday", then "at 3 pm".
func (p *interpreter) joins(said string) (intent, bool) {
	t := p.text(said)
	moment := make([]bool, len(t.Words))
	for _, m := range t.Moments() {
		for i := m.First; i < m.End && !m.Doubtful; i++ {
			moment[i] = true
		}
	}
	of := false
	for i, w := range t.Words {
		part := moment[i] || w.Is(text.DayParts, text.ClockHalves)
		if of = of || part; !part && !isGrammar(w) && !w.Is(text.PoliteWords, text.DayCues) {
			return intent{}, false
		}
	}
	for _, begun := range p.request.Unfinished {
		for _, past := range p.recent() {
			before := p.hourText(past.Text)
			if before == nil {
				before = p.text(past.Text)
			}
			if !of || before.NoAnswer() || before.Unmeant() {
				continue
			}
			alone := p.read(past.Text, begun.Candidate).Values
			for _, m := range before.Moments() {
				end := before.Words[m.End-1].End
				whole := past.Text[:end] + " " + said + past.Text[end:]
				for name, value := range p.read(whole, begun.Candidate).Values {
					if alone[name] == nil && slices.Contains(begun.Missing, name) {
						return intent{begun.Candidate, map[string]any{name: value}, said}, true
					}
				}
			}
		}
	}
	return intent{}, false
}

// continues finds the unfinished call that a text continues with words of its tool: the text has one of the missing
// values, or it is short and can only be the single missing value.
func (p *interpreter) continues(said text.Correction) (intent, bool) {
	t := p.words(said.After)
	if said.Refused && len(t.Words) == 0 || text.AnyIs(t.Words, text.PartingWords, text.Negations) || t.Tells() || !mayAnswer(t) {
		return intent{}, false
	}
	mood := t.Mood()
	for _, begun := range p.request.Unfinished {
		r := p.read(said.After, begun.Candidate)
		if !said.Refused && (mood == text.Fragment || mood == text.Wish) && r.nearly() && slices.ContainsFunc(begun.Missing, func(name string) bool { return r.Values[name] != nil }) {
			return r.intent(), true
		}
		rest := withoutAddition(said.After)
		if suggests := rest != said.After && strings.Contains(said.After, "?"); suggests && !t.Capital(len(t.Words)-1) {
			continue // "what about lunch?"
		}
		if said.Marked && !said.Refused && len(begun.Denied) == 0 && len(knownNames(begun)) > 0 {
			continue // "actually Paris" may be instead of the known one
		}
		asked := askedFor(begun)
		sole := len(begun.Missing) == 1 || slices.Contains(values.KindsOf(begun.Tool).Named, asked) && slices.ContainsFunc(t.Words, isThing)
		if value := onlyAnswer(begun.Tool, []string{asked}, rest); value != "" && sole {
			return intent{begun.Candidate, map[string]any{asked: value}, said.After}, true
		}
	}
	return intent{}, false
}

// onlyAnswer returns the text as the value of the only missing parameter, which takes any text: a few words that do
// not ask, wish, tell, order or thank. It is empty if the text cannot be that.
func onlyAnswer(tool *repositories.Tool, missing []string, said string) string {
	t, kinds := text.Of(said), values.KindsOf(tool)
	if items := values.Items(said); len(items) > 1 && len(missing) == 1 && slices.Contains(kinds.Lists, missing[0]) {
		if slices.ContainsFunc(items, func(item any) bool { return onlyAnswer(tool, missing, fmt.Sprint(item)) == "" }) {
			return ""
		}
		return said
	}
	if len(missing) != 1 || len(t.Words) == 0 || t.Opening() < 0 || !slices.Contains(kinds.Free, missing[0]) {
		return ""
	}
	origin, named := text.AnyIs(text.Split(text.Identifier(missing[0])), text.OriginNames), slices.Contains(kinds.Named, missing[0])
	brings := func(w text.Word) bool { // introduces a value: "for Peter"
		from := origin && w.Is(text.OriginCues, text.JourneyOrigins) || named && w.Is(text.OriginCues) && !w.Is(text.NameParticles) // but "von Arnim"
		return from || w.Is(text.Hesitations, text.Fillers, text.DestinationCues, text.PersonCues, text.NamedPlaceCues, text.GoalCues)
	}
	words := withoutEnds(t.Words[text.Assents(t):], brings, isPolite)
	if named {
		words = withoutLabel(words)
	}
	if len(words) > 0 && named {
		first, _ := t.Within(words[0].Start, words[0].End)
		words = words[text.AfterKin(t, first)-first:]
	}
	meaningful := slices.DeleteFunc(slices.Clone(words), func(w text.Word) bool { return w.Is(text.OfWords, text.NameParticles, text.DefiniteArticles) })
	if len(words) == 0 || len(meaningful) > maxAnswerWords {
		return ""
	}
	if named && text.AnyIs(words, text.WrongWords) {
		return ""
	}
	answer := datetime.NewText(said[words[0].Start:words[len(words)-1].End], time.Time{})
	if mood := answer.Mood(); mood != text.Fragment && !(mood == text.Statement && answer.IsName() && !text.AnyIs(answer.Words, text.KinWords)) || named && isAct(answer.Text) || text.Asked(said) && t.Mood() != text.Fragment {
		return ""
	}
	if refersBack(words) || len(answer.Moments()) > 0 || !slices.ContainsFunc(words, func(w text.Word) bool { return isThing(w) || isNumber(w) }) {
		return ""
	}
	return answer.Said
}

// withoutLabel removes a word that says that a name follows, and what is around it: "auf den Namen", "au nom de".
func withoutLabel(words []text.Word) []text.Word {
	links := func(w text.Word) bool { return w.Is(text.StopWords, text.TargetCues, text.Articles) }
	for i, w := range words {
		switch {
		case w.Is(text.LabelWords):
			return withoutEnds(words[i+1:], func(w text.Word) bool { return w.Is(text.OfWords, text.Copulas) }, isPolite)
		case !links(w):
			return words
		}
	}
	return words
}

// isAct reports whether a text has a verb in small letters and more, so that it is no name: "make it big", "speed up",
// "Anna called me".
func isAct(t text.Text) bool {
	n := len(t.Words)
	for i, w := range t.Words {
		if n > 1 && !t.Capital(i) && (i == 0 && w.Is(text.ActionVerbs, text.LightVerbs) || i == n-1 && isDirection(w) || i > 0 && (text.PastForm(w) || w.Is(text.PastWords) || w.Is(text.Copulas) && !w.Is(text.OfWords, text.JoinWords))) {
			return true
		}
	}
	return false
}

// dated returns a text with the date of a day that it counts from that of the open call, else of the last one: "the day after".
func (p *interpreter) dated(said text.Correction) text.Correction {
	t := p.words(said.After)
	words := t.Words
	for i := range words {
		days, length := text.BesideDays.PhraseNumber(words, i)
		if next := i + length; length == 0 || next < len(words) && t.Adjoins(next-1) && !words[next].Is(text.ClockCues, text.PoliteWords) {
			continue // "the day after tomorrow"
		}
		if day := p.knownDay(); !day.IsZero() {
			said.After = t.Said[:words[i].Start] + day.AddDate(0, 0, days).Format(time.DateOnly) + t.Said[words[i+length-1].End:]
			return said
		}
	}
	return said
}

// knownDay returns the only day among the values of the open call, else of the last one; zero for none.
func (p *interpreter) knownDay() (day time.Time) {
	call, found := p.last()
	if open := p.request.Unfinished; len(open) > 0 {
		call, found = intent{open[0].Candidate, open[0].Values, ""}, true
	}
	if !found {
		return day
	}
	for _, name := range values.KindsOf(call.Tool).Dates {
		written := fmt.Sprint(call.values[name])
		at, err := time.Parse(time.DateOnly, written[:min(len(written), len(time.DateOnly))])
		if err != nil {
			continue
		}
		if !day.IsZero() {
			return time.Time{}
		}
		day = at
	}
	return day
}

// last returns the latest call whose tool is still in scope.
func (p *interpreter) last() (intent, bool) {
	for _, past := range p.recent() {
		if n := len(past.Fired); n > 0 {
			c, found := p.request.Named(past.Fired[n-1].Name)
			return intent{c, past.Fired[n-1].Values, past.Text}, found
		}
	}
	return intent{}, false
}

// otherwise marks a text as a correction if it begins with "no" without a pause and repeats the thing of the call
// before, "no tank B" after "fill tank A", or is a value and an apology: "tank B, sorry". "No sugar" denies its thing.
func (p *interpreter) otherwise(last intent, said text.Correction) text.Correction {
	words := text.Split(said.After)
	if value := text.BeforeApology(said.After); value != "" && !said.Marked {
		if r := p.read(value, last.Candidate); len(r.Values) > 0 && r.whole() {
			return text.Correction{After: value, Marked: true}
		}
	}
	if said.Marked || len(words) < 3 || !words[0].Is(text.Refusals) || !isThing(words[1]) {
		return said
	}
	if slices.ContainsFunc(text.Split(last.said), func(w text.Word) bool { return w.Stem == words[1].Stem }) {
		said.After, said.Marked = said.After[words[1].Start:], true
	}
	return said
}

// known returns the visible values of a call that its tool's parameters still have.
func (i intent) known() map[string]any {
	visible := map[string]any{}
	for _, parameter := range i.Tool.Params().List() {
		if value, has := i.values[parameter.Name]; has && !parameter.Hidden {
			visible[parameter.Name] = value
		}
	}
	return visible
}

// changes finds the previous call with another value: "no, the bathroom", "and in the office", "make it five
// instead".
func (p *interpreter) changes(last intent, said text.Correction) (intent, bool) {
	rest := said.After
	if rest == "" || !said.Marked && !isAddition(rest) {
		return intent{}, false
	}
	if words := text.Split(rest); additionAt(words) == len(words) {
		return intent{}, false // "another one"
	}
	rest = withoutAddition(rest)
	if words := text.Split(rest); said.Marked && len(words) > 1 && words[0].Is(text.LightVerbs) {
		rest = rest[words[1].Start:] // "mach 150 daraus"
	}
	r := p.read(rest, last.Candidate)
	if r.breaksOff() {
		return intent{}, false
	}
	if len(r.Values) == 0 {
		r = p.completed(last, r)
	}
	if one, asks := r.unsettles(last, rest); asks && said.Marked {
		return one, true
	}
	whole, adds := last.known(), !said.Marked && text.AnyIs(r.Words, text.IndefiniteWords)
	if !r.whole() || len(r.Values) == 0 {
		value, name := p.freeTextAnswer(last, rest, said.Marked)
		if name == "" {
			return intent{}, false
		}
		r.Values = map[string]any{name: value}
		if counted(last, name) && slices.ContainsFunc(r.Words, isNumberOrOne) { // of the new thing
			if r.Values = p.exchanged(last, name, rest); r.Values[name] == nil || r.Values[name] == value {
				return intent{}, false
			}
			adds = true
		}
	}
	for _, parameter := range last.Tool.Params().List() { // "two pens", then "and a notebook"
		if adds && countsThings(parameter) {
			delete(whole, parameter.Name)
		}
	}
	maps.Copy(whole, r.Values)
	return intent{last.Candidate, whole, rest}, fmt.Sprint(whole) != fmt.Sprint(last.known())
}

// unsettles returns the last call without the one value for which a text has another that is not certain, so that it is asked
// about: "no, at 8".
func (r reading) unsettles(last intent, said string) (intent, bool) {
	whole := last.known()
	for name := range r.Unusable {
		if whole[name] != nil && len(r.Unusable) == 1 && len(r.Values) == 0 && r.whole() {
			delete(whole, name)
			return intent{last.Candidate, whole, said}, true
		}
	}
	return intent{}, false
}

// isNumberOrOne reports whether a word is a number, or "one", which is mostly none.
func isNumberOrOne(w text.Word) bool { return isNumber(w) || w.Is(text.NumberWords) }

// countsThings reports whether a parameter may say how many of another one are meant.
func countsThings(p parameters.Parameter) bool { return !p.Required && p.Numeric() && p.Unit == nil }

// counted reports whether a number beside a value of the last call counts it, and is not a part of it: "two pens", but not "7
// Oak Road".
func counted(last intent, name string) bool {
	return slices.ContainsFunc(last.Tool.Params().List(), countsThings) && !slices.ContainsFunc(text.Split(fmt.Sprint(last.values[name])), isNumber)
}

// completed reads a text that tells only the day, or only the time of day, of a value that has both, with the other part of the
// last call: "at 4 pm".
func (p *interpreter) completed(last intent, r reading) reading {
	for _, parameter := range last.Tool.Params().List() {
		day, clock, both := strings.Cut(fmt.Sprint(last.values[parameter.Name]), "T")
		if parameter.Format != "date-time" || !both || len(clock) < len("15:04") {
			continue
		}
		for _, part := range []string{day, clock[:len("15:04")]} {
			if one := p.read(r.Said+" "+part, r.Candidate); one.Values[parameter.Name] != nil && one.whole() {
				return one
			}
		}
	}
	return r
}

// exchanged reads the message of the last call with other words for one of its values and what counts that: "two pens" for the
// notebooks of "order three notebooks".
func (p *interpreter) exchanged(last intent, name, words string) map[string]any {
	value := fmt.Sprint(last.values[name])
	at := strings.Index(last.said, value)
	if at < 0 {
		return nil
	}
	t := p.text(last.said)
	first, _ := t.Within(at, at+len(value))
	for first > 0 && t.Adjoins(first-1) && (isNumberOrOne(t.Words[first-1]) || t.Words[first-1].Is(text.IndefiniteWords)) {
		first--
	}
	whole := last.said[:t.Words[first].Start] + words + last.said[at+len(value):]
	if one, ok := p.byExample(whole); ok && one.Tool == last.Tool {
		return one.values
	}
	return p.read(whole, last.Candidate).Values
}

// freeTextAnswer reads the value of the only parameter that takes any words: a few words that name nothing of
// another tool. The name is empty if there is none.
func (p *interpreter) freeTextAnswer(last intent, rest string, corrects bool) (value, name string) {
	t := p.words(rest)
	if len(p.text(rest).Moments()) > 0 || slices.ContainsFunc(t.Words, func(w text.Word) bool {
		return w.Is(text.TimeUnits, text.Currencies) || w.StemIs(text.UnitNames)
	}) {
		return "", ""
	}
	free := slices.Clone(values.KindsOf(last.Tool).Free)
	if corrects { // what has no value is not corrected
		free = slices.DeleteFunc(free, func(name string) bool { return last.values[name] == nil })
		denied := matcher.Unfinished{Candidate: last.Candidate, Values: last.values}.Without(p.request.Text).Denied
		if of := slices.DeleteFunc(slices.Clone(free), func(name string) bool { return !slices.Contains(denied, name) }); len(of) == 1 {
			free = of // "Munich, not Berlin"
		}
	}
	if len(free) != 1 || last.values[free[0]] == nil || t.Mood() != text.Fragment {
		return "", ""
	}
	leads := func(w text.Word) bool {
		return w.Is(text.StopWords) && !w.Is(text.Articles) || w.Is(text.Hesitations) || w.IsForeign(text.PersonCues)
	}
	words := withoutEnds(t.Words, leads, func(w text.Word) bool { return w.Is(text.PoliteWords, text.AdditionPhrases) })
	if n := len(words); n == 0 || n > maxAnswerWords || !slices.ContainsFunc(words, text.Word.IsSubject) || isClause(words) || text.AnyIs(words, text.WrongWords) {
		return "", ""
	}
	if leadsElsewhere(last, t.At(t.Opening()), words[0]) || text.BeforeApology(rest) != "" {
		return "", ""
	}
	if slices.ContainsFunc(t.Words, func(w text.Word) bool { return w.Is(text.ActionVerbs) && !isGrammar(w) }) {
		return "", ""
	}
	for _, near := range p.scope.Nearest(t.Words, Compared) {
		other := p.request.Candidates[near.Place].Tool.Name != last.Tool.Name
		if other && slices.ContainsFunc(t.Words, func(w text.Word) bool { return isThing(w) && near.Document().Title[w.Stem] }) {
			return "", ""
		}
	}
	return rest[words[0].Start:words[len(words)-1].End], free[0]
}

// leadsElsewhere reports whether the last call's message has a preposition, and before none of the call's values: "for the
// concert" is no recipient after "30 euros to Anna for the tickets".
func leadsElsewhere(last intent, cue, value text.Word) bool {
	said, found := text.Split(last.said), false
	if cue == value || cue.Is(text.RefusingWords) {
		return false
	}
	for i := 1; i < len(said); i++ {
		if said[i-1].Norm != cue.Norm {
			continue
		}
		for _, known := range last.values {
			if words := text.Split(fmt.Sprint(known)); len(words) > 0 && slices.ContainsFunc(words, func(w text.Word) bool { return w.Norm == said[i].Norm }) {
				return false
			}
		}
		found = true
	}
	return found
}

// isClause reports whether words tell or thank, and so are no name: "Tom got 20", "Tom will be happy", "thank Tom".
func isClause(words []text.Word) bool {
	return text.AnyIs(words, text.PartingWords) || slices.ContainsFunc(words[1:], func(w text.Word) bool {
		return w.Is(text.PastWords) || w.Is(text.Auxiliaries) && !w.Is(text.Definites)
	})
}

// turns finds the call that does something else to the previous call's thing: "turn it off again", "and close it".
func (p *interpreter) turns(last intent, said string) (intent, bool) {
	t := p.words(said)
	if parts := several(partsOf(said)); len(parts) > 1 && !slices.ContainsFunc(parts[:len(parts)-1], func(part text.Text) bool { return part.Mood() != text.Statement }) {
		t = parts[len(parts)-1] // "I found it, unblock it"
		said = t.Said
	}
	if !refersBack(t.Words) || slices.ContainsFunc(t.Words, isNumber) || t.Condition() >= 0 || ahead(t) {
		return intent{}, false
	}
	content, mood := contentOf(t.Words), t.Mood()
	if end := withoutEnd(t.Words, isPolite); len(end) > 1 && t.At(t.Opening()).Is(text.LightVerbs) { // "mach es wieder zu"
		if particle := end[len(end)-1]; particle.Is(text.ActionVerbs) && !isContent(particle) {
			content = append(content, particle)
		}
	}
	if len(content) == 0 || mood == text.Question || mood == text.Statement {
		return intent{}, false
	}
	return p.otherTool(last, said, content, func(of toolWords) bool { return shares(of.things, wordsOf(last.Tool).things) > 0 })
}

// others finds the call that does the same to another thing: "and the back door".
func (p *interpreter) others(last intent, said string) (intent, bool) {
	t := p.words(said)
	if t.Mood() == text.Question && !text.Asked(said) || t.Tells() {
		return intent{}, false
	}
	content, does := contentOf(t.Words), wordsOf(last.Tool).doing
	if len(content) == 0 || slices.ContainsFunc(content, func(w text.Word) bool { return !isThing(w) }) {
		return intent{}, false
	}
	return p.otherTool(last, said, content, func(of toolWords) bool {
		return len(does) > 0 && shares(of.doing, does) == len(does) && slices.ContainsFunc(content, func(w text.Word) bool { return of.things[w.Stem] })
	})
}

// otherTool finds the one matching tool that knows all words of a text beside its values, the best by title.
func (p *interpreter) otherTool(last intent, said string, content []text.Word, meant func(toolWords) bool) (intent, bool) {
	around := slices.Concat(content, text.Split(text.Identifier(last.Tool.Name)))
	var found []reading
	best := 0
	for _, near := range p.scope.Nearest(around, Compared) {
		c, doc := p.request.Candidates[near.Place], near.Document()
		if c.Tool.Name == last.Tool.Name || !meant(wordsOf(c.Tool)) {
			continue
		}
		r := p.read(said, c)
		titled := 1 + shares(wordsOf(c.Tool).things, wordsOf(last.Tool).things)
		for i, w := range r.Words {
			switch {
			case !slices.Contains(content, w) || r.Taken[i]:
			case doc.Title[w.Stem]:
				titled += 4
			case !doc.Known[w.Stem] || contradicts(doc, w):
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
		return intent{}, false
	}
	one := found[0].intent()
	whole := map[string]any{}
	for _, parameter := range one.Tool.Params().List() {
		if value, has := last.values[parameter.Name]; has && takes(parameter, value) {
			whole[parameter.Name] = value
		}
	}
	maps.Copy(whole, one.values)
	one.values = whole
	return one, true
}

// inherits copies missing values from the previous call to one that refers back to it: "close that ticket", "and
// order a new one". A text with a number inherits nothing: "between 37 and 38" cannot be read, but replaces the old
// one.
func inherits(last, one intent) {
	words := text.Split(one.said)
	if !text.AnyIs(words, text.Pronouns) || slices.ContainsFunc(words, isNumber) {
		return
	}
	shared := shares(wordsOf(one.Tool).things, wordsOf(last.Tool).things) > 0
	for _, parameter := range one.Tool.Params().List() {
		if !shared && !isReference(parameter.Name) {
			continue
		}
		if value, has := last.values[parameter.Name]; has && parameter.Required && one.values[parameter.Name] == nil && takes(parameter, value) {
			one.values[parameter.Name] = value
		}
	}
}

// isReference reports whether a parameter's name tells of what its value is the number or the code: order_id, but not id.
func isReference(name string) bool {
	words := text.Split(text.Identifier(name))
	return len(words) > 1 && words[len(words)-1].Is(text.CodeNames)
}

// takes reports whether a value of one tool's parameter is valid for another tool's parameter.
func takes(parameter parameters.Parameter, value any) bool {
	same := func(allowed any) bool { return fmt.Sprint(allowed) == fmt.Sprint(value) }
	return !parameter.Hidden && (len(parameter.Allowed) == 0 || slices.ContainsFunc(parameter.Allowed, same))
}

// isAddition reports whether a text adds to the previous one: "and the office", "the office too", "the same in the
// office".
func isAddition(said string) bool {
	words := text.Split(said)
	if additionAt(words) > 0 {
		return true
	}
	words = withoutEnd(words, isPolite)
	return text.AdditionPhrases.PhraseBefore(words, len(words)) > 0
}

// additionAt returns the number of words at the beginning that add to the previous text: "and", "the same again for".
func additionAt(words []text.Word) (n int) {
	if len(words) > 1 && words[0].Is(text.DegreeWords) {
		return 0 // "too late"
	}
	for n < len(words) {
		length := max(text.AdditionPhrases.PhraseAt(words, n), text.SamePhrases.PhraseAt(words, n))
		if again := text.AgainPhrases.PhraseAt(words, n); again > length && !words[n].Is(text.ReturnWords) && (n > 0 || text.SamePhrases.PhraseAt(words, again) > 0) {
			length = again
		}
		if length == 0 {
			break
		}
		n += length
	}
	return n
}

// withoutAddition removes the words that mark an addition.
func withoutAddition(said string) string {
	words := text.Split(said)
	first, end := additionAt(words), len(words)
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
