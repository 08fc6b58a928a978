package httpcall

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"golang.org/x/net/http/httpguts"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/secret"
	"earshot/repositories/version"
	"earshot/trigger/effect"
)

// preparedCall is an HTTP request that lacks only its token.
type preparedCall struct {
	app           *repositories.App
	effect        effect.Effect
	request       *repositories.Request
	target        *url.URL
	body          []byte
	arguments     json.RawMessage // of a tool of an MCP server
	header        http.Header
	auth          *authorizer
	redactor      *redactor
	signingSecret secret.Secret // overrides the app's signingSecret unless empty
	// hideErrorBody keeps the body of an answer that is not 2xx out of the outcome.
	hideErrorBody bool
}

// prepare does everything that needs no network. All its failures are permanent.
func (c *Caller) prepare(app *repositories.App, delivery effect.Effect) (call *preparedCall, err error) {
	call = &preparedCall{app: app, effect: delivery, redactor: &redactor{}}
	switch tool := delivery.Call.Tool; {
	case tool == nil:
		// The body is the tool's template, with any method; otherwise the event if the method has content (RFC
		// 9110 9.3).
		if call.request = delivery.Call.Request; call.request == nil {
			call.request = &repositories.Request{}
		}
		names := &variables{values: map[string]any{}, declared: declaredIn(delivery.Call.Event)}
		maps.Copy(names.values, delivery.Call.Values)
		names.values[appIDName] = delivery.AppID
		if call.target, err = fillURL(delivery.Call.URL, names); err != nil {
			break
		}
		if len(call.request.Body) > 0 {
			call.body, err = names.fillBody(call.request.Body)
		} else if method := call.method(); method != http.MethodGet && method != http.MethodHead && method != http.MethodDelete {
			call.body = delivery.Call.Event
		}
	case tool.Type != repositories.ToolMCP:
		err = call.prepareHTTP()
	default:
		values := delivery.Call.Values
		if values == nil {
			values = map[string]any{}
		}
		if _, err = call.prepareMCP(tool.Source, tool.Request); err == nil {
			call.arguments, err = exactjson.Encode(values) // keeps the digits of numbers
		}
		if err == nil && len(call.arguments) > maxBodyBytes {
			err = effect.Permanent(effect.ReasonRequest, "the values are longer than %d bytes", maxBodyBytes)
		}
	}
	if err == nil {
		err = c.authorize(call)
	}
	if err == nil {
		call.header, err = c.headers(call)
	}
	return call, err
}

func (p *preparedCall) prepareMCP(name string, extra *repositories.Request) (source repositories.Source, err error) {
	source, exists := p.app.Source(name)
	if !exists || source.Type != repositories.SourceMCP {
		return source, effect.Permanent(effect.ReasonRequest, "app %q has no mcp source %q", p.app.ID, effect.Clip(name))
	}
	if p.target, err = url.Parse(source.URL); err != nil || !isHTTP(p.target) {
		return source, effect.Permanent(effect.ReasonRequest, "the url of source %q must be an http or https URL with a host, as https://host/path", source.Name)
	}
	p.request = source.Request(extra)
	return source, nil
}

func (p *preparedCall) method() string {
	return strings.ToUpper(cmp.Or(p.request.Method, http.MethodPost))
}

// authorize finds the credentials of a call, and masks them in its outcome.
func (c *Caller) authorize(call *preparedCall) error {
	attached, err := credentialsOf(call.app, call.request, call.target)
	if basic := call.request.Basic; basic != nil {
		call.redactor.addLogin(basic.Username, basic.Password.Reveal())
	}
	if password, hasPassword := call.target.User.Password(); hasPassword {
		call.redactor.addLogin(call.target.User.Username(), password)
	}
	for _, value := range call.request.Headers.Credentials() {
		call.redactor.add(value.Reveal())
		if _, token, hasScheme := strings.Cut(value.Reveal(), " "); hasScheme { // as in "ApiKey …"
			call.redactor.add(token)
		}
	}
	call.auth = &authorizer{credentials: attached, tokens: c.tokens, base: c.pooled, redactor: call.redactor}
	if !call.request.Repeatable() {
		call.auth.base = c.unpooled
	}
	return err
}

// label names the call in an error. It omits path and query, which may contain personal data.
func (p *preparedCall) label() string {
	return p.method() + " " + p.target.Scheme + "://" + p.target.Host
}

// ownHeaders returns the headers of a tool and its source, and an error that names an invalid one. Those that every call
// has are left out: earlier versions stored them.
func ownHeaders(configured repositories.Headers) (http.Header, error) {
	header := http.Header{"User-Agent": {version.Product()}}
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		value := configured[name].Reveal()
		if !httpguts.ValidHeaderFieldName(name) {
			return nil, effect.Permanent(effect.ReasonRequest, "header %q of the tool is not a valid header name (RFC 9110 5.1)", effect.Clip(name))
		}
		if !httpguts.ValidHeaderFieldValue(value) || strings.ContainsAny(value, "\r\n") {
			return nil, effect.Permanent(effect.ReasonRequest, "the value of header %q of the tool has a line break or another control character", name)
		}
		if !repositories.IsOwnHeader(name) {
			header.Set(name, value)
		}
	}
	return header, nil
}

