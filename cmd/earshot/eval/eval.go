// Package eval runs tests of tools: conversations with what they should set off. It holds them
// on a stage, which is a process's own matcher or a service that is asked by dry runs, and
// compares what came with what was expected. No tool is ever called.
package eval

import (
	"context"
	"fmt"
	"strings"

	"earshot/repositories/files"
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
	report := &Report{}
	for _, test := range tests {
		report.add(hold(ctx, test, on))
	}
	report.sum()
	return report
}

// hold holds the conversation of one test.
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
			of.fail(said, err)
			return of
		}
		if len(said.Expect) > 0 {
			of.take(judge(said, came))
		}
	}
	of.OK = of.Wrong+of.Silent == 0
	return of
}

// fail ends a test at a message that was not decided.
func (t *TestReport) fail(said files.Said, err error) {
	t.Error = fmt.Sprintf("line %d: %q was not decided: %s", said.Line, said.Text, err)
	t.Turns = append(t.Turns, TurnReport{Line: said.Line, User: said.Text, Verdict: failed, Why: err.Error(), expect: said.Expect})
}

func (t *TestReport) take(turn TurnReport) {
	switch turn.Verdict {
	case right:
		t.Right++
	case wrong:
		t.Wrong++
	default:
		t.Silent++
	}
	t.Turns = append(t.Turns, turn)
}

// Failures says how a report failed, in a few words; empty where it did not.
func (r *Report) Failures() string {
	bad := 0
	for _, test := range r.Tests {
		if !test.OK {
			bad++
		}
	}
	if bad == 0 {
		return ""
	}
	noun := "tests"
	if len(r.Tests) == 1 {
		noun = "test"
	}
	return strings.TrimSpace(fmt.Sprintf("%d of %d %s failed", bad, len(r.Tests), noun))
}
