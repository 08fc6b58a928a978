package retrieval

import (
	"slices"

	"earshot/matcher"
	"earshot/matcher/text"
	"earshot/repositories"
	"earshot/repositories/annotations"
	"earshot/repositories/lists"
	"earshot/repositories/parameters"
)

// Document is an indexed tool: its words by field.
type Document struct {
	Name map[string]bool // holds the stems of the name's subjects, or of the description's if the name has none
	// Known holds every stem of the tool's name, description, examples and parameters, including function words.
	Known    map[string]bool
	Title    map[string]bool      // holds every stem of its name and description
	Moods    [text.MoodCount]bool // the moods of sentences that call for the tool with any words
	told     []example            // its examples that ask or tell
	Topics   map[uint64]bool      // holds the topics of these words
	Examples int                  // the number of its examples
	Attended bool                 // it cancels what people come to: an appointment, a booking
	Undoes   string               // the stem of the undoing or dropping word in the tool's name; empty for most tools
	// acts holds the stems of the verbs that order what the tool does: of its name, its description and its examples.
	acts    map[string]bool
	does    []string    // the acts of its name
	trouble []text.Word // the words for trouble in its name and description
	// Plain means that an example calls for it without a verb, or that none has an order: "a table for four".
	Plain bool
	// Gives means that the tool gets or makes a thing: it books, orders, subscribes.
	Gives bool
	// Drops means that its name and description mention removal, maybe among other acts: "add or remove items".
	Drops bool
	// Denies means that one of its examples denies an act: "do not call it off".
	Denies bool
	// Others means that one of its examples tells what somebody else does or wants: "Lucía cannot come".
	Others bool
	// FreeText means that a parameter takes any text: unknown words may be its value.
	FreeText bool
}

type example struct {
	text.Text
	mood   text.Mood
	claims []int // of a statement: the words, outside marked values, that tell something of a thing
}

// maxCompared bounds a tool's compared examples, since others pay for them: further ones are only compared as exact
// texts.
const maxCompared = 100

func parameterTexts(tool *repositories.Tool) []string {
	var texts []string
	for _, parameter := range matcher.Shown(tool.Params()) {
		texts = append(texts, text.Identifier(parameter.Name)+" "+parameter.Description)
		texts = append(texts, lists.Of[string](parameter.Allowed)...)
	}
	return texts
}

func newDocument(tool *repositories.Tool) *Document {
	named, described := text.Split(text.Identifier(tool.Name)), text.Split(tool.Description)
	p := &Document{
		Name: text.Subjects(text.Identifier(tool.Name)), Known: map[string]bool{}, Topics: map[uint64]bool{}, Title: map[string]bool{},
		Examples: len(tool.Examples), FreeText: slices.ContainsFunc(matcher.Shown(tool.Params()), freeText),
	}
	if len(p.Name) == 0 {
		p.Name = text.Subjects(tool.Description)
	}
	for _, said := range slices.Concat(matcher.Samples(tool, maxCompared), parameterTexts(tool)) {
		p.learn(said)
	}
	for _, w := range text.Split(text.Identifier(tool.Name) + " " + tool.Description) {
		p.Title[w.Stem] = true
		if w.Is(text.TroubleWords) {
			p.trouble = append(p.trouble, w)
		}
		p.Drops = p.Drops || w.Is(text.DroppingWords) && w.Is(text.ActionVerbs)
	}
	for _, w := range named {
		if w.Is(text.UndoingWords, text.DroppingWords) {
			p.Undoes = w.Stem
		}
	}
	p.Attended = p.Undoes != "" && slices.ContainsFunc(slices.Concat(named, described), text.Attended)
	p.Gives = p.Undoes == "" && gives(named, described)
	p.setActs(tool, named)
	p.setMoods(tool, named, described)
	return p
}

func (p *Document) learn(said string) {
	for _, w := range text.Split(said) {
		p.Known[w.Stem] = true
		if w.IsSubject() {
			p.Known[text.Root(w.Stem)] = true
		}
		for _, topic := range text.Topics(w) {
			p.Topics[topic] = true
		}
	}
}

// freeText reports whether a parameter takes any text, and its name requires no format.
func freeText(parameter parameters.Parameter) bool {
	formed := func(w text.Word) bool {
		return w.Is(text.DateNames, text.ClockNames, text.AmountNames, text.EmailNames, text.LinkNames, text.PhoneNames)
	}
	return parameter.Type == "string" && len(parameter.Allowed) == 0 && !slices.ContainsFunc(text.Split(text.Identifier(parameter.Name)), formed)
}

