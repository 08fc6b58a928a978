// Package certfiles reads a TLS client's certificate and trusted authorities from PEM files. It reads them at each
// connection, so that renewed files need no restart.
package certfiles

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Files are the paths. CA holds the authorities' certificates; the default is the system's. Cert, with its chain,
// and Key are the client's own.
type Files struct{ CA, Cert, Key string }

// Empty reports whether no file is named.
func (f Files) Empty() bool { return f == Files{} }

// Check returns all faults of the files. They name the settings, which begin with a service's name: NATS has
// NATS_CA_FILE, NATS_CERT_FILE and NATS_KEY_FILE.
func (f Files) Check(service string, now time.Time) error {
	var faults []error
	fault := func(setting, format string, args ...any) {
		faults = append(faults, fmt.Errorf("%s: %w", Setting(service, setting), fmt.Errorf(format, args...)))
	}
	if f.CA != "" {
		if _, err := f.Authorities(); err != nil {
			fault("ca", "%w", err)
		}
	}
	if (f.Cert == "") != (f.Key == "") {
		fault("cert", "it goes together with %s: they are %q and %q, and one is missing", Setting(service, "key"), f.Cert, f.Key)
		return errors.Join(faults...)
	}
	if f.Cert == "" {
		return errors.Join(faults...)
	}
	readable := true
	for _, file := range []struct{ setting, path string }{{"cert", f.Cert}, {"key", f.Key}} {
		if _, err := Read(file.path); err != nil {
			readable = false
			fault(file.setting, "%w", err)
		}
	}
	switch pair, err := f.Certificate(); {
	case !readable:
	case err != nil:
		fault("cert", "%w; %s must be its private key", err, Setting(service, "key"))
	case now.After(pair.Leaf.NotAfter):
		fault("cert", "the certificate in %q expired on %s: name one that is valid", f.Cert, pair.Leaf.NotAfter.Format(time.DateOnly))
	}
	return errors.Join(faults...)
}

// Setting names a setting for a file of a service, by its variable and its flag.
func Setting(service, file string) string {
	return fmt.Sprintf("%s_%s_FILE (--%s-%s-file)", service, strings.ToUpper(file), strings.ToLower(service), file)
}

// Authorities reads the certificates of the authorities.
func (f Files) Authorities() (*x509.CertPool, error) {
	text, err := Read(f.CA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%q has no certificate in PEM: name a file with the certificates of the authorities", f.CA)
	}
	return pool, nil
}

// Certificate reads the client's own certificate and its key.
func (f Files) Certificate() (tls.Certificate, error) {
	cert, err := Read(f.Cert)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := Read(f.Key)
	if err != nil {
		return tls.Certificate{}, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("the certificate in %q and the key in %q cannot be used: %w", f.Cert, f.Key, err)
	}
	return pair, nil
}

// Config returns base with the present content of the files.
func (f Files) Config(base *tls.Config) (_ *tls.Config, err error) {
	config := base.Clone()
	if f.CA != "" {
		if config.RootCAs, err = f.Authorities(); err != nil {
			return nil, err
		}
	}
	if f.Cert != "" {
		pair, err := f.Certificate()
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// maxSize bounds a file; all authorities of a system are a quarter of it.
const maxSize = 1 << 20

// Read reads a small regular file: a pipe can only be read once, and a device may never end.
func Read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w; name a file that this user may read", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%q is not a regular file; the file is read again at each connection", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w; name a file that this user may read", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxSize {
		return nil, fmt.Errorf("%q has more than %d bytes: it is not a certificate or key", path, maxSize)
	}
	return text, nil
}
