//go:build !race

package trigger_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/enginetest"
	"earshot/deploy/testbed/redistest"
	"earshot/repositories"
)

// TestAMessageCostsTheEngineFewObjects bounds what a message that fires one tool allocates between the API and Redis,
// without a matcher and NATS. The bench counts a whole replica: at most 400.
func TestAMessageCostsTheEngineFewObjects(t *testing.T) {
	w := enginetest.Idle(t, redistest.Run(t), 0) // no replica polls meanwhile
	w.Register(repositories.Scope{AppID: "clinic"}, "r", `{"tools":[{"name":"bell"}]}`)
	n := 0
	say := func() {
		n++
		_, err := w.SayOn(w.Engine, fmt.Sprintf("s%d", n), "m", "bell")
		require.NoError(t, err)
	}
	for range 20 {
		say() // the scripts and the tool are known then
	}
	require.LessOrEqual(t, testing.AllocsPerRun(200, say), 188.0)
}
