package api_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/apitest"
	"earshot/trigger/effect"
	"earshot/trigger/query"
	"earshot/trigger/usage"
)

const usagePath = "/v1/apps/clinic/usage"

const nothing = `"messages":0,"matched":0,"rejected":0,"unmatched":0,"triggers":0,"modelRequests":0,"promptTokens":0,"completionTokens":0,"calls":0,"callFailures":0,"events":0`

const nothingUsed = `{"items":[],"total":{` + nothing + `}}`

// used returns the app's usage of today once it satisfies enough.
func used(w apitest.World, enough func(usage.Use) bool) (day usage.Use) {
	require.Eventually(w.T, func() bool {
		page := bodyOf[pageOf[usage.Use]](w.Call("GET", usagePath, "").Is(200, ""))
		if len(page.Items) == 0 {
			return false
		}
		day = page.Items[len(page.Items)-1]
		return enough(day)
	}, time.Minute, time.Millisecond, "an event may follow its answer")
	return day
}

func TestUseOfAnAppIsCountedOnce(t *testing.T) {
	w := atClinic(t)
	w.Call("GET", usagePath, "").Is(200, nothingUsed)
	w.Call("POST", apitest.MessagesPath, `{"messageId":"m0","actor":"user","text":"hello"}`).Is(200, "")
	before := used(w, func(d usage.Use) bool { return d.Messages == 1 })
	require.EqualValues(t, 1, before.Unmatched)
	require.Zero(t, before.Events+before.Triggers+before.Calls)

	w.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","url":"https://example.org/book","schema":[{"parameter":"date","type":"string"}],"request":{"retryFor":"1s"}},{"name":"refund","confirm":"always"}]}`).Is(201, "")
	for range 3 { // a client that lost the answer
		w.Call("POST", apitest.MessagesPath, `{"messageId":"m1","actor":"user","text":"friday"}`).Is(200, "")
	}
	w.Call("POST", apitest.MessagesPath, `{"messageId":"a1","actor":"agent","text":"Done."}`)
	w.Call("POST", apitest.MessagesPath+"?dryRun=true", `{"actor":"user","text":"friday"}`).Is(200, "")
	w.Sink.Answers(func(effect.Effect) effect.Outcome {
		return effect.Outcome{Verdict: effect.Dead, Status: 400, Reason: effect.ReasonRequest, Error: "no"}
	})
	w.Call("POST", "/v1/apps/clinic/triggers", `{"name":"book","source":"ui","values":{"date":"friday"}}`).Is(201, "")
	got := used(w, func(d usage.Use) bool { return d.Events >= 6 })
	require.NotNil(t, got.Decided)
	got.Day, got.Begins, got.Decided = "", time.Time{}, nil
	require.Equal(t, usage.Use{
		Messages: 2, Matched: 1, Unmatched: 1, Triggers: 2, Calls: 2, CallFailures: 1,
		Events: 6, // the written repository, two triggers with their results, and one that waits for a yes
	}, got)
}

func TestDaysOfUseAreAskedFor(t *testing.T) {
	w := atClinic(t)
	w.Call("GET", usagePath+"?from=2026-11-01&to=2026-11-01", "").Is(200, nothingUsed)
	w.Call("GET", usagePath+"?from=2025-11-01&to=2026-12-05", "").Is(200, nothingUsed)
	w.Call("GET", usagePath+"?from=2025-10-31&to=2026-12-05", "").Problem(400, "are 401 days; ask for 400 at most")
	w.Call("GET", usagePath+"?from=2026-11-02&to=2026-11-01", "").Problem(400, "to is before from")
	w.Call("GET", usagePath+"?from=yesterday&to=2026-13-01", "").Problem(400, `from "yesterday" is no day`, `to "2026-13-01" is no day`)
	w.Call("GET", "/v1/apps/absent/usage", "").Problem(404)
}

