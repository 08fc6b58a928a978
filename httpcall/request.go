package httpcall

import (
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
	"earshot/repositories/secret"
	"earshot/trigger/effect"
)

// preparedCall is an HTTP request that is ready to be sent but for its token.
type preparedCall struct {
	effect     effect.Effect
	target     *url.URL
	method     string
	body       []byte
	header     http.Header
	own        repositories.Headers // the tool's and the source's, which are in header as well
	credential credentials
	repeatable bool
	redactor   redactor
	// hideErrorBody keeps the body of an answer that is not 2xx out of the outcome.
	hideErrorBody bool
}

// prepare makes everything of a call that needs no network. All its failures are
// permanent.
func (c *Caller) prepare(app *repositories.App, delivery effect.Effect) (*preparedCall, error) {
	parts, err := partsOf(app, delivery)
	if err != nil {
		return nil, err
	}
	credential, err := credentialOf(app, parts.request, parts.target)
	if err != nil {
		return nil, err
	}
	made := &preparedCall{
		effect: delivery, target: parts.target, method: methodOf(parts.request), body: parts.body, own: parts.request.Headers, hideErrorBody: parts.hideErrorBody,
		credential: credential, repeatable: parts.request.Repeatable(), redactor: redactorOf(parts.request, parts.target),
	}
	for _, credential := range parts.credentials {
		made.redactor.add(credential.Reveal())
	}
	made.header, err = c.headers(app, made, parts.request.Headers)
	return made, err
}

// requestParts are the parts of an HTTP request that differ between the two kinds of call:
// that of a tool's URL, and that of an http tool to its source.
type requestParts struct {
	request *repositories.Request
	target  *url.URL
	body    []byte
	// credentials of a source that stand elsewhere than in headers.
	credentials []secret.Secret
	// hideErrorBody keeps the body of an answer that is not 2xx out of the outcome.
	hideErrorBody bool
}

func partsOf(app *repositories.App, delivery effect.Effect) (requestParts, error) {
	if delivery.Call.Tool != nil {
		return partsOfTool(app, delivery)
	}
	request := delivery.Call.Request
	if request == nil {
		request = &repositories.Request{}
	}
	names := variablesOf(delivery)
	target, err := fillURL(delivery.Call.URL, names)
	if err != nil {
		return requestParts{}, err
	}
	body, err := bodyOf(methodOf(request), request.Body, delivery.Call.Event, names)
	return requestParts{request: request, target: target, body: body}, err
}

func methodOf(request *repositories.Request) string {
	return strings.ToUpper(or(request.Method, http.MethodPost))
}

// remote reports whether the call is one of a tool of an MCP server.
func (c *preparedCall) remote() bool {
	tool := c.effect.Call.Tool
	return tool != nil && tool.Type == repositories.ToolMCP
}

// label names the call in an error, without path and query, which may hold personal data.
func (c *preparedCall) label() string {
	return c.method + " " + c.target.Scheme + "://" + c.target.Host
}

// reservedHeaders are the headers that a tool cannot set: those that identify an attempt and
// those that the connection needs (RFC 9110 7.6.1). Accept-Encoding is among them
// because answers are stored as text.
var reservedHeaders = map[string]bool{
	"Webhook-Id": true, "Webhook-Timestamp": true, "Webhook-Signature": true,
	"Idempotency-Key": true, "X-Idempotency-Key": true, "Earshot-Attempt": true, "Traceparent": true,
	"Host": true, "Content-Length": true, "Transfer-Encoding": true, "Connection": true, "Keep-Alive": true,
	"Proxy-Authorization": true, "Proxy-Connection": true, "Te": true, "Trailer": true, "Upgrade": true,
	"Expect": true, "Accept-Encoding": true,
}

// headers returns all headers of a call but its Authorization. The tool's own are
// literal: no value reaches them.
func (c *Caller) headers(app *repositories.App, call *preparedCall, own repositories.Headers) (http.Header, error) {
	header := http.Header{"User-Agent": {c.userAgent}}
	if call.body != nil {
		header.Set("Content-Type", "application/json")
	}
	if err := setToolHeaders(header, own); err != nil {
		return nil, err
	}
	delivery, now := call.effect, c.now()
	header.Set("Webhook-Id", delivery.TriggerID)
	header.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	header.Set("Idempotency-Key", delivery.TriggerID)
	header.Set("Earshot-Attempt", strconv.Itoa(delivery.Attempt))
	if delivery.TraceParent != "" {
		header.Set("Traceparent", delivery.TraceParent)
	}
	signature, err := sign(app.SigningSecret, delivery.TriggerID, now, call.body)
	if signature != "" {
		header.Set("Webhook-Signature", signature)
	}
	return header, err
}

// setToolHeaders sets the tool's headers. A line break would begin a header of somebody
// else's; net/http refuses it as well, with a text that does not say which header.
func setToolHeaders(header http.Header, own repositories.Headers) error {
	for _, name := range slices.Sorted(maps.Keys(own)) {
		value := own[name].Reveal()
		if !httpguts.ValidHeaderFieldName(name) {
			return effect.Permanent(effect.ReasonRequest, "header %q of the tool has no valid name (RFC 9110 5.1)", effect.Clip(name))
		}
		if !httpguts.ValidHeaderFieldValue(value) || strings.ContainsAny(value, "\r\n") {
			return effect.Permanent(effect.ReasonRequest, "the value of header %q of the tool holds a line break or another control character", name)
		}
		if !reservedHeaders[http.CanonicalHeaderKey(name)] {
			header.Set(name, value)
		}
	}
	return nil
}

// sign returns webhook-signature (Standard Webhooks 1.0): one signature for each of
// the app's secrets, which are separated by spaces, so that a receiver can change from
// one to the next. A secret is base64, after whsec_ or without it, as receivers read it.
// An app without a secret has its calls unsigned.
func sign(secrets secret.Secret, id string, at time.Time, body []byte) (string, error) {
	var signatures []string
	for _, key := range strings.Fields(secrets.Reveal()) {
		signer, err := standardwebhooks.NewWebhook(key)
		if err != nil {
			return "", effect.Permanent(effect.ReasonRequest, "the app's signingSecret is not base64, so the call cannot be signed")
		}
		signature, err := signer.Sign(id, at, body)
		if err != nil {
			return "", effect.Permanent(effect.ReasonRequest, "the call cannot be signed with the app's signingSecret")
		}
		signatures = append(signatures, signature)
	}
	return strings.Join(signatures, " "), nil
}
