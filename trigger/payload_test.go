package trigger_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/cloudevent"
	"earshot/trigger/effect"
)

// TestEventsThatWouldBeTooLongAreCut posts more than any event can contain.
func TestEventsThatWouldBeTooLongAreCut(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Unhurried()
		w.Put("s1", "r", `{"tools":[
			{"name":"collect-user-message","url":"http://x.example","schema":[{"parameter":"value","type":"string"}]},
			{"name":"book","schema":[{"parameter":"day","type":"string","required":true,"allowedValues":["monday"]}]}]}`)
		long := strings.Repeat("<&>", 200<<10) // 600 KiB
		for id, text := range map[string]string{
			"twice in it": long, "in values alone": strings.Repeat("x", 1020<<10), "rejected": `book {"day":"` + strings.Repeat("x", 1020<<10) + `"}`,
		} {
			w.Say(id, text)
		}
		w.Rest()
		omitted := map[string]any{}
		for _, subject := range []string{"tool.trigger.clinic.s1.collect-user-message", "tool.rejected.clinic.s1.book"} {
			for _, payload := range w.Events.Payloads(subject) {
				omitted[payload["messageId"].(string)] = payload["omitted"]
				if payload["messageId"] == "twice in it" {
					require.Equal(t, long, payload["values"].(map[string]any)["value"])
				}
			}
		}
		require.Equal(t, map[string]any{
			"twice in it": []any{"text"}, "in values alone": []any{"text", "schema", "values"}, "rejected": []any{"text"},
		}, omitted)
		for _, effect := range w.Events.Taken {
			require.LessOrEqual(t, len(effect.Event.Data), cloudevent.MaxPayload, effect.Event.Subject)
		}
		for _, effect := range w.Calls.Taken {
			var whole struct {
				Text   string
				Values map[string]string
			}
			require.NoError(t, json.Unmarshal(effect.Call.Event, &whole))
			require.Equal(t, whole.Text, whole.Values["value"], "a call has room")
			require.NotEmpty(t, whole.Text)
		}
	})
}

// TestDeadEventWithoutATriggerLeavesNothing has events without a trigger refused for good: no request could
// find, revive or remove them.
func TestDeadEventWithoutATriggerLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "r", booking)
		w.Events.Answer(func(effect.Effect) effect.Outcome {
			return effect.Outcome{Verdict: effect.Dead, Error: "too large"}
		})
		w.Register(session("s1"), "other", booking)
		for id, text := range map[string]string{"m1": "nothing", "m2": "book"} {
			w.Say(id, text)
		}
		w.Rest()
		for _, key := range w.Server.Keys() {
			require.NotContains(t, key, ":effect:")
		}
	})
}
