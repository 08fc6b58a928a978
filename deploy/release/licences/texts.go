package licences

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

var (
	// legal are the files that go along with a program.
	legal = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice)([._-][a-z0-9._-]*)?$`)
	// notices say who holds rights, and under no licence of their own.
	notices = regexp.MustCompile(`(?i)^notice|logo`)
	// sources are files that only look like one.
	sources = regexp.MustCompile(`(?i)\.(go|s|c|h)$`)
)

// ours may be shipped together with a program under Apache-2.0. Those that ask for the source
// of what they are linked into may not. Whoever adds one has read it.
var ours = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC-BY-4.0", "CC0-1.0", "ISC", "MIT", "MPL-2.0", "Unlicense", "blessing"}

// read reads the licences in the folders of a module, given as path and version.
func read(named string, folders map[string]bool) (Module, error) {
	path, version, _ := strings.Cut(named, " ")
	m, ids := Module{Path: path, Version: version}, map[string]bool{}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		files, err := os.ReadDir(folder)
		if err != nil {
			return m, err
		}
		for _, file := range files {
			name := file.Name()
			if file.IsDir() || !legal.MatchString(name) || sources.MatchString(name) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				return m, err
			}
			m.texts = append(m.texts, tidied(string(text)))
			if !notices.MatchString(name) {
				identify(text, ids)
			}
		}
	}
	m.IDs = slices.Sorted(maps.Keys(ids))
	return m, m.check()
}

// identify adds the licences that a text has.
func identify(text []byte, ids map[string]bool) {
	if strings.Contains(string(text), "SQLite Is Public Domain") {
		ids["blessing"] = true // how the list calls it
	}
	for _, match := range licensecheck.Scan(text).Match {
		ids[match.ID] = true
	}
}

// check names what keeps the module from being shipped.
func (m Module) check() error {
	if len(m.IDs) == 0 {
		return fmt.Errorf("%s %s has no licence that is known: do without it, or read what it has and say it in deploy/release/licences", m.Path, m.Version)
	}
	for _, id := range m.IDs {
		if !slices.Contains(ours, id) {
			return fmt.Errorf("%s %s is under %s: do without it, or add that to ours in deploy/release/licences if a program under Apache-2.0 may be shipped with it", m.Path, m.Version, id)
		}
	}
	return nil
}

// tidied is a text with the ends of lines of Unix, and none at its own ends.
func tidied(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\f")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}
