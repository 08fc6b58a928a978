package console

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheDocumentsKnowEachReasonThatThereIsAdviceOn keeps the advice beside the table that a reader finds.
func TestTheDocumentsKnowEachReasonThatThereIsAdviceOn(t *testing.T) {
	page, err := os.ReadFile("../../deploy/docs/why.md")
	require.NoError(t, err)
	for _, one := range advice {
		require.Contains(t, string(page), one.says)
	}
}
