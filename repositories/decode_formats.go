package repositories

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"earshot/repositories/fault"
	"earshot/repositories/locale"
	"earshot/repositories/secret"
)

// formats are the rules about single texts that the definition schema refers to, each
// as "earshot-" and its name here. Their errors end up in faults as they stand.
var formats = map[string]func(string) error{
	"id":             func(text string) error { return CheckID("the id", text) },
	"tool-name":      CheckToolName,
	"url":            checkURL,
	"call-url":       checkCallURL,
	"secret":         checkSecret,
	"signing-secret": checkSigningSecret,
	"scope":          checkScope,
	"model":          checkModel,
	"origin":         checkOrigin,
	"emitter":        checkEmitter,
	"header-value":   checkHeaderValue,
	"method":         checkMethod,
	"host":           checkHost,
	"module-host":    checkModuleHost,
	"database":       checkDatabase,
	"source-type":    CheckSourceType,
	"tool-type":      CheckToolType,
	"timeout":        func(text string) error { return checkDuration(text, maxTimeout, "10s") },
	"refresh":        checkRefresh,
	"tool-pattern":   checkToolPattern,
	"retry-for":      func(text string) error { return checkDuration(text, MostRetryFor, "15m") },
	"settle":         func(text string) error { return checkDuration(text, maxSettle, "800ms") },
	"dedupe-within":  func(text string) error { return checkDuration(text, maxDedupe, "10m") },
	"answer-within":  func(text string) error { return checkDuration(text, maxAnswer, "30s") },
	"language":       locale.CheckLanguage,
	"time-zone":      locale.CheckZone,
}

func checkSecret(text string) error {
	if text == "" {
		return errors.New("is empty; leave it out, or send *** to keep what is stored")
	}
	return nil
}

// checkSigningSecret refuses what verifiers of Standard Webhooks cannot read: they take
// the bytes that are in base64 behind whsec_, and the plain base64 of a whole key.
func checkSigningSecret(text string) error {
	if text == secret.Masked {
		return nil
	}
	secrets := strings.Fields(text)
	for _, secret := range secrets {
		encoded, prefixed := strings.CutPrefix(secret, "whsec_")
		key, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || len(key) == 0 || !prefixed && (len(key) < 24 || len(key) > 64) {
			return errors.New("is no secret that receivers can verify with: give whsec_ and base64, or 24 to 64 bytes in base64, as of: echo whsec_$(openssl rand -base64 32)")
		}
	}
	if len(secrets) == 0 {
		return checkSecret("")
	}
	return nil
}

// scopePattern is scope-token of RFC 6749, section 3.3.
var scopePattern = regexp.MustCompile(`^[!\x23-\x5B\x5D-\x7E]+$`)

func checkScope(text string) error {
	if !scopePattern.MatchString(text) {
		return fmt.Errorf("%q is not a scope: printable ASCII without spaces, quotes and backslashes", fault.Clip(text))
	}
	return nil
}

// providers are the LLM providers that a model may be named of.
var providers = []string{"openai", "anthropic", "gemini", "cohere"}

func checkModel(text string) error {
	provider, model, found := strings.Cut(text, "/")
	if !found || model == "" {
		return fmt.Errorf("%q is not provider/model, as in openai/gpt-4o-mini", fault.Clip(text))
	}
	if !slices.Contains(providers, provider) {
		return fmt.Errorf("%q is not a known provider: %s%s", fault.Clip(provider), fault.OneOf(providers), fault.DidYouMean(provider, providers))
	}
	return nil
}

func checkOrigin(text string) error {
	if text == "*" {
		return nil
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" || parsed.Scheme+"://"+parsed.Host != text {
		return fmt.Errorf("%q is not an origin: scheme://host or scheme://host:port without a path, or *", fault.Clip(text))
	}
	return nil
}

// checkEmitter refuses what would not make two tokens of a NATS subject.
func checkEmitter(text string) error {
	resource, scope, found := strings.Cut(text, ".")
	if !found || !IsID(resource) || !IsID(scope) {
		return fmt.Errorf("%q is not resource.scope: two words of A-Z a-z 0-9 _ - with a dot between them", fault.Clip(text))
	}
	return nil
}

// ownHeaders are set by the connection (RFC 9110, section 7.6.1) or from the URL and
// the body, never by a tool.
var ownHeaders = []string{
	"connection", "content-length", "host", "keep-alive", "proxy-authenticate", "proxy-authorization",
	"proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
}

func checkHeaderName(text string) error {
	if !httpguts.ValidHeaderFieldName(text) {
		return fmt.Errorf("%q is not the name of a header", fault.Clip(text))
	}
	if slices.Contains(ownHeaders, strings.ToLower(text)) {
		return fmt.Errorf("the header %s belongs to the connection and cannot be set", text)
	}
	return nil
}

func checkHeaderValue(text string) error {
	if strings.ContainsAny(text, "\r\n\x00") {
		return errors.New("the value of a header cannot hold line breaks or NUL")
	}
	if !httpguts.ValidHeaderFieldValue(text) {
		return errors.New("the value of a header cannot hold control characters")
	}
	return nil
}

// methods are the methods of a call.
var methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}

func checkMethod(text string) error {
	if !slices.Contains(methods, strings.ToUpper(text)) {
		return fmt.Errorf("%q is not a method of a call: %s", fault.Clip(text), fault.OneOf(methods))
	}
	return nil
}

func checkDuration(text string, most time.Duration, example string) error {
	duration, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is not a duration as %q", fault.Clip(text), example)
	}
	if duration <= 0 || duration > most {
		return fmt.Errorf("%q is out of range: more than 0 and at most %s", fault.Clip(text), shortDuration(most))
	}
	return nil
}

// shortDuration writes 24h, where Go writes 24h0m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
