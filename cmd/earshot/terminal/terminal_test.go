package terminal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/cmd/earshot/terminal"
)

func TestOnlyATerminalGetsColours(t *testing.T) {
	lookup := func(string) (string, bool) { return "", false }
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer file.Close()
	require.Equal(t, "text", terminal.StyleOf(file, lookup).Paint(terminal.Red, "text"))
	require.Equal(t, "text", terminal.StyleOf(&strings.Builder{}, lookup).Paint(terminal.Bold, "text"))
}

func TestWhatOthersHaveWrittenDoesNotSteerTheTerminal(t *testing.T) {
	require.Equal(t, "a�[31mred\n\tb�", terminal.Printable("a\x1b[31mred\n\tb\x07"))
	require.Equal(t, "a b c�", terminal.OneLine(" a\n\tb\nc\u009b"))
}

func TestValuesStayInALine(t *testing.T) {
	require.Equal(t, `{"a":[1,2]}`, terminal.Value(map[string]any{"a": []int{1, 2}}))
	require.Equal(t, "?", terminal.Value(func() {}))
	long := terminal.Value(strings.Repeat("é", 200))
	require.Equal(t, `"`+strings.Repeat("é", 99)+"…", long)
	require.Equal(t, `{"a":1}`, string(terminal.Compact([]byte("{ \"a\":\n1 }"))))
	require.Equal(t, "no JSON", string(terminal.Compact([]byte("no\nJSON"))))
}
