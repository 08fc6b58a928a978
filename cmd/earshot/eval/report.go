package eval

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"earshot/repositories/files"
)

// Report is what came of tests. Its JSON is what earshot eval --json prints.
type Report struct {
	OK    bool         `json:"ok"`
	Tests []TestReport `json:"tests"`
	Tools []ToolReport `json:"tools"`
	Totals
}

// Totals count messages that something is expected of.
type Totals struct {
	Right  int `json:"right"`
	Wrong  int `json:"wrong"`
	Silent int `json:"silent"`
}

// TestReport is what came of one test.
type TestReport struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Error says why its conversation could not be held to the end.
	Error string `json:"error,omitempty"`
	Totals
	Turns []TurnReport `json:"turns"`
}

// TurnReport is what came of one message.
type TurnReport struct {
	Line    int    `json:"line"`
	User    string `json:"user"`
	Verdict string `json:"verdict"`
	// Expected are in the words of the test.
	Expected []any      `json:"expected"`
	Came     []Call     `json:"came"`
	Rejected []Rejected `json:"rejected"`
	Why      string     `json:"why"`
	Near     []Near     `json:"near,omitempty"`

	expect []files.Expectation
	pairs  []pair
	extra  []Call
}

// MarshalJSON writes the expectations as the test has them.
func (t TurnReport) MarshalJSON() ([]byte, error) {
	type plain TurnReport
	t.Expected = []any{}
	for _, e := range t.expect {
		t.Expected = append(t.Expected, asWritten(e))
	}
	if t.Came == nil {
		t.Came = []Call{}
	}
	if t.Rejected == nil {
		t.Rejected = []Rejected{}
	}
	return json.Marshal(plain(t))
}

func asWritten(e files.Expectation) any {
	switch {
	case e.None:
		return map[string]any{"none": true}
	case e.Rejected != "" && len(e.Missing) > 0:
		return map[string]any{"rejected": e.Rejected, "missing": e.Missing}
	case e.Rejected != "":
		return map[string]any{"rejected": e.Rejected}
	case len(e.Values) > 0:
		return map[string]any{"tool": e.Tool, "values": e.Values}
	}
	return map[string]any{"tool": e.Tool}
}

// ToolReport are the figures of one tool. A ratio of nothing is null.
type ToolReport struct {
	Name string `json:"name"`
	// Precision is how many of its calls were expected, Recall how many of those that were
	// expected came, whatever their values; Values is how many of the values were right that
	// were expected of them.
	Precision *float64 `json:"precision"`
	Recall    *float64 `json:"recall"`
	Values    *float64 `json:"values"`
	// The numbers behind them.
	Expected       int `json:"expected"`
	Fired          int `json:"fired"`
	Met            int `json:"met"`
	ValuesExpected int `json:"valuesExpected"`
	ValuesRight    int `json:"valuesRight"`
}

func (r *Report) add(test TestReport) { r.Tests = append(r.Tests, test) }

// sum works out the totals, and the figures of the tools that were expected or fired.
func (r *Report) sum() {
	r.OK = true
	tools := map[string]*ToolReport{}
	of := func(name string) *ToolReport {
		if tools[name] == nil {
			tools[name] = &ToolReport{Name: name}
		}
		return tools[name]
	}
	for _, test := range r.Tests {
		r.OK = r.OK && test.OK
		r.Right, r.Wrong, r.Silent = r.Right+test.Right, r.Wrong+test.Wrong, r.Silent+test.Silent
		for _, turn := range test.Turns {
			turn.count(of)
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

// count adds a message to the figures of its tools.
func (t TurnReport) count(of func(name string) *ToolReport) {
	if t.Verdict == failed {
		return
	}
	for _, e := range t.expect {
		if e.Tool != "" {
			of(e.Tool).Expected++
		}
	}
	for _, c := range t.Came {
		of(c.Name).Fired++
	}
	for _, both := range t.pairs {
		tool := of(both.of.Tool)
		tool.Met++
		tool.ValuesExpected += len(both.of.Values)
		tool.ValuesRight += len(both.of.Values) - len(differing(both.of, both.call))
	}
}

func ratio(part, whole int) *float64 {
	if whole == 0 {
		return nil
	}
	quotient := float64(part) / float64(whole)
	return &quotient
}

// WriteJSON writes a report for programs.
func WriteJSON(out io.Writer, report *Report) error {
	made := json.NewEncoder(out)
	made.SetEscapeHTML(false)
	made.SetIndent("", "  ")
	return made.Encode(report)
}
