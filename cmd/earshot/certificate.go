package main

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// lookPause is the least time between two checks of the files: a renewed certificate is served within ten
// seconds.
const lookPause = 2 * time.Second

type certificateFiles struct{ cert, key string }

// read loads both files. An expired pair is an error.
func (f certificateFiles) read(now time.Time) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, f.fault("used", fmt.Errorf("%w; both are files in PEM, and the key is that of the certificate", err))
	}
	if now.After(pair.Leaf.NotAfter) {
		return nil, fmt.Errorf("the certificate of EARSHOT_TLS_CERT (--tls-cert), %q, expired on %s: name one that is valid", f.cert, pair.Leaf.NotAfter.Format(time.DateOnly))
	}
	return &pair, nil
}

func (f certificateFiles) fault(done string, err error) error {
	return fmt.Errorf("EARSHOT_TLS_CERT (--tls-cert) is %q and EARSHOT_TLS_KEY (--tls-key) is %q, and they cannot be %s: %w", f.cert, f.key, done, err)
}

// state returns the file infos of both, which change when a file is written or replaced.
func (f certificateFiles) state() (state [2]os.FileInfo, err error) {
	for i, path := range []string{f.cert, f.key} {
		if state[i], err = os.Stat(path); err != nil {
			return state, f.fault("read", err)
		}
	}
	return state, nil
}

// servedCertificate is the key pair of HTTPS. A renewed pair replaces it as soon as both files are complete,
// without a signal.
type servedCertificate struct {
	files certificateFiles
	now   func() time.Time
	log   *slog.Logger

	mu     sync.Mutex
	pair   *tls.Certificate
	state  [2]os.FileInfo // of the files when pair was read
	looked time.Time
	warned bool // of unusable files, since the last usable ones
}

func openCertificate(files certificateFiles, now func() time.Time, log *slog.Logger) (c *servedCertificate, err error) {
	c = &servedCertificate{files: files, now: now, log: log, looked: now()}
	if c.state, err = files.state(); err != nil {
		return nil, err
	}
	c.pair, err = files.read(now())
	return c, err
}

func (c *servedCertificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now().Sub(c.looked).Abs() >= lookPause {
		c.look(false)
	}
	return c.pair, nil
}

// reload reads the files at once, even if they look unchanged.
func (c *servedCertificate) reload() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look(true)
}

// look loads the files if they changed. It stats them first, so that a write during the load is seen next time.
func (c *servedCertificate) look(anyway bool) {
	c.looked = c.now()
	state, err := c.files.state()
	if err == nil && !anyway && sameFile(state[0], c.state[0]) && sameFile(state[1], c.state[1]) {
		c.warned = false // the earlier files are back
		return
	}
	var pair *tls.Certificate
	if err == nil {
		pair, err = c.files.read(c.looked)
	}
	if err != nil {
		if !c.warned || anyway {
			c.log.Warn("certificate.unusable", "error", err.Error(), "served_until", c.pair.Leaf.NotAfter)
		}
		c.warned = true
		return
	}
	c.pair, c.state, c.warned = pair, state, false
	c.log.Info("certificate.read", "subject", pair.Leaf.Subject.String(), "not_after", pair.Leaf.NotAfter)
}

func sameFile(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

const (
	expiryName = "earshot_tls_not_after_seconds"
	expiryHelp = "When the certificate of HTTPS expires, in seconds since 1970. Missing without a certificate."
)

func (c *servedCertificate) expiry() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: expiryName, Help: expiryHelp}, func() float64 {
		pair, _ := c.get(nil)
		return float64(pair.Leaf.NotAfter.Unix())
	})
}
