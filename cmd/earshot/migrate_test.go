package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const olderFile = "# mine\ntools:\n  book: # b\n    description: Book\n    url: https://example.org/${NAME:x}\ntoolsets:\n  desk: [book]\n"

const newerFile = "# mine\nkind: tool\nname: book # b\ndescription: Book\nurl: https://example.org/${NAME:x}\n---\nkind: group\nname: desk\ntools: [book]\n"

func TestMigrateKeepsWhatTheFileWas(t *testing.T) {
	inFolder(t)
	write(t, "tools.yaml", olderFile)
	require.NoError(t, os.Chmod("tools.yaml", 0o640))
	r := typing(t, nil, "", "migrate", "-f", "tools.yaml")
	require.Equal(t, result{0, "tools.yaml is migrated; what it was is in tools.yaml.bak\n", ""}, r)
	require.Equal(t, newerFile, content(t, "tools.yaml"))
	require.Equal(t, olderFile, content(t, "tools.yaml.bak"))
	info, err := os.Stat("tools.yaml")
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())
	require.Equal(t, "tools.yaml is of the newest form\n", typing(t, nil, "", "migrate", "-f", ".").out)
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Len(t, left, 2)
}

func TestMigrateDryRunShowsTheDifference(t *testing.T) {
	inFolder(t)
	write(t, "tools.yaml", olderFile)
	r := typing(t, nil, "", "migrate", "-f", "tools.yaml", "--dry-run")
	require.Equal(t, 0, r.code)
	require.True(t, strings.HasPrefix(r.out, "--- tools.yaml\n+++ tools.yaml\n@@ -1,7 +1,9 @@\n # mine\n-tools:\n"), r.out)
	require.Contains(t, r.out, "\n+kind: tool\n+name: book # b\n")
	require.Equal(t, olderFile, content(t, "tools.yaml"))
	require.NoFileExists(t, "tools.yaml.bak")
}

func TestMigrateGoesOnOverFilesAtFaultAndLeavesThemUntouched(t *testing.T) {
	inFolder(t)
	const broken = "tools:\n  a: [1\n"
	write(t, "a.yaml", broken)
	write(t, "b.yaml", olderFile)
	write(t, "c.yaml", olderFile)
	write(t, "c.yaml.bak", "precious")
	r := typing(t, nil, "", "migrate", "-f", ".")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "a.yaml:2:6: malformed YAML: ")
	require.Contains(t, r.err, "c.yaml: c.yaml.bak is there already; move it away first")
	require.Equal(t, broken, content(t, "a.yaml"))
	require.Equal(t, newerFile, content(t, "b.yaml"))
	require.Equal(t, olderFile, content(t, "c.yaml"))
	require.Equal(t, "precious", content(t, "c.yaml.bak"))
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Len(t, left, 5, "and nothing is left lying about")
}

func TestAMigratedFileAppliesToTheSameState(t *testing.T) {
	w := startPlayground(t, "")
	write(t, "tools.yaml", olderFile)
	w.ok("apply", "-f", "tools.yaml")
	w.ok("migrate", "-f", "tools.yaml")
	require.Equal(t, "= app clinic\n= repository clinic/desk\ncreated 0, updated 0, left 2, removed 0\n", w.ok("apply", "-f", "tools.yaml"))
}

func content(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

func TestDifferenceIsAUnifiedDiffWithAllLines(t *testing.T) {
	for name, test := range map[string]struct{ before, after, want string }{
		"all lines":  {"a\nb\nc\n", "a\nc\nd\n", "--- f\n+++ f\n@@ -1,3 +1,3 @@\n a\n-b\n c\n+d\n"},
		"no newline": {"a", "b", "--- f\n+++ f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"},
		"far apart": {"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "0\n2\n3\n4\n5\n6\n7\n8\n0\n",
			"--- f\n+++ f\n@@ -1,9 +1,9 @@\n-1\n+0\n 2\n 3\n 4\n 5\n 6\n 7\n 8\n-9\n+0\n"},
	} {
		var out strings.Builder
		require.NoError(t, printDifference(&out, "f", test.before, test.after), name)
		require.Equal(t, test.want, out.String(), name)
	}
}
