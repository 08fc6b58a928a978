package main

import (
	"bufio"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/emitter"
	"earshot/matcher/llm/llmtest"
)

// The files of deploy/package that give Earshot a user of Redis and one of NATS.
const (
	redisACL   = "../../deploy/package/redis-acl.conf"
	natsRights = "../../deploy/package/nats-permissions.conf"
)

// changed is a copy of a file with texts in the place of others, each of which must be there.
func changed(t *testing.T, path string, pairs ...string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for i := 0; i < len(pairs); i += 2 {
		require.Contains(t, string(text), pairs[i])
		text = []byte(strings.ReplaceAll(string(text), pairs[i], pairs[i+1]))
	}
	copied := filepath.Join(t.TempDir(), filepath.Base(path))
	require.NoError(t, os.WriteFile(copied, text, 0o600))
	return copied
}

// withUsersOf has NATS take the users of a file, and one of the test's own, who may do everything.
func withUsersOf(t *testing.T, file string) func(*server.Options) {
	t.Helper()
	given, err := server.ProcessConfigFile(file)
	require.NoError(t, err)
	require.Len(t, given.Users, 1)
	return func(o *server.Options) {
		o.Username, o.Password = "operator", "o"
		o.Users = append(given.Users, &server.User{Username: "operator", Password: "o"})
	}
}

// permitted is a world whose service has the users of the files, and no other rights.
func permitted(t *testing.T, acl, rights string) *world {
	t.Helper()
	w := newWorld(t, withUsersOf(t, rights))
	w.redis = redistest.Run(t, "--include", acl)
	w.env["REDIS_URL"] = strings.Replace(w.redis.URL(), "redis://", "redis://earshot:p@", 1)
	w.env["NATS_URL"] = strings.Replace(w.nats.URL(), "nats://", "nats://earshot:p@", 1)
	w.env["EARSHOT_NATS_INGRESS"], w.env["EARSHOT_SERMAS"] = "on", "on"
	return w
}

// denials are what Redis has denied to anybody.
func (w *world) denials() (list []string) {
	w.t.Helper()
	entries, err := w.client().ACLLog(w.t.Context(), 100).Result()
	require.NoError(w.t, err)
	for _, one := range entries {
		list = append(list, one.Reason+" "+one.Object)
	}
	return list
}

// subjects listens to all that is published from now on, by others than the test: of what it
// publishes itself none is asked for.
func (w *world) subjects() (seen func() []string) {
	w.t.Helper()
	var mu sync.Mutex
	all := map[string]bool{}
	_, err := w.nats.Connect().Subscribe(">", func(m *nats.Msg) {
		mu.Lock()
		defer mu.Unlock()
		all[m.Subject] = true
	})
	require.NoError(w.t, err)
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Collect(maps.Keys(all))
	}
}

// everyDoor goes through all that a service does.
func (w *world) everyDoor(r *replica) {
	w.t.Helper()
	sink := newSink(w.t)
	w.put("/v1/apps/clinic", `{"settings":{"limits":null,"chatModeEnabled":true,"chatEvents":true}}`)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","url":"`+sink.URL+`","request":{"auth":"basic","basic":{"username":"u","password":"planted-secret"}}},
		{"name":"tell","emitter":"crm.request"},{"name":"pay","confirm":"always"},{"name":"lamp","settle":"60s"},{"name":"once","dedupe":{"within":"10m"}},
		{"name":"ask","answer":{"within":"1h"}},{"name":"need","schema":[{"parameter":"day","type":"string","required":true}]}]}`)
	w.put("/v1/apps/clinic/sessions/s1", `{"metadata":{"who":"ann"}}`)
	w.put("/v1/apps/clinic/sessions/s1/repositories/own", `{"options":{"triggerOnce":true},"tools":[{"name":"own"}]}`)
	w.follows(r) // events as a stream, and over MQTT; a key
	w.say("s1", "m1", "call book {}; tell {}; own {}")
	w.say("s1", "m2", "call need {}")
	w.llm.Queue(llmtest.Status(500, nil, "{}"))
	w.call(502, "POST", messagesPath("s3"), messageBody("m1", "hello"))
	w.call(200, "POST", messagesPath("s1"), `{"actor":"user","messageId":"m3","text":"call book {}","final":false}`)
	w.call(200, "POST", messagesPath("s1")+"/m3/commit", "")
	paid := w.say("s1", "m4", "call pay {}").Matches[0].TriggerID
	digest := w.request("GET", "/v1/apps/clinic/triggers/"+paid, "")["digest"]
	w.call(202, "POST", "/v1/apps/clinic/triggers/"+paid+"/confirm", fmt.Sprintf(`{"digest":%q}`, digest))
	w.call(202, "POST", "/v1/apps/clinic/triggers/"+w.say("s1", "m5", "call lamp {}").Matches[0].TriggerID+"/cancel", "")
	w.say("s1", "m6", "call once {}")
	w.say("s1", "m7", "call once {}")
	asked := w.fire("s1", "ask", "{}").TriggerID
	conn := w.nats.Connect()
	w.until("an answer is kept", func() bool { // the stream is made beside all else
		_, err := conn.Request("answer.clinic."+asked, []byte(`{"ok":true,"result":1}`), time.Second)
		return err == nil
	})
	w.call(201, "POST", "/v1/apps/clinic/sessions/s1/token", `{}`)
	w.call(200, "GET", "/v1/apps/clinic/tools/usage", "")
	w.call(200, "GET", messagesPath("s1")+"/m1/explain", "")
	w.call(200, "POST", "/v1/apps/clinic/sessions/s1/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"book","arguments":{}}}`)
	w.call(200, "POST", "/v1/apps/clinic/sessions/s1/openai/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"call book {}"}]}`)
	w.until("requests over NATS are taken", func() bool {
		_, err := conn.Request("$SRV.PING.earshot", nil, time.Second)
		return err == nil
	})
	require.Empty(w.t, over(w.t, conn, "earshot.v1.message.clinic.s2", messageBody("n1", "call book {}")).Header.Get("Nats-Service-Error-Code"))
	sink.answer(http.StatusNotFound)
	failed := w.say("s1", "m8", "call book {}").Matches[0].TriggerID
	sink.answer(http.StatusOK)
	w.call(202, "POST", "/v1/apps/clinic/triggers/"+failed+"/retry", "")
	w.rest()
	for _, list := range []string{"apps", "apps/clinic/sessions", "apps/clinic/triggers?state=failed", "apps/clinic/tools", "apps/clinic/keys", "apps/clinic/sessions/s1/messages"} {
		w.call(200, "GET", "/v1/"+list, "")
	}
	w.resumes(r, "/v1/apps/clinic/events")
	w.call(200, "GET", "/v1/apps/clinic/sessions/s1/export", "")
	w.ok("verify")
	w.ok("reseal")
	w.call(204, "DELETE", "/v1/apps/clinic/sessions/s1?erase=true", "")
	w.call(204, "DELETE", "/v1/apps/clinic/repositories/desk", "")
	w.call(204, "DELETE", "/v1/apps/clinic", "")
	w.rest()
}

