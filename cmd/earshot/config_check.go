package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"earshot/cmd/earshot/certificate"
	"earshot/cmd/earshot/client"
	"earshot/cmd/earshot/redisdb"
	"earshot/matcher/llm"
)

// checkAddresses returns a fault for each address that nobody can be reached at.
func (c *config) checkAddresses() []error {
	var faults []error
	for _, one := range []struct{ name, value, example string }{
		{"OPENAI_BASE_URL (--openai-base-url)", c.OpenAIBaseURL, "https://api.openai.com/v1"},
		{"OPENAI_EMBEDDING_BASE_URL (--openai-embedding-base-url)", c.Embedding.BaseURL, "http://127.0.0.1:8082/v1"},
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
	if _, err := c.embedder(); err != nil {
		faults = append(faults, err)
	}
	return faults
}

// embedder is the endpoint of the model that embeds, which without one of its own is that of
// the LLM. It has no model where none is to be asked.
func (c *config) embedder() (llm.Config, error) {
	own := c.Embedding
	switch {
	case own.Model == "" && (own.BaseURL != "" || !own.Key.Empty()):
		return own, errors.New("OPENAI_EMBEDDING_BASE_URL or OPENAI_EMBEDDING_API_KEY is set, and no model is named: set OPENAI_EMBEDDING_MODEL (--openai-embedding-model), as in text-embedding-3-small")
	case own.Model == "" || own.BaseURL != "" || !own.Key.Empty():
		return own, nil
	case c.OpenAIBaseURL == "" && c.OpenAIKey.Empty():
		return own, fmt.Errorf("OPENAI_EMBEDDING_MODEL (--openai-embedding-model) is %q, and there is no endpoint to ask: set OPENAI_API_KEY, OPENAI_BASE_URL or OPENAI_EMBEDDING_BASE_URL", own.Model)
	}
	return llm.Config{Key: c.OpenAIKey, BaseURL: c.OpenAIBaseURL, Model: own.Model}, nil
}

// checkFiles returns a fault for each file that cannot be used: the first connection is too late
// to find out.
func (c *config) checkFiles(now time.Time) error {
	faults := []error{c.checkCertificate(now)}
	if !c.RedisURL.Empty() { // else dev brings its own
		faults = append(faults, redisdb.CheckFiles(c.RedisURL.Reveal(), c.RedisTLS, now))
	}
	if !c.NATSURL.Empty() {
		faults = append(faults, c.NATSLogin.Check(c.NATSURL.Reveal(), now))
	}
	return errors.Join(faults...)
}

// checkCertificate reads the certificate that HTTPS is to be served with: the first
// connection is too late to find out that nobody can be served.
func (c *config) checkCertificate(now time.Time) error {
	if c.TLSCert == "" || c.TLSKey == "" {
		return nil
	}
	_, err := c.certificate().Read(now)
	return err
}

// certificate names the files that HTTPS is served with.
func (c *config) certificate() certificate.Files {
	return certificate.Files{Cert: c.TLSCert, Key: c.TLSKey}
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
