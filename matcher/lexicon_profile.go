package matcher

import (
	"github.com/agext/levenshtein"

	"earshot/repositories"
)

// profile is what a tool's own words are, by where they stand.
type profile struct {
	// name holds the stems of the tool's name that carry a subject, or those of its
	// description where the name has none.
	name map[string]bool
	// known holds every stem that the tool's name, description, examples and
	// parameters use, function words included.
	known map[string]bool
	// title holds every stem of its name and description.
	title map[string]bool
	// moods are those in which the tool is spoken of.
	moods [moods]bool
}

func profileOf(tool *repositories.Tool) profile {
	p := profile{name: subjects(identifier(tool.Name)), known: map[string]bool{}, title: map[string]bool{}}
	if len(p.name) == 0 {
		p.name = subjects(tool.Description)
	}
	for _, sample := range samplesOf(tool) {
		p.learn(sample)
	}
	p.hear(tool)
	for _, parameter := range shown(tool.Params()) {
		p.learn(identifier(parameter.Name) + " " + parameter.Description)
		for _, allowed := range parameter.Allowed {
			if text, ok := allowed.(string); ok {
				p.learn(text)
			}
		}
	}
	for _, w := range split(identifier(tool.Name) + " " + tool.Description) {
		p.title[w.stem] = true
	}
	return p
}

// hear finds the moods of the tool's examples. Orders and wishes call for any tool;
// questions also for one that by its own account informs.
func (p *profile) hear(tool *repositories.Tool) {
	p.moods[fragment], p.moods[request] = true, true
	for _, example := range tool.Examples {
		p.moods[moodOf(example, split(example))] = true
	}
	for _, w := range split(identifier(tool.Name) + " " + tool.Description) {
		if informing[w.norm] {
			p.moods[question] = true
		}
	}
}

// informing are the words by which a tool that answers is known.
var informing = set(`get find check show list tell look lookup search query fetch read retrieve return returns
	calculate compute convert explain compare information info status details whether what when where who how
	describe count estimate forecast define answer give gives provide provides see view available`)

func (p *profile) learn(text string) {
	for _, w := range split(text) {
		p.known[w.stem] = true
	}
}

// covered is the share of the text's subjects that the tool's own words know.
func (p *profile) covered(words []word) float32 {
	var all, known float32
	for _, w := range words {
		if !subject(w) {
			continue
		}
		all++
		if p.knows(w.stem) {
			known++
		}
	}
	return known / max(all, 1)
}

// knows reports whether the tool's words have the stem, or one that is a typing error
// away from it.
func (p *profile) knows(stem string) bool {
	if p.known[stem] || len(stem) < typoLength {
		return p.known[stem]
	}
	for known := range p.known {
		if len(known) >= typoLength && known[0] == stem[0] && levenshtein.Distance(known, stem, nil) <= 1 {
			return true
		}
	}
	return false
}

// typoLength is the length from which two words that differ in one letter are taken
// for one: shorter ones, as boat and goat, are too often two.
const typoLength = 6
