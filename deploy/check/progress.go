package main

import (
	"errors"
	"fmt"
	"log"
	"slices"
	"strings"
	"sync"
	"time"

	"gotest.tools/gotestsum/testjson"
)

// progress says what the check is doing: each step as it begins and ends, each package
// of tests as it ends, and every so often what is still running.
type progress struct {
	log   *log.Logger
	every time.Duration
	now   func() time.Time

	mu       sync.Mutex
	packages int               // to be tested in this step
	done     int               // of them
	running  map[string]*suite // by package
}

// suite is a package under test, with the tests that run.
type suite struct {
	began time.Time
	tests map[string]time.Time
}

// step runs a part of the check.
func (p *progress) step(name string, run func(*progress) error) error {
	p.log.Println(name)
	began, ended := p.now(), make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() { p.remind(name, began, ended) })
	err := run(p)
	close(ended)
	waiting.Wait()
	p.log.Printf("%s %s in %s", name, verdict(err), p.since(began))
	return err
}

// beside runs parts of the check one after the other, beside what follows, and says at once how
// each ends. The function that it returns waits for them.
func (p *progress) beside(parts []step) (join func() error) {
	var failed []error
	var running sync.WaitGroup
	running.Go(func() {
		for _, part := range parts {
			began := p.now()
			err := part.run(p)
			if err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", part.name, err))
			}
			p.log.Printf("%s %s in %s", part.name, verdict(err), p.since(began))
		}
	})
	return func() error {
		running.Wait()
		return errors.Join(failed...)
	}
}

// verdict is how something ended.
func verdict(err error) string {
	if err != nil {
		return "failed"
	}
	return "passed"
}

// remind says from time to time what takes so long.
func (p *progress) remind(name string, began time.Time, ended <-chan struct{}) {
	ticks := time.NewTicker(p.every)
	defer ticks.Stop()
	for {
		select {
		case <-ended:
			return
		case <-ticks.C:
			p.log.Printf("%s: %s so far%s", name, p.since(began), p.doing())
		}
	}
}

// expect begins with the tests of a number of packages.
func (p *progress) expect(packages int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.packages, p.done, p.running = packages, 0, map[string]*suite{}
}

// doing describes the tests under way, the longest one of each package, and is empty in
// other steps.
func (p *progress) doing() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done == p.packages {
		return ""
	}
	lines := []string{fmt.Sprintf(", %d of %d packages done", p.done, p.packages)}
	for name, of := range p.running {
		line := fmt.Sprintf("%s for %s", name, p.since(of.began))
		if test := of.longest(); test != "" {
			line += fmt.Sprintf(" (%s for %s)", test, p.since(of.tests[test]))
		}
		lines = append(lines, line)
	}
	if len(p.running) == 0 {
		lines = append(lines, "building")
	}
	slices.Sort(lines[1:])
	return strings.Join(lines, "; ")
}

// longest is the test that has run longest, of those that wait for no test in them.
func (s *suite) longest() string {
	var found string
	for name, began := range s.tests {
		outer := false
		for other := range s.tests {
			outer = outer || strings.HasPrefix(other, name+"/")
		}
		if !outer && (found == "" || began.Before(s.tests[found])) {
			found = name
		}
	}
	return found
}

// Event follows the tests as "go test -json" tells of them, and names what fails at once.
func (p *progress) Event(event testjson.TestEvent, execution *testjson.Execution) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch name := local(event.Package); {
	case name == "":
	case event.PackageEvent():
		p.packageEvent(name, event)
	case p.running[name] == nil:
	case event.Action == testjson.ActionRun || event.Action == testjson.ActionCont:
		p.running[name].tests[event.Test] = event.Time
	case event.Action == testjson.ActionPause || event.Action.IsTerminal():
		delete(p.running[name].tests, event.Test)
		if event.Action == testjson.ActionFail {
			p.log.Printf("FAILED %s %s, its output follows at the end", name, event.Test)
		}
	}
	return nil
}

// packageEvent notes the beginning and the end of a package.
func (p *progress) packageEvent(name string, event testjson.TestEvent) {
	switch event.Action {
	case "start":
		p.running[name] = &suite{event.Time, map[string]time.Time{}}
	case testjson.ActionPass, testjson.ActionFail:
		p.done++
		delete(p.running, name)
		ended := map[testjson.Action]string{testjson.ActionPass: "ok", testjson.ActionFail: "FAILED"}[event.Action]
		p.log.Printf("%-6s %6.1fs  %s (%d of %d)", ended, event.Elapsed, name, p.done, p.packages)
	case testjson.ActionSkip: // it has no tests
		p.done++
		delete(p.running, name)
	}
}

// Err passes on what go itself says.
func (p *progress) Err(text string) error {
	p.log.Println(text)
	return nil
}

func (p *progress) since(began time.Time) time.Duration {
	return p.now().Sub(began).Round(100 * time.Millisecond)
}

// local is a package's path as it is written after "./".
func local(pkg string) string { return strings.TrimPrefix(pkg, "earshot/") }
