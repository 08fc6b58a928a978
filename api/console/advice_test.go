package console

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheDocumentsKnowEachReasonThatThereIsAdviceOn compares the advice with the documented table.
func TestTheDocumentsKnowEachReasonThatThereIsAdviceOn(t *testing.T) {
	page, err := os.ReadFile("../../deploy/docs/why.md")
	require.NoError(t, err)
	for _, one := range advice {
		require.Contains(t, string(page), one.says)
	}
}
