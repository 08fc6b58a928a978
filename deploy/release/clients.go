package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"earshot/deploy/testbed"
)

// modulePath is that of the client for Go where no other is asked for: none that the go command finds.
const modulePath = "earshot/deploy/clients/go"

// versioned are the files that have the version of a client, each with what stands around it.
var versioned = map[string]*regexp.Regexp{
	"typescript/package.json":        regexp.MustCompile(`("name": "@earshot/client",\s+"version": ")[^"]*(")`),
	"typescript/src/version.ts":      regexp.MustCompile(`(version = ')[^']*(')`),
	"python/pyproject.toml":          regexp.MustCompile(`(?m)(^version = ")[^"]*(")`),
	"python/src/earshot/_version.py": regexp.MustCompile(`(VERSION = ")[^"]*(")`),
	"go/token.go":                    regexp.MustCompile(`(const Version = ")[^"]*(")`),
}

var (
	releaseVersion = regexp.MustCompile(`^\d+\.\d+\.\d+$`)
	published      = regexp.MustCompile(`^[a-z0-9.-]+\.[a-z]+(/[A-Za-z0-9._~-]+)+$`)
)

// packages writes the clients as they are published, all of one version: a package of npm, a wheel, and a Go module.
func packages(ctx context.Context, to, version, modpath string) error {
	if !releaseVersion.MatchString(version) {
		return fmt.Errorf("%q is no version of a release, as 1.2.3", version)
	}
	if modpath != "" && !published.MatchString(modpath) {
		return fmt.Errorf("%q is no path of a module, as github.com/you/earshot-go", modpath)
	}
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "earshot-clients")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for _, client := range []string{"typescript", "python", "go"} {
		if err := os.CopyFS(filepath.Join(work, client), testbed.Sources(filepath.Join("deploy/clients", client))); err != nil {
			return err
		}
	}
	for file, of := range versioned {
		if err := rewritten(filepath.Join(work, file), func(text string) string { return of.ReplaceAllString(text, "${1}"+version+"${2}") }); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	module := filepath.Join(work, "go")
	err = filepath.WalkDir(module, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return rewritten(file, func(text string) string { return strings.ReplaceAll(text, modulePath, cmp.Or(modpath, modulePath)) })
	})
	if err == nil {
		err = said(ctx, module, "cp", "-R", ".", filepath.Join(to, "go"))
	}
	return errors.Join(err,
		said(ctx, filepath.Join(work, "typescript"), "npm", "ci", "--silent", "--ignore-scripts"),
		said(ctx, filepath.Join(work, "typescript"), "npm", "pack", "--silent", "--pack-destination", to),
		wheel(ctx, filepath.Join(work, "python"), to))
}

// wheel has setuptools make the wheel by its hook (PEP 517), without an index: pip would look for one.
func wheel(ctx context.Context, folder, to string) error {
	if program := testbed.Python("import setuptools, wheel"); program != "" {
		return said(ctx, folder, program, "-c", "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])", to)
	}
	return errors.New("no python3 has setuptools and wheel: apt-get install python3-setuptools python3-wheel, or pip install setuptools wheel")
}

func said(ctx context.Context, folder, program string, arguments ...string) error {
	cmd := exec.CommandContext(ctx, program, arguments...)
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, strings.Join(arguments, " "), err, out)
	}
	return nil
}

func rewritten(file string, change func(string) string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(change(string(text))), 0o644)
}
