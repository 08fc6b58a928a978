package eval

import (
	"encoding/xml"
	"fmt"
	"os"
	"strings"
)

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
			suite = &junitSuite{Name: className(test)}
			suites[test.File] = suite
			all.Suites = append(all.Suites, suite)
		}
		one := test.junit()
		suite.Cases = append(suite.Cases, one)
		suite.count(one)
		all.count(one)
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

func (c *junitCounts) count(one junitCase) {
	c.Tests++
	if one.Failure != nil {
		c.Failures++
	}
	if one.Error != nil {
		c.Errors++
	}
}

// className is the class of a case: its file.
func className(t TestReport) string {
	if t.File == "" {
		return "earshot"
	}
	return t.File
}

func (t TestReport) junit() junitCase {
	one := junitCase{Name: t.Name, ClassName: className(t)}
	if t.OK {
		return one
	}
	var text strings.Builder
	t.print(&text)
	said := &junitFailure{Message: t.brief(), Type: "expectation", Text: text.String()}
	if t.Error != "" {
		said.Type = "undecided"
		one.Error = said
		return one
	}
	one.Failure = said
	return one
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
