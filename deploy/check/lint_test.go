package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// planted has a fault wherever a comment names what must be found there.
var planted = map[string]string{
	"go.mod": "module earshot\n\ngo 1.26\n",
	"planted.go": `package planted

import (
	"fmt"
	"io/ioutil" // SA1019
	"strings"
)

func Prints() { fmt.Printf("%d\n", "one") } // printf SA5009

func Reads() ([]byte, error) { return ioutil.ReadAll(strings.NewReader("x")) }

func Overwrites() error {
	_, err := fmt.Println() // SA4006
	_, err = fmt.Println()
	return err
}

func Wastes() { strings.TrimSpace(" x") } // SA4017

func Pairs() { strings.NewReplacer("a", "b", "c") } // SA5012

type failure struct{}

func (*failure) Error() string { return "" }

func fails() *failure { return nil }

func Compares() bool { var err error = fails(); return err == nil } // SA4023

func Clear(b bool) bool { return b == true } // S1002

func Text() error { return fmt.Errorf("ends with a stop.") } // ST1005

func forgotten() {} // U1000

func asked() {}
`,
	"planted_test.go": `package planted

import "testing"

func TestAsks(t *testing.T) {
	asked()
	go func() { t.Fatal() }() // testinggoroutine SA2002
}

func helps() {} // U1000
`,
	"outside_test.go": `package planted_test

import "testing"

func TestNothing(*testing.T) {}

func helps() {} // U1000
`,
}

func TestLintFindsWhatVetAndStaticcheckFind(t *testing.T) {
	for _, file := range []string{"lint/main.go", "lint/go.mod"} { // after a change of these, no earlier pass counts
		_, err := os.ReadFile(file)
		require.NoError(t, err)
	}
	folder := t.TempDir()
	tool := filepath.Join(folder, "lint")
	out, err := exec.Command("go", "build", "-C", "lint", "-o", tool).CombinedOutput()
	require.NoError(t, err, "%s", out)
	var expected []string
	for name, text := range planted {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
		for n, line := range strings.Split(text, "\n") {
			if _, checks, is := strings.Cut(line, " // "); is {
				for _, check := range strings.Fields(checks) {
					expected = append(expected, name+":"+strconv.Itoa(n+1)+" "+check)
				}
			}
		}
	}
	vet := exec.Command("go", "vet", "-json", "-vettool", tool)
	vet.Dir = folder
	out, err = vet.Output()
	require.NoError(t, err)
	var found []string
	for units := json.NewDecoder(bytes.NewReader(out)); units.More(); {
		var unit map[string]map[string][]struct{ Posn string }
		require.NoError(t, units.Decode(&unit), "%s", out)
		for _, checks := range unit {
			for check, findings := range checks {
				for _, finding := range findings {
					place := strings.Split(filepath.Base(finding.Posn), ":")
					found = append(found, place[0]+":"+place[1]+" "+check)
				}
			}
		}
	}
	require.ElementsMatch(t, expected, found)
}
