package examples

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
)

func TestTheHubOfAHomeSwitchesWhatIsSaid(t *testing.T) {
	s := devOf(t, "home", "HEATING_SETTLES=60s")
	hub := start(t, ".", s.around(), "home")
	hub.Await(t, `the hub is up\n`)
	const session = "/v1/apps/home/sessions/ada"
	say := func(text string) map[string]any {
		return s.ask("POST", session+"/messages", `{"actor":"user","text":"`+text+`"}`)
	}
	first := func(said map[string]any) map[string]any {
		require.Len(t, said["matches"], 1, said)
		return said["matches"].([]any)[0].(map[string]any)
	}
	becomes := func(match map[string]any, done func(trigger map[string]any) bool) (trigger map[string]any) {
		require.Eventually(t, func() bool {
			trigger = s.ask("GET", "/v1/apps/home/triggers/"+match["triggerId"].(string), "")
			return done(trigger)
		}, testbed.Patience, testbed.Glance, match)
		return trigger
	}
	result := func(said map[string]any) any { // on a busy machine the hub may be later than the answer waits for it
		t.Helper()
		return becomes(first(said), func(trigger map[string]any) bool {
			return trigger["call"].(map[string]any)["result"] != nil
		})["call"].(map[string]any)["result"]
	}

	lacking := say("turn the light on")
	require.Empty(t, lacking["matches"])
	require.Equal(t, "In which room?", lacking["rejected"].([]any)[0].(map[string]any)["ask"])
	require.Equal(t, "the light in the bedroom is on", result(say("Schlafzimmer")))
	require.Equal(t, "a timer is set for 2h0m0s", result(say("set a timer for two hours")))
	require.Equal(t, "a timer is set for 30s", result(say("timer for 30 seconds")))

	heats := first(say("heat the kitchen to 21 degrees"))
	require.Equal(t, map[string]any{"room": "kitchen", "degrees": 21.0}, heats["values"])
	asked := first(say("open the front door"))
	require.Equal(t, "confirming", asked["state"])
	becomes(heats, func(trigger map[string]any) bool { return trigger["state"] == "cancelled" }) // beside the next message, which came before it settled
	require.NotContains(t, hub.String(), "door")
	require.Equal(t, "the door is unlocked", result(say("yes")))

	js := natstest.JetStream(t, s.NATS)
	stream := testbed.Got(js.Stream(t.Context(), "EARSHOT"))(t)
	again := testbed.Got(stream.GetLastMsgForSubject(t.Context(), "tool.trigger.home.ada.unlock-door"))(t)
	_, err := js.Publish(t.Context(), again.Subject, again.Data) // as if its acknowledgement were lost
	require.NoError(t, err)
	say("light off in the bedroom")
	hub.Await(t, `the light in the bedroom is off\n`)
	require.Equal(t, 1, strings.Count(hub.String(), "the door is unlocked"), hub)
	require.NotContains(t, hub.String(), "heated")
}
