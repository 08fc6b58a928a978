package retrieval

import (
	"slices"

	"earshot/matcher"
	"earshot/matcher/text"
	"earshot/repositories"
	"earshot/repositories/parameters"
)

// Document is a tool in the index: its own words, by the field that they come from.
type Document struct {
	// Name holds the stems of the tool's name that carry a subject, or those of its
	// description where the name has none.
	Name map[string]bool
	// Known holds every stem that the tool's name, description, examples and
	// parameters use, function words included.
	Known map[string]bool
	// Title holds every stem of its name and description.
	Title map[string]bool
	// Moods are the moods of sentences that call for the tool, whatever they say.
	Moods [text.MoodCount]bool
	// told are those of its examples that ask or tell.
	told []telling
	// Topics holds what these words are about.
	Topics map[uint64]bool
	// Examples is how many the tool has.
	Examples int
	// Undoes is the stem of the word in the tool's name by which it undoes or drops what it
	// is about; empty for most tools.
	Undoes string
	// Gives is whether the tool gets or makes what it is about: it books, orders, subscribes.
	Gives bool
	// Drops is whether its name and description say that it takes things away, beside others that it
	// may do: "add or remove items".
	Drops bool
	// FreeText is whether a parameter takes text of any kind: words that nobody knows may be
	// its value.
	FreeText bool
}

func newDocument(tool *repositories.Tool) Document {
	p := Document{Name: text.Subjects(text.Identifier(tool.Name)), Known: map[string]bool{}, Topics: map[uint64]bool{}, Title: map[string]bool{}}
	if len(p.Name) == 0 {
		p.Name = text.Subjects(tool.Description)
	}
	for _, sample := range samplesOf(tool) {
		p.learn(sample)
	}
	p.Examples = len(tool.Examples)
	for _, said := range parameterTexts(tool) {
		p.learn(said)
	}
	for _, w := range text.Split(text.Identifier(tool.Name) + " " + tool.Description) {
		p.Title[w.Stem] = true
		p.Drops = p.Drops || w.Is(text.DroppingWords) && w.Is(text.ActionVerbs)
	}
	for _, w := range text.Split(text.Identifier(tool.Name)) {
		if w.Is(text.UndoingWords, text.DroppingWords) {
			p.Undoes = w.Stem
		}
	}
	p.Gives = p.Undoes == "" && gives(tool)
	p.hear(tool)
	p.FreeText = slices.ContainsFunc(matcher.Shown(tool.Params()), freeText)
	return p
}

// gives reports whether the tool's description, or its name, begins with a verb of giving; German has
// it at the end.
func gives(tool *repositories.Tool) bool {
	const most = 4
	told, name := text.Split(tool.Description), text.Split(text.Identifier(tool.Name))
	if len(told) > 0 && told[0].Is(text.InformingWords) || len(name) > 1 && name[len(name)-1].Is(text.InformingWords) {
		return false
	}
	for _, words := range [][]text.Word{told, name} {
		if slices.ContainsFunc(words[:min(most, len(words))], takes) { // "add or remove items"
			return false
		}
		for i, w := range words {
			if (i < most || i == len(words)-1) && w.StemIs(text.GivingVerbs) {
				return true
			}
		}
	}
	return false
}

// takes reports whether a verb is of a tool that takes away or alters as well.
func takes(w text.Word) bool {
	return w.Is(text.DroppingWords, text.UndoingWords, text.AlteringWords)
}

// hear finds the moods of the tool's examples. Orders and wishes call for any tool;
// questions also call for one whose own words say that it informs.
func (p *Document) hear(tool *repositories.Tool) {
	p.Moods[text.Fragment], p.Moods[text.Wish] = true, true
	for _, example := range tool.Spoken() {
		words := text.Split(example)
		if m := (text.Text{Said: example, Words: words}).Mood(); !p.Moods[m] {
			p.told = append(p.told, telling{m, words})
		}
	}
	for m := range p.Moods { // most of them ask: so does what calls for it
		if n := p.examplesIn(text.Mood(m)); n > 1 && 2*n >= len(tool.Spoken()) && p.Undoes == "" {
			p.Moods[m] = true
		}
	}
	for _, own := range []string{text.Identifier(tool.Name), tool.Description} {
		for i, w := range text.Split(own) {
			if w.Is(text.InformingWords) && (i == 0 || !w.Is(text.ActionVerbs)) { // "the shopping list" informs of nothing
				p.Moods[text.Question] = true
			}
		}
	}
}

