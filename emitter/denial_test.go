package emitter_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
	"earshot/emitter"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
)

// denying is a server whose user "earshot" may do all but what permissions say; the
// test's own is "operator". The URL is that of the first.
func denying(t *testing.T, permissions *server.Permissions) (*natstest.Server, *server.User, string) {
	user := &server.User{Username: "earshot", Password: "p", Permissions: permissions}
	s := natstest.Run(t, func(o *server.Options) {
		o.Username, o.Password = "operator", "o"
		o.Users = []*server.User{{Username: "operator", Password: "o"}, user}
	})
	return s, user, strings.Replace(s.URL(), "nats://", "nats://earshot:p@", 1)
}

func TestSubjectThatIsDeniedIsSaidAtOnceAndOthersGoOn(t *testing.T) {
	s, user, url := denying(t, &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"app.clinic.Desk.>"}}})
	var log testbed.Lines
	e := connect(t, url, emitter.Options{Timeout: time.Hour, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, e.Ready(t.Context()))

	for range 3 {
		got := e.Deliver(t.Context(), event("e1", "app.clinic.Desk.ring")) // without the server's word it waits for an hour
		effecttest.Ended(t, got, effect.Retry, "", `has no permission for "app.clinic.Desk.ring"`)
		require.True(t, got.Forbidden)
		require.False(t, got.Deferred)
	}
	require.Equal(t, done, e.Deliver(t.Context(), event("e2", subject)))
	require.ErrorContains(t, e.Ready(t.Context()), `no permission for "app.clinic.Desk.ring"`)
	require.Equal(t, 1, strings.Count(log.String(), "publish.denied"), "said once: %s", &log)
	require.InDelta(t, 1, gauge(t, e, "earshot_publish_denied"), 0)

	user.Permissions = nil
	s.Restart()
	until(t, func() bool { return e.Ready(t.Context()) == nil })
	require.Equal(t, done, e.Deliver(t.Context(), event("e1", "app.clinic.Desk.ring")))
	require.Equal(t, []string{"e2", "e1"}, ids(s))
}

func TestUserThatMayNotLookAtTheStreamOrHearAnswersIsDenied(t *testing.T) {
	for name, permissions := range map[string]*server.Permissions{
		"$JS.API.STREAM.INFO.EARSHOT": {Publish: &server.SubjectPermission{Deny: []string{"$JS.API.STREAM.INFO.>"}}},
		"_INBOX.":                     {Subscribe: &server.SubjectPermission{Deny: []string{"_INBOX.>"}}},
	} {
		s, user, url := denying(t, permissions)
		e := connect(t, url, emitter.Options{Timeout: time.Hour})
		for range 2 {
			got := e.Deliver(t.Context(), event("e1", subject))
			effecttest.Ended(t, got, effect.Retry, "", name)
			require.True(t, got.Forbidden, got.Error)
			require.ErrorContains(t, e.Ready(t.Context()), name)
		}
		user.Permissions = nil
		s.Restart()
		until(t, func() bool { return e.Ready(t.Context()) == nil })
		require.Equal(t, done, e.Deliver(t.Context(), event("e1", subject)))
	}
}

// gauge returns what a metric of the emitter shows.
func gauge(t *testing.T, e *emitter.Emitter, name string) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(e)
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}
