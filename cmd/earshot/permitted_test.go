package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/apitest"
	"earshot/deploy/testbed/certtest"
	"earshot/deploy/testbed/natstest"
	"earshot/deploy/testbed/redistest"
	"earshot/emitter"
	"earshot/matcher/llm/llmtest"
)

// The files of deploy/package with Earshot's users for Redis and NATS.
const (
	redisACL   = "../../deploy/package/redis-acl.conf"
	natsRights = "../../deploy/package/nats-permissions.conf"
)

// changed is a copy of a file with replaced texts, which must exist.
func changed(t *testing.T, path string, pairs ...string) string {
	text := testbed.Got(os.ReadFile(path))(t)
	for i := 0; i < len(pairs); i += 2 {
		require.Contains(t, string(text), pairs[i])
		text = []byte(strings.ReplaceAll(string(text), pairs[i], pairs[i+1]))
	}
	copied := filepath.Join(t.TempDir(), filepath.Base(path))
	require.NoError(t, os.WriteFile(copied, text, 0o600))
	return copied
}

// withUsersOf lets NATS use the users of a file, and an unrestricted one for the test.
func withUsersOf(t *testing.T, file string) func(*server.Options) {
	given := testbed.Got(server.ProcessConfigFile(file))(t)
	require.Len(t, given.Users, 1)
	return func(o *server.Options) {
		o.Username, o.Password = "operator", "o"
		o.Users = append(given.Users, &server.User{Username: "operator", Password: "o"})
	}
}

// permitted is a world whose service only has the rights of the files.
func permitted(t *testing.T, acl, rights string) *world {
	t.Helper()
	w := newWorld(t, withUsersOf(t, rights))
	w.redis = redistest.Run(t, "--include", acl)
	w.env["REDIS_URL"] = strings.Replace(w.redis.URL(), "redis://", "redis://earshot:p@", 1)
	w.env["NATS_URL"] = strings.Replace(w.nats.URL(), "nats://", "nats://earshot:p@", 1)
	w.env["EARSHOT_NATS_INGRESS"], w.env["EARSHOT_SERMAS"] = "on", "on"
	return w
}

func (w *world) denials() (list []string) {
	entries := testbed.Got(w.client().ACLLog(w.t.Context(), 100).Result())(w.t)
	for _, one := range entries {
		list = append(list, one.Reason+" "+one.Object)
	}
	return list
}

// subjects records what others than the test publish on the patterns.
func (w *world) subjects(patterns []string) (seen func() []string) {
	var mu sync.Mutex
	all, conn := map[string]bool{}, w.nats.Connect()
	for _, pattern := range patterns {
		_, err := conn.Subscribe(pattern, func(m *nats.Msg) {
			mu.Lock()
			defer mu.Unlock()
			all[m.Subject] = true
		})
		require.NoError(w.t, err)
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Collect(maps.Keys(all))
	}
}

