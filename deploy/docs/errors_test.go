package docs

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/api/answer"
	"earshot/repositories/fault"
)

var update = flag.Bool("update", false, "write the tables of errors.md")

func TestEveryCodeIsListed(t *testing.T) {
	var problems, faults strings.Builder
	problems.WriteString("| code | status | comes when | do |\n| --- | --- | --- | --- |\n")
	for _, one := range answer.Codes {
		fmt.Fprintf(&problems, "| `%s` | %d | %s | %s |\n", one.Code, one.Status, one.When, one.Do)
	}
	faults.WriteString("| code | comes when |\n| --- | --- |\n")
	for _, one := range fault.Codes {
		fmt.Fprintf(&faults, "| `%s` | %s |\n", one.Code, one.When)
	}
	text, err := os.ReadFile("errors.md")
	require.NoError(t, err)
	if *update {
		page := replaced(t, string(text), "\n## All codes\n\n", problems.String())
		require.NoError(t, os.WriteFile("errors.md", []byte(replaced(t, page, "\n## Codes of faults\n\n", faults.String())), 0o644))
		return
	}
	require.Contains(t, string(text), "\n## All codes\n\n"+problems.String()+"\n", "go test ./deploy/docs -run EveryCode -update writes the tables")
	require.Contains(t, string(text)+"\n", "\n## Codes of faults\n\n"+faults.String()+"\n")
}

// replaced puts a table below a heading, in place of the one that is there.
func replaced(t *testing.T, page, heading, table string) string {
	before, rest, found := strings.Cut(page, heading)
	require.True(t, found, heading)
	for strings.HasPrefix(rest, "|") {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	return before + heading + table + rest
}
