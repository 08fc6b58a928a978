// Package confidence says how sure the words of a text are of the tool that they are nearest
// to.
package confidence

import (
	"maps"
	"math"
	"slices"
	"strings"

	"earshot/matcher/retrieval"
	"earshot/matcher/text"
)

// Signs tell whether a text calls for the tool that is nearest to it.
type Signs [signCount]float64

// The signs, each from 0 to about 1.
const (
	similarity  = iota // how like the tool's words the text is, leaving out what nobody knows
	lead               // how far that is ahead of the next tool
	known              // share of the text's subjects that the tool knows, by how much they say
	anybody            // the same for any tool in scope
	all                // share of all the words of the text, function words included
	named              // share of the tool's name that the text has
	foreignMood        // 1 where the text is in a mood that the tool's examples are not in
	open               // share of subjects nobody knows, where the tool takes free text
	bare               // 1 for a tool without examples, falling with their number
	bareSimilarity
	bareLead
	bareKnown
	bareNamed
	only   // its share of the likeness among the nearest tools, the near ones counting most
	length // how long the text is, as a logarithm
	bareMood
	bareOnly
	signCount
)

// leastRival is the assumed similarity of everything else that people talk about: it keeps
// the only tool in scope from winning for lack of competition.
const leastRival float32 = 0.1

// Of reads the signs of a text whose nearest tools are given, the nearest first.
func Of(scope retrieval.Scope, nearest []retrieval.Near, said string, words []text.Word) (s Signs) {
	p := nearest[0].Document()
	s[similarity], s[lead] = float64(nearest[0].Score), float64(Lead(nearest))
	s.cover(scope, p, words)
	s[named] = spokenOf(scope, p.Name, words)
	if !p.Called(text.Text{Said: said, Words: words}.Mood(), words) {
		s[foreignMood] = 1
	}
	var likeness float64
	for _, near := range nearest {
		likeness += math.Exp(sharpness * float64(near.Score-nearest[0].Score))
	}
	s[only], s[length] = 1/likeness, math.Log(float64(len(words)))
	s[bare] = 1 / float64(1+p.Examples)
	s[bareSimilarity], s[bareLead] = s[bare]*s[similarity], s[bare]*s[lead]
	s[bareKnown], s[bareNamed] = s[bare]*s[known], s[bare]*s[named]
	s[bareMood], s[bareOnly] = s[bare]*s[foreignMood], s[bare]*s[only]
	return s
}

// sharpness is how fast the likeness of a tool loses weight the farther it is behind the first.
const sharpness = 12

// cover reads the signs that are shares of the text's words.
func (s *Signs) cover(scope retrieval.Scope, p *retrieval.Document, words []text.Word) {
	var total, own, anyone, every float64
	for _, w := range words {
		if p.Known[w.Stem] {
			every++
		}
		listed := text.StartsWithDigit(w.Norm) && p.Known[w.Stem] // "I take 11:30" is about that where it can be chosen
		if !w.IsSubject() && !listed {
			continue
		}
		rarity, somebody := scope.Rarity(w.Stem)
		weight := float64(rarity)
		total += weight
		switch {
		case p.Known[w.Stem]:
			own += weight
			somebody = true
		case p.Relates(w):
			own += relatedWeight * weight
			somebody = true
		}
		if somebody {
			anyone += weight
		}
	}
	s[all] = every / float64(max(len(words), 1))
	if p.FreeText && total > 0 {
		s[open], total = (total-anyone)/total, anyone
	}
	if total > 0 {
		s[known], s[anybody] = own/total, anyone/total
	}
}

// spokenOf is which share of a tool's name the text has, by how much its words say.
func spokenOf(scope retrieval.Scope, name map[string]bool, words []text.Word) float64 {
	var total, spoken float64
	for _, stem := range slices.Sorted(maps.Keys(name)) {
		rarity, _ := scope.Rarity(stem)
		total += float64(rarity)
		if slices.ContainsFunc(words, func(w text.Word) bool { return w.Stem == stem }) {
			spoken += float64(rarity)
		}
	}
	return spoken / max(total, 1e-9)
}

// relatedWeight is what a word counts that is about the same as one of the tool's.
const relatedWeight = 0.7

// Compared is how many of the nearest tools are looked at.
const Compared = 8

// names are those of the signs, in their order.
const names = `similarity lead known anybody all named foreignMood open bare bareSimilarity bareLead bareKnown bareNamed
	only length bareMood bareOnly`

// Names returns the names of the signs, in their order.
func Names() []string { return strings.Fields(names) }

// Lead is how far the nearest is ahead of the next.
func Lead(nearest []retrieval.Near) float32 {
	second := leastRival
	if len(nearest) > 1 {
		second = max(second, nearest[1].Score)
	}
	return nearest[0].Score - second
}

// Strange reports whether the tool knows nothing of what the text is about, and has not the
// same words either: "what is up?" may greet, though no word of it carries a subject.
func (s *Signs) Strange() bool { return s[known] == 0 && s[similarity] < sameWords }

// sameWords is the likeness of a text that says what a tool's own words say.
const sameWords = 0.75
