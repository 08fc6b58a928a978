package eval

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"earshot/cmd/earshot/terminal"
	"earshot/repositories/exactjson"
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
	met    []met
}

// MarshalJSON writes the expectations as the test has them.
func (t TurnReport) MarshalJSON() ([]byte, error) {
	type plain TurnReport
	t.Expected = []any{}
	for _, e := range t.expect {
		written := map[string]any{}
		switch {
		case e.None:
			written["none"] = true
		case e.Rejected != "":
			written["rejected"] = e.Rejected
			if len(e.Missing) > 0 {
				written["missing"] = e.Missing
			}
		default:
			written["tool"] = e.Tool
			if len(e.Values) > 0 {
				written["values"] = e.Values
			}
		}
		t.Expected = append(t.Expected, written)
	}
	if t.Came == nil {
		t.Came = []Call{}
	}
	if t.Rejected == nil {
		t.Rejected = []Rejected{}
	}
	return json.Marshal(plain(t))
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
			if turn.Verdict == failed {
				continue
			}
			for _, e := range turn.expect {
				if e.Tool != "" {
					of(e.Tool).Expected++
				}
			}
			for _, c := range turn.Came {
				of(c.Name).Fired++
			}
			for _, one := range turn.met {
				tool := of(one.tool)
				tool.Met++
				tool.ValuesExpected += one.expected
				tool.ValuesRight += one.right
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
	quotient := float64(part) / float64(whole)
	return &quotient
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

// Failures says how a report failed, in a few words; empty where it did not.
func (r *Report) Failures() string {
	bad, noun := len(r.Tests)-r.passed(), "tests"
	if bad == 0 {
		return ""
	}
	if len(r.Tests) == 1 {
		noun = "test"
	}
	return fmt.Sprintf("%d of %d %s failed", bad, len(r.Tests), noun)
}

// Summary says in a line how tests and messages came out.
func (r *Report) Summary() string {
	all := r.Right + r.Wrong + r.Silent
	return fmt.Sprintf("%d of %d tests passed; of %d messages with an expectation %d came out right, %d had a wrong effect, %d had none",
		r.passed(), len(r.Tests), all, r.Right, r.Wrong, r.Silent)
}

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
		shown := func(of *float64, part, whole int) string {
			if of == nil {
				return "-"
			}
			return fmt.Sprintf("%.0f %% (%d of %d)", 100**of, part, whole)
		}
		rows := [][]string{{"TOOL", "PRECISION", "RECALL", "VALUES"}}
		for _, tool := range r.Tools {
			rows = append(rows, []string{
				tool.Name, shown(tool.Precision, tool.Met, tool.Fired), shown(tool.Recall, tool.Met, tool.Expected),
				shown(tool.Values, tool.ValuesRight, tool.ValuesExpected),
			})
		}
		terminal.Table{Style: style, Columns: columns, Below: 4}.Print(out, rows, func(string) string { return "" })
	}
	fmt.Fprintln(out, r.Summary())
}

// Failures says what was said, expected and came of the messages that came out otherwise than the
// test expects.
func (t TestReport) Failures() string {
	var b strings.Builder
	fmt.Fprintln(&b, "FAIL "+t.Name+t.place())
	t.print(&b)
	return b.String()
}

// place is where a test stands, behind a space, empty where nobody knows.
func (t TestReport) place() string {
	if t.File == "" {
		return ""
	}
	return fmt.Sprintf(" %s:%d", filepath.ToSlash(t.File), t.Line)
}

// print says of each message that failed what was said, expected and came of it, and why.
func (t TestReport) print(out io.Writer) {
	for _, turn := range t.Turns {
		if turn.Verdict == right || turn.Verdict == failed {
			continue
		}
		var expected []string
		for _, e := range turn.expect {
			switch {
			case e.None:
				expected = append(expected, "nothing")
			case e.Rejected != "":
				expected = append(expected, e.Rejected+" without "+cmp.Or(strings.Join(e.Missing, ", "), "a value that it needs"))
			default:
				expected = append(expected, Call{e.Tool, e.Values}.shown())
			}
		}
		fmt.Fprintf(out, "  %s%q\n", turn.place(), turn.User)
		fmt.Fprintf(out, "    expected %s\n", strings.Join(expected, " and "))
		fmt.Fprintf(out, "    came     %s (%s)\n", turn.shownCame(), turn.Verdict)
		why := turn.Why
		for i, near := range turn.Near {
			why += []string{" Nearest by words: ", ", "}[min(i, 1)] + fmt.Sprintf("%s %.2f", near.Name, near.Score)
		}
		fmt.Fprintf(out, "    why      %s\n", why)
	}
	if t.Error != "" {
		fmt.Fprintf(out, "  %s\n", t.Error)
	}
}

// brief says in a line what went wrong first.
func (t TestReport) brief() string {
	for _, turn := range t.Turns {
		if turn.Verdict != right && turn.Verdict != failed {
			return fmt.Sprintf("%s%q came to %s (%s)", turn.place(), turn.User, turn.shownCame(), turn.Verdict)
		}
	}
	return t.Error
}

