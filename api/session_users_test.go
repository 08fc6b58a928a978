package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/apitest"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/keyspace"
)

const otherUser = "session_of_another_user"

// says posts a message to a session of the clinic.
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
