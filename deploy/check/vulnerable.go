package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// govulncheck is pinned as staticcheck is. What it knows of vulnerabilities is fetched each time from
// vuln.go.dev, or from where GOVULNDB says.
const govulncheck = "golang.org/x/vuln/cmd/govulncheck@v1.9.0"

// unfetched is how govulncheck begins to say that it could not fetch what is known.
const unfetched = "govulncheck: fetching vulnerabilities: "

// vulnerable fails where the program calls what is known to be vulnerable. Where that cannot be looked
// up, it says so and goes on: not every machine reaches vuln.go.dev.
func vulnerable(p *progress) error {
	args := []string{"run", govulncheck}
	if from := os.Getenv("GOVULNDB"); from != "" {
		args = append(args, "-db", from)
	}
	out, err := prepared("go", append(args, "./...")...).CombinedOutput()
	note, err := judged(out, err)
	if note != "" {
		p.log.Println(note)
	}
	return err
}

// judged is what came of govulncheck: an error where it has found something or has failed, and a note
// where it could not look.
func judged(out []byte, err error) (note string, _ error) {
	if err == nil {
		return "", nil
	}
	if _, why, is := bytes.Cut(out, []byte(unfetched)); is {
		line, _, _ := strings.Cut(string(why), "\n")
		return "govulncheck has not looked for known vulnerabilities: " + line + "; set GOVULNDB to a copy that can be reached", nil
	}
	return "", fmt.Errorf("%w:\n%s", err, out)
}
