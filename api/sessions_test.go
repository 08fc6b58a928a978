package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed/apitest"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/trigger/effect"
	"earshot/trigger/query"
	"earshot/trigger/scope"
)

const sessionPath = "/v1/apps/clinic/sessions/s1"

func session(a apitest.Answer) (read struct {
	repositories.Session
	Open []scope.OpenCall
}) {
	require.NoError(a.T, json.Unmarshal(a.Body, &read))
	return read
}

func TestASessionIsPutReadAndListed(t *testing.T) {
	s := apitest.Live(t, apitest.Everything)
	s.Call("PUT", sessionPath, `{}`).Problem(404, `app "clinic"`)
	s.Call("GET", "/v1/apps/clinic/sessions", "").Problem(404, `app "clinic"`)
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	s.Call("GET", sessionPath, "").Problem(404, "s1")

	body := `{"language":"de-AT","timeZone":"Europe/Vienna","metadata":{"visitor":12345678901234567890},"expiresIn":"2h"}`
	made := session(s.Call("PUT", sessionPath, body).Is(201, ""))
	require.Equal(t, "de-AT", made.Language)
	require.Equal(t, made.Created.Add(2*time.Hour), made.ExpiresAt)
	again := session(s.Call("PUT", sessionPath, body).Is(200, ""))
	require.Equal(t, made, again)
	got := s.Call("GET", sessionPath, "").Is(200, "")
	require.Contains(t, string(got.Body), `"metadata":{"visitor":12345678901234567890}`)
	require.Contains(t, string(got.Body), `"open":[]`)
	bare := session(s.Call("PUT", sessionPath, `{"language":null}`).Is(200, ""))
	require.Empty(t, bare.Language+bare.TimeZone)
	require.True(t, bare.ExpiresAt.IsZero())

	s.Call("POST", "/v1/apps/clinic/sessions/s2/messages", apitest.HelloBody).Is(200, "")
	require.False(t, session(s.Call("GET", "/v1/apps/clinic/sessions/s2", "").Is(200, "")).LastMessage.IsZero(), "what is used need not be put")
	require.Equal(t, []string{"s1", "s2"}, sessionsBy(s, "clinic", 1, nil))
	s.Call("DELETE", sessionPath, "").Is(204, "")
	s.Call("GET", sessionPath, "").Problem(404)
	require.NotContains(t, string(s.Call("GET", "/v1/apps/clinic/sessions", "").Is(200, "").Body), `"s1"`)
}

func TestASessionThatCannotBePutIsRefusedWithAllItsFaults(t *testing.T) {
	s := atClinic(t)
	s.Call("PUT", "/v1/apps/clinic/repositories/plain", hoursBody).Is(201, "")
	faults := s.Call("PUT", sessionPath, fmt.Sprintf(
		`{"sessionId":"other","language":"german please","timeZone":"Berlin","metadata":{"a":%q},"expiresIn":"2 hours","laguage":"de"}`,
		strings.Repeat("x", repositories.MaxMetadata))).Problem(400)
	for _, pointer := range []string{"/sessionId", "/language", "/timeZone", "/metadata", "/expiresIn", "/laguage"} {
		require.Contains(t, faults, pointer)
	}
	faults = s.Call("PUT", sessionPath, `{"repositories":["absent","plain","plain"]}`).Problem(400)
	require.Contains(t, faults["/repositories/0"], "no repository")
	require.Contains(t, faults["/repositories/1"], "options.template")
	require.Contains(t, faults["/repositories/2"], "twice")
	faults = s.Call("PUT", sessionPath, `{"language":"?","repositories":["absent",7,"plain"]}`).Problem(400)
	require.Len(t, faults, 4, "all at once")
	require.Contains(t, faults["/repositories/0"], "no repository")
	require.Contains(t, faults["/repositories/2"], "options.template")
	require.Len(t, s.Call("PUT", "/v1/apps/nobody/sessions/s1", `{"language":"?","repositories":["absent"]}`).Problem(400), 1)
	s.Call("GET", sessionPath, "").Problem(404)
	s.Call("POST", apitest.MessagesPath, `{"actor":"user","text":"x","metadata":[1]}`).Problem(400)
	s.Call("POST", apitest.MessagesPath, `{"actor":"user","text":"x","timeZone":"Mars/Base"}`).Problem(400)
	s.Call("PUT", apitest.BookingPath, `{"options":{"template":true},"tools":[]}`).Problem(400)
}

