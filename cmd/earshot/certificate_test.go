package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

// served is a server whose certificate is in files, with a clock of its own.
type served struct {
	*testing.T
	certificateFiles
	clock    *testbed.Clock
	log      *testbed.Lines
	current  *servedCertificate
	listener net.Listener
}

// newPair makes a certificate of that name which ends at that time, in PEM.
func newPair(t *testing.T, name string, end time.Time) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: end.Add(-time.Hour * 24 * 365), NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

// replaceAt puts a file in the place of another, as what renews certificates does.
func replaceAt(t *testing.T, path string, text []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", text, 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}

// serveCertificate serves a certificate of the name "one" that has 30 days left.
func serveCertificate(t *testing.T) *served {
	t.Helper()
	s := &served{T: t, clock: testbed.NewClock(time.Now()), log: &testbed.Lines{}}
	folder := t.TempDir()
	s.certificateFiles = certificateFiles{cert: filepath.Join(folder, "tls.crt"), key: filepath.Join(folder, "tls.key")}
	s.renew("one", 30*24*time.Hour)
	var err error
	s.current, err = openCertificate(s.certificateFiles, s.clock.Now, slog.New(slog.NewJSONHandler(s.log, nil)))
	require.NoError(t, err)
	s.listener, err = tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetCertificate: s.current.get})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.listener.Close() })
	go func() {
		for {
			conn, err := s.listener.Accept()
			if err != nil {
				return
			}
			_ = conn.(*tls.Conn).Handshake() // the client says what went wrong
			_ = conn.Close()
		}
	}()
	return s
}

func (s *served) renew(name string, left time.Duration) {
	s.Helper()
	cert, key := newPair(s.T, name, s.clock.Now().Add(left))
	replaceAt(s.T, s.cert, cert)
	replaceAt(s.T, s.key, key)
}

// name is that of the certificate that a client is shown.
func (s *served) name() string {
	s.Helper()
	conn, err := tls.Dial("tcp", s.listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	require.NoError(s, err)
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName
}

// notAfter is the metric of when the certificate ends.
func (s *served) notAfter() float64 {
	s.Helper()
	registry := prometheus.NewRegistry()
	require.NoError(s, registry.Register(s.current))
	families, err := registry.Gather()
	require.NoError(s, err)
	require.Len(s, families, 1)
	require.Equal(s, "earshot_tls_not_after_seconds", families[0].GetName())
	return families[0].GetMetric()[0].GetGauge().GetValue()
}

func TestARenewedCertificateIsServedWithinTenSeconds(t *testing.T) {
	s := serveCertificate(t)
	require.Equal(t, "one", s.name())
	require.InDelta(t, s.clock.Now().Add(30*24*time.Hour).Unix(), s.notAfter(), 1)

	s.renew("two", 60*24*time.Hour)
	require.Equal(t, "one", s.name(), "the files are not looked at for each connection")
	s.clock.Advance(10 * time.Second)
	require.Equal(t, "two", s.name())
	require.InDelta(t, s.clock.Now().Add(60*24*time.Hour).Unix(), s.notAfter(), 11)
	require.Contains(t, s.log.String(), `"msg":"certificate.read","subject":"CN=two"`)

	s.renew("three", time.Hour)
	s.current.reload()
	require.Equal(t, "three", s.name(), "at once")
}

// TestAPairThatIsHalfWrittenLeavesTheOldOne has one warning however often it is looked at, and
// takes the pair when it is whole.
func TestAPairThatIsHalfWrittenLeavesTheOldOne(t *testing.T) {
	s := serveCertificate(t)
	cert, key := newPair(t, "two", s.clock.Now().Add(60*24*time.Hour))
	replaceAt(t, s.cert, cert[:len(cert)/2])
	look := func() string {
		s.clock.Advance(10 * time.Second)
		return s.name()
	}
	warnings := func() int { return strings.Count(s.log.String(), `"msg":"certificate.unusable"`) }
	require.Equal(t, "one", look())
	require.Equal(t, "one", look())
	replaceAt(t, s.cert, cert) // the key of another
	require.Equal(t, "one", look())
	require.NoError(t, os.Remove(s.key))
	require.Equal(t, "one", look())
	require.Equal(t, 1, warnings(), "%s", s.log)
	require.Contains(t, s.log.String(), "EARSHOT_TLS_CERT (--tls-cert) is")

	s.current.reload()
	require.Equal(t, 2, warnings(), "an administrator who asks is told again")
	replaceAt(t, s.key, key)
	require.Equal(t, "two", look())
	s.renew("ended", -time.Hour)
	require.Equal(t, "two", look(), "one that has ended is served to nobody who has a better one")
	require.Equal(t, 3, warnings())
	require.Contains(t, s.log.String(), "has ended on")
}