// headers returns all headers but Authorization. Each of the app's secrets signs, so that receivers can rotate
// them (Standard Webhooks 1.0). A secret is base64 with or without whsec_. Without a secret, calls are
// unsigned.
func (c *Caller) headers(call *preparedCall) (http.Header, error) {
	header, err := ownHeaders(call.request.Headers)
	if err != nil {
		return nil, err
	}
	if call.body != nil && header["Content-Type"] == nil {
		header.Set("Content-Type", "application/json")
	}
	delivery, now := call.effect, c.options.Now()
	header.Set("Webhook-Id", delivery.TriggerID)
	header.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	header.Set("Idempotency-Key", delivery.TriggerID)
	header.Set("Earshot-Attempt", strconv.Itoa(delivery.Attempt))
	if delivery.TraceParent != "" {
		header.Set("Traceparent", delivery.TraceParent)
	}
	var signatures []string
	signing := cmp.Or(call.signingSecret, call.app.SigningSecret)
	if signing.IsSealed() {
		return nil, effect.Transient(effect.ReasonAuth, "the signing secret was encrypted with a secret key that this replica does not have: set the signing secret again, or start with that key as EARSHOT_SECRET_KEY_OLD")
	}
	for key := range strings.FieldsSeq(signing.Reveal()) {
		signer, err := standardwebhooks.NewWebhook(key)
		if err != nil {
			return nil, effect.Permanent(effect.ReasonRequest, "the app's signingSecret is not base64, so the call cannot be signed")
		}
		signature, err := signer.Sign(delivery.TriggerID, now, call.body)
		if err != nil {
			return nil, effect.Permanent(effect.ReasonRequest, "the call cannot be signed with the app's signingSecret")
		}
		signatures = append(signatures, signature)
	}
	if len(signatures) > 0 {
		header.Set("Webhook-Signature", strings.Join(signatures, " "))
	}
	return header, nil
}

// Limits of a recorded request: the bytes of its URL and of its body, and its headers.
const (
	maxSentText    = 1 << 10
	maxSentHeaders = 20
)

// sentSummary returns the request for display: the URL without user and password, credentials masked. A delivered call
// omits the body, which the trigger's record contains.
func (p *preparedCall) sentSummary(outcome effect.Outcome) *effect.Sent {
	target := *p.target
	target.User, target.RawQuery = nil, repositories.MaskQuery(p.target.RawQuery)
	summary := &effect.Sent{Method: p.method(), URL: fault.ClipTo(p.redactor.redact(target.String()), maxSentText), Bytes: len(p.body)}
	for name, value := range p.request.Headers.Shown() {
		if len(summary.Headers) == maxSentHeaders {
			break
		}
		if summary.Headers == nil {
			summary.Headers = map[string]string{}
		}
		summary.Headers[name] = fault.Clip(p.redactor.redact(value))
	}
	if outcome.Verdict != effect.Done {
		text, mask := string(p.body), p.redactor.redact
		if limit := maxSentText + redactionMargin; len(text) > limit {
			text, mask = fault.Cut(text, limit), p.redactor.redactCut
		}
		summary.Body = fault.ClipTo(mask(strings.ToValidUTF8(text, "\ufffd")), maxSentText)
	}
	return summary
}

const webhookTimeout = 10 * time.Second

// Post sends an event to a webhook (Standard Webhooks 1.0): the body has type, timestamp and the event's
// payload as data; webhook-id is the event's id on every attempt. Of the answer only the status is read.
func (c *Caller) Post(ctx context.Context, app *repositories.App, to repositories.Webhook, event effect.StoredEvent, attempt int) effect.Outcome {
	body, err := exactjson.Encode(struct {
		Type      string          `json:"type"`
		Timestamp time.Time       `json:"timestamp"`
		Data      json.RawMessage `json:"data"`
	}{event.Kind, event.Time, event.Data})
	if err != nil {
		return effect.OutcomeOf(err)
	}
	target, err := url.Parse(to.URL)
	if err != nil || !isHTTP(target) {
		return effect.OutcomeOf(effect.Permanent(effect.ReasonRequest, "the url of webhook %q must be an http or https URL with a host, as https://host/path", to.Name))
	}
	call := &preparedCall{
		app: app, request: &repositories.Request{}, target: target, body: body, redactor: &redactor{}, signingSecret: to.Secret,
		effect: effect.Effect{ID: event.ID, AppID: app.ID, SessionID: event.SessionID, TriggerID: event.ID, Attempt: attempt, TraceParent: event.TraceParent},
	}
	if err := c.authorize(call); err != nil {
		return effect.OutcomeOf(err)
	}
	if call.header, err = c.headers(call); err != nil {
		return effect.OutcomeOf(err)
	}
	ctx, cancel := context.WithTimeout(ctx, webhookTimeout)
	defer cancel()
	outcome := c.withSlot(ctx, call, func(ctx context.Context, call *preparedCall) (effect.Outcome, hostHealth) {
		outcome, health := c.roundTrip(ctx, call)
		if outcome.Verdict != effect.Done {
			health = unknown // package webhooks tracks the health of servers itself
		}
		return outcome, health
	})
	outcome.Result, outcome.Truncated, outcome.Error = nil, false, call.redactor.redact(outcome.Error)
	return outcome
}
