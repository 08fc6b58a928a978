package confidence

import "math"

// base and weights are those of a logistic model, as matcher/offline/fit prints them: the
// probability of a text with these signs is how often the nearest tool was meant by such texts,
// over scopes of 2 to 150 tools with 0 to 20 examples, from many fields, and texts of which a
// fifth call for none of them.
var base, weights = -4.82, Signs{
	similarity:     2.30,
	lead:           5.99,
	known:          0.84,
	anybody:        0.42,
	all:            2.37,
	named:          -0.21,
	foreignMood:    -0.52,
	open:           -0.92,
	bare:           0.87,
	bareSimilarity: 0.38,
	bareLead:       -0.97,
	bareKnown:      -0.14,
	bareNamed:      -0.25,
	only:           2.11,
	length:         0.14,
	bareMood:       0.15,
	bareOnly:       -0.49,
}

// The probabilities from which a tool fires. Where 150 tools of ten examples compete, from
// Certain on 65 of 100 texts of CLINC150's development part fire the tool that they mean and 3
// another one, and 96 of 100 that mean none fire none; from Likely on it is 72, 6 and 88. What speaks
// against a tool (package offline) leaves 64, 3 and 96, and 68, 5 and 89: its price is there,
// its gain in what people say of things that they do not want. Of
// what is decided from Sure on, 5 in 1,000 are decided wrongly: there no model need be asked.
const (
	Likely  = 0.54
	Certain = 0.72
	Sure    = 0.995
)

// Probability is how probable it is that a text with these signs calls for the tool.
func (s *Signs) Probability() float64 {
	z := base
	for i, sign := range s {
		z += weights[i] * sign
	}
	return 1 / (1 + math.Exp(-z))
}
