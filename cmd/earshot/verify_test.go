package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/redistest"
	"earshot/repositories/keyspace"
	"earshot/repositories/lists"
	"earshot/repositories/secret"
	"earshot/repositories/store"
	"earshot/trigger/verify"
)

func TestVerifySaysWhatIsWrongAndMendsIt(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book"},{"name":"lamp","settle":"60s"}]}`)
	w.say("s1", "m1", "call book {}")
	held := w.say("s1", "m2", "call lamp {}").Matches[0].TriggerID
	w.rest()
	require.Regexp(t, `(?s)^looked at   \d+ keys: 1 app, 1 session, 2 triggers\nowed        0 messages, 0 calls, 0 events; 1 held back, 0 failed\norphaned    0\nimpossible  0\nsealed      by the newest key: nothing; by the old one: nothing; by none that is here: nothing\n$`, w.ok("verify"))

	k := keyspace.KeysOf("clinic")
	require.NoError(t, w.client().ZRem(t.Context(), k.Lane(keyspace.LaneHeld), held).Err())
	require.NoError(t, w.client().ZAdd(t.Context(), k.Triggers(""), redis.Z{Score: 1, Member: "none"}).Err())
	got := failing(t, w.env, "verify")
	require.Contains(t, got.out, "orphaned    2\nimpossible  0\n")
	require.Regexp(t, `clinic +record\.timer +orphaned +trigger `+held+` +yes +a held trigger`, got.out)
	require.Contains(t, got.out, "--mend mends those that say yes")
	require.Empty(t, got.err)
	report := read[verify.Report](t, w.run("verify", "--json").out)
	require.Len(t, report.Findings, 2)
	require.False(t, report.Findings[0].Mended)

	require.Contains(t, w.ok("verify", "--mend"), "orphaned    0\nimpossible  0\nmended      2\n")
	w.ok("verify")
	w.call(202, "POST", "/v1/apps/clinic/triggers/"+held+"/cancel", "")
	w.rest()

	sink := newSink(t)
	sink.answer(http.StatusServiceUnavailable)
	w.tool(`"url":"` + sink.URL + `"`)
	w.say("s1", "m3", "call book {}")
	got = w.run("verify")
	require.Equal(t, 1, got.code, "a call is owed")
	require.Contains(t, got.out, "owed        0 messages, 1 call, 0 events;")
	w.ok("verify", "--allow-owed")
	sink.answer(http.StatusOK)
	w.rest()

	require.NoError(t, w.client().HSet(t.Context(), k.Trigger(held), "state", "lurking").Err())
	got = w.run("verify", "--mend")
	require.Equal(t, 1, got.code, "that cannot be mended")
	require.Regexp(t, `record\.state +impossible .* no +a trigger in an unknown state \(lurking\)`, got.out)
}

func TestVerifyNeedsARedisThatItCanRead(t *testing.T) {
	t.Parallel()
	got := failing(t, nil, "verify", "--retention", "1ms")
	require.Contains(t, got.err, "REDIS_URL (--redis-url) is not set")
	require.Contains(t, got.err, "--retention (EARSHOT_RETENTION) is 1ms")
	got = failing(t, map[string]string{"REDIS_URL": "redis://user:planted@127.0.0.1:1"}, "verify")
	require.Contains(t, got.err, "connection refused")
	require.NotContains(t, got.err, "planted")

	w := newWorld(t)
	require.Contains(t, w.run("verify").good(t).out, "nothing of Earshot is in this Redis")
	require.Empty(t, w.redis.Keys(), "it leaves no trace")
	require.NoError(t, w.client().Set(t.Context(), "earshot:partitions", "32", 0).Err())
	require.Contains(t, w.run("verify", "--mend").err, "32 partitions, this version uses 64")
	require.NoError(t, w.client().Del(t.Context(), "earshot:partitions").Err())
	require.NoError(t, w.client().HSet(t.Context(), keyspace.Format, "version", "99", "oldest", "99", "program", "v9").Err())
	require.Contains(t, w.run("verify", "--mend").err, "its format is 99, by earshot v9")
}

