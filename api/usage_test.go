package api_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/apitest"
	"earshot/trigger/effect"
	"earshot/trigger/usage"
)

const usagePath = "/v1/apps/clinic/usage"

// used is what the app has used today, once it is as much as the condition wants.
func used(w apitest.World, enough func(usage.Day) bool) (day usage.Day) {
	require.Eventually(w.T, func() bool {
		var page struct{ Items []usage.Day }
		require.NoError(w.T, json.Unmarshal(w.Call("GET", usagePath, "").Is(200, "").Body, &page))
		if len(page.Items) == 0 {
			return false
		}
		day = page.Items[len(page.Items)-1]
		return enough(day)
	}, time.Minute, time.Millisecond, "an event may follow its answer")
	return day
}

func TestUseOfAnAppIsCountedOnce(t *testing.T) {
	w := apitest.Live(t, apitest.Everything)
	w.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	w.Call("GET", usagePath, "").Is(200, `{"items":[]}`)
	w.Call("POST", apitest.MessagesPath, `{"messageId":"m0","actor":"user","text":"hello"}`).Is(200, "")
	before := used(w, func(d usage.Day) bool { return d.Messages == 1 })
	require.EqualValues(t, 1, before.Unmatched)
	require.Zero(t, before.Events+before.Triggers+before.Calls)

	w.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","url":"https://example.org/book","schema":[{"parameter":"date","type":"string"}],"request":{"retryFor":"1s"}}]}`).Is(201, "")
	for range 3 { // a client that lost the answer
		w.Call("POST", apitest.MessagesPath, `{"messageId":"m1","actor":"user","text":"friday"}`).Is(200, "")
	}
	w.Call("POST", apitest.MessagesPath, `{"messageId":"a1","actor":"agent","text":"Done."}`)
	w.Call("POST", apitest.MessagesPath+"?dryRun=true", `{"actor":"user","text":"friday"}`).Is(200, "")
	w.Sink.Answers(func(effect.Effect) effect.Outcome {
		return effect.Outcome{Verdict: effect.Dead, Status: 400, Reason: effect.ReasonRequest, Error: "no"}
	})
	w.Call("POST", "/v1/apps/clinic/triggers", `{"name":"book","source":"ui","values":{"date":"friday"}}`).Is(201, "")
	got := used(w, func(d usage.Day) bool { return d.Events >= 5 })
	got.Day = ""
	require.Equal(t, usage.Day{
		Messages: 2, Matched: 1, Unmatched: 1, Triggers: 2, Calls: 2, CallFailures: 1,
		Events: 5, // the repository that is written, and two triggers with the results of their calls
	}, got)
}

func TestDaysOfUseAreAskedFor(t *testing.T) {
	w := apitest.Live(t, apitest.Everything)
	w.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	w.Call("GET", usagePath+"?from=2026-11-01&to=2026-11-01", "").Is(200, `{"items":[]}`)
	w.Call("GET", usagePath+"?from=2025-11-01&to=2026-12-05", "").Is(200, `{"items":[]}`)
	w.Call("GET", usagePath+"?from=2025-10-31&to=2026-12-05", "").Problem(400, "are 401 days; ask for 400 at most")
	w.Call("GET", usagePath+"?from=2026-11-02&to=2026-11-01", "").Problem(400, "to is before from")
	w.Call("GET", usagePath+"?from=yesterday&to=2026-13-01", "").Problem(400, `from "yesterday" is no day`, `to "2026-13-01" is no day`)
	w.Call("GET", "/v1/apps/absent/usage", "").Problem(404)
}
