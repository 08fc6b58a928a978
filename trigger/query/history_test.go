package query_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/matcher"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
)

// historyPage reads one page of the history of s1.
func (w *world) historyPage(q query.History) (ids []string, next string) {
	w.T.Helper()
	q.AppID, q.SessionID = "clinic", "s1"
	entries, next, err := w.Engine.History(w.T.Context(), q)
	require.NoError(w.T, err)
	for _, entry := range entries {
		ids = append(ids, entry.MessageID)
	}
	require.LessOrEqual(w.T, len(ids), q.Page.Limit)
	return ids, next
}

func (w *world) wholeHistory(q query.History) (ids []string) {
	w.T.Helper()
	for {
		page, next := w.historyPage(q)
		ids = append(ids, page...)
		if q.Page.After = next; next == "" {
			return ids
		}
		require.NotEmpty(w.T, page, "there is more behind it")
	}
}

func TestAHistoryIsReadFromEitherEndWhileItMoves(t *testing.T) {
	keeping(t, store.Retention{Messages: 4}, func(t *testing.T, w *world) {
		w.App("clinic", `{"settings":{"chatModeEnabled":true}}`)
		post := func(from, to int) {
			for i := from; i <= to; i++ {
				w.Say(fmt.Sprint("m", i), "hello")
			}
		}
		newest := func(after string, limit int) query.History {
			return query.History{Newest: true, Page: query.Page{After: after, Limit: limit}}
		}
		post(0, 4)
		backwards := []string{"m4.reply", "m4", "m3.reply", "m3", "m2.reply", "m2", "m1.reply", "m1"}
		forwards := slices.Clone(backwards)
		slices.Reverse(forwards)
		for _, limit := range []int{1, 2, 3, 4, 7, 8, 10} {
			require.Equal(t, backwards, w.wholeHistory(newest("", limit)))
			require.Equal(t, forwards, w.wholeHistory(query.History{Page: query.Page{Limit: limit}}))
		}
		ids, between := w.historyPage(newest("", 1))
		require.Equal(t, []string{"m4.reply"}, ids)
		ids, _ = w.historyPage(query.History{Page: query.Page{After: between, Limit: 1}})
		require.Equal(t, []string{"m4.reply"}, ids, "the place is between the message and its reply, in either direction")
		ids, next := w.historyPage(newest("", 2))
		require.Equal(t, []string{"m4.reply", "m4"}, ids)
		ids, older := w.historyPage(newest(next, 2))
		require.Equal(t, []string{"m3.reply", "m3"}, ids)
		post(5, 6)
		ids, _ = w.historyPage(newest(next, 2))
		require.Equal(t, []string{"m3.reply", "m3"}, ids, "what came meanwhile moves nothing")
		ids, _ = w.historyPage(query.History{Page: query.Page{After: next, Limit: 2}})
		require.Equal(t, []string{"m5", "m5.reply"}, ids, "and stands in the other direction")
		ids, end := w.historyPage(newest(older, 5))
		require.Empty(t, ids, "what was older has left the history")
		require.Empty(t, end)
		post(7, 9)
		ids, end = w.historyPage(newest(next, 5))
		require.Empty(t, ids, "and so has the place itself")
		require.Empty(t, end)
		ids, end = w.historyPage(newest(between, 5))
		require.Empty(t, ids)
		require.Empty(t, end)
		ids, _ = w.historyPage(query.History{Page: query.Page{After: between, Limit: 2}})
		require.Equal(t, []string{"m6", "m6.reply"}, ids, "the first that is left")

		w.Close()
		require.Empty(t, w.wholeHistory(newest("", 5)))
		_, _, err := w.Engine.History(t.Context(), query.History{AppID: "clinic", SessionID: "s2", Newest: true, Page: query.Page{After: older, Limit: 1}})
		require.ErrorIs(t, err, query.ErrCursor, "of another session")
		post(0, 0)
		_, _, err = w.Engine.History(t.Context(), query.History{AppID: "clinic", SessionID: "s1", Newest: true, Page: query.Page{After: next, Limit: 1}})
		require.ErrorIs(t, err, query.ErrCursor, "of an earlier life")
	})
}

