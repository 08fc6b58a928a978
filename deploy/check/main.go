// Command check runs everything that guards the project: formatting, vet,
// staticcheck, and all tests with the race detector against real servers. It is what
// CI runs and what a contributor runs before a commit:
//
//	go run ./deploy/check
//
// It needs a redis-server on the path and a PostgreSQL server, and says how to get
// them; with -install it gets them by itself where apt-get is to be had. All else comes with the Go modules.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"earshot/trigger/sqlquery/pgtest"
)

// staticcheck is pinned, so that a new release does not break an old commit.
const staticcheck = "honnef.co/go/tools/cmd/staticcheck@v0.8.2"

type step struct {
	name string
	run  func() error
}

func main() {
	install := flag.Bool("install", false, "install what is missing with apt-get")
	short := flag.Bool("short", false, "leave out the slow tests")
	flag.Parse()
	if err := check(*install, *short); err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(1)
	}
}

func check(install, short bool) error {
	tests := []string{"test", "-race", "-timeout", "15m"}
	if short {
		tests = append(tests, "-short")
	}
	for _, s := range []step{
		{"servers", func() error { return servers(install) }},
		{"gofmt", formatted},
		{"vet", func() error { return command("go", "vet", "./...") }},
		{"modules", func() error { return command("go", "mod", "tidy", "-diff") }},
		{"staticcheck", func() error { return command("go", "run", staticcheck, "./...") }},
		{"allocations", func() error { return command("go", "test", "-run", "CostsLittle|CostLittle", "./repositories") }},
		{"tests", func() error { return command("go", append(tests, "./...")...) }},
	} {
		started := time.Now()
		if err := s.run(); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Printf("check: %s passed in %s\n", s.name, time.Since(started).Round(100*time.Millisecond))
	}
	return nil
}

// servers makes sure that there are a Redis and a PostgreSQL server: the tests that
// need one must run.
func servers(install bool) error {
	var missing []string
	if _, err := exec.LookPath("redis-server"); err != nil {
		missing = append(missing, "redis-server")
	}
	if !pgtest.Installed() {
		missing = append(missing, "postgresql")
	}
	if len(missing) == 0 {
		return nil
	}
	packages := strings.Join(missing, " ")
	if !install {
		return fmt.Errorf("no server of: %s; install it with: apt-get install %s (brew install redis postgresql), or run this with -install", packages, packages)
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

// command runs a program in sight. Tests that need a server fail without one.
func command(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "EARSHOT_REQUIRE_SERVERS=1", "DEBIAN_FRONTEND=noninteractive")
	return cmd.Run()
}