// gives reports whether the tool's description or name begins with a verb of giving, which German has at the end. A
// tool that also removes or alters does not give: "add or remove items".
func gives(named, described []text.Word) bool {
	const most = 4
	n := len(named)
	if len(described) > 0 && described[0].Is(text.InformingWords) || n > 1 && named[n-1].Is(text.InformingWords) {
		return false
	}
	for _, words := range [][]text.Word{described, named} {
		if text.AnyIs(words[:min(most, len(words))], text.DroppingWords, text.UndoingWords, text.AlteringWords) {
			return false
		}
		for i, w := range words {
			isThing := i > 0 && (words[i-1].Is(text.Articles, text.OfWords) || text.ActingOf(words[i-1:i]).Plain) // "track an order"
			if (i < most || i == len(words)-1) && !isThing && w.StemIs(text.GivingVerbs) {
				return true
			}
		}
	}
	return false
}

// setMoods finds the moods of the tool's examples. Orders and wishes call for any tool; questions also call for one
// whose own words tell that it informs.
func (p *Document) setMoods(tool *repositories.Tool, named, described []text.Word) {
	p.Moods[text.Fragment], p.Moods[text.Wish] = true, true
	var in [text.MoodCount]int
	for _, plain := range tool.Spoken() {
		said := text.Of(plain)
		p.Denies = p.Denies || said.DeniesAct(func(i int) bool { return said.Words[i].Is(text.UndoingWords, text.DroppingWords) })
		p.Others = p.Others || text.OfAnother(said, func(w text.Word) bool { return p.Title[w.Stem] }, p.OrdersBy)
		if m := said.Mood(); !p.Moods[m] {
			p.told = append(p.told, example{said, m, claimsOf(tool, said)})
			in[m]++
		}
	}
	if n := in[text.Question]; n > 1 && 2*n >= len(tool.Spoken()) && p.Undoes == "" { // if most ask, any question calls for it
		p.Moods[text.Question] = true
	}
	p.Moods[text.Question] = p.Moods[text.Question] || tool.ReadOnly != nil && *tool.ReadOnly
	gets := getsThing(described)
	for _, own := range [][]text.Word{named, described} {
		for i := range own {
			p.Moods[text.Question] = p.Moods[text.Question] || !(gets && i == 0) && informs(tool, own, i)
		}
	}
}

// getsThing reports whether a description begins with a verb that gets a new thing, or hands one over: "get a taxi", but not
// "get a list of taxis".
func getsThing(described []text.Word) bool {
	if len(described) < 3 || described[0].Is(text.GivingVerbs) {
		return len(described) > 0 && described[0].Is(text.GivingVerbs)
	}
	return described[0].Is(text.GettingVerbs, text.DeedWords) && described[1].Is(text.IndefiniteWords) && !text.AnyIs(described[2:min(len(described), 5)], text.InformingWords)
}

// claimsOf returns the claims of an example outside its marked values. Another verb of undoing may stand for the tool's own.
func claimsOf(tool *repositories.Tool, said text.Text) []int {
	var marks []annotations.Mark
	for _, marked := range tool.Marked() {
		if marked.Text == said.Said {
			marks = marked.Marks
		}
	}
	return text.Claims(said, func(i int) bool {
		return said.Words[i].Is(text.UndoingWords) || slices.ContainsFunc(marks, func(of annotations.Mark) bool { return said.Words[i].Start < of.To && of.From < said.Words[i].End })
	})
}

// informs reports whether the word at i of a tool's name or description tells that the tool answers. "The shopping list"
// does not, nor does an act of the user: "return the shoes", "give notice".
func informs(tool *repositories.Tool, own []text.Word, i int) bool {
	w := own[i]
	if !w.Is(text.InformingWords) || text.DeedPhrases.PhraseAt(own, i) > 0 || i > 0 && w.Is(text.ActionVerbs, text.DeedWords) {
		return false
	}
	if w.IsForeign(text.InformingWords) && i > 0 && i < len(own)-1 {
		return false // such a verb is first, and last in German names
	}
	const apart = 3 // "check the guest out"
	for at := i + 1; at < min(len(own), i+1+apart); at++ {
		if text.DeedPhrases.Has(w.Norm + " " + own[at].Norm) {
			return false
		}
	}
	if !w.Is(text.DeedWords) {
		return true
	}
	if next := own[i+1 : min(len(own), i+2)]; len(next) > 0 && text.ActingOf(next).Acts != nil {
		return false // "give refund"
	}
	return !slices.ContainsFunc(tool.Spoken(), func(said string) bool { // "I want to return the shoes", but "return the balance", "give me the weather"
		words := text.Split(said)
		at := slices.IndexFunc(words, func(of text.Word) bool { return of.Norm == w.Norm })
		return at > 0 && at+1 < len(words) && !words[at+1].Is(text.PolitePersons)
	})
}

