package main

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/redistest"
)

// TestFailoverUnderLoadFiresNothingTwice has the replica promoted while messages are
// posted. The old master takes the last of what it has taken along; what was done of
// that is done again, under the same ids, which the stream drops.
func TestFailoverUnderLoadFiresNothingTwice(t *testing.T) {
	t.Parallel()
	leaveOutWhenShort(t)
	for name, promote := range map[string]func(*redistest.Sentinel){
		"an operator asks for it": (*redistest.Sentinel).Failover,
		"the master dies":         func(sentinel *redistest.Sentinel) { sentinel.Master().Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failOver(t, promote)
		})
	}
}

func failOver(t *testing.T, promote func(*redistest.Sentinel)) {
	sentinel := redistest.RunSentinel(t)
	w := newWorld(t)
	w.redis = sentinel.Server
	w.env["REDIS_URL"] = sentinel.URL()
	w.serve()
	w.serve()
	const once = 60
	w.put("/v1/apps/clinic", `{"name":"Clinic","settings":{"limits":null}}`)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","schema":[{"parameter":"day","type":"string"}]}]}`)
	for i := range once {
		w.put(fmt.Sprintf("/v1/apps/clinic/sessions/o%d/repositories/once", i), `{"options":{"triggerOnce":true},"tools":[{"name":"one"}]}`)
	}
	w.rest()
	sentinel.Replicate()

	l := pressed(w, 4)
	for c := range 4 { // for the same triggerOnce repositories in the same order
		l.clients.Go(func() {
			for i := range once {
				l.post(fmt.Sprint("o", i), fmt.Sprintf("o%d-%d", i, c), "call one {}")
			}
		})
	}
	l.more(100)
	before := sentinel.Master().Addr()
	promote(sentinel)
	w.until("the replica is the master", func() bool { return sentinel.Master().Addr() != before })
	l.more(200)
	l.end()
	for _, r := range w.replicas {
		w.until("it is ready", func() bool { return w.ask(r, "GET", "/readyz", "").Status == http.StatusOK })
	}
	w.rest()
	t.Logf("%d messages decided, %d requests refused", l.answered.Load(), l.refused.Load())

	for i := range once {
		require.Len(t, w.events(fmt.Sprintf("tool.trigger.clinic.o%d.one", i)), 1, "session o%d", i)
	}
	l.requireStored(w.events("tool.trigger.clinic.>"))
}

// requireStored checks that what clients were told of is in the stream, and everything
// once.
func (l *load) requireStored(events []storedEvent) {
	l.t.Helper()
	ids, triggers := map[string]bool{}, map[string]bool{}
	for _, one := range events {
		id := one.Header.Get("Nats-Msg-Id")
		require.False(l.t, ids[id], "%s is there twice", id)
		ids[id] = true
		trigger := one.Payload["id"].(string)
		require.False(l.t, triggers[trigger], "%s fired twice", trigger)
		triggers[trigger] = true
	}
	for message, answer := range l.answers {
		for _, match := range answer.Matches {
			require.True(l.t, triggers[match.TriggerID], "%s of message %s is lost", match.TriggerID, message)
		}
	}
}
