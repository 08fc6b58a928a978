package trial

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"earshot/repositories/exactjson"
	"earshot/repositories/files"
	"earshot/repositories/lists"
)

// Report is the result of tests. Its JSON is what earshot eval --json prints.
type Report struct {
	OK    bool         `json:"ok"`
	Tests []TestReport `json:"tests"`
	Tools []ToolReport `json:"tools"`
	Totals
}

// Totals count messages with expectations.
type Totals struct {
	Right  int `json:"right"`
	Wrong  int `json:"wrong"`
	Silent int `json:"silent"`
}

// TestReport is the result of one test.
type TestReport struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
	Error string `json:"error,omitempty"` // why its conversation ended early
	Totals
	Turns []TurnReport `json:"turns"`
}

// TurnReport is the result of one message.
type TurnReport struct {
	Line     int        `json:"line,omitempty"` // 0 without a file
	User     string     `json:"user"`
	Verdict  string     `json:"verdict"`
	Expected []any      `json:"expected"` // the expectations as the test states them
	Calls    []Call     `json:"came"`
	Rejected []Rejected `json:"rejected"`
	Why      string     `json:"why"`
	Nearest  []NearTool `json:"near,omitempty"`

	Expect          []files.Expectation `json:"-"` // the expectations of the test
	metExpectations []metExpectation
}

// MarshalJSON encodes the expectations as the test states them.
func (t TurnReport) MarshalJSON() ([]byte, error) {
	type plain TurnReport
	t.Expected = []any{}
	for _, e := range t.Expect {
		expectation := map[string]any{}
		switch {
		case e.None:
			expectation["none"] = true
		case e.Rejected != "":
			expectation["rejected"] = e.Rejected
			if len(e.Missing) > 0 {
				expectation["missing"] = e.Missing
			}
		default:
			expectation["tool"] = e.Tool
			if len(e.Values) > 0 {
				expectation["values"] = e.Values
			}
		}
		t.Expected = append(t.Expected, expectation)
	}
	t.Calls, t.Rejected = append([]Call{}, t.Calls...), append([]Rejected{}, t.Rejected...) // never null
	return json.Marshal(plain(t))
}

// ToolReport has the figures of one tool. A ratio with a zero denominator is null.
type ToolReport struct {
	Name string `json:"name"`
	// Precision is the share of its calls that were expected, Recall the share of expected calls that came,
	// whatever their values, and Values the share of expected values that were right.
	Precision *float64 `json:"precision"`
	Recall    *float64 `json:"recall"`
	Values    *float64 `json:"values"`
	// The underlying numbers.
	Expected       int `json:"expected"`
	Fired          int `json:"fired"`
	Met            int `json:"met"`
	ValuesExpected int `json:"valuesExpected"`
	ValuesRight    int `json:"valuesRight"`
}

// sum computes the totals, and the figures of the tools that were expected or fired.
func (r *Report) sum() {
	r.OK = true
	tools := map[string]*ToolReport{}
	figures := func(name string) *ToolReport {
		if tools[name] == nil {
			tools[name] = &ToolReport{Name: name}
		}
		return tools[name]
	}
	for _, test := range r.Tests {
		r.OK = r.OK && test.OK
		r.Right, r.Wrong, r.Silent = r.Right+test.Right, r.Wrong+test.Wrong, r.Silent+test.Silent
		for _, turn := range test.Turns {
			if turn.Verdict == failed {
				continue
			}
			for _, e := range turn.Expect {
				if e.Tool != "" {
					figures(e.Tool).Expected++
				}
			}
			for _, c := range turn.Calls {
				figures(c.Name).Fired++
			}
			for _, met := range turn.metExpectations {
				tool := figures(met.tool)
				tool.Met++
				tool.ValuesExpected += met.expected
				tool.ValuesRight += met.right
			}
		}
	}
	r.Tools = []ToolReport{}
	for _, tool := range tools {
		tool.Precision, tool.Recall = ratio(tool.Met, tool.Fired), ratio(tool.Met, tool.Expected)
		tool.Values = ratio(tool.ValuesRight, tool.ValuesExpected)
		r.Tools = append(r.Tools, *tool)
	}
	slices.SortFunc(r.Tools, func(a, b ToolReport) int { return strings.Compare(a.Name, b.Name) })
}

