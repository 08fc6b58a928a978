package retrieval

import (
	"slices"

	"earshot/matcher/shown"
	"earshot/matcher/text"
	"earshot/repositories"
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
	// Moods are the moods of sentences that call for the tool.
	Moods [text.MoodCount]bool
	// Topics holds what these words are about.
	Topics map[uint64]bool
	// Examples is how many the tool has.
	Examples int
	// Undoes is the stem of the word in the tool's name by which it undoes or drops what it
	// is about; empty for most tools.
	Undoes string
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
	p.hear(tool)
	for _, said := range parameterTexts(tool) {
		p.learn(said)
	}
	for _, w := range text.Split(text.Identifier(tool.Name) + " " + tool.Description) {
		p.Title[w.Stem] = true
	}
	for _, w := range text.Split(text.Identifier(tool.Name)) {
		if text.UndoingWords.Has(w.Norm) || text.DroppingWords.Has(w.Norm) {
			p.Undoes = w.Stem
		}
	}
	p.FreeText = slices.ContainsFunc(shown.Parameters(tool.Params()), freeText)
	return p
}

// hear finds the moods of the tool's examples. Orders and wishes call for any tool;
// questions also call for one whose own words say that it informs.
func (p *Document) hear(tool *repositories.Tool) {
	p.Moods[text.Fragment], p.Moods[text.Wish] = true, true
	for _, example := range tool.Spoken() {
		p.Moods[text.MoodOf(example, text.Split(example))] = true
	}
	for _, own := range []string{text.Identifier(tool.Name), tool.Description} {
		for i, w := range text.Split(own) {
			if text.InformingWords.Has(w.Norm) && (i == 0 || !text.ActionVerbs.Has(w.Norm)) { // "the shopping list" informs of nothing
				p.Moods[text.Question] = true
			}
		}
	}
}

// Called reports whether a text in a mood may call for the tool. One that tells does so where it
// tells of the trouble that the tool is for: "I have lost my card" calls for what blocks a lost one.
func (p *Document) Called(m text.Mood, words []text.Word) bool {
	return p.Moods[m] || m == text.Statement && p.Mends(words)
}

// Mends reports whether a text tells of trouble that the tool's name and description speak of.
func (p *Document) Mends(words []text.Word) bool {
	denied := slices.ContainsFunc(words, func(w text.Word) bool { return text.Negations.Has(w.Norm) || text.Denials.Has(w.Norm) })
	return slices.ContainsFunc(words, func(w text.Word) bool {
		return p.Title[w.Stem] && (text.TroubleWords.Has(w.Norm) && !denied || text.FailingVerbs.Has(w.Norm) && denied)
	})
}

// freeText reports whether a parameter takes text of any kind, and is not named for a form
// that its values have.
func freeText(parameter shown.Parameter) bool {
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
		if text.IsSubject(w) {
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
