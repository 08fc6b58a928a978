package offline

import (
	"maps"
	"math"
	"slices"

	"earshot/matcher/retrieval"
	"earshot/matcher/text"
)

// Signs are features that tell whether a text calls for its nearest tool.
type Signs [signCount]float64

// The signs, each from 0 to about 1.
const (
	signSimilarity  = iota // similarity to the tool's words, without words that no tool knows
	signLead               // distance to the next tool
	signKnown              // share of the text's subjects that the tool knows, weighted by rarity
	signAnybody            // the same for any tool in scope
	signAll                // share of all words of the text, including function words
	signNamed              // share of the tool's name that is in the text
	signForeignMood        // 1 for a text in a mood that the tool's examples lack
	signOpen               // share of unknown subjects, if the tool takes free text
	signBare               // 1 for a tool without examples, falling with their number
	signBareSimilarity
	signBareLead
	signBareKnown
	signBareNamed
	signOnly   // its share of the similarity among the nearest tools, the near ones counting most
	signLength // logarithm of the text's length
	signBareMood
	signBareOnly
	signCount
)

// SignNames are the names of the signs, in order.
var SignNames = [signCount]string{
	"signSimilarity", "signLead", "signKnown", "signAnybody", "signAll", "signNamed", "signForeignMood", "signOpen", "signBare",
	"signBareSimilarity", "signBareLead", "signBareKnown", "signBareNamed", "signOnly", "signLength", "signBareMood", "signBareOnly",
}

// base and weights are of a logistic model, printed by `go run ./deploy/eval fit`. The probability for signs is how
// often texts with them meant the nearest tool. It was fitted over scopes of 2 to 150 tools with 0 to 20 examples,
// from many fields; a fifth of the texts call for no tool.
var base, weights = -4.82, Signs{
	signSimilarity:     2.30,
	signLead:           5.99,
	signKnown:          0.84,
	signAnybody:        0.42,
	signAll:            2.37,
	signNamed:          -0.21,
	signForeignMood:    -0.52,
	signOpen:           -0.92,
	signBare:           0.87,
	signBareSimilarity: 0.38,
	signBareLead:       -0.97,
	signBareKnown:      -0.14,
	signBareNamed:      -0.25,
	signOnly:           2.11,
	signLength:         0.14,
	signBareMood:       0.15,
	signBareOnly:       -0.49,
}

// Thresholds of the probability. With 150 tools of ten examples, on the development part of CLINC150: from Certain,
// 65 of 100 texts fire the right tool and 3 a wrong one, and 96 of 100 texts without a tool fire none; from Likely
// it is 72, 6 and 88. The rules against a tool make it 64, 3 and 96, and 68, 5 and 89; they pay off for texts about
// unwanted things. From Sure, 5 in 1,000 decisions are wrong, so no model is asked.
const (
	Likely  = 0.54
	Certain = 0.72
	Sure    = 0.995
)

// Compared is how many of the nearest tools are compared.
const Compared = 8

// leastRival is the assumed similarity of everything else that people talk about. It keeps the only tool in
// scope from winning without competition.
const leastRival float32 = 0.1

const (
	sharpness     = 12   // how fast the weight of a tool's similarity falls with its distance to the first
	relatedWeight = 0.7  // the weight of a word related to one of the tool's
	sameWords     = 0.75 // the similarity of a text with the same meaning as a tool's own words
)

// SignsOf returns the signs of a text in a mood, given its nearest tools in order.
func SignsOf(scope retrieval.Scope, nearest []retrieval.Near, said text.Text, mood text.Mood) (s Signs) {
	p := nearest[0].Document()
	s[signSimilarity], s[signLead] = float64(nearest[0].Score), float64(leadOf(nearest))
	s.cover(scope, p, said.Words)
	var name, spoken float64
	for _, stem := range slices.Sorted(maps.Keys(p.Name)) {
		rarity, _ := scope.Rarity(stem)
		name += float64(rarity)
		if slices.ContainsFunc(said.Words, func(w text.Word) bool { return w.Stem == stem }) {
			spoken += float64(rarity)
		}
	}
	s[signNamed] = spoken / max(name, 1e-9)
	if !p.Called(said, mood) {
		s[signForeignMood] = 1
	}
	var likeness float64
	for _, near := range nearest {
		likeness += math.Exp(sharpness * float64(near.Score-nearest[0].Score))
	}
	s[signOnly], s[signLength] = 1/likeness, math.Log(float64(len(said.Words)))
	s[signBare] = 1 / float64(1+p.Examples)
	s[signBareSimilarity], s[signBareLead] = s[signBare]*s[signSimilarity], s[signBare]*s[signLead]
	s[signBareKnown], s[signBareNamed] = s[signBare]*s[signKnown], s[signBare]*s[signNamed]
	s[signBareMood], s[signBareOnly] = s[signBare]*s[signForeignMood], s[signBare]*s[signOnly]
	return s
}

// cover fills in the signs that are shares of the text's words.
func (s *Signs) cover(scope retrieval.Scope, p *retrieval.Document, words []text.Word) {
	var total, own, anyone, every float64
	for _, w := range words {
		if p.Known[w.Stem] {
			every++
		}
		listed := text.StartsWithDigit(w.Norm) && p.Known[w.Stem] // "I take 11:30" is about the time if it is a choice
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
	s[signAll] = every / float64(max(len(words), 1))
	if p.FreeText && total > 0 {
		s[signOpen], total = (total-anyone)/total, anyone
	}
	if total > 0 {
		s[signKnown], s[signAnybody] = own/total, anyone/total
	}
}

// leadOf returns the distance between the nearest tool and the next.
func leadOf(nearest []retrieval.Near) float32 {
	second := leastRival
	if len(nearest) > 1 {
		second = max(second, nearest[1].Score)
	}
	return nearest[0].Score - second
}

// Probability returns the probability that a text with these signs calls for the tool.
func (s *Signs) Probability() float64 {
	z := base
	for i, sign := range s {
		z += weights[i] * sign
	}
	return 1 / (1 + math.Exp(-z))
}

// strange reports whether the tool knows no subject of the text and its words differ too: "what is up?" may greet
// although it has no subject.
func (s *Signs) strange() bool { return s[signKnown] == 0 && s[signSimilarity] < sameWords }
