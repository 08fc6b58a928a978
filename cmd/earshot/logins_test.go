package main

import (
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/certtest"
	"earshot/deploy/testbed/natstest"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher/llm/llmtest"
)

// TestServersThatAskForCertificatesAndCredentialsAreServedWith has a NATS in operator mode and a
// Redis, both of which take only clients whose certificate an authority of their own has signed.
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
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	address := listener.Addr().String()
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	of := authority.Write(t.TempDir(), authority.Issue("redis"))
	w.redis = redistest.Run(t, "--tls-port", port, "--tls-auth-clients", "yes", "--tls-ca-cert-file", of.CA, "--tls-cert-file", of.Cert, "--tls-key-file", of.Key)

	ours := authority.Write(folder, authority.Issue("earshot"))
	creds := filepath.Join(folder, "earshot.creds")
	operator.User(creds)
	w.env = map[string]string{
		"EARSHOT_ADDR": "127.0.0.1:0", "OPENAI_API_KEY": "llm-key-of-the-tests", "OPENAI_BASE_URL": w.llm.URL(),
		"EARSHOT_ADMIN_KEY": testAdminKey, "EARSHOT_SECRET_KEY": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
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
	text, err := os.ReadFile(creds)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "-") && len(line) > 40 { // the token and the seed
			require.NotContains(t, r.log.String(), strings.TrimSpace(line))
		}
	}
}

func TestFilesThatCannotBeUsedAreToldAtTheStart(t *testing.T) {
	env := map[string]string{
		"REDIS_URL": "redis://127.0.0.1:1", "NATS_URL": "nats://127.0.0.1:1", "EARSHOT_ADMIN_KEY": testAdminKey,
		"EARSHOT_SECRET_KEY": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
		"REDIS_CA_FILE":      "/no/redis-ca.pem", "NATS_CA_FILE": "/no/ca.pem", "NATS_CREDS_FILE": "/no/creds", "NATS_KEY_FILE": "/no/key.pem",
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
