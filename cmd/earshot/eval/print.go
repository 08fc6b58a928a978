package eval

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"earshot/cmd/earshot/terminal"
	"earshot/repositories/exactjson"
	"earshot/repositories/files"
)

// Print writes a report for people: each failure in a few lines, then the figures of the tools,
// then how many messages came out as expected.
func (r *Report) Print(out io.Writer, style terminal.Style, columns int) {
	for _, test := range r.Tests {
		if !test.OK {
			fmt.Fprintln(out, style.Paint(terminal.Red, "FAIL")+" "+test.Name+style.Paint(terminal.Faint, test.place()))
			test.print(out)
		}
	}
	if len(r.Tools) > 0 {
		terminal.Table{Style: style, Columns: columns, Below: 4}.Print(out, r.rows(), func(string) string { return "" })
	}
	fmt.Fprintln(out, r.Summary())
}

// place is where a test stands, behind a space, empty where nobody knows.
func (t TestReport) place() string {
	if t.File == "" {
		return ""
	}
	return fmt.Sprintf(" %s:%d", filepath.ToSlash(t.File), t.Line)
}

func (t TestReport) print(out io.Writer) {
	for _, turn := range t.Turns {
		if turn.Verdict != right && turn.Verdict != failed {
			fmt.Fprint(out, turn.lines())
		}
	}
	if t.Error != "" {
		fmt.Fprintf(out, "  %s\n", t.Error)
	}
}

// Failures says what was said, expected and came of the messages that came out otherwise than the
// test expects.
func (t TestReport) Failures() string {
	var b strings.Builder
	fmt.Fprintln(&b, "FAIL "+t.Name+t.place())
	t.print(&b)
	return b.String()
}

// place is where a message stands, empty where it stands in no file.
func (t TurnReport) place() string {
	if t.Line == 0 {
		return ""
	}
	return fmt.Sprintf("line %d: ", t.Line)
}

// lines say what was said, what was expected of it, what came and why.
func (t TurnReport) lines() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %s%q\n", t.place(), t.User)
	var expected []string
	for _, e := range t.expect {
		expected = append(expected, shownExpectation(e))
	}
	fmt.Fprintf(&b, "    expected %s\n", strings.Join(expected, " and "))
	fmt.Fprintf(&b, "    came     %s (%s)\n", t.shownCame(), t.Verdict)
	why := t.Why
	for i, near := range t.Near {
		why += []string{" Nearest by words: ", ", "}[min(i, 1)] + fmt.Sprintf("%s %.2f", near.Name, near.Score)
	}
	fmt.Fprintf(&b, "    why      %s\n", why)
	return b.String()
}

func shownExpectation(e files.Expectation) string {
	switch {
	case e.None:
		return "nothing"
	case e.Rejected != "" && len(e.Missing) > 0:
		return e.Rejected + " without " + strings.Join(e.Missing, ", ")
	case e.Rejected != "":
		return e.Rejected + " without a value that it needs"
	}
	return shownCall(Call{e.Tool, e.Values})
}

func (t TurnReport) shownCame() string {
	var came []string
	for _, call := range t.Came {
		came = append(came, shownCall(call))
	}
	for _, rejected := range t.Rejected {
		came = append(came, rejected.Name+" without "+strings.Join(rejected.Missing, ", "))
	}
	if len(came) == 0 {
		return "nothing"
	}
	return strings.Join(came, " and ")
}

func shownCall(c Call) string {
	if len(c.Values) == 0 {
		return c.Name
	}
	return c.Name + " " + string(exactjson.EncodeOrNull(c.Values))
}

// rows are the figures of the tools, under their heads.
func (r *Report) rows() [][]string {
	rows := [][]string{{"TOOL", "PRECISION", "RECALL", "VALUES"}}
	for _, tool := range r.Tools {
		rows = append(rows, []string{
			tool.Name, shown(tool.Precision, tool.Met, tool.Fired), shown(tool.Recall, tool.Met, tool.Expected),
			shown(tool.Values, tool.ValuesRight, tool.ValuesExpected),
		})
	}
	return rows
}

func shown(of *float64, part, whole int) string {
	if of == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f %% (%d of %d)", 100**of, part, whole)
}

// Summary says in a line how tests and messages came out.
func (r *Report) Summary() string {
	passed := 0
	for _, test := range r.Tests {
		if test.OK {
			passed++
		}
	}
	all := r.Right + r.Wrong + r.Silent
	return fmt.Sprintf("%d of %d tests passed; of %d messages with an expectation %d came out right, %d had a wrong effect, %d had none",
		passed, len(r.Tests), all, r.Right, r.Wrong, r.Silent)
}
