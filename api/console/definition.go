package console

import (
	"encoding/json"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// authored is the part of a repository that its author writes.
type authored struct {
	Options json.RawMessage `json:"options,omitempty"`
	From    json.RawMessage `json:"from,omitempty"`
	Tools   json.RawMessage `json:"tools"`
}

// changedLine is a line of a diff, with a sign if it was added or removed.
type changedLine struct{ Sign, Text string }

// Name returns the class of a line, for colours and screen readers.
func (l changedLine) Name() string {
	return map[string]string{"+": "added", "-": "taken", "…": "gap"}[l.Sign]
}

// changesOf returns the lines that differ, with three lines of context.
func changesOf(before, after string) (lines []changedLine, err error) {
	diff, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), 3)
	for i, hunk := range diff.Hunks {
		if i > 0 {
			lines = append(lines, changedLine{"…", ""})
		}
		for _, line := range hunk.Lines {
			sign := map[udiff.OpKind]string{udiff.Insert: "+", udiff.Delete: "-"}[line.Kind]
			lines = append(lines, changedLine{sign, strings.TrimRight(line.Content, "\n")})
		}
	}
	return lines, err
}
