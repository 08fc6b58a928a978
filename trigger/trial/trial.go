// Package trial tests tools before they are used: it runs the conversations of tests on a stage and compares
// outcomes with expectations, and it rehearses a change of tools on past messages. No tool is ever called.
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

// Stage runs conversations.
type Stage interface {
	// Begin begins the conversation of a test. The error is why it cannot begin.
	Begin(test *files.Test) (Conversation, error)
}

// Conversation is a conversation in progress.
type Conversation interface {
	// Heard adds a message that is not decided: an agent's, or a past one.
	Heard(said files.Message)
	// User returns the outcome of a user's message. The error is why it was not decided.
	User(ctx context.Context, text string) (Came, error)
}

// Came is the outcome of a message.
type Came struct {
	Calls    []Call
	Rejected []Rejected
	// Why is a sentence of explanation, Near the tools nearest to its words.
	Why  string
	Near []Near
}

// Call is a tool that fires, with its values.
type Call struct {
	Name   string         `json:"tool"`
	Values map[string]any `json:"values"`
}

// Rejected is a tool that was called for, with its missing values.
type Rejected struct {
	Name    string   `json:"rejected"`
	Missing []string `json:"missing"`
}

// Near is a tool with its score for the words of a message.
type Near struct {
	Name  string  `json:"tool"`
	Score float32 `json:"score"`
}

// MostNear bounds the near tools of a report.
const MostNear = 3

// CameOf returns the outcome of a message from its matches and rejected calls.
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

// Verdicts on the outcome of a message.
const (
	right  = "right"
	wrong  = "wrong"  // an unexpected effect: another tool, another value, or any instead of none
	silent = "silent" // an expected effect is missing, without an unexpected one
	failed = "error"  // it was not decided
)

// Run runs the conversations of the tests on a stage, one after another, and reports the results. A test whose
// conversation cannot continue ends there, and has failed.
func Run(ctx context.Context, tests []*files.Test, on Stage) *Report {
	return runAll(ctx, tests, on, 1)
}

// runAll is Run with so many concurrent tests.
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
		if said.Agent || said.Decided {
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

// met is an expected tool that fired, with the numbers of expected and of right values.
type met struct {
	tool            string
	expected, right int
}

// judge compares the outcome of a message with its expectations. Each call meets one expectation, among several
// of its tool the one with its values.
func judge(said files.Message, came Came) TurnReport {
	expected := slices.Clone(said.Expect)
	for i, e := range expected {
		for _, r := range came.Rejected { // a rejected call meets an expectation that may lack its values
			needed := func(name string) bool { return !slices.Contains(e.MayLack, name) }
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

// answers reports whether a rejected call is the expected one, with the same missing values.
func answers(r Rejected, e files.Expectation) bool {
	if r.Name != e.Rejected {
		return false
	}
	lacks, expected := slices.Sorted(slices.Values(r.Missing)), slices.Sorted(slices.Values(e.Missing))
	return len(e.Missing) == 0 || slices.Equal(slices.Compact(lacks), slices.Compact(expected))
}

// differing returns the names of expected values that a call lacks.
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

// longestNumber bounds the numbers compared by value, in characters; longer ones are compared as text.
const longestNumber = 64

// agrees reports whether a value is the expected one: numbers by value, texts without regard to case and
// surrounding spaces, lists and maps member by member.
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