// everyDoor uses every feature of a service.
func (w *world) everyDoor(r *replica) {
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
	w.until("an answer is kept", func() bool { // the stream is created asynchronously
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
	w.hears("/v1/apps/clinic/events", "data:", "1")
	w.call(200, "GET", "/v1/apps/clinic/sessions/s1/export", "")
	w.ok("verify")
	w.ok("reseal")
	w.call(204, "DELETE", "/v1/apps/clinic/sessions/s1?erase=true", "")
	w.call(204, "DELETE", "/v1/apps/clinic/repositories/desk", "")
	w.call(204, "DELETE", "/v1/apps/clinic", "")
	w.rest()
}

// TestTheUsersOfThePackageMayDoAllThatIsNeeded runs the service with exactly the rights of the files.
func TestTheUsersOfThePackageMayDoAllThatIsNeeded(t *testing.T) {
	t.Parallel()
	w := permitted(t, changed(t, redisACL, ">PASSWORD", ">p"), changed(t, natsRights, "$NATS_PASSWORD", "p"))
	// Arriving replies show that publishing them is allowed. If the test subscribed to inboxes, the server
	// would deliver replies for a stopped replica.
	allowed := slices.DeleteFunc(emitter.Needed(true).Publish, func(pattern string) bool { return pattern == "_INBOX.>" })
	seen := w.subjects(allowed)
	first := w.serve()
	for _, stream := range []string{emitter.Stream, emitter.AnswerStream} {
		w.until("it has made the stream", func() bool { return w.nats.StreamConfig(stream).Name != "" }) // asynchronously
	}
	require.Zero(t, first.stop())
	for _, stream := range []string{emitter.Stream, emitter.AnswerStream} {
		byHand := w.nats.StreamConfig(stream)
		byHand.MaxMsgsPerSubject = 5
		w.nats.UpdateStream(byHand)
	}
	w.replicas = nil
	r := w.serve("--strict-redis")
	w.everyDoor(r)
	for _, stream := range []string{emitter.Stream, emitter.AnswerStream} {
		w.until("it is as it should be", func() bool { return w.nats.StreamConfig(stream).MaxMsgsPerSubject == -1 })
	}
	require.Empty(t, w.denials())
	require.NotContains(t, r.log.String(), "Permissions Violation")
	require.NotContains(t, r.log.String(), "denie")
	require.NotContains(t, r.log.String(), "unchecked")
	require.Zero(t, r.stop())
	require.Equal(t, []string{"$JS.API.INFO", emitter.AskUser}, slices.DeleteFunc(allowed, func(one string) bool {
		return slices.ContainsFunc(seen(), func(subject string) bool { return server.SubjectMatchesFilter(subject, one) })
	}), "nothing else is allowed that is not used; earshot doctor uses these")
}

// TestTheFileOfPermissionsHasWhatIsNeeded compares it with doctor's checks.
func TestTheFileOfPermissionsHasWhatIsNeeded(t *testing.T) {
	t.Parallel()
	given := testbed.Got(server.ProcessConfigFile(changed(t, natsRights, "$NATS_PASSWORD", "p")))(t)
	rights := given.Users[0].Permissions
	require.Empty(t, slices.Concat(rights.Publish.Deny, rights.Subscribe.Deny))
	require.Equal(t, emitter.Needed(true), emitter.Permissions{Publish: rights.Publish.Allow, Subscribe: rights.Subscribe.Allow})
}

// TestServersThatAskForCertificatesAndCredentialsAreServedWith uses NATS in operator mode and Redis, both of
// which require client certificates of their own authority.
func TestServersThatAskForCertificatesAndCredentialsAreServedWith(t *testing.T) {
	t.Parallel()
	authority, operator, folder := certtest.New(t, time.Now()), natstest.NewOperator(t), t.TempDir()
	w := &world{t: t, llm: llmtest.New(t)}
	w.llm.Handle(obey)
	w.nats = natstest.Run(t, operator.Configure, func(o *server.Options) {
		o.TLS, o.TLSVerify, o.TLSTimeout = true, true, patience.Seconds()
		o.TLSConfig = &tls.Config{
			MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{authority.Issue("nats")},
			ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority.Pool(),
		}
	})
	address := testbed.Address(t)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	of := authority.Write(t.TempDir(), authority.Issue("redis"))
	w.redis = redistest.Run(t, "--tls-port", port, "--tls-auth-clients", "yes", "--tls-ca-cert-file", of.CA, "--tls-cert-file", of.Cert, "--tls-key-file", of.Key)

	ours := authority.Write(folder, authority.Issue("earshot"))
	creds := filepath.Join(folder, "earshot.creds")
	operator.User(creds)
	w.env = map[string]string{
		"EARSHOT_ADDR": "127.0.0.1:0", "OPENAI_API_KEY": "llm-key-of-the-tests", "OPENAI_BASE_URL": w.llm.URL(),
		"EARSHOT_ADMIN_KEY": testAdminKey, "EARSHOT_SECRET_KEY": secretKeyOf("k"),
		"REDIS_URL": "rediss://" + address, "REDIS_CA_FILE": ours.CA, "REDIS_CERT_FILE": ours.Cert, "REDIS_KEY_FILE": ours.Key,
		"NATS_URL": w.nats.URL(), "NATS_CREDS_FILE": creds, "NATS_CA_FILE": ours.CA, "NATS_CERT_FILE": ours.Cert, "NATS_KEY_FILE": ours.Key,
	}
	r := w.serve("--nats-ingress", "on")
	w.put("/v1/apps/clinic", `{"name":"Clinic"}`)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book"}]}`)
	w.say("s1", "m1", "call book {}")
	require.Contains(t, w.ok("listen", "tool.trigger.>", "--since", "1h", "--count", "1"), "clinic/s1")
	w.until("the ledger is at rest", func() bool { return w.run("verify").code == 0 })
	r.log.Await(t, `"msg":"(ingress\.listening)"`)
	text := testbed.Read(t, creds)
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "-") && len(line) > 40 { // the token and the seed
			require.NotContains(t, r.log.String(), strings.TrimSpace(line))
		}
	}
}

