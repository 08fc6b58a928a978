package console

import (
	"encoding/json"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// authored is what an author writes of a repository, of all that REST answers with.
type authored struct {
	Options json.RawMessage `json:"options,omitempty"`
	From    json.RawMessage `json:"from,omitempty"`
	Tools   json.RawMessage `json:"tools"`
}

// changedLine is a line of a definition: in both of two states, or with a sign in one of them.
type changedLine struct{ Sign, Text string }

// Name says what a line is, for the colour and for those who do not see it.
func (l changedLine) Name() string {
	return map[string]string{"+": "added", "-": "taken", "…": "gap"}[l.Sign]
}

// changesOf are the lines that differ, with three lines around each.
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
