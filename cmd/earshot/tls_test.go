package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/cmd/earshot/embedded"
)

// certificate writes one for 127.0.0.1 into files, and returns who trusts it.
func certificate(t *testing.T) (certFile, keyFile string, trust *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	trust = x509.NewCertPool()
	write := func(name, kind string, content []byte) string {
		file, text := filepath.Join(t.TempDir(), name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
		require.NoError(t, os.WriteFile(file, text, 0o600))
		trust.AppendCertsFromPEM(text)
		return file
	}
	return write("cert.pem", "CERTIFICATE", cert), write("key.pem", "PRIVATE KEY", private), trust
}

func TestServesHTTPSAndEndsItsStreamsAtTheEnd(t *testing.T) {
	c := defaults()
	cert, key, trust := certificate(t)
	c.TLSCert, c.TLSKey = cert, key
	require.NoError(t, c.forDevelopment(func(flag string) bool { return flag == "log-level" }, false))
	store, err := embedded.StartStore()
	require.NoError(t, err)
	defer store.Close()
	nats, err := embedded.StartNATS("", -1, embedded.MinNATSBytes, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { require.NoError(t, nats.Close()) }()
	require.NoError(t, c.RedisURL.UnmarshalText([]byte(store.URL())))
	require.NoError(t, c.NATSURL.UnmarshalText([]byte(nats.URL())))
	s, err := newService(c, true, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx) }()

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}}}
	require.True(t, strings.HasPrefix(s.URL(), "https://"))
	request, err := http.NewRequest(http.MethodPut, s.URL()+"/v1/apps/clinic", strings.NewReader("{}"))
	require.NoError(t, err)
	response, err := client.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, 201, response.StatusCode)
	var stream *http.Response
	require.Eventually(t, func() bool {
		stream, err = client.Get(s.URL() + "/v1/apps/clinic/events")
		require.NoError(t, err)
		defer func() {
			if stream.StatusCode != 200 {
				_ = stream.Body.Close()
			}
		}()
		return stream.StatusCode == 200
	}, 20*time.Second, 50*time.Millisecond)

	stop()
	_, err = io.Copy(io.Discard, stream.Body)
	require.NoError(t, err)
	require.NoError(t, stream.Body.Close())
	require.NoError(t, <-ended)
}

func TestACertificateWithoutItsKeyIsAFaultAtStart(t *testing.T) {
	c := config{Addr: "127.0.0.1:0", LogLevel: "error", SessionTTL: time.Hour, LLMTimeout: time.Second, TLSCert: "cert.pem"}
	require.ErrorContains(t, c.check(), "--tls-cert and --tls-key")
}
