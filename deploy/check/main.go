// Command check is what CI runs, and what a contributor runs before a commit:
//
//	go run ./deploy/check           # formatting, modules, linters, and all tests that need minutes at most
//	go run ./deploy/check -all      # also what runs at night: campaigns, rolling restarts, foreign clients, known vulnerabilities
//	go run ./deploy/check -install  # installs what is missing with apt-get first
//
// Tests run against real servers, and those in whose packages goroutines meet run with the race
// detector. The program that tests start is built once. It needs Redis, PostgreSQL, MariaDB,
// Chromium, Node, Python with httpx, websockets and mypy, and the programs that documents use; a test that lacks
// one of them fails here. All else comes with the Go modules and, for clients in TypeScript, from npm.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/sqltest"
)

const (
	// Tools are pinned, so that a new release does not break an old commit.
	gotestsum   = "gotest.tools/gotestsum@v1.13.0"
	staticcheck = "honnef.co/go/tools/cmd/staticcheck@v0.8.2"
	govulncheck = "golang.org/x/vuln/cmd/govulncheck@v1.9.0"
	// timeout ends the tests of a package that hang. A machine that is ten times as busy is not at fault.
	timeout = "45m"
	tags    = "nightly,crashtest" // those of all that there is to compile
	linters = "deploy/check/lint" // the folder of the tool that go vet runs
)

// raced are the packages in which most goroutines meet; at night all are.
var raced = []string{
	"./trigger", "./trigger/delivery", "./trigger/query", "./trigger/refresh", "./trigger/worker",
	"./emitter/...", "./httpcall/...", "./api/gateway", "./api/natsrpc", "./api/ratelimit",
	"./repositories/store/...", "./repositories/outages",
}

func main() {
	log.SetFlags(log.Ltime | log.Lmsgprefix)
	log.SetPrefix("check: ")
	log.SetOutput(os.Stdout)
	install := flag.Bool("install", false, "install what is missing with apt-get")
	all := flag.Bool("all", false, "also what runs at night")
	flag.Parse()
	began := time.Now()
	err := check(*install, *all)
	log.Printf("%s in %s", verdict(err), time.Since(began).Round(time.Second))
	if err != nil {
		os.Exit(1)
	}
}

func check(install, all bool) error {
	// All is compiled once: by its profile (cmd/earshot/default.pgo) the program would be compiled beside what tests of
	// packages are compiled from, and so it would without the points at which rigs have it die (repositories/failpoint).
	// By -trimpath, what is compiled in one clone serves in the next, wherever that stands.
	if err := os.Setenv("GOFLAGS", strings.TrimSpace(os.Getenv("GOFLAGS")+" -pgo=off -tags=crashtest -trimpath")); err != nil {
		return err
	}
	if err := errors.Join(
		step("servers", func() error { return servers(install) }),
		step("gofmt", formatted),
		step("modules", func() error {
			return errors.Join(command("go", "mod", "tidy", "-diff"), command("go", "mod", "tidy", "-C", linters, "-diff"))
		}),
	); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "earshot-check-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := step("programs", func() error { return programs(folder) }); err != nil {
		return err
	}
	plain, err := unraced()
	if err != nil {
		return err
	}
	withRace := raced
	if all {
		withRace = []string{"./..."}
	}
	var linted, tested, testedWithRace error
	var steps sync.WaitGroup // two at a time: tests wait for servers and clocks as long as they compute
	steps.Go(func() { tested = step("tests", func() error { return tests(all, plain) }) })
	steps.Go(func() {
		linted = step("lint", func() error { return lint(folder) })
		if all {
			linted = errors.Join(linted,
				step("staticcheck", func() error { return command("go", "run", staticcheck, "-tags", tags, "./...") }),
				step("govulncheck", vulnerable),
			)
		}
		testedWithRace = step("tests with -race", func() error { return tests(all, withRace, "-race") })
	})
	steps.Wait()
	if err = errors.Join(tested, testedWithRace); all && err == nil {
		err = errors.Join(
			step("campaign of faults", func() error { return command("go", "run", "./deploy/faults") }),
			step("rolling restarts", func() error { return command("go", "run", "./deploy/rolling", "-marks") }),
		)
	}
	return errors.Join(err, linted)
}

