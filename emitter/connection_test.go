package emitter_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/certtest"
	"earshot/deploy/testbed/natstest"
	"earshot/emitter"
	"earshot/repositories/certfiles"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
)

func TestCredentialsOfTheURLAreInNoErrorAndNoLog(t *testing.T) {
	s := natstest.Run(t, func(o *server.Options) { o.Username, o.Password = "ann", "hunter2" })
	host := strings.TrimPrefix(s.URL(), "nats://")
	var log testbed.Lines
	options := emitter.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}

	good := connect(t, "nats://ann:hunter2@"+host, options)
	require.Equal(t, done, good.Deliver(t.Context(), event("e1", subject)))

	bad := connect(t, "nats://ann:swordfish@"+host+",nats://t0ken@"+host, options)
	until(t, func() bool { return strings.Contains(log.String(), "NATS is not reached") })
	got := bad.Deliver(t.Context(), event("e2", subject))
	require.Equal(t, effect.Retry, got.Verdict)

	require.Equal(t, "refuses the connection: nats: authorization violation", toldOf(t, bad.Ready(t.Context())))
	s.Restart()
	until(t, func() bool { return good.Ready(t.Context()) == nil })

	for _, text := range []string{log.String(), got.Error, fmt.Sprint(bad.Ready(t.Context()))} {
		for _, secret := range []string{"hunter2", "swordfish", "t0ken"} {
			require.NotContains(t, text, secret)
		}
	}
	require.Contains(t, log.String(), host, "the log says where")
}

// toldOf returns the public text of an error, and its words.
func toldOf(t *testing.T, err error) string {
	t.Helper()
	var told interface {
		Public() string
		Detail() string
	}
	require.ErrorAs(t, err, &told)
	return told.Public() + ": " + told.Detail()
}

func TestGoesOnTryingWhereItsCredentialsAreRefused(t *testing.T) {
	door := &doorkeeper{}
	s := natstest.Run(t, func(o *server.Options) { o.CustomClientAuthentication = door })
	var log testbed.Lines
	e := connect(t, s.URL(), emitter.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, e.Ready(t.Context()))

	door.refusals.Store(4) // the client library gives up at the second
	s.Restart()
	until(t, func() bool { return e.Ready(t.Context()) == nil })
	require.Negative(t, door.refusals.Load())
	require.Equal(t, 1, strings.Count(log.String(), "NATS is not reached"), log.String())
	require.Equal(t, done, e.Deliver(t.Context(), event("e1", subject)))
}

// doorkeeper refuses a number of connections.
type doorkeeper struct{ refusals atomic.Int32 }

func (d *doorkeeper) Check(server.ClientAuthentication) bool { return d.refusals.Add(-1) < 0 }

