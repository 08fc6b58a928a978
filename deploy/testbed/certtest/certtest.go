// Package certtest makes authorities for tests, and certificates that they have signed.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"earshot/deploy/testbed"
	"earshot/repositories/certfiles"
)

// Authority signs certificates. Its methods end the test where they fail.
type Authority struct {
	t    testing.TB
	now  time.Time
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New makes an authority. It and what it signs are good for an hour from now.
func New(t testing.TB, now time.Time) *Authority {
	a := &Authority{t: t, now: now}
	a.key = a.newKey()
	template := a.template("authority", a.now.Add(time.Hour))
	template.IsCA, template.KeyUsage = true, x509.KeyUsageCertSign
	a.cert = a.sign(template, template, a.key)
	return a
}

// Pool holds the authority alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Issue signs a certificate for a client of that name, and for a server on loopback.
func (a *Authority) Issue(name string) tls.Certificate {
	return a.IssueUntil(name, a.now.Add(time.Hour))
}

// IssueUntil is Issue with another end.
func (a *Authority) IssueUntil(name string, end time.Time) tls.Certificate {
	key := a.newKey()
	template := a.template(name, end)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	cert := a.sign(template, a.cert, key)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key, Leaf: cert}
}

// Write writes the authority and a certificate with its key to a folder, over those that it has.
func (a *Authority) Write(folder string, pair tls.Certificate) certfiles.Files {
	a.t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	testbed.Must(a.t, "encode a key", err)
	files := certfiles.Files{
		CA: filepath.Join(folder, "ca.pem"), Cert: filepath.Join(folder, "cert.pem"), Key: filepath.Join(folder, "key.pem"),
	}
	a.write(files.CA, "CERTIFICATE", a.cert.Raw)
	a.write(files.Cert, "CERTIFICATE", pair.Certificate[0])
	a.write(files.Key, "PRIVATE KEY", key)
	return files
}

func (a *Authority) write(path, kind string, content []byte) {
	a.t.Helper()
	testbed.Must(a.t, "write "+path, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600))
}

func (a *Authority) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	testbed.Must(a.t, "make a key", err)
	return key
}

func (a *Authority) template(name string, end time.Time) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	testbed.Must(a.t, "make a number", err)
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, BasicConstraintsValid: true,
		NotBefore: a.now.Add(-48 * time.Hour), NotAfter: end,
	}
}

func (a *Authority) sign(template, by *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	a.t.Helper()
	raw, err := x509.CreateCertificate(rand.Reader, template, by, key.Public(), a.key)
	testbed.Must(a.t, "sign a certificate", err)
	cert, err := x509.ParseCertificate(raw)
	testbed.Must(a.t, "read a certificate", err)
	return cert
}
