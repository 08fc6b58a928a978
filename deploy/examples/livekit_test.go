//go:build nightly

package examples

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAnAgentOfLiveKitHearsAndSpeaks runs LiveKit's own session and agent.
func TestAnAgentOfLiveKitHearsAndSpeaks(t *testing.T) {
	s := dev(t, `{}`)
	s.ask("PUT", "/v1/apps/clinic/repositories/rooms", spoken)
	around := s.around("EARSHOT_KEY=" + s.keyOf("clinic", "messages", "triggers"))
	got := start(t, javascript(t, "livekit", true), around, "node", append([]string{"rehearsal.js"}, conversation...)...)
	got.Await(t, `(closed)\n`)
	var lines []string
	for line := range strings.Lines(got.String()) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "event: ") {
			lines = append(lines, line)
		}
	}
	require.Len(t, lines, 13, got.String())
	require.Equal(t, `assistant: I know: turn-on-the-light {"room":"kitchen"}: pending ""`, lines[1])
	require.Contains(t, lines[3], `assistant: I know: ring-the-bell {}: delivered`)
	require.Equal(t, []string{
		"assistant: Which room?",
		"user: in the cellar", `assistant: I know: turn-on-the-light {"room":"cellar"}: pending ""`,
		"assistant: Open the front door. Shall I go ahead? (yes / no)",
		"user: yes", `assistant: I know: open-the-door {}: delivered ""`,
		"user: good morning", "assistant: I know: nothing", "closed",
	}, lines[4:], "what Earshot says, the model does not")
	require.Regexp(t, `event: tool\.cancelled turn-on-the-light (cancel|retract)\n`, got.String(), "the user began to speak again")
	require.Regexp(t, `event: tool\.trigger open-the-door\n`, got.String())
	s.conversed()
}
