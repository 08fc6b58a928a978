package query_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/repositories/parameters"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

// search lists the ids that a query finds, page by page.
func (w *world) search(q query.Triggers, limit int) []string {
	w.T.Helper()
	q.AppID, q.Page = "clinic", query.Page{Limit: limit}
	ids := []string{}
	for {
		records, next, err := w.Engine.Triggers(w.T.Context(), q)
		require.NoError(w.T, err)
		require.LessOrEqual(w.T, len(records), limit)
		for _, record := range records {
			ids = append(ids, record.TriggerID)
		}
		if next == "" {
			return ids
		}
		q.Page.After = next
	}
}

func TestSearchCombinesFilters(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "r", `{"tools":[{"name":"book","url":"http://x.example","schema":[{"parameter":"friday","type":"object"}]},{"name":"bell"}]}`)
		w.Calls.Answer(func(e effect.Effect) effect.Outcome {
			switch e.TriggerID {
			case "t1":
				return effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Result: json.RawMessage(`{"reason":"timeout"}`)}
			case "t2":
				return effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonTimeout}
			}
			return effect.Outcome{Verdict: effect.Done, Status: 200}
		})
		for i, value := range []string{`{"a":"next \"Friday\""}`, `{"b":[{"c":"Über {den} Wolken"}]}`, `{"n":9007199254740993,"returnDirect":true}`, `{"Ж":"МОСКВА, K\\"}`, `{}`} {
			values, err := parameters.DecodeValues([]byte(`{"friday":` + value + `}`))
			require.NoError(t, err)
			w.Fire(trigger.Direct{SessionID: fmt.Sprint("s", i%2), Name: "book", Source: []string{"ui", "task"}[i%2], TriggerID: fmt.Sprint("t", i), Values: values})
		}
		w.Say("m1", "bell")
		w.Rest()
		all := w.search(query.Triggers{}, 2)
		require.Len(t, all, 6)
		messageTrigger := all[0]
		for want, queries := range map[string][]query.Triggers{
			"t0":                   {{Value: "friday"}, {Value: `"FRIDAY"`}, {Value: "next", Source: "ui"}},
			"t1":                   {{Value: "über"}, {Value: "{den}"}, {Value: "ÜBER {Den} W"}, {Reason: effect.ReasonRequest}},
			"t2":                   {{Value: "740993"}, {Value: "TRUE"}, {Reason: effect.ReasonTimeout, State: "failed"}},
			"t3":                   {{Value: "москва"}, {Value: "К"}, {Value: `\`}, {Value: ", k"}},
			messageTrigger:         {{Name: "bell"}, {MessageID: "m1"}, {Source: "message"}},
			"t2 t1":                {{State: "failed"}, {State: "failed", Name: "book"}},
			"t3 t1":                {{Source: "task"}, {SessionID: "s1", Source: "task", State: ""}},
			"t4 t2 t0":             {{SessionID: "s0"}, {SessionID: "s0", AllLives: true}, {Source: "ui"}},
			"":                     {{Value: "none"}, {Value: "c"}, {Name: "bell", Source: "ui"}, {Reason: effect.ReasonAuth}, {State: "failed", SessionID: "s2"}, {Value: "friday", State: "failed"}},
			messageTrigger + " t4": {{State: "delivered", Until: time.Now().Add(time.Hour), Since: w.Trigger("t4").Time}},
			"t1 t0":                {{Until: w.Trigger("t2").Time}},
			"t1 t0 later":          {{Until: w.Trigger("t2").Time, Since: w.Trigger("t0").Time, Oldest: true}},
		} {
			for _, q := range queries {
				ids := strings.Fields(want)
				if q.Oldest {
					ids = []string{"t0", "t1"}
				}
				for _, limit := range []int{1, 2, 100} {
					require.Equal(t, ids, w.search(q, limit), "%+v", q)
				}
			}
		}
		slices.Reverse(all)
		require.Equal(t, all, w.search(query.Triggers{Oldest: true}, 4))

		require.NoError(t, w.Store.CloseSession(t.Context(), "clinic", "s0"))
		require.Empty(t, w.search(query.Triggers{SessionID: "s0"}, 9))
		require.Equal(t, []string{"t4", "t2", "t0"}, w.search(query.Triggers{SessionID: "s0", AllLives: true}, 2), "they are still kept")
		count, err := w.Engine.CountFailed(t.Context(), query.Triggers{AppID: "clinic", SessionID: "s0"})
		require.NoError(t, err)
		require.Equal(t, 1, count)

		w.Fire(trigger.Direct{SessionID: "s0", Name: "book", Source: "ui", TriggerID: "t5"})
		require.Equal(t, []string{"t5"}, w.search(query.Triggers{SessionID: "s0"}, 9))
		require.Equal(t, []string{"t5", "t4", "t2", "t0"}, w.search(query.Triggers{SessionID: "s0", AllLives: true}, 2), "also when the session is in use again")
		require.Equal(t, []string{"t2"}, w.search(query.Triggers{SessionID: "s0", State: "failed", AllLives: true}, 2))
	})
}
