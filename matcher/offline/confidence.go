package offline

import (
	"maps"
	"math"
	"slices"

	"earshot/matcher/retrieval"
	"earshot/matcher/text"
)

// Signs tell whether a text calls for the tool that is nearest to it.
type Signs [signCount]float64

// The signs, each from 0 to about 1.
const (
	signSimilarity  = iota // how like the tool's words the text is, leaving out what nobody knows
	signLead               // how far that is ahead of the next tool
	signKnown              // share of the text's subjects that the tool knows, by how much they say
	signAnybody            // the same for any tool in scope
	signAll                // share of all the words of the text, function words included
	signNamed              // share of the tool's name that the text has
	signForeignMood        // 1 where the text is in a mood that the tool's examples are not in
	signOpen               // share of subjects nobody knows, where the tool takes free text
	signBare               // 1 for a tool without examples, falling with their number
	signBareSimilarity
	signBareLead
	signBareKnown
	signBareNamed
	signOnly   // its share of the likeness among the nearest tools, the near ones counting most
	signLength // how long the text is, as a logarithm
	signBareMood
	signBareOnly
	signCount
)

// SignNames are the names of the signs, in their order.
var SignNames = [signCount]string{
	"signSimilarity", "signLead", "signKnown", "signAnybody", "signAll", "signNamed", "signForeignMood", "signOpen", "signBare",
	"signBareSimilarity", "signBareLead", "signBareKnown", "signBareNamed", "signOnly", "signLength", "signBareMood", "signBareOnly",
}

// base and weights are those of a logistic model, as `go run ./deploy/eval fit` prints them: the
// probability of a text with these signs is how often the nearest tool was meant by such texts,
// over scopes of 2 to 150 tools with 0 to 20 examples, from many fields, and texts of which a
// fifth call for none of them.
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

// The probabilities from which a tool fires. Where 150 tools of ten examples compete, from
// Certain on 65 of 100 texts of CLINC150's development part fire the tool that they mean and 3
// another one, and 96 of 100 that mean none fire none; from Likely on it is 72, 6 and 88. What speaks
// against a tool leaves 64, 3 and 96, and 68, 5 and 89: its price is there,
// its gain in what people say of things that they do not want. Of
// what is decided from Sure on, 5 in 1,000 are decided wrongly: there no model need be asked.
const (
	Likely  = 0.54
	Certain = 0.72
	Sure    = 0.995
)

// Compared is how many of the nearest tools are looked at.
const Compared = 8

const (
	// leastRival is the assumed similarity of everything else that people talk about: it keeps
	// the only tool in scope from winning for lack of competition.
	leastRival float32 = 0.1
	// sharpness is how fast the likeness of a tool loses weight the farther it is behind the first.
	sharpness = 12
	// relatedWeight is what a word counts that is about the same as one of the tool's.
	relatedWeight = 0.7
	// sameWords is the likeness of a text that says what a tool's own words say.
	sameWords = 0.75
)

// SignsOf reads the signs of a text in a mood, whose nearest tools are given, the nearest first.
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
	s[signAll] = every / float64(max(len(words), 1))
	if p.FreeText && total > 0 {
		s[signOpen], total = (total-anyone)/total, anyone
	}
	if total > 0 {
		s[signKnown], s[signAnybody] = own/total, anyone/total
	}
}

// leadOf is how far the nearest is ahead of the next.
func leadOf(nearest []retrieval.Near) float32 {
	second := leastRival
	if len(nearest) > 1 {
		second = max(second, nearest[1].Score)
	}
	return nearest[0].Score - second
}

// Probability is how probable it is that a text with these signs calls for the tool.
func (s *Signs) Probability() float64 {
	z := base
	for i, sign := range s {
		z += weights[i] * sign
	}
	return 1 / (1 + math.Exp(-z))
}

// strange reports whether the tool knows nothing of what the text is about, and has not the
// same words either: "what is up?" may greet, though no word of it carries a subject.
func (s *Signs) strange() bool { return s[signKnown] == 0 && s[signSimilarity] < sameWords }
