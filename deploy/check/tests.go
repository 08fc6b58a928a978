package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"gotest.tools/gotestsum/testjson"
)

const (
	maxSlow  = 8   // packages in the table of the slowest
	maxLines = 400 // of what one failed test wrote: its beginning and its end
)

// test runs "go test" on packages, in their order, and sums up what it says. Output of tests that pass is not shown;
// that of failed ones comes last, where a log that is cut at its beginning still has it.
func (p *progress) test(packages []string, flags ...string) error {
	list, err := prepared("go", append([]string{"list"}, packages...)...).Output()
	if err != nil {
		return fmt.Errorf("go list %s: %w", packages, err)
	}
	p.expect(strings.Count(string(list), "\n"))
	cmd := prepared("go", slices.Concat([]string{"test", "-json"}, flags, packages)...)
	stdout, out := cmd.StdoutPipe()
	stderr, errs := cmd.StderrPipe()
	if err := errors.Join(out, errs, cmd.Start()); err != nil {
		return err
	}
	execution, err := testjson.ScanTestOutput(testjson.ScanConfig{
		Stdout: stdout, Stderr: stderr, Handler: p, IgnoreNonJSONOutputLines: true,
		Stop: func() { _ = cmd.Process.Kill() },
	})
	err = errors.Join(err, cmd.Wait())
	if failed := sumUp(os.Stdout, execution, slices.Contains(flags, "-race")); failed != nil {
		return failed
	}
	if err == nil && execution.Total() == 0 {
		return fmt.Errorf("go test %s %s has run no test", strings.Join(flags, " "), packages)
	}
	return err
}

// sumUp writes which packages took longest, which tests were skipped and why, and
// everything of those that failed. The error names them once more.
func sumUp(w io.Writer, execution *testjson.Execution, race bool) error {
	writeSlowest(w, execution)
	writeSkipped(w, execution)
	failed := failures(execution)
	if len(failed) == 0 {
		return nil
	}
	var names []string
	for _, test := range testjson.FilterFailedUnique(slices.Clone(failed)) {
		names = append(names, nameOf(test))
	}
	fmt.Fprintf(w, "\n%d failed:\n", len(names))
	for _, name := range names {
		fmt.Fprintln(w, "  "+name)
	}
	for _, test := range failed {
		writeFailure(w, execution, test, race)
	}
	if errs := execution.Errors(); len(errs) > 0 {
		fmt.Fprintln(w, "\n--- what go says")
		for _, line := range cut(errs) {
			fmt.Fprintln(w, strings.TrimRight(line, "\n"))
		}
	}
	fmt.Fprintln(w)
	return fmt.Errorf("%d failed: %s", len(names), strings.Join(names, ", "))
}

// failures are the tests that failed, and the packages that failed without one.
func failures(execution *testjson.Execution) []testjson.TestCase {
	return slices.DeleteFunc(execution.Failed(), func(test testjson.TestCase) bool {
		return test.Test == "" && len(execution.Package(test.Package).Failed) > 0
	})
}

func writeSlowest(w io.Writer, execution *testjson.Execution) {
	packages := slices.DeleteFunc(execution.Packages(), func(name string) bool { return execution.Package(name).Total == 0 })
	slices.SortStableFunc(packages, func(a, b string) int {
		return int(execution.Package(b).Elapsed() - execution.Package(a).Elapsed())
	})
	fmt.Fprintf(w, "\n%d tests in %d packages; the slowest:\n", execution.Total(), len(packages))
	for _, name := range packages[:min(maxSlow, len(packages))] {
		fmt.Fprintf(w, "  %7.1fs  %s\n", execution.Package(name).Elapsed().Seconds(), local(name))
	}
}

// writeSkipped lists the reasons for which tests were skipped, each with one of them.
func writeSkipped(w io.Writer, execution *testjson.Execution) {
	var reasons []string
	tests := map[string][]string{}
	for _, test := range execution.Skipped() {
		reason := reasonOf(execution.OutputLines(test))
		if tests[reason] == nil {
			reasons = append(reasons, reason)
		}
		tests[reason] = append(tests[reason], nameOf(test))
	}
	if len(reasons) > 0 {
		fmt.Fprintln(w, "\nskipped:")
	}
	for _, reason := range reasons {
		more := ""
		if n := len(tests[reason]); n > 1 {
			more = fmt.Sprintf(" and %d more", n-1)
		}
		fmt.Fprintf(w, "  %s%s: %s\n", tests[reason][0], more, reason)
	}
}

// reasonOf is the last thing that a skipped test says, without its line of code.
func reasonOf(output []string) string {
	lines := said(output)
	if len(lines) == 0 {
		return "no reason given"
	}
	last := strings.TrimSpace(lines[len(lines)-1])
	if _, reason, found := strings.Cut(last, ".go:"); found {
		_, reason, _ = strings.Cut(reason, ": ")
		return reason
	}
	return last
}

// writeFailure writes what one failed test wrote and how to run it alone. Where it ended
// the process, or that hung, this is with the output of the package.
func writeFailure(w io.Writer, execution *testjson.Execution, test testjson.TestCase, race bool) {
	lines := said(execution.OutputLines(test))
	unended := test.Elapsed < 0
	if unended {
		lines = append(lines, said(execution.OutputLines(testjson.TestCase{Package: test.Package}))...)
	}
	if len(lines) == 0 {
		return // it failed for a test in it
	}
	took := testjson.FormatDurationAsSeconds(test.Elapsed, 1)
	if unended {
		took = "ended with its process"
	}
	fmt.Fprintf(w, "\n--- %s (%s)\n", nameOf(test), took)
	for _, line := range cut(lines) {
		fmt.Fprintln(w, line)
	}
	flag := ""
	if race {
		flag = "-race "
	}
	fmt.Fprintf(w, "again: go test %s%s./%s\n", flag, pattern(test.Test), local(test.Package))
}

// said is what tests wrote, without the lines that only frame it.
func said(output []string) []string {
	var lines []string
	for line := range strings.Lines(strings.Join(output, "")) {
		line = strings.TrimRight(line, "\n")
		frame := slices.ContainsFunc([]string{"=== ", "--- FAIL: ", "--- PASS: ", "--- SKIP: "}, func(mark string) bool {
			return strings.HasPrefix(strings.TrimLeft(line, " "), mark)
		})
		if !frame && line != "PASS" && line != "FAIL" {
			lines = append(lines, line)
		}
	}
	return lines
}

// cut keeps the beginning and the end of what is too long, as the dump of a hanging
// process is.
func cut(lines []string) []string {
	if len(lines) <= maxLines {
		return lines
	}
	left := fmt.Sprintf("    … %d lines left out …", len(lines)-maxLines)
	return slices.Concat(lines[:maxLines/2], []string{left}, lines[len(lines)-maxLines/2:])
}

// nameOf is a test's package and name, or the package alone where it failed outside of
// its tests: it does not compile, or its TestMain fails.
func nameOf(test testjson.TestCase) string {
	return strings.TrimSpace(local(test.Package) + " " + test.Test.Name())
}

// pattern is the flag that runs a test alone.
func pattern(test testjson.TestName) string {
	if test == "" {
		return ""
	}
	return "-run '^" + strings.ReplaceAll(test.Name(), "/", "$/^") + "$' "
}
