package emitter_test

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/certtest"
	"earshot/deploy/testbed/natstest"
	"earshot/emitter"
	"earshot/repositories/certfiles"
)

// dialed opens the connection of requests, with the same login as that of events.
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

// TestCertificatesAreReadAtEachConnection has a server ask for a certificate, and then trust
// another authority, by which its own is signed as well.
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
	until(t, func() bool { return strings.Contains(errorText(nobody.Ready(t.Context())), "tls") })

	trust(after)
	s.Restart()
	until(t, func() bool { return strings.Contains(errorText(e.Ready(t.Context())), "x509") })
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
			"NATS_CREDS_FILE (--nats-creds-file): the file holds no credentials", `b" holds no certificate in PEM`, "NATS_CERT_FILE (--nats-cert-file): the certificate in",
		}},
		"a folder":            {"nats://host", emitter.Login{Creds: folder}, []string{"is no regular file"}},
		"of two users":        {"nats://host", emitter.Login{Creds: mixed}, []string{"they must be of the same user"}},
		"a key is missing":    {"nats://host", emitter.Login{TLS: certfiles.Files{Cert: good.Cert}}, []string{"NATS_CERT_FILE (--nats-cert-file): it goes together with NATS_KEY_FILE (--nats-key-file)"}},
		"keys are others":     {"nats://host", emitter.Login{TLS: certfiles.Files{Cert: good.Cert, Key: ended.Key}}, []string{"NATS_KEY_FILE (--nats-key-file) must be its private key"}},
		"it has ended":        {"nats://host", emitter.Login{TLS: ended}, []string{"NATS_CERT_FILE (--nats-cert-file): the certificate in", "has ended on"}},
		"a user in the URL":   {"nats://one,nats://ann:hunter2@two", emitter.Login{Creds: own}, []string{"NATS URL 2 holds a user or a token as well"}},
		"WebSocket in clear":  {"ws://host", emitter.Login{TLS: good}, []string{"NATS URL 1 is ws://, without TLS"}},
		"credentials ended":   {"nats://host", emitter.Login{Creds: old}, []string{"NATS_CREDS_FILE (--nats-creds-file): the user's JWT in", "has ended on"}},
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