// Called reports whether a text in a mood may call for the tool. A question or a statement does if an example of
// its mood is similar, or if it tells of the trouble that the tool solves: "I have lost my card" calls for the tool
// that blocks one.
func (p *Document) Called(said text.Text, m text.Mood) bool {
	if p.Moods[m] || m == text.Statement && (p.Mends(said.Words) || p.Moods[text.Question] && said.IsName()) {
		return true
	}
	other := m == text.Statement && len(p.told) > 0 && text.AboutAnother(said, func(w text.Word) bool { return p.Known[w.Stem] })
	return slices.ContainsFunc(p.told, func(e example) bool {
		if other && text.AboutSpeaker(e.Text) {
			return false // "I am ill" is not said by "Anna is ill"
		}
		claims := e.mood == text.Statement && m == text.Fragment && len(e.claims) > 0 // "our luggage is missing"
		return (e.mood == m || claims) && e.like(said, p.Name)
	})
}

// like reports whether a text shares the example's words beside the tool's name, or its question word. A statement says the
// same of a thing: "my bag is here" and "my suitcase arrived" are not like "my bag is missing" and "my suitcase did not arrive".
func (e example) like(said text.Text, name map[string]bool) bool {
	if e.mood == text.Statement && len(e.claims) > 0 {
		return slices.ContainsFunc(e.claims, func(i int) bool { return text.SaysSame(e.Text, i, said) })
	}
	opening, other := said.At(said.Opening()), e.At(e.Opening()) // the first words after greetings
	if e.mood == text.Question && opening.Norm != "" && opening.Norm == other.Norm && !opening.Is(text.Auxiliaries) {
		return true
	}
	own := slices.DeleteFunc(slices.Clone(e.Words), func(w text.Word) bool { return !w.IsSubject() || name[w.Stem] })
	if len(own) == 0 { // "I take 10:00"
		words, same := said.Words, func(a, b text.Word) bool { return a.Norm == b.Norm }
		return len(words) > 1 && len(e.Words) > 1 && !words[1].Is(text.StopWords) && slices.EqualFunc(words[:2], e.Words[:2], same)
	}
	return slices.ContainsFunc(own, func(of text.Word) bool {
		return slices.ContainsFunc(said.Words, func(w text.Word) bool { return w.Stem == of.Stem })
	})
}

// Mends reports whether a text tells of trouble that the tool's name and description mention.
func (p *Document) Mends(words []text.Word) bool {
	denied := text.AnyIs(words, text.Negations, text.Denials, text.NegatingParticles)
	for i, w := range words {
		tells := i == 0 || !words[i-1].Is(text.Articles, text.Definites) // but not "the missing card arrived"
		if !denied && w.Is(text.TroubleWords) && (p.Title[w.Stem] || tells && p.troubles(w)) || p.Title[w.Stem] && w.Is(text.FailingVerbs) && denied {
			return true
		}
	}
	return false
}

// troubles reports whether the tool's name and description mention trouble of the same topic: "stole" for "stolen".
func (p *Document) troubles(w text.Word) bool {
	return slices.ContainsFunc(p.trouble, func(own text.Word) bool {
		return slices.ContainsFunc(text.Topics(own), func(topic uint64) bool { return slices.Contains(text.Topics(w), topic) })
	})
}

// Relates reports whether the tool's words include the word's root, one of its topics, or what the thing holds.
func (p *Document) Relates(w text.Word) bool {
	return p.Known[text.Root(w.Stem)] || p.Known[text.HeldIn(w)] || slices.ContainsFunc(text.Topics(w), func(topic uint64) bool { return p.Topics[topic] })
}

// typoLength is the minimum length in bytes of a word that may be a typing error: shorter ones, such as boat and
// goat, are often two words.
const typoLength = 5

// Knows reports whether the tool's words have the stem, or one that differs by a typing error.
func (p *Document) Knows(stem string) bool {
	if p.Known[stem] || len(stem) < typoLength {
		return p.Known[stem]
	}
	for known := range p.Known {
		if ok, _ := text.Typo(known, stem); ok && len(known) >= typoLength {
			return true
		}
	}
	return false
}
