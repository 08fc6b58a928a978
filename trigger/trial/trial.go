// Package trial tries tools out before they are used: it holds the conversations of tests on a
// stage and compares what came with what was expected, and it rehearses what a change of tools
// does to what users have said. No tool is ever called.
package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"earshot/repositories/files"
	"earshot/trigger/conversation"
	"earshot/trigger/query"
)

// Stage is where conversations are held.
type Stage interface {
	// Begin begins the conversation of a test. The error says why it cannot be held.
	Begin(test *files.Test) (Conversation, error)
}

// Conversation is one that is held.
type Conversation interface {
	// Heard adds what is only heard: what the agent says, and what is past.
	Heard(said files.Said)
	// User says what came of a message of the user. The error says why it is not decided.
	User(ctx context.Context, text string) (Came, error)
}

// Came is what came of a message.
type Came struct {
	Calls    []Call
	Rejected []Rejected
	// Why says in a sentence how it came about, and Near which tools its words are near to.
	Why  string
	Near []Near
}

// Call is a tool that fires, with its values.
type Call struct {
	Name   string         `json:"tool"`
	Values map[string]any `json:"values"`
}

// Rejected is a tool that was meant, with the values that lack.
type Rejected struct {
	Name    string   `json:"rejected"`
	Missing []string `json:"missing"`
}

// Near is a tool with its score by the words of a message.
type Near struct {
	Name  string  `json:"tool"`
	Score float32 `json:"score"`
}

// MostNear is how many tools a report says that a message is near to.
const MostNear = 3

// CameOf is what the matches and rejected calls of a message come to.
func CameOf(why string, matches []query.Match, rejected []query.Rejected) Came {
	c := Came{Why: why}
	for _, match := range matches {
		if match.State != query.StateDuplicate && match.State != query.StateCancelled {
			c.Calls = append(c.Calls, Call{match.Name, match.Values})
		}
	}
	for _, one := range rejected {
		c.Rejected = append(c.Rejected, Rejected{one.Name, conversation.Faulty(one.Missing, one.Errors)})
	}
	return c
}

// Verdicts on what a message came to.
const (
	right  = "right"
	wrong  = "wrong"  // it has an effect that was not expected: another tool, another value, or any where none was
	silent = "silent" // something that was expected did not come, and nothing else did
	failed = "error"  // it was not decided
)

// Run holds the conversations of the tests on a stage, one after another, and reports what
// came of them. A test whose conversation cannot go on ends there, and has failed.
func Run(ctx context.Context, tests []*files.Test, on Stage) *Report {
	return runAll(ctx, tests, on, 1)
}

// runAll is Run with that many tests under way at once.
func runAll(ctx context.Context, tests []*files.Test, on Stage, atOnce int) *Report {
	report := &Report{Tests: make([]TestReport, len(tests))}
	var next atomic.Int64
	var work sync.WaitGroup
	for range atOnce {
		work.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(tests); i = int(next.Add(1)) - 1 {
				report.Tests[i] = hold(ctx, tests[i], on)
			}
		})
	}
	work.Wait()
	report.sum()
	return report
}

func hold(ctx context.Context, test *files.Test, on Stage) TestReport {
	of := TestReport{Name: test.Name, File: test.File, Line: test.Line, Turns: []TurnReport{}}
	talk, err := on.Begin(test)
	if err != nil {
		of.Error = err.Error()
		return of
	}
	for _, said := range test.Chat {
		if said.Agent || said.Past {
			talk.Heard(said)
			continue
		}
		came, err := talk.User(ctx, said.Text)
		if err != nil {
			of.Error = fmt.Sprintf("line %d: %q was not decided: %s", said.Line, said.Text, err)
			of.Turns = append(of.Turns, TurnReport{Line: said.Line, User: said.Text, Verdict: failed, Why: err.Error(), Expect: said.Expect})
			return of
		}
		if len(said.Expect) == 0 {
			continue
		}
		turn := judge(said, came)
		switch turn.Verdict {
		case right:
			of.Right++
		case wrong:
			of.Wrong++
		default:
			of.Silent++
		}
		of.Turns = append(of.Turns, turn)
	}
	of.OK = of.Wrong+of.Silent == 0
	return of
}

