package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"earshot/matcher"
	"earshot/matcher/offline"
	"earshot/matcher/retrieval"
	"earshot/matcher/text"
	"earshot/repositories"
)

// sample is a text that was compared with the tools of a scope.
type sample struct {
	signs  offline.Signs
	right  bool // the nearest tool is meant
	within bool // one of the scope's tools is meant
	weight float64
}

// The scopes that are made, and what is said in each.
const (
	spoken  = 320 // scopes of CLINC150
	calling = 80  // scopes of BFCL
	fewest  = 2   // tools
	most    = 150
	within  = 100 // texts that call for a tool in scope
	without = 60  // texts that call for none
	// outside is the weight of a text that calls for none: with it about a fifth do.
	outside = 0.5
	// plain is its weight where tools have few examples. Such scopes are those of beginners,
	// who first say what the tools are for.
	plain = 0.25
)

// numbers of examples, each as often as it stands here.
var numbers = []int{0, 0, 2, 5, 10, 10, 10, 20}

// drawn makes scopes of both sets, of many sizes, and judges what is said to them.
func drawn(random *rand.Rand, speech, calls set) []sample {
	var all []sample
	for range spoken {
		s := scope{size: size(random), examples: numbers[random.IntN(len(numbers))], free: random.IntN(2) == 0}
		all = append(all, s.judged(random, speech, within, without)...)
	}
	for range calling {
		all = append(all, scope{size: size(random)}.judged(random, calls, within, without)...)
	}
	return all
}

// size is how many tools a scope has: as often 2 to 4 as 75 to 150.
func size(random *rand.Rand) int {
	return int(fewest * math.Exp(random.Float64()*math.Log(most/fewest)))
}

// scope is a kind of scopes.
type scope struct {
	size, examples int
	free           bool // tools that would take text of any kind do
}

// judged makes a scope and judges so many texts that call for a tool in it, and for none.
func (s scope) judged(random *rand.Rand, from set, in, out int) []sample {
	candidates := inScope(s.tools(random, from))
	request, index := matcher.Request{Candidates: candidates}, retrieval.NewCache()
	meant, others := texts(from, candidates)
	var all []sample
	for _, one := range append(some(random, meant, in), some(random, others, out)...) {
		request.Text = one.text
		judged := judge(index.Of(request), request, one.tool)
		judged.weight = 1
		if one.tool == "" {
			judged.weight = outside
			if s.examples < 5 {
				judged.weight = plain
			}
		}
		all = append(all, judged)
	}
	return all
}

// anyText is a parameter that takes text of any kind.
var anyText = json.RawMessage(`{"type":"object","properties":{"what":{"type":"string","description":"What it is about"}}}`)

// takesText are tools of CLINC150 that would take text of any kind: its own have no parameters.
var takesText = strings.Fields(`translate weather play_music directions restaurant_suggestion book_flight reminder_update
	todo_list_update shopping_list_update calendar_update restaurant_reservation update_playlist definition spelling calories recipe
	ingredients_list nutrition_info traffic distance make_call text accept_reservations book_hotel calendar cook_time exchange_rate
	flight_status how_busy ingredient_substitution international_visa meal_suggestion restaurant_reviews schedule_meeting
	share_location smart_home time timezone todo_list transfer travel_alert travel_suggestion vaccines`)

// tools picks the tools of a scope.
func (s scope) tools(random *rand.Rand, from set) []tool {
	picked := some(random, from.tools, s.size)
	for i, one := range picked {
		if from.examples != nil && s.examples != len(one.Examples) {
			picked[i].Examples = some(random, from.examples[one.Name], s.examples)
		}
		if s.free && slices.Contains(takesText, one.Name) {
			picked[i].Parameters = anyText
		}
	}
	return picked
}

// inScope brings tools into scope, but for those whose definitions have faults.
func inScope(tools []tool) []matcher.Candidate {
	var all []matcher.Candidate
	for i, one := range tools {
		body, err := json.Marshal(map[string]any{"tools": []tool{one}})
		if err != nil {
			panic(err) // a tool that was read can be written
		}
		repository, err := repositories.DecodeRepository(repositories.Scope{AppID: "fit"}, "r", body)
		if err != nil {
			continue
		}
		repository.Revision = fmt.Sprint(i)
		all = append(all, matcher.Candidate{Repository: repository, Tool: &repository.Tools[0]})
	}
	slices.SortFunc(all, func(a, b matcher.Candidate) int { return strings.Compare(a.Tool.Name, b.Tool.Name) })
	return all
}

// utterance is what somebody says, and the tool that it calls for; none where that is empty.
type utterance struct{ text, tool string }

// texts lists what is said to the candidates, and what calls for none of them: what is said to
// other tools, and as much again that calls for none at all.
func texts(from set, candidates []matcher.Candidate) (meant, others []utterance) {
	in := map[string]bool{}
	for _, c := range candidates {
		in[c.Tool.Name] = true
	}
	for _, one := range from.tools {
		for _, said := range from.said[one.Name] {
			if in[one.Name] {
				meant = append(meant, utterance{said, one.Name})
			} else {
				others = append(others, utterance{said, ""})
			}
		}
	}
	for i := range max(len(others), len(from.none)) {
		others = append(others, utterance{from.none[i%len(from.none)], ""})
	}
	return meant, others
}

func judge(in retrieval.Scope, request matcher.Request, meant string) sample {
	words := in.Spelled(text.Split(request.Text))
	nearest := in.Nearest(words, offline.Compared)
	if len(nearest) == 0 {
		return sample{within: meant != ""}
	}
	found := request.Candidates[nearest[0].Place].Tool.Name
	return sample{signs: offline.SignsOf(in, nearest, text.Text{Said: request.Text, Words: words}, text.Text{Said: request.Text, Words: words}.Mood()), right: found == meant, within: meant != ""}
}

// some picks n of all.
func some[T any](random *rand.Rand, all []T, n int) []T {
	picked := make([]T, 0, n)
	for _, i := range random.Perm(len(all))[:min(n, len(all))] {
		picked = append(picked, all[i])
	}
	return picked
}
