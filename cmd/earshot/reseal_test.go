package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/repositories/keyspace"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

// withKeys gives the replicas that are started, and commands, the keys of these letters.
func (w *world) withKeys(current, old string) {
	w.env["EARSHOT_SECRET_KEY"] = secretKeyOf(current)
	delete(w.env, "EARSHOT_SECRET_KEY_OLD")
	if old != "" {
		w.env["EARSHOT_SECRET_KEY_OLD"] = secretKeyOf(old)
	}
}

// sealedTools are two tools with a password, of which one asks first.
func sealedTools(url string) string {
	request := `"url":"` + url + `","request":{"auth":"basic","basic":{"username":"u","password":"planted-secret"}}`
	return `{"tools":[{"name":"book",` + request + `},{"name":"pay","confirm":"always",` + request + `}]}`
}

// keeping is a service with credentials of every kind that is sealed, under the key a: of an app,
// of repositories of the app and of a session, of a call that is owed, and of one that is held.
func keeping(t *testing.T) (w *world, sink *endpoint, held string) {
	t.Helper()
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

// shownSealed are the metrics of what keys seal.
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
	require.Contains(t, w.run("reseal").err, "no replica was started with it as EARSHOT_SECRET_KEY yet")
	w.withKeys("b", "a")
	both := w.serve()
	w.replicas = []*replica{both}
	both.log.Await(t, `"msg":"secretkey.old".*"note":"1 app, 2 repositories, 2 calls are sealed with EARSHOT_SECRET_KEY_OLD`)
	w.until("the metric says so", func() bool {
		return w.shownSealed(both) == `earshot_sealed{key="old",what="apps"} 1`+"\n"+`earshot_sealed{key="old",what="calls"} 2`+"\n"+`earshot_sealed{key="old",what="repositories"} 2`+"\n"
	})

	w.withKeys("b", "")
	early := w.serve()
	early.log.Await(t, `"msg":"secretkey.missing","apps":1,"repositories":2,"calls":2,"warning":"1 app, 2 repositories, 2 calls hold credentials .* EARSHOT_SECRET_KEY_OLD`)
	require.Equal(t, http.StatusOK, w.ask(early, "GET", "/readyz", "").Status)
	got := w.run("verify", "--allow-owed")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.out, "by none that is here: 1 app, 2 repositories, 2 calls\nnote: what no key opens cannot be used: give the key")
	require.Contains(t, w.run("reseal", "--dry-run").err, "hold credentials that no key here opens: give the key")
	require.Zero(t, early.stop())
	w.replicas = w.replicas[:1]

	w.withKeys("b", "a")
	require.Contains(t, w.ok("verify", "--allow-owed"), "by the old one: 1 app, 2 repositories, 2 calls; by none that is here: nothing\n")
	before := map[string]string{}
	for _, path := range []string{"/v1/apps/clinic", "/v1/apps/clinic/repositories/desk", "/v1/apps/clinic/sessions/s1/repositories/own"} {
		before[path] = w.call(200, "GET", path, "").Header.Get("Etag")
		require.NotEmpty(t, before[path])
	}
	last, dump := w.lastSequence(), w.redisDump()
	got = w.run("reseal", "--dry-run")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.out, "by the old one: 1 app, 2 repositories, 2 calls")
	require.Equal(t, strings.Count(dump, oldKeyID), strings.Count(w.redisDump(), oldKeyID), "it writes nothing")
	done := w.ok("reseal")
	require.Equal(t, "sealed anew 5\nsealed      by the newest key: 1 app, 2 repositories, 2 calls; by the old one: nothing; by none that is here: nothing\n", done)
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

// TestResealIsStoppedAndGoesOn stops it after the first part of the way.
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
	for n := range 5000 { // a way of several parts
		pipe.Set(t.Context(), keyspace.KeysOf("app00").Vector(fmt.Sprint(n)), "v", time.Hour)
	}
	_, err := pipe.Exec(t.Context())
	require.NoError(t, err)

	ctx, stop := context.WithCancel(t.Context())
	var out, faults testbed.Lines
	env := around(w.env, &out, &faults, "")
	at := time.Now()
	env.now = func() time.Time { // asked at the start, and after each part of the way
		at = at.Add(2 * progressPause)
		if strings.Contains(out.String(), "looked at ") {
			stop()
		}
		return at
	}
	require.Equal(t, 1, run(ctx, []string{"reseal"}, env))
	require.Contains(t, faults.String(), "it was stopped: what is sealed anew stays so, and another run does the rest")
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
	got := command(t, nil, "reseal")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.err, "REDIS_URL (--redis-url) is not set")
	require.Contains(t, got.err, "EARSHOT_SECRET_KEY (--secret-key) is not set")
	got = command(t, map[string]string{"REDIS_URL": "redis://u:planted@127.0.0.1:1", "EARSHOT_SECRET_KEY": secretKeyOf("a")}, "reseal")
	require.Contains(t, got.err, "connection refused")
	require.NotContains(t, got.err, "planted")
}

// TestResealGoesOnBesideThoseWhoWrite has apps written all the while.
func TestResealGoesOnBesideThoseWhoWrite(t *testing.T) {
	t.Parallel()
	w, _, _ := keeping(t)
	require.Zero(t, w.replicas[0].stop())
	w.withKeys("b", "a")
	w.replicas = nil
	w.serve()
	writing, enough := context.WithCancel(t.Context())
	written := make(chan int)
	go func() {
		n := 0
		for ; writing.Err() == nil; n++ {
			got := w.ask(w.replicas[0], "PATCH", "/v1/apps/clinic", fmt.Sprintf(`{"name":"name %d"}`, n))
			if got.Status != http.StatusOK {
				break
			}
		}
		written <- n
	}()
	w.ok("reseal")
	enough()
	last := <-written
	require.Positive(t, last)
	require.Equal(t, fmt.Sprintf("name %d", last-1), w.request("GET", "/v1/apps/clinic", "")["name"], "the last that was answered stands")
	require.Contains(t, w.ok("reseal"), "sealed anew 0\n")
	w.withKeys("b", "")
	w.ok("verify", "--allow-owed")
}

// oldKeyID is what begins all that the key of letters a has sealed.
var oldKeyID = func() string {
	sealer, err := store.NewSealer([]byte(strings.Repeat("a", 32)))
	if err != nil {
		panic(err)
	}
	id, _, _ := strings.Cut(strings.SplitN(sealer.SealSignIn(secret.New("x"), time.Now()), ".", 2)[1], ":")
	return id
}()

// TestAReplicaWithTheOldKeyAloneIsNotReadyOnceResealingBegins has one that was forgotten.
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
	require.Contains(t, got.Body, "redis holds what another secret key has sealed")
	require.Equal(t, http.StatusOK, w.ask(both, "GET", "/readyz", "").Status)
}
