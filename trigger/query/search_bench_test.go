package query_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
)

// storeForSearch returns the records of an app with so many triggers in stored form, newest last. Each session has the same
// number of them.
func storeForSearch(t testing.TB, count, ofEachSession int) (*query.Records, *keyspace.DB) {
	t.Helper()
	server := redistest.Run(t)
	db := &keyspace.DB{UniversalClient: server.Client()}
	k, ctx := keyspace.KeysOf("clinic"), t.Context()
	require.NoError(t, db.HSet(ctx, k.App(), "record", "{}").Err())
	for from := 0; from < count; from += 1000 {
		pipe := db.Pipeline()
		for i := from; i < min(count, from+1000); i++ {
			id, session, at := fmt.Sprintf("%032x", i), fmt.Sprint("s", i/ofEachSession), time.Unix(1_795_000_000+int64(i), 0).UTC()
			record := query.Record{
				Match: query.Match{
					TriggerID: id, RepositoryID: "booking", Name: "book-table-kitchen", Source: query.SourceMessage,
					Values: exactjson.Members{"day": "Friday", "guest": fmt.Sprint("Ms Keller the ", i), "people": json.Number("2")},
					Event:  &query.EventState{Subject: "tool.trigger.clinic." + session + ".book-table-kitchen", State: query.StatePending},
					Call:   &query.CallState{State: query.StatePending},
				},
				AppID: "clinic", SessionID: session, MessageID: fmt.Sprint("m", i), Text: "Good morning, this is Ms Keller. Please book a table for two at noon, on Friday", Time: at,
				Schema: json.RawMessage(`[{"description":"wished day","parameter":"day","required":true,"type":"string"}]`),
			}
			kept, _, err := record.Encode()
			require.NoError(t, err)
			pipe.HSet(ctx, k.Trigger(id), "record", kept, "open", "0", "dead", "0", "fire", id, "session", session,
				"event", `{"state":"published"}`, "call", `{"state":"delivered","status":200,"attempts":1,"result":{"ok":true}}`)
			for _, list := range []string{k.Triggers(""), k.Triggers(session)} {
				pipe.ZAdd(ctx, list, redis.Z{Score: float64(at.UnixMicro()), Member: id})
			}
		}
		_, err := pipe.Exec(ctx)
		require.NoError(t, err)
	}
	return &query.Records{Ledger: ledger.NewReader(db), Now: time.Now, AwaitFlush: func(context.Context, string) {}}, db
}

// searches are filters that match nothing, or only the farthest of the triggers of searched.
var searches = map[string]query.Triggers{
	"value none":          {Value: "nowhere"},
	"value of the oldest": {Value: "Keller the 0"},
	"name none":           {Name: "cancel-table"},
	"source none":         {Source: query.SourceTask},
	"session none":        {SessionID: "nobody", AllLives: true},
	"message none":        {MessageID: "nothing"},
	"reason none":         {Reason: effect.ReasonTimeout},
	"confirming none":     {State: query.StateConfirming},
	"cancelled none":      {State: query.StateCancelled},
	"failed none":         {State: query.StateFailed},
	"since a day":         {Since: time.Unix(1_795_013_600, 0)},
	"all of them":         {Name: "book-table-kitchen", State: query.StateDelivered, Value: "friday"},
}

// BenchmarkSearchByEachFilter measures a page of triggers among 100,000, by each filter: how long it takes, and how many pages the whole list takes.
func BenchmarkSearchByEachFilter(b *testing.B) {
	records, _ := storeForSearch(b, 100_000, 10)
	for name, q := range searches {
		q.AppID, q.Page.Limit = "clinic", 50
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			pages := 0
			for b.Loop() {
				for q.Page.After = ""; ; {
					begun := time.Now()
					items, next, err := records.Triggers(b.Context(), q)
					took = append(took, time.Since(begun))
					pages++
					require.NoError(b, err)
					if next == "" || len(items) > 0 {
						break
					}
					q.Page.After = next
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "slowest-page-ms")
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "page-ms")
			b.ReportMetric(float64(pages)/float64(b.N), "pages/op")
		})
	}
}

// letBatchesTake sets the time that a search takes for each batch that it examines.
func letBatchesTake(records *query.Records, took time.Duration) {
	now := time.Unix(1_800_000_000, 0)
	records.Now = func() time.Time {
		now = now.Add(took)
		return now
	}
}

func TestTheOldestTriggerOfALongSessionIsListedAsWaiting(t *testing.T) {
	records, db := storeForSearch(t, 5000, 5000)
	letBatchesTake(records, 40*time.Millisecond)
	oldest := fmt.Sprintf("%032x", 0)
	require.NoError(t, db.HSet(t.Context(), keyspace.KeysOf("clinic").Trigger(oldest), "state", query.StateConfirming).Err())
	waiting, err := records.Waiting(t.Context(), "clinic", "s0")
	require.NoError(t, err)
	require.Len(t, waiting, 1)
	require.Equal(t, oldest, waiting[0].TriggerID)

	later := fmt.Sprintf("%032x", 7)
	require.NoError(t, db.HSet(t.Context(), keyspace.KeysOf("clinic").Trigger(later), "due", time.Now().Add(time.Hour).UnixMilli(), "state", "settling", "open", 1).Err())
	waiting, err = records.Waiting(t.Context(), "clinic", "s0")
	require.NoError(t, err)
	require.Len(t, waiting, 2)
	require.Equal(t, later, waiting[0].TriggerID, "the newest first, whatever it waits for")
}

func TestASearchThatFindsNothingEndsInTimeAndGoesOn(t *testing.T) {
	records, _ := storeForSearch(t, 5000, 10)
	letBatchesTake(records, 40*time.Millisecond)
	for _, oldest := range []bool{false, true} {
		q := query.Triggers{AppID: "clinic", Value: map[bool]string{true: "keller the 4777", false: "keller the 77"}[oldest], Oldest: oldest, Page: query.Page{Limit: 50}}
		pages, found, until := 0, 0, []time.Time{}
		for {
			items, next, err := records.Triggers(t.Context(), q)
			require.NoError(t, err)
			pages, found = pages+1, found+len(items)
			if next == "" {
				break
			}
			until = append(until, query.SearchedUntil(next))
			q.Page.After = next
		}
		require.Greater(t, pages, 1, "a page ends when its time is over")
		require.Len(t, until, pages-1)
		require.True(t, slices.IsSortedFunc(until, func(a, b time.Time) int {
			if oldest {
				return a.Compare(b)
			}
			return b.Compare(a)
		}), "it goes on where it was")
		require.Positive(t, found)
	}
	require.Zero(t, query.SearchedUntil(""))
}