// resumes reads the first of the events that a stream has missed.
func (w *world) resumes(r *replica, path string) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, r.url+path, nil)
	require.NoError(w.t, err)
	request.Header.Set("Authorization", "Bearer "+testAdminKey)
	request.Header.Set("Last-Event-ID", "1")
	stream, err := http.DefaultClient.Do(request)
	require.NoError(w.t, err)
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data:") {
			return
		}
	}
	w.t.Fatalf("no event came by %s: %v", path, lines.Err())
}

// TestTheUsersOfThePackageMayDoAllThatIsNeeded runs the service with exactly what the files allow.
func TestTheUsersOfThePackageMayDoAllThatIsNeeded(t *testing.T) {
	t.Parallel()
	w := permitted(t, changed(t, redisACL, ">PASSWORD", ">p"), changed(t, natsRights, "$NATS_PASSWORD", "p"))
	seen := w.subjects()
	first := w.serve()
	for _, stream := range []string{emitter.Stream, emitter.StreamIn} {
		w.until("it has made the stream", func() bool { return w.nats.StreamConfig(stream).Name != "" }) // beside all else
	}
	require.Zero(t, first.stop())
	for _, stream := range []string{emitter.Stream, emitter.StreamIn} {
		byHand := w.nats.StreamConfig(stream)
		byHand.MaxMsgsPerSubject = 5
		w.nats.UpdateStream(byHand)
	}
	w.replicas = nil
	r := w.serve("--strict-redis")
	w.everyDoor(r)
	for _, stream := range []string{emitter.Stream, emitter.StreamIn} {
		w.until("it is as it should be", func() bool { return w.nats.StreamConfig(stream).MaxMsgsPerSubject == -1 })
	}
	require.Empty(t, w.denials())
	require.NotContains(t, r.log.String(), "Permissions Violation")
	require.NotContains(t, r.log.String(), "denie")
	require.NotContains(t, r.log.String(), "unchecked")
	require.Zero(t, r.stop())
	require.Equal(t, []string{"$JS.API.INFO", emitter.AskUser}, slices.DeleteFunc(emitter.Needed(true).Publish, func(one string) bool {
		return slices.ContainsFunc(seen(), func(subject string) bool { return server.SubjectMatchesFilter(subject, one) })
	}), "nothing else is allowed that is not used; earshot doctor uses these")
}

// TestTheFileOfPermissionsHasWhatIsNeeded compares it with what earshot doctor looks for.
func TestTheFileOfPermissionsHasWhatIsNeeded(t *testing.T) {
	t.Parallel()
	given, err := server.ProcessConfigFile(changed(t, natsRights, "$NATS_PASSWORD", "p"))
	require.NoError(t, err)
	rights := given.Users[0].Permissions
	require.Empty(t, slices.Concat(rights.Publish.Deny, rights.Subscribe.Deny))
	require.Equal(t, emitter.Needed(true), emitter.Permissions{Publish: rights.Publish.Allow, Subscribe: rights.Subscribe.Allow})
}
