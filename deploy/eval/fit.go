package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"earshot/matcher/offline"
)

var bars = []struct {
	name  string
	least float64
}{{"likely", offline.Likely}, {"certain", offline.Certain}, {"sure", offline.Sure}}

// fit prints the weights of matcher/offline's confidence as Go, and the rates at the thresholds; the same each time.
func fit(folder string) error {
	speech, err := spokenSet(folder)
	if err != nil {
		return err
	}
	calls, err := calledSet(folder)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(17, 1))
	size := func() int { return int(fewest * math.Exp(random.Float64()*math.Log(most/fewest))) } // as many have 2 to 4 tools as have 75 to 150
	var all []sample
	for range spoken {
		s := scope{size: size(), examples: numbers[random.IntN(len(numbers))], free: random.IntN(2) == 0}
		all = append(all, s.judged(random, speech, within, without)...)
	}
	for range calling {
		all = append(all, scope{size: size()}.judged(random, calls, within, without)...)
	}
	base, weights := fitted(all)
	fmt.Printf("var base, weights = %.2f, Signs{\n", base)
	for i, name := range offline.SignNames {
		fmt.Printf("\t%s: %.2f,\n", name, weights[i])
	}
	fmt.Println("}")
	printRates(speech, calls)
	return nil
}

const (
	ridge = 1 // keeps weights small that the samples say little of
	steps = 25
)

// fitted finds the weights under which what was right is likeliest (logistic regression).
func fitted(samples []sample) (base float64, weights []float64) {
	all := make([]float64, 1+len(offline.Signs{}))
	for range steps {
		slope, bend := curve(samples, all)
		for i, step := range solve(bend, slope) {
			all[i] += step
		}
	}
	return all[0], all[1:]
}

func curve(samples []sample, weights []float64) (slope []float64, bend [][]float64) {
	n := len(weights)
	slope, bend = make([]float64, n), make([][]float64, n)
	for i := range n {
		bend[i] = make([]float64, n)
		if i > 0 {
			slope[i], bend[i][i] = -ridge*weights[i], ridge
		}
	}
	for _, s := range samples {
		row := append([]float64{1}, s.signs[:]...)
		is := probability(weights, row)
		missed := -is
		if s.right {
			missed++
		}
		for i := range n {
			slope[i] += s.weight * missed * row[i]
			for j := range n {
				bend[i][j] += s.weight * is * (1 - is) * row[i] * row[j]
			}
		}
	}
	return slope, bend
}

func probability(weights, row []float64) float64 {
	z := 0.0
	for i, weight := range weights {
		z += weight * row[i]
	}
	return 1 / (1 + math.Exp(-z))
}

// solve solves linear equations by elimination. They are overwritten.
func solve(a [][]float64, b []float64) []float64 {
	for i := range b {
		for below := i + 1; below < len(b); below++ {
			factor := a[below][i] / a[i][i] // no row need be exchanged: a bend is positive definite
			for j := i; j < len(b); j++ {
				a[below][j] -= factor * a[i][j]
			}
			b[below] -= factor * b[i]
		}
	}
	for i := len(b) - 1; i >= 0; i-- {
		for j := i + 1; j < len(b); j++ {
			b[i] -= a[i][j] * b[j]
		}
		b[i] /= a[i][i]
	}
	return b
}

var measured = []struct {
	name  string
	scope scope
	calls bool // of BFCL
}{
	{"CLINC, 150 tools, 10 examples", scope{150, 10, false}, false},
	{"CLINC, 150 tools, 10 examples, with text", scope{150, 10, true}, false},
	{"CLINC, 64 tools, 10 examples", scope{64, 10, false}, false},
	{"CLINC, 64 tools, 5 examples, with text", scope{64, 5, true}, false},
	{"CLINC, 7 tools, 10 examples, with text", scope{7, 10, true}, false},
	{"CLINC, 6 tools, 2 examples", scope{6, 2, false}, false},
	{"CLINC, 6 tools, no examples", scope{6, 0, false}, false},
	{"CLINC, 150 tools, no examples", scope{150, 0, false}, false},
	{"BFCL, 6 tools", scope{6, 0, false}, true},
	{"BFCL, 60 tools", scope{60, 0, false}, true},
}

const judgedTexts = 3000

// printRates prints, in percent for each scope, right and wrong tools, silence, decisions without a model, and wrong ones.
func printRates(speech, calls set) {
	fmt.Printf("\n%-42s %-7s", "right/wrong/silent in %", "nearest")
	for _, bar := range bars {
		fmt.Printf(" %-16s", bar.name)
	}
	fmt.Println()
	for i, kind := range measured {
		random, from := rand.New(rand.NewPCG(5, uint64(i))), speech
		if kind.calls {
			from = calls
		}
		var all []sample
		for len(all) < judgedTexts {
			all = append(all, kind.scope.judged(random, from, 20*kind.scope.size, 10*kind.scope.size)...)
		}
		fmt.Printf("%-42s %.1f   ", kind.name, rates(all, 0).right)
		for _, bar := range bars {
			r := rates(all, bar.least)
			fmt.Printf(" %-16s", fmt.Sprintf("%.1f/%.1f/%.1f", r.right, r.wrong, r.silent))
		}
		r := rates(all, offline.Sure)
		fmt.Printf(" %.1f, %.2f\n", r.decided, r.wrongly)
	}
}

type rate struct{ right, wrong, silent, decided, wrongly float64 }

// rates are percentages: right and wrong of texts for a tool, silent of the others, decided of all, wrong of the decided.
func rates(samples []sample, least float64) (r rate) {
	var in, out float64
	for _, s := range samples {
		fires := s.signs.Probability() >= least
		switch {
		case !s.within && !fires:
			r.silent++
		case s.within && fires && s.right:
			r.right++
		case s.within && fires:
			r.wrong++
		}
		if fires {
			r.decided++
		}
		if fires && !s.right {
			r.wrongly++
		}
		if s.within {
			in++
		} else {
			out++
		}
	}
	all := float64(len(samples))
	return rate{100 * r.right / max(in, 1), 100 * r.wrong / max(in, 1), 100 * r.silent / max(out, 1), 100 * r.decided / all, 100 * r.wrongly / max(r.decided, 1)}
}
