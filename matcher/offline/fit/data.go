package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// set is tools, and what people say to them.
type set struct {
	tools    []tool
	said     map[string][]string // by tool
	none     []string            // what calls for none of the tools
	examples map[string][]string // by tool, others than its own; nil if there are none
}

// tool is a tool of a set.
type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Examples    []string        `json:"examples,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// read reads the texts of CLINC150, which have examples, and the calls of BFCL, which have
// parameters.
func read(folder string) (speech, calls set, err error) {
	if speech, err = readCLINC(filepath.Join(folder, "clinc")); err != nil {
		return speech, calls, err
	}
	calls, err = readBFCL(filepath.Join(folder, "bfcl", "cases.jsonl"))
	return speech, calls, err
}

func readCLINC(folder string) (set, error) {
	s := set{said: map[string][]string{}, examples: map[string][]string{}}
	raw, err := os.ReadFile(filepath.Join(folder, "tools.json"))
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(raw, &s.tools); err != nil {
		return s, err
	}
	for file, into := range map[string]map[string][]string{"dev.jsonl": s.said, "train.jsonl": s.examples} {
		cases, err := lines[struct{ Text, Tool string }](filepath.Join(folder, file))
		if err != nil {
			return s, err
		}
		for _, c := range cases {
			if c.Tool != "" {
				into[c.Tool] = append(into[c.Tool], c.Text)
			} else if file == "dev.jsonl" {
				s.none = append(s.none, c.Text)
			}
		}
	}
	return s, nil
}

// longest is the length of a text of BFCL, in bytes: people do not say longer ones.
const longest = 300

// called is a case of BFCL.
type called struct {
	Category string
	Tools    []struct{ Function tool }
	Messages []struct{ Content string }
	Answers  []map[string]any `json:"possible_answer"`
}

func readBFCL(path string) (set, error) {
	s, seen := set{said: map[string][]string{}}, map[string]bool{}
	cases, err := lines[called](path)
	for _, c := range cases {
		if len(c.Messages) != 1 || len(c.Messages[0].Content) > longest {
			continue
		}
		for _, one := range c.Tools {
			if !seen[one.Function.Name] {
				seen[one.Function.Name] = true
				s.tools = append(s.tools, one.Function)
			}
		}
		s.hear(c)
	}
	return s, err
}

// hear notes what a case says, where it calls for one tool or for none.
func (s *set) hear(c called) {
	said := c.Messages[0].Content
	if strings.Contains(c.Category, "irrelevance") {
		s.none = append(s.none, said)
	}
	if len(c.Answers) != 1 {
		return
	}
	for name := range c.Answers[0] {
		s.said[name] = append(s.said[name], said)
	}
}

// lines reads a file of one JSON value a line.
func lines[T any](path string) ([]T, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []T
	scanner := bufio.NewScanner(bytes.NewReader(raw))
	scanner.Buffer(nil, len(raw))
	for scanner.Scan() {
		var one T
		if err := json.Unmarshal(scanner.Bytes(), &one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, scanner.Err()
}