// place is where a message stands, empty where it stands in no file.
func (t TurnReport) place() string {
	if t.Line == 0 {
		return ""
	}
	return fmt.Sprintf("line %d: ", t.Line)
}

func (t TurnReport) shownCame() string {
	var came []string
	for _, call := range t.Came {
		came = append(came, call.shown())
	}
	for _, rejected := range t.Rejected {
		came = append(came, rejected.Name+" without "+strings.Join(rejected.Missing, ", "))
	}
	return cmp.Or(strings.Join(came, " and "), "nothing")
}

// shown is the name and the values of a call.
func (c Call) shown() string {
	if len(c.Values) == 0 {
		return c.Name
	}
	return c.Name + " " + string(exactjson.EncodeOrNull(c.Values))
}

// WriteJSON writes a report for programs.
func WriteJSON(out io.Writer, report *Report) error {
	made := json.NewEncoder(out)
	made.SetEscapeHTML(false)
	made.SetIndent("", "  ")
	return made.Encode(report)
}

// The report in the form that continuous integration reads: a case for each test, a suite for
// each file.
type (
	junitSuites struct {
		XMLName xml.Name `xml:"testsuites"`
		Name    string   `xml:"name,attr"`
		junitCounts
		Suites []*junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name string `xml:"name,attr"`
		junitCounts
		Cases []junitCase `xml:"testcase"`
	}
	junitCounts struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
	}
	junitCase struct {
		Name      string        `xml:"name,attr"`
		ClassName string        `xml:"classname,attr"`
		Failure   *junitFailure `xml:"failure"`
		Error     *junitFailure `xml:"error"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the report to a file as JUnit's XML. A test that came out otherwise than it
// expects is a failure, one that could not be held to its end an error.
func (r *Report) WriteJUnit(file string) error {
	all := junitSuites{Name: "earshot eval"}
	suites := map[string]*junitSuite{}
	for _, test := range r.Tests {
		suite := suites[test.File]
		if suite == nil {
			suite = &junitSuite{Name: cmp.Or(test.File, "earshot")}
			suites[test.File] = suite
			all.Suites = append(all.Suites, suite)
		}
		one := junitCase{Name: test.Name, ClassName: suite.Name}
		count := junitCounts{Tests: 1}
		if !test.OK {
			var text strings.Builder
			test.print(&text)
			said := &junitFailure{Message: test.brief(), Type: "expectation", Text: text.String()}
			if test.Error != "" {
				said.Type, one.Error, count.Errors = "undecided", said, 1
			} else {
				one.Failure, count.Failures = said, 1
			}
		}
		suite.Cases = append(suite.Cases, one)
		suite.add(count)
		all.add(count)
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(xml.Header+string(text)+"\n"), 0o600); err != nil {
		return fmt.Errorf("--junit: %w", err)
	}
	return nil
}

func (c *junitCounts) add(more junitCounts) {
	c.Tests, c.Failures, c.Errors = c.Tests+more.Tests, c.Failures+more.Failures, c.Errors+more.Errors
}

// Earlier is the report of an earlier run, as far as it is compared.
type Earlier struct {
	Tests []struct {
		Name string `json:"name"`
		File string `json:"file"`
		OK   bool   `json:"ok"`
	} `json:"tests"`
	Tools []ToolReport `json:"tools"`
}

// ReadEarlier reads a report that earshot eval --json has printed.
func ReadEarlier(file string) (*Earlier, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--compare: %w", err)
	}
	var found Earlier
	if err := json.Unmarshal(text, &found); err != nil || found.Tests == nil {
		return nil, fmt.Errorf("--compare: %s is no report; write one with: earshot eval … --json > %s", file, file)
	}
	return &found, nil
}

// Worse says what was better in an earlier run, a line each: tests that passed then, and figures
// of tools that were higher. What was not there then is no worse.
func (r *Report) Worse(than *Earlier) []string {
	var lines []string
	passed := map[[2]string]bool{}
	for _, test := range than.Tests {
		passed[[2]string{test.File, test.Name}] = test.OK
	}
	for _, test := range r.Tests {
		if !test.OK && passed[[2]string{test.File, test.Name}] {
			lines = append(lines, fmt.Sprintf("test %s passed before: %s", test.Name, test.brief()))
		}
	}
	before := map[string]ToolReport{}
	for _, tool := range than.Tools {
		before[tool.Name] = tool
	}
	for _, tool := range r.Tools {
		was := before[tool.Name]
		for _, figure := range []struct {
			name     string
			was, now *float64
		}{{"precision", was.Precision, tool.Precision}, {"recall", was.Recall, tool.Recall}, {"values", was.Values, tool.Values}} {
			if figure.was != nil && figure.now != nil && *figure.now < *figure.was {
				lines = append(lines, fmt.Sprintf("tool %s: %s was %.0f %%, and is %.0f %%", tool.Name, figure.name, 100**figure.was, 100**figure.now))
			}
		}
	}
	return lines
}
