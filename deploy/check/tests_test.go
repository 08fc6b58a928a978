package main

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gotest.tools/gotestsum/testjson"
)

// read follows what "go test -json" wrote about packages that pass, fail, do not
// compile, end their process, hang, and have no tests.
func read(t *testing.T, p *progress, stderr string) *testjson.Execution {
	events, err := os.Open("testdata/events.json")
	require.NoError(t, err)
	defer events.Close()
	execution, err := testjson.ScanTestOutput(testjson.ScanConfig{
		Stdout: events, Stderr: strings.NewReader(stderr), Handler: p, IgnoreNonJSONOutputLines: true,
	})
	require.NoError(t, err)
	return execution
}

func newProgress(w *bytes.Buffer) *progress {
	p := &progress{log: log.New(w, "", 0), every: time.Hour, now: time.Now}
	p.expect(6)
	return p
}

func TestPackagesAreToldAsTheyEnd(t *testing.T) {
	var told bytes.Buffer
	read(t, newProgress(&told), "go: downloading something\n")
	require.ElementsMatch(t, []string{
		"go: downloading something",
		"FAILED bad TestWrong/deep, its output follows at the end",
		"FAILED bad TestWrong, its output follows at the end",
		"FAILED bad TestOther, its output follows at the end",
		"FAILED    0.0s  bad (1 of 6)",
		"FAILED    0.0s  broken (2 of 6)",
		"FAILED    0.0s  dies (3 of 6)",
		"ok        0.0s  good (4 of 6)",
		"FAILED    1.0s  slow (6 of 6)",
	}, strings.Split(strings.TrimSpace(told.String()), "\n"))
}

func TestWhatIsStillRunningIsTold(t *testing.T) {
	p := newProgress(new(bytes.Buffer))
	start := time.Now()
	p.now = func() time.Time { return start.Add(90 * time.Second) }
	require.Equal(t, ", 0 of 6 packages done; building", p.doing())
	event := func(after time.Duration, action testjson.Action, pkg, test string) {
		require.NoError(t, p.Event(testjson.TestEvent{Time: start.Add(after), Action: action, Package: pkg, Test: test}, nil))
	}
	event(0, "start", "earshot/trigger", "")
	event(time.Second, testjson.ActionRun, "earshot/trigger", "TestOuter")
	event(time.Second, testjson.ActionRun, "earshot/trigger", "TestOuter/waits")
	event(time.Second, testjson.ActionPause, "earshot/trigger", "TestOuter/waits")
	event(10*time.Second, testjson.ActionRun, "earshot/trigger", "TestOuter/long")
	event(20*time.Second, testjson.ActionRun, "earshot/trigger", "TestLater")
	event(30*time.Second, "start", "earshot/api", "")
	require.Equal(t, ", 0 of 6 packages done; api for 1m0s; trigger for 1m30s (TestOuter/long for 1m20s)", p.doing())
	event(40*time.Second, testjson.ActionPass, "earshot/trigger", "TestOuter/long")
	event(40*time.Second, testjson.ActionPass, "earshot/trigger", "TestOuter")
	event(50*time.Second, testjson.ActionPass, "earshot/api", "")
	require.Equal(t, ", 1 of 6 packages done; trigger for 1m30s (TestLater for 1m10s)", p.doing())
}

