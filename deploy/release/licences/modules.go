// Package licences knows which modules are linked into the program and what their licences are.
// It writes the file NOTICE from them, and tells them to the list of what a release holds.
package licences

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Module is one that is linked into the program.
type Module struct {
	// Path and Version are as in go.mod; those of Go's own library are std and v1.26.0.
	Path, Version string
	// IDs are those of its licences in the list of SPDX, each once and in order. All of them
	// hold: what a module has from elsewhere is linked in as well.
	IDs []string
	// texts are its licences and notices.
	texts []string
}

// Linked lists what is linked into the program on any of the platforms, given as linux/amd64,
// by path. Its error names all modules whose licence is not known, or is none that the program
// may be shipped with.
func Linked(ctx context.Context, platforms []string) ([]Module, error) {
	folders, err := std(ctx)
	if err != nil {
		return nil, err
	}
	for _, platform := range platforms {
		if err := find(ctx, platform, folders); err != nil {
			return nil, err
		}
	}
	var modules []Module
	var faults []error
	for _, named := range slices.Sorted(maps.Keys(folders)) {
		module, err := read(named, folders[named])
		modules, faults = append(modules, module), append(faults, err)
	}
	return modules, errors.Join(faults...)
}

// found has the folders in which a module, given as path and version, may have licences: its
// own, and those of the packages that are linked.
type found map[string]map[string]bool

func (f found) add(module, folder string) {
	if f[module] == nil {
		f[module] = map[string]bool{}
	}
	f[module][folder] = true
}

// std finds Go's own library.
func std(ctx context.Context) (found, error) {
	out, err := golang(ctx, "", "env", "GOVERSION", "GOROOT")
	if err != nil {
		return nil, err
	}
	of := strings.Split(strings.TrimSpace(out), "\n")
	f := found{}
	f.add("std v"+strings.TrimPrefix(of[0], "go"), of[1])
	return f, nil
}

// linkedOn has go list print the module of each package that is linked, and the folders of both.
const linkedOn = `{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{"\t"}}{{.Dir}}{{"\t"}}{{$.Dir}}{{end}}{{end}}`

// find adds what is linked on a platform.
func find(ctx context.Context, platform string, into found) error {
	out, err := golang(ctx, platform, "list", "-deps", "-f", linkedOn, "earshot/cmd/earshot")
	for line := range strings.Lines(out) {
		module, folders, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			continue
		}
		own, below, _ := strings.Cut(folders, "\t")
		for ; len(below) > len(own); below = filepath.Dir(below) {
			into.add(module, below)
		}
		into.add(module, own)
	}
	return err
}

// golang runs the go command for a platform, as releases are built, or for that of the machine.
func golang(ctx context.Context, platform string, arguments ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", arguments...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off")
	if system, processor, ok := strings.Cut(platform, "/"); ok {
		cmd.Env = append(cmd.Env, "GOOS="+system, "GOARCH="+processor)
	}
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", fmt.Errorf("go %s: %w: %s", arguments[0], err, strings.TrimSpace(string(exit.Stderr)))
	}
	return string(out), err
}
