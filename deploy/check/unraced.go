package main

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// unraced are the tests that -race skips, as package unraced and redistest.Each have it.
type unraced struct {
	names    []string // of tests, in packages
	packages []string // as in ./matcher/llm
	embedded []string // packages whose tests run on miniredis, among other stores
}

// test runs them. The flags are those of all tests, but for -race.
func (u unraced) test(p *progress, flags ...string) error {
	if err := p.test(u.packages, append(flags, "-run", "^("+strings.Join(u.names, "|")+")$")...); err != nil {
		return err
	}
	return p.test(u.embedded, append(flags, "-run", "/^miniredis$")...)
}

var (
	function = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	skips    = regexp.MustCompile(`(?m)^\t+(if )?unraced\.`)
	stores   = regexp.MustCompile(`(?m)^\t+redistest\.Each\(`)
)

// findUnraced looks for those tests in the files of the module.
func findUnraced(module fs.FS) (found unraced, err error) {
	err = fs.WalkDir(module, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(module, name)
		found.read("./"+path.Dir(name), string(text))
		return err
	})
	found.packages, found.embedded = slices.Compact(found.packages), slices.Compact(found.embedded)
	return found, err
}

// read adds what a file of tests has.
func (u *unraced) read(folder, text string) {
	if stores.MatchString(text) {
		u.embedded = append(u.embedded, folder)
	}
	begins := function.FindAllStringSubmatchIndex(text, -1)
	for i, at := range begins {
		end := len(text)
		if i+1 < len(begins) {
			end = begins[i+1][0]
		}
		if skips.MatchString(text[at[0]:end]) {
			u.names, u.packages = append(u.names, text[at[2]:at[3]]), append(u.packages, folder)
		}
	}
}
