package matcher_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
)

func TestAbandons(t *testing.T) {
	for text, abandons := range map[string]bool{
		"never mind": true, "Never mind!": true, "ok, forget it": true, "cancel": true, "Cancel that, please": true,
		"vergiss es": true, "laisse tomber": true, "olvídalo": true, "no thanks": true,
		"": false, "on monday": false, "I never mind the rain": false, "the cancel button does not work on my phone today": false,
		"no": false,
	} {
		require.Equal(t, abandons, matcher.Abandons(text), text)
	}
}
