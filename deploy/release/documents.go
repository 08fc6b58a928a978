package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	links = regexp.MustCompile(`\]\(([^)\s#]+)|(?:src|href)="([^"#]+)"`)
	// quoted is what documents show, and do not link to.
	quoted = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
)

// documents are the files that an archive has: those beside the program, and all that their links
// lead to, so that somebody who has the archive alone can read on.
func documents() ([]string, error) {
	all := slices.Clone(beside)
	for i := 0; i < len(all); i++ {
		found, err := linkedFrom(all[i])
		if err != nil {
			return nil, err
		}
		for _, one := range found {
			if !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	slices.Sort(all[len(beside):])
	return all, nil
}

// linkedFrom are the files that a document links to. A link to a folder leads to the files in it.
func linkedFrom(document string) (files []string, err error) {
	if !strings.HasSuffix(document, ".md") {
		return nil, nil
	}
	text, err := os.ReadFile(document)
	if err != nil {
		return nil, err
	}
	for _, link := range links.FindAllSubmatch(quoted.ReplaceAll(text, nil), -1) {
		target := string(link[1]) + string(link[2])
		to := path.Join(path.Dir(document), target)
		if strings.Contains(target, ":") || !filepath.IsLocal(to) {
			continue // an address, or no part of the repository
		}
		entries, err := os.ReadDir(to)
		if err != nil { // it is a file, and adding it says so where it is missing
			files = append(files, to)
			continue
		}
		for _, entry := range entries {
			if entry.Type().IsRegular() {
				files = append(files, path.Join(to, entry.Name()))
			}
		}
	}
	return files, nil
}
