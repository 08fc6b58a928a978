// Command check runs everything that guards the project: formatting, vet,
// staticcheck, govulncheck, and all tests with the race detector against real servers. It is what
// CI runs and what a contributor runs before a commit:
//
//	go run ./deploy/check
//
// It says what it is doing as it does it, and ends with the tests that failed and what
// they wrote. It needs Redis, PostgreSQL, MariaDB, Chromium, Node, Python with httpx and mypy, and the programs that documents use,
// and says how to get them; with -install it gets them by itself where apt-get is to be
// had. All else comes with the Go modules, and for a client in TypeScript from npm.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"earshot/deploy/testbed/sqltest"
)

const (
	// staticcheck is pinned, so that a new release does not break an old commit.
	staticcheck = "honnef.co/go/tools/cmd/staticcheck@v0.8.2"
	// timeout ends the tests of a package that hang. They are done in four minutes on two
	// idle cores; a machine with ten times as much to do is busy, and not at fault.
	timeout = "45m"
)

func main() {
	install := flag.Bool("install", false, "install what is missing with apt-get")
	short := flag.Bool("short", false, "leave out the slow tests")
	flag.Parse()
	told := &progress{log: log.New(os.Stdout, "check: ", log.Ltime|log.Lmsgprefix), every: 30 * time.Second, now: time.Now}
	if err := check(told, *install, *short); err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(1)
	}
}

// slowestFirst are all packages, with those first which take minutes: they would leave
// the other processors idle at the end. What waits much runs beside what computes, so there
// are more of them at once than a small machine has processors.
var slowestFirst = []string{"./trigger", "./deploy/faults", "./cmd/earshot", "./api", "./deploy/clients", "./..."}

// atOnce is how many packages are tested at the same time.
func atOnce() string { return strconv.Itoa(runtime.GOMAXPROCS(0) + 1) }

// step is a part of the check.
type step struct {
	name string
	run  func(*progress) error
}

// analyses read the code. They run beside the tests, which wait now and then.
var analyses = []step{
	{"vet", func(*progress) error { return command("go", "vet", "./...") }},
	{"staticcheck", func(*progress) error { return command("go", "run", staticcheck, "./...") }},
	{"govulncheck", vulnerable},
}

func check(p *progress, install, short bool) error {
	all := []string{"-timeout", timeout, "-p", atOnce(), "-vet=off"} // vet is one of the analyses
	if short {
		all = append(all, "-short")
	}
	skipped, err := findUnraced(os.DirFS("."))
	if err != nil {
		return err
	}
	analysed := func() error { return nil }
	steps := []step{
		{"servers", func(*progress) error { return servers(install) }},
		{"gofmt", func(*progress) error { return formatted() }},
		{"modules", func(*progress) error { return command("go", "mod", "tidy", "-diff") }},
		{"vet, staticcheck and govulncheck begin, beside what follows", func(p *progress) error { analysed = p.beside(analyses); return nil }},
		{"tests without -race", func(p *progress) error { return skipped.test(p, all...) }},
		{"tests", func(p *progress) error { return p.test(slowestFirst, append(all, "-race")...) }},
	}
	var failed error
	for i, s := range steps {
		if err := p.step(fmt.Sprintf("%d/%d %s", i+1, len(steps), s.name), s.run); err != nil {
			failed = fmt.Errorf("%s: %w", s.name, err)
			break
		}
	}
	return errors.Join(failed, analysed())
}

// servers makes sure that there are a Redis, a PostgreSQL and a MariaDB server, a browser, Node with
// npm, Python with httpx and mypy, and what the commands of the documents use: the tests that need one must run.
func servers(install bool) error {
	var missing []string
	programs := []string{"redis-server", "chromium", "curl", "jq", "openssl", "sqlite3", "node", "npm", "promtool"}
	if runtime.GOOS == "linux" {
		programs = append(programs, "systemd-analyze") // reads the unit of the package
	}
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			missing = append(missing, strings.NewReplacer("node", "nodejs", "promtool", "prometheus", "systemd-analyze", "systemd").Replace(name))
		}
	}
	if exec.Command("/usr/bin/python3", "-c", "import httpx, mypy").Run() != nil && exec.Command("python3", "-c", "import httpx, mypy").Run() != nil {
		missing = append(missing, "python3-httpx", "mypy")
	}
	missing = append(missing, sqltest.Missing()...)
	if len(missing) == 0 {
		return nil
	}
	packages := strings.Join(missing, " ")
	if !install {
		return fmt.Errorf("what the tests need is not there: %s; install it with: apt-get install %s (by brew, redis-server is redis, mariadb-server mariadb and nodejs node; by pip, httpx and mypy), or run this with -install", packages, packages)
	}
	if err := command("apt-get", "update"); err != nil {
		return err
	}
	return command("apt-get", append([]string{"install", "-y", "--no-install-recommends"}, missing...)...)
}

// formatted names the files that gofmt would change.
func formatted() error {
	out, err := exec.Command("gofmt", "-l", ".").Output()
	if files := strings.TrimSpace(string(out)); err == nil && files != "" {
		err = fmt.Errorf("not formatted, run gofmt -w on: %s", strings.ReplaceAll(files, "\n", " "))
	}
	return err
}

// command runs a program in sight.
func command(name string, args ...string) error {
	cmd := prepared(name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// prepared is a program to run, under which tests that need a server fail without one.
func prepared(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "EARSHOT_REQUIRE_SERVERS=1", "DEBIAN_FRONTEND=noninteractive")
	return cmd
}
