// Package certificate has HTTPS served with the certificate that stands on the disk now: what
// renews it needs to tell nobody.
package certificate

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// settings name the settings that the files are given by, as faults have them.
const settings = "EARSHOT_TLS_CERT (--tls-cert) is %q and EARSHOT_TLS_KEY (--tls-key) is %q"

// between is the least time between two looks at the files. A look is two calls of the kernel, and
// a renewed certificate is to be served within ten seconds.
const between = 2 * time.Second

// Files are a certificate and its private key, in PEM.
type Files struct{ Cert, Key string }

// Read reads both. A pair that nobody can be served with is an error.
func (f Files) Read(now time.Time) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf(settings+", and they cannot be used: %w; both are files in PEM, and the key is that of the certificate", f.Cert, f.Key, err)
	}
	if now.After(pair.Leaf.NotAfter) {
		return nil, fmt.Errorf("the certificate of EARSHOT_TLS_CERT (--tls-cert), %q, has ended on %s: give one that is valid", f.Cert, pair.Leaf.NotAfter.Format(time.DateOnly))
	}
	return &pair, nil
}

// state is what the kernel says of both files. It differs where one was written, or replaced.
type state [2]os.FileInfo

func (f Files) state() (s state, err error) {
	for i, path := range []string{f.Cert, f.Key} {
		if s[i], err = os.Stat(path); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s state) same(other state) bool {
	for i, one := range s {
		was := other[i]
		if one == nil || was == nil || !os.SameFile(one, was) || one.Size() != was.Size() || !one.ModTime().Equal(was.ModTime()) {
			return false
		}
	}
	return true
}

// Current is the pair that is served. A renewed one takes its place when both files are whole;
// until then it stays.
type Current struct {
	files Files
	now   func() time.Time
	log   *slog.Logger

	mu     sync.Mutex
	pair   *tls.Certificate
	read   state // of the files when pair was read
	looked time.Time
	warned bool // of files that cannot be used, since the last that could
}

// Open reads the files for the first time.
func Open(files Files, now func() time.Time, log *slog.Logger) (*Current, error) {
	c := &Current{files: files, now: now, log: log, looked: now()}
	var err error
	if c.read, err = files.state(); err != nil {
		return nil, fmt.Errorf(settings+", and they cannot be read: %w", files.Cert, files.Key, err)
	}
	c.pair, err = files.Read(now())
	return c, err
}

// Get returns the pair, as the GetCertificate of a tls.Config does.
func (c *Current) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.looked).Abs() >= between {
		c.look(now, false)
	}
	return c.pair, nil
}

// Reload reads the files at once, whether they look changed or not.
func (c *Current) Reload() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look(c.now(), true)
}

// look takes what the files hold. Their state is taken before they are read: what is written
// meanwhile is seen the next time.
func (c *Current) look(now time.Time, anyway bool) {
	c.looked = now
	is, err := c.files.state()
	if err == nil && !anyway && is.same(c.read) {
		c.warned = false // what was there before is back
		return
	}
	var pair *tls.Certificate
	if err != nil {
		err = fmt.Errorf(settings+", and they cannot be read: %w", c.files.Cert, c.files.Key, err)
	} else {
		pair, err = c.files.Read(now)
	}
	if err != nil {
		if !c.warned || anyway {
			c.log.Warn("certificate.unusable", "error", err.Error(), "served_until", c.pair.Leaf.NotAfter)
		}
		c.warned = true
		return
	}
	c.pair, c.read, c.warned = pair, is, false
	c.log.Info("certificate.read", "subject", pair.Leaf.Subject.String(), "not_after", pair.Leaf.NotAfter)
}

var notAfter = prometheus.NewDesc("earshot_tls_not_after_seconds", "When the certificate ends that HTTPS is served with, in seconds since 1970.", nil, nil)

// Describe implements prometheus.Collector.
func (c *Current) Describe(out chan<- *prometheus.Desc) { out <- notAfter }

// Collect implements prometheus.Collector.
func (c *Current) Collect(out chan<- prometheus.Metric) {
	pair, _ := c.Get(nil)
	out <- prometheus.MustNewConstMetric(notAfter, prometheus.GaugeValue, float64(pair.Leaf.NotAfter.Unix()))
}
