package main

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"earshot/cmd/earshot/client"
)

// checkAddresses returns a fault for each address that nobody can be reached at.
func (c *config) checkAddresses() []error {
	var faults []error
	for _, one := range []struct{ name, value, example string }{
		{"OPENAI_BASE_URL (--openai-base-url)", c.OpenAIBaseURL, "https://api.openai.com/v1"},
		{"ANTHROPIC_BASE_URL (--anthropic-base-url)", c.Anthropic.BaseURL, "https://api.anthropic.com"},
		{"GEMINI_BASE_URL (--gemini-base-url)", c.Gemini.BaseURL, "https://generativelanguage.googleapis.com"},
		{"COHERE_BASE_URL (--cohere-base-url)", c.Cohere.BaseURL, "https://api.cohere.com"},
	} {
		parsed, err := url.Parse(one.value)
		if one.value == "" || err == nil && parsed.Hostname() != "" && (parsed.Scheme == "https" || parsed.Scheme == "http") {
			continue
		}
		faults = append(faults, fmt.Errorf("%s is %q; it must be a URL with http or https, as in %s", one.name, client.Redacted(one.value), one.example))
	}
	return faults
}

// checkCertificate reads the certificate that HTTPS is to be served with: the first
// connection is too late to find out that nobody can be served.
func (c *config) checkCertificate(now time.Time) error {
	if c.TLSCert == "" || c.TLSKey == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return fmt.Errorf("EARSHOT_TLS_CERT (--tls-cert) is %q and EARSHOT_TLS_KEY (--tls-key) is %q, and they cannot be used: %w; both are files in PEM, and the key is that of the certificate",
			c.TLSCert, c.TLSKey, err)
	}
	if now.After(pair.Leaf.NotAfter) {
		return fmt.Errorf("the certificate of EARSHOT_TLS_CERT (--tls-cert), %q, has ended on %s: give one that is valid", c.TLSCert, pair.Leaf.NotAfter.Format(time.DateOnly))
	}
	return nil
}

const (
	// weakKey is how short an admin key may be guessed, in characters.
	weakKey = 16
	makeKey = "make one with: head -c 32 /dev/urandom | base64"
)

// warn logs settings that work, and should not stay so.
func (c *config) warn(log *slog.Logger) {
	if len(c.AdminKey.Reveal()) < weakKey {
		log.Warn("admin_key.weak", "warning", fmt.Sprintf("EARSHOT_ADMIN_KEY (--admin-key) has less than %d characters, and who guesses it may do everything; %s", weakKey, makeKey))
	}
}

// sendable reports whether a key can stand in the header of a request.
func sendable(key string) bool {
	return !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' })
}