func TestURLThatCannotBeReadIsRefusedWithoutItsText(t *testing.T) {
	for _, list := range []string{
		"", "nats://", "nats://ann:hunter2/x@host:4222", "nats://ann:hunter2@host:port",
		"nats://good:4222,nats://ann:hunter2%zz@host:4222", "nats://ann:hunter2@[::1",
		"https://ann:hunter2@host:4222", "nats://good:4222, redis://ann:hunter2@host", "hunter2://host:4222",
	} {
		_, err := emitter.Connect(list, emitter.Options{})
		require.ErrorContains(t, err, "cannot be read", list)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestSchemesThatNATSIsReachedByAreTaken(t *testing.T) {
	for _, list := range []string{
		"host", "host:4222", "nats://host", "tls://ann:hunter2@host:4222", "ws://host:80,wss://host", "NATS://host", " nats://one , two:4223",
	} {
		require.NoError(t, emitter.CheckURLs(list), list)
	}
	require.ErrorContains(t, emitter.CheckURLs("https://host"), "tls:// for TLS")
}

func TestMissingSchemeOrServerNeverBlocksTheStart(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	e := connect(t, address, emitter.Options{}) // nats.go also accepts a bare host and port
	require.ErrorContains(t, e.Ready(t.Context()), "NATS is not connected")
}

// denying is a server whose user "earshot" has these permissions; the test uses "operator". The URL is for
// earshot.
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
		got := e.Deliver(t.Context(), event("e1", "app.clinic.Desk.ring")) // without the server's error it would wait for an hour
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

// gauge returns the value of an emitter's metric.
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

func TestStartsWhileNATSIsDown(t *testing.T) {
	s := natstest.Run(t)
	s.Stop()
	e := connect(t, s.URL(), emitter.Options{})

	require.ErrorContains(t, e.Ready(t.Context()), "NATS is not connected")
	got := e.Deliver(t.Context(), event("e1", subject))
	require.Equal(t, effect.Retry, got.Verdict)
	require.True(t, got.Deferred)

	s.Start()
	until(t, func() bool { return e.Ready(t.Context()) == nil })
	require.Equal(t, done, e.Deliver(t.Context(), event("e1", subject)))
	require.Equal(t, []string{"e1"}, ids(s))
}

// hanging is a server whose JetStream never answers.
func hanging(t *testing.T) (*natstest.Server, *nats.Subscription) {
	s := natstest.Run(t, func(o *server.Options) { o.JetStream = false })
	conn := s.Connect()
	asked, err := conn.SubscribeSync("$JS.API.>")
	require.NoError(t, err)
	require.NoError(t, conn.Flush()) // the server knows of it
	return s, asked
}

func TestDeliveryUnderWayEndsWithTheConnection(t *testing.T) {
	s, asked := hanging(t)
	e := connect(t, s.URL(), emitter.Options{Timeout: time.Hour})
	ended := make(chan effect.Outcome)
	go func() { ended <- e.Deliver(t.Context(), event("e1", subject)) }()
	_, err := asked.NextMsg(30 * time.Second)
	require.NoError(t, err)

	s.Stop()
	got := <-ended
	effecttest.Ended(t, got, effect.Retry, "", "was lost")
	require.False(t, got.Deferred, "it may have arrived")
}

func TestNothingIsPublishedBehindOurBackAfterAReconnect(t *testing.T) {
	s := natstest.Run(t)
	e := connect(t, s.URL(), emitter.Options{Timeout: time.Minute})
	require.NoError(t, e.Ready(t.Context()))
	s.Stop()
	until(t, func() bool { return e.Ready(t.Context()) != nil })
	for range 100 { // it returns at once; waiting would take minutes
		require.Equal(t, effect.Retry, e.Deliver(t.Context(), event("e1", subject)).Verdict)
	}

	s.Start()
	until(t, func() bool { return e.Ready(t.Context()) == nil })
	require.Equal(t, done, e.Deliver(t.Context(), event("e2", subject)))
	require.Equal(t, []string{"e2"}, ids(s))
}

func TestTimesOutWhereTheServerDoesNotAnswer(t *testing.T) {
	s, _ := hanging(t)
	e := connect(t, s.URL(), emitter.Options{Timeout: 50 * time.Millisecond})

	got := e.Deliver(t.Context(), event("e1", subject))
	effecttest.Ended(t, got, effect.Retry, "", "did not acknowledge the event in time")
	require.False(t, got.Deferred, "it was tried")
}

// A connection that breaks off swallows a request, as a permission does here; the time that an erasure has is no time to wait.
func TestAReadOfTheStreamThatIsNotAnsweredEnds(t *testing.T) {
	for name, denied := range map[string]string{"begin": "$JS.API.CONSUMER.CREATE.>", "go on": "$JS.API.CONSUMER.INFO.>"} {
		t.Run(name, func(t *testing.T) {
			s, _, url := denying(t, &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{denied}}})
			require.NoError(t, connect(t, strings.Replace(url, "earshot:p", "operator:o", 1), emitter.Options{}).Ready(t.Context()))
			e := connect(t, url, emitter.Options{Timeout: 50 * time.Millisecond})
			until(t, func() bool { return e.Deliver(t.Context(), event("e1", subject)).Verdict == effect.Done })
			ctx, cancel := context.WithTimeout(t.Context(), testbed.Patience)
			defer cancel()
			err := e.Erase(ctx, "clinic", "s1")
			require.ErrorIs(t, err, context.DeadlineExceeded, "of the request, which was not answered")
			require.ErrorContains(t, err, `events of session "s1" in stream EARSHOT cannot be read`)
			require.NoError(t, ctx.Err())
			require.Equal(t, []string{"e1"}, ids(s))
		})
	}
}