func TestFailedTestsAreNamedAndTheirOutputComesLast(t *testing.T) {
	execution := read(t, newProgress(new(bytes.Buffer)), "")
	var written bytes.Buffer
	err := sumUp(&written, execution, true)
	require.EqualError(t, err, "5 failed: bad TestOther, bad TestWrong/deep, broken, dies TestExits, slow TestHangs")
	text := written.String()

	names, outputs, _ := strings.Cut(text, "\n5 failed:\n")
	require.Contains(t, names, "10 tests in 4 packages; the slowest:\n      1.0s  slow\n")
	require.Contains(t, names, "skipped:\n  good TestSkips: a cluster takes seconds to start\n")
	list, outputs, _ := strings.Cut(outputs, "\n\n")
	require.Equal(t, "  bad TestOther\n  bad TestWrong/deep\n  broken\n  dies TestExits\n  slow TestHangs", list)

	parts := strings.Split(outputs, "--- ")[1:]
	require.Equal(t, "bad TestWrong/deep (0.0s)\nprinted by the failing one\n    a_test.go:4: want 1, have 2\n"+
		"again: go test -race -run '^TestWrong$/^deep$' ./bad\n\n", parts[0])
	require.Equal(t, "bad TestWrong (0.0s)\n    a_test.go:4: and the parent too\nagain: go test -race -run '^TestWrong$' ./bad\n\n", parts[1])
	require.Contains(t, parts[2], "a_test.go:5: other reason")
	require.Contains(t, parts[3], "broken [build failed]")
	require.Contains(t, parts[4], "a_test.go:4: about to go")
	require.Contains(t, parts[5], "panic: test timed out after 1s")
	require.Contains(t, parts[5], "slow.TestHangs")
	require.Equal(t, "what go says\nbroken/a_test.go:3:27: undefined: undefinedName\n\n", parts[6])
	require.Len(t, parts, 7)
	for _, unwanted := range []string{"noise of one that passes", "nobody wants", "fine says this"} {
		require.NotContains(t, text, unwanted)
	}
}

func TestWhatOneTestWroteIsCutInTheMiddle(t *testing.T) {
	lines := make([]string, 1000)
	for i := range lines {
		lines[i] = fmt.Sprint(i)
	}
	kept := cut(lines)
	require.Len(t, kept, maxLines+1)
	require.Equal(t, []string{"199", "    … 600 lines left out …", "800"}, kept[199:202])
	require.Equal(t, lines[:maxLines], cut(lines[:maxLines]))
}

func TestStepsAreToldWithTheirTime(t *testing.T) {
	var told bytes.Buffer
	p := &progress{log: log.New(&told, "", 0), every: time.Hour}
	clock := time.Unix(0, 0)
	p.now = func() time.Time { return clock }
	fault := errors.New("x")
	require.ErrorIs(t, p.step("1/2 vet", func(*progress) error {
		clock = clock.Add(75 * time.Second)
		return fault
	}), fault)
	require.NoError(t, p.step("2/2 tests", func(*progress) error { return nil }))
	require.Equal(t, "1/2 vet\n1/2 vet failed in 1m15s\n2/2 tests\n2/2 tests passed in 0s\n", told.String())
}

func TestALongStepIsToldAgain(t *testing.T) {
	told := make(chan string, 100)
	p := &progress{log: log.New(lines(told), "", 0), every: time.Millisecond, now: func() time.Time { return time.Unix(0, 0) }}
	require.NoError(t, p.step("1/1 vet", func(*progress) error {
		require.Equal(t, "1/1 vet\n", <-told)
		require.Equal(t, "1/1 vet: 0s so far\n", <-told)
		return nil
	}))
}

// lines sends what is written to it, as long as there is room.
type lines chan<- string

func (l lines) Write(line []byte) (int, error) {
	select {
	case l <- string(line):
	default:
	}
	return len(line), nil
}

func TestWhatRunsBesideIsWaitedForAndAllThatFailedIsNamed(t *testing.T) {
	var told bytes.Buffer
	p := newProgress(&told)
	fails := func(text string) step {
		return step{text, func(*progress) error { return errors.New("wrong in " + text) }}
	}
	err := p.beside([]step{fails("vet"), {"modules", func(*progress) error { return nil }}, fails("staticcheck")})()
	require.EqualError(t, err, "vet: wrong in vet\nstaticcheck: wrong in staticcheck")
	require.Regexp(t, "(?s)vet failed in .*modules passed in .*staticcheck failed in", told.String())
}
