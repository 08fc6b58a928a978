package licences

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
)

// head begins the file.
const head = `Earshot
Copyright 2026 The Earshot authors

Earshot is under the Apache License, Version 2.0; the file LICENSE has it. The programs that it
is published as have the modules of others linked in. What follows are these, with the licences
and notices that they ask to be passed on.

This file is written by: go run ./deploy/release -notice

`

// Write writes the file NOTICE for a program that is published for these platforms: the modules
// that are linked into it, and their licences, each once.
func Write(ctx context.Context, path string, platforms []string) error {
	text, err := notice(ctx, platforms)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func notice(ctx context.Context, platforms []string) (string, error) {
	modules, err := Linked(ctx, platforms)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	line := strings.Repeat("-", 80)
	b.WriteString(head)
	for _, m := range modules {
		fmt.Fprintf(&b, "%s %s: %s\n", m.Path, m.Version, strings.Join(m.IDs, " AND "))
	}
	for _, of := range sharing(modules) {
		fmt.Fprintf(&b, "\n%s\n%s\n%s\n\n%s\n", line, strings.Join(of.modules, "\n"), line, of.text)
	}
	return b.String(), nil
}

// shared is a text, and the modules that have it.
type shared struct {
	text    string
	modules []string
}

// sharing lists the texts by the first modules that have them. Texts that differ in their spaces
// alone are one.
func sharing(modules []Module) []*shared {
	var all []*shared
	by := map[string]*shared{}
	for _, m := range modules {
		for _, text := range m.texts {
			words := strings.Join(strings.Fields(text), " ")
			if by[words] == nil {
				by[words] = &shared{text: text}
				all = append(all, by[words])
			}
			if of := by[words]; !slices.Contains(of.modules, m.Path) {
				of.modules = append(of.modules, m.Path)
			}
		}
	}
	return all
}
