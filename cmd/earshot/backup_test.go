package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
)

// These tests restore a backup, as the chapter on that says, and look what becomes of what
// happened since.

// saveRedis writes all that Redis holds to a file, while it runs.
func (w *world) saveRedis(file string) {
	w.t.Helper()
	said, err := exec.CommandContext(w.t.Context(), "redis-cli", "-u", w.redis.URL(), "--rdb", file).CombinedOutput()
	require.NoError(w.t, err, "%s", said)
}

// restoreRedis puts such a file in the place of what Redis holds. A Redis that keeps an
// append-only file reads that and no other, so the file is read once without one.
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

// stopAll ends all replicas.
func (w *world) stopAll() {
	for _, r := range w.replicas {
		require.Zero(w.t, r.stop())
	}
	w.replicas = nil
}

// callsByID counts the calls of a sink by the triggers that they are of.
func (e *endpoint) callsByID() map[string]int {
	times := map[string]int{}
	for _, one := range e.requests() {
		times[one.Header.Get("Webhook-Id")]++
	}
	return times
}

// inOrder looks at the ledger as an operator does.
func (w *world) inOrder() {
	w.t.Helper()
	w.until("nothing is orphaned or impossible", func() bool { return w.run("verify").code == 0 })
	got := w.ok("verify", "--json")
	require.Contains(w.t, got, `"owed":{"messages":0,"calls":0,"events":0,"held":0,"failed":0`)
	require.Contains(w.t, got, `"findings":[],"orphaned":0,"impossible":0,"mended":0`)
}

// ofTriggers are the ids of the events of a kind, each as often as it stands in the stream.
func (w *world) ofTriggers(filter string) (ids []string) {
	for _, event := range w.events(filter) {
		ids = append(ids, fmt.Sprint(event.Payload["id"]))
	}
	return ids
}

// desk registers tools that all call a sink.
func (w *world) desk() *endpoint {
	sink := newSink(w.t)
	w.put("/v1/apps/clinic/repositories/desk", fmt.Sprintf(`{"tools":[{"name":"book","url":%[1]q},{"name":"order","url":%[1]q},
		{"name":"refund","url":%[1]q,"confirm":"always"},{"name":"note"}]}`, sink.URL))
	w.put("/v1/apps/clinic/repositories/gift", fmt.Sprintf(`{"options":{"triggerOnce":true},"tools":[{"name":"gift","url":%q}]}`, sink.URL))
	return sink
}

// TestRedisIsRestoredBesideAStreamThatWentOn is Redis from a minute ago with the JetStream of
// now: what happened since is forgotten, and happens again under the same ids where somebody
// asks for it.
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
	w.saveRedis(backup)

	sink.answer(http.StatusOK)
	confirm := func() {
		w.call(202, "POST", "/v1/apps/clinic/triggers/"+asked+"/confirm", fmt.Sprintf(`{"digest":%q}`, digest))
	}
	confirm()
	since := w.say("s1", "since", "call book {}").Matches[0].TriggerID
	gift := w.say("s1", "given", "call gift {}").Matches[0].TriggerID
	untold := w.say("s2", "untold", "call note {}").Matches[0].TriggerID // its client never asks again
	w.rest()
	for _, id := range []string{before, asked, since, gift} {
		require.Equal(t, 1, sink.callsByID()[id])
	}
	tried := sink.callsByID()[owed]
	require.GreaterOrEqual(t, tried, 2, "refused, then taken")
	events := len(w.events(">"))

	w.stopAll()
	w.restoreRedis(backup)
	w.serve()
	w.serve()
	w.until("what was owed then is delivered again", func() bool { return sink.callsByID()[owed] == tried+1 })
	require.Equal(t, "404", fmt.Sprint(w.ask(w.replicas[0], "GET", "/v1/apps/clinic/triggers/"+since, "").Status), "what was fired since is not known")
	require.Equal(t, since, w.say("s1", "since", "call book {}").Matches[0].TriggerID, "and has its id again where it is sent again")
	require.Equal(t, gift, w.say("s1", "later", "call gift {}").Matches[0].TriggerID, "whoever asks for what fires once")
	confirm()
	w.rest()
	again := sink.callsByID()
	require.Equal(t, map[string]int{before: 1, owed: tried + 1, asked: 2, since: 2, gift: 2}, again)
	require.Len(t, w.events(">"), events, "the stream has dropped what it had")
	require.Contains(t, w.ofTriggers("tool.trigger.clinic.s2.note"), untold, "a subscriber has it")
	w.call(404, "GET", "/v1/apps/clinic/triggers/"+untold, "")
	w.inOrder()
}

// TestJetStreamIsRestoredBesideARedisThatWentOn is the reverse: what was published since is gone
// for those who had not read it, and nothing fires again.
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
	w.until("it is ready", func() bool { return w.ask(w.replicas[0], "GET", "/readyz", "").Status == http.StatusOK })

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
	w.hears(pending, "Last-Event-ID", "1")
	next := w.say("s1", "next", "call book {}").Matches[0].TriggerID
	w.hears(next, "Last-Event-ID", fmt.Sprint(last))
}

// lastSequence is that of the newest event of the stream.
func (w *world) lastSequence() uint64 {
	all := w.events(">")
	return all[len(all)-1].Sequence
}

// hears reads the event stream of the session s1 until it tells of a trigger.
func (w *world) hears(triggerID string, header ...string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.replicas[0].url+"/v1/apps/clinic/sessions/s1/events", nil)
	require.NoError(w.t, err)
	request.Header.Set("Authorization", "Bearer "+testAdminKey)
	request.Header.Set(header[0], header[1])
	answered, err := http.DefaultClient.Do(request)
	require.NoError(w.t, err)
	defer answered.Body.Close()
	for lines := bufio.NewScanner(answered.Body); lines.Scan(); {
		if strings.Contains(lines.Text(), triggerID) {
			return
		}
	}
	require.Fail(w.t, "the stream does not tell of it", triggerID)
}
