// Command release writes the file NOTICE: the licences and notices of all modules that are linked
// into the program on any platform that a release is for. Run it when go.mod has changed:
//
//	go run ./deploy/release
//
// It also makes the packages of the clients, all of the version of the service:
//
//	go run ./deploy/release -clients made -version 1.2.3 -modpath github.com/you/earshot-go
//
// The release itself is made by release.sh.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// platforms are those that a release is for.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

// permitted are the licences of modules that a program under Apache-2.0 may include: none asks for the source.
var permitted = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC-BY-4.0", "CC0-1.0", "ISC", "MIT", "MPL-2.0", "Unlicense", "blessing"}

const head = `Earshot
Copyright 2026 The Earshot authors

Earshot is under the Apache License, Version 2.0; the file LICENSE has it. The programs that it
is published as have the modules of others linked in. What follows are these, with the licences
and notices that they ask to be passed on.

This file is written by: go run ./deploy/release

`

func main() {
	log.SetFlags(0)
	clients := flag.String("clients", "", "write the packages of the clients into a `folder`, and no NOTICE")
	version := flag.String("version", "", "of the clients: that of the `release` of the service, as 1.2.3")
	modpath := flag.String("modpath", "", "`path` of the module for Go, as github.com/you/earshot-go")
	flag.Parse()
	if *clients != "" {
		if err := packages(context.Background(), *clients, *version, *modpath); err != nil {
			log.Fatal("release: ", err)
		}
		return
	}
	text, err := notice(context.Background())
	if err == nil {
		err = os.WriteFile("NOTICE", []byte(text), 0o644)
	}
	if err != nil {
		log.Fatal("release: ", err)
	}
}

// notice lists the linked modules with their licences, and each licence text once, whatever its white space. Its error names
// every module whose licence is unknown or not permitted.
func notice(ctx context.Context) (string, error) {
	folders, err := linked(ctx)
	if err != nil {
		return "", err
	}
	type shared struct {
		text    string
		modules []string
	}
	var list strings.Builder
	var texts []*shared
	var faults []error
	byWords := map[string]*shared{}
	for _, module := range slices.Sorted(maps.Keys(folders)) {
		ids, found, err := licences(module, folders[module])
		faults = append(faults, err)
		fmt.Fprintf(&list, "%s: %s\n", module, strings.Join(ids, " AND "))
		path, _, _ := strings.Cut(module, " ")
		for _, text := range found {
			words := strings.Join(strings.Fields(text), " ")
			if byWords[words] == nil {
				byWords[words] = &shared{text: text}
				texts = append(texts, byWords[words])
			}
			if of := byWords[words]; !slices.Contains(of.modules, path) {
				of.modules = append(of.modules, path)
			}
		}
	}
	line := strings.Repeat("-", 80)
	for _, of := range texts {
		fmt.Fprintf(&list, "\n%s\n%s\n%s\n\n%s\n", line, strings.Join(of.modules, "\n"), line, of.text)
	}
	files, err := bundled(ctx)
	return head + list.String() + files, errors.Join(append(faults, err)...)
}

// bundled is the list, with licences, of what the files of the console are made of.
func bundled(ctx context.Context) (string, error) {
	console, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "earshot/api/console").Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(console)), "bundle", "licences.txt"))
	return "\n" + strings.Repeat("-", 80) + "\n" + string(text), err
}

// linked has, by module ("path version"), the folders that may hold its licences: from those of linked packages up to its own.
func linked(ctx context.Context) (map[string]map[string]bool, error) {
	folders := map[string]map[string]bool{}
	add := func(module, folder string) {
		if folders[module] == nil {
			folders[module] = map[string]bool{}
		}
		folders[module][folder] = true
	}
	golang := func(platform string, arguments ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "go", arguments...)
		system, processor, _ := strings.Cut(platform, "/")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off", "GOOS="+system, "GOARCH="+processor)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		return string(out), err
	}
	std, err := golang("", "env", "GOVERSION", "GOROOT")
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	version, root, _ := strings.Cut(strings.TrimSpace(std), "\n")
	add("std v"+strings.TrimPrefix(version, "go"), root)
	const format = `{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{"\t"}}{{.Dir}}{{"\t"}}{{$.Dir}}{{end}}{{end}}`
	for _, platform := range platforms {
		out, err := golang(platform, "list", "-deps", "-f", format, "earshot/cmd/earshot")
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", platform, err)
		}
		for line := range strings.Lines(out) {
			fields := strings.Split(strings.TrimSpace(line), "\t")
			if len(fields) != 3 {
				continue // Go's own library, or Earshot
			}
			module, own, folder := fields[0], fields[1], fields[2]
			for ; len(folder) > len(own); folder = filepath.Dir(folder) {
				add(module, folder)
			}
			add(module, own)
		}
	}
	return folders, nil
}

var (
	legalFile  = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice)([._-][a-z0-9._-]*)?$`)
	noticeFile = regexp.MustCompile(`(?i)^notice|logo`) // names owners, and no licence of its own
	lineEnd    = regexp.MustCompile(`(?m)[ \t\f\r]+$`)
	sourceFile = regexp.MustCompile(`(?i)\.(go|s|c|h)$`)
)

// licences reads the licences of a module by their SPDX names, and the texts of licences and notices.
func licences(module string, folders map[string]bool) (ids, texts []string, err error) {
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		files, err := os.ReadDir(folder)
		if err != nil {
			return nil, nil, err
		}
		for _, file := range files {
			name := file.Name()
			if file.IsDir() || !legalFile.MatchString(name) || sourceFile.MatchString(name) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				return nil, nil, err
			}
			texts = append(texts, strings.Trim(lineEnd.ReplaceAllString(string(text), ""), "\n"))
			if noticeFile.MatchString(name) {
				continue
			}
			if strings.Contains(string(text), "SQLite Is Public Domain") {
				ids = append(ids, "blessing")
			}
			for _, match := range licensecheck.Scan(text).Match {
				ids = append(ids, match.ID)
			}
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) == 0 {
		return nil, nil, fmt.Errorf("%s has no licence that is known: do without it, or read its licence and name it in deploy/release/main.go", module)
	}
	for _, id := range ids {
		if !slices.Contains(permitted, id) {
			err = errors.Join(err, fmt.Errorf("%s is under %s: do without it, or add %s to permitted in deploy/release/main.go if a program under Apache-2.0 may be shipped with it", module, id, id))
		}
	}
	return ids, texts, err
}