func TestFilesThatCannotBeUsedAreToldAtTheStart(t *testing.T) {
	env := maps.Clone(complete)
	for name, file := range map[string]string{
		"REDIS_CA_FILE": "/no/redis-ca.pem", "NATS_CA_FILE": "/no/ca.pem", "NATS_CREDS_FILE": "/no/creds", "NATS_KEY_FILE": "/no/key.pem",
	} {
		env[name] = file
	}
	for command, settings := range map[string]string{
		"serve":         "REDIS_CA_FILE REDIS_URL NATS_CA_FILE NATS_CREDS_FILE NATS_CERT_FILE",
		"dev --no-keys": "REDIS_CA_FILE REDIS_URL NATS_CA_FILE NATS_CREDS_FILE NATS_CERT_FILE",
		"verify":        "REDIS_CA_FILE REDIS_URL",
		"listen":        "NATS_CA_FILE NATS_CREDS_FILE NATS_CERT_FILE",
	} {
		got := typing(t, env, "", strings.Fields(command)...)
		require.Equal(t, 1, got.code, command)
		for setting := range strings.FieldsSeq(settings) {
			require.Contains(t, got.err, setting+" (--", command)
		}
	}
}

func over(t *testing.T, conn *nats.Conn, subject, body string) *nats.Msg {
	return testbed.Got(conn.Request(subject, []byte(body), patience))(t)
}

// fits validates a reply over NATS against /asyncapi.json, and returns its operation.
func fits(t *testing.T, api apitest.Description, subject string, reply *nats.Msg) (operation string) {
	operation = api.Channel(t, subject)
	message := operation + "Reply"
	if reply.Header.Get("Nats-Service-Error-Code") != "" {
		message = "problem"
	}
	payload := "/components/messages/" + message + "/payload"
	if api.At(payload) == nil {
		require.Empty(t, reply.Data, subject)
		return operation
	}
	says, err := jsonschema.UnmarshalJSON(bytes.NewReader(reply.Data))
	require.NoError(t, err, "%s: %s", subject, reply.Data)
	require.NoError(t, api.Compile(t, payload).Validate(says), "%s: %s", subject, reply.Data)
	return operation
}