// step runs a part of the check, and says how it went.
func step(name string, run func() error) error {
	log.Print(name)
	began := time.Now()
	err := run()
	log.Printf("%s %s in %s", name, verdict(err), time.Since(began).Round(time.Second))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func verdict(err error) string {
	if err != nil {
		return "failed: " + err.Error()
	}
	return "passed"
}

// servers makes sure that everything is installed that tests need.
func servers(install bool) error {
	packages := map[string]string{ // by their programs
		"redis-server": "redis-server", "chromium": "chromium", "curl": "curl", "jq": "jq", "openssl": "openssl",
		"sqlite3": "sqlite3", "node": "nodejs", "npm": "npm", "promtool": "prometheus", "zip": "zip",
	}
	if runtime.GOOS == "linux" {
		packages["systemd-analyze"] = "systemd"
	}
	missing := sqltest.Missing()
	for program, name := range packages {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, name)
		}
	}
	for modules, names := range map[string][]string{ // of Python, by what imports them
		"httpx, mypy": {"python3-httpx", "mypy"}, "setuptools, wheel": {"python3-setuptools", "python3-wheel"}, "websockets": {"python3-websockets"},
	} {
		if testbed.Python("import "+modules) == "" {
			missing = append(missing, names...)
		}
	}
	slices.Sort(missing)
	switch {
	case len(missing) == 0:
		return nil
	case !install:
		return fmt.Errorf("tests need more than is here; install it with: apt-get install %s (by brew, redis-server is redis, mariadb-server mariadb and nodejs node; by pip, httpx, websockets, mypy, setuptools and wheel), or run this with -install", strings.Join(missing, " "))
	}
	if err := command("apt-get", "update", "-q"); err != nil {
		return err
	}
	return command("apt-get", append([]string{"install", "-q", "-y", "--no-install-recommends"}, missing...)...)
}

// formatted names the files that gofmt would change.
func formatted() error {
	out, err := exec.Command("gofmt", "-l", ".").Output()
	if files := strings.Fields(string(out)); err == nil && len(files) > 0 {
		err = fmt.Errorf("run gofmt -w %s", strings.Join(files, " "))
	}
	return err
}

// programs builds the program that tests start, and names it in the environment, where testbed.Program looks.
func programs(folder string) error {
	path := filepath.Join(folder, "earshot")
	return errors.Join(command("go", "build", "-o", path, "./cmd/earshot"),
		os.Setenv("EARSHOT_PROGRAM", path), os.Setenv("EARSHOT_PROGRAM_CRASHTEST", path))
}

// lint runs the analyzers of go vet and of staticcheck in one pass. staticcheck's command takes three times as long
// on a machine without its cache; at night it finds what needs the insides of other modules as well.
func lint(folder string) error {
	tool := filepath.Join(folder, "lint")
	if err := command("go", "build", "-C", linters, "-o", tool); err != nil {
		return err
	}
	return errors.Join(command("go", "vet", "-vettool", tool, "-tags", tags, "./..."),
		command("go", "vet", "-C", linters, "-vettool", tool))
}

// unraced lists the packages whose tests run without the race detector.
func unraced() ([]string, error) {
	list := func(patterns []string) ([]string, error) {
		out, err := exec.Command("go", append([]string{"list"}, patterns...)...).Output()
		return strings.Fields(string(out)), err
	}
	all, err := list([]string{"./..."})
	with, err2 := list(raced)
	all = slices.DeleteFunc(all, func(name string) bool { return slices.Contains(with, name) })
	return all, errors.Join(err, err2)
}

// tests runs the tests of packages. gotestsum shows one line for a package, and at the end all that
// failed tests wrote. There are more packages, and more tests of each, at once than processors, since
// many wait for servers. Nobody debugs them: without DWARF they link in two thirds of the time.
func tests(all bool, packages []string, flags ...string) error {
	arguments := []string{"run", gotestsum, "--format", "pkgname", "--format-hide-empty-pkg", "--",
		"-timeout", timeout, "-p", strconv.Itoa(runtime.GOMAXPROCS(0) + 1), "-parallel", strconv.Itoa(4 * runtime.GOMAXPROCS(0)), "-vet=off", "-ldflags=-w"}
	if all {
		flags = append(flags, "-tags", tags)
	}
	return command("go", slices.Concat(arguments, flags, packages)...)
}

// vulnerable fails if the program calls what is known to be vulnerable. Not every machine reaches
// vuln.go.dev, nor has GOVULNDB: what cannot be looked up is reported, and no failure.
func vulnerable() error {
	out, err := exec.Command("go", "run", govulncheck, "./...").CombinedOutput()
	if _, why, is := bytes.Cut(out, []byte("govulncheck: fetching vulnerabilities: ")); err != nil && is {
		log.Printf("govulncheck has not looked for known vulnerabilities: %s; set GOVULNDB to a copy that can be reached", bytes.TrimSpace(why))
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w:\n%s", err, out)
	}
	return nil
}

// command runs a program in sight. Tests that need a server fail without one.
func command(name string, arguments ...string) error {
	cmd := exec.Command(name, arguments...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "EARSHOT_REQUIRE_SERVERS=1", "DEBIAN_FRONTEND=noninteractive")
	return cmd.Run()
}
