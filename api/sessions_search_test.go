package api_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/apitest"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/repositories/keyspace"
	"earshot/trigger/effect"
)

// named calls the tool that the text begins with, without values if it says so.
func named(request matcher.Request) (matcher.Result, error) {
	result := matcher.Result{Stage: matcher.StageLLM}
	for _, candidate := range request.Candidates {
		if rest, is := strings.CutPrefix(request.Text, candidate.Tool.Name); is && strings.Contains(rest, "without") {
			result.Rejected = append(result.Rejected, matcher.Rejected{Candidate: candidate, Missing: []string{"day"}})
		} else if is {
			result.Matches = append(result.Matches, matcher.Match{Candidate: candidate, Values: map[string]any{}})
		}
	}
	return result, nil
}

func TestSessionsAreFoundByWhatWasSaidAndWhatCameOfIt(t *testing.T) {
	s := apitest.LiveOn(t, redistest.Run(t), apitest.Scripted(named))
	s.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	s.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","description":"d","url":"https://x.example"},
		{"name":"pay","description":"d","confirm":"always"}]}`).Is(201, "")
	say := func(id, message, text string) {
		s.Call("POST", "/v1/apps/clinic/sessions/"+id+"/messages", fmt.Sprintf(`{"actor":"user","messageId":%q,"text":%q}`, message, text)).Is(200, "")
	}
	s.Call("PUT", "/v1/apps/clinic/sessions/s1", `{"user":"ada"}`).Is(201, "")
	s.Call("PUT", "/v1/apps/clinic/sessions/s2", `{"user":"ada"}`).Is(201, "")
	say("s1", "m1", "book me in for Friday, says “Zoë”")
	say("s1", "m2", "Thanks, ÄRZTIN!")
	say("s2", "m1", "book without a day")
	say("s3", "m1", "good morning")
	s.Call("POST", "/v1/apps/clinic/sessions/s3/messages", `{"actor":"agent","messageId":"a1","text":"Our Friday is full."}`)
	say("s4", "m1", "pay the bill")
	s.Sink.Answers(func(effect.Effect) effect.Outcome {
		return effect.Outcome{Verdict: effect.Dead, Status: 400, Reason: effect.ReasonRequest, Error: "no"}
	})
	s.Call("POST", "/v1/apps/clinic/sessions/s5/triggers", `{"name":"book","source":"ui"}`).Is(201, "")
	say("s1", "m3", "anything else \\ \"quoted\"")

	find := func(pairs ...string) []string {
		asked := url.Values{"order": {"activity"}}
		for i := 0; i < len(pairs); i += 2 {
			asked.Set(pairs[i], pairs[i+1])
		}
		return sessionsBy(s, "clinic", 2, asked)
	}
	require.Equal(t, []string{"s1", "s5", "s4", "s3", "s2"}, find())
	require.Equal(t, []string{"s1", "s2"}, find("user", "ada"))
	require.Equal(t, []string{"s1", "s3"}, find("text", "fRIday"), "the agent says it as well")
	require.Equal(t, []string{"s1"}, find("text", "zoË"))
	require.Equal(t, []string{"s1"}, find("text", "ärztin"))
	require.Equal(t, []string{"s1"}, find("text", `\ "quoted`))
	require.Empty(t, find("text", "actor"), "only what was said is looked at")
	require.Equal(t, []string{"s2"}, find("text", "day", "user", "ada", "outcome", "rejected"))
	require.Equal(t, []string{"s1", "s5", "s4"}, find("outcome", "fired"))
	require.Equal(t, []string{"s2"}, find("outcome", "rejected"))
	require.Equal(t, []string{"s1", "s3"}, find("outcome", "unmatched"))
	require.Equal(t, []string{"s4"}, find("outcome", "confirming"))
	require.Equal(t, []string{"s5"}, find("outcome", "failed"))
	require.Equal(t, []string{"s1", "s3"}, sessionsBy(s, "clinic", 1, url.Values{"text": {"friday"}}), "in the order of their ids as well")
	for asked, words := range map[string][]string{"text=friday": {`"message":{"messageId":"m1"`, `"outcomes":["unmatched","fired"]`, `"lastActive":`}, "": {`"messageId":"m3"`}} {
		body := string(s.Call("GET", "/v1/apps/clinic/sessions?order=activity&limit=1&"+asked, "").Is(200, "").Body)
		for _, word := range words {
			require.Contains(t, body, word)
		}
	}
	for _, wrong := range []string{"order=age", "outcome=none", "order=activity&after=s1", "after=17/s1"} {
		s.Call("GET", "/v1/apps/clinic/sessions?"+wrong, "").Problem(400)
	}

	s.Call("DELETE", "/v1/apps/clinic/sessions/s1", "").Is(204, "")
	require.Equal(t, []string{"s5", "s4", "s3", "s2"}, find())
	require.Empty(t, s.Redis.Client().ZScore(t.Context(), keyspace.Recent(keyspace.KeysOf("clinic")), "s1").Val())
	s.Call("DELETE", "/v1/apps/clinic", "").Is(204, "")
	require.Empty(t, s.Redis.Client().Keys(t.Context(), "*recent*").Val())
}

// TestSessionsOfOneTimeAreOnOnePageEach has more sessions of one millisecond than one read, one of which
// becomes active between two pages.
func TestSessionsOfOneTimeAreOnOnePageEach(t *testing.T) {
	s := apitest.LiveOn(t, redistest.Run(t), apitest.Scripted(named))
	s.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	k, pipe := keyspace.KeysOf("clinic"), s.Redis.Client().Pipeline()
	for i := range 700 {
		id := fmt.Sprintf("v%04d", i)
		pipe.ZAdd(t.Context(), keyspace.Recent(k), redis.Z{Score: 1_700_000_000_000 + float64(i/600), Member: id})
		pipe.HSet(t.Context(), k.Turns(id), "since", 1_700_000_000_000)
	}
	pipe.ZAdd(t.Context(), keyspace.Recent(k), redis.Z{Score: 1_800_000_000_000, Member: "ended"})
	_, err := pipe.Exec(t.Context())
	require.NoError(t, err)
	seen := map[string]int{}
	for _, id := range sessionsBy(s, "clinic", 37, url.Values{"order": {"activity"}}) {
		seen[id]++
	}
	require.Len(t, seen, 700)
	for id, times := range seen {
		require.Equal(t, 1, times, id)
	}
	require.NoError(t, s.Redis.Client().ZAdd(t.Context(), keyspace.Recent(k), redis.Z{Score: 1_900_000_000_000, Member: "v0300"}).Err())
	cursor := "aWQ6MTcwMDAwMDAwMDAwMC92MDMwMA" // id:1700000000000/v0300
	require.Contains(t, string(s.Call("GET", "/v1/apps/clinic/sessions?order=activity&limit=1&after="+cursor, "").Is(200, "").Body), `"v0299"`, "it goes on where it was")
	require.Len(t, sessionsBy(s, "clinic", 200, url.Values{"order": {"activity"}, "usedSince": {"2023-11-14T22:13:20.001Z"}, "usedBefore": {"2025-01-01T00:00:00Z"}}), 100)
}