// mute is a server that tells of the stream and stores nothing, as one with a full disk. It acknowledges events while
// the switch is on.
func mute(t *testing.T) (url string, acknowledges *atomic.Bool) {
	real := natstest.Run(t)
	require.NoError(t, connect(t, real.URL(), emitter.Options{}).Ready(t.Context()))
	info, err := real.Connect().Request("$JS.API.STREAM.INFO."+emitter.Stream, nil, time.Minute)
	require.NoError(t, err)
	s, acknowledges := natstest.Run(t, func(o *server.Options) { o.JetStream = false }), &atomic.Bool{}
	conn := s.Connect()
	for on, answer := range map[string]func(*nats.Msg) error{
		"$JS.API.STREAM.INFO." + emitter.Stream: func(asked *nats.Msg) error { return asked.Respond(info.Data) },
		"tool.>": func(event *nats.Msg) error {
			if !acknowledges.Load() {
				return nil
			}
			return event.Respond([]byte(`{"stream":"` + emitter.Stream + `","seq":1}`))
		},
	} {
		_, err := conn.Subscribe(on, func(m *nats.Msg) { _ = answer(m) })
		require.NoError(t, err)
	}
	require.NoError(t, conn.Flush()) // the server knows of them
	return s.URL(), acknowledges
}

func TestServerThatAcknowledgesNothingIsNotReady(t *testing.T) {
	url, acknowledges := mute(t)
	now := time.Now()
	e := connect(t, url, emitter.Options{Timeout: 50 * time.Millisecond, Now: func() time.Time { return now }})
	until(t, func() bool { return e.Ready(t.Context()) == nil })
	unstored := func() {
		t.Helper()
		effecttest.Ended(t, e.Deliver(t.Context(), event("e1", subject)), effect.Retry, "", "did not acknowledge the event in time")
	}
	for range 2 {
		unstored()
		require.NoError(t, e.Ready(t.Context()), "one may be late")
		now = now.Add(4 * time.Second)
		unstored()
		require.ErrorContains(t, e.Ready(t.Context()), "stream EARSHOT acknowledges no events")
		now = now.Add(time.Minute)
		require.NoError(t, e.Ready(t.Context()), "it may have ended: another replica publishes what was owed")
	}
	unstored()
	now = now.Add(4 * time.Second)
	unstored()
	require.Error(t, e.Ready(t.Context()))
	acknowledges.Store(true)
	require.Equal(t, done, e.Deliver(t.Context(), event("e1", subject)))
	require.NoError(t, e.Ready(t.Context()))
}