// TestAServiceNeedsNoURL does everything that an app's back-end does, over NATS only, with the app's key.
func TestAServiceNeedsNoURL(t *testing.T) {
	t.Parallel()
	w := serving(t, 2, "--nats-ingress", "keys")
	for _, r := range w.replicas {
		r.log.Await(t, `ingress\.(listening)`)
	}
	key := read[struct{ Key string }](t, w.call(201, "POST", "/v1/apps/clinic/keys", `{"scopes":["tools","messages","triggers"]}`).Body).Key
	conn := w.nats.Connect()
	api, asked := apitest.NewDescription(t, w.request("GET", "/asyncapi.json", "")), map[string]bool{}
	ask := func(subject, body string, headers ...string) (map[string]any, nats.Header) {
		m := nats.NewMsg("earshot.v1." + subject)
		m.Data = []byte(body)
		m.Header.Set("Authorization", "Bearer "+key)
		for i := 0; i < len(headers); i += 2 {
			m.Header.Set(headers[i], headers[i+1])
		}
		reply := testbed.Got(conn.RequestMsg(m, patience))(t)
		asked[fits(t, api, m.Subject, reply)] = true
		says := map[string]any{}
		if len(reply.Data) > 0 {
			require.NoError(t, json.Unmarshal(reply.Data, &says), "%s: %s", subject, reply.Data)
		}
		return says, reply.Header
	}
	done := func(subject, body string, headers ...string) map[string]any {
		says, header := ask(subject, body, headers...)
		require.Empty(t, header.Get("Nats-Service-Error-Code"), "%s: %v", subject, says)
		return says
	}
	refused := func(code, subject, body string, headers ...string) {
		says, header := ask(subject, body, headers...)
		require.Equal(t, code, header.Get("Earshot-Error-Code"), "%s: %v", subject, says)
		require.Equal(t, code, says["code"])
	}

	tools := `{"tools":[{"name":"book"},{"name":"pay","confirm":"always"},{"name":"lamp","settle":"60s"},{"name":"ask","answer":{"within":"1h"}}]}`
	_, header := ask("repository.clinic.desk", tools)
	require.NotEmpty(t, header.Get("ETag"))
	refused("precondition_failed", "repository.clinic.desk", tools, "If-Match", `"other"`)
	done("repository.clinic.desk", tools, "If-Match", header.Get("ETag"))
	done("repository.clinic.s1.own", `{"tools":[{"name":"own"}]}`)
	require.Len(t, done("tools.clinic.s1", "")["items"], 5)
	done("session.clinic.s1", `{"metadata":{"who":"ann"}}`)
	done("delete-repository.clinic.s1.own", "")
	refused("unknown_repository", "get-repository.clinic.s1.own", "")

	done("message.clinic.s1", `{"messageId":"m1","actor":"user","text":"call book {}","final":false}`)
	require.Len(t, done("commit.clinic.s1.m1", "")["matches"], 1)
	done("message.clinic.s1", `{"messageId":"m2","actor":"user","text":"call book {}","final":false}`)
	done("withdraw.clinic.s1.m2", "")
	require.Len(t, done("messages.clinic.s1", "")["items"], 1)
	require.Equal(t, true, done("message.clinic.s1", messageBody("m9", "call book {}"), "Earshot-Query", "dryRun=true")["matches"].([]any)[0].(map[string]any)["state"] == "dry")
	refused("invalid_query", "messages.clinic.s1", "", "Earshot-Query", "colour=red")

	done("trigger.clinic.s1", `{"triggerId":"p1","name":"pay","source":"ui"}`)
	open := done("get-session.clinic.s1", "")["open"].([]any)[0].(map[string]any)
	require.Equal(t, "p1", open["triggerId"])
	refused("digest_differs", "confirm.clinic.p1", `{"digest":"other"}`)
	done("confirm.clinic.p1", fmt.Sprintf(`{"digest":%q}`, open["digest"]))
	done("trigger.clinic.s1", `{"triggerId":"p2","name":"pay","source":"ui"}`)
	done("deny.clinic.p2", "")
	refused("trigger_ended", "cancel.clinic.p2", "")
	done("trigger.clinic", `{"triggerId":"l1","name":"lamp","source":"ui"}`)
	done("cancel.clinic.l1", "")
	unheard := nats.NewMsg("earshot.v1.trigger.clinic.s1") // a reply would wait for the answer
	unheard.Data, unheard.Header = []byte(`{"triggerId":"a1","name":"ask","source":"ui"}`), nats.Header{"Authorization": {"Bearer " + key}}
	require.NoError(t, conn.PublishMsg(unheard))
	w.until("an answer is kept", func() bool {
		_, header := ask("answer.clinic.a1", `{"ok":true,"result":7}`)
		return header.Get("Earshot-Error-Code") == ""
	})
	w.until("all have ended", func() bool {
		states := map[string]any{}
		for _, one := range done("triggers.clinic", "")["items"].([]any) {
			of := one.(map[string]any)
			states[of["triggerId"].(string)] = of["state"]
		}
		return states["p1"] == "delivered" && states["p2"] == "cancelled" && states["l1"] == "cancelled" && states["a1"] == "delivered"
	})
	require.Equal(t, "delivered", done("get-trigger.clinic.a1", "")["state"])
	extra := done("create-repository.clinic", `{"tools":[{"name":"extra"}]}`)["repositoryId"].(string)
	done("patch-repository.clinic."+extra, `{"options":{"template":true}}`)
	done("delete-tool.clinic."+extra+".extra", "")
	done("search-tools.clinic.s1", `{"text":"book"}`)
	done("explain.clinic.s1.m1", "")
	done("get-message.clinic.s1.m1", "")
	done("token.clinic.s1", "")
	for _, listed := range []string{"repositories.clinic", "repositories.clinic.s1", "tools.clinic", "triggers.clinic.s1", "sessions.clinic"} {
		done(listed, "")
	}
	done("close-session.clinic.s1", "", "Earshot-Query", "erase=true")
	refused("unknown_session", "get-session.clinic.s1", "")

	require.GreaterOrEqual(t, len(asked), 30, "%v", asked)
	key = "earshot_wrong"
	refused("key_invalid", "messages.clinic.s1", "")
}

