package httpcall

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"earshot/repositories"
	"earshot/trigger/effect"
)

// ours are the headers that a tool cannot set: those that make an attempt known and
// those that the connection needs (RFC 9110 7.6.1). Accept-Encoding is among them
// because answers are stored as text.
var ours = map[string]bool{
	"Webhook-Id": true, "Webhook-Timestamp": true, "Webhook-Signature": true,
	"Idempotency-Key": true, "X-Idempotency-Key": true, "Earshot-Attempt": true, "Traceparent": true,
	"Host": true, "Content-Length": true, "Transfer-Encoding": true, "Connection": true, "Keep-Alive": true,
	"Proxy-Authorization": true, "Proxy-Connection": true, "Te": true, "Trailer": true, "Upgrade": true,
	"Expect": true, "Accept-Encoding": true,
}

// headers returns all headers of a call but its Authorization. The tool's own are
// literal: no value reaches them.
func (c *Caller) headers(app *repositories.App, call *call, own repositories.Headers) (http.Header, error) {
	header := http.Header{"User-Agent": {c.userAgent}}
	if call.body != nil {
		header.Set("Content-Type", "application/json")
	}
	if err := setOwn(header, own); err != nil {
		return nil, err
	}
	effect, now := call.effect, c.now()
	header.Set("Webhook-Id", effect.TriggerID)
	header.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	header.Set("Idempotency-Key", effect.TriggerID)
	header.Set("Earshot-Attempt", strconv.Itoa(effect.Attempt))
	if effect.TraceParent != "" {
		header.Set("Traceparent", effect.TraceParent)
	}
	signature, err := sign(app.SigningSecret, effect.TriggerID, now, call.body)
	if signature != "" {
		header.Set("Webhook-Signature", signature)
	}
	return header, err
}

// setOwn sets the tool's headers. A line break would begin a header of somebody
// else's; net/http refuses it as well, with a text that does not say which header.
func setOwn(header http.Header, own repositories.Headers) error {
	for _, name := range slices.Sorted(maps.Keys(own)) {
		value := own[name].Reveal()
		if !httpguts.ValidHeaderFieldName(name) {
			return dead(effect.ReasonRequest, "header %q of the tool has no valid name (RFC 9110 5.1)", clip(name))
		}
		if !httpguts.ValidHeaderFieldValue(value) || strings.ContainsAny(value, "\r\n") {
			return dead(effect.ReasonRequest, "the value of header %q of the tool holds a line break or another control character", name)
		}
		if !ours[http.CanonicalHeaderKey(name)] {
			header.Set(name, value)
		}
	}
	return nil
}