func TestTemplatesAreCopiedIntoASessionOnceAndAreInNoScopeThemselves(t *testing.T) {
	s := apitest.Live(t, apitest.Everything)
	s.Call("PUT", "/v1/apps/clinic", `{"settings":{"limits":{"repositoriesPerSession":2}}}`).Is(201, "")
	for _, id := range []string{"booking", "hours", "third"} {
		s.Call("PUT", "/v1/apps/clinic/repositories/"+id, `{"options":{"template":true,"triggerOnce":true},"tools":[{"name":"`+id+`","description":"d"}]}`).Is(201, "")
	}
	s.Call("POST", apitest.MessagesPath, apitest.HelloBody).Is(200, "")
	require.NotContains(t, string(s.Call("GET", "/v1/apps/clinic/tools", "").Is(200, "").Body), "booking")
	s.Call("POST", "/v1/apps/clinic/triggers", `{"name":"booking","source":"ui"}`).Problem(404)

	s.Call("PUT", sessionPath, `{"repositories":["booking"]}`).Is(200, "")
	got := s.Call("GET", apitest.BookingPath, "").Is(200, "")
	require.NotContains(t, string(got.Body), "template")
	require.Contains(t, string(got.Body), `"sessionId":"s1"`)
	answered := s.Call("POST", apitest.MessagesPath, `{"actor":"user","text":"again"}`).Is(200, "")
	require.Contains(t, string(answered.Body), `"name":"booking"`)
	s.Call("GET", apitest.BookingPath, "").Problem(404)
	s.Call("PUT", sessionPath, `{"repositories":["booking","hours"]}`).Is(200, "")
	s.Call("GET", apitest.BookingPath, "").Problem(404)
	s.Call("GET", "/v1/apps/clinic/sessions/s1/repositories/hours", "").Is(200, "")

	s.Call("PUT", "/v1/apps/clinic/sessions/s2", `{"repositories":["booking","hours","third"]}`).Problem(422, "repositoriesPerSession")
	s.Call("GET", "/v1/apps/clinic/sessions/s2", "").Problem(404)
	s.Call("GET", "/v1/apps/clinic/sessions/s2/repositories/booking", "").Problem(404)
	require.Eventually(t, func() bool {
		told := map[string]int{}
		for _, event := range s.Sink.All() {
			if strings.Contains(string(event.Data), `"operation":"created"`) && strings.Contains(string(event.Data), `"sessionId":"s1"`) {
				told[event.Subject]++
			}
		}
		return maps.Equal(told, map[string]int{"tool.changed.clinic.booking": 1, "tool.changed.clinic.hours": 1})
	}, time.Minute, 5*time.Millisecond, "each copy is told of once")
}