// TestTheDocumentsSayWhatMendsEachRule checks the operator's table: rules with the same fix share a row.
func TestTheDocumentsSayWhatMendsEachRule(t *testing.T) {
	text := testbed.Read(t, "../../deploy/docs/verify.md")
	listed := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| `") {
			listed += strings.Count(line, "`") / 2
		}
	}
	require.Len(t, verify.Rules(), listed, "rules that there are not")
	for _, rule := range verify.Rules() {
		mend := rule.Mend
		if mend == "" {
			mend = "-"
		}
		require.Regexp(t, "(?m)^\\| .*`"+regexp.QuoteMeta(rule.Name)+"`.* \\| "+regexp.QuoteMeta(mend)+" \\|$", text)
	}
}

// withKeys sets the secret keys of started replicas and commands, made of these letters.
func (w *world) withKeys(current, old string) {
	w.env["EARSHOT_SECRET_KEY"] = secretKeyOf(current)
	delete(w.env, "EARSHOT_SECRET_KEY_OLD")
	if old != "" {
		w.env["EARSHOT_SECRET_KEY_OLD"] = secretKeyOf(old)
	}
}

// sealedTools are two tools with a password, one of which asks first.
func sealedTools(url string) string {
	request := `"url":"` + url + `","request":{"auth":"basic","basic":{"username":"u","password":"planted-secret"}}`
	return `{"tools":[{"name":"book",` + request + `},{"name":"pay","confirm":"always",` + request + `}]}`
}

// keeping is a service with encrypted credentials of every kind under key a: of an app, of repositories of the
// app and a session, of a pending call, and of a held one.
func keeping(t *testing.T) (w *world, sink *endpoint, held string) {
	w, sink = newWorld(t), newSink(t)
	w.withKeys("a", "")
	w.serve()
	w.put("/v1/apps/clinic", withSecret)
	w.put("/v1/apps/plain", `{"name":"holds nothing"}`)
	w.put("/v1/apps/clinic/repositories/desk", sealedTools(sink.URL))
	w.put("/v1/apps/clinic/sessions/s1/repositories/own", strings.ReplaceAll(sealedTools(sink.URL), `"name":"`, `"name":"own_`))
	sink.answer(http.StatusServiceUnavailable)
	require.Equal(t, "pending", w.say("s1", "m1", "call book {}").Matches[0].Call.State)
	return w, sink, w.say("s1", "m2", "call pay {}").Matches[0].TriggerID
}