// met is an expected tool that fired, with how many values were expected of it, and how many were right.
type met struct {
	tool            string
	expected, right int
}

// judge compares what came of a message with what was expected of it. Each call answers one
// expectation, the one whose values it has where several are of its tool.
func judge(said files.Said, came Came) TurnReport {
	expected := slices.Clone(said.Expect)
	for i, e := range expected {
		for _, r := range came.Rejected { // a rejected call may stand for one that may lack its values
			needed := func(name string) bool { return !slices.Contains(e.Lacking, name) }
			if r.Name == e.Tool && len(r.Missing) > 0 && !slices.ContainsFunc(r.Missing, needed) {
				expected[i] = files.Expectation{Line: e.Line, Rejected: e.Tool, Missing: r.Missing}
			}
		}
	}
	turn := TurnReport{Line: said.Line, User: said.Text, Came: came.Calls, Rejected: came.Rejected, Why: came.Why, Near: came.Near, Expect: expected}
	left := slices.Clone(came.Calls)
	take := func(e files.Expectation, fits func(Call) bool) bool {
		at := slices.IndexFunc(left, func(c Call) bool { return c.Name == e.Tool && fits(c) })
		if at < 0 {
			return false
		}
		turn.met = append(turn.met, met{e.Tool, len(e.Values), len(e.Values) - len(differing(e, left[at]))})
		left = slices.Delete(left, at, at+1)
		return true
	}
	open := slices.DeleteFunc(slices.Clone(expected), func(e files.Expectation) bool {
		return e.Tool != "" && take(e, func(c Call) bool { return differing(e, c) == nil })
	})
	isWrong, missed := false, false
	for _, e := range open {
		switch {
		case e.Tool != "":
			missed = true
			isWrong = take(e, func(Call) bool { return true }) || isWrong
		case e.Rejected != "" && !slices.ContainsFunc(came.Rejected, func(r Rejected) bool { return answers(r, e) }):
			missed = true
		}
	}
	switch {
	case len(left) > 0 || isWrong:
		turn.Verdict = wrong
	case missed:
		turn.Verdict = silent
	default:
		turn.Verdict = right
	}
	return turn
}

// answers reports whether a call that was rejected is the one that is expected, for want of the
// same values.
func answers(r Rejected, e files.Expectation) bool {
	if r.Name != e.Rejected {
		return false
	}
	lacks, expected := slices.Sorted(slices.Values(r.Missing)), slices.Sorted(slices.Values(e.Missing))
	return len(e.Missing) == 0 || slices.Equal(slices.Compact(lacks), slices.Compact(expected))
}

// differing lists the values of an expectation that a call does not have, by their names.
func differing(e files.Expectation, c Call) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(e.Values)) {
		also := slices.ContainsFunc(e.Also[name], func(other any) bool { return agrees(other, c.Values[name]) })
		if !also && !agrees(e.Values[name], c.Values[name]) {
			names = append(names, name)
		}
	}
	return names
}

// longestNumber bounds what is worked out: a number of so many characters has no more digits
// than anybody expects.
const longestNumber = 64

// agrees reports whether a value is the one that was expected: numbers by value, texts whatever
// the case and with any spaces around them, lists and maps member by member.
func agrees(expected, came any) bool {
	switch expected := expected.(type) {
	case string:
		text, is := came.(string)
		return is && strings.EqualFold(strings.TrimSpace(expected), strings.TrimSpace(text))
	case []any:
		list, is := came.([]any)
		return is && slices.EqualFunc(expected, list, agrees)
	case map[string]any:
		object, is := came.(map[string]any)
		return is && maps.EqualFunc(expected, object, agrees)
	case json.Number:
		number, is := came.(json.Number)
		if !is || len(number) > longestNumber || len(expected) > longestNumber {
			return is && number == expected
		}
		one, ok := new(big.Float).SetString(expected.String())
		other, also := new(big.Float).SetString(number.String())
		return ok && also && one.Cmp(other) == 0
	}
	return reflect.DeepEqual(expected, came)
}
