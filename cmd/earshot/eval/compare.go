package eval

import (
	"encoding/json"
	"fmt"
	"os"
)

// Earlier is the report of an earlier run, as far as it is compared.
type Earlier struct {
	Tests []struct {
		Name string `json:"name"`
		File string `json:"file"`
		OK   bool   `json:"ok"`
	} `json:"tests"`
	Tools []ToolReport `json:"tools"`
}

// ReadEarlier reads a report that earshot eval --json has printed.
func ReadEarlier(file string) (*Earlier, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--compare: %w", err)
	}
	var found Earlier
	if err := json.Unmarshal(text, &found); err != nil || found.Tests == nil {
		return nil, fmt.Errorf("--compare: %s is no report; write one with: earshot eval … --json > %s", file, file)
	}
	return &found, nil
}

// Worse says what was better in an earlier run, a line each: tests that passed then, and figures
// of tools that were higher. What was not there then is no worse.
func (r *Report) Worse(than *Earlier) []string {
	var lines []string
	passed := map[[2]string]bool{}
	for _, test := range than.Tests {
		passed[[2]string{test.File, test.Name}] = test.OK
	}
	for _, test := range r.Tests {
		if !test.OK && passed[[2]string{test.File, test.Name}] {
			lines = append(lines, fmt.Sprintf("test %s passed before: %s", test.Name, test.brief()))
		}
	}
	before := map[string]ToolReport{}
	for _, tool := range than.Tools {
		before[tool.Name] = tool
	}
	for _, tool := range r.Tools {
		was := before[tool.Name]
		for _, figure := range []struct {
			name     string
			was, now *float64
		}{{"precision", was.Precision, tool.Precision}, {"recall", was.Recall, tool.Recall}, {"values", was.Values, tool.Values}} {
			if figure.was != nil && figure.now != nil && *figure.now < *figure.was {
				lines = append(lines, fmt.Sprintf("tool %s: %s was %.0f %%, and is %.0f %%", tool.Name, figure.name, 100**figure.was, 100**figure.now))
			}
		}
	}
	return lines
}