// TestWhatIsKnownOfTheUserReachesTheMatcherAndTheEvents expects the most specific language, time zone and
// metadata: of the message, the session, or the app.
func TestWhatIsKnownOfTheUserReachesTheMatcherAndTheEvents(t *testing.T) {
	var asked []matcher.Request
	s := apitest.Live(t, func(request matcher.Request) (matcher.Result, error) {
		asked = append(asked, request)
		return apitest.Everything(request)
	})
	s.Call("PUT", "/v1/apps/clinic", `{"settings":{"language":"fr","timeZone":"Europe/Paris"}}`).Is(201, "")
	s.Call("PUT", "/v1/apps/clinic/repositories/booking", `{"tools":[{"name":"book","description":"d","schema":[{"parameter":"date","type":"string"}]}]}`).Is(201, "")
	s.Call("POST", apitest.MessagesPath, apitest.HelloBody).Is(200, "")
	s.Call("PUT", sessionPath, `{"language":"de","timeZone":"Asia/Tokyo","metadata":{"visitor":"v1","page":"/start"}}`).Is(200, "")
	posted := s.Call("POST", apitest.MessagesPath, `{"messageId":"m2","actor":"user","text":"hello","metadata":{"page":"/book","n":1.50}}`).Is(200, "")
	s.Call("POST", apitest.MessagesPath, `{"actor":"user","text":"hello","language":"it","timeZone":"America/New_York"}`).Is(200, "")
	var languages, zones []string
	for _, one := range asked {
		languages, zones = append(languages, one.Language), append(zones, one.Now.Location().String())
	}
	require.Equal(t, []string{"fr", "de", "it"}, languages)
	require.Equal(t, []string{"Europe/Paris", "Asia/Tokyo", "America/New_York"}, zones)

	answered := bodyOf[query.Answer](posted)
	const laid = `"metadata":{"n":1.50,"page":"/book","visitor":"v1"}`
	require.Contains(t, string(s.Call("GET", "/v1/apps/clinic/triggers/"+answered.Matches[0].TriggerID, "").Is(200, "").Body), laid)
	require.Contains(t, string(s.Call("GET", apitest.MessagesPath+"/m2", "").Is(200, "").Body), `"metadata":{"n":1.50,"page":"/book"}`)
	fired := s.Call("POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"book","source":"ui","metadata":{"page":"/button"}}`).Is(201, "")
	require.NotEmpty(t, fired.Body)
	var with []string
	for _, event := range s.Sink.All() {
		var says struct{ Metadata json.RawMessage }
		require.NoError(t, json.Unmarshal(event.Data, &says))
		if strings.HasPrefix(event.Subject, "tool.trigger.") {
			with = append(with, string(says.Metadata))
		}
	}
	require.Equal(t, []string{"", `{"n":1.50,"page":"/book","visitor":"v1"}`, `{"page":"/start","visitor":"v1"}`, `{"page":"/button","visitor":"v1"}`}, with)
}

func TestACallThatLacksValuesIsOpenUntilItFires(t *testing.T) {
	s := apitest.Live(t, func(request matcher.Request) (matcher.Result, error) {
		one := request.Candidates[0]
		if request.Text == "on monday" {
			return matcher.Result{Stage: matcher.StageLLM, Matches: []matcher.Match{{Candidate: one, Values: map[string]any{"date": "monday", "desk": "A"}}}}, nil
		}
		return matcher.Result{Stage: matcher.StageLLM, Rejected: []matcher.Rejected{{Candidate: one, Values: map[string]any{"desk": "A"}, Missing: []string{"date"}}}}, nil
	})
	s.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	s.Call("PUT", apitest.BookingPath, `{"tools":[{"name":"book","description":"d","schema":[{"parameter":"date","type":"string","required":true,"ask":"Which day?"},{"parameter":"desk","type":"string"}]}]}`).Is(201, "")
	s.Call("POST", apitest.MessagesPath, apitest.HelloBody).Is(200, "")
	token := s.Call("POST", sessionPath+"/token", "").Made()
	got := session(s.Call("GET", sessionPath, "", "Authorization: Bearer "+token.Token).Is(200, ""))
	require.Equal(t, []scope.OpenCall{{State: "asking", RepositoryID: "booking", Name: "book", Values: map[string]any{"desk": "A"}, Missing: []string{"date"}, Question: "Which day?", Ask: "Which day?"}}, got.Open)
	s.Call("POST", apitest.MessagesPath, `{"actor":"user","text":"on monday"}`).Is(200, "")
	require.Empty(t, session(s.Call("GET", sessionPath, "").Is(200, "")).Open)
}

func TestWhatWaitsInASessionIsOpenWhoeverSetItOff(t *testing.T) {
	s := atClinic(t)
	s.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"options":{"triggerOnce":true},"tools":[
		{"name":"ask","description":"d","answer":{"within":"1h"},"request":{"timeout":"1ms"}}]}`).Is(201, "")
	s.Call("PUT", "/v1/apps/clinic/repositories/money", `{"tools":[{"name":"pay","description":"d","confirm":"always"},
		{"name":"send","description":"d","settle":"60s"},{"name":"done","description":"d"}]}`).Is(201, "")
	fired := map[string]map[string]any{}
	for _, name := range []string{"pay", "send", "ask", "done"} {
		match := bodyOf[map[string]any](s.Call("POST", sessionPath+"/triggers", `{"name":"`+name+`","source":"ui"}`).Is(201, ""))
		require.NotEmpty(t, match["state"], name)
		fired[name] = match
	}
	s.Call("POST", "/v1/apps/clinic/sessions/other/triggers", `{"name":"pay","source":"ui"}`).Is(201, "")
	token := apitest.Bearer(s.Call("POST", sessionPath+"/token", "").Made().Token)
	open := map[string]scope.OpenCall{}
	for _, one := range session(s.Call("GET", sessionPath, "", token).Is(200, "")).Open {
		require.Equal(t, fired[one.Name]["triggerId"], one.TriggerID)
		open[one.Name] = one
	}
	require.Len(t, open, 3)
	require.Equal(t, []string{"confirming", "settling", "pending"}, []string{open["pay"].State, open["send"].State, open["ask"].State})
	require.Equal(t, []any{fired["pay"]["digest"], fired["pay"]["question"]}, []any{open["pay"].Digest, open["pay"].Question})
	require.NotNil(t, open["pay"].ExpiresAt)
	require.NotNil(t, open["send"].ExpiresAt)
	require.WithinDuration(t, time.Now().Add(time.Hour), *open["ask"].ExpiresAt, 10*time.Minute)

	at := func(name, what string) string {
		return "/v1/apps/clinic/triggers/" + fired[name]["triggerId"].(string) + what
	}
	digest := `{"digest":"` + open["pay"].Digest + `"}`
	require.Equal(t, "digest_differs", bodyOf[problem](s.Call("POST", at("pay", "/confirm"), `{"digest":"other"}`, token).Is(409, "")).Code)
	s.Call("POST", at("pay", "/confirm"), digest, token).Is(202, "")
	s.Call("POST", at("pay", "/confirm"), digest, token).Is(200, "")
	ended := bodyOf[problem](s.Call("POST", at("pay", "/deny"), "", token).Is(409, ""))
	require.Equal(t, []string{"trigger_ended", "delivered"}, []string{ended.Code, ended.State})
	s.Call("POST", at("send", "/cancel"), "", token).Is(202, "")
	s.Call("POST", at("send", "/cancel"), "", token).Is(200, "")
	s.Call("POST", at("ask", "/answer"), `{"ok":true}`, token).Is(200, "")
	require.Empty(t, session(s.Call("GET", sessionPath, "").Is(200, "")).Open)
}

// twoDays is a stream with an event of yesterday and one of tomorrow.
type twoDays struct{ api.Memory }

func (twoDays) Stored(_ context.Context, _, _ string, do func(effect.Published) error) error {
	now := time.Now()
	return errors.Join(do(effect.Published{Subject: "chat.message.clinic.s1", Time: now.Add(-24 * time.Hour), Data: []byte(`{"n":1}`)}),
		do(effect.Published{Subject: "chat.message.clinic.s1", Time: now.Add(24 * time.Hour), Data: []byte(`{"n":2}`)}))
}

func TestAnExportHasNoEventsOfAnEarlierApp(t *testing.T) {
	s := atClinic(t, func(o *api.Options) { o.Memory = twoDays{} })
	got := string(s.Call("GET", "/v1/apps/clinic/sessions/s1/export", "").Is(200, "").Body)
	require.Contains(t, got, `{"n":2}`)
	require.NotContains(t, got, `{"n":1}`)
}

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

const otherUser = "session_of_another_user"

func says(s apitest.World, id, fields string, headers ...string) apitest.Answer {
	return s.Call("POST", "/v1/apps/clinic/sessions/"+id+"/messages", `{"actor":"user","text":"hello"`+fields+`}`, headers...)
}

// sessionsBy returns the sessions of a query, over all pages.
func sessionsBy(s apitest.World, app string, size int, asked url.Values) (ids []string) {
	s.T.Helper()
	for after := ""; ; {
		path := fmt.Sprintf("/v1/apps/%s/sessions?limit=%d&after=%s&%s", app, size, after, asked.Encode())
		read := bodyOf[pageOf[repositories.Session]](s.Call("GET", path, "").Is(200, ""))
		require.LessOrEqual(s.T, len(read.Items), size)
		for _, one := range read.Items {
			ids = append(ids, one.ID)
		}
		if after = read.Next; after == "" {
			return ids
		}
	}
}

func TestASessionKeepsItsUser(t *testing.T) {
	s := apitest.LiveOn(t, redistest.Run(t), apitest.Scripted(apitest.Everything))
	s.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	userOf := func(id string) string {
		t.Helper()
		return session(s.Call("GET", "/v1/apps/clinic/sessions/"+id, "").Is(200, "")).User
	}
	refused := func(a apitest.Answer) {
		t.Helper()
		require.Equal(t, otherUser, bodyOf[problem](a.Is(409, "")).Code)
	}
	put := func(id, body string) apitest.Answer {
		return s.Call("PUT", "/v1/apps/clinic/sessions/"+id, body)
	}

	says(s, "s1", `,"messageId":"m1","user":"ada"`).Is(200, "")
	require.Equal(t, "ada", userOf("s1"))
	says(s, "s1", `,"messageId":"m1","user":"ada"`).Is(200, "")
	says(s, "s1", "").Is(200, "")
	refused(says(s, "s1", `,"user":"bob"`))
	refused(says(s, "s1", `,"messageId":"m1","user":"bob"`))
	refused(says(s, "s1", `,"final":false,"user":"bob"`))
	refused(put("s1", `{"user":"bob"}`))
	put("s1", `{"language":"de","user":null}`).Is(200, "")
	require.Equal(t, "ada", userOf("s1"))
	require.Equal(t, 2, strings.Count(string(s.Call("GET", apitest.MessagesPath, "").Is(200, "").Body), `"messageId":`))

	require.Equal(t, "ada", session(put("s2", `{"user":"ada"}`).Is(201, "")).User)
	refused(says(s, "s2", `,"user":"bob"`))
	says(s, "s3", "").Is(200, "")
	says(s, "s3", `,"user":"Ada Lovelace, ü"`).Is(200, "") // she has signed in
	require.Equal(t, "Ada Lovelace, ü", userOf("s3"))
	put("s4", `{}`).Is(201, "")
	put("s4", `{"user":"ada"}`).Is(200, "")

	says(s, "s5", `,"final":false,"messageId":"d1","user":"ada"`).Is(200, "")
	s.Call("GET", "/v1/apps/clinic/sessions/s5", "").Problem(404) // a draft starts no session
	s.Call("POST", "/v1/apps/clinic/sessions/s5/messages/d1/commit", "").Is(200, "")
	require.Equal(t, "ada", userOf("s5"))
	says(s, "s6", `,"final":false,"messageId":"d1","user":"ada"`).Is(200, "")
	says(s, "s6", `,"user":"bob"`).Is(200, "")
	refused(s.Call("POST", "/v1/apps/clinic/sessions/s6/messages/d1/commit", ""))

	s.Call("DELETE", sessionPath, "").Is(204, "")
	s.Call("GET", sessionPath, "").Problem(404)
	require.Equal(t, []string{"s2", "s4", "s5"}, sessionsBy(s, "clinic", 10, url.Values{"user": {"ada"}}), "one that has ended is no session")
	refused(put("s1", `{"user":"bob"}`))
	refused(says(s, "s1", `,"user":"bob"`))
	refused(says(s, "s1", `,"final":false,"user":"bob"`))
	says(s, "s1", "").Is(200, "")
	require.Equal(t, "ada", userOf("s1"), "what is kept of its earlier life is still hers")
	require.Equal(t, []string{"s1", "s2", "s4", "s5"}, sessionsBy(s, "clinic", 1, url.Values{"user": {"ada"}}))

	client := s.Redis.Client()
	s.Call("DELETE", "/v1/apps/clinic", "").Is(204, "")
	s.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	require.Zero(t, client.Exists(t.Context(), keyspace.KeysOf("clinic").Users(), keyspace.KeysOf("clinic").Ended()).Val())
	says(s, "s1", `,"user":"bob"`).Is(200, "")
}

func TestAUserIsNamedByTheBackEndAlone(t *testing.T) {
	s := atClinic(t)
	s.Call("PUT", sessionPath, `{"user":"ada"}`).Is(201, "")
	token := apitest.Bearer(s.Call("POST", sessionPath+"/token", "").Made().Token)
	for _, name := range []string{"bob", "ada"} {
		says(s, "s1", `,"user":"`+name+`"`, token).Problem(403, "back-end")
		says(s, "s1", `,"final":false,"user":"`+name+`"`, token).Problem(403)
	}
	says(s, "s1", "", token).Is(200, "")
	s.Call("GET", "/v1/apps/clinic/sessions?user=ada", "", token).Problem(403)
	s.Call("GET", "/v1/apps/clinic/users/ada/export", "", token).Problem(403)
	s.Call("DELETE", "/v1/apps/clinic/users/ada?erase=true", "", token).Problem(403)
	key := apitest.Bearer(s.Call("POST", "/v1/apps/clinic/keys", `{"scopes":["triggers"]}`).Made().Key)
	s.Call("DELETE", "/v1/apps/clinic/users/ada?erase=true", "", key).Problem(403, "messages")
	require.Equal(t, "ada", session(s.Call("GET", sessionPath, "").Is(200, "")).User)
}

func TestANameThatIsNoUsersIsRefused(t *testing.T) {
	s := atClinic(t)
	for _, name := range []string{"", " ada", "ada ", "a\u0000b", "a\nb", "a\u0001", "..", ".", strings.Repeat("ü", 129), "a\u200b"} {
		text, err := json.Marshal(name)
		require.NoError(t, err)
		s.Call("GET", "/v1/apps/clinic/sessions?user="+url.QueryEscape(name), "").Problem(400, "user")
		if name == "" { // an empty name is ignored in a body
			continue
		}
		require.Contains(t, s.Call("PUT", sessionPath, `{"user":`+string(text)+`}`).Problem(400), "/user", "%q", name)
		require.Contains(t, says(s, "s1", `,"user":`+string(text)).Problem(400), "/user", "%q", name)
		if strings.Trim(name, ".") != "" {
			s.Call("GET", "/v1/apps/clinic/users/"+url.PathEscape(name)+"/export", "").Problem(400, "user")
		}
	}
	longest := strings.Repeat("ü", 128)
	s.Call("PUT", sessionPath, `{"user":"`+longest+`"}`).Is(201, "")
	require.Equal(t, []string{"s1"}, sessionsBy(s, "clinic", 10, url.Values{"user": {longest}}))
	require.Contains(t, s.Call("POST", apitest.MessagesPath+"?dryRun=true", `{"actor":"user","text":"x","user":"bob"}`).Problem(400), "/user")
	s.Call("DELETE", "/v1/apps/clinic/users/ada", "").Problem(400, "erase=true")
	s.Call("DELETE", "/v1/apps/none/users/a%2Fb%20c?erase=false", "").Problem(400, "erase=true")
}

// TestSessionsAreListedByWhatIsKnownOfThem has more sessions than one lookup reads, and pages of several sizes.
func TestSessionsAreListedByWhatIsKnownOfThem(t *testing.T) {
	s := apitest.LiveOn(t, redistest.Run(t), apitest.Scripted(apitest.Everything))
	s.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	s.Call("PUT", "/v1/apps/home", `{}`).Is(201, "")
	var all, ofAda, gold, both []string
	client, k := s.Redis.Client(), keyspace.KeysOf("clinic")
	pipe := client.Pipeline()
	for i := range 1300 { // as PUT writes them
		id := fmt.Sprintf("v%04d", i)
		record, user := fmt.Sprintf(`{"metadata":{"tier":"silver","n":%d}}`, i), "adam"
		if i%100 == 7 {
			user, ofAda = "ada", append(ofAda, id)
		}
		if i%150 == 7 {
			record, gold = fmt.Sprintf(`{"metadata":{"tier":"gold","n":%d,"vip":true,"deep":{"a":[1]}}}`, i), append(gold, id)
			if user == "ada" {
				both = append(both, id)
			}
		}
		all = append(all, id)
		pipe.ZAdd(t.Context(), k.Sessions(), redis.Z{Member: id})
		pipe.ZAdd(t.Context(), k.Idle(), redis.Z{Score: 1e15, Member: "clinic/" + id})
		pipe.ZAdd(t.Context(), k.Users(), redis.Z{Member: keyspace.OfUser(user, id)})
		pipe.HSet(t.Context(), k.Turns(id), "since", 1_700_000_000_000+i, "session", record, "user", user)
	}
	_, err := pipe.Exec(t.Context())
	require.NoError(t, err)
	s.Call("PUT", "/v1/apps/home/sessions/v0007", `{"user":"ada","metadata":{"tier":"gold"}}`).Is(201, "")

	for _, size := range []int{13, 50, 200} {
		require.Equal(t, all, sessionsBy(s, "clinic", size, nil))
		require.Equal(t, ofAda, sessionsBy(s, "clinic", size, url.Values{"user": {"ada"}}), "and none of adam")
		require.Equal(t, gold, sessionsBy(s, "clinic", size, url.Values{"metadata.tier": {"gold"}}))
		require.Equal(t, gold, sessionsBy(s, "clinic", size, url.Values{"metadata[vip]": {"true"}}))
		require.Equal(t, both, sessionsBy(s, "clinic", size, url.Values{"metadata.tier": {"gold"}, "user": {"ada"}, "metadata.vip": {"true"}}))
	}
	require.Equal(t, []string{"v1207"}, sessionsBy(s, "clinic", 50, url.Values{"metadata.n": {"1207"}, "metadata.deep": {`{"a":[1]}`}}))
	require.Empty(t, sessionsBy(s, "clinic", 50, url.Values{"metadata.tier": {"go"}}))
	require.Empty(t, sessionsBy(s, "clinic", 50, url.Values{"user": {"ad"}}))
	require.Equal(t, []string{"v0007"}, sessionsBy(s, "home", 50, url.Values{"user": {"ada"}}))
	at := func(ms int64) string { return time.UnixMilli(1_700_000_000_000 + ms).UTC().Format(time.RFC3339Nano) }
	require.Equal(t, all[10:12], sessionsBy(s, "clinic", 50, url.Values{"usedSince": {at(10)}, "usedBefore": {at(12)}}))
	says(s, "v0011", "").Is(200, "")
	require.Equal(t, all[10:11], sessionsBy(s, "clinic", 50, url.Values{"usedSince": {at(10)}, "usedBefore": {at(12)}}))
	require.Equal(t, all[11:12], sessionsBy(s, "clinic", 50, url.Values{"usedSince": {at(5000)}}))

	for _, wrong := range []string{"state=open", "usedSince=today", "metadata=x", "metadata.=x", "metadata[a]=1&metadata.a=2", "meta.a=1", "user=a&user=b", "after=%2F"} {
		s.Call("GET", "/v1/apps/clinic/sessions?"+wrong, "").Problem(400)
	}
	many := url.Values{}
	for i := range 9 {
		many.Set(fmt.Sprint("metadata.m", i), "x")
	}
	s.Call("GET", "/v1/apps/clinic/sessions?"+many.Encode(), "").Problem(400, "8 members")
}

func TestSessionsAreListedByWhetherSomethingWaitsInThem(t *testing.T) {
	s := apitest.Live(t, func(request matcher.Request) (matcher.Result, error) {
		return matcher.Result{Stage: matcher.StageLLM, Rejected: []matcher.Rejected{{Candidate: request.Candidates[0], Missing: []string{"day"}}}}, nil
	})
	s.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	s.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"pay","description":"d","confirm":"always"},{"name":"send","description":"d","settle":"60s"},
		{"name":"done","description":"d"}]}`).Is(201, "")
	for id, tool := range map[string]string{"s1": "pay", "s2": "send", "s3": "done", "s4": "pay"} {
		s.Call("POST", "/v1/apps/clinic/sessions/"+id+"/triggers", `{"name":"`+tool+`","source":"ui","triggerId":"t`+id+`"}`).Is(201, "")
	}
	s.Call("DELETE", "/v1/apps/clinic/repositories/desk", "").Is(204, "")
	s.Call("PUT", "/v1/apps/clinic/repositories/visits", `{"tools":[{"name":"book","description":"d","schema":[{"parameter":"day","type":"string","required":true}]}]}`).Is(201, "")
	says(s, "s5", "").Is(200, "") // it lacks the day
	s.Call("PUT", "/v1/apps/clinic/sessions/s6", `{}`).Is(201, "")
	s.Call("POST", "/v1/apps/clinic/triggers/ts4/deny", "").Is(202, "")
	require.Equal(t, []string{"s1", "s2", "s5"}, sessionsBy(s, "clinic", 2, url.Values{"state": {"waiting"}}))
	idle := sessionsBy(s, "clinic", 2, url.Values{"state": {"idle"}})
	require.Equal(t, []string{"s3", "s4", "s6"}, idle)
	for _, id := range sessionsBy(s, "clinic", 10, nil) {
		open := session(s.Call("GET", "/v1/apps/clinic/sessions/"+id, "").Is(200, "")).Open
		require.Equal(t, slices.Contains(idle, id), len(open) == 0, "%s: %+v", id, open)
	}
}

// statesUnread is an engine that knows the failed triggers, while the shard of the pending ones is away.
type statesUnread struct{ api.Engine }

func (statesUnread) SessionsIn(_ context.Context, _, state string) (map[string]bool, error) {
	if state == query.StatePending {
		return nil, keyspace.ErrUnavailable
	}
	return map[string]bool{"s1": true}, nil
}

func TestSessionsAreNotListedByAStateThatCannotBeRead(t *testing.T) {
	s := atClinic(t, func(o *api.Options) { o.Engine = statesUnread{o.Engine} })
	for _, search := range []string{"state=waiting", "state=waiting&outcome=failed"} {
		s.Call("GET", "/v1/apps/clinic/sessions?"+search, "").Problem(503)
	}
}
