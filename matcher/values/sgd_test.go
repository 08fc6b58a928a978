package values_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/datetime"
	"earshot/matcher/matchertest"
	"earshot/matcher/values"
	"earshot/repositories/unraced"
)

// figures counts what came of the values of right tools.
type figures struct{ right, wrong, missing int }

func (f figures) String() string {
	return fmt.Sprintf("%d right, %d wrong, %d missing: precision %.1f %%, recall %.1f %%", f.right, f.wrong, f.missing,
		100*float64(f.right)/max(1, float64(f.right+f.wrong)), 100*float64(f.right)/max(1, float64(f.right+f.missing)))
}

func (f figures) precision() float64 { return float64(f.right) / max(1, float64(f.right+f.wrong)) }

// TestValuesOfSGD reads the last message of the user alone, with the right tool given. A value
// counts as missing only where the message says it.
func TestValuesOfSGD(t *testing.T) {
	unraced.Only(t)
	var all figures
	by := map[string]*figures{}
	for _, c := range matchertest.Lines[matchertest.Dialogue](t, filepath.Join(matchertest.Data(t), "sgd", "cases.jsonl")) {
		tool := c.Expect.Tool
		if tool == nil {
			continue
		}
		request := c.Request(t)
		at := slices.IndexFunc(request.Candidates, func(one matcher.Candidate) bool { return one.Tool.Name == *tool })
		read := values.Of(datetime.NewText(request.Text, request.Now), request.Candidates[at].Tool).Values
		for name, forms := range c.Expect.Accept {
			if by[name] == nil {
				by[name] = &figures{}
			}
			value, given := read[name]
			switch {
			case given && accepted(forms, value):
				all.right++
				by[name].right++
			case given:
				all.wrong++
				by[name].wrong++
				show(t, "WRONG %s=%v for %q in %q", name, value, forms, request.Text)
			case says(request.Text, forms):
				all.missing++
				by[name].missing++
				show(t, "MISSING %s %q in %q", name, forms, request.Text)
			}
			delete(read, name)
		}
		for name, value := range read {
			all.wrong++
			if by[name] == nil {
				by[name] = &figures{}
			}
			by[name].wrong++
			show(t, "WRONG %s=%v of nothing in %q", name, value, request.Text)
		}
	}
	for name, f := range by {
		t.Logf("%-24s %v", name, *f)
	}
	t.Logf("all: %v", all)
	require.GreaterOrEqual(t, all.precision(), 0.9)
}

func show(t *testing.T, format string, args ...any) {
	if os.Getenv("VALUES_SHOW") != "" {
		t.Logf(format, args...)
	}
}

func accepted(forms []string, value any) bool {
	said, err := json.Marshal(value)
	text := strings.Trim(string(said), `"`)
	return err == nil && slices.ContainsFunc(forms, func(form string) bool { return strings.EqualFold(strings.TrimSpace(form), text) })
}

func says(text string, forms []string) bool {
	return slices.ContainsFunc(forms, func(form string) bool {
		return len(form) > 0 && strings.Contains(strings.ToLower(text), strings.ToLower(form))
	})
}