// shownSealed returns the metrics of encrypted values by key.
func (w *world) shownSealed(r *replica) string {
	var lines []string
	for line := range strings.Lines(w.ask(r, "GET", "/metrics", "").Body) {
		if strings.HasPrefix(line, "earshot_sealed{") && !strings.HasSuffix(line, " 0\n") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func TestResealEndsARotation(t *testing.T) {
	t.Parallel()
	w, sink, held := keeping(t)
	require.Zero(t, w.replicas[0].stop())

	w.withKeys("b", "")
	require.Contains(t, w.run("reseal").err, "no replica has started with it as EARSHOT_SECRET_KEY yet")
	w.withKeys("b", "a")
	both := w.serve()
	w.replicas = []*replica{both}
	both.log.Await(t, `"msg":"secretkey.old".*"note":"EARSHOT_SECRET_KEY_OLD .* has encrypted 1 app, 3 repositories, 2 calls, `)
	w.until("the metric says so", func() bool {
		return w.shownSealed(both) == `earshot_sealed{key="old",what="apps"} 1`+"\n"+`earshot_sealed{key="old",what="calls"} 2`+"\n"+`earshot_sealed{key="old",what="repositories"} 3`+"\n"
	})

	w.withKeys("b", "")
	early := w.serve()
	early.log.Await(t, `"msg":"secretkey.missing","apps":1,"repositories":3,"calls":2,"warning":"no key of this replica decrypts the credentials of 1 app, 3 repositories, 2 calls, .* EARSHOT_SECRET_KEY_OLD`)
	require.Equal(t, http.StatusOK, w.ask(early, "GET", "/readyz", "").Status)
	got := failing(t, w.env, "verify", "--allow-owed")
	require.Contains(t, got.out, "by none that is here: 1 app, 3 repositories, 2 calls\nnote: credentials that no key decrypts cannot be used: give the key")
	require.Contains(t, w.run("reseal", "--dry-run").err, "no key here decrypts the credentials of 1 app, 3 repositories, 2 calls: give the key")
	require.Zero(t, early.stop())
	w.replicas = w.replicas[:1]

	w.withKeys("b", "a")
	require.Contains(t, w.ok("verify", "--allow-owed"), "by the old one: 1 app, 3 repositories, 2 calls; by none that is here: nothing\n")
	before := map[string]string{}
	for _, path := range []string{"/v1/apps/clinic", "/v1/apps/clinic/repositories/desk", "/v1/apps/clinic/sessions/s1/repositories/own"} {
		before[path] = w.call(200, "GET", path, "").Header.Get("Etag")
		require.NotEmpty(t, before[path])
	}
	last, dump := w.lastSequence(), w.redisDump()
	require.Contains(t, failing(t, w.env, "reseal", "--dry-run").out, "by the old one: 1 app, 3 repositories, 2 calls")
	require.Equal(t, strings.Count(dump, oldKeyID), strings.Count(w.redisDump(), oldKeyID), "it writes nothing")
	done := w.ok("reseal")
	require.Equal(t, "sealed anew 6\nsealed      by the newest key: 1 app, 3 repositories, 2 calls; by the old one: nothing; by none that is here: nothing\n", done)
	require.NotContains(t, w.redisDump(), oldKeyID+":", "nothing is sealed with it any more, the mark included")
	for path, revision := range before {
		require.Equal(t, revision, w.call(200, "GET", path, "").Header.Get("Etag"), "nobody sees a change of %s", path)
	}
	require.Equal(t, last, w.lastSequence(), "no event tells of it")
	require.Contains(t, w.ok("reseal"), "sealed anew 0\n")
	require.Zero(t, both.stop())

	w.withKeys("b", "")
	w.replicas = nil
	alone := w.serve()
	w.until("it has looked", func() bool { return strings.Contains(w.shownSealed(alone), `key="current",what="apps"} 1`) })
	require.NotContains(t, alone.log.String(), "secretkey.missing")
	sink.answer(http.StatusOK)
	digest := w.request("GET", "/v1/apps/clinic/triggers/"+held, "")["digest"]
	w.call(202, "POST", "/v1/apps/clinic/triggers/"+held+"/confirm", fmt.Sprintf(`{"digest":%q}`, digest))
	w.rest()
	for _, one := range []string{"call book {}", "call own_book {}"} {
		require.Equal(t, "delivered", w.say("s1", "", one).Matches[0].Call.State)
		require.Equal(t, "planted-secret", sink.lastPassword())
	}
	w.ok("verify")
}

// TestResealIsStoppedAndGoesOn stops it after the first part.
func TestResealIsStoppedAndGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withKeys("a", "")
	first := w.serve()
	const apps = 60
	for n := range apps {
		w.put(fmt.Sprintf("/v1/apps/app%02d", n), withSecret)
	}
	require.Zero(t, first.stop())
	w.withKeys("b", "a")
	w.replicas = nil
	w.serve()
	pipe := w.client().Pipeline()
	for n := range 5000 { // enough for several parts
		pipe.Set(t.Context(), keyspace.KeysOf("app00").Vector(fmt.Sprint(n)), "v", time.Hour)
	}
	testbed.Got(pipe.Exec(t.Context()))(t)

	ctx, stop := context.WithCancel(t.Context())
	var out, faults testbed.Lines
	env := around(w.env, &out, &faults, "")
	at := time.Now()
	env.now = func() time.Time { // called at the start, and after each part
		at = at.Add(2 * progressPause)
		if strings.Contains(out.String(), "looked at ") {
			stop()
		}
		return at
	}
	require.Equal(t, 1, run(ctx, []string{"reseal"}, env))
	require.Contains(t, faults.String(), "it was stopped: run it again to do the rest")
	require.Regexp(t, `looked at \d+ keys, sealed anew \d+\n`, out.String())
	left := strings.Count(w.redisDump(), oldKeyID+":")
	require.NotZero(t, left)
	require.Less(t, left, apps)
	for n := range apps {
		w.call(200, "GET", fmt.Sprintf("/v1/apps/app%02d", n), "")
	}
	require.Contains(t, w.ok("reseal"), fmt.Sprintf("sealed anew %d\nsealed      by the newest key: %d apps;", left, apps))
}

func TestResealNeedsItsSettings(t *testing.T) {
	t.Parallel()
	got := failing(t, nil, "reseal")
	require.Contains(t, got.err, "REDIS_URL (--redis-url) is not set")
	require.Contains(t, got.err, "EARSHOT_SECRET_KEY (--secret-key) is not set")
	got = command(t, map[string]string{"REDIS_URL": "redis://u:planted@127.0.0.1:1", "EARSHOT_SECRET_KEY": secretKeyOf("a")}, "reseal")
	require.Contains(t, got.err, "connection refused")
	require.NotContains(t, got.err, "planted")
}

// TestResealGoesOnBesideThoseWhoWrite writes apps all the time.
func TestResealGoesOnBesideThoseWhoWrite(t *testing.T) {
	t.Parallel()
	w, _, _ := keeping(t)
	require.Zero(t, w.replicas[0].stop())
	w.withKeys("b", "a")
	w.replicas = nil
	w.serve()
	written := 0
	enough := testbed.Background(t, func(ctx context.Context) {
		for ; ctx.Err() == nil; written++ {
			got := w.ask(w.replicas[0], "PATCH", "/v1/apps/clinic", fmt.Sprintf(`{"name":"name %d"}`, written))
			if got.Status != http.StatusOK {
				break
			}
		}
	})
	w.ok("reseal")
	enough()
	require.Positive(t, written)
	require.Equal(t, fmt.Sprintf("name %d", written-1), w.request("GET", "/v1/apps/clinic", "")["name"], "the last that was answered stands")
	require.Contains(t, w.ok("reseal"), "sealed anew 0\n")
	w.withKeys("b", "")
	w.ok("verify", "--allow-owed")
}

// oldKeyID is the prefix of values encrypted with key a.
var oldKeyID = func() string {
	sealer, err := store.NewSealer([]byte(strings.Repeat("a", 32)))
	if err != nil {
		panic(err)
	}
	id, _, _ := strings.Cut(strings.SplitN(sealer.SealSignIn(secret.New("x"), time.Now()), ".", 2)[1], ":")
	return id
}()

// TestAReplicaWithTheOldKeyAloneIsNotReadyOnceResealingBegins has one outdated replica.
func TestAReplicaWithTheOldKeyAloneIsNotReadyOnceResealingBegins(t *testing.T) {
	t.Parallel()
	w, _, _ := keeping(t)
	forgotten := w.replicas[0]
	w.withKeys("b", "a")
	both := w.serve()
	require.Equal(t, http.StatusOK, w.ask(forgotten, "GET", "/readyz", "").Status)
	require.Equal(t, 1, w.run("reseal", "--dry-run").code)
	require.Equal(t, http.StatusOK, w.ask(forgotten, "GET", "/readyz", "").Status)
	w.ok("reseal")
	got := w.ask(forgotten, "GET", "/readyz", "")
	require.Equal(t, http.StatusServiceUnavailable, got.Status)
	require.Contains(t, got.Body, "redis holds credentials that were encrypted with another secret key")
	require.Equal(t, http.StatusOK, w.ask(both, "GET", "/readyz", "").Status)
}

// These tests restore a backup as documented, and check the effects of later events.

// restoreRedis replaces Redis's data by that of a file. A Redis with an append-only file reads only that, so the
// file is loaded once without one.
func (w *world) restoreRedis(file string) {
	w.t.Helper()
	dir := w.client().ConfigGet(w.t.Context(), "dir").Val()["dir"]
	w.redis.Stop()
	require.NoError(w.t, os.RemoveAll(filepath.Join(dir, "appendonlydir")))
	require.NoError(w.t, os.Rename(file, filepath.Join(dir, "redis.rdb")))
	once := redistest.Run(w.t, "--dir", dir, "--appendonly", "no", "--dbfilename", "redis.rdb")
	require.NoError(w.t, once.Client().ConfigSet(w.t.Context(), "appendonly", "yes").Err())
	w.until("it has its append-only file", func() bool {
		said := once.Client().Info(w.t.Context(), "persistence").Val()
		return strings.Contains(said, "aof_rewrite_in_progress:0") && strings.Contains(said, "aof_rewrite_scheduled:0")
	})
	once.Stop()
	w.redis.Start()
}

func (e *endpoint) callsByID() map[string]int {
	times := map[string]int{}
	for _, one := range e.requests() {
		times[one.Header.Get("Webhook-Id")]++
	}
	return times
}

func (w *world) inOrder() {
	w.until("nothing is orphaned or impossible", func() bool { return w.run("verify").code == 0 })
	got := w.ok("verify", "--json")
	require.Contains(w.t, got, `"owed":{"messages":0,"calls":0,"events":0,"held":0,"failed":0`)
	require.Contains(w.t, got, `"findings":[],"orphaned":0,"impossible":0,"mended":0`)
}

// ofTriggers returns the ids of events of a kind, with repeats in the stream.
func (w *world) ofTriggers(filter string) []string {
	return lists.Map(w.events(filter), func(event storedEvent) string { return fmt.Sprint(event.Payload["id"]) })
}

func (w *world) desk() *endpoint {
	sink := newSink(w.t)
	w.put("/v1/apps/clinic/repositories/desk", fmt.Sprintf(`{"tools":[{"name":"book","emitter":"calendar.book","url":%[1]q},{"name":"order","url":%[1]q},
		{"name":"refund","url":%[1]q,"confirm":"always"},{"name":"note"},
		{"name":"need","schema":[{"parameter":"day","type":"string","required":true}]}]}`, sink.URL))
	w.put("/v1/apps/clinic/repositories/gift", fmt.Sprintf(`{"options":{"triggerOnce":true},"tools":[{"name":"gift","url":%q}]}`, sink.URL))
	return sink
}

// TestRedisIsRestoredBesideAStreamThatWentOn combines an older Redis with the current JetStream: later messages
// are forgotten, and repeated under the same ids if their clients ask.
func TestRedisIsRestoredBesideAStreamThatWentOn(t *testing.T) {
	t.Parallel()
	w := serving(t, 2)
	sink := w.desk()
	before := w.say("s1", "before", "call book {}").Matches[0].TriggerID
	sink.answer(http.StatusServiceUnavailable)
	owed := w.say("s1", "owed", "call order {}").Matches[0].TriggerID
	asked := w.say("s1", "asked", "call refund {}").Matches[0].TriggerID
	digest := w.request("GET", "/v1/apps/clinic/triggers/"+asked, "")["digest"]
	backup := filepath.Join(t.TempDir(), "redis.rdb")
	testbed.Done(t, exec.Command("redis-cli", "-u", w.redis.URL(), "--rdb", backup))

	sink.answer(http.StatusOK)
	confirm := func() {
		w.call(202, "POST", "/v1/apps/clinic/triggers/"+asked+"/confirm", fmt.Sprintf(`{"digest":%q}`, digest))
	}
	unfired := func() {
		w.say("s1", "rejected", "call need {}")
		w.say("s1", "unmatched", "nothing")
	}
	confirm()
	unfired()
	since := w.say("s1", "since", "call book {}").Matches[0].TriggerID
	gift := w.say("s1", "given", "call gift {}").Matches[0].TriggerID
	untold := w.say("s2", "untold", "call note {}").Matches[0].TriggerID // its client never repeats it
	w.rest()
	for _, id := range []string{before, asked, since, gift} {
		require.Equal(t, 1, sink.callsByID()[id])
	}
	tried := sink.callsByID()[owed]
	require.GreaterOrEqual(t, tried, 2, "refused, then taken")
	events := len(w.events(">"))

	for _, r := range w.replicas {
		require.Zero(t, r.stop())
	}
	w.replicas = nil
	w.restoreRedis(backup)
	w.serve()
	w.serve()
	w.until("what was owed then is delivered again", func() bool { return sink.callsByID()[owed] == tried+1 })
	require.Equal(t, "404", fmt.Sprint(w.ask(w.replicas[0], "GET", "/v1/apps/clinic/triggers/"+since, "").Status), "what was fired since is not known")
	require.Equal(t, since, w.say("s1", "since", "call book {}").Matches[0].TriggerID, "and has its id again where it is sent again")
	require.Equal(t, gift, w.say("s1", "later", "call gift {}").Matches[0].TriggerID, "whoever asks for what fires once")
	confirm()
	unfired()
	w.rest()
	require.Equal(t, map[string]int{before: 1, owed: tried + 1, asked: 2, since: 2, gift: 2}, sink.callsByID())
	require.Len(t, w.events(">"), events, "the stream has dropped what it had")
	require.Contains(t, w.ofTriggers("tool.trigger.clinic.s2.note"), untold, "a subscriber has it")
	w.call(404, "GET", "/v1/apps/clinic/triggers/"+untold, "")
	w.inOrder()
}

// TestJetStreamIsRestoredBesideARedisThatWentOn is the reverse: unread later events are lost, and nothing fires
// again.
func TestJetStreamIsRestoredBesideARedisThatWentOn(t *testing.T) {
	t.Parallel()
	store := ""
	w := newWorld(t, func(o *server.Options) { store = o.StoreDir })
	w.serve()
	w.put("/v1/apps/clinic", `{"settings":{"limits":null}}`)
	sink := w.desk()
	read := w.say("s1", "before", "call book {}").Matches[0].TriggerID
	w.rest()
	backup := t.TempDir()
	w.nats.Stop()
	require.NoError(t, os.CopyFS(backup, os.DirFS(store)))
	w.nats.Start()
	w.ready(w.replicas[0])

	gone := w.say("s1", "since", "call book {}").Matches[0].TriggerID
	w.rest()
	last := w.lastSequence()
	require.Len(t, w.ofTriggers("tool.trigger.clinic.s1.book"), 2)
	w.nats.Stop()
	pending := w.say("s1", "away", "call book {}").Matches[0].TriggerID
	require.NoError(t, os.RemoveAll(store))
	require.NoError(t, os.CopyFS(store, os.DirFS(backup)))
	w.nats.Start()
	w.rest()
	require.Equal(t, []string{read, pending}, w.ofTriggers("tool.trigger.clinic.s1.book"), "what was published since is gone, what was owed is not")
	require.LessOrEqual(t, w.lastSequence(), last, "the stream numbers its events from the backup on")
	require.Equal(t, map[string]int{read: 1, gone: 1, pending: 1}, sink.callsByID(), "no call is made again")
	require.Contains(t, w.call(200, "GET", "/v1/apps/clinic/triggers/"+gone, "").Body, `"state":"delivered"`, "its record has all of it")
	w.inOrder()
	const events = "/v1/apps/clinic/sessions/s1/events"
	w.hears(events, pending, "1")
	next := w.say("s1", "next", "call book {}").Matches[0].TriggerID
	w.hears(events, next, fmt.Sprint(last))
}

func (w *world) lastSequence() uint64 {
	all := w.events(">")
	return all[len(all)-1].Sequence
}
