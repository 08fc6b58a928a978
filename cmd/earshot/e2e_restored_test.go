package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMessagesThatAreSentAgainAfterARestoreKeepTheirIDs puts Redis back to what it held
// before the messages came. What they owed is in the stream by then, and the endpoint
// has their calls: it all comes again under the ids of the first time.
func TestMessagesThatAreSentAgainAfterARestoreKeepTheirIDs(t *testing.T) {
	t.Parallel()
	w, sink := serving(t, 2), newSink(t)
	w.put("/v1/apps/clinic/repositories/r", `{"tools":[
		{"name":"book","description":"books","emitter":"calendar.book","url":"`+sink.URL+`","schema":[{"parameter":"day","type":"string","required":true}]}]}`)
	w.put("/v1/apps/clinic/sessions/s1/repositories/once", `{"options":{"triggerOnce":true},"tools":[{"name":"ring","description":"rings"}]}`)
	w.rest()
	restore := w.redis.Snapshot()
	texts := []string{`call book {"day":"monday"}`, `call book {}`, "nothing", "call ring {}"}
	send := func() (ids []string) {
		for i, text := range texts {
			for _, match := range w.say("s1", fmt.Sprint("m", i), text).Matches {
				ids = append(ids, match.TriggerID)
			}
		}
		w.rest()
		return ids
	}
	first := send()
	require.Len(t, first, 2)
	restore()
	require.Equal(t, first, send())
	for subject, count := range map[string]int{
		"tool.trigger.clinic.s1.book": 1, "app.clinic.calendar.book": 1, "tool.result.clinic.s1.book": 1,
		"tool.rejected.clinic.s1.book": 1, "tool.notmatching.clinic.s1": 1, "tool.trigger.clinic.s1.ring": 1,
		"tool.changed.clinic.once": 2, // created, and deleted by its firing
	} {
		require.Len(t, w.events(subject), count, subject)
	}
	keys := map[string]bool{}
	for _, request := range sink.requests() {
		keys[request.Header.Get("Idempotency-Key")] = true
	}
	require.Equal(t, map[string]bool{first[0]: true}, keys)
}

// TestRepositoriesOfAnySizeAreAnnounced writes repositories up to what a body may be, and
// one that grows beyond what NATS takes.
func TestRepositoriesOfAnySizeAreAnnounced(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	tools := func(from, count int) string {
		list := make([]string, count)
		for i := range list {
			list[i] = fmt.Sprintf(`{"name":"t%d","description":%q}`, from+i, strings.Repeat("<", 1000))
		}
		return `{"tools":[` + strings.Join(list, ",") + `]}`
	}
	w.put("/v1/apps/clinic", `{"settings":{"limits":null}}`)
	w.put("/v1/apps/clinic/repositories/big", tools(0, 980))
	w.rest()
	w.call(200, "PATCH", "/v1/apps/clinic/repositories/big", tools(980, 980))
	w.rest()
	told := w.events("tool.changed.clinic.big")
	require.Len(t, told, 2)
	require.Nil(t, told[0].Payload["omitted"])
	require.Equal(t, []any{"record.tools"}, told[1].Payload["omitted"])
	require.Len(t, told[1].Payload["record"].(map[string]any)["tools"], 1960)
	for _, key := range w.redis.Keys() {
		require.NotContains(t, key, ":effect:")
	}
}