func ratio(part, whole int) *float64 {
	if whole == 0 {
		return nil
	}
	return new(float64(part) / float64(whole))
}

func (r *Report) passed() int {
	n := 0
	for _, test := range r.Tests {
		if test.OK {
			n++
		}
	}
	return n
}

// Failures summarizes the failed tests in a few words; empty for none.
func (r *Report) Failures() string {
	failures, noun := len(r.Tests)-r.passed(), "tests"
	if failures == 0 {
		return ""
	}
	if len(r.Tests) == 1 {
		noun = "test"
	}
	return fmt.Sprintf("%d of %d %s failed", failures, len(r.Tests), noun)
}

// Summary returns the results of tests and messages in a line.
func (r *Report) Summary() string {
	all := r.Right + r.Wrong + r.Silent
	return fmt.Sprintf("%d of %d tests passed; of %d messages with an expectation %d came out right, %d had a wrong effect, %d had none",
		r.passed(), len(r.Tests), all, r.Right, r.Wrong, r.Silent)
}

// Failures describes the messages whose outcome is not the expected one.
func (t TestReport) Failures() string {
	var b strings.Builder
	fmt.Fprintln(&b, "FAIL "+t.Name+t.Place())
	t.Print(&b)
	return b.String()
}

// Place returns the file and line of a test after a space, empty if unknown.
func (t TestReport) Place() string {
	if t.File == "" {
		return ""
	}
	return fmt.Sprintf(" %s:%d", filepath.ToSlash(t.File), t.Line)
}

// Print writes each failed message with its expectation, outcome and explanation.
func (t TestReport) Print(out io.Writer) {
	for _, turn := range t.Turns {
		if turn.Verdict == right || turn.Verdict == failed {
			continue
		}
		var expected []string
		for _, e := range turn.Expect {
			switch {
			case e.None:
				expected = append(expected, "nothing")
			case e.Rejected != "":
				expected = append(expected, e.Rejected+" without "+cmp.Or(strings.Join(e.Missing, ", "), "a value that it needs"))
			default:
				expected = append(expected, Call{e.Tool, e.Values}.text())
			}
		}
		fmt.Fprintf(out, "  %s%q\n    expected %s\n", turn.place(), turn.User, strings.Join(expected, " and "))
		fmt.Fprintf(out, "    came     %s (%s)\n", turn.outcomeText(), turn.Verdict)
		why := turn.Why
		for i, near := range turn.Nearest {
			why += []string{" Nearest by words: ", ", "}[min(i, 1)] + fmt.Sprintf("%s %.2f", near.Name, near.Score)
		}
		fmt.Fprintf(out, "    why      %s\n", why)
	}
	if t.Error != "" {
		fmt.Fprintf(out, "  %s\n", t.Error)
	}
}

// Brief returns the first failure in a line.
func (t TestReport) Brief() string {
	for _, turn := range t.Turns {
		if turn.Verdict != right && turn.Verdict != failed {
			return fmt.Sprintf("%s%q came to %s (%s)", turn.place(), turn.User, turn.outcomeText(), turn.Verdict)
		}
	}
	return t.Error
}

// place returns the line of a message, empty without a file.
func (t TurnReport) place() string {
	if t.Line == 0 {
		return ""
	}
	return fmt.Sprintf("line %d: ", t.Line)
}

func (t TurnReport) outcomeText() string {
	parts := lists.Map(t.Calls, func(call Call) string { return call.text() })
	for _, rejected := range t.Rejected {
		parts = append(parts, rejected.Name+" without "+strings.Join(rejected.Missing, ", "))
	}
	return cmp.Or(strings.Join(parts, " and "), "nothing")
}

func (c Call) text() string {
	if len(c.Values) == 0 {
		return c.Name
	}
	return c.Name + " " + string(exactjson.EncodeOrNull(c.Values))
}