func (p *Document) examplesIn(m text.Mood) (n int) {
	for _, example := range p.told {
		if example.Mood == m {
			n++
		}
	}
	return n
}

// telling is an example that asks or tells.
type telling struct {
	text.Mood
	words []text.Word
}

// Called reports whether a text in a mood may call for the tool. One that asks or tells does so where
// an example does that in its words, and where it tells of the trouble that the tool is for: "I have
// lost my card" calls for what blocks a lost one.
func (p *Document) Called(said text.Text, m text.Mood) bool {
	words := said.Words
	return p.Moods[m] || m == text.Statement && (p.Mends(words) || p.Moods[text.Question] && said.IsName()) || slices.ContainsFunc(p.told, func(example telling) bool {
		return example.Mood == m && example.like(words, p.Name)
	})
}

// like reports whether a text says what the example does, other than the tool's name, or asks with the
// same word.
func (t telling) like(words []text.Word, name map[string]bool) bool {
	if first, other := (text.Text{Words: words}).Opening(), (text.Text{Words: t.words}).Opening(); t.Mood == text.Question && first >= 0 && other >= 0 {
		if opening := words[first].Norm; opening == t.words[other].Norm && !text.Auxiliaries.Has(opening) {
			return true
		}
	}
	own := slices.DeleteFunc(slices.Clone(t.words), func(w text.Word) bool { return !w.IsSubject() || name[w.Stem] })
	if len(own) == 0 { // "I take 10:00"
		return len(words) > 1 && len(t.words) > 1 && !words[1].Is(text.StopWords) && words[0].Norm == t.words[0].Norm && words[1].Norm == t.words[1].Norm
	}
	return slices.ContainsFunc(own, func(of text.Word) bool {
		return slices.ContainsFunc(words, func(w text.Word) bool { return w.Stem == of.Stem })
	})
}

// Mends reports whether a text tells of trouble that the tool's name and description speak of.
func (p *Document) Mends(words []text.Word) bool {
	denied := text.AnyIs(words, text.Negations, text.Denials, text.NegatingParticles)
	return slices.ContainsFunc(words, func(w text.Word) bool {
		return p.Title[w.Stem] && (w.Is(text.TroubleWords) && !denied || w.Is(text.FailingVerbs) && denied)
	})
}

// freeText reports whether a parameter takes text of any kind, and is not named for a form
// that its values have.
func freeText(parameter parameters.Parameter) bool {
	if parameter.Type != "string" || len(parameter.Allowed) > 0 {
		return false
	}
	for _, w := range text.Split(text.Identifier(parameter.Name)) {
		for _, names := range []text.List{text.DateNames, text.ClockNames, text.AmountNames, text.EmailNames, text.LinkNames, text.PhoneNames} {
			if names.Has(w.Norm) {
				return false
			}
		}
	}
	return true
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

// Relates reports whether the tool's words are about the same as the word, though it is none
// of them.
func (p *Document) Relates(w text.Word) bool {
	return p.Known[text.Root(w.Stem)] || slices.ContainsFunc(text.Topics(w), func(topic uint64) bool { return p.Topics[topic] })
}

// Knows reports whether the tool's words have the stem, or one that is a typing error away from
// it.
func (p *Document) Knows(stem string) bool {
	if p.Known[stem] || len(stem) < typoLength {
		return p.Known[stem]
	}
	for known := range p.Known {
		if len(known) >= typoLength && typo(known, stem) {
			return true
		}
	}
	return false
}
