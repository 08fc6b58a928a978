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
	// AddMessage adds a message that is not decided: an agent's, or an earlier one of the user.
	AddMessage(message files.Message)
	// User returns the outcome of a user's message. The error is why it was not decided.
	User(ctx context.Context, text string) (MessageOutcome, error)
}

// MessageOutcome is the outcome of a message.
type MessageOutcome struct {
	Calls    []Call
	Rejected []Rejected
	Why      string // a sentence of explanation, Nearest the tools nearest to its words
	Nearest  []NearTool
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

// NearTool is a tool with its score for the words of a message.
type NearTool struct {
	Name  string  `json:"tool"`
	Score float32 `json:"score"`
}

// MostNearest bounds the near tools of a report.
const MostNearest = 3

// NewMessageOutcome returns the outcome of a message from its matches and rejected calls.
func NewMessageOutcome(why string, matches []query.Match, rejected []query.Rejected) MessageOutcome {
	c := MessageOutcome{Why: why}
	for _, match := range matches {
		if match.State != query.StateDuplicate && match.State != query.StateCancelled {
			c.Calls = append(c.Calls, Call{match.Name, match.Values})
		}
	}
	for _, call := range rejected {
		c.Rejected = append(c.Rejected, Rejected{call.Name, conversation.Faulty(call.Missing, call.Errors)})
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
func Run(ctx context.Context, tests []*files.Test, stage Stage) *Report {
	return runAll(ctx, tests, stage, 1)
}

func runAll(ctx context.Context, tests []*files.Test, stage Stage, concurrency int) *Report {
	report := &Report{Tests: make([]TestReport, len(tests))}
	inParallel(concurrency, len(tests), func(i int) { report.Tests[i] = runTest(ctx, tests[i], stage) })
	report.sum()
	return report
}

// inParallel calls do with each index below count, on so many goroutines.
func inParallel(concurrency, count int, do func(i int)) {
	var next atomic.Int64
	var work sync.WaitGroup
	for range concurrency {
		work.Go(func() {
			for i := int(next.Add(1)) - 1; i < count; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	work.Wait()
}

func runTest(ctx context.Context, test *files.Test, stage Stage) TestReport {
	report := TestReport{Name: test.Name, File: test.File, Line: test.Line, Turns: []TurnReport{}}
	dialog, err := stage.Begin(test)
	if err != nil {
		report.Error = err.Error()
		return report
	}
	for _, message := range test.Chat {
		if message.Agent || message.Decided {
			dialog.AddMessage(message)
			continue
		}
		outcome, err := dialog.User(ctx, message.Text)
		if err != nil {
			report.Error = fmt.Sprintf("line %d: %q was not decided: %s", message.Line, message.Text, err)
			report.Turns = append(report.Turns, TurnReport{Line: message.Line, User: message.Text, Verdict: failed, Why: err.Error(), Expect: message.Expect})
			return report
		}
		if len(message.Expect) == 0 {
			continue
		}
		turn := judge(message, outcome)
		switch turn.Verdict {
		case right:
			report.Right++
		case wrong:
			report.Wrong++
		default:
			report.Silent++
		}
		report.Turns = append(report.Turns, turn)
	}
	report.OK = report.Wrong+report.Silent == 0
	return report
}

// metExpectation is an expected tool that fired, with the numbers of expected and of right values.
type metExpectation struct {
	tool            string
	expected, right int
}

// judge compares the outcome of a message with its expectations. Each call meets one expectation, among several
// of its tool the one with its values.
func judge(message files.Message, outcome MessageOutcome) TurnReport {
	expected := slices.Clone(message.Expect)
	for i, e := range expected {
		for _, r := range outcome.Rejected { // a rejected call meets an expectation that may lack its values
			needed := func(name string) bool { return !slices.Contains(e.MayLack, name) }
			if r.Name == e.Tool && len(r.Missing) > 0 && !slices.ContainsFunc(r.Missing, needed) {
				expected[i] = files.Expectation{Line: e.Line, Rejected: e.Tool, Missing: r.Missing}
			}
		}
	}
	turn := TurnReport{Line: message.Line, User: message.Text, Calls: outcome.Calls, Rejected: outcome.Rejected, Why: outcome.Why, Nearest: outcome.Nearest, Expect: expected}
	remaining := slices.Clone(outcome.Calls)
	meet := func(e files.Expectation, fits func(Call) bool) bool {
		i := slices.IndexFunc(remaining, func(c Call) bool { return c.Name == e.Tool && fits(c) })
		if i < 0 {
			return false
		}
		turn.metExpectations = append(turn.metExpectations, metExpectation{e.Tool, len(e.Values), len(e.Values) - len(wrongValues(e, remaining[i]))})
		remaining = slices.Delete(remaining, i, i+1)
		return true
	}
	unmet := slices.DeleteFunc(slices.Clone(expected), func(e files.Expectation) bool {
		return e.Tool != "" && meet(e, func(c Call) bool { return wrongValues(e, c) == nil })
	})
	isWrong, missed := false, false
	for _, e := range unmet {
		switch {
		case e.Tool != "":
			missed = true
			isWrong = meet(e, func(Call) bool { return true }) || isWrong
		case e.Rejected != "" && !slices.ContainsFunc(outcome.Rejected, func(r Rejected) bool { return meetsRejection(r, e) }):
			missed = true
		}
	}
	turn.Verdict = right
	switch {
	case len(remaining) > 0 || isWrong:
		turn.Verdict = wrong
	case missed:
		turn.Verdict = silent
	}
	return turn
}

// meetsRejection reports whether a rejected call is the expected one, with the same missing values.
func meetsRejection(r Rejected, e files.Expectation) bool {
	if r.Name != e.Rejected {
		return false
	}
	missing, expected := slices.Sorted(slices.Values(r.Missing)), slices.Sorted(slices.Values(e.Missing))
	return len(e.Missing) == 0 || slices.Equal(slices.Compact(missing), slices.Compact(expected))
}

// wrongValues returns the names of expected values that a call lacks.
func wrongValues(e files.Expectation, c Call) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(e.Values)) {
		isAlternative := slices.ContainsFunc(e.Also[name], func(other any) bool { return sameValue(other, c.Values[name]) })
		if !isAlternative && !sameValue(e.Values[name], c.Values[name]) {
			names = append(names, name)
		}
	}
	return names
}

// longestNumber bounds the numbers compared by value, in characters; longer ones are compared as text.
const longestNumber = 64

// sameValue reports whether a value is the expected one: numbers by value, texts without regard to case and
// surrounding spaces, lists and maps member by member.
func sameValue(expected, actual any) bool {
	switch expected := expected.(type) {
	case string:
		text, is := actual.(string)
		return is && strings.EqualFold(strings.TrimSpace(expected), strings.TrimSpace(text))
	case []any:
		list, is := actual.([]any)
		return is && slices.EqualFunc(expected, list, sameValue)
	case map[string]any:
		object, is := actual.(map[string]any)
		return is && maps.EqualFunc(expected, object, sameValue)
	case json.Number:
		number, is := actual.(json.Number)
		if !is || len(number) > longestNumber || len(expected) > longestNumber {
			return is && number == expected
		}
		expectedNumber, ok := new(big.Float).SetString(expected.String())
		actualNumber, also := new(big.Float).SetString(number.String())
		return ok && also && expectedNumber.Cmp(actualNumber) == 0
	}
	return reflect.DeepEqual(expected, actual)
}
