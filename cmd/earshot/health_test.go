package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/natstest"
	"earshot/deploy/testbed/redistest"
	"earshot/repositories/files"
)

// TestHealthIsThatOfTheReplica runs the command as a container does: with the variables of the
// service and nothing else.
func TestHealthIsThatOfTheReplica(t *testing.T) {
	t.Parallel()
	w := &world{t: t, redis: redistest.Run(t), nats: natstest.Run(t)}
	w.env = map[string]string{
		"EARSHOT_ADDR": "127.0.0.1:0", "REDIS_URL": w.redis.URL(), "NATS_URL": w.nats.URL(),
		"EARSHOT_ADMIN_KEY": testAdminKey, "EARSHOT_SECRET_KEY": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
	}
	where, err := url.Parse(w.serve().url)
	require.NoError(t, err)
	for _, addr := range []string{where.Host, ":" + where.Port(), "0.0.0.0:" + where.Port(), "localhost:" + where.Port()} {
		got := command(t, map[string]string{"EARSHOT_ADDR": addr, "HTTP_PROXY": "http://127.0.0.1:1"}, "health")
		require.Equal(t, commandResult{0, "ready\n", ""}, got, addr)
	}
	require.Zero(t, command(t, nil, "health", "--server", where.String()+"/").code)

	w.nats.Stop()
	w.until("it is not ready", func() bool { return command(t, nil, "health", "--addr", where.Host).code == 1 })
	got := command(t, map[string]string{"EARSHOT_URL": where.String()}, "health")
	require.Equal(t, commandResult{1, "", "earshot: the service answers 503 Service Unavailable: not ready: no answer from nats\n"}, got)
}

func TestSchemaIsWhatEditorsRead(t *testing.T) {
	t.Parallel()
	got := command(t, nil, "schema")
	require.Zero(t, got.code)
	require.Empty(t, got.err)
	require.JSONEq(t, string(files.Schema()), got.out)
	require.Contains(t, got.out, "https://json-schema.org/draft/2020-12/schema")
	require.Contains(t, got.out, "What a user's words can set off.")
}

func TestHealthSaysInOneLineWhyItIsNotKnown(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	moved := httptest.NewServer(http.RedirectHandler("https://example.org", http.StatusFound))
	defer moved.Close()
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"--addr", closed.Addr().String()}, "no Earshot answers at http://" + closed.Addr().String()},
		{[]string{"--addr", silent.Addr().String(), "--timeout", "50ms"}, "http://" + silent.Addr().String() + " does not answer within 50ms"},
		{[]string{"--server", moved.URL}, "answers 302 Found, and not as Earshot does"},
		{[]string{"--addr", "127.0.0.1:0"}, "its port is not known"},
		{[]string{"--addr", "8080"}, "missing port in address"},
		{[]string{"--server", "earshot"}, "it must be a URL"},
		{[]string{"--timeout", "0s"}, "it must be more than 0"},
	} {
		got := command(t, nil, append([]string{"health"}, test.args...)...)
		require.Equal(t, 1, got.code, test.args)
		require.Regexp(t, `^earshot: [^\n]+\n$`, got.err)
		require.Contains(t, got.err, test.says)
	}
}

// TestHealthOfAReplicaWithTLS has a certificate that nobody trusts, as that of a service is for
// whoever asks for it by 127.0.0.1.
func TestHealthOfAReplicaWithTLS(t *testing.T) {
	t.Parallel()
	ready := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" || r.Header.Get("Authorization") != "" {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	defer ready.Close()
	env := map[string]string{"EARSHOT_ADDR": ready.Listener.Addr().String(), "EARSHOT_TLS_CERT": "cert.pem", "EARSHOT_ADMIN_KEY": "k"}
	require.Equal(t, commandResult{0, "ready\n", ""}, command(t, env, "health"))

	got := command(t, nil, "health", "--server", ready.URL, "--timeout", time.Minute.String())
	require.Equal(t, 1, got.code, "the certificate of another server is looked at")
	require.Contains(t, got.err, "certificate")
}