func TestNobodyIsHeardOverNATSUnlessThatIsOn(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	conn := w.nats.Connect()
	for _, subject := range []string{"earshot.v1.message.clinic.s1", "earshot.v1.trigger.clinic", "$SRV.PING.earshot"} {
		_, err := conn.Request(subject, []byte(messageBody("m1", "hello")), patience)
		require.ErrorIs(t, err, nats.ErrNoResponders, subject)
	}
	refused := command(t, w.env, "serve", "--nats-ingress", "maybe")
	require.NotZero(t, refused.code)
	require.Contains(t, refused.err, "it must be on, keys or off")
	refused = command(t, w.env, "serve", "--nats-replies", "_INBOX,tool.>")
	require.NotZero(t, refused.code)
	require.Contains(t, refused.err, `--nats-replies (EARSHOT_NATS_REPLIES): "tool" is a subject of the service`)
}

func TestDevTakesRequestsOverNATS(t *testing.T) {
	t.Parallel()
	port := strconv.Itoa(testbed.Ports(t, 1)[0])
	w := atDev(t, map[string]string{"EARSHOT_NATS_INGRESS": "on"}, "--nats-port", port)
	require.Equal(t, "nats://127.0.0.1:"+port, w.env["NATS_URL"])
	w.replicas[0].log.Await(t, `(requests over NATS)`)
	w.put("/v1/apps/clinic", `{}`)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"opening-hours","description":"Tell when the clinic is open","examples":["When are you open?"]}]}`)
	conn := testbed.Got(nats.Connect(w.env["NATS_URL"]))(t)
	defer conn.Close()
	w.until("it listens", func() bool {
		_, err := conn.Request("$SRV.PING.earshot", nil, time.Second)
		return err == nil
	})
	answer := read[posted](t, string(over(t, conn, "earshot.v1.message.clinic.s1", messageBody("m1", "when are you open")).Data))
	require.Equal(t, "opening-hours", answer.Matches[0].Name)
}
