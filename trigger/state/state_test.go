package state_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/trigger/state"
)

var (
	states  = []state.State{state.Confirming, state.Settling, state.Due, state.Cancelled, state.Duplicate}
	actions = []state.Action{state.Confirm, state.Deny, state.Expire, state.Release, state.Cancel, state.Retract}
)

func TestWaysOfHeldTriggers(t *testing.T) {
	ways := map[string]state.State{
		"confirming confirm": state.Due, "confirming deny": state.Cancelled, "confirming expire": state.Cancelled, "confirming cancel": state.Cancelled,
		"settling release": state.Due, "settling cancel": state.Cancelled, "settling retract": state.Cancelled,
	}
	for _, from := range states {
		for _, action := range actions {
			to, can := state.Next(from, action, false)
			expected, is := ways[string(from)+" "+string(action)]
			require.Equal(t, is, can, "%s %s", from, action)
			if is {
				require.Equal(t, expected, to)
			}
		}
	}
	to, can := state.Next(state.Confirming, state.Confirm, true)
	require.True(t, can)
	require.Equal(t, state.Settling, to, "what is confirmed may be taken back for a while")
}
