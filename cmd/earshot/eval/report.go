package eval

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"strings"

	"earshot/cmd/earshot/terminal"
	"earshot/trigger/trial"
)

// Print writes a report for people: failures, then the figures of tools, then a summary.
func Print(out io.Writer, r *trial.Report, style terminal.Style, columns int) {
	for _, test := range r.Tests {
		if !test.OK {
			fmt.Fprintln(out, style.Paint(terminal.Red, "FAIL")+" "+terminal.Printable(test.Name)+style.Paint(terminal.Faint, terminal.Printable(test.Place())))
			var failures strings.Builder
			test.Print(&failures)
			fmt.Fprint(out, terminal.Printable(failures.String()))
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

// WriteJSON writes a report for programs.
func WriteJSON(out io.Writer, report *trial.Report) error {
	made := json.NewEncoder(out)
	made.SetEscapeHTML(false)
	made.SetIndent("", "  ")
	return made.Encode(report)
}

// The report in JUnit's XML: a test case per test, a suite per file.
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

// WriteJUnit writes the report to a file as JUnit XML. An unexpected outcome is a failure; a test that could
// not finish is an error.
func WriteJUnit(r *trial.Report, file string) error {
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
			test.Print(&text)
			said := &junitFailure{Message: test.Brief(), Type: "expectation", Text: text.String()}
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

// Earlier is the compared part of an earlier run's report.
type Earlier struct {
	Tests []struct {
		Name string `json:"name"`
		File string `json:"file"`
		OK   bool   `json:"ok"`
	} `json:"tests"`
	Tools []trial.ToolReport `json:"tools"`
}

// ReadEarlier reads a report of earshot eval --json.
func ReadEarlier(file string) (*Earlier, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--compare: %w", err)
	}
	var found Earlier
	if err := json.Unmarshal(text, &found); err != nil || found.Tests == nil {
		return nil, fmt.Errorf("--compare: %s is not a report; write one with: earshot eval … --json > %s", file, file)
	}
	return &found, nil
}

// Worse lists what got worse since the earlier run: tests that passed, and higher figures of tools. New tests
// and tools do not count.
func (than *Earlier) Worse(r *trial.Report) []string {
	var lines []string
	passed := map[[2]string]bool{}
	for _, test := range than.Tests {
		passed[[2]string{test.File, test.Name}] = test.OK
	}
	for _, test := range r.Tests {
		if !test.OK && passed[[2]string{test.File, test.Name}] {
			lines = append(lines, fmt.Sprintf("test %s passed before: %s", test.Name, test.Brief()))
		}
	}
	before := map[string]trial.ToolReport{}
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