func TestAHistoryBeginsAtATime(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const count = 20
		begin := time.Date(2026, 12, 1, 8, 0, 0, 500, time.UTC)
		client, turns := w.Server.Client(), keyspace.KeysOf("clinic").Turns("s1")
		var all []string
		times := map[string]time.Time{}
		for i := range count { // every fourth was taken by a replica whose clock is late, or early
			id := fmt.Sprintf("m%02d", i)
			w.Say(id, "hello")
			at := begin.Add(time.Duration(i) * 10 * time.Second)
			shown := at.Add(map[int]time.Duration{1: -25 * time.Second, 3: 25 * time.Second}[i%4])
			stored := map[string]any{}
			require.NoError(t, json.Unmarshal([]byte(client.HGet(t.Context(), turns, "m:"+id).Val()), &stored))
			stored["ts"] = shown
			text := testbed.Got(json.Marshal(stored))(t)
			require.NoError(t, client.HSet(t.Context(), turns, "m:"+id, text, "t:"+id, at.UnixMilli()).Err())
			all, times[id] = append(all, id), shown
		}
		for _, since := range []time.Time{begin.Add(-time.Hour), begin, begin.Add(time.Nanosecond), times["m07"], begin.Add(105 * time.Second), times["m19"], begin.Add(time.Hour)} {
			want := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return times[id].Before(since) })
			backwards := slices.Clone(want)
			slices.Reverse(backwards)
			for _, limit := range []int{1, 3, 100} {
				q := query.History{Since: since, Page: query.Page{Limit: limit}}
				first, _ := w.historyPage(q)
				require.Len(t, first, min(limit, len(want)), "a page is full, whatever the clocks of replicas")
				require.Equal(t, want, append([]string{}, w.wholeHistory(q)...), "%s %d", since, limit)
				q.Newest = true
				got := []string{}
				for more := true; more; more = q.Page.After != "" { // the last page may be empty
					var page []string
					page, q.Page.After = w.historyPage(q)
					got = append(got, page...)
				}
				require.Equal(t, backwards, got, "%s %d", since, limit)
			}
		}
	})
}

func TestADecidedMessageIsReadAsItIsParsed(t *testing.T) {
	turn := ledger.Turn{App: "shop", Session: "s", Message: "m1"}
	message := query.StoredMessage{Actor: matcher.ActorUser, Text: "a <table>, please", Time: time.Unix(1_800_000_000, 0).UTC()}
	stored := testbed.Got(exactjson.Text(&message))(t)
	read := func(pasts *query.ConversationCache, past ledger.PastMessage) []matcher.Utterance {
		return pasts.Utterances(turn, query.ParsedConversation{}, ledger.Conversation{Messages: []ledger.PastMessage{past}})
	}
	for name, matches := range map[string][]query.Match{
		"nothing":        {},
		"texts":          {{TriggerID: "t1", Name: "book", Values: exactjson.Members{"day": "<Friday>", "late": true, "for": nil}}},
		"no values":      {{TriggerID: "t1", Name: "book"}},
		"numbers":        {{TriggerID: "t1", Name: "book", Values: exactjson.Members{"guests": 2}}},
		"lists":          {{TriggerID: "t1", Name: "book", Values: exactjson.Members{"names": []any{"Ann"}}}},
		"asks":           {{TriggerID: "t1", Name: "book", State: query.StateConfirming}, {TriggerID: "t2", Name: "call", State: query.StateDuplicate}},
		"longer than ok": {{TriggerID: "t1", Name: "book", Values: exactjson.Members{"note": strings.Repeat("a note, ", 2000)}}},
	} {
		t.Run(name, func(t *testing.T) {
			decision := testbed.Got(query.Answer{MessageID: "m1", Matches: matches, Rejected: []query.Rejected{}}.Encode())(t)
			pasts := query.NewConversationCache()
			pasts.Decided(turn, stored, message, decision, matches)
			for _, past := range []ledger.PastMessage{
				{ID: "m1", Message: stored, Decision: decision},
				{ID: "m1", Message: stored, Decision: decision, Reply: `"gladly"`},
				{ID: "m1", Message: stored, Decision: decision, Results: `{"triggerId":"t1","result":{"id":7}}` + "\n"},
				{ID: "m1", Message: stored},
				{ID: "m2", Message: stored, Decision: decision},
				{ID: "m1", Message: `{"actor":"user","text":"another, after a failover"}`, Decision: decision},
			} {
				require.Equal(t, read(query.NewConversationCache(), past), read(pasts, past), "%+v", past)
			}
		})
	}
	pasts := query.NewConversationCache()
	pasts.Decided(turn, stored, message, "cannot be parsed", []query.Match{{TriggerID: "t1", Name: "book"}})
	require.Len(t, read(pasts, ledger.PastMessage{ID: "m1", Message: stored, Decision: "cannot be parsed"})[0].Fired, 1, "it is not parsed")
}