// dialed opens the connection of requests, with the login of events.
func dialed(t *testing.T, url string, login emitter.Login) *nats.Conn {
	t.Helper()
	conn, err := emitter.Dial(url, "requests", login, func(*nats.Conn, *nats.Subscription, error) {})
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

func TestCredentialsOfAnOperatorsUserAreReadAtEachConnection(t *testing.T) {
	operator, path := natstest.NewOperator(t), filepath.Join(t.TempDir(), "user.creds")
	first := operator.User(path)
	s := natstest.Run(t, operator.Configure)
	login := emitter.Login{Creds: path}
	require.NoError(t, login.Check(s.URL(), time.Now()))

	stranger := connect(t, s.URL(), emitter.Options{})
	e := connect(t, s.URL(), emitter.Options{Login: login})
	until(t, func() bool { return e.Ready(t.Context()) == nil })
	require.Equal(t, done, e.Deliver(t.Context(), event("e1", subject)))
	conn := dialed(t, s.URL(), login)
	until(t, conn.IsConnected)
	require.Error(t, stranger.Ready(t.Context()), "without credentials it serves nobody")

	operator.Revoke(first)
	operator.User(path)
	s.Restart()
	until(t, func() bool { return e.Ready(t.Context()) == nil && conn.IsConnected() })
	require.Equal(t, done, e.Deliver(t.Context(), event("e2", subject)))
}

func TestASeedAloneIsThatOfAnNkey(t *testing.T) {
	pair, err := nkeys.CreateUser()
	require.NoError(t, err)
	public, err := pair.PublicKey()
	require.NoError(t, err)
	seed, err := pair.Seed()
	require.NoError(t, err)
	s := natstest.Run(t, func(o *server.Options) { o.Nkeys = []*server.NkeyUser{{Nkey: public}} })
	login := emitter.Login{Creds: filepath.Join(t.TempDir(), "user.nk")}
	require.NoError(t, os.WriteFile(login.Creds, append(seed, '\n'), 0o600))
	require.NoError(t, login.Check(s.URL(), time.Now()))

	e := connect(t, s.URL(), emitter.Options{Login: login})
	until(t, func() bool { return e.Ready(t.Context()) == nil })
	require.Equal(t, done, e.Deliver(t.Context(), event("e1", subject)))
	until(t, dialed(t, s.URL(), login).IsConnected)
}

// TestCertificatesAreReadAtEachConnection has a server that requires a certificate, and then trusts another
// authority, which has also signed its own.
func TestCertificatesAreReadAtEachConnection(t *testing.T) {
	folder, before, after := t.TempDir(), certtest.New(t, time.Now()), certtest.New(t, time.Now())
	var asks atomic.Pointer[tls.Config]
	trust := func(authority *certtest.Authority) {
		asks.Store(&tls.Config{
			MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{authority.Issue("nats")},
			ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority.Pool(),
		})
	}
	trust(before)
	s := natstest.Run(t, func(o *server.Options) {
		o.TLS, o.TLSVerify, o.TLSTimeout = true, true, time.Minute.Seconds()
		o.TLSConfig = asks.Load().Clone()
		o.TLSConfig.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return asks.Load(), nil }
	})
	login := emitter.Login{TLS: before.Write(folder, before.Issue("earshot"))}
	require.NoError(t, login.Check(s.URL(), time.Now()))

	e := connect(t, s.URL(), emitter.Options{Login: login})
	until(t, func() bool { return e.Ready(t.Context()) == nil })
	conn := dialed(t, s.URL(), login)
	until(t, conn.IsConnected)
	nobody := connect(t, s.URL(), emitter.Options{Login: emitter.Login{TLS: certfiles.Files{CA: login.TLS.CA}}})
	until(t, func() bool { return strings.Contains(fmt.Sprint(nobody.Ready(t.Context())), "tls") })

	trust(after)
	s.Restart()
	until(t, func() bool { return strings.Contains(fmt.Sprint(e.Ready(t.Context())), "x509") })
	after.Write(folder, after.Issue("earshot"))
	until(t, func() bool { return e.Ready(t.Context()) == nil && conn.IsConnected() })
	require.Equal(t, done, e.Deliver(t.Context(), event("e1", subject)))
}