func TestUseIsToldByMinutesAndByHosts(t *testing.T) {
	w := atClinic(t)
	w.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","url":"https://example.org/book","schema":[{"parameter":"date","type":"string"}]}]}`).Is(201, "")
	came, at := []effect.Outcome{
		{Verdict: effect.Done, Status: 200, Host: "a.example"}, {Verdict: effect.Dead, Status: 400, Reason: effect.ReasonRequest, Error: "no", Host: "b.example:8080"},
		{Verdict: effect.Dead, Status: 400, Reason: effect.ReasonRequest, Error: "no", Host: "a.example"},
	}, 0
	w.Sink.Answers(func(effect.Effect) effect.Outcome {
		at++
		return came[at-1]
	})
	for i := range came {
		w.Call("POST", "/v1/apps/clinic/sessions/s1/messages", `{"messageId":"m`+strconv.Itoa(i)+`","actor":"user","text":"friday"}`).Is(200, "")
	}
	for step, since := range map[string]time.Duration{"minute": 2 * time.Hour, "hour": 13 * 24 * time.Hour, "day": 30 * 24 * time.Hour} {
		var page struct {
			Items []usage.Use
			Total usage.Use
		}
		asked := usagePath + "?step=" + step + "&since=" + time.Now().Add(-since).UTC().Format(time.RFC3339)
		require.NoError(t, json.Unmarshal(w.Call("GET", asked, "").Is(200, "").Body, &page))
		require.EqualValues(t, 3, page.Total.Messages, step)
		require.EqualValues(t, 2, page.Total.CallFailures, step)
		require.GreaterOrEqual(t, page.Total.Decided.P95, page.Total.Decided.P50)
		require.Less(t, time.Since(page.Items[0].Begins), 48*time.Hour)
	}
	for _, since := range []string{"", "?since=" + time.Now().Add(-20*time.Hour).UTC().Format(time.RFC3339)} {
		hosts := bodyOf[pageOf[usage.Host]](w.Call("GET", usagePath+"/hosts"+since, "").Is(200, ""))
		require.Len(t, hosts.Items, 2)
		require.Equal(t, "a.example", hosts.Items[0].Name)
		require.Equal(t, []int64{2, 1}, []int64{hosts.Items[0].Calls, hosts.Items[0].Failures})
		require.Equal(t, usage.HostFailing, hosts.Items[1].State)
		require.NotNil(t, hosts.Items[1].Took)
	}
	w.Call("GET", usagePath+"?step=second", "").Problem(400, "none of minute, hour, day")
	w.Call("GET", usagePath+"?step=minute&from=2026-11-01", "").Problem(400, "name days")
	w.Call("GET", usagePath+"?step=minute&since=2026-11-01T00:00:00Z&until=2026-11-01T03:00:01Z", "").Problem(400, "are 181 minutes; ask for 180 at most")
}

func TestWhatAnAppHasToDoIsCounted(t *testing.T) {
	w := atClinic(t)
	w.Call("GET", "/v1/apps/clinic/backlog", "").Is(200, `{"pending":{"count":0},"failed":{"count":0},"confirming":0,"settling":0,"firstAttempts":0,"laterAttempts":0,"looked":0}`)
	w.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","url":"https://example.org/book"},{"name":"pay","confirm":"always","description":"d"},
		{"name":"send","settle":"60s","description":"d"},{"name":"lost","url":"https://example.org/lost"}]}`).Is(201, "")
	w.Sink.Answers(func(call effect.Effect) effect.Outcome {
		if call.Call != nil && call.Call.URL == "https://example.org/lost" {
			return effect.Outcome{Verdict: effect.Dead, Status: 400, Reason: effect.ReasonRequest, Error: "no"}
		}
		return effect.Outcome{Verdict: effect.Retry, Status: 503, Error: "later", After: time.Hour}
	})
	for _, tool := range []string{"lost", "book", "book", "pay", "send"} {
		w.Call("POST", "/v1/apps/clinic/triggers", `{"name":"`+tool+`","source":"ui"}`).Is(201, "")
	}
	found := bodyOf[query.Backlog](w.Call("GET", "/v1/apps/clinic/backlog", "").Is(200, ""))
	require.Equal(t, []int64{4, 1}, []int64{found.Pending.Count, found.Failed.Count})
	require.True(t, found.Failed.Oldest.Before(*found.Pending.Oldest))
	require.Equal(t, []int{1, 1, 0, 2, 4}, []int{found.Confirming, found.Settling, found.FirstTries, found.Retries, found.Examined})
	w.Call("GET", "/v1/apps/absent/backlog", "").Problem(404)
}
