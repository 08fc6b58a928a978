package docs_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/trigger/state"
)

func TestStatesAreDrawnAsTheyAre(t *testing.T) {
	page, err := os.ReadFile("turns.md")
	require.NoError(t, err)
	require.Contains(t, string(page), "```mermaid\n"+state.Drawing()+"```")
}