func TestFaultsOfALoginNameTheirSettings(t *testing.T) {
	folder, authority, now := t.TempDir(), certtest.New(t, time.Now()), time.Now()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	own := filepath.Join(folder, "own.creds")
	operator := natstest.NewOperator(t)
	operator.User(own)
	other := filepath.Join(folder, "other.creds")
	operator.User(other)
	old := filepath.Join(folder, "old.creds")
	operator.UserUntil(old, now.Add(-time.Hour))
	mixed := mixCreds(t, own, other)
	ended := authority.Write(t.TempDir(), authority.IssueUntil("earshot", now.Add(-time.Hour)))
	good := authority.Write(t.TempDir(), authority.Issue("earshot"))
	for name, c := range map[string]struct {
		list  string
		login emitter.Login
		want  []string
	}{
		"nothing is there": {"nats://host", emitter.Login{Creds: folder + "/no.creds", TLS: certfiles.Files{CA: folder + "/no.pem", Cert: folder + "/no.crt", Key: folder + "/no.key"}}, []string{
			"NATS_CREDS_FILE (--nats-creds-file): stat", "NATS_CA_FILE (--nats-ca-file): stat", "NATS_CERT_FILE (--nats-cert-file): stat", "NATS_KEY_FILE (--nats-key-file): stat",
		}},
		"none of their kind": {"nats://host", emitter.Login{Creds: file("a", "hunter2"), TLS: certfiles.Files{CA: file("b", "hunter2"), Cert: file("c", "hunter2"), Key: file("d", "hunter2")}}, []string{
			"NATS_CREDS_FILE (--nats-creds-file): the file holds no credentials", `b" has no certificate in PEM`, "NATS_CERT_FILE (--nats-cert-file): the certificate in",
		}},
		"a folder":            {"nats://host", emitter.Login{Creds: folder}, []string{"is not a regular file"}},
		"of two users":        {"nats://host", emitter.Login{Creds: mixed}, []string{"they must be of the same user"}},
		"a key is missing":    {"nats://host", emitter.Login{TLS: certfiles.Files{Cert: good.Cert}}, []string{"NATS_CERT_FILE (--nats-cert-file): it goes together with NATS_KEY_FILE (--nats-key-file)"}},
		"keys are others":     {"nats://host", emitter.Login{TLS: certfiles.Files{Cert: good.Cert, Key: ended.Key}}, []string{"NATS_KEY_FILE (--nats-key-file) must be its private key"}},
		"it has ended":        {"nats://host", emitter.Login{TLS: ended}, []string{"NATS_CERT_FILE (--nats-cert-file): the certificate in", "expired on"}},
		"a user in the URL":   {"nats://one,nats://ann:hunter2@two", emitter.Login{Creds: own}, []string{"NATS URL 2 also has a user or a token"}},
		"WebSocket in clear":  {"ws://host", emitter.Login{TLS: good}, []string{"NATS URL 1 is ws://, without TLS"}},
		"credentials ended":   {"nats://host", emitter.Login{Creds: old}, []string{"NATS_CREDS_FILE (--nats-creds-file): the user's JWT in", "expired on"}},
		"credentials":         {"nats://host", emitter.Login{Creds: own}, nil},
		"certificate, no CA":  {"nats://host", emitter.Login{TLS: certfiles.Files{Cert: good.Cert, Key: good.Key}}, nil},
		"authority and creds": {"tls://host", emitter.Login{Creds: own, TLS: certfiles.Files{CA: good.CA}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.login.Check(c.list, now)
			if c.want == nil {
				require.NoError(t, err)
				return
			}
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

// mixCreds writes credentials with the JWT of one file and the seed of another.
func mixCreds(t *testing.T, one, other string) string {
	t.Helper()
	const seed = "-----BEGIN USER NKEY SEED-----"
	first, err := os.ReadFile(one)
	require.NoError(t, err)
	second, err := os.ReadFile(other)
	require.NoError(t, err)
	token, _, found := strings.Cut(string(first), seed)
	_, rest, also := strings.Cut(string(second), seed)
	require.True(t, found && also)
	path := filepath.Join(t.TempDir(), "mixed.creds")
	require.NoError(t, os.WriteFile(path, []byte(token+seed+rest), 0o600))
	return path
}

func TestParametersOfAURLAreRefused(t *testing.T) {
	for _, list := range []string{"nats://host:4222?creds=/x.creds", "nats://one,tls://two/?tls_ca=a", "nats://host?"} {
		err := emitter.CheckURLs(list)
		require.ErrorContains(t, err, "after a ?, and takes none", list)
		require.ErrorContains(t, err, "NATS_CREDS_FILE")
	}
	for _, list := range []string{"nats://ann:12?hunter2@host", "nats://ann:12/hunter2@host", "nats://ann:12#hunter2@host"} {
		err := emitter.CheckURLs(list)
		require.ErrorContains(t, err, "percent-encoded", list)
		require.NotContains(t, err.Error(), "hunter2")
	}
}
