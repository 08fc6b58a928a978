package main

import (
	"fmt"
	"math/rand/v2"

	"earshot/matcher/offline"
)

// measured are the kinds of scopes for which it is printed what the words decide.
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

// judgedTexts are so many for each kind, over as many scopes as it takes.
const judgedTexts = 3000

// measure prints for each kind of scope which percentage of the texts that call for a tool fire it,
// and another one, and which percentage of those that call for none fire none. At the end of a
// line stands which percentage of all texts is decided without a model, and of these wrongly.
func measure(speech, calls set) {
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
		decided, wrongly := sure(all)
		fmt.Printf(" %.1f, %.2f\n", decided, wrongly)
	}
}

// rate are percentages.
type rate struct{ right, wrong, silent float64 }

// rates counts what comes of samples where the least probability is enough.
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
		if s.within {
			in++
		} else {
			out++
		}
	}
	return rate{100 * r.right / max(in, 1), 100 * r.wrong / max(in, 1), 100 * r.silent / max(out, 1)}
}

// sure is which percentage of the samples is decided without a model, and of these wrongly.
func sure(samples []sample) (decided, wrongly float64) {
	for _, s := range samples {
		if s.signs.Probability() < offline.Sure {
			continue
		}
		decided++
		if !s.right {
			wrongly++
		}
	}
	return 100 * decided / float64(len(samples)), 100 * wrongly / max(decided, 1)
}
