package httpcall

import (
	"net/url"
	"strings"

	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/secret"
	"earshot/trigger/effect"
)

// Bounds of what is kept of a request, in bytes, and of its headers.
const (
	maxSentText = 1 << 10
	maxSent     = 20
)

// sent is what people are shown of the request. That of a call that was delivered has no
// body: the record of its trigger has what is in it.
func (c *preparedCall) sent(outcome effect.Outcome) *effect.Sent {
	shown := &effect.Sent{Method: c.method, URL: fault.ClipTo(c.redactor.redact(shownURL(c.target)), maxSentText), Bytes: len(c.body)}
	for name, value := range c.own.Shown() {
		if len(shown.Headers) == maxSent {
			break
		}
		if shown.Headers == nil {
			shown.Headers = map[string]string{}
		}
		shown.Headers[name] = fault.Clip(c.redactor.redact(value))
	}
	if outcome.Verdict != effect.Done {
		text := strings.ToValidUTF8(fault.Cut(string(c.body), maxSentText+redactionMargin), "\ufffd")
		shown.Body = fault.ClipTo(c.redactor.redact(text), maxSentText)
	}
	return shown
}

// shownURL is a URL without user and password, and with those values of its query masked
// whose names say that they are credentials.
func shownURL(target *url.URL) string {
	shown := *target
	shown.User = nil
	pairs := strings.Split(shown.RawQuery, "&")
	for i, pair := range pairs {
		name, _, has := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(name)
		if has && (err != nil || repositories.NamesCredential(plain)) {
			pairs[i] = name + "=" + secret.Masked
		}
	}
	shown.RawQuery = strings.Join(pairs, "&")
	return shown.String()
}
