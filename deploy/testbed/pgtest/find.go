package pgtest

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// Environment variables that say where the programs are, and that they must be there.
const (
	envFolder  = "EARSHOT_POSTGRES_BIN"
	envRequire = "EARSHOT_REQUIRE_SERVERS"
)

const hint = "no PostgreSQL server: install it (apt-get install postgresql, brew install postgresql) or set " + envFolder + " to the folder of initdb and postgres"

// Installed reports whether there is a server to run.
func Installed() bool { return folder() != "" }

func find(t testing.TB) string {
	t.Helper()
	found := folder()
	if found != "" {
		return found
	}
	if os.Getenv(envRequire) != "" {
		t.Fatal(hint)
	}
	t.Skip(hint)
	return ""
}

// folder returns where the programs are; empty where they are not.
func folder() string {
	if named, set := os.LookupEnv(envFolder); set {
		if complete(named) {
			return named
		}
		return ""
	}
	if program, err := exec.LookPath("initdb"); err == nil && complete(filepath.Dir(program)) {
		return filepath.Dir(program)
	}
	versions, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is well formed
	slices.SortFunc(versions, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
	for _, candidate := range versions {
		if complete(candidate) {
			return candidate
		}
	}
	return ""
}

func complete(dir string) bool {
	for _, program := range []string{"initdb", "postgres"} {
		if _, err := exec.LookPath(filepath.Join(dir, program)); err != nil {
			return false
		}
	}
	return true
}

func version(bin string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	return n
}
