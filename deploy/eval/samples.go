package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"earshot/matcher"
	"earshot/matcher/evaldata"
	"earshot/matcher/matchertest"
	"earshot/matcher/offline"
	"earshot/matcher/retrieval"
	"earshot/matcher/text"
	"earshot/repositories/lists"
)

type set struct {
	tools    []definition
	said     map[string][]string // by tool
	none     []string            // what calls for none of the tools
	examples map[string][]string // by tool, others than its own; nil if there are none
}

type definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Examples    []string        `json:"examples,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

func spokenSet(folder string) (set, error) {
	s := set{said: map[string][]string{}, examples: map[string][]string{}}
	tools, held, more, err := evaldata.ReadCLINC(folder)
	if err != nil {
		return s, err
	}
	for i, from := range [][]evaldata.Spoken{held, more} {
		for _, c := range from {
			switch into := []map[string][]string{s.said, s.examples}[i]; {
			case c.Tool != nil:
				into[*c.Tool] = append(into[*c.Tool], c.Text)
			case i == 0:
				s.none = append(s.none, c.Text)
			}
		}
	}
	text, err := json.Marshal(tools)
	if err == nil {
		err = json.Unmarshal(text, &s.tools)
	}
	return s, err
}

// longest is the length of a text of BFCL, in bytes: people do not say longer ones.
const longest = 300

// calledSet reads the calls of BFCL, which have parameters: texts that call for one tool or for none.
func calledSet(folder string) (set, error) {
	s, seen := set{said: map[string][]string{}}, map[string]bool{}
	cases, err := matchertest.Read[struct {
		Category string
		Tools    []struct{ Function definition }
		Messages []struct{ Content string }
		Answers  []map[string]any `json:"possible_answer"`
	}](filepath.Join(folder, "bfcl", "cases.jsonl"))
	for _, c := range cases {
		if len(c.Messages) != 1 || len(c.Messages[0].Content) > longest {
			continue
		}
		for _, one := range c.Tools {
			if !seen[one.Function.Name] {
				seen[one.Function.Name] = true
				s.tools = append(s.tools, one.Function)
			}
		}
		said := c.Messages[0].Content
		if strings.Contains(c.Category, "irrelevance") {
			s.none = append(s.none, said)
		}
		if len(c.Answers) == 1 {
			for name := range c.Answers[0] {
				s.said[name] = append(s.said[name], said)
			}
		}
	}
	return s, err
}

type sample struct {
	signs  offline.Signs
	right  bool // the nearest tool is meant
	within bool // one of the scope's tools is meant
	weight float64
}

const (
	spoken  = 320 // scopes of CLINC150
	calling = 80  // scopes of BFCL
	fewest  = 2   // tools
	most    = 150
	within  = 100  // texts that call for a tool in scope
	without = 60   // texts that call for none
	outside = 0.5  // the weight of a text that calls for none: with it about a fifth do
	plain   = 0.25 // its weight for beginners' scopes, whose tools have few examples
)

var numbers = []int{0, 0, 2, 5, 10, 10, 10, 20}

type scope struct {
	size, examples int
	free           bool // tools that would take text of any kind do
}

var anyText = json.RawMessage(`{"type":"object","properties":{"what":{"type":"string","description":"What it is about"}}}`)

// takesText are tools of CLINC150 that would take text of any kind: its own have no parameters.
var takesText = strings.Fields(`translate weather play_music directions restaurant_suggestion book_flight reminder_update
	todo_list_update shopping_list_update calendar_update restaurant_reservation update_playlist definition spelling calories recipe
	ingredients_list nutrition_info traffic distance make_call text accept_reservations book_hotel calendar cook_time exchange_rate
	flight_status how_busy ingredient_substitution international_visa meal_suggestion restaurant_reviews schedule_meeting
	share_location smart_home time timezone todo_list transfer travel_alert travel_suggestion vaccines`)

func (s scope) candidates(random *rand.Rand, from set) (all []matcher.Candidate) {
	picked := some(random, from.tools, s.size)
	for i, one := range picked {
		if from.examples != nil && s.examples != len(one.Examples) {
			picked[i].Examples = some(random, from.examples[one.Name], s.examples)
		}
		if s.free && slices.Contains(takesText, one.Name) {
			picked[i].Parameters = anyText
		}
	}
	for i, one := range picked {
		made, err := repository([]definition{one})
		if err != nil {
			continue
		}
		made.Revision = fmt.Sprint(i)
		all = append(all, matcher.Candidate{Repository: made, Tool: &made.Tools[0]})
	}
	slices.SortFunc(all, func(a, b matcher.Candidate) int { return strings.Compare(a.Tool.Name, b.Tool.Name) })
	return all
}

type utterance struct{ text, tool string }

// judged makes a scope and judges texts that call for a tool in it, and texts that call for none.
func (s scope) judged(random *rand.Rand, from set, in, out int) (all []sample) {
	candidates := s.candidates(random, from)
	request, index := matcher.Request{Candidates: candidates}, retrieval.NewCache()
	var meant, others []utterance
	for _, one := range from.tools {
		here := slices.ContainsFunc(candidates, func(c matcher.Candidate) bool { return c.Tool.Name == one.Name })
		for _, said := range from.said[one.Name] {
			if here {
				meant = append(meant, utterance{said, one.Name})
			} else {
				others = append(others, utterance{said, ""})
			}
		}
	}
	for i := range max(len(others), len(from.none)) {
		others = append(others, utterance{from.none[i%len(from.none)], ""})
	}
	for _, one := range append(some(random, meant, in), some(random, others, out)...) {
		judged := sample{within: one.tool != "", weight: 1}
		if !judged.within {
			judged.weight = outside
			if s.examples < 5 {
				judged.weight = plain
			}
		}
		request.Text = one.text
		in, said := index.Of(request), text.Of(one.text)
		said.Words = in.Spelled(said.Words)
		if nearest := in.Nearest(said.Words, offline.Compared); len(nearest) > 0 {
			judged.right = candidates[nearest[0].Place].Tool.Name == one.tool
			judged.signs = offline.SignsOf(in, nearest, said, said.Mood())
		}
		all = append(all, judged)
	}
	return all
}

func some[T any](random *rand.Rand, all []T, n int) []T {
	return lists.Map(random.Perm(len(all))[:min(n, len(all))], func(i int) T { return all[i] })
}
